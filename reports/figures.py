"""The figures of a report, drawn by matplotlib from its frames, each as PNG and PDF with a caption.

Differences in the headline with intervals adjusted as the tests are (Holm), a file of all label shares and one of each;
scores over label shares; scores over the values of a swept hyperparameter beside the other methods (PMQ, Fig. 4);
and loss and health of the pretrainings over their epochs. A figure is as wide as a column of a journal (3.5 inches) or
its page (7), its letters have 8 points, and its legend stands below. How a row looks: `reports.looks`.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from io import BytesIO
from math import ceil
from pathlib import Path
from textwrap import fill
from typing import Any, Literal, NamedTuple

import numpy as np
import pandas as pd
from matplotlib import pyplot as plt
from matplotlib.axes import Axes
from matplotlib.figure import Figure as Canvas
from matplotlib.figure import FigureBase
from matplotlib.lines import Line2D
from matplotlib.ticker import MaxNLocator
from numpy.typing import NDArray

from benchmark.results.files import write_atomic
from benchmark.results.metrics import METRICS, RECALLS
from benchmark.results.names import BASELINE, METHOD, OVERALL, is_untrained
from benchmark.results.store import Plan
from reports.comparison import RowComparison
from reports.layouts import role_of
from reports.looks import Look, looks_of, titles_of
from reports.results import LOSS, Run, learning_curves
from reports.words import and_text, labels_text, ratio_text, seeds_text, unit_text

COLUMN, PAGE = 3.5, 7.0
"""Widths, inches."""
DPI = 200
SETTINGS = Path(__file__).with_name("figures.mplstyle")
COLUMNS_OF = {4: 2, 7: 4, 8: 4}
"""Number of panels -> panels beside each other, where it is not as many as fit, at most three."""
LETTER, KEY, LINE, GAP = 0.07, 0.45, 0.14, 0.06
"""Inches of a letter, of the key before an entry of a legend, of its lines and between two."""
LETTERS_OF_PANELS = 56
"""Letters of the titles of panels beside each other."""
BASELINE_LINE: Any = {"color": "0.45", "linestyle": "--", "zorder": 1}
ADJUSTED = "Lines: 95 % intervals, adjusted by Holm's method over all pairs of rows as the tests are."
Question = Literal["against", "among"]
FILES: dict[Question, str] = {"against": "differences", "among": "methods"}
"""Part of the verdict -> end of the name of its figure."""
MEASURE_LABELS = {
    LOSS: "change of the loss since epoch 1\n(%; lower: learned)",
    "effective_rank": "effective rank, in dimensions\n(higher: more varied)",
    "mean_cosine": "mean cosine\n(lower: more varied)",
    "alignment": "alignment\n(lower: pairs closer)",
    "uniformity": "uniformity\n(lower: more even)",
    "retrieval": "retrieval@1\n(%; higher: knows patients)",
}
"""Measure of a pretraining -> label of its axis."""


class FigureStyle(NamedTuple):
    """Style that all figures of a plan share: its titles and the looks of its rows."""

    plan: Plan
    rows: dict[str, str]
    """Row -> title."""
    datasets: dict[str, str]
    """Dataset -> title."""
    looks: dict[str, Look]
    """Row -> look."""


class Figure(NamedTuple):
    """A drawn figure."""

    png: Path
    caption: str
    table: str = ""
    """Table whose verdict it shows; '' for the further figures."""
    question: Question | Literal[""] = ""
    """Part of the verdict."""
    columns: tuple[Path, ...] = ()
    """PNGs of its panels as wide as a column, for a narrow screen."""


def style_of(plan: Plan) -> FigureStyle:
    """Choose titles and looks for the figures of a plan."""
    return FigureStyle(plan, *titles_of(plan), looks_of(plan.variants))


def draw_figures(
    results: Run,
    folder: Path,
    comparisons: Mapping[tuple[str, str], RowComparison],
    retrieval: pd.DataFrame,
) -> Iterator[Figure]:
    """Draw the figures for which a run has data.

    comparisons: by evaluation and unit. retrieval: frame of
    `reports.retrieval.retrieval_scores`.
    """
    plan = results.plan
    style = style_of(plan)
    compared = [name for name in plan.variants if role_of(plan, name)["role"] in (METHOD, BASELINE)]
    with plt.style.context(SETTINGS):
        for (evaluation, unit), comparison in comparisons.items():
            stem = folder / f"{evaluation}-{unit}"
            words = unit_and_seeds(plan, evaluation, unit)
            yield from draw_differences(comparison, style, stem, words)
            yield from draw_methods(comparison, style, stem, words)
            shown = comparison.intervals.query("metric == @plan.headline.curve and variant in @compared")
            shown = shown.dropna(subset=["mean"])
            if shown["ratio"].nunique() > 1:
                yield draw_label_efficiency(shown, style, stem, words)
        retrieval = retrieval[retrieval["variant"].isin(compared)]
        recall = retrieval[retrieval["metric"] == RECALLS[0]].dropna(subset=["mean"])
        overall = retrieval[retrieval["metric"] == OVERALL]
        points = recall.merge(overall, on="variant", suffixes=("", "_overall"))
        if len(points):
            yield draw_identifiability(points, style, folder / "identifiability")
        pretrainings = {name: records for name, records in results.pretrainings.items() if name in compared}
        curves = learning_curves(pretrainings)
        if curves["epoch"].nunique() > 1:
            yield draw_training(curves, style, folder / "training")


def unit_and_seeds(plan: Plan, evaluation: str, unit: str) -> str:
    """Return 'per recording, seeds 41 to 48' for captions."""
    seeds = {cell.seed for cell in plan.cells if cell.evaluation == evaluation}
    return f"per {unit_text(plan, unit)}, {seeds_text(seeds)}"


def with_legend(width: float, height: float, entries: Sequence[Line2D]) -> tuple[Canvas, FigureBase]:
    """Make a canvas and its part for panels of a height; a legend below, in as many columns as surely fit."""
    canvas = Canvas(layout="constrained")
    titles = [str(entry.get_label()) for entry in entries]
    letters = [max(map(len, title.splitlines())) for title in titles]
    columns = max(len(entries), 1)
    while columns > 1 and sum(KEY + LETTER * column.max() for column in np.array_split(letters, columns)) > width:
        columns -= 1
    heights = [GAP + LINE * (1 + title.count("\n")) for title in titles]
    below = 0.1 + max(float(column.sum()) for column in np.array_split(heights, columns))
    canvas.set_size_inches(width, height + below)
    parts: Any = canvas.subfigures(2, 1, height_ratios=[height, below])
    above, legend = parts
    if entries:
        legend.legend(handles=entries, loc="center", ncols=columns)
    return canvas, above


def panels(number: int, height: float, entries: Sequence[Line2D], labels: tuple[str, str]) -> tuple[Canvas, list[Axes]]:
    """Make n panels of a height in inches, one on the width of a column, several on that of a page.

    labels: of the axes below and on the left.
    """
    columns = COLUMNS_OF.get(number, min(number, 3))
    rows = ceil(number / columns)
    canvas, part = with_legend(COLUMN if number == 1 else PAGE, rows * height + 0.2, entries)
    axes = part.subplots(rows, columns, squeeze=False).ravel().tolist()
    for unused in axes[number:]:
        unused.remove()
    below, beside = labels
    part.supxlabel(below)
    part.supylabel(beside)
    return canvas, axes[:number]


def entries_of(rows: Iterable[str], style: FigureStyle, line: Literal["-", "--", "none"] = "none") -> list[Line2D]:
    """Make the entries of rows in a legend, in the order of the tables. line: style of a line through the marker."""
    shown = set(rows)
    entries = []
    for row, look in style.looks.items():
        if row in shown:
            entries.append(Line2D([], [], color=look.hue, marker=look.marker, linestyle=line, label=style.rows[row]))
    return entries


def errors(lines: pd.DataFrame, end: str = "") -> NDArray[np.float64]:
    """Return the lengths of intervals below and above their means in percent, (2, n). end: of the columns' names."""
    mean = lines[f"mean{end}"]
    return 100 * np.array([mean - lines[f"low{end}"], lines[f"high{end}"] - mean])


