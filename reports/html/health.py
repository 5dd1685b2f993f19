"""Loss and health of each pretraining, from the untrained encoder to the last epoch, as lines of a table.

A course is a sparkline of a measure over the epochs.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from benchmark.results.health import MEASURES, UNTRAINED_EPOCH, collapsed
from reports.runs.cards import COUNTS, LOSS, Cards, machine_of

HEADINGS = {name: f"{title[0].upper()}{title[1:]}" for name, title in MEASURES.items()}
"""Measures of the features -> heading of their column."""
WIDTH, HEIGHT = 72, 20
"""Of a course, in pixels."""


@dataclass(frozen=True)
class Course:
    """One measure of a pretraining."""

    text: str
    """First and last value, '6.70 → 2.30'; '–' where there is none."""
    points: str
    """Of an SVG polyline; '' for fewer than two values."""


@dataclass(frozen=True)
class Learned:
    """One pretraining."""

    title: str
    key: str
    seed: str
    cost: str
    """Epochs, updates and seconds."""
    machine: str
    loss: Course
    positives: str
    """Positive keys per query besides its own: of its recording + of the patient's others."""
    with_any: str
    measures: tuple[Course, ...]
    """In the order of `MEASURES`."""
    chance: str
    """Retrieval by chance."""
    collapsed: str
    """Said of features that hardly differ between windows, else ''."""


def learned(cards: Cards, titles: Mapping[str, str]) -> Iterator[Learned]:
    """One line per pretraining; shared ones are listed under their first row."""
    seen = set[str]()
    for variant, own in cards.items():
        for key, card in own.items():
            if key not in seen:
                seen.add(key)
                yield _learned(titles[variant], key, card)


def _learned(title: str, key: str, card: Mapping[str, Any]) -> Learned:
    epochs = card.get("health") or [{}]
    last = epochs[-1]
    loss = card.get(LOSS) or []
    courses = {name: course([epoch.get(name) for epoch in epochs]) for name in MEASURES}
    counts = [last.get(name) for name in COUNTS]
    return Learned(
        title=title,
        key=key,
        seed=str(card.get("seed", "–")),
        cost=_cost(card, len(loss)),
        machine=machine_of(card),
        loss=course(loss),
        positives="–" if None in counts else " + ".join(f"{count:.2f}" for count in counts),
        with_any=_share(last.get("queries_with_positives")),
        measures=tuple(courses.values()),
        chance=course([last.get("retrieval_chance")]).text,
        collapsed=_collapsed(last),
    )


def _collapsed(last: Mapping[str, Any]) -> str:
    if not collapsed(last.get("effective_rank"), last.get("mean_cosine")):
        return ""
    what = "untrained" if last.get("epoch") == UNTRAINED_EPOCH else "collapsed"
    return f"{what}: the features hardly differ between windows"


def _cost(card: Mapping[str, Any], epochs: int) -> str:
    if not epochs:
        return "not trained"
    updates = f", {card['updates']} updates" if card.get("updates") else ""
    seconds = f", {card['seconds']:.0f} s" if card.get("seconds") else ""
    return f"{epochs} epoch{'s' if epochs > 1 else ''}{updates}{seconds}"


def _share(value: float | None) -> str:
    return "–" if value is None else f"{100 * value:.1f} %"


def course(values: Sequence[float | None]) -> Course:
    """The sparkline of a measure over the epochs, scaled from its lowest to its highest value."""
    known = [(place, value) for place, value in enumerate(values) if value is not None]
    if not known:
        return Course("–", "")
    ends = dict.fromkeys((known[0], known[-1]))
    text = " → ".join(f"{value:.2f}" for _, value in ends).replace("-", "−")
    if len(known) < 2:
        return Course(text, "")
    low, high = min(value for _, value in known), max(value for _, value in known)
    across, up = WIDTH / (len(values) - 1), (HEIGHT - 2) / ((high - low) or 1)
    points = " ".join(f"{place * across:.1f},{HEIGHT - 1 - (value - low) * up:.1f}" for place, value in known)
    return Course(text, points)
