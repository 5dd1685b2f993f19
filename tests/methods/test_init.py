"""Methods stand under their names; a row of weights from elsewhere has their name and title, and trains nothing."""

from __future__ import annotations

from typing import ClassVar

from methods import METHODS, as_method
from methods.encoders.pretrained import PretrainedEncoder


def test_methods_stand_in_tables_under_the_names_of_their_papers() -> None:
    assert [kind.title for kind in METHODS.values()] == [
        *("Random", "MoCo", "BYOL", "CLOCS", "PCLR", "COMET", "ETP", "PMQ", "PMQ (released code)"),
        *("SimCLR", "VICReg", "Barlow Twins", "SimSiam", "TS2Vec", "CPC", "JEPA", "MAE", "CLIP-Report"),
    ]


class Theirs(PretrainedEncoder):
    name: ClassVar[str] = "theirs"
    title: ClassVar[str] = "Theirs, 2024"


def test_a_row_has_the_name_and_title_of_its_weights() -> None:
    row = as_method(Theirs)
    assert (row.name, row.title, row.trains, row.external_encoder) == ("theirs", "Theirs, 2024", False, Theirs)
    assert (row.__name__, row.__module__) == ("Theirs", Theirs.__module__)
    assert as_method(Theirs) is row
