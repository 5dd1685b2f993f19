"""Chooses and writes the figures of a run, with their captions.

Figures without data are left out; one that fails is reported, and the others are drawn.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import astuple, dataclass
from functools import partial
from pathlib import Path

from benchmark.results.metrics import METRICS
from benchmark.results.names import OVERALL
from benchmark.results.tuned import Tuning
from reports.figures import draw as plots
from reports.figures.captions import (
    budget_note,
    classes_note,
    compute_note,
    confusion_note,
    differences_note,
    masking_note,
    score_note,
    search_note,
    similarity_note,
    sweep_note,
    titles_of,
    training_note,
)
from reports.figures.confusion import confusions
from reports.figures.files import FOLDER, Figures
from reports.figures.illustrations import illustrations_of
from reports.figures.score_bands import compared, label_curves, panels, sweeps, untrained
from reports.figures.sensitivity import FIGURE as SENSITIVITY
from reports.figures.sensitivity import knob_panels
from reports.runs.cards import Cards, costs, courses
from reports.runs.planned_tables import evaluations_of
from reports.runs.run import Run
from reports.statistics.bands import bands
from reports.statistics.budget_curve import PASSES, SECONDS, WINDOWS, budget_curves
from reports.statistics.differences import FIGURE, differences, in_one_panel
from reports.statistics.further.classes import ClassTable
from reports.statistics.of_table import TableStatistics
from reports.tables.captions import ratio_stem

DRAWN = ("auroc", "auprc", "sens90")
"""Scores of a figure by class."""


@dataclass(frozen=True)
class Shown:
    """Input and output folder of the figures."""

    run: Run
    cards: Cards
    """Of the compared rows and the gates."""
    folder: Path
    statistics: Mapping[str, TableStatistics]
    """By table name."""
    classes: Sequence[ClassTable] = ()

    def stem(self, *parts: str) -> Path:
        """Path of a figure without suffix, fit for LaTeX."""
        return self.folder / "-".join(parts).replace("_", "-").replace(" ", "-")


def write_figures(
    run: Run,
    out: Path,
    units: Sequence[str],
    statistics: Mapping[str, TableStatistics],
    classes: Sequence[ClassTable] = (),
) -> Figures:
    """Draw the figures of a plan under `out`/figures, each as PNG and PDF; figures of scores once per unit.

    units: 'heartbeat', 'recording' or both. statistics: by table name, for the differences.
    classes: the scores by class.
    """
    cards = {variant: run.cards[variant] for variant in compared(run.plan) if variant in run.cards}
    shown = Shown(run, cards, out / FOLDER, statistics, classes)
    files: list[Path] = []
    problems: list[str] = []
    for what, draw in figures_of(shown, units):
        try:
            files += draw()
        except Exception as error:  # one failed figure must not stop the report
            problems.append(f"figure of {what}: {type(error).__name__}: {error}")
    return Figures(tuple(files), tuple(problems))


def figures_of(shown: Shown, units: Sequence[str]) -> Iterator[tuple[str, Callable[[], Iterable[Path]]]]:
    """(name, function that draws and returns its files); no files where the run has no data for them."""
    plan = shown.run.plan
    for evaluation in evaluations_of(plan):
        for unit in units:
            place = f"{evaluation} per {unit}"
            yield f"differences, {place}", partial(draw_differences, shown, evaluation, unit)
            yield f"sweeps, {place}", partial(draw_sweeps, shown, evaluation, unit)
            yield f"label efficiency, {place}", partial(draw_label_efficiency, shown, evaluation, unit)
            yield f"compute, {place}", partial(draw_compute, shown, evaluation, unit)
            yield f"budget, {place}", partial(draw_budget, shown, evaluation, unit)
    for dataset in plan.datasets if plan.cells else ():
        for unit in units:
            first = plan.cells[0].evaluation
            yield f"confusion, {dataset} per {unit}", partial(draw_confusion, shown, first, unit, dataset)
            yield f"classes, {dataset} per {unit}", partial(draw_classes, shown, first, unit, dataset)
    yield "sensitivity", partial(draw_sensitivity, shown.run.searches, shown.folder)
    yield "training", partial(draw_training, shown)
    yield "masking", partial(draw_masking, shown)
    yield "similarity", partial(draw_similarity, shown)


def draw_differences(shown: Shown, evaluation: str, unit: str) -> Iterator[Path]:
    """Differences in Overall of the main table from its reference row."""
    plan = shown.run.plan
    found = differences(shown.statistics.get(f"{evaluation}-{unit}"))
    if found:
        reference = plan.variants[found[0].reference]
        if len({own.reference for own in found}) > 1:
            reference = f"{reference.rpartition(' on ')[0] or reference} on the same encoder"
        there = {row.variant for own in found for row in own.rows}
        rows = titles_of(plan, [variant for variant in plan.variants if variant in there])
        note = differences_note(plan, evaluation, unit, reference)
        yield from plots.plot_differences(
            in_one_panel(found), rows, reference, note, shown.stem(evaluation, unit, FIGURE), evaluation=evaluation
        )


def draw_sweeps(shown: Shown, evaluation: str, unit: str) -> Iterator[Path]:
    """One figure per swept knob and label ratio."""
    plan = shown.run.plan
    found = list(sweeps(plan, bands(shown.run.tidy, evaluation, unit), evaluation))
    for sweep in found:
        note = f"{score_note(plan, evaluation, unit, sweep.ratio)} {sweep_note(sweep)}"
        several = len({other.ratio for other in found if (other.of, other.knob) == (sweep.of, sweep.knob)}) > 1
        at = [ratio_stem(sweep.ratio, evaluation)] if several else []
        stem = shown.stem(evaluation, unit, sweep.of, sweep.knob, *at)
        rows = titles_of(plan, [sweep.of, *sweep.lines["variant"]])
        yield from plots.plot_sweep(sweep, panels(sweep.points, plan), rows, note, stem)


def draw_label_efficiency(shown: Shown, evaluation: str, unit: str) -> Iterator[Path]:
    """Scores over label ratios, for two ratios or more."""
    plan = shown.run.plan
    curves = label_curves(plan, bands(shown.run.tidy, evaluation, unit))
    if len(curves):
        note, rows = score_note(plan, evaluation, unit), titles_of(plan, curves["variant"])
        stem = shown.stem(evaluation, unit, "label-efficiency")
        yield from plots.plot_label_efficiency(curves, panels(curves, plan), rows, note, stem, evaluation=evaluation)


def draw_compute(shown: Shown, evaluation: str, unit: str) -> Iterator[Path]:
    """Overall, or the only dataset's score, over pretraining time, for two timed rows or more."""
    plan, spent = shown.run.plan, costs(shown.cards)
    rows = [variant for variant in compared(plan) if variant not in spent.elsewhere]
    found = bands(shown.run.tidy, evaluation, unit)
    own = found[found["variant"].isin(rows)]
    names = panels(own, plan)
    dataset = OVERALL if OVERALL in names else next(iter(names), OVERALL)
    scores = own[own["dataset"] == dataset]
    timed = scores[scores["variant"].isin(list(spent.seconds))]
    if timed["variant"].nunique() > 1:
        scores = scores[scores["ratio"].isin(timed["ratio"])]
        note = f"{score_note(plan, evaluation, unit)} {compute_note(plan, spent)}"
        seconds = {variant: spent.seconds[variant] for variant in timed["variant"]}
        stem = shown.stem(evaluation, unit, "compute")
        yield from plots.plot_compute(
            scores, names[dataset], seconds, titles_of(plan, scores["variant"]), note, stem, evaluation=evaluation
        )


