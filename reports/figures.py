"""The figures of a report, drawn by seaborn from its frames, each as PNG and PDF with a caption.

Differences in the headline with intervals adjusted as the tests are (Holm), one file per label share; its curve over
label shares and over the values of a swept hyperparameter beside the other methods (PMQ, Fig. 4); loss and health of
the pretrainings over their epochs; and one recording as a 12-lead sheet. A row of the tables has the same colour and
marker in all figures of a report; colours are those of seaborn's palette for colour-blind readers.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from functools import cache
from io import BytesIO
from itertools import cycle
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
import pandas as pd
import seaborn as sns
from matplotlib import pyplot as plt
from matplotlib import rc_context
from matplotlib.figure import Figure as Canvas
from matplotlib.font_manager import FontProperties, findfont, get_font
from numpy.typing import NDArray

from benchmark.results.arrays import AnyFloats
from benchmark.results.files import write_atomic
from benchmark.results.metrics import METRICS, RECALLS
from benchmark.results.names import BASELINE, LEADS, MEASURES, METHOD, OVERALL, SWEEP
from benchmark.results.store import Plan
from reports.results import LOSS, Results, evaluations_of, learning_curves, mean_over_subsets, role_of
from reports.words import labels_text, ratio_text, row_title, seeds_text, unit_text

SETTINGS = {
    "font.size": 8, "axes.titlesize": 8, "axes.labelsize": 8, "legend.fontsize": 7, "pdf.fonttype": 42,
    "text.parse_math": False,
}  # fmt: skip
"""A dollar sign of a title is no formula."""
DPI = 200
MARKERS = ("o", "s", "^", "D", "v", "P", "X", "*", "h", "<", ">", "p", "d", "8")


class Look(NamedTuple):
    """How rows and datasets look in all figures of a plan; one whose title lacks a letter is called by its name."""

    plan: Plan
    rows: dict[str, str]
    """Row -> title, which says so of a method that reads reports."""
    datasets: dict[str, str]
    """Dataset -> title, which says so of simulated ECGs."""
    palette: dict[str, Any]
    """Title of a row -> colour, whichever rows a figure shows."""
    markers: dict[str, str]
    """Title of a row -> marker."""


class Interval(NamedTuple):
    """A mean and the ends of its interval, in percent or in points."""

    mean: float
    low: float
    high: float

    @property
    def error(self) -> NDArray[np.float64]:
        """Lengths below and above the mean, (2, 1): what `errorbar` takes."""
        return np.array([[self.mean - self.low], [self.high - self.mean]])


class Figure(NamedTuple):
    """A drawn figure."""

    png: Path
    caption: str
    answers: bool = False
    """Shown beside the verdict, not among the further figures."""


def look_of(plan: Plan) -> Look:
    """Choose titles, colours and markers for the figures of a plan."""
    rows = drawable({name: row_title(plan, name) for name in plan.variants})
    datasets = drawable(plan.titles)
    for name, facts in plan.datasets.items():
        if facts["simulated"]:
            datasets[name] += " (simulated)"
    palette = dict(zip(rows.values(), cycle(sns.color_palette("colorblind")), strict=False))
    markers = dict(zip(rows.values(), cycle(MARKERS), strict=False))
    return Look(plan, rows, datasets, palette, markers)


def drawable(titles: Mapping[str, str]) -> dict[str, str]:
    """Return titles by name, and the name in place of one that lacks a letter in the font of the figures."""
    return {name: title if is_drawable(title) else name for name, title in titles.items()}


def draw_figures(
    results: Results,
    folder: Path,
    units: Sequence[str],
    differences: Mapping[tuple[str, str], pd.DataFrame],
    retrieval: pd.DataFrame,
) -> Iterator[Figure]:
    """Draw the figures for which a run has data.

    units: 'heartbeat', 'recording' or both. differences: (evaluation, unit) -> frame of `reports.inference`.
    retrieval: frame of `reports.build.retrieval_scores`.
    """
    plan = results.plan
    look = look_of(plan)
    scores = mean_over_subsets(results.scores).dropna(subset=["value"])
    scores = scores.assign(percent=100 * scores["value"], row=scores["variant"].map(look.rows))
    compared = [name for name in plan.variants if role_of(plan, name)["role"] in (METHOD, BASELINE)]
    plt.switch_backend("agg")
    with rc_context(SETTINGS), sns.axes_style("whitegrid"):  # type: ignore[arg-type]
        for evaluation in evaluations_of(plan):
            seeds = {cell.seed for cell in plan.cells if cell.evaluation == evaluation}
            for unit in units:
                stem = folder / f"{evaluation}-{unit}"
                words = f"per {unit_text(plan, unit)}, {seeds_text(seeds)}"
                of_unit = scores.query("evaluation == @evaluation and unit == @unit and metric == @plan.headline.curve")
                rows = of_unit[of_unit["variant"].isin(compared)]
                yield from draw_differences(differences[evaluation, unit], look, stem, words)
                if rows["ratio"].nunique() > 1:
                    yield draw_label_efficiency(rows, look, stem, words)
                yield from draw_sweeps(of_unit, look, stem, words)
        recall = retrieval[retrieval["metric"] == RECALLS[0]].dropna(subset=["mean"])
        overall = retrieval[retrieval["metric"] == OVERALL]
        points = recall.merge(overall, on="variant", suffixes=("", "_overall"))
        if len(points):
            yield draw_identifiability(points, look, folder / "identifiability")
        pretrainings = {name: records for name, records in results.pretrainings.items() if name in compared}
        curves = learning_curves(pretrainings)
        if curves["epoch"].nunique() > 1:
            yield draw_training(curves, look, folder / "training")


def draw_differences(frame: pd.DataFrame, look: Look, stem: Path, words: str) -> Iterator[Figure]:
    """Draw each row's difference in the headline from its reference, with Holm's interval, a file per ratio."""
    titles = look.rows
    reference = " or ".join(titles[name] for name in frame["reference"].unique())
    lowest = 100 * frame["low_holm"].min()
    highest = 100 * frame["high_holm"].max()
    for ratio in frame["ratio"].unique().tolist():
        rows = frame[frame["ratio"] == ratio]
        canvas = Canvas(figsize=(3.6, 0.6 + 0.22 * len(rows)), layout="constrained")
        axes = canvas.subplots()
        axes.axvline(0, color="0.4", linewidth=0.8)
        for number, row in enumerate(rows.to_dict("records")):
            title = titles[row["variant"]]
            colour = look.palette[title]
            points = Interval(100 * row["difference"], 100 * row["low_holm"], 100 * row["high_holm"])
            axes.errorbar(
                points.mean, number, xerr=points.error, fmt=look.markers[title], color=colour,
                markerfacecolor=colour if row["significant"] else "white",
            )  # fmt: skip
        axes.set_yticks(range(len(rows)), rows["variant"].map(titles))
        axes.set(ylim=(len(rows) - 0.5, -0.5), title=labels_text(ratio), xlabel=f"points from {reference}")
        if np.isfinite(lowest) and np.isfinite(highest):
            axes.set_xlim(min(lowest, 0) - 1, max(highest, 0) + 1)
        axes.grid(visible=False, axis="y")
        caption = (
            f"{look.plan.headline.title} minus that of {reference}, {words}. Lines: 95 % intervals, adjusted by "
            "Holm's method over all pairs of rows as the tests are. Filled: significant."
        )
        name = f"{stem.name}-differences-{100 * ratio:g}".replace(".", "_")
        yield save(canvas, stem.with_name(name), caption, True)


def draw_label_efficiency(frame: pd.DataFrame, look: Look, stem: Path, words: str) -> Figure:
    """Draw the headline's curve against the share of the labels, a panel per dataset."""
    metric = METRICS[look.plan.headline.curve]
    shares = sorted(frame["ratio"].unique())
    frame = frame.assign(dataset=frame["dataset"].map(look.datasets))
    grid = sns.relplot(
        frame, x="ratio", y="percent", hue="row", style="row", col="dataset", col_wrap=2, kind="line", errorbar="sd",
        height=2.2, aspect=1.3, dashes=False, palette=look.palette, markers=look.markers,
    )  # fmt: skip
    grid.set(xscale="log", xlabel="labels (%)", ylabel=f"{metric.title} (%)")
    for axes in grid.axes.flat:
        axes.set_xticks(shares, [f"{100 * share:g}" for share in shares])
        axes.set_xticks([], minor=True)
    grid.set_titles("{col_name}").legend.set_title("")
    caption = f"M{metric.words[1:]} over the share of the labels, {words}. Bands: standard deviation over seeds."
    return save(grid.figure, stem.with_name(f"{stem.name}-label-efficiency"), caption)


