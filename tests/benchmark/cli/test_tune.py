"""`tune` as a user meets it: as many trials for each method, nothing done twice, and a run with what it chose."""

from __future__ import annotations

import csv
from pathlib import Path

import pytest

from benchmark.cli.main import OK
from benchmark.results.store import Store
from benchmark.run import tasks
from run_benchmark import main
from tests.basic import TINY

CONFIG = TINY.replace("pmq]", "pmq, clocs]").replace("ratios: [0.5]", "ratios: [1.0, 0.5, 0.25]")
FLAGS = ["--config", "tiny.yaml", "--device", "cpu", "--workers", "1", "--jobs", "1"]


@pytest.fixture(scope="module")
def searched(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A folder with the config, in which data, results and trials stay from test to test."""
    folder = tmp_path_factory.mktemp("searched")
    (folder / "tiny.yaml").write_text(CONFIG)
    return folder


@pytest.fixture(autouse=True)
def _here(searched: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(searched)


def trials() -> list[dict[str, str]]:
    return list(csv.DictReader(Path("out/trials.csv").read_text().splitlines()))


def test_a_search_is_equal_for_all_and_scores_no_test_patient(capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["tune", *FLAGS, "--trials", "3", "--dry-run"]) == OK
    shown = capsys.readouterr().out
    for line in ("3 trials of 2 methods", "config tiny: 6 cells on 6 pre", "rows: pmq (3 trials), clocs (3 trials)"):
        assert line in shown
    assert [path.name for path in Path().iterdir()] == ["tiny.yaml"]
    assert main(["tune", *FLAGS, "--trials", "3"]) == OK
    assert "no test patient was scored" in capsys.readouterr().out
    store = Store(Path("runs"))
    rows = [row for row in map(store.load_row, store.row_keys()) if row]
    assert len(rows) == 6
    for row in rows:
        assert (row.evaluation, row.ratio, row.counts["test_windows"]) == ("validation", 0.5, 0)
        assert {score for unit in row.scores.values() for score in unit.values()} == {None}
        assert len(store.predictions(row.key).truth) == 0
    best = {max(row.training["validation_f1"]) for row in rows}
    assert {float(trial["mean"]) for trial in trials()} <= best
    for method in ("pmq", "clocs"):
        means = [float(trial["mean"]) for trial in trials() if trial["method"] == method]
        (chosen,) = (trial for trial in trials() if trial["method"] == method and trial["chosen"] == "1")
        assert (len(means), float(chosen["mean"])) == (3, max(means))


def test_a_second_search_does_nothing_twice(
    capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    before = trials()
    monkeypatch.setattr(tasks, "run_pretraining", None)
    assert main(["tune", *FLAGS, "--trials", "3"]) == OK
    assert "3 trials of 2 methods: 0 of 6 cells to do" in capsys.readouterr().out
    assert main(["tune", *FLAGS, "--trials", "4", "--dry-run"]) == OK
    assert "to do: 2 of 8 cells, 2 of 8 pretrainings" in capsys.readouterr().out
    assert trials() == before


def test_a_tuned_run_uses_the_choice_and_the_pretrainings_of_the_search() -> None:
    made = {path.name for path in Path("runs/pretrained").iterdir()}
    assert main(["--config", "out/tuned.yaml", *FLAGS[2:], "--ratios", "0.5"]) == OK
    store = Store(Path("runs"))
    plan = store.load_plan()
    for trial in trials():
        knobs = plan.config["knobs"][trial["method"]]
        if trial["chosen"] == "1":
            assert float(trial["recipe.lr"]) == knobs["recipe"]["lr"]
    assert plan.config["knobs"]["pmq"]["queue_size"] == 16
    rows = [store.load_row(cell.key) for cell in plan.cells]
    assert {row.pretrain_key for row in rows if row and row.method != "random"} <= made
    assert len(rows) == 3