def draw_differences(comparison: RowComparison, style: FigureStyle, stem: Path, words: str) -> Iterator[Figure]:
    """Draw each row's difference in the headline from its reference, beside that of the best baseline."""
    frame = comparison.differences
    headline = style.plan.headline.title
    reference = and_text([style.rows[name] for name in frame["reference"].unique()] or [""])
    caption = f"{headline}, row minus {reference}, {words}. {ADJUSTED}"
    for name in comparison.baseline["variant"].unique():
        title = style.rows[name]
        caption += f" Dashed: the baseline {title}, not pretrained, with its 95 % interval, which is not adjusted."
    label = f"{headline}, row − {reference} (points)"
    yield from draw_shares(comparison, style, stem, "against", label, caption)


def draw_methods(comparison: RowComparison, style: FigureStyle, stem: Path, words: str) -> Iterator[Figure]:
    """Draw each method's difference in the headline from the best method of the label share."""
    headline = style.plan.headline.title
    caption = f"{headline}, method minus the best method of the label share, {words}. {ADJUSTED}"
    methods = comparison._replace(differences=comparison.among, baseline=comparison.baseline[:0])
    label = f"{headline}, method − best method (points)"
    yield from draw_shares(methods, style, stem, "among", label, caption)


def draw_shares(
    comparison: RowComparison, style: FigureStyle, stem: Path, question: Question, label: str, caption: str
) -> Iterator[Figure]:
    """Draw a file of the differences at each label share, and one of all; yield that of all, or of the only one.

    Rows are in the order of their mean difference.
    """
    shares = comparison.differences["ratio"].unique().tolist()
    files = stem.with_name(f"{stem.name}-{FILES[question]}")
    drawn = []
    for share in shares:
        canvas = difference_panels(comparison, [share], style, label)
        end = f"-{100 * share:g}".replace(".", "_")
        drawn.append(save(canvas, files.with_name(files.name + end), caption))
    columns = tuple(figure.png for figure in drawn)
    if len(shares) > 1:
        drawn.append(save(difference_panels(comparison, shares, style, label), files, caption))
    for figure in drawn[-1:]:
        yield figure._replace(table=stem.name, question=question, columns=columns)


