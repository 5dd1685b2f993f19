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

CARDS = DOCS / "cards"
BRUGADA = {"0": {"no Brugada"}, "1": {"Brugada"}, "2": set[str]()}
SOURCES: dict[str, tuple[str, str, str, Callable[[str], set[str]], int]] = {
    "ludb": ("ludb.csv", "ID", "Rhythms", lambda cell: set(cell.split("\n")), 150),
    "brugada-huca": ("metadata.csv", "patient_id", "brugada", BRUGADA.__getitem__, 294),
    "challenge-2011": ("quality.csv", "record", "quality", lambda cell: {cell}, 800),
}
"""Card -> its publisher's table, columns of recordings and labels, and how many of its recordings are there."""


@pytest.mark.parametrize("name", SOURCES)
def test_a_card_reads_the_publishers_files(name: str, shared_ecgs: Path) -> None:
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


FROM_DOCUMENTATION = {"code-15": 6, "sami-trop": 2, "sph": 5, "georgia": 5, "ptb-diagnostic": 2}


def test_a_card_written_from_documentation_has_classes() -> None:
    cards = {name: load_card(str(CARDS / f"{name}.yaml")) for name in FROM_DOCUMENTATION}
    assert all(len(card.classes) >= FROM_DOCUMENTATION[name] for name, card in cards.items())
    assert all(card.signals.files and card.labels for card in cards.values())


def test_the_config_real_has_the_cards_of_the_pages() -> None:
    cards = load_config("real").data.cards
    assert {*cards} == {*SOURCES}
    for name, card in cards.items():
        assert card == load_card(str(CARDS / f"{name}.yaml"))
