"""Headers and tables damaged at random: what comes back is right in form, or refused with a reason; never a crash."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from benchmark.data.datasets.base import Dataset, DatasetError, Listing, Unusable
from benchmark.data.datasets.chapman import Chapman
from benchmark.data.datasets.cpsc2018 import CPSC2018
from benchmark.data.datasets.mimic_iv_ecg import MIMICIVECG, REPORTS
from benchmark.data.datasets.ptb_xl import PTBXL
from benchmark.data.datasets.wfdb_files import read_recording

pytestmark = pytest.mark.slow
BOUNDED = settings(
    max_examples=62,
    deadline=None,
    derandomize=True,
    database=None,
    suppress_health_check=[HealthCheck.function_scoped_fixture],
)
SNIPPETS = (
    b"\0",
    b"\n",
    b"\r",
    b'"',
    b",",
    b";",
    b"'",
    b"{",
    b"-",
    b"0",
    b"9",
    b"e9",
    b".",
    b"/",
    b"../",
    b"\xff",
    b" ",
    b"\x1b[2J",
    b"\xe2\x80\xae",
    b"9" * 30,
    b"[" * 3000,
)
Edits = list[tuple[float, int, bytes]]
EDITS = st.lists(
    st.tuples(st.floats(0, 1), st.integers(0, 4), st.sampled_from(SNIPPETS) | st.binary(max_size=4)),
    min_size=1,
    max_size=6,
)
"""Where, how many bytes go, and what comes instead."""


def edited(content: bytes, edits: Edits) -> bytes:
    for place, gone, come in edits:
        at = int(place * len(content))
        content = content[:at] + come + content[at + gone :]
    return content


@settings(BOUNDED, max_examples=250)
@given(edits=EDITS)
def test_any_header_is_read_or_refused(
    edits: Edits, tmp_path: Path, make_ecg: Callable[..., Any], write_record: Callable[..., Path]
) -> None:
    record = tmp_path / "r"
    if not (tmp_path / "original").exists():
        write_record(record, make_ecg(2), comments=("Dx: 426177001",))
        record.with_suffix(".hea").rename(tmp_path / "original")
    record.with_suffix(".hea").write_bytes(edited((tmp_path / "original").read_bytes(), edits))
    try:
        recording = read_recording(record)
    except Unusable:
        return
    assert recording.signal.shape == (1000, 12)
    assert recording.signal.dtype == np.float32
    assert np.isfinite(recording.signal).all()


TABLES: dict[str, tuple[Callable[[Path], Dataset], str, bytes]] = {
    "ptb-xl": (
        PTBXL,
        "ptbxl_database.csv",
        b"ecg_id,patient_id,scp_codes,report,strat_fold,filename_lr,filename_hr\n"
        b"1,15709.0,\"{'NORM': 100.0, 'SR': 0.0}\",ekg,3,records100/1,records500/1\n"
        b'2,13243.0,"{\'IMI\': 80.0}","a, b",10,records100/2,records500/2\n',
    ),
    "mimic-iv-ecg": (
        MIMICIVECG,
        "record_list.csv",
        b"subject_id,study_id,path\n10000032,40689238,files/p1000/p1/1\n10000033,40689239,files/p1000/p2/2\n",
    ),
    "cpsc2018": (
        CPSC2018,
        "REFERENCE.csv",
        b"Recording,First_label,Second_label,Third_label\nA0001,5,,\nA0002,9,1,\nA0003,1,2,3\n",
    ),
    "chapman": (Chapman, "JS00001.hea", b"JS00001 12 500 5000\n#Age: 85\n#Dx: 164889003,59118001\n#Rx: Unknown\n"),
}


@pytest.fixture
def root(tmp_path: Path) -> Path:
    """A folder that is all four datasets, but for the table that is damaged."""
    (tmp_path / "scp_statements.csv").write_text(",diagnostic,diagnostic_class\nNORM,1.0,NORM\nIMI,1.0,MI\nSR,,\n")
    (tmp_path / "machine_measurements.csv").write_text(f"study_id,{','.join(REPORTS)}\n40689238,x{',' * 17}\n")
    for folder in ("records500", "files/p1000"):
        (tmp_path / folder).mkdir(parents=True)
    (tmp_path / "records500" / "1.hea").touch()
    for name in ("A0001", "A0002"):
        (tmp_path / f"{name}.hea").write_text(f"{name} 12 500 5000\n#Dx: AF\n")
    return tmp_path


def listed(dataset: Dataset) -> Listing | str:
    try:
        return dataset.listing()
    except DatasetError as error:
        return str(error)


@pytest.mark.parametrize("name", TABLES)
@BOUNDED
@given(edits=EDITS)
def test_any_table_is_listed_or_refused(name: str, edits: Edits, root: Path) -> None:
    reader, table, content = TABLES[name]
    (root / table).write_bytes(edited(content, edits))
    dataset = reader(root)
    listing = listed(dataset)
    if isinstance(listing, str):
        assert "\n" not in listing
        return
    assert len({entry.recording for entry in listing.entries}) == len(listing.entries)
    assert all(reason for _, reason in listing.skipped)
    for entry in listing.entries:
        assert entry.patient
        assert all(0 <= label < len(dataset.classes) for label in entry.labels)
        assert entry.fold in (None, *range(1, 11))
        assert all(path.resolve().is_relative_to(root.resolve()) for path in dataset.files(entry))
