"""Cross-fitted pretraining: datasets that are tested in parts (`data.folds`) and are pretrained on as well.

Each part is tested by an encoder that was pretrained on the patients outside it: K pretrainings for a row and a seed.
A seed alone deals the patients of all columns that are tested in parts together, whatever the labelled subset. Equal
names, in whatever dataset, count as one person. The record of a pretraining holds digests of its patients, and a cell
compares those whom it tests with them. A column that is tested otherwise has the encoder of the first part.
"""

from __future__ import annotations

from collections.abc import Collection, Iterable, Mapping, Sequence
from pathlib import Path
from typing import Any

import numpy as np

from benchmark.config.config import Config
from benchmark.data.column import Column, column_of, dealing_of
from benchmark.data.prepare import Prepared, open_prepared
from benchmark.data.splits import Part
from benchmark.data.tasks import of_task
from benchmark.results.arrays import Ints
from benchmark.results.files import digest
from benchmark.results.store import Store

Columns = Mapping[str, Column]
"""Columns that are cross-fitted, by name."""
DEALT_BY = "dealt_by"
"""Entry of the content of a cell's key with all that determines the parts of its column."""
SEEN = "patients_seen"
"""Digests of the names of the patients of a corpus, in the record of a pretraining."""


def crossfitted(config: Config, views: Mapping[str, Prepared]) -> Columns:
    """Return the columns, of views by name, that are tested in parts, where one of their datasets is pretrained on.

    A patient who is in several of them is tested by the encoder of the same part in each.
    """
    columns = {}
    for name in [task.name for task in config.data.columns() if config.data.folds and task.name in views]:
        column = column_of(views[name], config.column_spec(name))
        if column.is_cross_validated:
            columns[name] = column
    datasets = {column.data.dataset_name for column in columns.values()}
    return {} if datasets.isdisjoint(config.data.corpora) else columns


def opened_views(config: Config, folders: Mapping[str, Path]) -> dict[str, Prepared]:
    """Open the columns of a config, by name. Raises FileNotFoundError."""
    return {column.name: of_task(open_prepared(folders[column.name]), column) for column in config.data.columns()}


def opened_columns(config: Config, folders: Mapping[str, Path]) -> Columns:
    """Open the columns that are cross-fitted. Raises FileNotFoundError."""
    return crossfitted(config, opened_views(config, folders))


def dealt_by(columns: Columns, seed: int) -> list[Any]:
    """Return what determines the parts of a seed, as values of JSON."""
    return [seed, [[column.data.fingerprint, column.spec.dividing()] for column in columns.values()]]


def parts_of(columns: Columns, seed: int) -> list[Part]:
    """Return the parts that a seed deals."""
    dealing = dealing_of([*columns.values()], seed)
    return [Part(dealing, number) for number in range(dealing.parts)]


def members_of(corpus: Prepared) -> Sequence[tuple[Prepared, Ints]]:
    """Return the datasets of a corpus, each with the numbers of its recordings there."""
    return corpus.members or ((corpus, np.arange(corpus.usable)),)


def people_in(corpus: Prepared) -> list[str]:
    """Return the patient of each recording of a corpus, as the recording's dataset names him."""
    people = []
    for data, numbers in members_of(corpus):
        people += [data.recordings.patient[number] for number in numbers]
    return people


def corpus_of_part(corpus: Prepared, columns: Columns, part: Part) -> Ints:
    """Number the recordings of the corpus that the encoder of a part is pretrained on.

    None is of a patient whom the part tests or validates; those of a cross-fitted dataset have a label in a column.
    """
    side_of = part.dealing.sides(part.number)
    is_outside = [not side_of.get(person) for person in people_in(corpus)]
    is_labelled: list[bool] = []
    for data, numbers in members_of(corpus):
        tested = [column.tested for column in columns.values() if column.data.dataset_name == data.dataset_name]
        is_labelled += np.isin(numbers, np.concatenate(tested or [numbers])).tolist()
    return np.flatnonzero(np.logical_and(is_outside, is_labelled))


def names_seen(corpus: Prepared, recordings: Iterable[int]) -> list[str]:
    """Return digests of the patients of some recordings of a corpus."""
    people = people_in(corpus)
    return sorted({digest(people[number]) for number in recordings})


def refuse_seen(store: Store, key: str, tested: Collection[str]) -> None:
    """Raise ValueError where the record of a pretraining names a patient whom its encoder is to be tested on."""
    seen = set((store.record(key) or {})[SEEN])
    if both := [patient for patient in sorted(set(tested)) if digest(patient) in seen]:
        raise ValueError(f"the encoder {key} was pretrained on {len(both)} of its test patients, {both[0]} among them")
