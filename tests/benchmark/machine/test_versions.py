"""What a row says of the code and the packages it was made with."""

from __future__ import annotations

import json
import subprocess
from pathlib import Path
from typing import Any

import pytest
import torch

from benchmark.machine import versions as code_versions
from benchmark.machine.device import device_facts
from benchmark.machine.memory import peak_memory_gib
from benchmark.machine.versions import git_state, versions


def test_facts_can_be_written_to_a_row() -> None:
    facts: dict[str, Any] = {"versions": versions(), "git": git_state(), "device": device_facts(torch.device("cpu"))}
    assert json.loads(json.dumps(facts)) == facts
    assert versions()["torch"] == torch.__version__.split("+")[0] or versions()["torch"] == torch.__version__
    assert facts["device"]["threads"] == torch.get_num_threads()
    assert 0.0 < peak_memory_gib(torch.device("cpu")) < 1024.0


def test_outside_a_checkout_there_is_no_commit(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(code_versions, "_git", lambda *arguments: None)
    git_state.cache_clear()
    state = git_state()
    git_state.cache_clear()
    assert state["commit"] is None
    assert state["diff"] is None


def test_the_commit_of_another_project_is_not_ours(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """The suite installed in the environment of a project that is a git checkout itself."""
    git = ("git", "-c", "user.name=a", "-c", "user.email=a@example.org")
    for words in (("init", "-q"), ("commit", "-q", "--allow-empty", "-m", "theirs")):
        subprocess.run([*git, *words], cwd=tmp_path, check=True)
    installed = tmp_path / ".venv" / "versions.py"
    installed.parent.mkdir()
    installed.touch()
    monkeypatch.setattr(code_versions, "__file__", str(installed))
    git_state.cache_clear()
    state = git_state()
    git_state.cache_clear()
    assert state == {"commit": None, "dirty": False, "diff": None}


def test_a_changed_checkout_is_dirty_and_says_which_change(monkeypatch: pytest.MonkeyPatch) -> None:
    states = []
    for difference in ("", "-a\n+b", "-a\n+c"):
        monkeypatch.setattr(code_versions, "_git", lambda *words, d=difference: d if words[0] == "diff" else "0123abcd")
        git_state.cache_clear()
        states.append(git_state())
    git_state.cache_clear()
    assert [state["dirty"] for state in states] == [False, True, True]
    assert states[0]["diff"] is None
    assert states[1]["diff"] != states[2]["diff"]
    assert states[1]["commit"] == "0123abcd"
