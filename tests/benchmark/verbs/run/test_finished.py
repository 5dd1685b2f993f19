"""A finished run is told again while all that it rests on is the same, and goes the long way after any change."""

from __future__ import annotations

import json
import os
import time
from argparse import Namespace
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path

import pytest

from benchmark.verbs.run import finished
from benchmark.verbs.run.finished import FINISHED, Command, Ended, asked, remember, told_before, trees

HOUR_NS = 3_600_000_000_000


def write(file: Path, text: str) -> None:
    file.parent.mkdir(parents=True, exist_ok=True)
    file.write_text(text)


def aged(folder: Path) -> None:
    """Date all files of a folder an hour back."""
    then = time.time_ns() - HOUR_NS
    for file in folder.rglob("*"):
        os.utime(file, ns=(then, then))


def keep(arguments: Namespace, ended: Ended) -> None:
    """Remember a run during which nothing has changed."""
    remember(Command(arguments, asked(arguments)), ended, trees(ended.roots))


def told(arguments: Namespace) -> Ended | None:
    return told_before(Command(arguments, asked(arguments)))


@pytest.fixture
def arguments(tmp_path: Path) -> Namespace:
    """A command line whose run is finished: two cells of one encoder, a table and a figure, one dataset."""
    for name in ("plans/latest", "plans/p.json", "pretrained/e/pretraining.json"):
        write(tmp_path / "runs" / name, name)
    for key in ("a", "b"):
        write(tmp_path / "runs" / "cells" / f"{key}.json", f"row {key}")
        write(tmp_path / "runs" / "cells" / f"{key}.npz", f"predictions {key}")
    for name in ("results.md", "figures/one.png", "skipped.csv"):
        write(tmp_path / "out" / name, name)
    write(tmp_path / "out" / ".kept" / "set", json.dumps({"results.md": "", "figures/one.png": ""}))
    for name in ("table.csv", "records/1.dat", "records/2.dat"):
        write(tmp_path / "data" / name, name)
    aged(tmp_path / "data")
    write(tmp_path / "own.yaml", "ratios: [0.1]")
    return Namespace(
        config=str(tmp_path / "own.yaml"), results=tmp_path / "runs", out=tmp_path / "out", seeds=[41], unit=None
    )


@pytest.fixture
def ended(tmp_path: Path) -> Ended:
    config = {"methods": ["pmq"], "ablate": ["w/o queue"], "ratios": [0.1]}
    sheets = {"plain": [[[["", ""]], []]], "starred": []}
    return Ended("p", config, ["a", "b"], ["e"], [tmp_path / "data"], ["2 done"], sheets, {"warnings": ["healthy"]})


def test_the_same_command_is_told_what_was_printed(arguments: Namespace, ended: Ended) -> None:
    assert told(arguments) is None
    keep(arguments, ended)
    assert told(arguments) == ended
    assert told(Namespace(**vars(arguments))) == ended


FILES = [
    *("runs/plans/latest", "runs/plans/p.json", "runs/cells/a.json", "runs/cells/b.npz"),
    *("runs/pretrained/e/pretraining.json", "own.yaml"),
    *("out/results.md", "out/figures/one.png", "out/skipped.csv", "out/.kept/set", "out/.kept/finished"),
    *("data/table.csv", "data/records/2.dat"),
]


@pytest.mark.parametrize("name", FILES)
def test_an_edited_file_is_noticed_whatever_its_time_says(
    name: str, arguments: Namespace, ended: Ended, tmp_path: Path
) -> None:
    """One character, at the same size; in the results and the tables under the same time."""
    keep(arguments, ended)
    file = tmp_path / name
    before, text = file.stat(), file.read_text()
    file.write_text(text[:-1] + ("x" if text[-1] != "x" else "y"))
    if not name.startswith("data/"):
        os.utime(file, ns=(before.st_atime_ns, before.st_mtime_ns))
    assert told(arguments) is None


@pytest.mark.parametrize("name", FILES)
def test_a_missing_file_is_noticed(name: str, arguments: Namespace, ended: Ended, tmp_path: Path) -> None:
    keep(arguments, ended)
    (tmp_path / name).unlink()
    assert told(arguments) is None


def test_a_touched_but_equal_table_is_the_same_and_a_new_recording_is_not(
    arguments: Namespace, ended: Ended, tmp_path: Path
) -> None:
    keep(arguments, ended)
    os.utime(tmp_path / "out" / "results.md")
    os.utime(tmp_path / "runs" / "cells" / "a.json")
    assert told(arguments) == ended
    write(tmp_path / "data" / "records" / "3.dat", "new")
    aged(tmp_path / "data" / "records")
    assert told(arguments) is None


