"""A cell by its names in any order, or by its key; what made its scores; and what is done, has failed and runs."""

from __future__ import annotations

import os
import shutil
import time
from dataclasses import replace
from pathlib import Path
from statistics import mean, stdev

import pytest

from benchmark.cli.explain import as_stored, describe, find_cells
from benchmark.cli.main import FAILED, OK
from benchmark.results.files import file_lock
from benchmark.results.names import RECORD_FILE
from benchmark.results.store import Failure, Store
from benchmark.run.progress import PROGRESS, progress_file
from run_benchmark import main
from tests.benchmark.run.bench import Bench, cell_of

NAME = "pmq finetune chapman 0.5 seed 41 subset 0"


def test_a_cell_is_found_by_its_names_in_any_order(finished_bench: Bench) -> None:
    key = cell_of(finished_bench, "pmq").key
    printed = "Fine-tuned PMQ, Chapman, 50 %, seed 41".replace(",", "")
    for words in (NAME, "PMQ Chapman finetune 41", "41 finetune pmq", printed, key, key[:8]):
        _, (cell,) = find_cells(finished_bench.store, words)
        assert (cell.key, describe(cell)) == (key, NAME)
    title = "Heartbeat features, boosted"
    for words in ("features 41 linear", "features 41 finetune", f"{title} 41 linear"):
        _, (cell,) = find_cells(finished_bench.store, words)
        assert cell.key == cell_of(finished_bench, "features", "features").key


def test_the_name_of_a_row_that_reads_reports_is_taken_as_tables_print_it(finished_bench: Bench) -> None:
    plan = finished_bench.store.load_plan()
    plan = replace(plan, variants={"etp": "ETP"}, roles={"etp": {"role": "method", "reads_reports": True}})
    assert as_stored("ETP (TF-IDF of reports) 50 %", plan) == "etp 0.5"


def test_a_number_without_a_seed_is_the_mean_of_its_cells(
    finished_bench: Bench, capsys: pytest.CaptureFixture[str]
) -> None:
    store = finished_bench.store
    assert main(["explain", "Random", "linear", "--results", str(store.root)]) == OK
    shown = capsys.readouterr().out
    plan = store.load_plan()
    cells = [cell for cell in plan.cells if (cell.variant, cell.evaluation) == ("random", "linear")]
    scores = [row.scores["heartbeat"] for cell in cells if (row := store.load_row(cell.key))]
    f1 = [100 * (score["f1"] or 0) for score in scores]
    assert f"chapman F1 {mean(f1):.1f}±{stdev(f1):.1f}: {f1[0]:.1f} (seed 41), {f1[1]:.1f} (seed 42)\n" in shown
    overall = 100 * mean(score[metric] or 0 for score in scores for metric in ("f1", "auroc", "acc"))
    assert f"Overall {overall:.1f}: the mean of these 3 columns\n2 of 2 cells finished" in shown


@pytest.fixture
def copy(finished_bench: Bench, tmp_path: Path) -> Store:
    return Store(shutil.copytree(finished_bench.store.root, tmp_path / "runs"))


def test_explained_scores_have_the_digits_of_the_tables(
    finished_bench: Bench, copy: Store, capsys: pytest.CaptureFixture[str]
) -> None:
    cell = cell_of(finished_bench, "pmq", "linear")
    row = copy.load_row(cell.key)
    assert row is not None
    line = ["explain", "pmq", "linear", "41", "--results", str(copy.root)]
    assert main(line) == OK
    short = capsys.readouterr().out
    assert short.startswith("pmq linear chapman 0.5 seed 41 subset 0\n\nscores (percent)\n")
    assert f"heartbeat F1     {100 * (row.scores['heartbeat']['f1'] or 0):.1f}\n" in short
    assert "made by\n  encoder     pmq, " in short
    assert f"--only {cell.key} --results again\n" in short
    assert f"\nfiles\n  row          {copy.cells / cell.key}.json\n" in short


def test_a_damaged_record_is_not_explained(
    finished_bench: Bench, copy: Store, capsys: pytest.CaptureFixture[str]
) -> None:
    cell = cell_of(finished_bench, "pmq", "linear")
    line = ["explain", "pmq", "linear", "41", "--results", str(copy.root)]
    record = copy.pretrained / cell.pretrain_key / RECORD_FILE
    record.write_text(record.read_text().replace('"seed": 42', '"seed": 43'))
    assert main(line) == FAILED
    assert "its content does not match its digest" in capsys.readouterr().err


def test_status_names_what_is_unfinished(
    finished_bench: Bench, copy: Store, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    status = ["status", "--results", str(copy.root)]
    assert main(["status", "--results", str(tmp_path / "none")]) == FAILED
    assert "start a run with" in capsys.readouterr().err
    key = cell_of(finished_bench, "pmq").key
    (copy.cells / f"{key}.json").unlink()
    explain = ["explain", *NAME.split(), "--results", str(copy.root)]
    assert main(explain) == FAILED
    assert f"({key}) is not finished; " in capsys.readouterr().err
    assert main(status) == OK
    shown = capsys.readouterr().out
    assert "9 of 10 cells done, 1 to do\n" in shown
    assert shown.startswith("run by python run_benchmark.py ")
    assert "nothing works on the rest" in shown
    copy.save_failure(key, "it", Failure("ValueError: out of luck\nin many words"))
    assert main(explain) == FAILED
    assert capsys.readouterr().err.endswith(f"({key}) has failed: ValueError: out of luck\n")
    folder = copy.pretrained / "key"
    with progress_file(folder, "pmq pretrain seed 42") as write, file_lock(copy.lock):
        write(120, 600, "epoch 2/10 loss 1.2345")
        then = time.time() - 125
        os.utime(folder / PROGRESS, (then, then))
        assert main(status) == OK
    shown = capsys.readouterr().out
    assert "9 of 10 cells done, 1 failed\n" in shown
    assert f"failed: {NAME}: ValueError: out of luck\n" in shown
    assert "pmq pretrain seed 42: 120 of 600 updates, epoch 2/10 loss 1.2345, 2 min ago\n" in shown
    assert f":{os.getpid()} works on it\n" in shown
