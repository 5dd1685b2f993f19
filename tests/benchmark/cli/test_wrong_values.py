"""A wrong value of every flag of every verb: one line that names it, exit status 2, and no work begins.

The flags and their types are those of the parsers, so that a new flag is covered as it stands; one of a new type has to
say here what is wrong for it.
"""

from __future__ import annotations

import os
import signal
from argparse import Action
from collections.abc import Iterator
from pathlib import Path

import pytest

from benchmark.cli import VERBS
from benchmark.config import command_line, errors
from benchmark.config.command_line import USAGE, verb_parser
from run_benchmark import main

WRONG: dict[object, list[str]] = {
    int: ["x", "1.5"],
    float: ["x", "nan"],
    errors.count: ["x", "0"],
    errors.seed: ["-1", "1.5"],
    errors.positive: ["0", "inf"],
    errors.key_start: ["x", "3f2"],
    command_line.folder: ["file/inside", "file"],
    command_line.file_to_read: ["", "folder"],
    command_line.file_to_write: ["folder", "/dev/null"],
    command_line.results_named: [""],
}
"""Type of a flag's values -> what is none of them."""
WRONG_WORDS = {"KEY=VALUE": ["x", "no.such.key=1", "seeds=x"], "NAME=DIR": ["x", "ptb-xl=file"]}
"""Placeholder of a flag whose values are texts -> wrong ones; any other takes names."""
NO_NAME = ["no-such-name", "a,b"]
BESIDE = {
    "explain": ["0"],
    "export": ["pmq", "--to", "there"],
    "embed": ["a.npy", "--out", "a.parquet", "--encoder", "folder"],
    "data show": ["A0001"],
    "data download": ["ptb-xl", "--data-root", "there", "--dry-run"],
    "data new-card": ["folder"],
    "check": ["pmq"],
}
"""What else a verb is given, so that the wrong value alone is wrong."""


def first_taker(name: str, action: Action) -> bool:
    """Whether no earlier verb takes the same flag."""
    flag = VERBS[name].flags[action.option_strings[0]]
    return next(own for own, verb in VERBS.items() if any(flag is other for other in verb.flags.values())) == name


FLAGS = [
    (name, action)
    for name, verb in VERBS.items()
    for action in verb_parser(name, verb)._actions
    if action.option_strings and action.dest != "help" and first_taker(name, action)
]
"""Each flag of the first verb that takes it."""


def each_wrong(action: Action) -> Iterator[list[str]]:
    """What follows a flag that cannot be, the first word after `=` or a space."""
    if action.nargs == 0:
        yield ["=x"]
        return
    count = action.nargs if isinstance(action.nargs, int) else 1
    values = WRONG[action.type] if action.type else WRONG_WORDS.get(str(action.metavar), NO_NAME)
    for value in values:
        yield [f"={value}"] if count == 1 else [""] + [value] * count


@pytest.fixture
def place(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[Path]:
    """The folder that it is done in, and an end to what begins to work."""
    monkeypatch.chdir(tmp_path)
    (tmp_path / "folder").mkdir()
    (tmp_path / "file").write_text("no folder\n")
    (tmp_path / "link").symlink_to("nothing")
    yield tmp_path
    signal.setitimer(signal.ITIMER_REAL, 0)


def refusal(argv: list[str], capsys: pytest.CaptureFixture[str]) -> str:
    """What is wrong with how a command is refused; '' for nothing."""
    signal.setitimer(signal.ITIMER_REAL, 20)  # ends as if by a signal what has begun to work
    try:
        status: object = main(argv)
    except Exception as error:
        status = repr(error)
    signal.setitimer(signal.ITIMER_REAL, 0)
    shown = capsys.readouterr()
    if (status, shown.out, shown.err.count("\n"), shown.err[:7]) == (USAGE, "", 1, "error: "):
        return ""
    return f"{argv} ended with {status}: {shown.out}{shown.err}"


@pytest.mark.parametrize(("name", "action"), FLAGS, ids=lambda own: own if isinstance(own, str) else own.dest)
def test_a_wrong_value_is_one_line(name: str, action: Action, place: Path, capsys: pytest.CaptureFixture[str]) -> None:
    flag, before = action.option_strings[0], sorted(os.listdir(place))
    lines = [[*name.split(), *BESIDE.get(name, []), f"{flag}{first}", *rest] for first, *rest in each_wrong(action)]
    assert [problem for line in lines if (problem := refusal(line, capsys))] == []
    assert sorted(os.listdir(place)) == before


@pytest.mark.parametrize("name", [name for name, verb in VERBS.items() if verb.word])
def test_an_empty_word_names_nothing(name: str, place: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert refusal([*name.split(), ""], capsys) == ""


@pytest.mark.parametrize("folder", ["runs", "cache"])
def test_a_file_where_a_default_folder_is_due_is_refused_before_any_work(
    folder: str, place: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    Path(folder).write_text("no folder\n")
    assert main([]) == USAGE
    assert f"{folder!r} is a file: name a folder" in capsys.readouterr().err
    assert not (place / "data").exists()
