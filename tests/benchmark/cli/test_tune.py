"""`tune` as a user meets it: as many trials for each method, nothing done twice, and `run --preset tuned` after it."""

from __future__ import annotations

import csv
import json
from pathlib import Path
from typing import Any

import pytest

import run_benchmark
from benchmark.cli import VERBS
from benchmark.cli.run import SAME
from benchmark.results.store import Store
from benchmark.run import jobs

CONFIG = """
methods: [random, pmq, clocs]
data:
  datasets: [chapman]
  simulation: {patients: {mimic-iv-ecg: 6, chapman: 40}, recordings_per_patient: 2}
encoder: {hidden: 4, depth: 2, output: 8}
knobs: {pmq: {queue_size: 16}}
pretrain: {epochs: 1, recipe: {batch_size: 8}}
evaluate: [linear]
ratios: [1.0, 0.5, 0.25]
seeds: [41]
gates: []
precision: float32
"""


@pytest.fixture(scope="module")
def workplace(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A folder with the config, in which data, results and tunings stay from test to test."""
    folder = tmp_path_factory.mktemp("workplace")
    (folder / "tiny.yaml").write_text(CONFIG)
    return folder


@pytest.fixture
def flags(workplace: Path, monkeypatch: pytest.MonkeyPatch) -> list[str]:
    monkeypatch.chdir(workplace)
    return ["--config", "tiny.yaml", "--device", "cpu", "--workers", "1", "--jobs-per-device", "1"]


def tuned(workplace: Path) -> dict[str, dict[str, Any]]:
    found = [json.loads(path.read_text()) for path in (workplace / "runs" / "tuned").glob("*.json")]
    return {body["method"]: body for body in found}


def test_without_a_search_the_run_says_how_to_make_one(flags: list[str], capsys: pytest.CaptureFixture[str]) -> None:
    assert run_benchmark.main([*flags, "--preset", "tuned", "--results", "nothing"]) == 2
    told = capsys.readouterr().err
    assert "nothing/tuned holds nothing for pmq, clocs" in told
    assert "`python run_benchmark.py tune --config tiny.yaml --preset tuned --results nothing`" in told


def test_a_dry_run_counts_trials_and_writes_nothing(
    flags: list[str], workplace: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    assert run_benchmark.main(["tune", *flags, "--trials", "3", "--dry-run"]) == 0
    told = capsys.readouterr().out
    assert "3 trials of 2 methods" in told
    assert "config tiny: 6 cells of trials on 6 pretrainings" in told
    assert "to do: 6 of 6 cells, 6 of 6 pretrainings" in told
    assert ["pmq", "validation", "0/3"] in [line.split() for line in told.splitlines()]
    assert "recipes (" not in told
    assert [path.name for path in workplace.iterdir()] == ["tiny.yaml"]


def test_a_search_is_equal_for_all_and_scores_no_test_patient(
    flags: list[str], workplace: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    assert run_benchmark.main(["tune", *flags, "--trials", "3"]) == 0
    found = tuned(workplace)
    assert {name: len(body["trials"]) for name, body in found.items()} == {"pmq": 3, "clocs": 3}
    store = Store(workplace / "runs")
    rows = [store.load_row(key) for key in store.row_keys()]
    assert len(rows) == 6
    for row in rows:
        assert row is not None
        assert (row.evaluation, row.ratio, row.counts["test_windows"]) == ("validation", 0.5, 0)
        assert {score for unit in row.scores.values() for score in unit.values()} == {None}
        assert len(store.predictions(row.key).truth) == 0
    for body in found.values():
        means = [trial["mean"] for trial in body["trials"]]
        assert means[body["best"]] == max(means)
        assert set(means) <= {max(row.training["validation_f1"]) for row in rows if row}
        shown = capsys.readouterr().out if body is found["pmq"] else ""
        assert "no test patient was scored" in shown or body is not found["pmq"]


def test_a_second_search_does_nothing_twice(
    flags: list[str], workplace: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    before = tuned(workplace)
    monkeypatch.setattr(jobs, "run_to_end", None)
    assert run_benchmark.main(["tune", *flags, "--trials", "3"]) == 0
    assert "3 trials of 2 methods: 0 of 6 cells to do" in capsys.readouterr().out
    assert run_benchmark.main(["tune", *flags, "--trials", "4", "--dry-run"]) == 0
    assert "to do: 2 of 8 cells, 2 of 8 pretrainings" in capsys.readouterr().out
    out = workplace / "out"
    assert all((out / name).is_file() for name in ("trials.md", "trials.csv"))
    assert tuned(workplace) == before


def test_a_tuned_run_uses_the_choice_and_the_pretrainings_of_the_search(
    flags: list[str], workplace: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    found = tuned(workplace)
    made = {path.name for path in (workplace / "runs" / "pretrained").iterdir()}
    assert run_benchmark.main([*flags, "--preset", "tuned", "--ratios", "0.5"]) == 0
    assert "preset tuned: per method 3 trials at ratio 0.5" in capsys.readouterr().out
    plan = Store(workplace / "runs").load_plan()
    assert plan.config["pretrain"]["preset"] == "tuned"
    assert "preset tuned" in (workplace / "out" / "results.md").read_text()
    for name, body in found.items():
        chosen = body["trials"][body["best"]]["knobs"]
        recipe = plan.config["knobs"][name]["recipe"]
        assert {knob.removeprefix("recipe."): value for knob, value in chosen.items() if "." in knob} == recipe
    rows = [Store(workplace / "runs").load_row(cell.key) for cell in plan.cells]
    assert {row.pretrain_key for row in rows if row and row.method != "random"} <= made
    assert len(rows) == 3


def test_presets_stand_side_by_side_in_one_run(
    flags: list[str], workplace: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    beside = ["--preset", "unified", "paper", "tuned", "--ratios", "0.5", "--seeds", "41", "42"]
    assert run_benchmark.main([*flags, *beside, "--results", "nothing"]) == 2
    assert "tune --config tiny.yaml --preset unified --results nothing`" in capsys.readouterr().err
    assert run_benchmark.main([*flags, *beside]) == 0
    assert "tuned \N{MINUS SIGN} unified" in capsys.readouterr().out
    plan = Store(workplace / "runs").load_plan()
    assert set(plan.tunings) == {body["key"] for body in tuned(workplace).values()}
    assert {name for name, role in plan.roles.items() if role["role"] == "preset"} == {
        f"{method}@{preset}" for method in ("pmq", "clocs") for preset in ("paper", "tuned")
    }
    lines = list(csv.DictReader((workplace / "out" / "presets.csv").read_text().splitlines()))
    assert len(lines) == 4 * 4, "methods x presets, three metrics and Overall"
    assert "## Presets side by side" in (workplace / "out" / "results.md").read_text()
    page = (workplace / "out" / "report.html").read_text()
    assert all(f'<section id="{name}">' in page for name in ("presets-side-by-side", "search"))


def test_knobs_of_the_tuned_rows_are_not_for_the_user(flags: list[str], capsys: pytest.CaptureFixture[str]) -> None:
    assert run_benchmark.main([*flags, "--set", "pretrain.tuned={pmq: {temperature: 0.2}}"]) == 2
    assert "pretrain.tuned is filled in from what `tune` found; leave it out" in capsys.readouterr().err


@pytest.mark.parametrize(
    ("wrong", "message"),
    [
        (["--trials", "0"], "--trials: 0 is not a count"),
        (["--ratio", "30"], "--ratio 30 is not a share of the labels"),
        (["--search-seed", "-1"], "--search-seed: -1 is not a seed"),
        (["--preset", "paper"], "add --preset unified"),
        (["--methods", "random"], "random trains nothing"),
    ],
)
def test_what_cannot_be_meant_is_one_line(
    flags: list[str], wrong: list[str], message: str, capsys: pytest.CaptureFixture[str]
) -> None:
    assert run_benchmark.main(["tune", *flags, *wrong]) == 2
    assert message in capsys.readouterr().err


def test_the_command_that_is_named_is_one_that_tune_takes() -> None:
    assert set(SAME) <= VERBS["tune"].flags.keys()
