"""Every engine that a command line may name is there."""

from __future__ import annotations

from collections.abc import Generator
from dataclasses import dataclass
from pathlib import Path

import pytest

from benchmark.cli import VERBS, look, run
from benchmark.cli.look import in_queues
from benchmark.cli.run import engine_of, machine_of
from benchmark.config.command_line import parse
from benchmark.config.engines import ENGINES, EngineKind
from benchmark.config.flags import config_of
from benchmark.config.sections import EngineSection
from benchmark.results.store import Store
from benchmark.run.local import Ended, EngineRequest, Local, Order, Result, Submitted, Work, open_local


def test_local_has_the_jobs_and_devices_that_were_asked_for() -> None:
    asked = EngineRequest(EngineSection(), 4, ("0", "1"), Path("runs"), [])
    assert open_local(asked) == Local(4, ("0", "1"))


@dataclass(frozen=True)
class Third:
    """An engine of another queue, which hands over and waits for nothing."""

    remote: bool = True
    doubts: tuple[str, ...] = ("its nodes are asleep",)

    def run(self, order: Order[Work, Result]) -> Generator[Ended[Work, Result], None, None]:
        yield from ()


def test_a_third_engine_is_one_line(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    """Every part that asks an engine anything asks the table: machine, what is in the queue."""
    job = Submitted("9", "waiting", ["a"], 5)
    stands_in = {"third:open": lambda request: Third(), "third:queue": lambda results: [job]}
    for module in (run, look):
        monkeypatch.setattr(module, "function_named", lambda name: stands_in.get(name, lambda results: ()))
    kind = EngineKind("third:open", cluster=True, queue="third:queue")
    monkeypatch.setitem(ENGINES, "third", kind)
    arguments = parse(VERBS, ["--precision", "float32", "--set", "engine.gpus=1"])[1]
    config = config_of(arguments)
    config = config.model_copy(update={"engine": config.engine.model_copy(update={"name": "third"})})
    machine = machine_of(arguments, config)
    assert machine.mode() == {"device": "cuda", "precision": "float32"}
    assert engine_of(arguments, config, machine) == Third()
    assert in_queues(Store(tmp_path)) == [job]
