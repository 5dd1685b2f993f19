"""No damaged file is believed: the files of a small store and its report are truncated, emptied, flipped in a bit,
zeroed or replaced by others, and the same commands run again.

A run gives the same tables, and either makes the file again as it was or names it in a line. Commands that only read
say the same as before, or name the file. The files are those that lie there, so that a new kind is covered.
"""

from __future__ import annotations

import shutil
from collections.abc import Iterator, Sequence
from pathlib import Path

import pytest
import torch

from benchmark.cli.main import FAILED
from benchmark.data.damage import DIGESTED
from benchmark.results.names import ERROR
from benchmark.training.checkpoint import CHECKPOINT
from methods.pmq import PMQ
from run_benchmark import main
from tests.basic import TINY

COMMAND = ["--config", "tiny.yaml", "--device", "cpu", "--workers", "1", "--jobs", "1"]
READERS = (["status"], ["explain", "pmq"], ["report", "--out", "again"], ["export", "pmq", "--to", "exported"])
FOLDERS = ("runs", "out", "cache")
TRUNCATED, EMPTIED, FLIPPED, ZEROED, OTHER, OLDER = "truncated", "emptied", "flipped", "zeroed", "other", "older"
DAMAGES = (TRUNCATED, EMPTIED, FLIPPED, ZEROED, OTHER, OLDER)
"""OTHER: in its place lies another file of its kind. OLDER: the one of this name that a former run wrote, where there
is one; it holds what was true then, which commands that only read may say."""
LOCK = ".lock"
"""Holds nothing but who works on the store."""
OF_TIME = ("costs.csv", "report.html", ".report.json")
"""Files of a report that change where an encoder is made again, with the seconds that it took."""


@pytest.fixture
def places(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """States of the folders that commands use: former/ after a run of one method, finished/ of all, failed/ of one."""
    torch.set_num_threads(1)
    work = tmp_path / "work"
    work.mkdir()
    monkeypatch.chdir(work)
    Path("tiny.yaml").write_text(TINY.replace("epochs: 1,", "epochs: 2,"))
    assert main([*COMMAND, "--methods", "random"]) == 0
    keep(tmp_path / "former")
    shutil.rmtree("runs")  # no command below reads the plan of that run
    with monkeypatch.context() as method:
        method.setattr(PMQ, "after_step", broken_after_an_epoch)
        assert main(COMMAND) == FAILED
    keep(tmp_path / "failed")
    assert main(COMMAND) == 0
    keep(tmp_path / "finished")
    return tmp_path


def broken_after_an_epoch(method: PMQ) -> None:
    """Fail in the second epoch, when there is a checkpoint of the first."""
    if list(Path("runs").glob(f"pretrained/*/{CHECKPOINT}")):
        raise RuntimeError("out of luck")


def keep(state: Path) -> None:
    for folder in FOLDERS:
        shutil.copytree(folder, state / folder)


def restore(state: Path) -> None:
    for folder in FOLDERS:
        shutil.rmtree(folder)
        shutil.copytree(state / folder, folder)


def files_in(state: Path) -> list[Path]:
    """Files of a state, as they are named from the folder that commands run in."""
    files = [file for folder in FOLDERS for file in (state / folder).rglob("*") if file.is_file()]
    return sorted(file.relative_to(state) for file in files if file.name != LOCK)


def kind_of(file: Path) -> tuple[str, str]:
    """Return a name for files that hold the same sort of thing; those of a report are one kind, but for its cache."""
    room, folder, *_ = file.parts
    if room == "out" and not file.name.startswith("."):
        return room, ""
    return f"{room}/{folder}" if room == "runs" else room, file.suffix or file.name


def kinds_in(files: list[Path]) -> list[list[Path]]:
    kinds: dict[tuple[str, str], list[Path]] = {}
    for file in files:
        kinds.setdefault(kind_of(file), []).append(file)
    return list(kinds.values())


def damaged(file: Path, damage: str, state: Path, former: Path) -> bytes:
    """A file's content after damage."""
    whole = (state / file).read_bytes()
    middle = len(whole) // 2
    if damage == TRUNCATED:
        return whole[:middle]
    if damage == EMPTIED:
        return b""
    if damage == FLIPPED:
        return whole[:middle] + bytes([whole[middle] ^ 1]) + whole[middle + 1 :]
    if damage == ZEROED:
        return bytes(len(whole))
    others = [state / other for other in files_in(state) if kind_of(other) == kind_of(file)]
    if damage == OLDER and (former / file).is_file():
        others = [former / file]
    return next((other.read_bytes() for other in others if other.read_bytes() != whole), b"{}")


def cases(files: list[Path], damages: Sequence[str]) -> Iterator[tuple[Path, str]]:
    """Give every file a damage, and every kind of file all of them."""
    for kind in kinds_in(files):
        for number in range(max(len(kind), len(damages))):
            yield kind[number % len(kind)], damages[number % len(damages)]


def said(words: list[str], capsys: pytest.CaptureFixture[str]) -> str:
    """Return the output of a command, whatever its status; an exception ends the test."""
    main(words)
    shown = capsys.readouterr()
    return shown.out + shown.err


def is_named(file: Path, text: str) -> bool:
    """Tell whether a text names a file; the digest that lies beside a prepared file is named by that."""
    return f"{file.parent.name}/{file.name.removesuffix(DIGESTED)}" in text


def believed(
    files: list[Path], damages: Sequence[str], state: Path, places: Path, capsys: pytest.CaptureFixture[str]
) -> Iterator[str]:
    """Yield what commands take for whole although it is damaged: file, damage and command."""
    finished = places / "finished"
    tables = [file for file in files_in(finished) if file.parts[0] == "out" and file.name not in OF_TIME]
    restore(state)
    intact = [said(words, capsys) for words in READERS]
    for file, damage in cases(files, damages):
        restore(state)
        file.write_bytes(damaged(file, damage, state, places / "former"))
        for words, before in zip(READERS if file.parts[0] == "runs" else (), intact, strict=False):
            text = said(words, capsys)
            if text != before and not is_named(file, text) and damage != OLDER:
                yield f"{file} {damage}: {words[0]}: {text}"
        text = said(COMMAND, capsys)
        is_as_it_was = file.is_file() and file.read_bytes() == (finished / file).read_bytes()
        is_done_with = not file.exists() and not (finished / file).exists()
        if not (is_as_it_was or is_done_with or is_named(file, text) or damage == OLDER):
            yield f"{file} {damage}: run: {text}"
        for table in tables:
            if table.read_bytes() != (finished / table).read_bytes():
                yield f"{file} {damage}: {table} has changed"


def test_no_kind_of_file_is_believed_with_a_flipped_bit(places: Path, capsys: pytest.CaptureFixture[str]) -> None:
    state = places / "finished"
    one_of_each = [kind[-1] for kind in kinds_in(files_in(state))]
    assert list(believed(one_of_each, [FLIPPED], state, places, capsys)) == []


@pytest.mark.slow
def test_no_damaged_file_is_believed(places: Path, capsys: pytest.CaptureFixture[str]) -> None:
    state = places / "finished"
    assert list(believed(files_in(state), DAMAGES, state, places, capsys)) == []


@pytest.mark.slow
def test_no_damaged_file_of_a_failed_run_is_believed(places: Path, capsys: pytest.CaptureFixture[str]) -> None:
    state = places / "failed"
    further = [file for file in files_in(state) if not (places / "finished" / file).exists()]
    assert {CHECKPOINT, ERROR} <= {file.name for file in further}
    assert list(believed(further, DAMAGES, state, places, capsys)) == []
