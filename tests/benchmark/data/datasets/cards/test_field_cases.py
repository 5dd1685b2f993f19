"""What own data get wrong in silence: who is a patient, lost labels, samples that are no ECG, matches by position."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import pytest

from benchmark.data.datasets.base import LEADS, DatasetError, Recording, Unusable
from benchmark.data.datasets.card import CardDataset
from benchmark.data.datasets.card_formats import read
from benchmark.data.datasets.card_sections import CardSignals, labels_of

Opened = Callable[..., CardDataset]


def rewrite(folder: Path, **columns: list[str]) -> None:
    """Other columns in the folder's table."""
    pd.read_csv(folder / "labels.csv", dtype=str).assign(**columns).to_csv(folder / "labels.csv", index=False)


def test_recordings_of_nobody_are_persons_each_and_counted(opened: Opened, folder: Path) -> None:
    rewrite(folder, person=["nan", "unknown", "-1", "", "4.01234E+11", *["p"] * 7])
    listing = opened(labels={"others": "ignore"}).listing()
    assert len({entry.patient for entry in listing.entries[:4]}) == 4
    assert listing.warnings == (
        "4 of 11 recordings name no patient and count as a person each: 'nan', 'unknown', '-1', '' in person",
    )
    assert listing.skipped[0][1].startswith("patient's number shortened by a spreadsheet; write it as text")


@pytest.mark.parametrize(
    ("cell", "labels"),
    [
        ("['NORM', 'SR']", ["NORM", "SR"]),
        ("['NORM' 'SR']", ["NORM", "SR"]),
        ('["NORM", "SR"]', ["NORM", "SR"]),
        ("{'NORM': 100.0, 'SR': 0.0}", ["NORM", "SR"]),
        ("('NORM',)", ["NORM"]),
        ("[426783006, 5]", ["426783006", "5"]),
        ("[]", []),
        ("NORM", ["NORM"]),
        ("[NORM] or [SR]?", ["[NORM] or [SR]?"]),
    ],
)
def test_a_list_in_a_cell_is_its_members(cell: str, labels: list[str]) -> None:
    assert labels_of(cell, None) == labels


def test_a_table_that_is_not_utf8_says_so_where_a_column_is_missing(opened: Opened, folder: Path) -> None:
    table = folder / "labels.csv"
    table.write_bytes(table.read_text().replace("rhythm", "诊断").encode("gb18030"))
    with pytest.raises(DatasetError, match="the file is not UTF-8 and was read as Latin-1: save it as UTF-8"):
        opened(labels={"column": "诊断"}).listing()
    table.write_bytes(table.read_bytes().replace("诊断".encode("gb18030"), b"rhythm").replace(b"report 1", b"\xe9"))
    warning = "labels.csv is not UTF-8 and was read as Latin-1: save it as UTF-8"
    assert warning in opened().listing().warnings


def test_hidden_files_are_no_data_and_linked_folders_are(opened: Opened, folder: Path) -> None:
    for hidden in ("waves/._r00.hea", "waves/.ipynb_checkpoints/r00.hea", "waves/~$r00.hea"):
        (folder / hidden).parent.mkdir(exist_ok=True)
        (folder / hidden).write_bytes(b"\0")
    (folder / "waves").rename(folder.parent / "elsewhere")
    (folder / "waves").symlink_to(folder.parent / "elsewhere")
    (folder / "waves/again").symlink_to(folder)
    listing = opened(labels={"others": "ignore"}).listing()
    assert (len(listing.entries), listing.skipped) == (12, ())
    assert len(opened(labels={"others": "ignore"}, signals={"files": "**/{recording}.hea"}).listing().entries) == 12


def of_array(path: Path, **card: Any) -> Recording:
    given = {"files": f"r{path.suffix}", "rate": 500, "unit": "mV", "leads": list(LEADS)}
    return read(path, None, CardSignals.model_validate({**given, **card}))


@pytest.mark.parametrize("fill", ["both", "end", "few"])
def test_zeros_at_the_ends_are_padding(tmp_path: Path, make_ecg: Callable[..., Any], fill: str) -> None:
    ecg = make_ecg(seconds=2.0)
    ecg = ecg[: np.flatnonzero(ecg.any(axis=1))[-1] + 1]
    before, after = {"both": (300, 200), "end": (0, 100), "few": (3, 20)}[fill]
    np.save(tmp_path / "r.npy", np.pad(ecg, ((before, after), (0, 0))))
    length = (before if before < 25 else 0) + len(ecg) + (after if after < 25 else 0)
    signal = of_array(tmp_path / "r.npy").signal
    assert len(signal) == length
    ends = np.pad(ecg, ((before, after), (0, 0)), constant_values=np.nan)
    if fill == "both":
        np.save(tmp_path / "r.npy", ends)
        np.testing.assert_array_equal(of_array(tmp_path / "r.npy").signal, signal)
        np.testing.assert_array_equal(signal, ecg.astype(np.float32))
    np.save(tmp_path / "r.npy", np.zeros((1000, 12)))
    with pytest.raises(Unusable, match="all samples zero"):
        of_array(tmp_path / "r.npy")


@pytest.mark.parametrize("index", [False, True])
@pytest.mark.parametrize("first", [0, 1])
def test_numbers_that_pandas_writes_as_names_are_no_samples(
    tmp_path: Path, make_ecg: Callable[..., Any], index: bool, first: int
) -> None:
    ecg = make_ecg(seconds=2.0)
    table = pd.DataFrame(ecg, columns=range(first, first + 12))
    table.to_csv(tmp_path / "r.csv", index=index)
    np.testing.assert_array_equal(of_array(tmp_path / "r.csv").signal, ecg.astype(np.float32))
    table.to_csv(tmp_path / "r.csv", index=index, header=[f"x{number}" for number in range(12)])
    np.testing.assert_array_equal(of_array(tmp_path / "r.csv").signal, ecg.astype(np.float32))


def test_names_of_columns_count_before_an_order_that_contradicts_them(
    tmp_path: Path, make_ecg: Callable[..., Any]
) -> None:
    pd.DataFrame(make_ecg(seconds=2.0), columns=LEADS).to_csv(tmp_path / "r.csv", index=False)
    assert len(of_array(tmp_path / "r.csv").signal)
    with pytest.raises(Unusable, match=r"contradict signals\.leads; leave it out: II, I"):
        of_array(tmp_path / "r.csv", leads=["II", "I", *LEADS[2:]])


STACKED: dict[str, Any] = {"files": "all.npy", "stacked": True, "rate": 500, "unit": "mV", "leads": list(LEADS)}


@pytest.mark.parametrize("first", [1, 2, 0])
def test_rows_are_matched_by_their_numbers_only_if_all_are_there(
    opened: Opened, folder: Path, make_ecg: Callable[..., Any], first: int
) -> None:
    np.save(folder / "all.npy", np.stack([make_ecg(seconds=2.0)] * 12))
    rewrite(folder, id=[str(number + first) for number in range(12)])
    dataset = opened(signals=STACKED, labels={"others": "ignore"})
    if first == 0:
        assert len(dataset.listing().entries) == 12
    else:
        with pytest.raises(DatasetError, match=rf"count from 0 to 11, and labels\.csv has 12 recordings, '{first}' to"):
            dataset.listing()
