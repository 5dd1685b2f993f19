"""Keep the sex and age band of a dataset's recordings in the results store, for scores of subgroups in reports."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from pathlib import Path

from benchmark.config.errors import ConfigError
from benchmark.data.audit.people import people_of
from benchmark.data.readers.base import Dataset, Entry
from benchmark.results.files.write import is_read_only
from benchmark.results.people.stored import groups_of, people_file, save_people


def keep_people(dataset: Dataset, entries: Sequence[Entry], root: Path, fingerprint: str) -> None:
    """Write the groups of some data's recordings to a store that has no file of them and can be written to."""
    if people_file(root, fingerprint).is_file():
        return
    try:
        save_people(root, fingerprint, groups_of(people_of(dataset, entries)))
    except OSError as error:
        if not is_read_only(error):
            raise


def add_people(dataset: Dataset, tested: Mapping[str, Mapping[str, str]], root: Path) -> int:
    """Write the groups of a dataset's recordings for each fingerprint of rows; returns the number of recordings.

    tested: fingerprint -> test recording -> patient. Raises ConfigError where the folder holds other data, or where
    the dataset states neither sex nor age.
    """
    entries = dataset.listing().entries
    patients = {entry.recording: entry.patient for entry in entries}
    for own in tested.values():
        strange = [name for name, patient in own.items() if patients.get(name) != patient]
        if strange:
            raise ConfigError(
                f"{dataset.title}: {len(strange)} of {len(own)} test recordings are not in {dataset.root}, or there of "
                f"another patient, e.g. {strange[0]}: name the data that the rows were computed on"
            )
    groups = groups_of(people_of(dataset, entries))
    if not groups:
        raise ConfigError(f"{dataset.title}: {dataset.root} states neither sex nor age of a recording")
    for fingerprint in tested:
        save_people(root, fingerprint, groups)
    return len(groups)
