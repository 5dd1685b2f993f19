"""A file per dataset in the results store: recording -> sex and age band.

    runs/people/FINGERPRINT.json    FINGERPRINT is that of the prepared data, as rows state it

It is written when a run or `report --data-root` sees the data, enters no key and moves no result. Stores merge by
copying it; a damaged file counts as none.
"""

from __future__ import annotations

import json
from collections.abc import Mapping
from pathlib import Path

from benchmark.results.files.read import read_json
from benchmark.results.files.write import write_atomic
from benchmark.results.keys import KEY
from benchmark.results.people.groups import ATTRIBUTES, band_of, sex_of

PEOPLE = "people"
"""Folder of a store."""
Groups = Mapping[str, tuple[str, str]]
"""Recording -> sex and age band, '' for what is not known."""


def people_file(root: Path, fingerprint: str) -> Path:
    """Where the groups of the recordings of a dataset are kept."""
    return root / PEOPLE / f"{fingerprint}.json"


def groups_of(people: Mapping[str, tuple[str, float | None]]) -> Groups:
    """Recording -> groups, from recording -> sex as stated and age in years; without those of whom nothing is known."""
    found = {recording: (sex_of(sex), band_of(age)) for recording, (sex, age) in people.items()}
    return {recording: groups for recording, groups in found.items() if any(groups)}


def save_people(root: Path, fingerprint: str, groups: Groups) -> None:
    """Write the groups of a dataset, if there are any and the file does not hold them already."""
    if not groups or read_people(root, fingerprint) == groups:
        return
    write_atomic(people_file(root, fingerprint), people_bytes(groups))


def people_bytes(groups: Groups) -> bytes:
    """Content of a file."""
    content = {recording: list(own) for recording, own in sorted(groups.items())}
    return json.dumps(content, separators=(",", ":")).encode()


def read_people(root: Path, fingerprint: str) -> Groups:
    """The groups of a dataset; {} where there are none or the file is damaged."""
    if not KEY.fullmatch(fingerprint):
        return {}
    try:
        content = read_json(people_file(root, fingerprint))
        known = [{*names, ""} for names in ATTRIBUTES.values()]
        found = {str(recording): (str(sex), str(band)) for recording, (sex, band) in content.items()}
    except (OSError, ValueError, TypeError, AttributeError):
        return {}
    good = all(own in names for groups in found.values() for own, names in zip(groups, known, strict=True))
    return found if good else {}