def draw_budget(shown: Shown, evaluation: str, unit: str) -> Iterator[Path]:
    """Overall, or the only dataset's score, over what pretraining cost, where the run has snapshots."""
    run, plan = shown.run, shown.run.plan
    found = bands(run.tidy, evaluation, unit)
    curves = list(budget_curves(run, found))
    for curve in curves:
        names = panels(curve.points, plan)
        dataset = OVERALL if OVERALL in names else next(iter(names))
        points = curve.points[curve.points["dataset"] == dataset]
        at_ratio = found[(found["ratio"] == curve.ratio) & (found["dataset"] == dataset)]
        lines = at_ratio[at_ratio["variant"].isin(untrained(plan))]
        rows = titles_of(plan, [*points["of"], *lines["variant"]])
        costs_shown = [cost for cost in (WINDOWS, PASSES, SECONDS) if points[cost].notna().any()]
        note = f"{score_note(plan, evaluation, unit, curve.ratio)} {budget_note(curve.machine, SECONDS in costs_shown)}"
        at = [ratio_stem(curve.ratio, evaluation)] if len(curves) > 1 else []
        stem = shown.stem(evaluation, unit, "budget", *at)
        yield from plots.plot_budget(points, lines, names[dataset], costs_shown, rows, note, stem)


def draw_confusion(shown: Shown, evaluation: str, unit: str, dataset: str) -> Iterator[Path]:
    """Confusion matrices on one dataset at the smallest compared label ratio, in one evaluation."""
    plan, variants = shown.run.plan, compared(shown.run.plan)
    ratios = [
        cell.ratio
        for cell in plan.cells
        if (cell.evaluation, cell.dataset) == (evaluation, dataset) and cell.variant in variants
    ]
    if not ratios:
        return
    where = {"evaluation": evaluation, "dataset": dataset, "unit": unit}
    found = confusions(shown.run, variants, ratio=min(ratios), **where)
    if found:
        note = confusion_note(plan, evaluation, unit, dataset, min(ratios), found)
        classes = plan.datasets[dataset]["classes"]
        stem = shown.stem(evaluation, unit, "confusion", dataset)
        yield from plots.plot_confusion(found, classes, titles_of(plan, [own.variant for own in found]), note, stem)


