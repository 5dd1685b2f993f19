"""A results store as a replication of the paper: its cells, differences of setting, and both side by side.

Scores are of fine-tuned encoders per heartbeat, as in the paper, whatever the run's protocol. All plans of the store
that are comparable with the latest (reports.runs.compatible) are read as one grid, which may have been run in parts.
"""

from __future__ import annotations

import json
import math
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any, NamedTuple

import pandas as pd

from benchmark.results.names import FINETUNE, HEARTBEAT
from benchmark.results.plan import Plan
from benchmark.results.store import Store
from reports.paper.claims import Evidence
from reports.paper.printed import PMQ, Cells, Measured, Place
from reports.runs.cards import Card
from reports.runs.compatible import comparable
from reports.runs.open import every_run
from reports.runs.run import Run

EVALUATION, UNIT = FINETUNE, HEARTBEAT
PAPER_ENCODER = {"name": "dilated", "hidden": 64, "depth": 10, "output": 320}
"""Name and sizes; configs and cards do not name the default encoder, which is the paper's."""
PAPER_SETTING = {
    "protocol": "paper",
    "seeds": [41, 42, 43, 44, 45],
    "data.labels": "single",
    "data.pretrain": "mimic-iv-ecg",
    **{f"encoder.{name}": size for name, size in PAPER_ENCODER.items()},
    "pretrain.preset": "paper",
    "pretrain.epochs": 100,
    "finetune.epochs": 50,
}
"""The paper's setting, by dotted config key."""


@dataclass(frozen=True)
class Replication:
    """A store's evidence on the paper's claims."""

    evidence: Evidence
    simulated: bool
    """Some of its ECGs are simulated."""
    differences: tuple[str, ...]
    """Differences from the paper's setting, one phrase each."""
    damaged: tuple[str, ...] = ()
    """Errors of the rows left out."""


class Beside(NamedTuple):
    """One cell of the paper and of a store."""

    place: Place
    paper: Measured
    ours: Measured

    @property
    def difference(self) -> float:
        """Ours minus the paper's, in points."""
        return self.ours.mean - self.paper.mean

    @property
    def inside(self) -> bool | None:
        """At most the joint spread sqrt(s1^2 + s2^2) apart; None where a standard deviation is missing."""
        if self.paper.std is None or self.ours.std is None:
            return None
        return abs(self.difference) <= math.hypot(self.paper.std, self.ours.std)


def load_replication(root: Path) -> Replication:
    """The latest plan of a store and those comparable with it. Raises NoResults where there is none."""
    runs, _ = comparable(every_run(root, Store(root)))
    frame = pd.concat([run.tidy for run in runs], ignore_index=True)
    plans = [run.plan for run in runs]
    facts = [source for plan in plans for source in (*plan.datasets.values(), plan.pretraining)]
    return Replication(
        evidence=Evidence(cells_of(frame), seconds_of(runs), printed=False),
        simulated=any(source.get("simulated") for source in facts),
        differences=tuple(_differences(plans[0])),
        damaged=tuple(dict.fromkeys(line for run in runs for line in run.damaged.values())),
    )


def beside(paper: Cells, ours: Cells) -> list[Beside]:
    """The cells that both have, in the paper's order."""
    return [Beside(place, paper[place], ours[place]) for place in paper if place in ours]


def cells_of(frame: pd.DataFrame) -> dict[Place, Measured]:
    """Mean and standard deviation over seeds, in percent, of a tidy frame's fine-tuned cells per heartbeat.

    Seeds without a score are left out, as are cells without any.
    """
    scored = frame[(frame["evaluation"] == EVALUATION) & (frame["unit"] == UNIT)].dropna(subset=["value"])
    once = scored.drop_duplicates(["variant", "ratio", "dataset", "metric", "seed"])
    cells: dict[Place, Measured] = {}
    for where, group in once.groupby(["variant", "ratio", "dataset", "metric"]):
        variant, ratio, dataset, metric = map(str, where)
        values = 100 * group["value"]  # (seeds,)
        std = float(values.std(ddof=1)) if len(values) > 1 else None
        cells[Place(variant, float(ratio), dataset, metric)] = Measured(float(values.mean()), std, len(values))
    return cells


def seconds_of(runs: Sequence[Run]) -> dict[str, float]:
    """Variant -> mean seconds of its pretraining, with the paper's encoder, on the device and in the mode of PMQ.

    runs: of one store.
    """
    found = {(variant, key): card for run in runs for variant, own in run.cards.items() for key, card in own.items()}
    cards: dict[str, list[Card]] = {}
    for (variant, _), card in sorted(found.items(), key=lambda one: one[0]):
        if _timed(card):
            cards.setdefault(variant, []).append(card)
    machines = {_machine(card) for card in cards.get(PMQ, [])}
    return {
        variant: sum(card["seconds"] for card in own) / len(own)
        for variant, own in cards.items()
        if {_machine(card) for card in own} == machines and len(machines) == 1
    }


def _differences(plan: Plan) -> Iterator[str]:
    for name, stated in PAPER_SETTING.items():
        value = _at(plan.config, name)
        if name == "encoder.name" and value is None:
            value = PAPER_ENCODER["name"]
        if value != stated:
            yield f"{name} {'not recorded' if value is None else value} (paper: {stated})"


def _at(config: Mapping[str, Any], dotted: str) -> Any:
    """The value of a dotted key; None if missing."""
    value: Any = config
    for part in dotted.split("."):
        value = value.get(part) if isinstance(value, Mapping) else None
    return value


def _timed(card: Card) -> bool:
    """Whether a pretraining has a time and the paper's encoder."""
    encoder = {"name": PAPER_ENCODER["name"]} | card.get("encoder", {})
    return bool(card.get("seconds")) and {name: encoder.get(name) for name in PAPER_ENCODER} == PAPER_ENCODER


def _machine(card: Card) -> str:
    return json.dumps([card.get("device"), card.get("precision"), bool(card.get("compiled"))], sort_keys=True)
