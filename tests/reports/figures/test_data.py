"""What figures show: confusion by hand, sweeps, curves."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from dataclasses import replace
from pathlib import Path

import numpy as np
import pandas as pd
import pytest

from benchmark.results.store import Plan, PlannedCell, Predictions
from reports.figures.data import (
    Confusion,
    compared,
    confusion,
    confusions,
    in_order,
    label_curves,
    panels,
    positions,
    sweeps,
)
from reports.load import load
from reports.results import SCORES
from reports.statistics.curves import bands

WHERE = {"evaluation": "finetune", "dataset": "ptb-xl", "ratio": 0.1}


def predictions(decided: list[int], truth: list[int], recordings: list[str]) -> Predictions:
    sure = 0.5 * np.eye(3)[decided] + 0.1  # (n, 3)
    names = np.array(recordings)
    return Predictions(sure.astype(np.float32), np.eye(3, dtype=np.int64)[truth], names, names)


@pytest.mark.parametrize(
    ("unit", "decided", "truth", "recordings", "counts"),
    [
        ("heartbeat", [0, 1, 1, 0], [0, 0, 1, 1], "aabb", [[1, 1, 0], [1, 1, 0], [0, 0, 0]]),
        ("recording", [0, 1, 1, 2, 2], [0, 0, 0, 2, 2], "aaabb", [[0, 1, 0], [0, 0, 0], [0, 0, 1]]),
        ("heartbeat", [], [], "", [[0] * 3] * 3),
        ("recording", [], [], "", [[0] * 3] * 3),
    ],
)
def test_decisions_are_counted_by_true_class(
    unit: str, decided: list[int], truth: list[int], recordings: str, counts: list[list[int]]
) -> None:
    found = confusion(predictions(decided, truth, list(recordings)), unit)
    assert found.tolist() == counts
    shares = Confusion("pmq", 1, found).shares
    assert np.isnan(shares).all(axis=1).tolist() == [not sum(own) for own in counts]
    assert np.nansum(shares) == 100 * sum(map(any, counts))


def test_seeds_are_summed_and_rows_that_are_not_there_left_out(write_predictions: Callable[..., Path]) -> None:
    own = predictions([0, 1, 1, 0], [0, 0, 1, 1], ["a", "a", "b", "b"])
    root = write_predictions({("pmq", "ptb-xl", 0.1, seed): own for seed in (41, 42)})
    run = load(root)
    (found,) = confusions(run, ["moco", "pmq"], unit="heartbeat", **WHERE)
    assert (found.variant, found.seeds, found.counts[0].tolist()) == ("pmq", 2, [2, 2, 0])
    subsets = [replace(cell, subset=subset) for cell in run.plan.cells for subset in (0, 1)]
    (found,) = confusions(replace(run, plan=replace(run.plan, cells=subsets)), ["pmq"], unit="heartbeat", **WHERE)
    assert (found.seeds, found.counts[0].tolist()) == (2, [4, 4, 0]), "a seed's labelled subsets are no further seeds"
    assert not confusions(run, ["pmq"], unit="heartbeat", **(WHERE | {"ratio": 0.3}))
    for row in run.rows.values():
        object.__setattr__(row, "labels", "multi")
    assert not confusions(run, ["pmq"], unit="heartbeat", **WHERE), "of several labels there is none"


DATASETS = {"ptb-xl": {"title": "PTB-XL"}, "chapman": {"title": "Chapman"}}


def tidy_frame(scores: Iterable[tuple[str, str, float, int, float | None]]) -> pd.DataFrame:
    """(variant, dataset, ratio, seed, F1), each as a heartbeat's score of a fine-tuned encoder."""
    lines = [
        (variant, "finetune", dataset, ratio, seed, 0, "heartbeat", "f1", value, "", "key")
        for variant, dataset, ratio, seed, value in scores
    ]
    return pd.DataFrame(lines, columns=list(SCORES)).astype({"value": float})


def plan_of(variants: dict[str, tuple[str, str, str, object]], cells: list[PlannedCell]) -> Plan:
    """Variants: name -> role, of, knob, value."""
    roles = {name: dict(zip(("role", "of", "knob", "value"), facts, strict=True)) for name, facts in variants.items()}
    return Plan("plan", {"protocol": "paper"}, dict.fromkeys(variants, ""), DATASETS, {}, roles, [], cells)


