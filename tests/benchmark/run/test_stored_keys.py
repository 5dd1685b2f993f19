"""Stored work under other keys: pretrainings of the earlier form with thread counts, and why cells do not match."""

from __future__ import annotations

import json
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import torch

from benchmark.config.load import load_config
from benchmark.results.cards import card_bytes
from benchmark.results.keys import digest
from benchmark.results.names import CARD
from benchmark.results.plan import Plan, PlannedCell
from benchmark.results.rows import Predictions, Row
from benchmark.results.store import Store
from benchmark.run.cell import place_of, results_versions
from benchmark.run.grid import Grid, expand
from benchmark.run.stored_keys import (
    MOST_LINES,
    as_stored,
    earlier_lines,
    other_ranks_lines,
    stored_pretrainings,
    unmatched_lines,
)
from benchmark.training.evaluations import finetune
from benchmark.training.weights import CHECKPOINT
from methods.pmq import PMQ
from tests.basic import BASIC

BASE: dict[str, Any] = {
    "methods": ["random", "pmq"],
    "seeds": [41, 42],
    "ratios": [0.3, 0.1],
    "gates": ["features"],
    "evaluate": ["finetune"],
}
MODE = {"device": "cpu", "precision": "float32"}
NOTHING = Predictions(np.empty(0, np.float32), np.empty(0, np.int64), np.empty(0, np.str_), np.empty(0, np.str_))


def grid_of(overrides: dict[str, Any] | None = None, data: str = "data", mode: dict[str, str] | None = None) -> Grid:
    config = load_config(BASIC, BASE | (overrides or {}))
    return expand(config, corpus="corpus", fingerprints={"chapman": data}, mode=mode or MODE)


SIZES = {"title": "Chapman", "recordings": 4, "patients": 4}


def keep(grid: Grid, store: Store, overrides: dict[str, Any] | None = None, *, contents: bool = True) -> None:
    """Store the rows, cards and plan of a grid; without `contents` as earlier versions did."""
    config = load_config(BASIC, BASE | (overrides or {})).model_dump(mode="json")
    for cell in grid.cells:
        told = {
            "config": config,
            "data": {"fingerprint": cell.content["data"]},
            "device": {"type": "cpu"},
            "precision": "float32",
            "results_versions": results_versions(cell),
        } | ({"key_content": cell.content} if contents else {})
        texts = {"protocol": "paper", "labels": "single", "notes": []}
        facts: dict[str, Any] = {name: {} for name in ("scores", "undefined", "counts", "coverage", "training")}
        store.save_row(Row(**place_of(cell), **texts, **facts, provenance=told), NOTHING)
    for pretraining in grid.pretrainings:
        card = {"key_content": pretraining.content} if contents else {}
        (store.pretrained / pretraining.key).mkdir(parents=True, exist_ok=True)
        (store.pretrained / pretraining.key / CARD).write_bytes(card_bytes({"key": pretraining.key} | card))
    cells = [PlannedCell(c.key, c.variant.name, c.table, c.dataset, c.ratio, c.seed) for c in grid.cells]
    names = {cell.variant: cell.variant for cell in cells}
    key = digest([cell.key for cell in cells])
    store.save_plan(
        Plan(
            key,
            config,
            names,
            {"chapman": SIZES},
            {"name": "mimic-iv-ecg", "fingerprint": "corpus"} | SIZES,
            cells=cells,
        )
    )


def why(grid: Grid, store: Store) -> list[str]:
    return unmatched_lines(grid.cells, grid, store)


@pytest.fixture
def store(tmp_path: Path) -> Store:
    return Store(tmp_path / "runs")


@pytest.mark.parametrize("count", [1, 7, 64])
def test_a_pretraining_of_the_form_with_threads_is_found_whatever_the_number_here(store: Store, count: int) -> None:
    *_, pmq = grid_of().pretrainings
    old = pmq.content | {"mode": MODE | {"threads": count}}
    (store.pretrained / digest(old)).mkdir(parents=True)
    assert as_stored(pmq.content, stored_pretrainings(store)) == pmq.content  # an empty folder is no pretraining
    (store.pretrained / digest(old) / CHECKPOINT).touch()
    assert as_stored(pmq.content, stored_pretrainings(store)) == old
    (store.pretrained / pmq.key).mkdir()
    (store.pretrained / pmq.key / CARD).touch()
    assert as_stored(pmq.content, stored_pretrainings(store)) == pmq.content


