"""Which columns are recordings, patients, labels and a split."""

from __future__ import annotations

import pytest

from benchmark.data.readers.cards.draft import columns as module
from benchmark.data.readers.cards.draft.columns import (
    MEANING,
    Match,
    comment_lines,
    label_lines,
    match_of,
    split_line,
    table_lines,
    words_of,
)
from benchmark.data.readers.cards.draft.line import QUESTION, Line

PATHS = ("w/r1.hea", "w/r2.hea", "w/r3.hea")


def test_several_labels_in_a_cell_are_separated() -> None:
    assert words_of(["SR", "AF;STD", "AF", "STD"]) == (";", {"SR": 1, "AF": 2, "STD": 2})
    assert words_of(["SR", "AF;PVC"])[0] == ";"
    assert words_of(["SR", "atrial fibrillation, fast"])[0] is None


def test_a_comma_separates_only_where_parts_are_fewer_than_cells() -> None:
    assert words_of(["a,b", "a", "b", "b,a"]) == (",", {"a": 3, "b": 3})
    assert words_of(["a,b", "a,c"]) == (None, {"a,b": 1, "a,c": 1})
    assert words_of(["a| b", "", "c"]) == ("|", {"a": 1, "b": 1, "c": 1})


@pytest.mark.parametrize(
    ("cells", "expected"),
    [
        (["r1", "r2", "r3", "x"], ("recording", 3)),
        (["r1", "r2", "x", "y"], ("recording", 2)),
        (["r1", "x", "y", "z"], None),
        (["w/r1.hea", "./w/r2.hea", "w/r3", "x"], ("path", 3)),
        ([], None),
    ],
)
def test_the_column_that_finds_half_of_its_rows_or_more_is_that_of_the_files(
    cells: list[str], expected: tuple[str, int] | None
) -> None:
    found = match_of({"other": ["q"] * len(cells), "id": cells}, ("r1", "r2", "r3"), PATHS)
    assert found == (Match(expected[0], "id", expected[1]) if expected else None)


def test_a_table_without_columns_has_none_of_the_files() -> None:
    assert match_of({}, ["r1"], ["w/r1.hea"]) is None


def test_a_number_finds_a_file_also_with_a_point() -> None:
    assert match_of({"id": ["1.0", "2"]}, ("1", "2"), ("1.hea", "2.hea")) == Match("recording", "id", 2)


@pytest.mark.parametrize(
    ("key", "names", "others"),
    [
        ("patient", ["patient", "Patient_ID", "subjectid", "mrn", "pid", "pat_nr"], ["patients", "patient_name"]),
        ("report", ["report", "Report_Text", "befund"], ["reported"]),
        ("sex", ["sex", "Gender", "patient_sex"], ["sexes"]),
        ("age", ["age", "Age_years", "years", "age_at_ecg", "patientage"], ["aged", "page"]),
        ("split", ["split", "set", "strat_fold", "fold", "partition"], ["settings", "offset"]),
    ],
)
def test_columns_are_known_by_their_whole_names(key: str, names: list[str], others: list[str]) -> None:
    assert all(MEANING[key].fullmatch(name) for name in names)
    assert not any(MEANING[key].fullmatch(name) for name in others)


def test_a_table_has_a_line_for_each_of_its_keys() -> None:
    columns = {"id": ["r1", "r2"], "pid": ["1", "1"], "sex": ["F", "M"], "set": ["train", "test"]}
    lines = list(table_lines("t.csv", columns, Match("recording", "id", 2)))
    assert [(line.key, line.value) for line in lines] == [
        ("file", "t.csv"),
        ("recording", "id"),
        ("patient", "pid"),
        ("report", None),
        ("sex", "sex"),
        ("age", None),
        ("split", "set"),
    ]
    assert lines[0].comment == "2 rows; its columns: id, pid, sex, set"
    assert lines[1].comment == "2 of 2 rows have a file"


def test_the_column_of_the_files_is_not_that_of_the_patients_too() -> None:
    lines = list(table_lines("t.csv", {"patient": ["r1", "r2"]}, Match("recording", "patient", 2)))
    assert lines[2][:2] == ("patient", QUESTION)
    without = list(table_lines("t.csv", {"patient": ["x", "y"]}, None))
    assert [line[:2] for line in without[1:3]] == [("recording", QUESTION), ("patient", "patient")]


def test_a_split_of_other_words_is_a_choice() -> None:
    assert split_line("fold", ["Train", "val", "", "test"]) == Line("split", "fold")
    assert split_line("fold", ["1", "2"]).value is None


def test_a_column_with_a_name_of_labels_comes_first() -> None:
    columns = {"id": ["a", "b"], "device": ["A", "B"], "rhythm": ["SR", "AF"], "diagnosis": ["x", "y"]}
    lines = label_lines(columns, ["id"])
    assert [(line.key, line.value) for line in lines[:2]] == [("column", "rhythm"), ("classes", ["SR", "AF"])]
    assert lines[1].comment == "recordings: SR 1, AF 1"


def test_two_columns_of_yes_and_no_are_classes_and_one_is_not() -> None:
    lines = label_lines({"AF": ["1", "0", ""], "RBBB": ["0", "yes", "yes"], "n": ["1", "2", "3"]}, ["n"])
    assert (lines[0].key, lines[0].value) == ("classes", ["AF", "RBBB"])
    assert lines[0].comment.endswith("recordings: AF 1, RBBB 2")
    assert label_lines({"AF": ["1", "0"]}, []) == []
    assert label_lines({"empty": ["", ""]}, []) == []


def test_a_column_of_one_or_too_many_words_is_none_of_labels(monkeypatch: pytest.MonkeyPatch) -> None:
    assert label_lines({"label": ["x", "x"]}, []) == []
    monkeypatch.setattr(module, "MOST_CLASSES", 3)
    assert label_lines({"label": ["x", "y", "z"]}, []) != []
    assert label_lines({"label": ["x", "y", "z", "q"]}, []) == []
    assert comment_lines({"Dx": ["x", "y", "z"]}) != []
    assert comment_lines({"Dx": ["x", "y", "z", "q"]}) == []


def test_the_first_comment_with_two_classes_has_the_labels() -> None:
    lines = comment_lines({"Dx": ["a", "a"], "Diagnosis": ["a|b", "b"]})
    assert [(line.key, line.value) for line in lines] == [
        ("comment", "Diagnosis"),
        ("separator", "|"),
        ("classes", ["b", "a"]),
        ("values", None),
        ("others", None),
    ]