METHOD = ("method", "", "", None)
SWEPT = {
    "random": ("gate", "", "", None),
    "comet": METHOD,
    "clocs": METHOD,
    "moco": METHOD,
    "pmq": METHOD,
    "pmq:w/o queue": ("ablation", "pmq", "", None),
    **{f"pmq:queue_size={size}": ("sweep", "pmq", "queue_size", size) for size in (4096, 0, 1024)},
}


def swept_results() -> tuple[Plan, pd.DataFrame]:
    keys = {"pmq:queue_size=4096": "pmq"}
    cells = [
        PlannedCell(f"{keys.get(name, name)} {seed}", name, "finetune", "ptb-xl", 0.01, seed)
        for name in SWEPT
        for seed in (41, 42)
    ]
    frame = tidy_frame((name, "ptb-xl", 0.01, 41, 0.1 * place) for place, name in enumerate(SWEPT))
    return plan_of(SWEPT, cells), bands(frame, "finetune", "heartbeat")


def test_a_sweep_has_its_values_in_order_its_own_and_what_it_is_held_against() -> None:
    plan, found = swept_results()
    (sweep,) = sweeps(plan, found, "finetune")
    assert (sweep.of, sweep.knob, sweep.ratio) == ("pmq", "queue_size", 0.01)
    assert (sweep.values, sweep.positions) == ((0, 1024, 4096), (9.0, 10.0, 12.0))
    assert sweep.own == 4096
    assert list(sweep.points["position"]) == [9, 10, 12]
    assert list(sweep.points["mean"]) == pytest.approx([70, 80, 60])
    assert list(sweep.lines["variant"]) == ["clocs", "comet", "random"]
    cells = [cell for cell in plan.cells if cell.variant != "pmq"]
    (sweep,) = sweeps(plan_of(SWEPT, cells), found, "finetune")
    assert sweep.own is None, "the method's own value was not swept"
    few = found[~found["variant"].isin(["pmq:queue_size=0", "pmq:queue_size=1024"])]
    assert not list(sweeps(plan, few, "finetune")), "one finished value is no sweep"


def test_the_values_of_a_sweep_may_be_lists() -> None:
    values = {"pmq:linear.strengths=[1.0]": [1.0], "pmq:linear.strengths=[0.1, 9.0]": [0.1, 9.0]}
    variants = {"pmq": METHOD, **{name: ("sweep", "pmq", "linear.strengths", own) for name, own in values.items()}}
    frame = tidy_frame((name, "ptb-xl", 0.01, 41, 0.5) for name in values)
    (sweep,) = sweeps(plan_of(variants, []), bands(frame, "finetune", "heartbeat"), "finetune")
    assert (sweep.values, sweep.positions) == (([1.0], [0.1, 9.0]), (0.0, 1.0))
    assert sweep.points["position"].tolist() == [0.0, 1.0]


@pytest.mark.parametrize(
    ("values", "ordered", "places"),
    [
        ([16384, 1024], [1024, 16384], [10, 14]),
        ([0], [0], [-1]),
        ([0.999, 0.9], [0.9, 0.999], [0, 1]),
        (["patient", "own"], ["patient", "own"], [0, 1]),
        ([True, False], [False, True], [0, 1]),
    ],
)
def test_places_on_the_axis(values: list[object], ordered: list[object], places: list[float]) -> None:
    assert in_order(values) == ordered
    assert positions(in_order(values)) == places


def test_label_curves_leave_changes_out_and_need_two_ratios() -> None:
    scores = [(name, "ptb-xl", ratio, 41, 0.5) for name in SWEPT for ratio in (0.1, 0.01)]
    plan = plan_of(SWEPT, [])
    curves = label_curves(plan, bands(tidy_frame(scores), "finetune", "heartbeat"))
    assert list(dict.fromkeys(curves["variant"])) == compared(plan) == ["random", "comet", "clocs", "moco", "pmq"]
    assert not len(label_curves(plan, bands(tidy_frame(scores[:1]), "finetune", "heartbeat")))
    frame = tidy_frame(("pmq", name, 0.01, 41, 0.5) for name in ("chapman", "ptb-xl"))
    titles = panels(bands(frame, "finetune", "heartbeat"), plan)
    assert list(titles.items()) == [("ptb-xl", "PTB-XL"), ("chapman", "Chapman"), ("overall", "Overall")]
