"""What of a run a report is told besides its rows.

Why stored cells do not match.
"""

from __future__ import annotations

import json
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest
import torch

from benchmark.config.config import Config
from benchmark.data.corpus import corpus_of, pretrained_entries
from benchmark.data.prepare import Prepared
from benchmark.machine.device import Machine
from benchmark.results.files import content_digest
from benchmark.results.store import Store
from benchmark.run.grid import Grid, make_grid
from benchmark.run.plan import MOST_LINES, cache_miss_lines, compared, make_plan
from benchmark.training import evaluations
from methods.pmq import PMQ
from tests.benchmark.run.kept_grid import MODE, grid_of, keep

MACHINE = Machine(torch.device("cpu"), "float32", 1)
SmallConfig = Callable[..., Config]
Cohorts = dict[str, Prepared]


def test_a_plan_holds_what_a_report_needs(cohorts: Cohorts, small_config: SmallConfig, tmp_path: Path) -> None:
    config, store = small_config(), Store(tmp_path)
    grid = make_grid(config, cohorts, MACHINE)
    plan = make_plan(config, cohorts, grid)
    assert [cell.key for cell in plan.cells] == [cell.key for cell in grid.cells]
    assert plan.variants == {"random": "Random", "pmq": "PMQ"}
    chapman = cohorts["chapman"]
    facts = plan.datasets["chapman"]
    assert (facts["title"], facts["simulated"]) == ("Chapman", True)
    assert (facts["recordings"], facts["patients"]) == (
        len(chapman.entries),
        len({entry.patient for entry in chapman.entries}),
    )
    assert sum(facts["skipped"].values()) == len(chapman.skipped)
    assert plan.pretraining["name"] == "mimic-iv-ecg"
    assert plan.pretraining["used_recordings"] <= plan.pretraining["recordings"]
    store.save_plan(plan)
    assert store.load_plan() == plan
    assert make_plan(config, cohorts, grid).key == plan.key
    other = make_plan(small_config({"caption": "Other words."}), cohorts, grid)
    assert (other.key != plan.key, other.cells) == (True, plan.cells)


@pytest.mark.parametrize("corpus", ["mimic-iv-ecg", "ptb-xl"])
def test_a_plan_counts_what_is_pretrained_on(cohorts: Cohorts, small_config: SmallConfig, corpus: str) -> None:
    config = small_config({"data.pretrain": corpus})
    spec, facts = config.task_spec(config.pretrain), make_plan(config, cohorts, Grid((), (), ())).pretraining
    source = corpus_of(cohorts[corpus], spec, torch.device("cpu"))
    assert facts["used_recordings"] == len(source.recording.unique())
    assert facts["used_patients"] == len(source.patient.unique())
    folds = {entry.fold for entry in pretrained_entries(cohorts[corpus], spec)}
    assert folds <= ({*range(1, 9)} if corpus == "ptb-xl" else {None})


def why(grid: Grid, store: Store) -> list[str]:
    return cache_miss_lines(grid.cells, grid, store)


@pytest.fixture
def store(tmp_path: Path) -> Store:
    return Store(tmp_path / "runs")


def rewrite(path: Path, change: Callable[[dict[str, Any]], object]) -> None:
    """Change a row under a valid digest."""
    envelope = json.loads(path.read_text())
    change(envelope["row"])
    envelope["row_sha256"] = content_digest(envelope["row"])
    path.write_text(json.dumps(envelope))


def unsealed(path: Path) -> None:
    path.write_text(path.read_text().replace('"seed": 41', '"seed": 43'))


def without_predictions(path: Path) -> None:
    path.with_suffix(".npz").unlink()


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


@pytest.mark.parametrize("change", CHANGES)
def test_the_part_that_differs_is_told(store: Store, change: str) -> None:
    overrides, lines = CHANGES[change]
    keep(grid_of(), store)
    assert why(grid_of(overrides), store) == lines
    assert why(grid_of(), store) == []


