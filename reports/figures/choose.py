"""Chooses and writes the figures of a run, with their captions.

Figures without data are left out; one that fails is reported, and the others are drawn.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import astuple, dataclass
from functools import partial
from pathlib import Path

from benchmark.results.metrics import METRICS
from benchmark.results.store import Plan
from reports.figures.data import (
    FOLDER,
    Confusion,
    Figures,
    Sweep,
    compared,
    confusions,
    label_curves,
    panels,
    sweeps,
)
from reports.figures.inside import plot_confusion, plot_training
from reports.figures.scores import (
    MOST_INTERVALS,
    ClassMark,
    plot_class_scores,
    plot_differences,
    plot_label_efficiency,
    plot_sweep,
)
from reports.results import Records, Results, evaluations_of, learning_curves, mean_over_subsets
from reports.statistics.classes import PartTable
from reports.statistics.curves import bands
from reports.statistics.estimates import LEVEL
from reports.statistics.table import FIGURE, Differences, TableStatistics, differences, in_one_panel
from reports.tables.further import unlabelled_text
from reports.tables.words import evaluation_text, labels_text, ratio_stem, seeds_named, simulated_text, unit_text


def titles_of(plan: Plan, variants: Iterable[str]) -> dict[str, str]:
    """Row -> title, each once."""
    return {variant: plan.variants[variant] for variant in dict.fromkeys(variants)}


def note_of(plan: Plan, datasets: Iterable[str], *sentences: str) -> str:
    """The small print: sentences, whether the ECGs are simulated, and the plan's first warning."""
    warned = []
    if plan.warnings:
        more = f" ({len(plan.warnings) - 1} more under the tables)" if len(plan.warnings) > 1 else ""
        warned = [f"Warning: {plan.warnings[0]}{more}."]
    return " ".join(filter(None, [*sentences, *simulated_text(plan, datasets), *warned]))


def seeds_text(plan: Plan, evaluation: str) -> str:
    """'mean±std over seeds 41 to 45 (one pretraining)', or 'one seed (41)'."""
    seeds = sorted({cell.seed for cell in plan.cells if cell.evaluation == evaluation})
    if len(seeds) == 1:
        return f"one seed ({seeds[0]})"
    shared = "one pretraining" if plan.config["protocol"] == "paper" else "a pretraining each"
    return f"mean±std over seeds {seeds_named(seeds)} ({shared})"


def how_text(evaluation: str, ratio: float | None = None) -> str:
    """'fine-tuned' or 'fine-tuned with 10 % of the labels'."""
    labels = "" if ratio is None else f" with {labels_text(ratio)}"
    return f"{evaluation_text(evaluation).lower()}{labels}"


def score_note(plan: Plan, evaluation: str, unit: str, ratio: float | None = None, more: str = "") -> str:
    """Unit, evaluation and seeds of a figure's macro F1, and what else is drawn."""
    how = f"{how_text(evaluation, ratio)}; {seeds_text(plan, evaluation)}"
    overall = "Overall: mean of the datasets." if len(plan.datasets) > 1 else ""
    return note_of(plan, plan.datasets, f"Macro F1 per {unit_text(plan, unit)}, {how}.", overall, more)


def lines_text(lows: Iterable[float]) -> str:
    """What the lines of a figure are, and a mark without one, by the lower ends of the intervals."""
    lacking = "; none where it is not estimable" if any(map(math.isnan, lows)) else ""
    return f"Lines: {100 * (1 - LEVEL):g} % intervals, not adjusted{lacking}."


def differences_note(plan: Plan, evaluation: str, unit: str, reference: str, found: Sequence[Differences]) -> str:
    """What a difference is, its interval, and the filled marks."""
    return note_of(
        plan,
        plan.datasets,
        f"Overall (mean of all columns) minus that of {reference}, {how_text(evaluation)}, per "
        f"{unit_text(plan, unit)}; {seeds_text(plan, evaluation).removeprefix('mean±std over ')}.",
        lines_text(row.low for own in found for row in own.rows),
        "Filled: significant after Holm's correction over all pairs of rows.",
    )


