"""`tune` as a user meets it: as many candidates for each method, nothing done twice, and a run with what it chose."""

from __future__ import annotations

import csv
from pathlib import Path

import pytest

from benchmark.cli.main import OK
from benchmark.cli.tune import draws_of, variants_of_draws
from benchmark.results.store import Store
from benchmark.run import tasks
from run_benchmark import main
from tests.basic import TINY
from tests.benchmark.run.bench import SmallConfig

CONFIG = TINY.replace("pmq]", "pmq, clocs]").replace("ratios: [0.5]", "ratios: [1.0, 0.5, 0.25]")
FLAGS = ["--config", "tiny.yaml", "--device", "cpu", "--workers", "1", "--jobs", "1"]
SETTINGS = {
    "methods": ["random", "pmq", "byol", "comet"],
    "methods.pmq.temperature": 0.3,
    "methods.byol.recipe.lr": 0.5,
}


@pytest.fixture(scope="module")
def searched(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A folder with the config, in which data, results and candidates stay from test to test."""
    folder = tmp_path_factory.mktemp("searched")
    (folder / "tiny.yaml").write_text(CONFIG)
    return folder


@pytest.fixture(autouse=True)
def _here(searched: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(searched)


def candidates() -> list[dict[str, str]]:
    return list(csv.DictReader(Path("out/candidates.csv").read_text().splitlines()))


def test_a_dry_run_of_a_search_writes_nothing(capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["tune", *FLAGS, "--candidates", "3", "--dry-run"]) == OK
    shown = capsys.readouterr().out
    for line in (
        "3 candidates of 2 methods",
        "config tiny: 6 cells on 6 pre",
        "rows: pmq (3 candidates), clocs (3 candidates)",
    ):
        assert line in shown
    assert [path.name for path in Path().iterdir()] == ["tiny.yaml"]


def test_a_search_scores_no_test_patient() -> None:
    assert main(["tune", *FLAGS, "--candidates", "3"]) == OK
    store = Store(Path("runs"))
    rows = [row for file in store.cells.glob("*.npz") if (row := store.load_row(file.stem))]
    assert len(rows) == 6
    for row in rows:
        assert (row.evaluation, row.ratio, row.counts["test_windows"]) == ("validation", 0.5, 0)
        assert {score for unit in row.scores.values() for score in unit.values()} == {None}
        assert len(store.predictions(row.key).truth) == 0
    best = {max(row.training["validation_f1"]) for row in rows}
    assert {float(candidate["mean"]) for candidate in candidates()} <= best
    for method in ("pmq", "clocs"):
        means = [float(candidate["mean"]) for candidate in candidates() if candidate["method"] == method]
        (chosen,) = (
            candidate for candidate in candidates() if candidate["method"] == method and candidate["chosen"] == "1"
        )
        assert (len(means), float(chosen["mean"])) == (3, max(means))


def test_a_second_search_does_nothing_twice(
    capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    before = candidates()
    monkeypatch.setattr(tasks, "run_pretraining", None)
    assert main(["tune", *FLAGS, "--candidates", "3"]) == OK
    assert "3 candidates of 2 methods: 0 of 6 cells to do" in capsys.readouterr().out
    assert main(["tune", *FLAGS, "--candidates", "4", "--dry-run"]) == OK
    assert "to do: 2 of 8 cells, 2 of 8 pretrainings" in capsys.readouterr().out
    assert candidates() == before


def test_a_tuned_run_uses_the_pretrainings_of_the_search() -> None:
    made = {path.name for path in Path("runs/pretrained").iterdir()}
    assert main(["--config", "out/tuned.yaml", *FLAGS[2:], "--ratios", "0.5"]) == OK
    store = Store(Path("runs"))
    plan = store.load_plan()
    for candidate in candidates():
        hyperparameters = plan.config["hyperparameters"][candidate["method"]]
        if candidate["chosen"] == "1":
            assert float(candidate["recipe.lr"]) == hyperparameters["recipe"]["lr"]
    assert plan.config["hyperparameters"]["pmq"]["queue_size"] == 16
    rows = [store.load_row(cell.key) for cell in plan.cells]
    assert {row.pretrain_key for row in rows if row and row.method != "random"} <= made
    assert len(rows) == 3


def test_the_first_trial_is_the_configs_own_setting(small_config: SmallConfig) -> None:
    config = small_config(SETTINGS)
    draws = draws_of(config, 3, seed=1)
    assert list(draws) == ["pmq", "byol", "comet"]
    assert (draws["pmq"][0]["temperature"], draws["byol"][0]["recipe.lr"]) == (0.3, 0.5)
    variants = {variant.name: variant for variant in variants_of_draws(config, draws)}
    assert len(variants) == 9
    for name in draws:
        assert variants[f"{name}#0"].config == config.method_config(name)
        assert variants[f"{name}#1"].config != config.method_config(name)
    assert variants["pmq#2"].config.queue_size == 16  # type: ignore[attr-defined]


def test_methods_share_the_values_of_a_hyperparameter(small_config: SmallConfig) -> None:
    config = small_config(SETTINGS)
    draws = draws_of(config, 6, seed=1)
    for pmq, byol in list(zip(draws["pmq"], draws["byol"], strict=True))[1:]:
        assert {hyperparameter: pmq[hyperparameter] for hyperparameter in pmq.keys() & byol} == {
            hyperparameter: byol[hyperparameter] for hyperparameter in pmq.keys() & byol
        }


def test_a_longer_search_begins_as_a_shorter_one(small_config: SmallConfig) -> None:
    config = small_config(SETTINGS)
    draws, shorter = draws_of(config, 6, seed=1), draws_of(config, 3, seed=1)
    assert len({candidate["recipe.lr"] for candidate in draws["pmq"]}) == 6
    assert {name: candidates[:3] for name, candidates in draws.items()} == shorter
    assert draws_of(config, 3, seed=2)["pmq"][1] != draws["pmq"][1]
