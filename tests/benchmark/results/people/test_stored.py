"""The file of groups: written once, read back, and a damaged one counts as none."""

from __future__ import annotations

from pathlib import Path

import pytest

from benchmark.results.people.stored import groups_of, people_file, read_people, save_people

GROUPS = {"r1": ("women", "40 to 59"), "r2": ("", "under 40"), "r3": ("men", "")}


def test_groups_come_back_and_hold_no_age(tmp_path: Path) -> None:
    people = {"r1": ("Female", 57.0), "r2": ("", 12.0), "r3": ("m", None), "r4": ("?", None)}
    save_people(tmp_path, "f00d", groups_of(people))
    assert read_people(tmp_path, "f00d") == GROUPS
    text = people_file(tmp_path, "f00d").read_text()
    assert text == '{"r1":["women","40 to 59"],"r2":["","under 40"],"r3":["men",""]}'


def test_an_equal_file_is_left_alone_and_nothing_known_writes_none(tmp_path: Path) -> None:
    save_people(tmp_path, "none", {})
    assert not (tmp_path / "people").exists()
    save_people(tmp_path, "f00d", GROUPS)
    before = people_file(tmp_path, "f00d").stat().st_ino
    save_people(tmp_path, "f00d", GROUPS)
    assert people_file(tmp_path, "f00d").stat().st_ino == before


@pytest.mark.parametrize("content", ["", "[]", "{", '{"r1": ["women"]}', '{"r1": ["x", "under 40"]}', '{"r1": 3}'])
def test_a_damaged_file_counts_as_none(tmp_path: Path, content: str) -> None:
    people_file(tmp_path, "f00d").parent.mkdir()
    people_file(tmp_path, "f00d").write_text(content)
    assert read_people(tmp_path, "f00d") == {}
    assert read_people(tmp_path, "../f00d") == {}
