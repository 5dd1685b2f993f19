"""Stores damaged or forged at random, before `--dry-run`, `status`, `explain` and `reproduce`: one line, no crash."""

from __future__ import annotations

import io
import json
import shutil
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from hashlib import sha256
from pathlib import Path
from typing import Any

import pytest
from hypothesis import example, given, settings
from hypothesis import strategies as st

from benchmark.cli import dry_run, reproduce
from benchmark.config.flags import Folders
from benchmark.config.refuse import with_settings
from benchmark.results.names import CARD
from benchmark.results.schema import digest
from benchmark.results.store import Store, card_bytes
from benchmark.screen import open_console
from run_benchmark import main
from tests.benchmark.run.bench import MACHINE, Bench, cell_of
from tests.damage import BOUNDED, BYTES, EDITS, Edits, Replacements, cases, edited, replaced

pytestmark = pytest.mark.slow
CASES = settings(BOUNDED, max_examples=cases(75))
NO_PLACE = Folders(None, {}, cache=Path("cache"), simulated=Path("simulated"))
CHANGED = {"pretrain.epochs": 7, "finetune.epochs": 9}
"""Makes cells whose keys no stored cell has."""


class Verbs:
    """The verbs that read a finished store."""

    def __init__(self, bench: Bench, capsys: pytest.CaptureFixture[str]) -> None:
        self.bench, self.capsys = bench, capsys
        self.cell = cell_of(bench, "pmq")
        self.configs = (bench.config, with_settings(bench.config, CHANGED))

    def read(self, root: Path, key: str) -> None:
        """Each verb on a store: it ends, and says at most one line of what is wrong."""
        for words in (["explain", key, "--all"], ["reproduce", key], ["status"]):
            self.capsys.readouterr()
            assert main([*words, "--results", str(root)]) in (0, 1, 2)
            error = self.capsys.readouterr().err
            assert error.count("\n") == bool(error), error
        for config in self.configs:
            out = io.StringIO()
            dry_run.print_dry_run(open_console(out), config, NO_PLACE, MACHINE, root, root / "speed.json")
            assert "to do: " in out.getvalue()


@pytest.fixture
def verbs(told_bench: Bench, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]) -> Verbs:
    """The finished store; `reproduce` compares the stored cell with itself, and no hours are estimated."""

    def not_run(again: reproduce.Again, store: Store, fresh: Store, *given: Any) -> None:
        shutil.copytree(store.root, fresh.root, dirs_exist_ok=True)

    monkeypatch.setattr(reproduce, "run_again", not_run)
    monkeypatch.setattr(dry_run, "sizes_of", lambda *given: ({}, told_bench.prepared))
    monkeypatch.setattr(dry_run, "cost_lines", lambda *given: ())
    return Verbs(told_bench, capsys)


@contextmanager
def copied(verbs: Verbs, folder: Path) -> Iterator[Store]:
    """A copy of the store that may be damaged."""
    store = Store(shutil.copytree(verbs.bench.store.root, folder / "runs"))
    try:
        yield store
    finally:
        shutil.rmtree(store.root)


def seal_row(store: Store, key: str, body: dict[str, Any]) -> str:
    """Put a row in the place of another one, under a valid digest and key, which the plan names; returns the key."""
    own = key
    with suppress(KeyError, TypeError, ValueError):
        own = digest([body["provenance"]["key_content"], body["ratio"], body["seed"]])
    envelope = json.loads((store.cells / f"{key}.json").read_bytes())
    if "key" in body:
        body["key"] = own
    sums = {"row": body, "row_sha256": sha256(json.dumps(body, sort_keys=True).encode()).hexdigest()}
    (store.cells / f"{key}.json").unlink()
    (store.cells / f"{own}.json").write_text(json.dumps(envelope | sums))
    (store.cells / f"{key}.npz").rename(store.cells / f"{own}.npz")
    for plan in store.plans.glob("*.json"):
        plan.write_text(plan.read_text().replace(key, own))
    return own


def body_of(store: Store, key: str) -> dict[str, Any]:
    return dict(json.loads((store.cells / f"{key}.json").read_bytes())["row"])


@pytest.mark.attack("random changes of a row before every verb")
@CASES
@given(edits=EDITS, content=st.booleans())
def test_any_row_that_vouches_for_itself(edits: Edits, content: bool, verbs: Verbs, tmp_path: Path) -> None:
    key = verbs.cell.key
    with copied(verbs, tmp_path) as store:
        body = body_of(store, key)
        part = body["provenance"] if content else body
        changed = edited(part, edits)
        body = body | {"provenance": changed} if content else changed
        verbs.read(store.root, seal_row(store, key, body))


@pytest.mark.attack("random changes of a card before every verb")
@CASES
@given(edits=EDITS, content=st.booleans())
@example(edits=[(0.25, "set", "a\nb")], content=False)
def test_any_card_that_vouches_for_itself(edits: Edits, content: bool, verbs: Verbs, tmp_path: Path) -> None:
    cell = verbs.cell
    with copied(verbs, tmp_path) as store:
        folder = store.pretrained / cell.pretrain_key
        card = json.loads((folder / CARD).read_bytes())
        card = card | {"key_content": edited(card["key_content"], edits)} if content else edited(card, edits)
        try:
            own = digest(card["key_content"])
        except (KeyError, ValueError):
            own = cell.pretrain_key
        folder = folder.rename(store.pretrained / own)
        (folder / CARD).write_bytes(card_bytes(card | {"key": own}))
        body = body_of(store, cell.key) | {"pretrain_key": own}
        body["provenance"]["key_content"]["pretrain"] = own
        verbs.read(store.root, seal_row(store, cell.key, body))


@pytest.mark.attack("random changes of a plan before every verb")
@CASES
@given(edits=EDITS)
def test_any_plan(edits: Edits, verbs: Verbs, tmp_path: Path) -> None:
    with copied(verbs, tmp_path) as store:
        (file,) = store.plans.glob("*.json")
        file.write_text(json.dumps(edited(json.loads(file.read_bytes()), edits)))
        verbs.read(store.root, verbs.cell.key)


@pytest.mark.attack("random bytes in a store before every verb")
@CASES
@given(edits=BYTES, which=st.floats(0, 0.9999))
def test_any_bytes(edits: Replacements, which: float, verbs: Verbs, tmp_path: Path) -> None:
    with copied(verbs, tmp_path) as store:
        files = sorted(path for path in store.root.rglob("*") if path.is_file())
        file = files[int(which * len(files))]
        file.write_bytes(replaced(file.read_bytes(), edits))
        verbs.read(store.root, verbs.cell.key)
