"""Captions of figures: score and seeds, how to read the figure, and whether the ECGs are simulated."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import Any

from benchmark.results.names import ATTRACTS, EVALUATION_TITLES, OWN, SAME
from benchmark.results.plan import Plan
from benchmark.results.tuned import Tuning
from reports.figures.confusion import Confusion
from reports.figures.illustrations import MaskedInput, Similarity
from reports.figures.score_bands import Sweep
from reports.runs.cards import Cards, Costs
from reports.statistics.further.classes import ClassTable
from reports.statistics.interval import LEVEL
from reports.tables.captions import labels_text, seeds_named, unit_text
from reports.tables.trials import search_caption


def titles_of(plan: Plan, variants: Iterable[str]) -> dict[str, str]:
    """Row -> title, each once."""
    return {variant: plan.variants[variant] for variant in dict.fromkeys(variants)}


def caveats(plan: Plan, datasets: Iterable[str]) -> str:
    """Whether the ECGs are simulated, and the plan's first warning."""
    facts: list[dict[str, Any]] = [plan.datasets[name] for name in datasets]
    simulated = any(source.get("simulated") for source in [*facts, plan.pretraining])
    sentences = ["Simulated ECGs: no ranking of methods follows."] if simulated else []
    if plan.warnings:
        more = f" ({len(plan.warnings) - 1} more under the tables)" if len(plan.warnings) > 1 else ""
        sentences.append(f"Warning: {plan.warnings[0]}{more}.")
    return " ".join(sentences)


def seeds_text(plan: Plan, evaluation: str) -> str:
    """'mean±std over seeds 41 to 45 (one pretraining)', or 'one seed (41)'."""
    seeds = sorted({cell.seed for cell in plan.cells if cell.evaluation == evaluation})
    if len(seeds) == 1:
        return f"one seed ({seeds[0]})"
    shared = "one pretraining" if plan.config["protocol"] == "paper" else "a pretraining each"
    return f"mean±std over seeds {seeds_named(seeds)} ({shared})"


def score_note(plan: Plan, evaluation: str, unit: str, ratio: float | None = None) -> str:
    """Unit, evaluation and seeds of a figure's macro F1."""
    labels = "" if ratio is None else f" with {labels_text(ratio, evaluation)}"
    how = f"{EVALUATION_TITLES.get(evaluation, evaluation).lower()}{labels}"
    overall = " Overall: mean of the datasets." if len(plan.datasets) > 1 else ""
    return (
        f"Macro F1 per {unit_text(plan, unit)}, {how}; {seeds_text(plan, evaluation)}.{overall} "
        f"{caveats(plan, plan.datasets)}"
    ).strip()


def differences_note(plan: Plan, evaluation: str, unit: str, reference: str) -> str:
    """What a difference is, its interval, and the filled marks."""
    how = EVALUATION_TITLES.get(evaluation, evaluation).lower()
    return (
        f"Overall (mean of all columns) minus that of {reference}, {how}, per {unit_text(plan, unit)}; "
        f"{seeds_text(plan, evaluation).removeprefix('mean±std over ')}. Lines: {100 * (1 - LEVEL):g} % intervals, not "
        "adjusted. Filled: significant after Holm's correction over all pairs of rows. "
        f"{caveats(plan, plan.datasets)}"
    ).strip()


def sweep_note(sweep: Sweep) -> str:
    """The marks of a sweep."""
    sentences = [] if sweep.own is None else ["Ring: the method's own value."]
    if len(sweep.lines):
        sentences.append("Lines: other methods, their ±std at the right.")
    return " ".join(sentences)


def compute_note(plan: Plan, spent: Costs) -> str:
    """Machine of the pretraining times, and rows left out."""
    note = f"Time: one pretraining on {spent.machine}; lines: rows without pretraining."
    if spent.elsewhere:
        note += f" Left out, pretrained on another machine: {', '.join(titles_of(plan, spent.elsewhere).values())}."
    return note


