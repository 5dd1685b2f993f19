"""What every card says: a name, a line of text, a title by default the name."""

from __future__ import annotations

from typing import Any

import pytest
from pydantic import TypeAdapter, ValidationError

from benchmark.data.readers.cards.declared import NAME, Declared, Line, Part, Word


class Small(Declared):
    """With nothing of its own."""

    @property
    def classes(self) -> tuple[str, ...]:
        return ()

    @property
    def first_label_counts(self) -> bool:
        return False


@pytest.mark.parametrize("name", ["a", "0", "our-ecgs_2", "a" * 60])
def test_names_are_taken_as_they_are(name: str) -> None:
    card = Small(name=name, title=name)
    assert (card.name, card.title, card.folders) == (name, name, (name,))
    assert Small.model_validate({"name": name}).title == name
    assert Small.model_validate({"name": name, "title": "Ours"}).title == "Ours"


@pytest.mark.parametrize("name", ["", "A", "-a", "_a", "a b", "ä", "a" * 61, "a.b"])
def test_other_names_are_refused(name: str) -> None:
    assert not NAME.fullmatch(name)
    with pytest.raises(ValidationError, match="up to 60 small letters, digits, _ and -"):
        Small.model_validate({"name": name, "title": "x"})


@pytest.mark.parametrize(("kind", "shortest"), [(Line, 0), (Word, 1)])
def test_texts_are_a_line_of_at_most_two_hundred_characters(kind: Any, shortest: int) -> None:
    texts = TypeAdapter(kind)
    for length in (shortest, 200):
        assert texts.validate_python("x" * length) == "x" * length
    for wrong in ("x" * 201, "two\nlines", "\x1b[2J", *([""] if shortest else [])):
        with pytest.raises(ValidationError):
            texts.validate_python(wrong)


@pytest.mark.parametrize(("given", "text"), [(9, "9"), (1.5, "1.5"), ("9", "9")])
def test_a_number_counts_as_its_text(given: Any, text: str) -> None:
    assert TypeAdapter(Word).validate_python(given) == text


@pytest.mark.parametrize("wrong", [True, None, ["a"]])
def test_anything_else_is_no_word(wrong: Any) -> None:
    with pytest.raises(ValidationError):
        TypeAdapter(Word).validate_python(wrong)


def test_a_part_is_strict_frozen_and_knows_its_keys() -> None:
    class Number(Part):
        value: float = 1.0

    for wrong in ({"value": "1"}, {"value": float("inf")}, {"other": 1}):
        with pytest.raises(ValidationError):
            Number.model_validate(wrong)
    with pytest.raises(ValidationError, match="frozen"):
        Number().value = 2.0