def draw_sweeps(frame: pd.DataFrame, look: Look, stem: Path, words: str) -> Iterator[Figure]:
    """Draw the headline's curve over each swept hyperparameter, the other methods as lines; a file each."""
    sweeps: dict[tuple[str, str], dict[str, Any]] = {}  # method and hyperparameter -> row -> value
    methods = []
    metric = METRICS[look.plan.headline.curve]
    for variant in look.plan.variants:
        role = role_of(look.plan, variant)
        if role["role"] == METHOD:
            methods.append(variant)
        if role["role"] == SWEEP:
            sweeps.setdefault((role["of"], role["hyperparameter"]), {})[variant] = role["value"]
    frame = frame.assign(title=frame["dataset"].map(look.datasets))
    unchanged = frame[frame["variant"].isin(methods)]
    for (method, hyperparameter), values in sweeps.items():
        order = list(values)
        points = frame[frame["variant"].isin(order)]
        if points.empty:
            continue
        points = points.assign(position=points["variant"].map(order.index))
        method_title = look.rows.get(method, method)
        grid = sns.relplot(
            points, x="position", y="percent", row="ratio", col="title", kind="line", errorbar="sd", marker="o",
            height=2.4, aspect=1.2, color=look.palette.get(method_title, "0.2"),
        )  # fmt: skip
        for (ratio, title), axes in grid.axes_dict.items():
            panel = unchanged[(unchanged["title"] == title) & (unchanged["ratio"] == ratio)]
            means = panel.groupby("row", sort=False)["percent"].mean()
            for row, mean in means.to_dict().items():
                axes.axhline(mean, color=look.palette[row], linestyle="--", linewidth=1, label=row)
            axes.set_title(f"{title}, {ratio_text(ratio)}")
            axes.set_xticks(range(len(order)), [str(value) for value in values.values()])
        name = hyperparameter.replace("_", " ")
        grid.set(xlabel=name, ylabel=f"{metric.title} (%)")
        grid.figure.set_layout_engine("constrained")
        grid.figure.legend(*axes.get_legend_handles_labels(), loc="outside right upper", frameon=False)
        caption = (
            f"M{metric.words[1:]} of {method_title} over {name} by share of the labels, {words}. Band: standard "
            "deviation over seeds. Dashed: the methods as they are."
        )
        file = f"{stem.name}-{method}-{hyperparameter}".replace("_", "-")
        yield save(grid.figure, stem.with_name(file), caption)


