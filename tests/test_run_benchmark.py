"""main(): whatever ends a command is one line and an exit status, and help does not wait for torch."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path
from unittest.mock import Mock

import pytest

import run_benchmark
from benchmark.config.errors import ConfigError
from benchmark.data.datasets.base import DatasetError
from benchmark.process import EngineLost
from benchmark.results.files import Damaged
from benchmark.results.store import NoResults
from benchmark.screen import Console

ROOT = Path(__file__).resolve().parents[1]
ANSWERED_AT_ONCE = ["--help", "report --help", "run --help", "reprot", "--sedes 41", "--preset pape", "--labels one"]


def test_help_does_not_wait_for_torch() -> None:
    code = f"""
import contextlib, os, sys, run_benchmark
for command in {ANSWERED_AT_ONCE!r}:
    with contextlib.suppress(SystemExit), contextlib.redirect_stdout(open(os.devnull, "w")):
        assert run_benchmark.main(command.split()) == 2
    assert not {{"torch", "pandas", "matplotlib"}} & set(sys.modules), command
"""
    done = subprocess.run([sys.executable, "-c", code], cwd=ROOT, capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stderr
    refused = [command for command in ANSWERED_AT_ONCE if "--help" not in command]
    assert [line.partition(":")[0] for line in done.stderr.splitlines()] == ["error"] * len(refused)


@pytest.mark.parametrize(("command", "status"), [("--help", 0), ("run --help", 0), ("reprot", 2)])
def test_a_reader_that_has_gone_changes_no_status(command: str, status: int) -> None:
    reader, writer = os.pipe()
    os.close(reader)
    words = [sys.executable, str(ROOT / "run_benchmark.py"), *command.split()]
    with open(writer, "wb") as nobody:
        assert subprocess.run(words, stdout=nobody, stderr=nobody, check=False).returncode == status
        shown = subprocess.run(words, stdout=nobody, stderr=subprocess.PIPE, check=False)
    assert (shown.returncode, shown.stderr.count(b"\n")) == (status, int(status > 0))


def test_an_error_under_a_limit_on_memory_is_one_line_with_the_limit(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setattr(run_benchmark, "run", Mock(side_effect=ImportError("failed to map segment")))
    with pytest.raises(ImportError):
        run_benchmark.main([])
    monkeypatch.setattr(run_benchmark, "address_limit", lambda: 500_000)
    assert run_benchmark.main([]) == 1
    line = "error: ImportError: failed to map segment; `ulimit -v` limits the memory to 500000 KiB: raise it"
    assert capsys.readouterr().err.startswith(line)


def test_too_little_memory_to_begin_is_one_line_with_the_limit() -> None:
    limited = f"ulimit -v 100000; exec {sys.executable} {run_benchmark.__file__} list"
    shown = subprocess.run(["bash", "-c", limited], capture_output=True, text=True, check=False)
    assert (shown.returncode, shown.stdout, shown.stderr.count("\n")) == (1, "", 1)
    assert "`ulimit -v` limits the memory to 100000 KiB" in shown.stderr


@pytest.mark.parametrize(
    ("end", "status", "line"),
    [
        (ConfigError("a value"), 2, "a value"),
        (DatasetError("a folder"), 2, "a folder"),
        (PermissionError(13, "Permission denied", "out"), 2, "out: Permission denied; you may not write there: "),
        (NoResults("nothing there"), 1, "nothing there"),
        (Damaged("cells/x.npz: damaged"), 1, "cells/x.npz: damaged"),
        (EngineLost("--engine tcp://a:1: it has ended"), 1, "--engine tcp://a:1: it has ended"),
        (MemoryError(), 1, "out of memory; what is finished is saved: give it more, or fewer --workers and --jobs"),
        (KeyboardInterrupt(), 130, "stopped; what is finished is saved, and the same command goes on from there"),
    ],
)
def test_whatever_ends_a_command_is_one_line(
    end: BaseException, status: int, line: str, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    def stop(argv: list[str], console: Console) -> int:
        raise end

    monkeypatch.setattr(run_benchmark, "run", stop)
    assert run_benchmark.main([]) == status
    shown = capsys.readouterr()
    assert shown.err.startswith(f"error: {line}")
    assert (shown.err.count("\n"), shown.out) == (1, "")
