"""The columns that can make classes are those that the package names, and its labels are separated as it says."""

from __future__ import annotations

import re
from pathlib import Path

import pytest

from benchmark.data.datasets.ecgbench import CHOICES, codebook

ecgbench = pytest.importorskip("ecgbench", reason="the extra [datasets] is not installed")

PACKAGE = Path(ecgbench.__file__).parent
OF_THE_TABLE = {"Beat", "aha_modifier_categories", "dx_class_indices", "scored_dx"}
"""Columns of a dataset's own table, those that the package puts together, and those of a neighbouring dataset."""
OF_COMMAS = ("dx", "dx_abbreviations", "scored_dx", "dx_class_indices")
AHA = [f"aha_{kind}_{part}" for kind in ("primary", "modifier") for part in ("codes", "descriptions", "categories")]
SEPARATORS = {
    **{
        name: dict.fromkeys(OF_COMMAS, ",") | {"dx_names": "|"}
        for name in ("challenge2020", "challenge2021", "cpsc_2018")
    },
    "code15": {"abnormality_codes": ","},
    "code_test": {"abnormality_codes": ","},
    "ecg_arrhythmia": {"dx": ",", "dx_acronyms": ","},
    "incartdb": {"record_features": ","},
    "sph": dict.fromkeys(AHA, ";"),
    "staffiii": {"artery_territory": ";"},
    "zzu_pecg": {
        "ecg_findings": ";",
        **dict.fromkeys(("aha_codes", "aha_base_codes", "chn_codes", "chn_base_codes"), ","),
        **dict.fromkeys(("disease_groups", "icd10_codes"), ","),
    },
}


def said_of(dataset: str) -> str:
    """All that the package says of a dataset."""
    files = [path for path in PACKAGE.rglob("*") if path.stem == dataset and path.suffix in (".py", ".yaml")]
    assert files
    return "".join(path.read_text() for path in files)


@pytest.mark.parametrize("dataset", CHOICES)
def test_every_column_is_one_that_the_package_names(dataset: str) -> None:
    text, choice = said_of(dataset), CHOICES[dataset]
    for column in {*choice.fields, *choice.separators} - OF_THE_TABLE:
        assert re.search(rf"\b{column}\b", text), column
    assert len(set(choice.fields)) == len(choice.fields)


@pytest.mark.parametrize("dataset", CHOICES)
def test_labels_of_a_cell_are_separated_where_it_can_hold_several(dataset: str) -> None:
    assert CHOICES[dataset].separators == SEPARATORS.get(dataset, {})


@pytest.mark.parametrize(
    ("dataset", "field", "first", "count"),
    [
        ("ptbxl", "superclasses", "NORM", 5),
        ("code15", "abnormality_codes", "1dAVb", 6),
        ("code_test", "abnormality_codes", "1dAVb", 6),
        ("cpsc_2018", "dx_abbreviations", "NSR", 9),
        ("cpsc_2018", "dx", "426783006", 9),
        ("echonext", "lvef_lte_45_flag", "0", 2),
        ("code15", "death", "False", 2),
        ("sami_trop", "normal_ecg", "False", 2),
        ("challenge2020", "scored_dx", "PR", 27),
        ("challenge2021", "scored_dx", "AF", 30),
    ],
)
def test_the_package_fixes_classes_of_some_columns(dataset: str, field: str, first: str, count: int) -> None:
    found = codebook(dataset, field)
    assert (found[0], len(found), len(set(found))) == (first, count, count)
