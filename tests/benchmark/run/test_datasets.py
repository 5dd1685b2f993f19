"""The data of a run: simulated once, found again, or looked for in real folders.

The datasets that are refused before a run begins, and those that are only not scored.
"""

from __future__ import annotations

import re
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest
import torch

from benchmark.cli.dry_run import sizes_of
from benchmark.config.load import Folders
from benchmark.data.column import Column
from benchmark.data.corpus import corpus_of
from benchmark.data.datasets import DATASETS
from benchmark.data.datasets.base import DatasetError
from benchmark.data.prepare import Prepared
from benchmark.machine import Machine
from benchmark.results.store import Predictions, Store
from benchmark.run.datasets import (
    ROW_BYTES,
    Size,
    audit_run,
    locate,
    make_plan,
    names_of,
    row_bytes,
    untested,
    with_columns,
)
from benchmark.run.grid import Grid, make_grid
from tests.benchmark.run.bench import Cohorts, SmallConfig, grid_of
from tests.benchmark.tables import table, with_cells
from tests.reports.conftest import planned, row_of


def test_the_folder_of_a_dataset_precedes_the_root(small_config: SmallConfig, tmp_path: Path) -> None:
    config, root = small_config({"data.simulation": None}), tmp_path / "root"
    (root / "chapman").mkdir(parents=True)
    assert locate(config, "chapman", Folders(root, {})).root == root / "chapman"
    assert locate(config, "chapman", Folders(root, {"chapman": tmp_path})).root == tmp_path


def test_missing_data_say_how_to_get_them(small_config: SmallConfig, tmp_path: Path) -> None:
    config = small_config({"data.simulation": None})
    for folders, words in (
        (Folders(None, {}), "--data chapman=DIR"),
        (Folders(tmp_path, {}), DATASETS["chapman"].how_to_get),
        (Folders(None, {"chapman": tmp_path / "gone"}), str(tmp_path / "gone")),
    ):
        with pytest.raises(DatasetError, match=re.escape(words)):
            locate(config, "chapman", folders)


def test_a_corpus_that_cannot_be_used_is_refused(
    cohorts: Cohorts, make_prepared: Callable[..., Prepared], small_config: SmallConfig
) -> None:
    some_without_a_fold = [("p1", (0,), 12, 1), ("p2", (1,), 12, None), ("p3", (0,), 12, 9), ("p4", (1,), 12, 10)]
    unsplit = cohorts | {"ptb-xl": make_prepared("ptb-xl", some_without_a_fold)}
    (warning,) = audit_run(small_config({"data.datasets": ["ptb-xl", "chapman"]}), unsplit)
    assert warning.startswith("PTB-XL cannot be scored: recording r001 has no official fold")
    with pytest.raises(DatasetError, match="PTB-XL cannot be pretrained on: recording r001"):
        audit_run(small_config({"data.pretrain": "ptb-xl"}), unsplit)


def test_many_short_recordings_are_a_warning(
    cohorts: Cohorts, make_prepared: Callable[..., Prepared], small_config: SmallConfig
) -> None:
    patients = [(f"p{number}", (number % 2,), 5 if number < 5 else 12, None) for number in range(40)]
    (warning,) = audit_run(
        small_config({"data.datasets": ["chapman"]}), cohorts | {"chapman": make_prepared("chapman", patients)}
    )
    assert warning.startswith("Chapman: 5 of 40 recordings have fewer than 6 heartbeats")


def test_a_column_of_short_recordings_alone_is_refused(
    cohorts: Cohorts, make_prepared: Callable[..., Prepared], small_config: SmallConfig
) -> None:
    patients = [(f"p{number}", (number % 2,), 5, None) for number in range(40)]
    short = cohorts | {"chapman": make_prepared("chapman", patients)}
    with pytest.raises(
        DatasetError, match="Chapman cannot be scored: 40 of 40 recordings have fewer than 6 heartbeats"
    ):
        audit_run(small_config({"data.datasets": ["chapman"]}), short)


def test_an_empty_corpus_is_refused(cohorts: Cohorts, small_config: SmallConfig) -> None:
    empty = replace(cohorts["mimic-iv-ecg"], listed=table([]))
    with pytest.raises(DatasetError, match="MIMIC-IV-ECG cannot be pretrained on: no recording"):
        audit_run(small_config(), cohorts | {"mimic-iv-ecg": empty})