def draw_identifiability(points: pd.DataFrame, look: Look, stem: Path) -> Figure:
    """Draw the headline of the linear probe against Recall@1 of the patient, with intervals, a panel per dataset."""
    datasets = points["dataset"].unique().tolist()
    canvas = Canvas(figsize=(1.4 + 2.6 * len(datasets), 2.6), layout="constrained")
    panels = canvas.subplots(1, len(datasets), sharey=True, squeeze=False)[0]
    for dataset, axes in zip(datasets, panels, strict=True):
        for row in points[points["dataset"] == dataset].to_dict("records"):
            recall = Interval(100 * row["mean"], 100 * row["low"], 100 * row["high"])
            overall = Interval(100 * row["mean_overall"], 100 * row["low_overall"], 100 * row["high_overall"])
            title = look.rows[row["variant"]]
            axes.errorbar(
                recall.mean, overall.mean, xerr=recall.error, yerr=overall.error, fmt=look.markers[title],
                color=look.palette[title], linewidth=0.8, label=title,
            )  # fmt: skip
        axes.set(title=look.datasets[dataset], xlabel="Recall@1 of the patient (%)")
    headline = look.plan.headline
    panels[0].set_ylabel(f"{headline.title} of the linear probe (%)")
    canvas.legend(*panels[0].get_legend_handles_labels(), loc="outside right upper", frameon=False)
    caption = (
        f"Accuracy against identifiability: {headline.words} of the linear probe at the smallest label share, and "
        "share of the test recordings whose nearest other recording is of the same patient. Lines: 95 % intervals."
    )
    return save(canvas, stem, caption)


