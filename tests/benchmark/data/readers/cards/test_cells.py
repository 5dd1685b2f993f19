"""Cells of a table: identifiers, labels, sides and ages, and the reasons where one cannot be read."""

from __future__ import annotations

from typing import Any

import pytest

from benchmark.data.readers.base import Unusable
from benchmark.data.readers.cards.card import Labels, Split
from benchmark.data.readers.cards.cells import FOLDS, OLDEST, age_of, fold_of, identifier, labels_of, sex_of
from benchmark.data.tasks.split import TEST_FOLD, VALIDATION_FOLD


def labels(**given: Any) -> Labels:
    return Labels.model_validate({"classes": ["SR", "AF", "1"], **given})


def test_a_whole_number_loses_its_point_alone() -> None:
    assert [identifier(text) for text in ("007", "15709.0", "1.5", "p1.0", "")] == ["007", "15709", "1.5", "p1.0", ""]


@pytest.mark.parametrize(
    ("given", "cells", "expected"),
    [
        ({"column": "a"}, {"a": "AF"}, (1,)),
        ({"column": "a"}, {"a": ""}, ()),
        ({"column": "a"}, {"a": "1.0"}, (2,)),
        ({"column": "a", "separator": "|"}, {"a": "AF| SR|AF|"}, (1, 0)),
        ({"column": ["a", "b"]}, {"a": "AF", "b": "SR"}, (1, 0)),
        ({"column": "a", "values": {"AF": ["AFIB", "AFLT"]}}, {"a": "AFLT"}, (1,)),
        ({"column": "a", "others": "ignore"}, {"a": "VT"}, ()),
        ({}, {"SR": "1", "AF": "no", "1": ""}, (0,)),
        ({"values": {"AF": ["fib", "flut"]}}, {"SR": "0", "fib": "0.0", "flut": "True", "1": "1.0"}, (1, 2)),
    ],
)
def test_labels_are_the_classes_of_the_cells(
    given: dict[str, Any], cells: dict[str, str], expected: tuple[int, ...]
) -> None:
    assert labels_of(cells, labels(**given)) == expected


def test_a_label_that_is_none_rules_the_row_out() -> None:
    with pytest.raises(
        Unusable, match=r"label is no class; add it to labels\.values or set labels\.others to ignore: VT"
    ):
        labels_of({"a": "VT"}, labels(column="a"))
    with pytest.raises(Unusable, match=r"cell of a class is neither yes nor no \(1 or 0\): '2'"):
        labels_of({"SR": "2", "AF": "0", "1": "0"}, labels())


def test_a_side_is_a_fold_of_that_side() -> None:
    usual, folds = Split(column="set"), Split(column="set", train=["1", "2"], validation=["9"], test=["10"])
    assert [fold_of(cell, usual) for cell in ("Train", "val", "TESTING")] == [1, 9, 10]
    assert [fold_of(cell, folds) for cell in ("2", "9.0", "10")] == [1, 9, 10]
    assert (FOLDS["validation"], FOLDS["test"]) == (VALIDATION_FOLD, TEST_FOLD)
    assert FOLDS["train"] not in (VALIDATION_FOLD, TEST_FOLD)
    with pytest.raises(Unusable, match=r"no side of the split; name it in table\.split: '3'"):
        fold_of("3", folds)


def test_the_usual_words_of_a_side_are_in_any_capitals() -> None:
    usual = Split(column="set")
    words = {1: ["train", "training"], 9: ["validation", "valid", "val", "dev"], 10: ["test", "testing"]}
    for fold, own in words.items():
        assert [fold_of(spelt, usual) for word in own for spelt in (word, word.upper())] == [fold] * 2 * len(own)


def test_a_sex_is_what_is_stated_shortened() -> None:
    assert [sex_of(cell) for cell in ("", "F", "x" * 21)] == ["", "F", "x" * 20]


def test_an_age_is_a_number_of_years() -> None:
    assert [age_of(cell) for cell in ("61", "61.5", "", "old", "-1")] == [61.0, 61.5, None, None, None]
    assert [age_of(str(years)) for years in (0, OLDEST, OLDEST + 1)] == [0.0, OLDEST, None]
