"""Cross-fitted pretraining: datasets that are tested in parts (`data.folds`) and are pretrained on as well.

Each part is tested by an encoder that was pretrained on the patients outside it: K pretrainings for a row and a seed.
A seed alone deals the patients of all columns that are tested in parts together, whatever the labelled subset. Equal
names, in whatever dataset, count as one person. The record of a pretraining holds digests of its patients, and a cell
compares those whom it tests with them. A column that is tested otherwise has the encoder of the first part.
"""

from __future__ import annotations

from collections.abc import Collection, Iterable, Mapping
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from benchmark.config.config import Config
from benchmark.data.column import Column, column_of, dealing_of
from benchmark.data.prepare import Prepared, open_prepared
from benchmark.data.splits import Part
from benchmark.data.tasks import of_task
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


class Origin(NamedTuple):
    """The dataset that a recording of a corpus comes from, and the recording there."""

    dataset: str
    number: int
    patient: str


def origins_of(corpus: Prepared) -> list[Origin]:
    """Return the origin of each recording of a corpus, in its order."""
    members = corpus.members or ((corpus, np.arange(corpus.usable)),)
    origins = []
    for data, numbers in members:
        patients = data.recordings.patient
        origins += [Origin(data.dataset_name, number, patients[number]) for number in numbers.tolist()]
    return origins


def corpus_of_part(corpus: Prepared, columns: Columns, part: Part) -> NDArray[np.int64]:
    """Number the recordings of the corpus that the encoder of a part is pretrained on.

    None is of a patient whom the part tests or validates; those of a cross-fitted dataset have a label in a column.
    """
    side_of = part.dealing.sides(part.number)
    labelled: dict[str, set[int]] = {}
    for column in columns.values():
        labelled.setdefault(column.data.dataset_name, set()).update(column.tested.tolist())
    chosen = []
    for index, origin in enumerate(origins_of(corpus)):
        is_usable = origin.dataset not in labelled or origin.number in labelled[origin.dataset]
        if is_usable and not side_of.get(origin.patient):
            chosen.append(index)
    return np.array(chosen, np.int64)


def names_seen(corpus: Prepared, recordings: Iterable[int]) -> list[str]:
    """Return digests of the patients of some recordings of a corpus."""
    origins = origins_of(corpus)
    return sorted({digest(origins[index].patient) for index in recordings})


def refuse_seen(store: Store, key: str, tested: Collection[str]) -> None:
    """Raise ValueError where the record of a pretraining names a patient whom its encoder is to be tested on."""
    seen = set((store.record(key) or {})[SEEN])
    if both := [patient for patient in sorted(set(tested)) if digest(patient) in seen]:
        raise ValueError(f"the encoder {key} was pretrained on {len(both)} of its test patients, {both[0]} among them")
