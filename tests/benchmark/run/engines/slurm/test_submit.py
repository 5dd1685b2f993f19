"""What a job leaves is read as texts alone: the folder of jobs is in the store, and a store may come from others."""

from __future__ import annotations

import os
import pickle
from pathlib import Path
from typing import Any

import pytest

from benchmark.run.engines.slurm.submit import LARGEST_OUTCOME, outcome_of


class Attack:
    """Makes a folder where it is unpickled."""

    def __init__(self, folder: Path) -> None:
        self.folder = folder

    def __reduce__(self) -> tuple[Any, ...]:
        return os.mkdir, (os.fspath(self.folder),)


@pytest.mark.parametrize("outcome", [("success", []), ("success", ["a", "b"]), ("error", "Traceback\n  KeyError: 1")])
def test_the_outcome_of_a_job_is_read(tmp_path: Path, outcome: tuple[str, object]) -> None:
    (tmp_path / "7_0_result.pkl").write_bytes(pickle.dumps(outcome))
    assert outcome_of(tmp_path, "7") == outcome


@pytest.mark.attack("code in the outcome of a job, in a store from others")
@pytest.mark.parametrize("within", ["alone", "keys", "error"])
def test_no_code_in_an_outcome_is_executed(tmp_path: Path, within: str) -> None:
    attack = Attack(tmp_path / "made")
    content = {"alone": attack, "keys": ("success", [attack]), "error": ("error", attack)}[within]
    (tmp_path / "7_0_result.pkl").write_bytes(pickle.dumps(content))
    assert outcome_of(tmp_path, "7") is None
    assert not (tmp_path / "made").exists()


@pytest.mark.parametrize(
    "content",
    [b"", b"no pickle", pickle.dumps(("success", [1])), pickle.dumps(("error", 3)), pickle.dumps(["success"])],
)
def test_what_is_no_outcome_is_as_if_it_were_not_there(tmp_path: Path, content: bytes) -> None:
    (tmp_path / "7_0_result.pkl").write_bytes(content)
    assert outcome_of(tmp_path, "7") is None


def test_neither_a_pipe_nor_a_large_file_is_waited_for(tmp_path: Path) -> None:
    os.mkfifo(tmp_path / "7_0_result.pkl")
    assert outcome_of(tmp_path, "7") is None
    with open(tmp_path / "8_0_result.pkl", "wb") as file:
        file.truncate(LARGEST_OUTCOME + 1)
    assert outcome_of(tmp_path, "8") is None
    assert outcome_of(tmp_path, "9") is None
