"""What is said of a run's datasets before it begins: which are refused, which are only not scored."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace

import pytest

from benchmark.config.config import Config
from benchmark.data.prepared.load import Prepared
from benchmark.data.readers.base import DatasetError
from benchmark.data.tasks.subsets import patients_per_class
from benchmark.run.data.datasets import audit_of, gate, with_columns

SmallConfig = Callable[..., Config]
MakePrepared = Callable[..., Prepared]
SOME_WITHOUT_A_FOLD = [("p1", (0,), 12, 1), ("p2", (1,), 12, None), ("p3", (0,), 12, 9), ("p4", (1,), 12, 10)]
NO_FOLD = "recording r001 has no official fold, others of its dataset have"
BOTH = {"data.datasets": ["ptb-xl", "chapman"]}


@pytest.fixture
def unsplit(cohorts: dict[str, Prepared], make_prepared: MakePrepared) -> dict[str, Prepared]:
    """The cohorts with a PTB-XL that cannot be split."""
    return cohorts | {"ptb-xl": make_prepared("ptb-xl", SOME_WITHOUT_A_FOLD)}


def test_a_dataset_that_cannot_be_split_is_not_scored_and_the_run_goes_on(
    unsplit: dict[str, Prepared], small_config: SmallConfig
) -> None:
    found = gate(small_config(BOTH), unsplit)
    assert (found.leaks, found.unscored) == ([], [f"PTB-XL cannot be scored: {NO_FOLD}"])


def test_a_corpus_that_cannot_be_split_is_refused_before_anything_is_trained(
    unsplit: dict[str, Prepared], small_config: SmallConfig
) -> None:
    with pytest.raises(DatasetError, match=f"PTB-XL cannot be pretrained on: {NO_FOLD}"):
        gate(small_config({"data.datasets": ["chapman"], "data.pretrain": "ptb-xl"}), unsplit)


def test_where_no_dataset_can_be_scored_the_run_is_refused(
    unsplit: dict[str, Prepared], small_config: SmallConfig
) -> None:
    with pytest.raises(DatasetError, match=f"PTB-XL cannot be scored: {NO_FOLD}"):
        gate(small_config({"data.datasets": ["ptb-xl"]}), unsplit)


def test_a_corpus_without_a_recording_is_refused(cohorts: dict[str, Prepared], small_config: SmallConfig) -> None:
    empty = replace(cohorts["mimic-iv-ecg"], entries=(), signals=())
    with pytest.raises(DatasetError, match="MIMIC-IV-ECG cannot be pretrained on: no recording is usable"):
        gate(small_config(), cohorts | {"mimic-iv-ecg": empty})


def test_a_corpus_too_small_to_be_scored_may_be_pretrained_on(
    cohorts: dict[str, Prepared], make_prepared: MakePrepared, small_config: SmallConfig
) -> None:
    small = make_prepared("ptb-xl", [("p1", (0,), 12, 1), ("p2", (1,), 12, 2)])
    config = small_config({"data.datasets": ["chapman"], "data.pretrain": "ptb-xl"})
    assert gate(config, cohorts | {"ptb-xl": small}).unscored == []


def test_what_is_doubtful_and_used_is_told(cohorts: dict[str, Prepared], small_config: SmallConfig) -> None:
    chapman = cohorts["chapman"]
    flat = tuple(signal._replace(doubt="half of the leads or more flat") for signal in chapman.signals[:1])
    doubtful = replace(chapman, signals=flat + chapman.signals[1:])
    assert gate(small_config(), cohorts).doubts == []
    assert gate(small_config(), cohorts | {"chapman": doubtful}).doubts == [
        f"Chapman: 1 recording is used with half of the leads or more flat ({chapman.entries[0].recording})"
    ]


def test_more_shots_than_any_class_has_patients_are_refused_with_what_is_possible(
    cohorts: dict[str, Prepared], small_config: SmallConfig
) -> None:
    few_shot = {**BOTH, "evaluate": ["few-shot"]}
    config = small_config({**few_shot, "few_shot.shots": [1, 500]})
    spec = config.task_spec(config.finetune)
    spans = []
    for name in ("ptb-xl", "chapman"):
        counts = patients_per_class(cohorts[name], spec).values()
        spans.append(f"{cohorts[name].title} {min(counts)} to {max(counts)}")
    with pytest.raises(DatasetError) as refused:
        gate(config, cohorts)
    assert str(refused.value) == (
        f"few_shot.shots 500: no class has so many training patients; they have: {', '.join(spans)}"
    )
    gate(small_config({**few_shot, "few_shot.shots": [1, max(counts)]}), cohorts)
    gate(small_config({**BOTH, "few_shot.shots": [500]}), cohorts)


def test_tasks_of_a_dataset_are_no_copies_of_each_other(
    small_config: SmallConfig, cohorts: dict[str, Prepared]
) -> None:
    tasks = {"data.datasets": ["ptb-xl"], "data.task": ["rhythm", "superdiagnostic"], "data.pretrain": "ptb-xl"}
    config = small_config(tasks)
    prepared = with_columns(config, cohorts)
    assert list(prepared) == ["ptb-xl", "ptb-xl.rhythm", "ptb-xl.superdiagnostic"]
    found = audit_of(config, prepared, [column.name for column in config.data.columns()])
    assert [own for own in found if own.severity == "leak" or "more than one recording" in own.text] == []


def test_a_task_that_tests_what_is_pretrained_on_is_a_leak(
    small_config: SmallConfig, cohorts: dict[str, Prepared]
) -> None:
    config = small_config({"data.datasets": ["chapman"], "data.task": ["all"], "data.pretrain": "chapman"})
    (leak,) = gate(config, with_columns(config, cohorts)).leaks
    assert "both pretrained on and tested" in leak
