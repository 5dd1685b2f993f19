"""`tune` as a user meets it: as many trials for each method, nothing done twice, and a run with what it chose."""

from __future__ import annotations

import csv
from pathlib import Path

import pytest

import run_benchmark
from benchmark.results.store import Store
from benchmark.run import tasks
from tests.basic import TINY

CONFIG = TINY.replace("pmq]", "pmq, clocs]").replace("ratios: [0.5]", "ratios: [1.0, 0.5, 0.25]")


@pytest.fixture(scope="module")
def workplace(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A folder with the config, in which data, results and tunings stay from test to test."""
    folder = tmp_path_factory.mktemp("workplace")
    (folder / "tiny.yaml").write_text(CONFIG)
    return folder


@pytest.fixture
def flags(workplace: Path, monkeypatch: pytest.MonkeyPatch) -> list[str]:
    monkeypatch.chdir(workplace)
    return ["--config", "tiny.yaml", "--device", "cpu", "--workers", "1", "--jobs", "1"]


def trials_of(workplace: Path) -> list[dict[str, str]]:
    return list(csv.DictReader((workplace / "out" / "trials.csv").read_text().splitlines()))


def test_a_search_is_equal_for_all_and_scores_no_test_patient(
    flags: list[str], workplace: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    assert run_benchmark.main(["tune", *flags, "--trials", "3", "--dry-run"]) == 0
    shown = capsys.readouterr().out
    for line in ("3 trials of 2 methods", "config tiny: 6 cells on 6 pre", "rows: pmq (3 trials), clocs (3 trials)"):
        assert line in shown
    assert [path.name for path in workplace.iterdir()] == ["tiny.yaml"]
    assert run_benchmark.main(["tune", *flags, "--trials", "3"]) == 0
    assert "no test patient was scored" in capsys.readouterr().out
    trials = trials_of(workplace)
    store = Store(workplace / "runs")
    rows = [row for row in map(store.load_row, store.row_keys()) if row]
    assert len(rows) == 6
    for row in rows:
        assert (row.evaluation, row.ratio, row.counts["test_windows"]) == ("validation", 0.5, 0)
        assert {score for unit in row.scores.values() for score in unit.values()} == {None}
        assert len(store.predictions(row.key).truth) == 0
    best = {max(row.training["validation_f1"]) for row in rows}
    assert {float(trial["mean"]) for trial in trials} <= {float(str(score)) for score in best}
    for method in ("pmq", "clocs"):
        means = [float(trial["mean"]) for trial in trials if trial["method"] == method]
        (chosen,) = (trial for trial in trials if trial["method"] == method and trial["chosen"] == "1")
        assert (len(means), float(chosen["mean"])) == (3, max(means))


def test_a_second_search_does_nothing_twice(
    flags: list[str], workplace: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    before = trials_of(workplace)
    monkeypatch.setattr(tasks, "run_pretraining", None)
    assert run_benchmark.main(["tune", *flags, "--trials", "3"]) == 0
    assert "3 trials of 2 methods: 0 of 6 cells to do" in capsys.readouterr().out
    assert run_benchmark.main(["tune", *flags, "--trials", "4", "--dry-run"]) == 0
    assert "to do: 2 of 8 cells, 2 of 8 pretrainings" in capsys.readouterr().out
    assert trials_of(workplace) == before


def test_a_tuned_run_uses_the_choice_and_the_pretrainings_of_the_search(flags: list[str], workplace: Path) -> None:
    made = {path.name for path in (workplace / "runs" / "pretrained").iterdir()}
    assert run_benchmark.main(["--config", "out/tuned.yaml", *flags[2:], "--ratios", "0.5"]) == 0
    plan = Store(workplace / "runs").load_plan()
    assert plan.config["name"] == "tiny"
    for trial in trials_of(workplace):
        knobs = plan.config["knobs"][trial["method"]]
        if trial["chosen"] == "1":
            assert float(trial["recipe.lr"]) == knobs["recipe"]["lr"]
    assert plan.config["knobs"]["pmq"]["queue_size"] == 16
    rows = [Store(workplace / "runs").load_row(cell.key) for cell in plan.cells]
    assert {row.pretrain_key for row in rows if row and row.method != "random"} <= made
    assert len(rows) == 3
