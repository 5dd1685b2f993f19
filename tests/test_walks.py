"""The three walks of CONTRIBUTING.md, traced: the files between a command and its row, an ECG and its batch, a stored
score and the page.

A walk is the union of the files on the call stacks at which its stations are reached, in a grid of seconds.
"""

from __future__ import annotations

import os
import sys
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from inspect import CO_NEWLOCALS
from pathlib import Path
from types import FrameType
from typing import Any

import pytest

from benchmark.cli.main import OK
from benchmark.data.simulate import SimulatedDataset
from run_benchmark import main
from tests.basic import TINY
from tests.on_disk import write_dataset

ROOT = str(Path(__file__).resolve().parents[1]) + os.sep
OURS = tuple(ROOT + name for name in ("run_benchmark.py", "benchmark", "methods", "reports"))
CONTRIBUTING = Path(ROOT, "CONTRIBUTING.md").read_text(encoding="utf-8")
GRID = (
    "--config tiny.yaml --data chapman=. --pretrain-dataset chapman --evaluate finetune --seeds 41 42 --device cpu "
    "--jobs 1 --workers 1"
)
ONE_CELL = "--config tiny.yaml --data chapman=. --pretrain-dataset chapman --device cpu --jobs 1 --workers 1"
MOST_FUNCTIONS, MOST_FILES = 502, 65
"""Functions and files that a command enters for one pretraining and one cell, in one process, reports apart."""
Stack = tuple[str, ...]
"""The files of this repository on a call stack, the outermost first."""
CELL, RECORDING, NUMBER = "- **A cell", "- **A recording", "- **A number"
WALKS = {
    CELL: (10, "run_benchmark.py", ("benchmark/training/finetune.py:update", "benchmark/results/store.py:save_row")),
    RECORDING: (
        9,
        "benchmark/run/datasets.py benchmark/training/pretrain.py",
        (
            "benchmark/data/datasets/wfdb_files.py:read_recording",
            "benchmark/data/heartbeats.py:heartbeats",
            "benchmark/data/corpus.py:batches",
        ),
    ),
    NUMBER: (
        7,
        "reports/build.py reports/results.py",
        ("reports/score_tables.py:number_text", "reports/jackknife.py:f1", "benchmark/results/store.py:load_row"),
    ),
}
"""A walk -> the most files, the files that it starts from, and its stations."""


@contextmanager
def traced() -> Iterator[dict[str, set[Stack]]]:
    """Note the stacks at the calls of the stations."""
    stacks: dict[str, set[Stack]] = {station: set() for _, _, stations in WALKS.values() for station in stations}

    def note(frame: FrameType | None, event: str, arg: Any) -> None:
        if event != "call" or frame is None or not frame.f_code.co_filename.startswith(OURS):
            return
        station = f"{frame.f_code.co_filename.removeprefix(ROOT)}:{frame.f_code.co_name}"
        if station in stacks:
            files = []
            while frame:
                files.append(frame.f_code.co_filename)
                frame = frame.f_back
            stacks[station].add(tuple(file.removeprefix(ROOT) for file in reversed(files) if file.startswith(OURS)))

    threading.setprofile(note)
    sys.setprofile(note)
    try:
        yield stacks
    finally:
        sys.setprofile(None)
        threading.setprofile(None)  # type: ignore[arg-type]


@pytest.fixture(scope="module")
def stacks(tmp_path_factory: pytest.TempPathFactory) -> dict[str, set[Stack]]:
    """The stacks of a grid of two rows on a dataset of WFDB files."""
    folder = tmp_path_factory.mktemp("walk")
    write_dataset(SimulatedDataset("chapman", 30), folder)
    (folder / "tiny.yaml").write_text(TINY)
    with pytest.MonkeyPatch.context() as patch, traced() as noted:
        patch.chdir(folder)
        assert main(GRID.split()) == OK
    return noted


@pytest.mark.slow
def test_a_cell_from_the_command_line_enters_no_more_functions_than_it_did(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    write_dataset(SimulatedDataset("chapman", 30), tmp_path)
    (tmp_path / "tiny.yaml").write_text(TINY.replace("[random, pmq]", "[pmq]"))
    monkeypatch.chdir(tmp_path)
    monkeypatch.setattr("benchmark.cli.run.report_on", lambda *arguments: None)  # a walk of its own
    entered: set[tuple[str, str]] = set()

    def note(frame: FrameType, event: str, arg: Any) -> None:
        code = frame.f_code
        is_ours = code.co_filename.startswith(OURS) and not code.co_name.startswith("<")
        is_function = bool(code.co_flags & CO_NEWLOCALS)  # the body of a class runs where its module is imported
        if event == "call" and is_ours and is_function:
            entered.add((code.co_filename, code.co_qualname))

    threading.setprofile(note)
    sys.setprofile(note)
    try:
        assert main(ONE_CELL.split()) == OK
    finally:
        sys.setprofile(None)
        threading.setprofile(None)  # type: ignore[arg-type]
    assert len(entered) <= MOST_FUNCTIONS
    assert len({file for file, _ in entered}) <= MOST_FILES


@pytest.mark.slow
@pytest.mark.parametrize("walk", WALKS)
def test_a_walk_passes_the_files_that_contributing_names(walk: str, stacks: dict[str, set[Stack]]) -> None:
    most, starts, stations = WALKS[walk]
    files: set[str] = set()
    for station in stations:
        parts = [stack[stack.index(start) :] for stack in stacks[station] for start in starts.split() if start in stack]
        files |= {*min(parts, key=len)}
    assert len(files) <= most, sorted(files)
    text = CONTRIBUTING.partition(walk)[2].partition("\n- **")[0].partition("\n\n")[0]
    assert [file for file in sorted(files) if Path(file).name not in text] == []