@pytest.mark.parametrize("change", [{"seeds": [42]}, {"unit": "both"}, {"new": True}])
def test_another_flag_is_another_command(change: dict[str, object], arguments: Namespace, ended: Ended) -> None:
    keep(arguments, ended)
    assert told(Namespace(**vars(arguments) | change)) is None


def test_another_folder_to_work_in_is_another_command(
    arguments: Namespace, ended: Ended, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    keep(arguments, ended)
    monkeypatch.chdir(tmp_path / "data")
    assert told(arguments) is None


@pytest.mark.parametrize("name", ["a.py", "inner/page.html", "inner/new.yaml"])
def test_changed_code_is_noticed(
    name: str, arguments: Namespace, ended: Ended, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    for existing in ("a.py", "inner/page.html"):
        write(tmp_path / "code" / existing, "before")
    monkeypatch.setattr(finished, "CODE", (tmp_path / "code",))
    keep(arguments, ended)
    write(tmp_path / "code" / "__pycache__" / "a.pyc", "compiled")
    assert told(arguments) == ended
    write(tmp_path / "code" / name, "after")
    assert told(arguments) is None


@pytest.mark.parametrize("what", ["library", "device", "visible", "ranks"])
def test_another_library_or_device_is_noticed(
    what: str, arguments: Namespace, ended: Ended, monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    monkeypatch.setattr(finished, "ACCELERATORS", ())
    keep(arguments, ended)
    assert told(arguments) == ended
    if what == "library":
        monkeypatch.setattr(finished, "version", lambda name: "another")
    elif what == "device":
        monkeypatch.setattr(finished, "ACCELERATORS", ("null",))
    else:
        monkeypatch.setenv(*{"visible": ("CUDA_VISIBLE_DEVICES", "3"), "ranks": ("WORLD_SIZE", "2")}[what])
    assert told(arguments) is None


@pytest.mark.parametrize(
    "alter",
    [
        lambda value: {"sha256": "0", "value": value},
        lambda value: {"value": value},
        lambda value: [],
    ],
)
def test_a_damaged_memory_counts_as_none(alter: Callable[[object], object], arguments: Namespace, ended: Ended) -> None:
    keep(arguments, ended)
    file = arguments.out / FINISHED
    file.write_text(json.dumps(alter(json.loads(file.read_text())["value"])))
    assert told(arguments) is None


@pytest.mark.parametrize("word", ["./mine.py", "card.yaml", "ecgbench:ptb-xl", "models/bert"])
def test_what_comes_from_files_of_others_is_not_remembered(word: str, arguments: Namespace, ended: Ended) -> None:
    keep(arguments, replace(ended, config={**ended.config, "methods": ["pmq", word]}))
    assert not (arguments.out / FINISHED).exists()
    keep(arguments, replace(ended, config={**ended.config, "knobs": {word: 1}}))
    assert not (arguments.out / FINISHED).exists()


def test_data_that_just_changed_or_are_very_many_are_not_remembered(
    arguments: Namespace, ended: Ended, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    os.utime(tmp_path / "data" / "table.csv")
    keep(arguments, ended)
    assert not (arguments.out / FINISHED).exists()
    aged(tmp_path / "data")
    monkeypatch.setattr(finished, "MOST_FILES", 2)
    keep(arguments, ended)
    assert not (arguments.out / FINISHED).exists()
    monkeypatch.setattr(finished, "MOST_FILES", 3)
    keep(arguments, ended)
    assert told(arguments) == ended


@pytest.mark.parametrize("what", ["code", "data"])
def test_what_changes_while_a_run_goes_on_is_not_what_it_ran_on(
    what: str, arguments: Namespace, ended: Ended, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    command, data = Command(arguments, asked(arguments)), trees(ended.roots)
    if what == "code":
        monkeypatch.setattr(finished, "code", lambda: ["another"])
    else:
        write(tmp_path / "data" / "records" / "3.dat", "new")
        aged(tmp_path / "data")
    remember(command, ended, data)
    assert not (arguments.out / FINISHED).exists()


def test_data_behind_a_link_are_looked_at(arguments: Namespace, ended: Ended, tmp_path: Path) -> None:
    write(tmp_path / "elsewhere" / "3.dat", "before")
    aged(tmp_path / "elsewhere")
    (tmp_path / "data" / "more").symlink_to(tmp_path / "elsewhere")
    (tmp_path / "data" / "gone").symlink_to(tmp_path / "nowhere")
    keep(arguments, ended)
    assert told(arguments) == ended
    (tmp_path / "elsewhere" / "3.dat").write_text("after")
    assert told(arguments) is None
