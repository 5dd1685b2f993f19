"""Why stored cells do not match."""

from __future__ import annotations

import json
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from benchmark.results.store import Store
from benchmark.run.grid.cells import Grid
from benchmark.run.grid.unmatched import MOST_LINES, unmatched_lines
from benchmark.training.evaluations import finetune
from methods.pmq import PMQ
from tests.benchmark.run.grid.kept import MODE, grid_of, keep


def why(grid: Grid, store: Store) -> list[str]:
    return unmatched_lines(grid.cells, grid, store)


@pytest.fixture
def store(tmp_path: Path) -> Store:
    return Store(tmp_path / "runs")


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