def sweep_note(sweep: Sweep) -> str:
    """The marks of a sweep."""
    sentences = [] if sweep.own is None else ["Ring: the method's own value."]
    if len(sweep.lines):
        sentences.append("Lines: other methods, their ±std at the right.")
    return " ".join(sentences)


def confusion_note(plan: Plan, unit: str, dataset: str, how: str, found: Sequence[Confusion]) -> str:
    """What a confusion matrix counts."""
    seeds = sorted({own.seeds for own in found})
    counted = f"{seeds[0]} seed{'s' if seeds != [1] else ''}" if len(seeds) == 1 else f"{seeds[0]} to {seeds[-1]} seeds"
    return note_of(
        plan,
        [dataset],
        f"{plan.datasets[dataset]['title']}, {how}. Rows: true class; columns: predicted class; percent of the true "
        f"class's {unit_text(plan, unit)}s over {counted}, blank below 1.",
    )


def classes_note(plan: Plan, found: PartTable, panels: Mapping[str, Sequence[ClassMark]]) -> str:
    """What the scores by class rest on, and their lines; panels: what is drawn."""
    marks = max(map(len, panels.values()))
    lows = [mark.low for own in panels.values() for mark in own if not math.isnan(mark.mean)]
    place, word = found.place, unit_text(plan, found.place.unit)
    return note_of(
        plan,
        [place.dataset],
        f"{plan.datasets[place.dataset]['title']}, {how_text(place.evaluation, place.ratio)}; each class against the "
        f"rest on {found.lines} {word}s of {found.patients} patients, in brackets its prevalence; "
        f"{seeds_text(plan, place.evaluation).replace('±std', '')}.",
        lines_text(lows) if marks <= MOST_INTERVALS else "Intervals, left out for room: classes.csv.",
        unlabelled_text(found),
    )


def training_note(plan: Plan, cards: Records) -> str:
    """The sample on which health was measured, and the number of pretrainings."""
    samples = [card["health_sample"] for own in cards.values() for card in own.values() if card.get("health_sample")]
    sampled = [f"Health: {own['windows']} held-out windows of {own['patients']} patients." for own in samples[:1]]
    runs = max(len(own) for own in cards.values())
    several = f"Mean and range of up to {runs} pretrainings." if runs > 1 else ""
    first = "Epoch 0: untrained encoder. Losses of different methods do not compare."
    return note_of(plan, plan.datasets, first, *sampled, several)


DRAWN = ("auroc", "auprc", "sens90")
"""Scores of a figure by class."""


@dataclass(frozen=True)
class Shown:
    """Input and output folder of the figures."""

    run: Results
    cards: Records
    """Of the compared rows and the gates."""
    folder: Path
    statistics: Mapping[str, TableStatistics]
    """By table name."""
    classes: Sequence[PartTable] = ()

    def stem(self, *parts: str) -> Path:
        """Path of a figure without suffix, fit for LaTeX."""
        return self.folder / "-".join(parts).replace("_", "-").replace(" ", "-")


def write_figures(
    run: Results,
    out: Path,
    units: Sequence[str],
    statistics: Mapping[str, TableStatistics],
    classes: Sequence[PartTable] = (),
) -> Figures:
    """Draw the figures of a plan under `out`/figures, each as PNG and PDF; figures of scores once per unit.

    units: 'heartbeat', 'recording' or both. statistics: by table name, for the differences.
    classes: the scores by class.
    """
    cards = {variant: run.pretrainings[variant] for variant in compared(run.plan) if variant in run.pretrainings}
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
    of_scores = {
        "differences": draw_differences,
        "sweeps": draw_sweeps,
        "label efficiency": draw_label_efficiency,
    }
    for evaluation in evaluations_of(plan):
        for unit in units:
            for what, draw in of_scores.items():
                yield f"{what}, {evaluation} per {unit}", partial(draw, shown, evaluation, unit)
    for dataset in plan.datasets if plan.cells else ():
        for unit in units:
            place = plan.cells[0].evaluation, unit, dataset
            yield f"confusion, {dataset} per {unit}", partial(draw_confusion, shown, *place)
            yield f"classes, {dataset} per {unit}", partial(draw_classes, shown, *place)
    yield "training", partial(draw_training, shown)


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
        note = differences_note(plan, evaluation, unit, reference, found)
        yield from plot_differences(in_one_panel(found), rows, reference, note, shown.stem(evaluation, unit, FIGURE))