def test_a_finished_one_comes_before_an_interrupted_one_and_the_count_here_first(store: Store) -> None:
    *_, pmq = grid_of().pretrainings
    forms = {n: pmq.content | {"mode": MODE | {"threads": n}} for n in (torch.get_num_threads() + 1, 90, 91)}
    for count, name in zip(forms, (CHECKPOINT, CARD, CARD), strict=True):
        (store.pretrained / digest(forms[count])).mkdir(parents=True)
        (store.pretrained / digest(forms[count]) / name).touch()
    assert as_stored(pmq.content, stored_pretrainings(store)) == forms[90]
    own = pmq.content | {"mode": MODE | {"threads": torch.get_num_threads()}}
    (store.pretrained / digest(own)).mkdir()
    (store.pretrained / digest(own) / CARD).touch()
    assert as_stored(pmq.content, stored_pretrainings(store)) == own


def test_what_another_number_of_ranks_has_begun_is_told_of(store: Store) -> None:
    of = {ranks: grid_of(mode=MODE | ({"ranks": ranks} if ranks > 1 else {})) for ranks in (1, 2, 4)}  # type: ignore[dict-item]
    begun = store.pretrained / of[4].pretrainings[-1].key
    begun.mkdir(parents=True)
    (begun / CHECKPOINT).touch()
    begins = "pmq pretrain seed 42 was begun by 4 ranks and begins anew with"
    why = "their number is part of a result's mode; start 4 to finish what was begun"
    assert other_ranks_lines(of[1].pretrainings, store) == [f"{begins} one process: {why}"]
    assert other_ranks_lines(of[2].pretrainings, store) == [f"{begins} 2 ranks: {why}"]
    assert other_ranks_lines(of[4].pretrainings, store) == []
    (begun / CARD).touch()
    assert other_ranks_lines(of[1].pretrainings, store) == []


def test_cells_on_an_earlier_key_keep_theirs_and_a_line_says_so(store: Store) -> None:
    config, now = load_config(BASIC, BASE), grid_of()
    older = grid_of(mode=MODE | {"threads": 3})  # type: ignore[dict-item]
    assert {cell.key for cell in older.cells if cell.variant.name == "pmq"}.isdisjoint(c.key for c in now.cells)
    keep(older, store)
    stored = stored_pretrainings(store)
    found = expand(
        config,
        corpus="corpus",
        fingerprints={"chapman": "data"},
        mode=MODE,
        form=lambda content: as_stored(content, stored),
    )
    assert [cell.key for cell in found.cells] == [cell.key for cell in older.cells]
    assert all(digest(pretraining.content) == pretraining.key for pretraining in found.pretrainings)
    (line,) = earlier_lines(found)
    assert line.startswith("1 pretrainings are used under their key of an earlier version")
    assert line.endswith("CPU threads (3)")
    assert earlier_lines(now) == []


def test_the_content_of_a_key_is_what_the_key_is_the_digest_of() -> None:
    grid = grid_of()
    assert {c.key for c in grid.cells} == {digest([c.content, c.ratio, c.seed]) for c in grid.cells}
    assert {p.key for p in grid.pretrainings} == {digest(p.content) for p in grid.pretrainings}


CHANGES: dict[str, tuple[dict[str, Any], list[str]]] = {
    "epochs": ({"pretrain.epochs": 60}, ["4 stored cells do not match: pretrain.epochs 60, was 3"]),
    "hidden": ({"encoder.hidden": 32}, ["8 stored cells do not match: encoder.hidden 32, was 16"]),
    "evaluation": ({"finetune.lr": 0.01}, ["8 stored cells do not match: finetune.lr 0.01, was 0.001"]),
    "knob": ({"methods.pmq.momentum": 0.5}, ["4 stored cells do not match: methods.pmq.momentum 0.5, was 0.99"]),
    "two": (
        {"finetune.epochs": 7, "pretrain.epochs": 60},
        [
            "4 stored cells do not match: finetune.epochs 7, was 6",
            "4 stored cells do not match: finetune.epochs 7, was 6; pretrain.epochs 60, was 3",
        ],
    ),
}


