"""Lines of a card's text: told, asked, or to be added."""

from __future__ import annotations

import pytest

from benchmark.config.load import parsed
from benchmark.data.readers.cards.draft.line import Line, asked, flow, told


def test_what_yaml_could_misread_is_quoted() -> None:
    values = ["yes", "no", "1", "1e3", "a: b", "# c", "", "true", "äöü", "null", "a-b", "-", [1, "2"], {"a b": ["x,y"]}]
    assert [parsed(flow(value)) for value in values] == values


@pytest.mark.parametrize("word", ["true", "False", "NULL", "-a", "äöü", "a b", "1a", ""])
def test_words_that_need_quotes_have_them(word: str) -> None:
    assert flow(word) == f'"{word}"'


@pytest.mark.parametrize("word", ["a", "a-b", "a_b", "Truest"])
def test_plain_words_have_none(word: str) -> None:
    assert flow(word) == word


def test_a_line_is_a_value_a_question_or_a_comment() -> None:
    assert told("rate", 500).text("  ") == "  rate: 500"
    assert told("files", "a b", "3\n files\x1b[2J").text("") == 'files: "a b"  # 3 files?[2J'
    assert asked("rate", "Hz").text("  ") == '  rate: "?"  # QUESTION: Hz'
    assert Line("array", None, "a name").text("  ") == "  # array: ...  # a name"
    assert Line("array", None).text("  ") == "  # array: ..."
    assert Line("derive", False).text("") == "derive: false"