def draw_classes(shown: Shown, evaluation: str, unit: str, dataset: str) -> Iterator[Path]:
    """Scores by class on one dataset at the smallest compared label ratio, in one evaluation."""
    plan, variants = shown.run.plan, compared(shown.run.plan)
    places = (evaluation, unit, dataset)
    own = [table for table in shown.classes if astuple(table.place)[:3] == places]
    found = next((table for table in sorted(own, key=lambda table: table.place.ratio)), None)
    if found is None:
        return
    there = {variant for variant, _, _ in found.scores}
    rows = titles_of(plan, [variant for variant in variants if variant in there])
    classes = {count.name: f"{count.name} ({100 * count.share:.1f} %)" for count in found.counts if count.lines}
    panels = {
        METRICS[score].title: [
            plots.ClassMark(variant, name, 100 * value.mean, 100 * value.low, 100 * value.high)
            for (variant, name, of), value in found.scores.items()
            if of == score and name in classes and variant in rows
        ]
        for score in DRAWN
    }
    if rows and classes:
        stem = shown.stem(evaluation, unit, "classes", dataset)
        yield from plots.plot_class_scores(panels, classes, rows, classes_note(plan, found), stem)


def draw_sensitivity(tunings: Sequence[Tuning], folder: Path) -> tuple[Path, ...]:
    """The trials of a search by knob; no figure without a finished trial."""
    panels = knob_panels(tunings)
    rows = {tuning.method: tuning.title for tuning in tunings}
    return plots.plot_sensitivity(panels, rows, search_note(tunings), folder / SENSITIVITY) if panels else ()


def draw_training(shown: Shown) -> Iterator[Path]:
    """Loss and health of the pretrainings."""
    found = courses(shown.cards)
    rows = titles_of(shown.run.plan, dict.fromkeys(found["variant"]))
    if len(found):
        note = training_note(shown.run.plan, shown.cards)
        yield from plots.plot_training(found, rows, note, shown.stem("training"))


def draw_masking(shown: Shown) -> Iterator[Path]:
    """The masks of the last compared row that has any; the proposed method is listed last."""
    plan = shown.run.plan
    masked = illustrations_of(shown.run, compared(plan)).masked
    if masked:
        note = masking_note(plan, masked[-1])
        yield from plots.plot_masking(masked[-1], note, shown.stem("masking"))


def draw_similarity(shown: Shown) -> Iterator[Path]:
    """Cosine similarity of queries and keys of the rows with a queue."""
    plan = shown.run.plan
    found = illustrations_of(shown.run, compared(plan)).similarities
    if found:
        rows = titles_of(plan, [own.variant for own in found])
        yield from plots.plot_similarity(found, rows, similarity_note(plan, found), shown.stem("similarity"))