@pytest.mark.parametrize("contents", [True, False], ids=["today", "earlier version"])
@pytest.mark.parametrize("change", CHANGES)
def test_the_part_that_differs_is_told(store: Store, change: str, contents: bool) -> None:
    overrides, lines = CHANGES[change]
    keep(grid_of(), store, contents=contents)
    assert why(grid_of(overrides), store) == lines
    assert why(grid_of(), store) == []


@pytest.mark.parametrize("contents", [True, False], ids=["today", "earlier version"])
def test_data_precision_and_results_versions_are_told(
    store: Store, contents: bool, monkeypatch: pytest.MonkeyPatch
) -> None:
    keep(grid_of(), store, contents=contents)
    assert why(grid_of(data="other"), store) == ["12 stored cells do not match: data fingerprint of chapman"]
    assert why(grid_of(mode=MODE | {"precision": "bf16"}), store) == [
        "8 stored cells do not match: precision bf16, was float32"
    ]
    with monkeypatch.context() as patched:
        patched.setattr(finetune, "EVALUATION", replace(finetune.EVALUATION, version=99))
        (line,) = why(grid_of(), store)
        assert line.startswith("8 stored cells do not match: FINETUNE_VERSION 99, was ")
    monkeypatch.setattr(PMQ, "version", 99)
    (line,) = why(grid_of(), store)
    assert line.startswith("4 stored cells do not match: version of pmq 99, was ")


def test_of_several_stored_cells_the_nearest_is_told(store: Store) -> None:
    far = {"pretrain.epochs": 9, "encoder.hidden": 8}
    keep(grid_of(far), store, far)
    keep(grid_of({"pretrain.epochs": 9}), store, {"pretrain.epochs": 9})
    assert "4 stored cells do not match: pretrain.epochs 10, was 9" in why(grid_of({"pretrain.epochs": 10}), store)


def test_other_places_are_not_told_of(store: Store) -> None:
    keep(grid_of({"seeds": [1], "pretrain.epochs": 9}), store)
    assert why(grid_of(), store) == []


def test_one_row_stands_for_all_ratios_and_seeds(store: Store, monkeypatch: pytest.MonkeyPatch) -> None:
    many = {"seeds": list(range(10)), "ratios": [0.5, 0.3, 0.1]}
    keep(grid_of(many), store, many)
    read = []
    original = Path.read_bytes
    monkeypatch.setattr(Path, "read_bytes", lambda path: read.append(path.parent.name) or original(path))
    why(grid_of(many | {"encoder.hidden": 8}), store)
    assert read.count("cells") == 2


def test_a_row_of_which_nothing_is_known_is_told_of_as_such(store: Store) -> None:
    keep(grid_of({"pretrain.epochs": 9}), store, contents=False)
    for path in store.cells.glob("*.json"):
        body = json.loads(path.read_text())
        body["row"]["provenance"] = {}
        path.write_text(json.dumps(body))
    assert why(grid_of(), store) == ["4 stored cells do not match: made before the contents of keys were kept"]


@pytest.mark.attack("code that lies in a results store")
@pytest.mark.parametrize("place", ["methods", "knobs", "ablations", "sweeps", "encoder"])
def test_code_that_the_config_of_a_row_names_is_not_loaded(store: Store, tmp_path: Path, place: str) -> None:
    keep(grid_of({"pretrain.epochs": 9}), store, contents=False)
    code = tmp_path / "code.py"
    code.write_text(f"open({str(tmp_path / 'acted')!r}, 'w').close()")
    named = {"methods": [str(code)], "encoder": {"name": str(code)}}.get(place, {str(code): {}})
    for path in store.cells.glob("*.json"):
        body = json.loads(path.read_text())
        body["row"]["provenance"]["config"][place] = named
        path.write_text(json.dumps(body))
    assert why(grid_of(), store) == ["4 stored cells do not match: made before the contents of keys were kept"]
    assert not (tmp_path / "acted").exists()


def test_many_reasons_are_summed_up(store: Store) -> None:
    methods = ["moco", "byol", "clocs", "pclr", "comet", "etp", "pmq"]
    keep(grid_of({"methods": methods}), store, {"methods": methods})
    knobs = {f"knobs.{name}.encoder_dropout": 0.01 * place for place, name in enumerate(methods, start=2)}
    lines = why(grid_of({"methods": methods} | knobs), store)
    assert len(lines) == MOST_LINES + 1
    assert lines[-1] == "8 stored cells do not match for 2 other reasons"
