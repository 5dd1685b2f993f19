"""The row of weights from elsewhere has the encoder's name and title, trains nothing, and is one class."""

from __future__ import annotations

from typing import ClassVar

from methods.elsewhere import as_method
from methods.encoders.pretrained import PretrainedEncoder


class Theirs(PretrainedEncoder):
    name: ClassVar[str] = "theirs"
    title: ClassVar[str] = "Theirs, 2024"


def test_a_row_has_the_name_and_title_of_its_weights() -> None:
    row = as_method(Theirs)
    assert (row.name, row.title, row.trains, row.brings) == ("theirs", "Theirs, 2024", False, Theirs)
    assert (row.__name__, row.__module__) == ("Theirs", Theirs.__module__)


def test_it_is_the_same_class_at_each_call() -> None:
    assert as_method(Theirs) is as_method(Theirs)
