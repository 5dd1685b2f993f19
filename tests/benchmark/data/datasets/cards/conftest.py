"""A folder of a dataset's own: twelve WFDB records of eight patients, and a table of them."""

from __future__ import annotations

import shutil
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from benchmark.data.datasets.card import Card, CardDataset

RECORDINGS = [f"r{number:02}" for number in range(12)]
ROWS = [
    f"{name},p{number % 8},{'AF;STD' if number == 3 else ('SR', 'AFIB')[number % 2]},"
    f"{('train', 'train', 'val', 'test')[number % 4]},report {number},{'FM'[number % 2]},{40 + number}"
    for number, name in enumerate(RECORDINGS)
]
HEADER = "id,person,rhythm,set,text,sex,years"
CONTENT: dict[str, Any] = {
    "name": "ours",
    "signals": {"files": "waves/{recording}.hea"},
    "table": {"file": "labels.csv", "recording": "id", "patient": "person"},
    "labels": {"column": "rhythm", "classes": ["SR", "AF"], "values": {"AF": ["AFIB", "AF"]}},
}


@pytest.fixture(scope="session")
def written(
    tmp_path_factory: pytest.TempPathFactory, make_ecg: Callable[..., Any], write_record: Callable[..., Path]
) -> Path:
    """The folder `own`, with waves/ and labels.csv."""
    root = tmp_path_factory.mktemp("written") / "own"
    for name in RECORDINGS:
        write_record(root / "waves" / name, make_ecg(seconds=2.0))
    (root / "labels.csv").write_text("\n".join([HEADER, *ROWS, ""]))
    return root


@pytest.fixture
def folder(written: Path, tmp_path: Path) -> Path:
    """A copy of it to change."""
    return Path(shutil.copytree(written, tmp_path / "own"))


@pytest.fixture(scope="session")
def made() -> Callable[..., Card]:
    """The card of that folder; a section given is laid over it key by key, None takes it away."""

    def make(**sections: Any) -> Card:
        content = {**CONTENT}
        for name, value in sections.items():
            section = {**content.get(name, {}), **value} if isinstance(value, dict) else value
            content[name] = {k: v for k, v in section.items() if v is not None} if isinstance(value, dict) else value
        return Card.model_validate({name: value for name, value in content.items() if value is not None})

    return make


@pytest.fixture
def opened(folder: Path, made: Callable[..., Card]) -> Callable[..., CardDataset]:
    """The dataset of the card in that folder."""
    return lambda **sections: CardDataset(made(**sections), folder)
