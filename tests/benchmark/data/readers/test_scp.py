"""The statements of PTB-XL are those of the release's own table."""

from __future__ import annotations

import csv
import hashlib
from collections import Counter
from pathlib import Path

from benchmark.data.readers.scp import SCP_STATEMENTS

AS_COMPARED = "83c8ce757e779cbc2a3728a11f106031c969a5f99c694847d27eee36b915cde8"
"""SHA-256 of the statements as they were compared with the table of PTB-XL 1.0.3."""


def test_they_are_the_release_s(shared_ecgs: Path) -> None:
    with open(shared_ecgs / "ptb-xl" / "scp_statements.csv", newline="") as file:
        rows = list(csv.DictReader(file))
    kinds = ("diagnostic", "form", "rhythm")
    expected = [
        (
            row[""],
            " ".join(kind for kind in kinds if row[kind]),
            row["diagnostic_class"],
            row["diagnostic_subclass"],
            row["description"],
        )
        for row in rows
    ]
    assert [tuple(own) for own in SCP_STATEMENTS] == expected


def test_they_stay_as_they_were_compared() -> None:
    assert hashlib.sha256("\n".join("\t".join(own) for own in SCP_STATEMENTS).encode()).hexdigest() == AS_COMPARED


def test_there_are_seventy_one_of_three_kinds() -> None:
    counts = Counter(kind for own in SCP_STATEMENTS for kind in own.kinds.split())
    assert (len(SCP_STATEMENTS), counts) == (71, {"diagnostic": 44, "form": 19, "rhythm": 12})
    assert all(bool(own.superclass) is ("diagnostic" in own.kinds) for own in SCP_STATEMENTS)
