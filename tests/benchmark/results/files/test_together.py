"""Sets of files: one process at a time, nothing left over from the set before, nothing removed that is not its own."""

from __future__ import annotations

import fcntl
import json
import os
import subprocess
import sys
from pathlib import Path

import pytest

from benchmark.results.files.together import LOCK, SET, alone_in, publish

PAGE = Path("page.html")
ROUNDS = 40
WRITER = """
import sys
from pathlib import Path
from benchmark.results.files.together import alone_in, publish
out, own, rounds = Path(sys.argv[1]), sys.argv[2], int(sys.argv[3])
names = [Path(f"{number}.txt") for number in range(8)] + [Path(f"figures/{own}.png"), Path("page.html")]
for _ in range(rounds):
    staged = out.with_name(f"staged-{own}")
    (staged / "figures").mkdir(parents=True, exist_ok=True)
    for name in names:
        (staged / name).write_text(own)
    with alone_in(out):
        publish(staged, out, names, last=Path("page.html"))
        found = {str(file.relative_to(out)): file.read_text() for file in out.rglob("*.*") if file.suffix}
        assert found == {str(name): own for name in names}, found
"""


def put(out: Path, files: dict[str, str], *stay: str) -> None:
    """Publish files by name."""
    staged = out.with_name("staged")
    for name, text in files.items():
        (staged / name).parent.mkdir(parents=True, exist_ok=True)
        (staged / name).write_text(text)
    publish(staged, out, list(map(Path, files)), last=PAGE, stay=list(map(Path, stay)))


@pytest.mark.parametrize("time", ["first", "second"])
def test_a_folder_is_locked_within(tmp_path: Path, time: str) -> None:
    if time == "second":
        with alone_in(tmp_path / "out"):
            pass
    with alone_in(tmp_path / "out"), open(tmp_path / "out" / LOCK, "ab") as other, pytest.raises(BlockingIOError):
        fcntl.flock(other, fcntl.LOCK_EX | fcntl.LOCK_NB)


def names_in(out: Path) -> set[str]:
    return {str(file.relative_to(out)) for file in out.rglob("*") if file.is_file()} - {str(SET), str(LOCK)}


def test_files_of_the_set_before_go_and_no_others(tmp_path: Path) -> None:
    out = tmp_path / "out"
    put(
        out,
        {"a.csv": "1", "figures/old.png": "1", "figures/kept.png": "1", "figures/edited.png": "1", "page.html": "1"},
    )
    (out / "figures" / "edited.png").write_text("by hand")
    (out / "figures" / "mine.png").write_text("the user's")
    put(out, {"a.csv": "2", "page.html": "2"}, "figures/kept.png")
    assert names_in(out) == {"a.csv", "page.html", "figures/kept.png", "figures/edited.png", "figures/mine.png"}
    assert (out / "a.csv").read_text() == (out / "page.html").read_text() == "2"
    put(out, {"page.html": "3"})
    assert names_in(out) == {"page.html", "figures/edited.png", "figures/mine.png"}


def test_the_last_file_is_gone_first_and_comes_last(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    out, moved, replace = tmp_path / "out", [], os.replace
    put(out, {"page.html": "1"})

    def seen(source: Path, target: Path) -> None:
        if target.parent == out:
            moved.append((target.name, (out / PAGE).exists()))
        replace(source, target)

    monkeypatch.setattr(os, "replace", seen)
    put(out, {"z.csv": "2", "page.html": "2", "a.csv": "2"})
    assert moved == [("z.csv", False), ("a.csv", False), ("page.html", False)]


@pytest.mark.parametrize("content", ["", "[]", "{", "3", '["a"]', '{"a\\u0000b": "c"}', "null"])
def test_a_damaged_list_of_the_set_before_removes_nothing(tmp_path: Path, content: str) -> None:
    out = tmp_path / "out"
    put(out, {"a.csv": "1", "page.html": "1"})
    (out / SET).write_text(content)
    put(out, {"page.html": "2"})
    assert names_in(out) == {"a.csv", "page.html"}


@pytest.mark.attack("names that are paths")
@pytest.mark.parametrize("absolute", [True, False])
def test_nothing_outside_the_folder_is_removed(tmp_path: Path, absolute: bool) -> None:
    out, outside = tmp_path / "out", tmp_path / "outside.txt"
    put(out, {"a.csv": "1", "page.html": "1"})
    outside.write_text("1")
    (digest,) = set(json.loads((out / SET).read_text()).values())
    (out / SET).write_text(json.dumps({str(outside) if absolute else "../outside.txt": digest}))
    put(out, {"page.html": "2"})
    assert outside.exists()


@pytest.mark.attack("two reports into one folder")
def test_two_processes_never_mix_their_sets(tmp_path: Path) -> None:
    out = tmp_path / "out"
    run = [sys.executable, "-c", WRITER, str(out)]
    writers = [subprocess.Popen([*run, own, str(ROUNDS)], stderr=subprocess.PIPE, text=True) for own in ("one", "two")]
    errors = [writer.communicate()[1] for writer in writers]
    assert [writer.returncode for writer in writers] == [0, 0], errors


def test_where_no_lock_can_be_made_all_go_on(tmp_path: Path) -> None:
    (tmp_path / ".kept").write_text("no folder")
    with alone_in(tmp_path), alone_in(tmp_path):
        put(tmp_path, {"page.html": "1"})
    assert (tmp_path / "page.html").read_text() == "1"
