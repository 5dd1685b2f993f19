"""Weights & Biases and MLflow get the curve, its name and its config, once; here as modules that record their calls."""

from __future__ import annotations

import os
import sys
from pathlib import Path
from types import ModuleType, SimpleNamespace
from typing import Any

import pytest

from benchmark.config.errors import ConfigError
from benchmark.config.flags import trackers_of
from benchmark.trackers import FILES_ALLOWED, TRACKERS, URI, open_trackers

KEY = "0123456789abcdef"
CONFIG = {"method": "pmq", "recipe": {"lr": 0.5}}


@pytest.fixture
def fake_wandb(monkeypatch: pytest.MonkeyPatch) -> list[tuple[str, Any]]:
    """Calls of wandb, as they come."""
    calls: list[tuple[str, Any]] = []
    module: Any = ModuleType("wandb")
    module.Settings = dict

    def init(**given: Any) -> Any:
        calls.append(("init", given))
        return SimpleNamespace(
            log=lambda values, step: calls.append(("log", (step, values))),
            finish=lambda: calls.append(("finish", None)),
        )

    module.init = init
    monkeypatch.setitem(sys.modules, "wandb", module)
    return calls


def test_wandb_gets_one_run_per_key_and_nothing_of_the_machine(
    fake_wandb: list[tuple[str, Any]], tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("WANDB_PROJECT", "mine")
    (tracker,) = open_trackers(["wandb"], tmp_path)
    assert tracker.last(KEY) == -1
    log = tracker.start("pmq pretrain seed 42", KEY, CONFIG)
    log.log(10, {"loss": 2.0})
    log.finish()
    (_, given), *rest = fake_wandb
    assert (given["id"], given["name"], given["config"], given["project"]) == (
        KEY,
        "pmq pretrain seed 42",
        CONFIG,
        "mine",
    )
    assert (given["resume"], given["dir"]) == ("allow", str(tmp_path / "wandb"))
    silent = given["settings"]
    assert (silent["console"], silent["host"], silent["save_code"], silent["disable_git"]) == ("off", "", False, True)
    assert (silent["x_disable_stats"], silent["x_disable_meta"], silent["x_disable_machine_info"]) == (True, True, True)
    assert rest == [("log", (10, {"loss": 2.0})), ("finish", None)]
    assert open_trackers(["wandb"], tmp_path)[0].last(KEY) == 10


class FakeClient:
    """MLflow's client with its runs in memory, by tracking URI."""

    servers: dict[str, dict[str, Any]] = {}  # noqa: RUF012

    def __init__(self, uri: str) -> None:
        self.server = self.servers.setdefault(uri, {"experiments": {}, "runs": {}})

    def get_experiment_by_name(self, name: str) -> Any:
        known = self.server["experiments"].get(name)
        return known and SimpleNamespace(experiment_id=known)

    def create_experiment(self, name: str) -> str:
        self.server["experiments"][name] = f"id of {name}"
        return str(self.server["experiments"][name])

    def create_run(self, experiment: str, tags: dict[str, str]) -> Any:
        run = f"run {len(self.server['runs'])}"
        self.server["runs"][run] = {
            "experiment": experiment,
            "tags": tags,
            "metrics": [],
            "params": {},
            "status": "RUNNING",
        }
        return SimpleNamespace(info=SimpleNamespace(run_id=run))

    def search_runs(self, experiments: list[str], filter_string: str, max_results: int) -> list[Any]:
        return [
            SimpleNamespace(
                info=SimpleNamespace(run_id=run),
                data=SimpleNamespace(metrics={metric.key: metric.value for metric in own["metrics"]}),
            )
            for run, own in self.server["runs"].items()
            if own["experiment"] in experiments and f"= '{own['tags']['ecg.key']}'" in filter_string
        ][:max_results]

    def get_metric_history(self, run: str, name: str) -> list[Any]:
        return [metric for metric in self.server["runs"][run]["metrics"] if metric.key == name]

    def log_batch(self, run: str, metrics: Any = (), params: Any = ()) -> None:
        assert len(params) <= 100
        self.server["runs"][run]["metrics"] += metrics
        self.server["runs"][run]["params"] |= {param.key: param.value for param in params}

    def update_run(self, run: str, status: str) -> None:
        self.server["runs"][run]["status"] = status

    def set_terminated(self, run: str) -> None:
        self.server["runs"][run]["status"] = "FINISHED"


@pytest.fixture
def fake_mlflow(monkeypatch: pytest.MonkeyPatch) -> dict[str, dict[str, Any]]:
    """Tracking URI -> what is there."""

    def metric(key: str, value: float, timestamp: int, step: int) -> Any:
        return SimpleNamespace(key=key, value=value, timestamp=timestamp, step=step)

    modules = {name: ModuleType(name) for name in ("mlflow", "mlflow.entities", "mlflow.tracking")}
    entities: Any = modules["mlflow.entities"]
    entities.Metric, entities.Param = metric, lambda key, value: SimpleNamespace(key=key, value=value)
    top, tracking = (modules[name] for name in ("mlflow", "mlflow.tracking"))
    vars(top)["entities"], vars(tracking)["MlflowClient"] = entities, FakeClient
    for name, module in modules.items():
        monkeypatch.setitem(sys.modules, name, module)
    monkeypatch.setattr(FakeClient, "servers", {})
    for variable in (URI, FILES_ALLOWED):
        monkeypatch.setenv(variable, "")  # set first, so that what a test sets is undone
        monkeypatch.delenv(variable)
    return FakeClient.servers


def test_mlflow_gets_one_run_per_key_and_says_how_far_it_is(
    fake_mlflow: dict[str, dict[str, Any]], tmp_path: Path
) -> None:
    many = {f"knob{number}": "x" * 600 for number in range(150)}
    for step in (10, 20):
        (tracker,) = open_trackers(["mlflow"], tmp_path)
        assert tracker.last(KEY) == (-1 if step == 10 else 10)
        log = tracker.start("pmq pretrain seed 42", KEY, CONFIG | many)
        log.log(step, {"loss": step / 10, "rate": 0.5})
        log.finish()
    (uri,) = FakeClient.servers
    assert uri == (tmp_path / "mlflow").as_uri()
    assert os.environ[FILES_ALLOWED] == "true"
    (run,) = FakeClient.servers[uri]["runs"].values()
    assert run["tags"] == {"ecg.key": KEY, "mlflow.runName": "pmq pretrain seed 42"}
    assert [(m.key, m.step, m.value) for m in run["metrics"] if m.key == "loss"] == [
        ("loss", 10, 1.0),
        ("loss", 20, 2.0),
    ]
    assert (run["params"]["recipe.lr"], len(run["params"]["knob149"]), run["status"]) == ("0.5", 500, "FINISHED")


def test_mlflow_goes_where_its_variable_says(
    fake_mlflow: dict[str, dict[str, Any]], tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv(URI, "http://tracking.example")
    assert open_trackers(["mlflow"], tmp_path)[0].last(KEY) == -1
    assert list(FakeClient.servers) == ["http://tracking.example"]
    assert FILES_ALLOWED not in os.environ
    assert list(tmp_path.iterdir()) == []


@pytest.mark.parametrize("name", list(TRACKERS))
def test_a_missing_library_is_one_line_that_names_the_extra(
    name: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    for module in [known for known in sys.modules if known.partition(".")[0] == name]:
        monkeypatch.delitem(sys.modules, module)
    monkeypatch.setitem(sys.modules, name, None)
    with pytest.raises(ConfigError) as caught:
        trackers_of([name], tmp_path)
    assert str(caught.value) == f"--track {name}: {name} is not installed; pip install 'ecg-pretrain-bench[{name}]'"


def test_nothing_is_loaded_that_was_not_asked_for(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    for name in TRACKERS:
        monkeypatch.setitem(sys.modules, name, None)
    assert trackers_of(None, tmp_path) == ()
