"""The plan as others may have written it: sections that may be absent, entries that may not, and bounds."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import pytest

from benchmark.results.plan import Plan, PlannedCell, check_plan, labels_of
from benchmark.results.schema import checked

FACTS: dict[str, Any] = {"recordings": 3, "patients": 2}
PLAN: dict[str, Any] = {
    "key": "plan-one",
    "config": {"protocol": "paper", "data": {"labels": "single"}},
    "variants": {"pmq": "PMQ"},
    "datasets": {"ptb-xl": {"title": "PTB-XL", **FACTS}},
    "pretraining": {"name": "mimic-iv-ecg", **FACTS},
}
ROLE: dict[str, Any] = {"role": "sweep", "of": "pmq", "knob": "momentum", "value": 0.9}


def test_a_plan_needs_no_more_than_its_required_entries() -> None:
    plan = checked(Plan, PLAN)
    assert (plan.roles, plan.warnings, plan.cells) == ({}, [], [])
    config = {"protocol": "paper", "data": {"labels": "multi"}, "pretrain": {}, "more": {}}
    elsewhere = {"pretrained_on": "MIMIC", "saw": {}, "licence": "MIT", "signals": "12 leads", "unserved": {}}
    for role in (ROLE, ROLE | {"elsewhere": elsewhere}):
        assert checked(Plan, PLAN | {"config": config, "roles": {"pmq": role}}).roles == {"pmq": role}


def test_an_entry_that_no_plan_has_is_refused() -> None:
    with pytest.raises(ValueError, match="more: "):
        checked(Plan, PLAN | {"more": 1})


@pytest.mark.parametrize(
    ("own", "tasks", "labels"),
    [
        ("single", [{}, {}], "single"),
        ("single", [{"task": "form"}, {}], "single and multi"),
        ("single", [{"task": "form"}], "multi"),
        ("multi", [{}, {"task": "form"}], "multi"),
        ("single", [], "single"),
    ],
)
def test_columns_of_a_named_task_have_several_labels(own: str, tasks: list[dict[str, str]], labels: str) -> None:
    datasets = {f"d{number}": {"title": "D", **FACTS, **task} for number, task in enumerate(tasks)}
    config = {"protocol": "paper", "data": {"labels": own}}
    assert labels_of(checked(Plan, PLAN | {"config": config, "datasets": datasets})) == labels


@pytest.mark.parametrize(
    ("change", "missing"),
    [
        ({"config": {"data": {"labels": "single"}}}, "config.protocol"),
        ({"config": {"protocol": "paper"}}, "config.data"),
        ({"config": {"protocol": "paper", "data": {}}}, "config.data.labels"),
        ({"datasets": {"ptb-xl": FACTS}}, "datasets.ptb-xl.title"),
        ({"datasets": {"ptb-xl": {"title": "PTB-XL", "patients": 2}}}, "datasets.ptb-xl.recordings"),
        ({"datasets": {"ptb-xl": {"title": "PTB-XL", "recordings": 3}}}, "datasets.ptb-xl.patients"),
        ({"pretraining": FACTS}, "pretraining.name"),
        *(
            ({"roles": {"pmq": {name: value for name, value in ROLE.items() if name != entry}}}, f"roles.pmq.{entry}")
            for entry in ROLE
        ),
    ],
)
def test_a_required_entry_that_is_missing_is_named(change: dict[str, Any], missing: str) -> None:
    with pytest.raises(ValueError, match=f"^{missing}: field required$"):
        checked(Plan, PLAN | change)


def test_a_dataset_has_at_most_a_thousand_classes() -> None:
    def with_classes(count: int) -> dict[str, Any]:
        classes = [f"c{number}" for number in range(count)]
        return PLAN | {"datasets": {"ptb-xl": {"title": "PTB-XL", **FACTS, "classes": classes}}}

    assert len(checked(Plan, with_classes(1000)).datasets["ptb-xl"]["classes"]) == 1000
    with pytest.raises(ValueError, match=r"^datasets\.ptb-xl\.classes: list should have at most 1000 items"):
        checked(Plan, with_classes(1001))


def test_a_cell_is_of_a_listed_row_and_a_listed_dataset() -> None:
    cell = PlannedCell("a", "pmq", "finetune", "ptb-xl", 0.1, 41)
    plan = replace(checked(Plan, PLAN), cells=[cell])
    check_plan(plan, "plan-one")
    for other in (replace(cell, variant="moco"), replace(cell, dataset="chapman")):
        with pytest.raises(ValueError, match="which the plan does not list"):
            check_plan(replace(plan, cells=[cell, other]), "plan-one")
