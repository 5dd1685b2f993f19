"""The cards of docs/cards on real recordings: signals to the bit, labels of the publishers' tables."""

from __future__ import annotations

from collections.abc import Callable
from contextlib import suppress
from pathlib import Path

import numpy as np
import pandas as pd
import pytest
import wfdb

from benchmark.config.config import load_config
from benchmark.config.words import load_card
from benchmark.data.datasets.base import LEADS, Dataset, Entry, Unusable
from tests.docs.pages import DOCS

CARDS = DOCS / "cards"
Truth = Callable[[Path], dict[str, set[str]]]


def rhythms(folder: Path) -> dict[str, set[str]]:
    table = pd.read_csv(folder / "ludb.csv", dtype=str)
    return {row.ID: set(row.Rhythms.split("\n")) for row in table.itertuples()}


def brugada(folder: Path) -> dict[str, set[str]]:
    table = pd.read_csv(folder / "metadata.csv", dtype=str)
    names = {"0": {"no Brugada"}, "1": {"Brugada"}, "2": set[str]()}
    return {row.patient_id: names[row.brugada] for row in table.itertuples()}


def quality(folder: Path) -> dict[str, set[str]]:
    table = pd.read_csv(folder / "quality.csv", dtype=str)
    return {row.record: {str(row.quality)} for row in table.itertuples()}


SOURCES: dict[str, tuple[Truth, int]] = {
    "ludb": (rhythms, 150),
    "brugada-huca": (brugada, 294),
    "challenge-2011": (quality, 800),
}
"""Name of a card -> its publisher's labels, and how many of its recordings are there and listed."""


def there(dataset: Dataset) -> list[Entry]:
    """Entries whose files are there."""
    return [own for own in dataset.listing().entries if all(file.is_file() for file in dataset.files(own))]


@pytest.mark.parametrize("name", SOURCES)
def test_a_card_reads_the_publishers_signals_and_labels(name: str, shared_ecgs: Path) -> None:
    labels, count = SOURCES[name]
    folder = shared_ecgs / name
    card = load_card(str(CARDS / f"{name}.yaml"))
    dataset, truth = card(folder), labels(folder)
    entries = there(dataset)
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


CODES = {
    "426783006": "sinus rhythm",
    "426177001": "sinus bradycardia",
    "427084000": "sinus tachycardia",
    "427393009": "sinus arrhythmia",
    "164889003": "atrial fibrillation",
    "164890007": "atrial flutter",
}


@pytest.mark.parametrize(
    ("name", "folder", "count"),
    [
        ("cpsc2018-2020", "cpsc2018/Training_WFDB", 76),
        ("chapman-2021", "chapman/WFDB_ChapmanShaoxing", 10),
        ("chapman-2021", "chapman/WFDB_Ningbo", 33),
    ],
)
def test_a_card_of_headers_reads_their_comments_and_signals(
    name: str, folder: str, count: int, shared_ecgs: Path
) -> None:
    card = load_card(str(CARDS / f"{name}.yaml"))
    dataset = card(shared_ecgs / folder)
    entries = dataset.listing().entries
    assert len(entries) == count
    for entry in entries:
        record = wfdb.rdrecord(str((shared_ecgs / folder / entry.path).with_suffix("")))
        (stated,) = [own.partition(":")[2].strip() for own in record.comments if own.strip().startswith("Dx:")]
        names = {CODES.get(code, code) for code in stated.split(",")}
        assert {card.classes[label] for label in entry.labels} == names & {*card.classes}
        with suppress(Unusable):  # some have leads that are zero throughout
            np.testing.assert_allclose(dataset.read(entry).signal, record.p_signal, rtol=0, atol=1e-6)


def test_the_config_real_has_the_cards_of_the_pages() -> None:
    cards = load_config("real").data.cards
    assert {*cards} == {*SOURCES}
    for name, card in cards.items():
        assert card == load_card(str(CARDS / f"{name}.yaml"))
