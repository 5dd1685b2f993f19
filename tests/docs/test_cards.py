"""The cards of docs/cards on real recordings: signals to the bit, labels of the publishers' tables."""

from __future__ import annotations

from collections.abc import Callable
from contextlib import suppress
from pathlib import Path

import numpy as np
import pandas as pd
import pytest
import wfdb

from benchmark.config.load import load_card, load_config
from benchmark.data.datasets.base import LEADS, Unusable
from tests.docs.pages import DOCS
from tests.on_disk import write_record

CARDS = DOCS / "cards"
BRUGADA = {"0": {"no Brugada"}, "1": {"Brugada"}, "2": set[str]()}
SOURCES: dict[str, tuple[str, str, str, Callable[[str], set[str]], int]] = {
    "ludb": ("ludb.csv", "ID", "Rhythms", lambda cell: set(cell.split("\n")), 150),
    "brugada-huca": ("metadata.csv", "patient_id", "brugada", BRUGADA.__getitem__, 294),
    "challenge-2011": ("quality.csv", "record", "quality", lambda cell: {cell}, 800),
}
"""Card -> its publisher's table, columns of recordings and labels, and how many of its recordings are there."""


@pytest.mark.parametrize("name", SOURCES)
def test_a_card_reads_the_publishers_signals_and_labels(name: str, shared_ecgs: Path) -> None:
    file, recordings, column, labels_of, count = SOURCES[name]
    folder = shared_ecgs / name
    card = load_card(str(CARDS / f"{name}.yaml"))
    dataset, table = card(folder), pd.read_csv(folder / file, dtype=str)
    truth = {recording: labels_of(cell) for recording, cell in zip(table[recordings], table[column], strict=True)}
    entries = [entry for entry in dataset.listing().entries if all(path.is_file() for path in dataset.files(entry))]
    for entry in entries:
        given = {card.classes[label] for label in entry.labels}
        assert given == truth[entry.recording] & set(card.classes)
    compared = 0
    for entry in entries[::25]:
        record = wfdb.rdrecord(str((folder / entry.path).with_suffix("")))
        order = [[lead.upper() for lead in record.sig_name].index(lead.upper()) for lead in LEADS]
        with suppress(Unusable):  # flat, as some are that were graded unacceptable
            read = dataset.read(entry)
            assert read.fs == record.fs
            np.testing.assert_array_equal(read.signal, record.p_signal[:, order].astype(np.float32))
            compared += 1
    assert compared > len(entries) / 30
    assert len(entries) == count


@pytest.mark.parametrize(
    ("name", "folder", "count"),
    [("cpsc2018-2020", "Training_WFDB", 76), ("chapman-2021", "WFDB_ChapmanShaoxing", 10)],
)
def test_a_card_of_headers_reads_their_comments(name: str, folder: str, count: int, shared_ecgs: Path) -> None:
    card = load_card(str(CARDS / f"{name}.yaml"))
    dataset = card(shared_ecgs / name.partition("-")[0] / folder)
    assert card.labels is not None
    class_of = {word: index for index, label in enumerate(card.classes) for word in card.labels.words(label)}
    entries = dataset.listing().entries
    assert len(entries) == count
    for entry in entries:
        comments = wfdb.rdheader(str((dataset.root / entry.path).with_suffix(""))).comments
        (stated,) = [comment.partition(":")[2].strip() for comment in comments if comment.strip().startswith("Dx:")]
        assert entry.labels == tuple(class_of[code] for code in stated.split(",") if code in class_of)


SIX = "1dAVb,RBBB,LBBB,SB,ST,AF"
FORMS: dict[str, dict[str, str]] = {
    "code-15": {
        "exams.csv": f"exam_id,age,is_male,{SIX},patient_id,trace_file\n"
        + "".join(f"{n}.0,50,True,{','.join(str(n == column) for column in range(6))},{n // 2},p\n" for n in range(6))
    },
    "sami-trop": {
        "rows.csv": "row,exam_id,age,is_male,normal_ecg\n"
        + "".join(f"{n},{n + 700},50,True,{n % 2 == 0}\n" for n in range(6))
    },
    "sph": {
        "metadata.csv": "ECG_ID,AHA_Code,Patient_ID,Age,Sex,N,Date\n"
        + "".join(f"A{n},{('1', '22;106', '50')[n % 3]},S{n // 2},50,M,5000,2020-01-01\n" for n in range(6))
    },
    "georgia": {},
    "ptb-diagnostic": {},
}
"""Card -> tables in the form of its publisher."""
LABELS = {
    "code-15": [(index,) for index in range(6)],
    "sami-trop": [(1,), (0,)] * 3,
    "sph": [(0,), (2,), (4,)] * 2,
    "georgia": [(0,), (1, 4)] * 3,
    "ptb-diagnostic": [(0,), (1,)] * 3,
}
DX = ("426783006", "426177001,164889003,59118001")
REASONS = ("Healthy control", "Myocardial infarction")


@pytest.mark.parametrize("name", FORMS)
def test_a_card_written_from_documentation_reads_files_of_that_form(name: str, tmp_path: Path) -> None:
    """Six exams of three patients, where the publisher names patients; exams of one length are filled with zeros."""
    h5py = pytest.importorskip("h5py")
    for file, text in FORMS[name].items():
        (tmp_path / file).write_text(text)
    ecg = np.random.default_rng(1).normal(0.1, 0.5, (2800, 12))
    filled = np.pad(ecg, ((648, 648), (0, 0)))
    for n in range(6):
        if name == "sph":
            (tmp_path / "records").mkdir(exist_ok=True)
            with h5py.File(tmp_path / f"records/A{n}.h5", "w") as file:
                file["ecg"] = ecg.T.astype(np.float16)
        elif name in ("georgia", "ptb-diagnostic"):
            record = tmp_path / ("g1" if name == "georgia" else f"patient{n // 2:03}") / f"E{n}"
            comment = f"#Dx: {DX[n % 2]}" if name == "georgia" else f"# Reason for admission: {REASONS[n % 2]}"
            leads = [lead.lower() for lead in LEADS] if name == "ptb-diagnostic" else list(LEADS)
            write_record(record, ecg, fs=1000, leads=leads, comments=[comment.removeprefix("#")])
    if name in ("code-15", "sami-trop"):
        for part, rows in enumerate([range(4), range(4, 6)] if name == "code-15" else [range(6)]):
            path = tmp_path / ("exams.hdf5" if name == "sami-trop" else f"exams_part{part}.hdf5")
            with h5py.File(path, "w") as file:
                file["tracings"] = np.stack([filled] * len(rows)).astype(np.float32)
                if name == "code-15":
                    file["exam_id"] = np.array(rows)
    dataset = load_card(str(CARDS / f"{name}.yaml"))(tmp_path)
    listing = dataset.listing()
    assert listing.skipped == ()
    assert [entry.labels for entry in listing.entries] == LABELS[name]
    assert len({entry.patient for entry in listing.entries}) == (6 if name in ("sami-trop", "georgia") else 3)
    signal = dataset.read(listing.entries[0]).signal
    np.testing.assert_allclose(signal, ecg[: len(signal)], atol=2e-3)
    assert len(signal) > 2700


def test_the_config_real_has_the_cards_of_the_pages() -> None:
    cards = load_config("real").data.cards
    assert {*cards} == {*SOURCES}
    for name, card in cards.items():
        assert card == load_card(str(CARDS / f"{name}.yaml"))