def test_of_several_corpora_what_a_column_tests_or_chooses_on_is_left_out(
    small_config: SmallConfig, cohorts: Cohorts
) -> None:
    config = small_config({"data.datasets": ["ptb-xl"], "data.pretrain": ["mimic-iv-ecg", "ptb-xl"]})
    assert names_of(config) == ["mimic-iv-ecg", "ptb-xl"]
    assert len(untested(config, cohorts["mimic-iv-ecg"])) == cohorts["mimic-iv-ecg"].usable
    chosen = untested(config, cohorts["ptb-xl"])
    assert 0 < len(chosen) < cohorts["ptb-xl"].usable
    assert {*cohorts["ptb-xl"].recordings.fold[chosen].tolist()} <= set(range(1, 9))
    joined = replace(cohorts["mimic-iv-ecg"], name=config.data.pretrain)
    views = with_columns(config, {**cohorts, config.data.pretrain: joined})
    assert list(views) == ["mimic-iv-ecg+ptb-xl", "mimic-iv-ecg", "ptb-xl"]
    audit_run(config, views)
    table_of_test = cohorts["ptb-xl"].recordings
    folds = zip(table_of_test.fold, table_of_test.labels, strict=True)
    tested = next(r for r, (fold, labels) in enumerate(folds) if fold == 10 and len(labels) == 1)
    digests = [*table_of_test.digest]
    digests[tested] = cohorts["mimic-iv-ecg"].recordings.digest[0]
    with pytest.raises(DatasetError, match="both pretrained on and tested"):
        audit_run(config, views | {"ptb-xl": with_cells(cohorts["ptb-xl"], digest=digests)})


def test_a_plan_holds_what_a_report_needs(cohorts: Cohorts, small_config: SmallConfig, tmp_path: Path) -> None:
    config, store = small_config(), Store(tmp_path)
    grid = make_grid(config, cohorts, Machine(torch.device("cpu"), "float32"))
    plan = make_plan(config, cohorts, grid)
    assert [cell.key for cell in plan.cells] == [cell.key for cell in grid.cells]
    chapman, facts = cohorts["chapman"], plan.datasets["chapman"]
    assert (facts["title"], facts["simulated"]) == ("Chapman", True)
    assert facts["recordings"] == chapman.usable
    assert facts["patients"] == len({*chapman.recordings.patient})
    assert sum(facts["skipped"].values()) == len(chapman.skipped)
    store.save_plan(plan)
    assert store.load_plan() == plan
    other = make_plan(small_config({"caption": "Other words."}), cohorts, grid)
    assert (other.key != plan.key, other.cells) == (True, plan.cells)


@pytest.mark.parametrize("corpus", ["mimic-iv-ecg", "ptb-xl"])
def test_a_plan_counts_what_is_pretrained_on(cohorts: Cohorts, small_config: SmallConfig, corpus: str) -> None:
    config = small_config({"data.pretrain": corpus})
    spec, facts = config.corpus_spec(), make_plan(config, cohorts, Grid((), (), ())).pretraining
    source = corpus_of(Column(cohorts[corpus], spec), torch.device("cpu"))
    assert facts["used_recordings"] == len(source.recording.unique())
    assert facts["used_patients"] == len(source.patient.unique())


def test_a_dataset_with_folds_of_its_own_is_not_estimated_in_parts(cohorts: Cohorts, small_config: SmallConfig) -> None:
    config = small_config({"protocol": "strict", "data.folds": 5, "data.datasets": ["ptb-xl", "chapman"]})
    listed = {name: cohorts[name] for name in ("mimic-iv-ecg", "ptb-xl", "chapman")}
    sizes = sizes_of(config, listed, {})
    assert (sizes["ptb-xl"].parts, sizes["chapman"].parts) == (1, 5)


def test_rows_take_the_disk_that_is_estimated_within_a_quarter(tmp_path: Path, small_config: SmallConfig) -> None:
    patients = {"mimic-iv-ecg": 2, "chapman": 400}
    config = small_config({"data.simulation.patients": patients, "data.simulation.test_patients": {"chapman": 40}})
    cell = grid_of(config).cells[0]
    size = Size(recordings=440, windows=440 * 14)
    draw, classes, per_trial = np.random.default_rng(1), DATASETS["chapman"].classes, config.finetune.beats_per_trial
    sides = []
    for recordings in (80, 40):  # 40 of simulated test patients and a tenth of the others; another tenth
        names = np.repeat([f"record {number}" for number in range(recordings)], 14 // per_trial * per_trial)
        probability = draw.dirichlet(np.ones(len(classes)), len(names)).astype(np.float32)
        truth = np.eye(len(classes), dtype=np.int64)[np.arange(len(names)) % len(classes)]
        sides.append(Predictions(probability, truth, names, names))
    store = Store(tmp_path)
    store.save_row(replace(row_of(planned()[0]), key=cell.key), *sides)
    written = (store.cells / f"{cell.key}.npz").stat().st_size
    assert row_bytes(cell, config, {"chapman": size}) - ROW_BYTES == pytest.approx(written, rel=0.25)