def test_data_precision_and_results_versions_are_told(store: Store, monkeypatch: pytest.MonkeyPatch) -> None:
    keep(grid_of(), store)
    assert why(grid_of(data="other"), store) == ["12 stored cells do not match: data fingerprint of chapman"]
    assert why(grid_of(mode=MODE | {"precision": "bf16"}), store) == [
        "8 stored cells do not match: precision bf16, was float32"
    ]
    with monkeypatch.context() as patched:
        patched.setitem(evaluations.EVALUATIONS, "finetune", replace(evaluations.FINETUNE, version=99))
        (line,) = why(grid_of(), store)
        assert line.startswith("8 stored cells do not match: FINETUNE_VERSION 99, was ")
    monkeypatch.setattr(PMQ, "version", 99)
    (line,) = why(grid_of(), store)
    assert line.startswith("4 stored cells do not match: version of pmq 99, was ")


def test_of_several_stored_cells_the_nearest_is_told(store: Store) -> None:
    far = {"pretrain.epochs": 9, "encoder.hidden": 8}
    keep(grid_of(far), store, far)
    keep(grid_of({"pretrain.epochs": 9}), store, {"pretrain.epochs": 9})
    keep(grid_of({"seeds": [1], "pretrain.epochs": 9}), store)  # of other places
    assert "4 stored cells do not match: pretrain.epochs 10, was 9" in why(grid_of({"pretrain.epochs": 10}), store)


def test_one_row_stands_for_all_ratios_and_seeds(store: Store, monkeypatch: pytest.MonkeyPatch) -> None:
    many = {"seeds": list(range(10)), "ratios": [0.5, 0.3, 0.1]}
    keep(grid_of(many), store, many)
    read = []
    original = Store.load_row
    monkeypatch.setattr(Store, "load_row", lambda *given: read.append(given[1]) or original(*given))
    why(grid_of(many | {"encoder.hidden": 8}), store)
    assert len(read) == 2


@pytest.mark.parametrize("place", ["methods", "sweeps", "encoder"])
def test_code_that_the_config_of_a_row_names_is_not_loaded(store: Store, tmp_path: Path, place: str) -> None:
    keep(grid_of({"pretrain.epochs": 9}), store, contents=False)
    code = tmp_path / "code.py"
    code.write_text(f"open({str(tmp_path / 'acted')!r}, 'w').close()")
    named = {"methods": [str(code)], "encoder": {"name": str(code)}}.get(place, {str(code): {}})
    for path in store.cells.glob("*.json"):
        rewrite(path, lambda row: row["provenance"]["config"].update({place: named}))
    assert why(grid_of(), store) == ["4 stored cells do not match: what their keys are made of is not known"]
    assert not (tmp_path / "acted").exists()


@pytest.mark.parametrize("damage", [unsealed, without_predictions])
def test_a_row_that_cannot_be_read_is_told_of_in_a_line(store: Store, damage: Callable[[Path], None]) -> None:
    keep(grid_of({"pretrain.epochs": 9}), store)
    for path in store.cells.glob("*.json"):
        damage(path)
    assert why(grid_of(), store) == ["4 stored cells do not match: damaged, or of another version"]


def test_a_plan_that_is_gone_is_passed_over(store: Store) -> None:
    keep(grid_of({"pretrain.epochs": 9}), store)
    (store.plans / "gone.json").symlink_to(store.plans / "nowhere")
    assert why(grid_of(), store) == ["4 stored cells do not match: pretrain.epochs 3, was 9"]


def test_a_stored_text_is_told_in_one_line_of_bounded_length() -> None:
    assert compared({"knob": 1}, {"knob": "a\nb"}) == ("knob 1, was a b",)
    (line,) = compared({}, {"x" * 2000: 1})
    assert len(line) < 600
    assert line.endswith(" ...")


def test_many_reasons_are_summed_up(store: Store) -> None:
    methods = ["moco", "byol", "clocs", "pclr", "comet", "etp", "pmq"]
    keep(grid_of({"methods": methods}), store, {"methods": methods})
    knobs = {f"knobs.{name}.encoder_dropout": 0.01 * place for place, name in enumerate(methods, start=2)}
    lines = why(grid_of({"methods": methods} | knobs), store)
    assert len(lines) == MOST_LINES + 1
    assert lines[-1] == "8 stored cells do not match for 2 other reasons"
