"""Where a sweep's values stand, and which of them is own; which rows have curves over label ratios."""

from __future__ import annotations

from collections.abc import Iterable

import pandas as pd
import pytest

from benchmark.results.plan import Plan, PlannedCell
from reports.figures.score_bands import (
    compared,
    in_order,
    label_curves,
    panels,
    positions,
    sweeps,
)
from reports.runs.run import TIDY
from reports.statistics.bands import bands

DATASETS = {"ptb-xl": {"title": "PTB-XL"}, "chapman": {"title": "Chapman"}}


def tidy_frame(scores: Iterable[tuple[str, str, float, int, float | None]]) -> pd.DataFrame:
    """(variant, dataset, ratio, seed, F1), each as a heartbeat's score of a fine-tuned encoder."""
    lines = [
        ("key", variant, "finetune", dataset, ratio, seed, "heartbeat", "f1", value, "")
        for variant, dataset, ratio, seed, value in scores
    ]
    return pd.DataFrame(lines, columns=list(TIDY)).astype({"value": float})


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


def test_a_sweep_without_the_methods_own_value_says_so() -> None:
    plan, found = swept_results()
    cells = [cell for cell in plan.cells if cell.variant != "pmq"]
    (sweep,) = sweeps(plan_of(SWEPT, cells), found, "finetune")
    assert sweep.own is None


def test_the_values_of_a_sweep_may_be_lists() -> None:
    values = {"pmq:linear.strengths=[1.0]": [1.0], "pmq:linear.strengths=[0.1, 9.0]": [0.1, 9.0]}
    variants = {"pmq": METHOD, **{name: ("sweep", "pmq", "linear.strengths", own) for name, own in values.items()}}
    frame = tidy_frame((name, "ptb-xl", 0.01, 41, 0.5) for name in values)
    (sweep,) = sweeps(plan_of(variants, []), bands(frame, "finetune", "heartbeat"), "finetune")
    assert (sweep.values, sweep.positions) == (([1.0], [0.1, 9.0]), (0.0, 1.0))
    assert sweep.points["position"].tolist() == [0.0, 1.0]


def test_one_finished_value_is_no_sweep() -> None:
    plan, found = swept_results()
    few = found[~found["variant"].isin(["pmq:queue_size=0", "pmq:queue_size=1024"])]
    assert not list(sweeps(plan, few, "finetune"))


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


def test_panels_follow_the_plan_and_end_with_overall() -> None:
    frame = tidy_frame(("pmq", name, 0.01, 41, 0.5) for name in ("chapman", "ptb-xl"))
    found = bands(frame, "finetune", "heartbeat")
    titles = panels(found, plan_of(SWEPT, []))
    assert list(titles.items()) == [("ptb-xl", "PTB-XL"), ("chapman", "Chapman"), ("overall", "Overall")]
