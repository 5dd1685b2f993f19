"""Rows, cards and plans damaged or forged at random: each reader gives a checked value or refuses in one line."""

from __future__ import annotations

import hashlib
import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given, settings

from benchmark.results.names import CARD
from benchmark.results.store import BadCard, CorruptRow, NoResults, Plan, Row, Store, card_bytes
from tests.benchmark.run.kept_grid import grid_of, keep
from tests.damage import BOUNDED, EDITS, Edits, cases, edited

pytestmark = pytest.mark.slow
MANY = settings(BOUNDED, max_examples=cases(600))


@pytest.fixture
def store(tmp_path: Path) -> Store:
    own = Store(tmp_path / "runs")
    keep(grid_of({"seeds": [41], "ratios": [0.3], "gates": []}), own)
    return own


def read_or_refused(read: Callable[[], Any], kind: type) -> None:
    said, found = "", None
    try:
        found = read()
    except (BadCard, CorruptRow, NoResults) as error:
        said = str(error)
    assert "\n" not in said
    assert said or isinstance(found, kind)


@pytest.mark.attack("random changes of a row under a valid digest")
@MANY
@given(edits=EDITS)
def test_any_row(edits: Edits, store: Store) -> None:
    file = sorted(store.cells.glob("*.json"))[-1]
    own = file.read_bytes()
    envelope = json.loads(own)
    envelope["row"] = edited(envelope["row"], edits)
    envelope["row_sha256"] = hashlib.sha256(json.dumps(envelope["row"], sort_keys=True).encode()).hexdigest()
    file.write_text(json.dumps(envelope))
    read_or_refused(lambda: store.load_row(file.stem), Row)
    file.write_bytes(own)


@pytest.mark.attack("random changes of a card under a valid digest")
@MANY
@given(edits=EDITS)
def test_any_card(edits: Edits, store: Store) -> None:
    file = sorted(store.pretrained.glob(f"*/{CARD}"))[-1]
    own = file.read_bytes()
    file.write_bytes(card_bytes(edited(json.loads(own), edits) | {"key": file.parent.name}))
    read_or_refused(lambda: store.card(file.parent.name), dict)
    file.write_bytes(own)


@pytest.mark.attack("random changes of a plan")
@MANY
@given(edits=EDITS)
def test_any_plan(edits: Edits, store: Store) -> None:
    (file,) = store.plans.glob("*.json")
    own = file.read_bytes()
    file.write_text(json.dumps(edited(json.loads(own), edits)))
    read_or_refused(lambda: store.load_plan(file.stem), Plan)
    file.write_bytes(own)