def draw_training(curves: pd.DataFrame, look: Look, stem: Path) -> Figure:
    """Draw loss and health of the pretrainings over their epochs, a panel per measure."""
    panels = {LOSS: LOSS} | MEASURES
    shown = curves[curves["measure"].isin(list(panels))]
    measures = shown["measure"].map(panels)
    shown = shown.assign(row=shown["variant"].map(look.rows), measure=measures)
    grid = sns.relplot(
        shown, x="epoch", y="value", hue="row", style="row", col="measure", col_wrap=2, kind="line", dashes=False,
        errorbar=("pi", 100), height=1.9, aspect=1.5, facet_kws={"sharey": False},
        palette=look.palette, markers=look.markers,
    )  # fmt: skip
    grid.set_titles("{col_name}").set(ylabel="").legend.set_title("")
    caption = (
        "Loss and health of the pretrainings: mean and range over seeds. Epoch 0 is the untrained encoder. Losses of "
        "different methods do not compare."
    )
    return save(grid.figure, stem, caption)


@cache
def letters_of_font() -> frozenset[int]:
    """Read the letters that the font of the figures can draw, as code points."""
    with rc_context(SETTINGS), sns.axes_style("whitegrid"):  # type: ignore[arg-type]
        font = get_font(findfont(FontProperties()))
        return frozenset(font.get_charmap())


def is_drawable(text: str) -> bool:
    """Tell whether the font of the figures has every letter of a text."""
    return {ord(letter) for letter in text} <= letters_of_font()


def undrawable_titles(plan: Plan) -> list[str]:
    """Say of each title that the font of the figures lacks a letter of by which name they call it."""
    titles = plan.titles | plan.variants
    undrawable = [name for name in titles if not is_drawable(titles[name])]
    return [f"figures call {titles[name]!r} {name}, since their font lacks a letter of it" for name in undrawable]


def save(canvas: Canvas, stem: Path, caption: str, answers: bool = False) -> Figure:
    """Write a figure as PNG and PDF; the same figure gives the same bytes. stem: the path without its ending."""
    engine = canvas.get_layout_engine()
    if engine:
        engine.execute(canvas)
        canvas.set_layout_engine("none")  # laid out once for both files
    for suffix, metadata in ((".png", {}), (".pdf", {"CreationDate": None})):
        buffer = BytesIO()
        canvas.savefig(buffer, format=suffix[1:], dpi=DPI, metadata=metadata)
        write_atomic(stem.with_name(stem.name + suffix), buffer.getvalue())
    plt.close(canvas)
    return Figure(stem.with_name(stem.name + ".png"), caption, answers)


def draw_recording(signal: AnyFloats, rate: float, title: str, r_peaks: NDArray[np.integer[Any]], path: Path) -> None:
    """Draw a recording on ECG paper, a lead below the other, its heartbeats marked on lead II.

    signal: (n, 12) mV, leads I, II, III, aVR, aVL, aVF, V1 to V6. rate: Hz. r_peaks: (k,) samples.
    """
    import wfdb  # here, because reports read no recordings

    none = np.empty(0, np.int64)
    marked = [r_peaks if lead == "II" else none for lead in LEADS]
    plt.switch_backend("agg")
    with rc_context({"text.parse_math": False}):
        canvas = wfdb.plot_items(
            signal=signal, ann_samp=marked, fs=rate, time_units="seconds", sig_name=list(LEADS),
            sig_units=["mV"] * len(LEADS), title=title, ecg_grids="all", return_fig=True, figsize=(10, 14),
            ann_style=["b."],
        )  # fmt: skip
    buffer = BytesIO()
    canvas.savefig(buffer, format="png", dpi=DPI // 2)
    plt.close(canvas)
    write_atomic(path, buffer.getvalue())
