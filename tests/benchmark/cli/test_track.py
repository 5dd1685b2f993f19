"""`--track` as a user meets it: refused in a line, and event files that survive a kill without double points."""

from __future__ import annotations

import json
import subprocess
import sys
from pathlib import Path

import pytest

from benchmark.cli import VERBS
from benchmark.config.command_line import parse, refuse_unknown
from benchmark.config.errors import ConfigError
from benchmark.results.names import CARD
from tests.benchmark.cli.test_run import COMMAND, CONFIG, KILL, ROOT

TRACKED = [*COMMAND[:-1], "2", "--track", "tensorboard"]
"""In two processes."""


@pytest.mark.parametrize("verb", ["run", "tune"])
def test_a_tracker_is_known_by_name(verb: str) -> None:
    found, arguments = parse(VERBS, [verb, "--track", "tensorbord", "wandb"])
    with pytest.raises(ConfigError, match=r"'tensorbord'.*tensorboard"):
        refuse_unknown(found, arguments)
    assert parse(VERBS, [verb])[1].track is None


def curves(out: Path) -> dict[str, dict[str, list[tuple[int, float]]]]:
    """Key -> tag -> (step, value), by TensorBoard's reader."""
    from tensorboard.backend.event_processing.event_accumulator import EventAccumulator

    found = {}
    for folder in (out / "tensorboard").iterdir():
        events = EventAccumulator(str(folder)).Reload()
        own = {tag: [(event.step, event.value) for event in events.Scalars(tag)] for tag in events.Tags()["scalars"]}
        found[folder.name.rpartition(".")[2]] = own
    return found


@pytest.mark.slow
def test_curves_of_a_killed_run_in_two_processes_are_those_of_the_cards(tmp_path: Path) -> None:
    pytest.importorskip("tensorboard", reason="the extra [tensorboard] is not installed")
    (tmp_path / "tiny.yaml").write_text(CONFIG)
    script = tmp_path / "kill.py"
    script.write_text(KILL)
    environment = {"PYTHONPATH": str(ROOT), "PATH": "/usr/bin:/bin", "OMP_NUM_THREADS": "1"}

    def run(*words: str) -> subprocess.CompletedProcess[str]:
        return subprocess.run(words, cwd=tmp_path, env=environment, capture_output=True, text=True, timeout=600)

    killed = run(sys.executable, str(script), "cells/.*json", "1", "run", *TRACKED)
    assert killed.returncode < 0, killed.stderr
    done = run(sys.executable, "-m", "run_benchmark", "run", *TRACKED)
    assert done.returncode == 0, done.stderr
    found = curves(tmp_path / "out")
    cards = {file.parent.name: json.loads(file.read_text()) for file in (tmp_path / "runs").rglob(CARD)}
    (trained,) = [key for key, card in cards.items() if card.get("updates")]
    loss = found[trained]["pretraining/loss"]
    assert [value for _, value in loss] == pytest.approx(cards[trained]["loss"], rel=1e-6)
    assert loss[-1][0] == cards[trained]["updates"]
    assert all(len({step for step, _ in points}) == len(points) for own in found.values() for points in own.values())
    assert sum("finetuning/validation_f1" in own for own in found.values()) == 2
    again = run(sys.executable, "-m", "run_benchmark", "run", *TRACKED)
    assert again.returncode == 0, again.stderr
    assert curves(tmp_path / "out") == found