def difference_panels(comparison: RowComparison, shares: Sequence[float], style: FigureStyle, label: str) -> Canvas:
    """Draw the differences at some label shares, a panel of each beside the other, with the line of the baseline.

    A panel's title names the reference where it is no untrained encoder.
    """
    frame = comparison.differences[comparison.differences["ratio"].isin(shares)]
    baseline = comparison.baseline[comparison.baseline["ratio"].isin(shares)]
    order = frame.groupby("variant")["difference"].mean().sort_values(ascending=False).index.tolist()
    titles = [style.rows[row] for row in order]
    spacing = 0.3 if any("\n" in title for title in titles) else 0.19
    entries = [
        Line2D([], [], color="0.3", marker="o", label="significant (Holm)"),
        Line2D([], [], color="0.3", marker="o", label="not significant", markerfacecolor="white"),
    ]
    for row in baseline["variant"].unique():
        entries.append(Line2D([], [], **BASELINE_LINE, label=f"{style.rows[row]}\n(not pretrained)"))
    canvas, part = with_legend(COLUMN if len(shares) == 1 else PAGE, 1.0 + spacing * len(order), entries)
    axes = part.subplots(1, len(shares), sharex=True, sharey=True, squeeze=False)[0]
    for panel, share in zip(axes, shares, strict=True):
        draw_difference_panel(panel, comparison, share, order, style)
        title = labels_text(share) if len(shares) < 4 else ratio_text(share)
        reference = frame.loc[frame["ratio"] == share, "reference"].iloc[0]
        if not is_untrained(reference):
            title += "\n" + fill(f"minus {style.rows[reference]}", LETTERS_OF_PANELS // len(shares))
        panel.set_title(title)
    axes[0].set_yticks(range(len(order)), titles)
    axes[0].set_ylim(len(order) - 0.5, -0.5)
    axes[0].xaxis.set_major_locator(MaxNLocator(6 if len(shares) < 3 else 3, steps=[1, 2, 5, 10]))
    part.supxlabel(label)
    return canvas


def draw_difference_panel(
    panel: Axes, comparison: RowComparison, share: float, order: Sequence[str], style: FigureStyle
) -> None:
    """Draw the differences at one label share, a row of `order` below the other, with the line of the baseline."""
    frame = comparison.differences
    for row in frame[frame["ratio"] == share].to_dict("records"):
        look = style.looks[row["variant"]]
        middle, low, high = (100 * row[name] for name in ("difference", "low_holm", "high_holm"))
        panel.errorbar(
            middle, order.index(row["variant"]), xerr=[[middle - low], [high - middle]], fmt=look.marker,
            color=look.hue, markerfacecolor=look.hue if row["significant"] else "white",
        )  # fmt: skip
    baseline = comparison.baseline
    for row in baseline[baseline["ratio"] == share].to_dict("records"):
        panel.axvline(100 * row["difference"], **BASELINE_LINE)
        if np.isfinite(row["high"] - row["low"]):
            panel.axvspan(100 * row["low"], 100 * row["high"], color="0.9", zorder=0)
    panel.axvline(0, color="black", linewidth=0.8, zorder=1)
    panel.grid(visible=False, axis="y")


def axes_of_differences(comparison: RowComparison, style: FigureStyle, title: str, axes: Axes | None) -> Axes:
    """Draw the differences at the one label share of a comparison on axes, by default of a new pyplot figure.

    The backend of pyplot stays as it is.
    """
    frame = comparison.differences
    order = frame.sort_values("difference", ascending=False)["variant"].tolist()
    reference = and_text([style.rows[name] for name in frame["reference"].unique()])
    share = frame["ratio"].iloc[0]
    with plt.style.context(SETTINGS):
        if axes is None:
            _, axes = plt.subplots(figsize=(COLUMN + 1.5, 0.8 + 0.25 * len(order)), layout="constrained")
        draw_difference_panel(axes, comparison, share, order, style)
    axes.set_yticks(range(len(order)), [style.rows[row] for row in order])
    axes.set_ylim(len(order) - 0.5, -0.5)
    axes.set_xlabel(f"{style.plan.headline.title}, row − {reference} (points); filled: significant (Holm)")
    beside = [style.rows[name] for name in comparison.baseline["variant"].unique()]
    axes.set_title("; dashed: ".join([title, *beside]))
    return axes


def draw_label_efficiency(frame: pd.DataFrame, style: FigureStyle, stem: Path, words: str) -> Figure:
    """Draw a score against the share of the labels as dots beside each other, a panel per dataset."""
    metric = METRICS[style.plan.headline.curve]
    shares = sorted(frame["ratio"].unique())
    rows = [row for row in style.rows if row in set(frame["variant"])]
    positions = np.linspace(-0.36, 0.36, len(rows)) if len(rows) > 1 else [0.0]
    offsets = dict(zip(rows, positions, strict=True))
    datasets = frame["dataset"].unique().tolist()
    labels = ("share of the labels (%)", f"{metric.title} (%; higher: better)")
    canvas, axes = panels(len(datasets), 1.7, entries_of(rows, style), labels)
    for dataset, panel in zip(datasets, axes, strict=True):
        for row, lines in frame[frame["dataset"] == dataset].groupby("variant", sort=False):
            look = style.looks[str(row)]
            position = lines["ratio"].map(shares.index) + offsets[str(row)]
            panel.errorbar(
                position, 100 * lines["mean"], yerr=errors(lines), fmt=look.marker, color=look.hue, markersize=3.5,
                elinewidth=0.8,
            )  # fmt: skip
        panel.set(title=style.datasets[dataset], xlim=(-0.5, len(shares) - 0.5))
        panel.set_xticks(range(len(shares)), [f"{100 * share:g}" for share in shares])
        panel.grid(visible=False, axis="x")
        for border in range(len(shares) - 1):
            panel.axvline(border + 0.5, color="0.8", linewidth=0.6)
    caption = f"M{metric.words[1:]} over the share of the labels, {words}. Lines: 95 % intervals."
    return save(canvas, stem.with_name(f"{stem.name}-label-efficiency"), caption)


def draw_identifiability(points: pd.DataFrame, style: FigureStyle, stem: Path) -> Figure:
    """Draw the headline of the linear probe against Recall@1 of the patient, with intervals, a panel per dataset.

    A panel shows all means; the intervals of few seeds may leave it.
    """
    headline = style.plan.headline
    datasets = points["dataset"].unique().tolist()
    labels = ("Recall@1 of the patient (%; higher: knows patients)", f"{headline.title}, linear probe (%)")
    canvas, axes = panels(len(datasets), 2.0, entries_of(points["variant"], style), labels)
    for dataset, panel in zip(datasets, axes, strict=True):
        shown = points[points["dataset"] == dataset]
        for row in shown.to_dict("records"):
            look = style.looks[row["variant"]]
            line = pd.DataFrame([row])
            panel.errorbar(
                100 * row["mean"], 100 * row["mean_overall"], xerr=errors(line),
                yerr=errors(line, "_overall"), fmt=look.marker, color=look.hue,
                elinewidth=0.6,
            )  # fmt: skip
        panel.set_xlim(*around(shown["mean"]))
        panel.set_ylim(*around(shown["mean_overall"]))
        panel.set_title(style.datasets[dataset])
        panel.xaxis.set_major_locator(MaxNLocator(4))
    caption = (
        f"Accuracy against identifiability: {headline.words} of the linear probe at the smallest label share, and "
        "share of the test recordings whose nearest other recording is of the same patient. Lines: 95 % intervals, "
        "which may leave the panel."
    )
    return save(canvas, stem, caption)


def around(means: pd.Series[float]) -> tuple[float, float]:
    """Return the limits of an axis in percent around means in [0, 1], with half of their span on both sides."""
    low = 100 * means.min()
    high = 100 * means.max()
    margin = max(3.0, (high - low) / 2)
    return low - margin, high + margin


def draw_training(curves: pd.DataFrame, style: FigureStyle, stem: Path) -> Figure:
    """Draw loss and health of the pretrainings over their epochs, a panel per measure; a marker ends a line."""
    trained = curves[curves["measure"] == LOSS]["variant"].unique()
    curves = curves[curves["variant"].isin(trained)]
    measures = [measure for measure in MEASURE_LABELS if measure in set(curves["measure"])]
    entries = entries_of(trained, style, "-")
    canvas, axes = panels(len(measures), 1.8, entries, ("epoch (0: the untrained encoder)", ""))
    for measure, panel in zip(measures, axes, strict=True):
        for row, lines in curves[curves["measure"] == measure].groupby("variant", sort=False):
            look = style.looks[str(row)]
            values = lines.astype({"epoch": int, "value": float}).pivot_table("value", "epoch", "key")
            if measure == LOSS:
                first = values.iloc[0]
                values = 100 * (values - first) / first.abs()
            if measure == "retrieval":
                values = 100 * values
            panel.plot(values.index, values.mean(axis=1), color=look.hue, marker=look.marker, markevery=[-1])
            panel.fill_between(values.index, values.min(axis=1), values.max(axis=1), color=look.hue, alpha=0.2, lw=0)
        panel.set_title(MEASURE_LABELS[measure])
        panel.xaxis.set_major_locator(MaxNLocator(5, integer=True))
    caption = (
        "Loss and health of the pretrainings: mean and range over seeds. Epoch 0 is the untrained encoder. Losses of "
        "different methods do not compare, so each is shown as its change."
    )
    return save(canvas, stem, caption)


def save(canvas: Canvas, stem: Path, caption: str) -> Figure:
    """Write a figure as PNG and PDF; the same figure gives the same bytes. stem: the path without its ending."""
    engine = canvas.get_layout_engine()
    if engine:
        engine.execute(canvas)
        canvas.set_layout_engine("none")  # laid out once for both files
    for suffix, metadata in ((".png", {}), (".pdf", {"CreationDate": None})):
        buffer = BytesIO()
        canvas.savefig(buffer, format=suffix[1:], dpi=DPI, metadata=metadata)
        write_atomic(stem.with_name(stem.name + suffix), buffer.getvalue())
    return Figure(stem.with_name(stem.name + ".png"), caption)