def budget_note(machine: str, timed: bool) -> str:
    """What a point of a budget curve is; `timed`: with a panel of times."""
    time = f" Time: on {machine}." if timed else ""
    return (
        "A point: a pretraining of its own length, at what it cost alone. Encoder passes: one per window forwards, two "
        f"backwards. Lines: rows without pretraining.{time}"
    )


def confusion_note(
    plan: Plan, evaluation: str, unit: str, dataset: str, ratio: float, found: Sequence[Confusion]
) -> str:
    """What a confusion matrix counts."""
    how = f"{EVALUATION_TITLES.get(evaluation, evaluation).lower()} with {labels_text(ratio, evaluation)}"
    seeds = sorted({own.seeds for own in found})
    counted = f"{seeds[0]} seed{'s' if seeds != [1] else ''}" if len(seeds) == 1 else f"{seeds[0]} to {seeds[-1]} seeds"
    return (
        f"{plan.datasets[dataset]['title']}, {how}. Rows: true class; columns: predicted class; percent of the true "
        f"class's {unit_text(plan, unit)}s over {counted}, blank below 1. {caveats(plan, [dataset])}"
    ).strip()


def classes_note(plan: Plan, found: ClassTable) -> str:
    """What the scores by class rest on."""
    place, word = found.place, unit_text(plan, found.place.unit)
    how = EVALUATION_TITLES.get(place.evaluation, place.evaluation).lower()
    return (
        f"{plan.datasets[place.dataset]['title']}, {how} with {labels_text(place.ratio, place.evaluation)}; each class "
        f"against the rest on {found.lines} {word}s of {found.patients} patients, in brackets its prevalence; "
        f"{seeds_text(plan, place.evaluation).replace('±std', '')}. Lines: {100 * (1 - LEVEL):g} % intervals, not "
        f"adjusted. {caveats(plan, [place.dataset])}"
    ).strip()


def training_note(plan: Plan, cards: Cards) -> str:
    """The sample on which health was measured, and the number of pretrainings."""
    samples = [card["health_sample"] for own in cards.values() for card in own.values() if card.get("health_sample")]
    runs = max(len(own) for own in cards.values())
    sentences = ["Epoch 0: untrained encoder. Losses of different methods do not compare."]
    if samples:
        windows, patients = samples[0]["windows"], samples[0]["patients"]
        sentences.append(f"Health: {windows} held-out windows of {patients} patients.")
    if runs > 1:
        sentences.append(f"Mean and range of up to {runs} pretrainings.")
    return " ".join([*sentences, caveats(plan, plan.datasets)]).strip()


def search_note(tunings: Sequence[Tuning]) -> str:
    """What a trial's score is, and the marks."""
    return f"{search_caption(tunings)} Hollow: the config's own setting. Large with a black edge: the chosen one."


def masking_note(plan: Plan, masked: MaskedInput) -> str:
    """Source of the masked window."""
    simulated = " Simulated ECG." if plan.pretraining.get("simulated") else ""
    return (
        f"One window of the pretraining corpus after the input layer of pretrained {plan.variants[masked.variant]}; "
        f"masks are drawn independently.{simulated}"
    )


def similarity_note(plan: Plan, found: Sequence[Similarity]) -> str:
    """Which queries and keys are shown, and the mean number of positive keys per query."""
    counts = []
    for own in found:
        of_kind = own.spread.sum(axis=1)  # (KINDS,)
        each = of_kind / max(1, of_kind[OWN])  # (KINDS,) keys per query
        counts.append(
            f"{plan.variants[own.variant]}: {each.sum():.0f} keys per query; {each[ATTRACTS]:.1f} positive besides "
            f"its own, {each[SAME]:.1f} of its patient not."
        )
    return (
        "The next batch under the masks of training: queries of the patients with the most keys, by patient; their "
        f"keys; the queue's newest of these patients, then of others. {' '.join(counts)} {caveats(plan, [])}"
    ).strip()
