"""The conditions of Chapman and Ningbo: the codes and acronyms of the release, and those of the Challenge."""

from __future__ import annotations

import csv
import hashlib
import re
from pathlib import Path

from benchmark.data.tasks.chapman_tasks import CLASSES, CONDITION_OF_CODE, CONDITION_OF_STATEMENT

AS_COMPARED = "f2ca4800bde4d3dd0b4e283c883ccd03d04dc8a3df1fc2f161e3096c9f82a02d"
"""SHA-256 of the codes as they were compared with ConditionNames_SNOMED-CT.csv and the classes of MERL's files."""
SHARED = {"MIBW": "MI", "MIFW": "MI", "MILW": "MI", "MISW": "MI", "LBBBB": "LBBB", "LFBBB": "LBBB"}
OF_THE_CHALLENGE = {"427172004": "VPB", "733534002": "LBBB", "713427006": "RBBB"}


def test_codes_and_acronyms_are_those_of_the_release(shared_ecgs: Path) -> None:
    table = shared_ecgs / "chapman" / "ecg-arrhythmia-1.0.0" / "ConditionNames_SNOMED-CT.csv"
    rows = list(csv.DictReader(table.read_text("utf-8-sig").splitlines()))
    first = {row["Snomed_CT"]: row["AcronymName"] for row in reversed(rows)}
    released = {code: name for code, name in CONDITION_OF_CODE.items() if code not in OF_THE_CHALLENGE}
    assert released == {code: name for code, name in first.items() if name in CLASSES}
    for row in rows:
        assert CONDITION_OF_STATEMENT.get(row["AcronymName"]) == released.get(row["Snomed_CT"])


def test_codes_that_the_challenge_scores_as_one_diagnosis_are_one_class(shared_ecgs: Path) -> None:
    table = (shared_ecgs / "snomed" / "dx_mapping_scored.csv").read_text()
    pairs = set(re.findall(r"We score (\d+) and (\d+) as the same", table))
    own = {pair[0]: CONDITION_OF_CODE[pair[1]] for pair in pairs if pair[1] in CONDITION_OF_CODE}
    assert own == OF_THE_CHALLENGE == {code: CONDITION_OF_CODE[code] for code in OF_THE_CHALLENGE}


def test_codes_stay_as_they_were_compared() -> None:
    stated = " ".join(f"{code}:{name}" for code, name in CONDITION_OF_CODE.items())
    assert hashlib.sha256(stated.encode()).hexdigest() == AS_COMPARED


def test_every_class_has_a_code_and_is_its_own_acronym() -> None:
    assert len(CLASSES) == len(set(CLASSES)) == 38
    assert set(CONDITION_OF_CODE.values()) == set(CLASSES)
    assert CONDITION_OF_CODE | {name: name for name in CLASSES} | SHARED == CONDITION_OF_STATEMENT
    assert "426177001" not in CONDITION_OF_STATEMENT, "bradycardia is not among them"
