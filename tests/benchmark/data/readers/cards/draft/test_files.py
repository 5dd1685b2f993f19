"""What in a folder is a signal and what a table, and the pattern of the signals."""

from __future__ import annotations

from pathlib import Path

import pytest

from benchmark.data.readers.base import LEADS, DatasetError
from benchmark.data.readers.cards.draft import files
from benchmark.data.readers.cards.draft.files import Seen, common_end, look, pattern_of, with_whole_names


def made(folder: Path, *paths: str) -> Path:
    """A folder with empty files."""
    for path in paths:
        (folder / path).parent.mkdir(parents=True, exist_ok=True)
        (folder / path).touch()
    return folder


def test_what_all_names_end_in_may_be_of_the_names() -> None:
    found = Seen("a/{recording}_hr.hea", ("a/1_hr.hea", "a/2_hr.hea"), ("1", "2"), ("t.csv",), ("a/3_hr.HEA",))
    whole = with_whole_names(found)
    assert (whole.pattern, whole.names) == ("a/{recording}.hea", ("1_hr", "2_hr"))
    assert (whole.signals, whole.tables, whole.others) == (found.signals, found.tables, found.others)


def test_folders_within_folders_and_a_common_end() -> None:
    assert pattern_of(["a/1/00001_hr.hea", "a/2/00002_hr.hea"]) == ("a/**/{recording}_hr.hea", ("00001", "00002"))
    assert pattern_of(["x.edf", "y.edf"]) == ("{recording}.edf", ("x", "y"))
    assert pattern_of(["b/r_1.npy"]) == ("b/{recording}.npy", ("r_1",))
    assert common_end(["1_a_hr", "2_b_hr"]) == "_hr"
    assert common_end(["a_hr", "b_lr"]) == ""


@pytest.mark.parametrize(
    ("names", "end"),
    [
        (["1_a_hr", "2_a_hr"], "_a_hr"),
        (["1__hr", "2_hr"], "_hr"),
        (["__hr", "2_hr"], "_hr"),
        (["a_hr", "_hr"], ""),
        (["_hr", "a_hr"], ""),
        (["1_x_hr", "2_y_lr"], ""),
        (["ab", "cb"], ""),
        (["1_a_b_c", "2_d_b_c"], "_b_c"),
    ],
)
def test_the_common_end_begins_at_an_underscore_and_leaves_a_name(names: list[str], end: str) -> None:
    assert common_end(names) == end


def test_a_pattern_begins_below_the_folder_that_all_share() -> None:
    assert pattern_of(["a/b/1.edf", "a/c/2.edf"])[0] == "a/**/{recording}.edf"
    assert pattern_of(["1.edf", "c/2.edf"])[0] == "**/{recording}.edf"
    assert pattern_of(["a/b/1.edf", "a/b/2.edf"])[0] == "a/b/{recording}.edf"


def test_headers_of_wfdb_are_the_signals_before_any_larger_number_of_files(tmp_path: Path) -> None:
    seen = look(made(tmp_path, "1.hea", "1.dat", "a.npy", "b.npy", "c.npy"))
    assert (seen.pattern, seen.signals) == ("{recording}.hea", ("1.hea",))
    for path in ("1.hea",):
        (tmp_path / path).unlink()
    made(tmp_path, "d.edf")
    assert look(tmp_path).signals == ("a.npy", "b.npy", "c.npy")


def test_the_suffix_in_other_capitals_is_told_apart(tmp_path: Path) -> None:
    seen = look(made(tmp_path, "1.HEA", "2.HEA", "3.hea", "x.npy"))
    assert seen == Seen("{recording}.HEA", ("1.HEA", "2.HEA"), ("1", "2"), (), ("3.hea",))


def test_a_few_text_files_with_names_are_tables_and_many_are_signals(tmp_path: Path) -> None:
    names = [f"t{number}.csv" for number in range(files.FEW)]
    for name in names:
        (tmp_path / name).write_text("recording,rhythm\nr,SR\n")
    made(tmp_path, "a.edf")
    assert look(tmp_path).tables == tuple(names)
    (tmp_path / "more.csv").write_text("recording,rhythm\nr,SR\n")
    crowded = look(tmp_path)
    assert (crowded.tables, len(crowded.signals)) == ((), files.FEW + 1)


@pytest.mark.parametrize(
    ("text", "is_table"),
    [
        ("I,name\n1,2\n", True),
        ("I,II\n1,2\n", False),
        (f"{','.join(LEADS)}\n", False),
        ("i,ii,time\n1,2,3\n", False),
        ("0.1,0.2\n", False),
    ],
)
def test_names_of_two_leads_or_numbers_make_a_file_of_samples(tmp_path: Path, text: str, is_table: bool) -> None:
    (tmp_path / "a.csv").write_text(text)
    made(tmp_path, "a.edf")
    assert (look(tmp_path).tables == ("a.csv",)) is is_table


def test_a_folder_of_too_many_files_is_refused(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(files, "MOST_FILES", 2)
    assert len(look(made(tmp_path, "1.edf", "2.edf")).signals) == 2
    with pytest.raises(DatasetError, match="has more than 2 files: name the folder of one dataset"):
        look(made(tmp_path, "3.edf"))
