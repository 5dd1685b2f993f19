"""What every kind of card says: it is strict and frozen, and what is known of a dataset before its folder is.

A config holds the content of its cards, so a card says what the files mean and never where their folder is.
"""

from __future__ import annotations

import re
from abc import abstractmethod
from typing import Annotated, Any

from pydantic import AfterValidator, BaseModel, BeforeValidator, ConfigDict, Field, model_validator

from benchmark.results.plain_text import harmless

NAME = re.compile(r"[a-z0-9][a-z0-9_-]{0,59}", re.ASCII)


def _name(text: str) -> str:
    if not NAME.fullmatch(text):
        raise ValueError("a name has up to 60 small letters, digits, _ and -, and begins with a letter or digit")
    return text


def printable(text: str) -> str:
    """The text, if it is one line. Raises ValueError."""
    if harmless(text) != text or "\n" in text:
        raise ValueError("one line of printable text was expected")
    return text


def _text(value: Any) -> Any:
    """A number of YAML as the text that stands in a table: 9 as '9'."""
    return str(value) if isinstance(value, int | float) and not isinstance(value, bool) else value


Line = Annotated[str, AfterValidator(printable), Field(max_length=200)]
Word = Annotated[str, BeforeValidator(_text), AfterValidator(printable), Field(min_length=1, max_length=200)]
"""A value of a table's cell or the name of a column; a number counts as its text."""


class Part(BaseModel):
    """A part of a card, strictly typed; unknown keys are refused."""

    model_config = ConfigDict(frozen=True, extra="forbid", strict=True, allow_inf_nan=False)


class Declared(Part):
    """A dataset that a config declares. A subclass adds what its kind needs; its own subclass opens a folder."""

    name: Annotated[str, AfterValidator(_name)]
    """Its name in flags, tables and results."""
    title: Annotated[Line, Field(min_length=1)]
    """As printed in a table; by default the name."""
    how_to_get: Line = ""
    """One line for those who lack the data: where it is had, or whom to ask."""
    licence: Line = ""
    """Of the data, for the model cards of what is pretrained on them."""

    @model_validator(mode="before")
    @classmethod
    def _titled(cls, values: Any) -> Any:
        return {"title": values["name"], **values} if isinstance(values, dict) and "name" in values else values

    @property
    @abstractmethod
    def classes(self) -> tuple[str, ...]:
        """Class names, in the order of their indices; empty without labels."""

    @property
    @abstractmethod
    def first_label_counts(self) -> bool:
        """As `readers.base.About`."""

    @property
    def folders(self) -> tuple[str, ...]:
        """Names its folder has under a data root."""
        return (self.name,)
