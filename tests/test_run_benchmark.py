"""main(): a command line to its verb, and whatever ends it to one line and an exit status."""

from __future__ import annotations

import io
import os
import subprocess
import sys
from pathlib import Path

import pytest

import run_benchmark
from benchmark.config.errors import ConfigError
from benchmark.data.datasets.base import DatasetError
from benchmark.results.store import CorruptRow, NoResults
from benchmark.screen import Console, note

ROOT = Path(__file__).resolve().parents[1]


@pytest.mark.parametrize(
    ("command", "message"),
    [
        ("bogus", "unknown command 'bogus'"),
        ("--methods pmqq", "did you mean 'pmq'?"),
        ("--set pretrain.epoch=3", "did you mean 'pretrain.epochs'?"),
        ("--data ptb-xl=nowhere --pretrain-dataset ptb-xl", "PTB-XL: nowhere is not a folder. Get PTB-XL"),
        ("--config paper", "use --data-root DIR or --data mimic-iv-ecg=DIR"),
        ("--config paper --data-root nowhere", "is in nowhere: use --data mimic-iv-ecg=DIR. Get MIMIC-IV-ECG"),
        ("--config paper --dry-run", "use --data-root DIR or --data mimic-iv-ecg=DIR"),
        ("report --unit beat", "'beat'"),
        ("report --methods pmq", "`report` takes no --methods"),
        ("report --config demo", "`report` takes no --config"),
        ("--results x report", "`run` takes no 'report'; a command comes before its flags"),
    ],
)
def test_what_cannot_be_is_one_line_before_any_work(
    command: str, message: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.chdir(tmp_path)
    assert run_benchmark.main(command.split()) == run_benchmark.USAGE == 2
    shown = capsys.readouterr()
    assert message in shown.err
    assert shown.err.startswith("error: ")
    assert shown.err.count("\n") == 1
    assert shown.out == ""
    assert list(tmp_path.iterdir()) == []


ANSWERED_AT_ONCE = ["--help", "report --help", "run --help", "reprot", "--sedes 41", "--preset pape", "--labels one"]


def test_help_and_mistyped_names_do_not_wait_for_torch() -> None:
    code = f"""
import contextlib, os, sys, run_benchmark
for command in {ANSWERED_AT_ONCE!r}:
    with contextlib.suppress(SystemExit), contextlib.redirect_stdout(open(os.devnull, "w")):
        assert run_benchmark.main(command.split()) == 2
    assert not {{"torch", "matplotlib"}} & set(sys.modules), command
"""
    done = subprocess.run([sys.executable, "-c", code], cwd=ROOT, capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stderr
    refused = [command for command in ANSWERED_AT_ONCE if "--help" not in command]
    assert [line.partition(":")[0] for line in done.stderr.splitlines()] == ["error"] * len(refused)


@pytest.mark.parametrize(
    ("end", "status", "line"),
    [
        (ConfigError("a value"), 2, "a value"),
        (DatasetError("a folder"), 2, "a folder"),
        (
            PermissionError(13, "Permission denied", "out"),
            2,
            "out: Permission denied; you may not write there: name another folder",
        ),
        (
            FileNotFoundError(2, "No such file or directory", "x"),
            2,
            "x: No such file or directory; is the place writable?",
        ),
        (NoResults("nothing there"), 1, "nothing there"),
        (CorruptRow("cells/x.npz: damaged"), 1, "cells/x.npz: damaged"),
        (
            MemoryError(),
            1,
            "out of memory; what is finished is saved: give it more, or fewer --workers and --jobs",
        ),
        (
            KeyboardInterrupt(),
            130,
            "stopped; what is finished is saved, and the same command goes on from there",
        ),
    ],
    ids=lambda value: type(value).__name__ if isinstance(value, BaseException) else "",
)
def test_whatever_ends_a_verb_is_one_line_and_a_status(
    end: BaseException, status: int, line: str, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    def stop(argv: list[str], console: Console) -> int:
        raise end

    monkeypatch.setattr(run_benchmark, "run", stop)
    assert run_benchmark.main([]) == status
    shown = capsys.readouterr()
    assert (shown.err, shown.out) == (f"error: {line}\n", "")


def test_the_status_of_a_verb_is_that_of_the_command(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(run_benchmark, "run", lambda argv, console: 7)
    assert run_benchmark.main([]) == 7


def test_a_console_that_is_not_utf_8_ends_no_command(monkeypatch: pytest.MonkeyPatch) -> None:
    def show(argv: list[str], console: Console) -> int:
        note(console, "PMQ −1.2 ≈ 0.5 µV")
        return 0

    written = io.BytesIO()
    monkeypatch.setattr(sys, "stdout", io.TextIOWrapper(written, encoding="latin-1", write_through=True))
    monkeypatch.setattr(run_benchmark, "run", show)
    assert run_benchmark.main([]) == 0
    assert written.getvalue().decode("latin-1") == "PMQ ?1.2 ? 0.5 µV\n"


def test_a_mistake_in_the_code_keeps_its_traceback(monkeypatch: pytest.MonkeyPatch) -> None:
    def stop(argv: list[str], console: Console) -> int:
        raise KeyError("mistake")

    monkeypatch.setattr(run_benchmark, "run", stop)
    with pytest.raises(KeyError):
        run_benchmark.main([])


def test_another_package_of_the_name_methods_is_refused(tmp_path: Path) -> None:
    (tmp_path / "methods").mkdir()
    (tmp_path / "methods" / "__init__.py").write_text("raise RuntimeError('imported')\n")
    paths = os.pathsep.join([str(tmp_path), str(ROOT)])
    found = subprocess.run(
        [sys.executable, "-P", str(ROOT / "run_benchmark.py"), "report"],
        env={**os.environ, "PYTHONPATH": paths},
        cwd=tmp_path,
        capture_output=True,
        text=True,
        check=False,
    )
    assert (found.returncode, found.stdout) == (1, "")
    assert found.stderr == (
        f"another package named `methods` ({tmp_path}) hides this checkout's: remove it from PYTHONPATH\n"
    )
