"""A wrong value of every flag of every verb: one line that names it, exit status 2, and no work begins.

The flags and their types are those of the parsers, so that a new flag is covered as it stands; one of a new type has to
say here what is wrong for it.
"""

from __future__ import annotations

import os
import signal
import time
from argparse import Action
from collections.abc import Iterator
from pathlib import Path

import pytest

from benchmark.cli import VERBS
from benchmark.config import command_line, errors
from benchmark.config.command_line import USAGE, parse, verb_parser
from benchmark.config.errors import ConfigError
from run_benchmark import main

NO_PATH = ["", "~nobody-of-this-name/x", "x" * 300, "file/inside", "link"]
NO_NUMBER = ["x", "", "-1", "1,2", "nan", "9" * 30]
WRONG: dict[object, list[str]] = {
    int: [*NO_NUMBER, "1.5"],
    float: [*NO_NUMBER, "inf"],
    errors.count: [*NO_NUMBER, "0", "1.5"],
    errors.seed: [*NO_NUMBER, "1.5"],
    errors.positive: [*NO_NUMBER, "0", "inf"],
    errors.share: [*NO_NUMBER, "0", "1.1", "inf"],
    command_line.folder: [*NO_PATH, "file", "/dev/null"],
    command_line.file_to_read: [*NO_PATH[:3], "folder"],
    command_line.file_to_write: [*NO_PATH, "folder", "/dev/null"],
    command_line.results_named: NO_PATH[:3],
}
"""Type of a flag's values -> what is none of them."""
WRONG_WORDS = {
    "KEY=VALUE": ["", "x", "=", "=x", "no.such.key=1", "seeds=x", "seeds=[", "seeds=-1", "pretrain=3"],
    "NAME=DIR": ["", "x", "=", "=folder", "ptb-xl=", "ptb-xl=file", "ptb-xl=~nobody-of-this-name"],
}
"""Placeholder of a flag whose values are texts -> wrong ones; any other takes names."""
NO_NAME = ["", "no-such-name", "-1", "folder", "no-such.yaml", "no-such.py", "a,b"]
BESIDE = {
    "explain": ["0"],
    "export": ["pmq", "--to", "there"],
    "embed": ["a.npy", "--out", "a.parquet", "--encoder", "folder"],
    "data show": ["A0001"],
    "data download": ["ptb-xl", "--data-root", "there", "--dry-run"],
    "data new-card": ["folder"],
    "check-method": ["pmq"],
    "check-encoder": ["dilated"],
}
"""What else a verb is given, so that the wrong value alone is wrong."""
FLAGS = [
    (name, action)
    for name, verb in VERBS.items()
    for action in verb_parser(name, verb)._actions
    if action.option_strings and action.dest != "help"
]
MOST_SECONDS = 1.0
"""Of one processor, for a line that refuses."""
FEW = 2
"""Wrong values that are tried of a flag that another verb shares, where all are."""


def first_taker(name: str, action: Action) -> bool:
    """Whether no earlier verb takes the same flag."""
    flag = VERBS[name].flags[action.option_strings[0]]
    return next(own for own, verb in VERBS.items() if any(flag is other for other in verb.flags.values())) == name


def wrong(name: str, action: Action) -> list[list[str]]:
    """What follows a flag that cannot be."""
    every = list(each_wrong(action))
    return every if first_taker(name, action) else every[-FEW:]


def each_wrong(action: Action) -> Iterator[list[str]]:
    """What follows a flag that cannot be, the first word after `=` or a space."""
    if action.nargs == 0:
        yield from (["=x"], ["="])
        return
    count = action.nargs if isinstance(action.nargs, int) else 1
    yield [""] if count == 1 else [""] * (count - 1)
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
    began = time.process_time()
    signal.setitimer(signal.ITIMER_REAL, 20)  # ends as if by a signal what has begun to work
    try:
        status: object = main(argv)
    except Exception as error:
        status = repr(error)
    signal.setitimer(signal.ITIMER_REAL, 0)
    seconds, shown = time.process_time() - began, capsys.readouterr()
    if (status, shown.out, shown.err.count("\n"), shown.err[:7]) == (USAGE, "", 1, "error: "):
        return "" if seconds < MOST_SECONDS else f"{argv} took {seconds:.1f} s"
    return f"{argv} ended with {status}: {shown.out}{shown.err}"


@pytest.mark.parametrize(("name", "action"), FLAGS, ids=lambda own: own if isinstance(own, str) else own.dest)
def test_a_wrong_value_is_one_line(name: str, action: Action, place: Path, capsys: pytest.CaptureFixture[str]) -> None:
    flag, before = action.option_strings[0], sorted(os.listdir(place))
    lines = [[*name.split(), *BESIDE.get(name, []), f"{flag}{first}", *rest] for first, *rest in wrong(name, action)]
    assert [problem for line in lines if (problem := refusal(line, capsys))] == []
    assert sorted(os.listdir(place)) == before


@pytest.mark.parametrize("name", [name for name, verb in VERBS.items() if verb.word])
def test_an_empty_word_names_nothing(name: str, place: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert refusal([*name.split(), ""], capsys) == ""
    assert refusal([*name.split(), "", "--no-such-flag"], capsys) == ""


def test_a_mistyped_flag_is_told_with_the_one_that_is_meant() -> None:
    for name, action in FLAGS:
        flag = action.option_strings[0]
        with pytest.raises(ConfigError, match=f"(unknown flag '{flag}e' .did you mean '--)|takes no {flag}e"):
            parse(VERBS, [*name.split(), f"{flag}e", "1"])


@pytest.mark.parametrize("folder", ["runs", "out", "cache"])
def test_a_file_where_a_default_folder_is_due_is_refused_before_any_work(
    folder: str, place: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    Path(folder).write_text("no folder\n")
    assert main([]) == USAGE
    assert f"{folder!r} is a file: name a folder" in capsys.readouterr().err
    assert not (place / "data").exists()
