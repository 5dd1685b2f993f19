"""MERL's 38 conditions: codes of headers, acronyms of tables, and those that several of them share."""

from __future__ import annotations

import hashlib

from benchmark.data.tasks.chapman_tasks import CLASSES, CONDITION_OF_CODE, CONDITION_OF_STATEMENT

AS_COMPARED = "f2ca4800bde4d3dd0b4e283c883ccd03d04dc8a3df1fc2f161e3096c9f82a02d"
"""SHA-256 of the codes as they were compared with ConditionNames_SNOMED-CT.csv and the classes of MERL's files."""
SHARED = {"MIBW": "MI", "MIFW": "MI", "MILW": "MI", "MISW": "MI", "LBBBB": "LBBB", "LFBBB": "LBBB"}


def test_codes_stay_as_they_were_compared() -> None:
    stated = " ".join(f"{code}:{name}" for code, name in CONDITION_OF_CODE.items())
    assert hashlib.sha256(stated.encode()).hexdigest() == AS_COMPARED


def test_every_class_has_a_code_and_is_its_own_acronym() -> None:
    assert len(CLASSES) == len(set(CLASSES)) == 38
    assert set(CONDITION_OF_CODE.values()) == set(CLASSES)
    assert CONDITION_OF_CODE | {name: name for name in CLASSES} | SHARED == CONDITION_OF_STATEMENT
    assert "426177001" not in CONDITION_OF_STATEMENT, "bradycardia is not among them"
