"""Where a run's data are: simulated once, found again, or looked for in real folders.

What is said of a run's datasets before it begins: which are refused, which are only not scored.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from pathlib import Path

import pytest

from benchmark.config.config import Config
from benchmark.config.load import Folders
from benchmark.data.datasets import DATASETS
from benchmark.data.datasets.base import DatasetError
from benchmark.data.prepare import Prepared
from benchmark.run.datasets import (
    audit_run,
    locate,
    names_of,
    untested,
    with_columns,
)

SmallConfig = Callable[..., Config]
FEW = {"data.simulation.patients": {"mimic-iv-ecg": 2, "chapman": 2}}


PLACE = Folders(None, {})


def test_other_settings_are_another_cohort(small_config: SmallConfig) -> None:
    def drawn_from(change: dict[str, object]) -> str:
        return locate(small_config({**FEW, **change}), "chapman", PLACE).drawn_from

    first = drawn_from({})
    assert drawn_from({"data.simulation.patients.mimic-iv-ecg": 9}) == first
    for change in ({"seed": 2}, {"patients.chapman": 3}, {"noise": 0.5}, {"test_patients": {"chapman": 1}}):
        assert drawn_from({f"data.simulation.{name}": value for name, value in change.items()}) != first  # type: ignore[attr-defined]


def test_real_data_are_taken_from_their_own_folder_or_the_root(small_config: SmallConfig, tmp_path: Path) -> None:
    config = small_config({"data.simulation": None})
    (tmp_path / "root" / "chapman").mkdir(parents=True)
    (tmp_path / "own").mkdir()
    folders = Folders(tmp_path / "root", {})
    assert locate(config, "chapman", folders).root == tmp_path / "root" / "chapman"
    chapman = tmp_path / "own"
    assert locate(config, "chapman", replace(folders, paths={"chapman": chapman})).root == chapman


def test_missing_data_say_which_where_and_how_to_get_them(small_config: SmallConfig, tmp_path: Path) -> None:
    config, reader = small_config({"data.simulation": None}), DATASETS["chapman"]
    with pytest.raises(DatasetError, match=r"--data-root DIR or --data chapman=DIR"):
        locate(config, "chapman", Folders(None, {}))
    for data_root, paths in ((tmp_path, {}), (None, {"chapman": tmp_path / "gone"})):
        with pytest.raises(DatasetError, match=f"^{reader.title}: .*{tmp_path}") as caught:
            locate(config, "chapman", Folders(data_root, paths))
        assert reader.how_to_get in str(caught.value)


def test_a_corpus_that_is_missing_may_be_one_that_is_given(small_config: SmallConfig, tmp_path: Path) -> None:
    config = small_config({"data.simulation": None, "data.datasets": ["ptb-xl"]})
    with pytest.raises(DatasetError, match=r"^MIMIC-IV-ECG: no folder given.*is given: --pretrain-dataset ptb-xl$"):
        locate(config, "mimic-iv-ecg", Folders(None, {"ptb-xl": tmp_path}))


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
    audited = audit_run(small_config(BOTH), unsplit)
    assert (audited.leaks, audited.warnings) == ([], [f"PTB-XL cannot be scored: {NO_FOLD}"])


def test_a_corpus_that_cannot_be_split_is_refused_before_anything_is_trained(
    unsplit: dict[str, Prepared], small_config: SmallConfig
) -> None:
    with pytest.raises(DatasetError, match=f"PTB-XL cannot be pretrained on: {NO_FOLD}"):
        audit_run(small_config({"data.datasets": ["chapman"], "data.pretrain": "ptb-xl"}), unsplit)


def test_a_corpus_without_a_recording_is_refused(cohorts: dict[str, Prepared], small_config: SmallConfig) -> None:
    empty = replace(cohorts["mimic-iv-ecg"], entries=(), signals=())
    with pytest.raises(DatasetError, match="MIMIC-IV-ECG cannot be pretrained on: no recording is usable"):
        audit_run(small_config(), cohorts | {"mimic-iv-ecg": empty})


def test_what_is_doubtful_and_used_is_told(cohorts: dict[str, Prepared], small_config: SmallConfig) -> None:
    chapman = cohorts["chapman"]
    flat = tuple(signal._replace(warning="half of the leads or more flat") for signal in chapman.signals[:1])
    doubtful = replace(chapman, signals=flat + chapman.signals[1:])
    assert audit_run(small_config(), cohorts).warnings == []
    assert audit_run(small_config(), cohorts | {"chapman": doubtful}).warnings == [
        f"Chapman: 1 recording is used with half of the leads or more flat ({chapman.entries[0].recording})"
    ]


def test_a_task_that_tests_what_is_pretrained_on_is_a_leak(
    small_config: SmallConfig, cohorts: dict[str, Prepared]
) -> None:
    config = small_config({"data.datasets": ["chapman"], "data.task": ["all"], "data.pretrain": "chapman"})
    (leak,) = audit_run(config, with_columns(config, cohorts)).leaks
    assert "both pretrained on and tested" in leak


def test_of_several_corpora_what_a_column_tests_or_chooses_on_is_left_out(
    small_config: SmallConfig, cohorts: dict[str, Prepared]
) -> None:
    config = small_config({"data.datasets": ["ptb-xl"], "data.pretrain": ["mimic-iv-ecg", "ptb-xl"]})
    assert names_of(config) == ["mimic-iv-ecg", "ptb-xl"]
    assert untested(config, cohorts["mimic-iv-ecg"]) == list(cohorts["mimic-iv-ecg"].entries)
    chosen = untested(config, cohorts["ptb-xl"])
    assert 0 < len(chosen) < len(cohorts["ptb-xl"].entries)
    assert {entry.fold for entry in chosen} <= set(range(1, 9))
    joined = replace(cohorts["mimic-iv-ecg"], name=config.data.pretrain)
    views = with_columns(config, {**cohorts, config.data.pretrain: joined})
    assert list(views) == ["mimic-iv-ecg+ptb-xl", "mimic-iv-ecg", "ptb-xl"]
    assert audit_run(config, views).leaks == []
    copied = cohorts["ptb-xl"].signals[0]._replace(digest=cohorts["mimic-iv-ecg"].signals[0].digest)
    tested = next(r for r, entry in enumerate(cohorts["ptb-xl"].entries) if entry.fold == 10 and len(entry.labels) == 1)
    signals = list(cohorts["ptb-xl"].signals)
    signals[tested] = copied
    (leak,) = audit_run(config, views | {"ptb-xl": replace(cohorts["ptb-xl"], signals=tuple(signals))}).leaks
    assert "both pretrained on and tested" in leak


def test_a_cross_validated_corpus_is_refused(small_config: SmallConfig, cohorts: dict[str, Prepared]) -> None:
    config = small_config(
        {"data.datasets": ["chapman"], "data.pretrain": "chapman", "data.folds": 5, "protocol": "strict"}
    )
    with pytest.raises(DatasetError, match=r"^Chapman: every patient is tested \(data\.folds=5\), so that none"):
        audit_run(config, with_columns(config, cohorts))
    assert untested(config, cohorts["chapman"]) == []


def test_copies_in_a_cross_validated_dataset_are_a_leak_between_patients_alone(
    small_config: SmallConfig, cohorts: dict[str, Prepared]
) -> None:
    config = small_config({"data.datasets": ["chapman"], "data.folds": 5, "protocol": "strict"})
    signals = list(cohorts["chapman"].signals)
    signals[1] = signals[0]
    copied = replace(cohorts["chapman"], signals=tuple(signals))
    (leak,) = audit_run(config, with_columns(config, cohorts | {"chapman": copied})).leaks
    assert "1 signal on two sides of a split" in leak
    first, second, *others = copied.entries
    same = replace(copied, entries=(first, replace(second, patient=first.patient), *others))
    assert audit_run(config, with_columns(config, cohorts | {"chapman": same})).leaks == []