def draw_sweeps(shown: Shown, evaluation: str, unit: str) -> Iterator[Path]:
    """One figure per swept knob and label ratio."""
    plan = shown.run.plan
    found = list(sweeps(plan, bands(mean_over_subsets(shown.run.scores), evaluation, unit), evaluation))
    for sweep in found:
        note = f"{score_note(plan, evaluation, unit, sweep.ratio)} {sweep_note(sweep)}"
        several = len({other.ratio for other in found if (other.of, other.knob) == (sweep.of, sweep.knob)}) > 1
        at = [ratio_stem(sweep.ratio)] if several else []
        stem = shown.stem(evaluation, unit, sweep.of, sweep.knob, *at)
        rows = titles_of(plan, [sweep.of, *sweep.lines["variant"]])
        yield from plot_sweep(sweep, panels(sweep.points, plan), rows, note, stem)


def draw_label_efficiency(shown: Shown, evaluation: str, unit: str) -> Iterator[Path]:
    """Scores over label ratios, for two ratios or more."""
    plan = shown.run.plan
    curves = label_curves(plan, bands(mean_over_subsets(shown.run.scores), evaluation, unit))
    if len(curves):
        note = score_note(plan, evaluation, unit, more="Shaded: ±std." if curves["std"].gt(0).any() else "")
        rows = titles_of(plan, curves["variant"])
        stem = shown.stem(evaluation, unit, "label-efficiency")
        yield from plot_label_efficiency(curves, panels(curves, plan), rows, note, stem)


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
        note = confusion_note(plan, unit, dataset, how_text(evaluation, min(ratios)), found)
        classes = plan.datasets[dataset]["classes"]
        stem = shown.stem(evaluation, unit, "confusion", dataset)
        yield from plot_confusion(found, classes, titles_of(plan, [own.variant for own in found]), note, stem)


def draw_classes(shown: Shown, evaluation: str, unit: str, dataset: str) -> Iterator[Path]:
    """Scores by class on one dataset at the smallest compared label ratio, in one evaluation."""
    plan, variants = shown.run.plan, compared(shown.run.plan)
    own = [table for table in shown.classes if astuple(table.place)[:3] == (evaluation, unit, dataset)]
    if not own:
        return
    found = min(own, key=lambda table: table.place.ratio)
    there = {variant for variant, _, _ in found.scores}
    rows = titles_of(plan, [variant for variant in variants if variant in there])
    classes = {count.name: f"{count.name} ({100 * count.share:z.1f} %)" for count in found.parts if count.lines}
    panels = {
        METRICS[score].title: [
            ClassMark(variant, name, 100 * value.mean, 100 * value.low, 100 * value.high)
            for (variant, name, of), value in found.scores.items()
            if of == score and name in classes and variant in rows
        ]
        for score in DRAWN
    }
    if rows and classes:
        stem = shown.stem(evaluation, unit, "classes", dataset)
        yield from plot_class_scores(panels, classes, rows, classes_note(plan, found, panels), stem)


def draw_training(shown: Shown) -> Iterator[Path]:
    """Loss and health of the pretrainings."""
    found = learning_curves(shown.cards)
    rows = titles_of(shown.run.plan, dict.fromkeys(found["variant"]))
    if len(found):
        note = training_note(shown.run.plan, shown.cards)
        yield from plot_training(found, rows, note, shown.stem("training"))
