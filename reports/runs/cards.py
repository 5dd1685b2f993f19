"""The cards stored beside pretrained weights: loss and health per epoch, seconds and machine."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from typing import Any

import pandas as pd

COURSE = ("variant", "key", "epoch", "measure", "value")
LOSS, POSITIVES = "loss", "positives"
COUNTS = ("positives_same_recording", "positives_other_recordings")
"""Sum to `POSITIVES`: positive keys of a query besides its own."""

Card = Mapping[str, Any]
Cards = Mapping[str, Mapping[str, Card]]
"""Row of a table -> key of a pretraining -> its card."""


@dataclass(frozen=True)
class Costs:
    """Seconds that pretrainings took on one machine."""

    machine: str
    """Its device and precision, '' where nothing was pretrained."""
    seconds: Mapping[str, float]
    """Row -> mean over its pretrainings."""
    elsewhere: tuple[str, ...]
    """Rows pretrained on another machine, whose seconds are not comparable."""


def courses(cards: Cards) -> pd.DataFrame:
    """One line per pretraining, epoch and recorded measure, with the columns `COURSE`.

    Losses begin at epoch 1, health measures at epoch 0, the untrained encoder.
    """
    return pd.DataFrame(_courses(cards), columns=list(COURSE)).astype({"value": float})


def _courses(cards: Cards) -> Iterator[tuple[str, str, int, str, float]]:
    for variant, own in cards.items():
        for key, card in own.items():
            for epoch, loss in enumerate(card.get("loss", []), start=1):
                yield variant, key, epoch, LOSS, loss
            for health in card.get("health", []):
                told = {measure: value for measure, value in health.items() if value is not None}
                if told.keys() >= set(COUNTS):
                    told[POSITIVES] = sum(told[count] for count in COUNTS)
                epoch = told.pop("epoch")
                yield from ((variant, key, epoch, measure, value) for measure, value in told.items())


def costs(cards: Cards) -> Costs:
    """Mean seconds per row, on the machine that most rows were pretrained on; the first on a tie."""
    timed: dict[str, dict[str, list[float]]] = {}
    for variant, own in cards.items():
        for card in own.values():
            if card.get("seconds"):
                timed.setdefault(variant, {}).setdefault(machine_of(card), []).append(float(card["seconds"]))
    machines = Counter(machine for spent in timed.values() for machine in spent)
    if not machines:
        return Costs("", {}, ())
    machine = machines.most_common(1)[0][0]
    seconds = {name: sum(spent[machine]) / len(spent[machine]) for name, spent in timed.items() if machine in spent}
    return Costs(machine, seconds, tuple(name for name, spent in timed.items() if machine not in spent))


def machine_of(card: Card) -> str:
    """Device, threads of a CPU, and mode: 'NVIDIA H200, bf16', 'x86_64, 2 then 4 threads, float32'."""
    device = card.get("device", {})
    counts = card.get("threads") or [device.get("threads")]
    threads = f", {' then '.join(map(str, counts))} thread{'' if counts == [1] else 's'}"
    threads = threads if device.get("type") == "cpu" else ""
    mode = f"{card.get('precision', '?')}{', compiled' if card.get('compiled') else ''}"
    return f"{device.get('name') or device.get('type', 'unknown device')}{threads}, {mode}"
