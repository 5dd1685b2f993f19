"""Two runs compare, or it is said why they do not."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from benchmark.results.plan import Plan
from benchmark.results.rows import Predictions, Row
from benchmark.results.store import Store
from reports.runs.compatible import comparable, config_differences, same_outcome, why_not
from reports.runs.open import every_run
from reports.runs.run import Run

WriteStore = Callable[..., Path]


def run_of(root: Path) -> Run:
    (run,) = every_run(root, Store(root))
    return run


def with_config(**change: Any) -> Callable[[Plan], Plan]:
    return lambda plan: replace(plan, key="other", config=plan.config | change)


def with_dataset(**facts: Any) -> Callable[[Plan], Plan]:
    return lambda plan: replace(plan, datasets=plan.datasets | {"chapman": plan.datasets["chapman"] | facts})


def computed(**facts: Any) -> Callable[[Row], Row]:
    return lambda row: replace(row, provenance=row.provenance | facts)


@pytest.mark.parametrize(
    ("alter", "reason"),
    [
        ({"alter_plan": with_config(protocol="strict")}, "protocol is strict, not paper"),
        ({"alter_plan": with_config(data={"labels": "multi"})}, "data.labels is multi, not single"),
        ({"alter_plan": with_config(finetune={"epochs": 3})}, "finetune.epochs is 3, not unset"),
        ({"alter_plan": with_config(knobs={"pmq": {"momentum": 0.9}})}, "knobs.pmq.momentum is 0.9, not unset"),
        (
            {"alter_plan": with_config(ablations={"pmq": {"w/o mask_t": {"time_mask": 0.1}}})},
            'pmq:w/o mask_t is {"time_mask": 0.1}, not unset',
        ),
        (
            {"alter_plan": with_dataset(fingerprint="b", recordings=41)},
            "Chapman is other data (41 recordings, fingerprint b, not 40 recordings)",
        ),
        (
            {"alter_plan": lambda plan: replace(plan, pretraining=plan.pretraining | {"fingerprint": "b"})},
            "the pretraining corpus is other data",
        ),
    ],
)
def test_settings_and_data_must_be_the_same(write_store: WriteStore, alter: dict[str, Any], reason: str) -> None:
    own, other = run_of(write_store("own")), run_of(write_store("other", **alter))
    (found,) = why_not(other, own)
    assert reason in found
    assert comparable([own, other]) == ([own], [(other, (found,))])


@pytest.mark.parametrize(
    "config",
    [
        {"name": "mine", "caption": "", "seeds": [1], "ratios": [0.5], "methods": ["/home/ann/mine.py"]},
        {
            "ablations": {"pmq": {"w/o heads": {"head": "v2"}}},
            "gates": [],
            "data": {"labels": "single", "datasets": []},
        },
    ],
)
def test_the_choice_of_cells_may_differ(write_store: WriteStore, config: dict[str, Any]) -> None:
    own, other = run_of(write_store("own")), run_of(write_store("other", alter_plan=with_config(**config)))
    assert why_not(other, own) == ()


@pytest.mark.parametrize(
    ("own", "other", "reason"),
    [
        ({"precision": "float32"}, {"precision": "bf16"}, "precision is bf16, not float32"),
        ({"results_versions": {"finetune": 1}}, {"results_versions": {"finetune": 2}}, "finetune is 2, not 1"),
    ],
)
def test_rows_must_be_of_one_precision_and_version(
    write_store: WriteStore, own: dict[str, Any], other: dict[str, Any], reason: str
) -> None:
    runs = [run_of(write_store(name, alter=computed(**facts))) for name, facts in (("own", own), ("other", other))]
    (found,) = why_not(runs[1], runs[0])
    assert found.endswith(reason)


def test_features_have_no_precision(write_store: WriteStore) -> None:
    def boosted(row: Row) -> Row:
        return replace(row, evaluation="features", provenance={"precision": "bf16"})

    runs = [run_of(write_store("own", alter=computed(precision="float32"))), run_of(write_store("b", alter=boosted))]
    assert why_not(runs[1], runs[0]) == ()


def test_runs_must_be_tested_on_the_same_windows(write_store: WriteStore) -> None:
    own, root = run_of(write_store("own")), write_store("other")
    store = Store(root)
    for key, row in run_of(root).rows.items():
        found = store.predictions(key)
        store.save_row(row, replace(found, truth=found.truth[::-1]))
    assert set(why_not(run_of(root), own)) == {
        "ptb-xl was tested on other windows", "chapman was tested on other windows",
    }  # fmt: skip


def test_a_third_run_must_compare_with_all_that_were_put_together(write_store: WriteStore) -> None:
    def only(dataset: str, **facts: Any) -> Callable[[Plan], Plan]:
        def alter(plan: Plan) -> Plan:
            datasets = {dataset: plan.datasets[dataset] | facts}
            return replace(plan, datasets=datasets, cells=[cell for cell in plan.cells if cell.dataset == dataset])

        return alter

    first = run_of(write_store("first", alter_plan=only("ptb-xl")))
    second = run_of(write_store("second", alter_plan=only("chapman", fingerprint="a")))
    third = run_of(write_store("third", alter_plan=only("chapman", fingerprint="b")))
    pooled, apart = comparable([first, second, third])
    assert pooled == [first, second]
    assert [run for run, _ in apart] == [third]


def test_configs_differ_by_dotted_keys_and_not_by_where_a_file_lies(write_store: WriteStore) -> None:
    own = with_config(methods=["/home/ann/mine.py"], pretrain={"epochs": 3, "seed": 42})
    other = with_config(methods=["/home/bob/mine.py"], pretrain={"epochs": 4})
    plans = [run_of(write_store(name, alter_plan=alter)).plan for name, alter in (("a", own), ("b", other))]
    assert config_differences(plans[0], plans[1]) == [("pretrain.epochs", 3, 4), ("pretrain.seed", 42, None)]


def test_an_outcome_is_scores_and_predictions_not_times(write_store: WriteStore) -> None:
    own = run_of(write_store("own"))
    later = run_of(write_store("later", alter=lambda row: replace(row, training={"seconds": 99.0})))
    better = run_of(write_store("better", alter=lambda row: replace(row, scores={"heartbeat": {"f1": 1.0}})))
    key = next(iter(own.rows))
    assert same_outcome(own, key, later, key)
    assert not same_outcome(own, key, better, key)
    found: Predictions = later.store.predictions(key)
    later.store.save_row(later.rows[key], replace(found, probability=found.probability * np.float32(1 - 1e-7)))
    assert not same_outcome(own, key, later, key)
