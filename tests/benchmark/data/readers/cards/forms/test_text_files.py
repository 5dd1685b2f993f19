"""Text files: names or numbers in the first line, and what separates them."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest

from benchmark.data.readers.base import Unusable
from benchmark.data.readers.cards.card import Signals
from benchmark.data.readers.cards.forms import text_files
from benchmark.data.readers.cards.forms.text_files import are_names, first_line, read

SIGNALS = Signals.model_construct(files="", leads=None)


def written(folder: Path, text: str, encoding: str = "utf-8") -> Path:
    path = folder / "r.csv"
    path.write_bytes(text.encode(encoding))
    return path


@pytest.mark.parametrize(
    ("text", "cells", "separator"),
    [
        ("I,II\n1,2\n", ["I", "II"], ","),
        ('"I" ; "II"\r\n1;2\r\n', ["I", "II"], ";"),
        ("1,5;2,5\n", ["1,5", "2,5"], ";"),
        ("1,5\t2;5\n", ["1,5", "2;5"], "\t"),
        ("I\n1\n", ["I"], ","),
        ("", [""], ","),
    ],
)
def test_the_cells_of_the_first_line(tmp_path: Path, text: str, cells: list[str], separator: str) -> None:
    for encoding in ("utf-8", "utf-8-sig"):
        assert first_line(written(tmp_path, text, encoding)) == (cells, separator)


def test_a_first_line_without_an_end_is_not_read_whole(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(text_files, "LONGEST_LINE", 3)
    assert first_line(written(tmp_path, "1,2,3,4"))[0] == ["1", "2"]


@pytest.mark.parametrize(
    ("cells", "separator", "expected"),
    [
        (["1", "-2.5e3", ""], ",", False),
        (["1", "x"], ",", True),
        (["1,5", "2"], ";", False),
        (["1,5", "2"], ",", True),
        ([""], ",", False),
    ],
)
def test_names_are_what_no_number_is(cells: list[str], separator: str, expected: bool) -> None:
    assert are_names(cells, separator) is expected


@pytest.mark.parametrize(
    ("text", "names"),
    [
        ("I,II\n0.5,2\n-1,1e1\n", ["I", "II"]),
        ("0.5,2\n-1,10\n", None),
        ("I;II;\n0,5;2;\n-1;10;\n", ["I", "II"]),
        ("0,5\t2\n-1\t10\n", None),
        ("\ufeffI,II\n0.5,2\n-1,10\n", ["I", "II"]),
    ],
)
def test_numbers_with_either_decimal_mark_are_read(tmp_path: Path, text: str, names: list[str] | None) -> None:
    stored = read(written(tmp_path, text), SIGNALS)
    np.testing.assert_array_equal(stored.signal, [[0.5, 2.0], [-1.0, 10.0]])
    assert (stored.leads, stored.units, stored.fs) == (names, None, None)


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("I,II\n1,x\n", "unreadable or not numbers: ValueError"),
        ("", "unreadable or not numbers"),
        ("1,2\n1,2,3\n", "lines have more cells than the first|not numbers"),
        ("I,II\n1,2,3\n4,5,6\n", "lines have more cells than the first"),
    ],
)
def test_anything_else_is_refused(tmp_path: Path, text: str, message: str) -> None:
    with pytest.raises(Unusable, match=message):
        read(written(tmp_path, text), SIGNALS)
