"""The MIMIC-IV-ECG reader: reports joined to recordings, and partial copies."""

from __future__ import annotations

from pathlib import Path

import pytest

from benchmark.data.datasets.base import NO_FOLD
from benchmark.data.datasets.mimic_iv_ecg import MIMICIVECG

REPORTS = [f"report_{line}" for line in range(18)]
PATH = "files/p1000/p10000032/s{0}/{0}"
Record = tuple[str, str, str]


def mimic(root: Path, records: list[Record], reports: list[tuple[str, dict[str, str]]]) -> MIMICIVECG:
    """A folder with p1000 of these subjects, studies and paths, and these lines of reports by study."""
    (root / "files" / "p1000").mkdir(parents=True)
    rows = ["subject_id,study_id,path", *(",".join(record) for record in records)]
    (root / "record_list.csv").write_text("\n".join(rows))
    lines = [",".join([study, *(report.get(name, "") for name in REPORTS), "x"]) for study, report in reports]
    (root / "machine_measurements.csv").write_text("\n".join([",".join(["study_id", *REPORTS, "bandwidth"]), *lines]))
    return MIMICIVECG(root)


RECORDS: list[Record] = [
    ("10000032", "40689238", PATH.format("40689238")),
    ("10000032.0", "40689239", PATH.format("40689239")),
    ("10010032", "40689240", "files/p1001/p10010032/s40689240/40689240"),
]
REPORT = ("40689238.0", {"report_0": "Sinus rhythm", "report_3": " Normal ECG ", "report_17": "end"})


def test_a_partial_copy_is_a_smaller_corpus(tmp_path: Path):
    dataset = mimic(tmp_path, RECORDS, [REPORT])
    listing = dataset.listing()
    first, second = listing.entries
    assert (first.recording, first.patient, first.labels, first.fold) == ("40689238", "10000032", (), NO_FOLD)
    assert first.report == "Sinus rhythm. Normal ECG. end"
    assert (second.patient, second.report) == ("10000032", "")
    assert [path.name for path in dataset.files(first)] == ["40689238.hea", "40689238.dat"]
    assert listing.form == "1 of 2 patient folders"
    (tmp_path / "files" / "p1001").mkdir()
    assert len(dataset.listing().entries) == 3


@pytest.mark.parametrize(
    ("record", "report", "reason"),
    [
        (
            ("1.0E+07", "2", PATH),
            ("2", "x"),
            "patient's number shortened by a spreadsheet; write it as text into the table: '1.0E+07'",
        ),
    ],
)
def test_a_bad_row_is_a_counted_skip(tmp_path: Path, record: Record, report: tuple[str, str], reason: str) -> None:
    reports = [(study, {"report_0": text}) for study, text in (("1", "sinus"), report)]
    listing = mimic(tmp_path, [("10", "1", PATH), record, ("11", "3", PATH)], reports).listing()
    assert reason in dict(listing.skipped).values()
    assert "3" in {entry.recording for entry in listing.entries}
    assert all(entry.report in ("sinus", "") for entry in listing.entries)
