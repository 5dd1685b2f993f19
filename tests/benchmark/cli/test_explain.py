"""A cell by its names in any order, or by its key; what made its scores, in the digits of the tables."""

from __future__ import annotations

import shutil
from pathlib import Path

import pytest

from benchmark.cli.explain import describe, find_cell
from benchmark.cli.main import FAILED, OK
from benchmark.config.errors import ConfigError
from benchmark.results.names import CARD
from benchmark.results.store import Failure, Store
from run_benchmark import main
from tests.benchmark.run.bench import Bench, cell_of

NAME = "pmq finetune chapman 0.5 seed 41"


def test_a_cell_is_found_by_its_names_in_any_order_and_by_its_key(finished_bench: Bench) -> None:
    key = cell_of(finished_bench, "pmq").key
    for words in (NAME, "PMQ Chapman finetune 50% 41", "41 50 % finetune pmq", "pmq finetune", key, key[:8]):
        cell = find_cell(finished_bench.store, words)
        assert (cell.key, describe(cell)) == (key, NAME)
    baselines = [find_cell(finished_bench.store, f"features{table}") for table in ("", " linear", " finetune")]
    assert {cell.key for cell in baselines} == {cell_of(finished_bench, "features", "features").key}


@pytest.mark.parametrize(
    ("words", "message"),
    [
        ("chapman 0.5", "'chapman 0.5' is 5 cells: add row and evaluation, or give a key; e.g. random finetune"),
        ("pmqq finetune chapman 0.5 seed 41", "no cell .* near ones: pmq finetune chapman 0.5 seed 41"),
    ],
)
def test_a_name_of_no_cell_or_several_is_one_line(finished_bench: Bench, words: str, message: str) -> None:
    with pytest.raises(ConfigError, match=message):
        find_cell(finished_bench.store, words)


def test_a_cell_without_a_row_is_one_line(
    finished_bench: Bench, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    copy = Store(shutil.copytree(finished_bench.store.root, tmp_path / "runs"))
    key = cell_of(finished_bench, "pmq").key
    (copy.cells / f"{key}.json").unlink()
    line = ["explain", "pmq", "finetune", "--results", str(copy.root)]
    assert main(line) == FAILED
    assert f"({key}) is not finished; " in capsys.readouterr().err
    copy.save_failure(key, "what", Failure("ValueError: no\nmore"))
    assert main(line) == FAILED
    assert capsys.readouterr().err.endswith(f"({key}) has failed: ValueError: no\n")


def test_the_scores_have_the_digits_of_the_tables_and_all_prints_what_is_stored(
    finished_bench: Bench, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    copy = Store(shutil.copytree(finished_bench.store.root, tmp_path / "runs"))
    cell = cell_of(finished_bench, "pmq", "linear")
    row = copy.load_row(cell.key)
    assert row is not None
    line = ["explain", "pmq", "linear", "--results", str(copy.root)]
    assert main(line) == OK
    short = capsys.readouterr().out
    assert short.startswith("pmq linear chapman 0.5 seed 41\n\nscores (percent)\n")
    assert f"heartbeat F1     {100 * (row.scores['heartbeat']['f1'] or 0):.1f}\n" in short
    assert "made by\n  encoder     pmq, " in short
    assert f"--only {cell.key} --results again\n" in short
    record = copy.pretrained / cell.pretrain_key / CARD
    record.write_text(record.read_text().replace('"seed": 42', '"seed": 43'))
    assert main([*line, "--all"]) == OK
    assert "its content does not match its digest" in capsys.readouterr().out
