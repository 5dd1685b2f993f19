"""Budgets, snapshots and sweeps of config keys: their rows and keys, and that shared updates are done once."""

from __future__ import annotations

import hashlib
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest
import torch

from benchmark.config.config import Config, load_config
from benchmark.config.errors import ConfigError
from benchmark.data.prepare import Prepared
from benchmark.machine.device import Machine
from benchmark.results.names import SNAPSHOT, SWEEP
from benchmark.results.store import Store
from benchmark.run.claims import CLAIMS, Claims
from benchmark.run.estimate import Size, pairs_trained
from benchmark.run.grid import Grid, Pretraining, expand, make_grid
from benchmark.run.jobs import NO_PROGRESS, RunContext, missing
from benchmark.run.pretraining import STEMS
from benchmark.run.runner import do
from benchmark.training.checkpoint import WEIGHTS
from benchmark.training.pretrain import DECAY_SHARE
from methods.byol import BYOL
from tests.basic import BASIC

MACHINE = Machine(torch.device("cpu"), "float32", 1)
MODE = {"device": "cpu", "precision": "float32"}
PLAIN: dict[str, Any] = {"methods": ["random", "moco", "pmq"], "gates": [], "ratios": [0.3, 0.1], "seeds": [41]}
STABLE = {"pretrain.recipe.schedule": "stable"}
SmallConfig = Callable[..., Config]
Cohorts = dict[str, Prepared]


def grid_of(overrides: dict[str, Any]) -> Grid:
    config = load_config(BASIC, {**PLAIN, **overrides})
    return expand(config, corpus="corpus", fingerprints={"chapman": "data"}, mode=MODE)


def by_name(grid: Grid) -> dict[str, Pretraining]:
    """Row -> pretraining of its cells."""
    return {cell.variant.name: cell.pretraining for cell in grid.cells if cell.pretraining}


def worked_off(config: Config, cohorts: Cohorts, root: Path) -> tuple[Grid, Store, dict[str, int]]:
    """The grid and its store after the work, and the updates that each pretraining did."""
    store, steps = Store(root), dict[str, int]()

    def inner(task: str, done: int, total: int, text: str) -> None:
        steps[task] = steps.get(task, 0) + 1

    grid = make_grid(config, cohorts, MACHINE)
    watch = replace(NO_PROGRESS, inner=inner)
    assert do(missing(grid, store), RunContext(config, cohorts, store, MACHINE, watch)) == 0
    return grid, store, steps


def weights_of(grid: Grid, store: Store) -> dict[str, str]:
    """Row -> digest of its encoder's weights."""
    return {
        name: hashlib.sha256((store.pretrained / own.key / WEIGHTS).read_bytes()).hexdigest()
        for name, own in by_name(grid).items()
    }


def test_a_snapshot_is_a_row_with_its_own_number_of_epochs_at_the_smallest_ratio() -> None:
    grid = grid_of({"pretrain.snapshots": [0.5, 1, 3]})
    rows = [variant for variant in grid.variants if variant.role == SNAPSHOT]
    assert [(row.name, row.of, row.value) for row in rows] == [
        *(("moco@0.5", "moco", 0.5), ("moco@1", "moco", 1), ("moco@3", "moco", 3)),
        *(("pmq@0.5", "pmq", 0.5), ("pmq@1", "pmq", 1), ("pmq@3", "pmq", 3)),
    ]
    assert [row.title for row in rows[3:]] == ["PMQ, 0.5 epochs", "PMQ, 1 epoch", "PMQ, 3 epochs"]
    assert {cell.ratio for cell in grid.cells if cell.variant.role == SNAPSHOT} == {0.1}
    made = by_name(grid)
    assert made["pmq@3"].key == made["pmq"].key, "the demo pretrains 3 epochs"
    assert made["pmq@1"].content | {"epochs": 3} == made["pmq"].content
    assert {own.stem for own in made.values()} == {""}, "cosine: no update of one length is that of another"


def test_keys_do_not_change_where_the_options_are_not_used() -> None:
    before = {cell.key for cell in grid_of({}).cells}
    assert before < {cell.key for cell in grid_of({"pretrain.snapshots": [1, 2]}).cells}
    assert before < {cell.key for cell in grid_of({"sweeps": {"pmq": {"pretrain.epochs": [1]}}}).cells}
    assert {cell.key for cell in grid_of({"pretrain.budget": "epochs", "pretrain.epochs": 3.0}).cells} == before


def test_lengths_of_the_stable_schedule_share_a_stem_of_their_method() -> None:
    made = by_name(grid_of({**STABLE, "pretrain.snapshots": [1, 2]}))
    assert made["pmq"].stem == made["pmq@1"].stem == made["pmq@2"].stem != ""
    assert made["moco"].stem not in ("", made["pmq"].stem)
    assert made["pmq@1"].lengths == (1, 2, 3)
    assert len({made[name].key for name in ("pmq", "pmq@1", "pmq@2")}) == 3
    slower = by_name(grid_of({**STABLE, "pretrain.recipe.lr": 1e-4}))
    assert slower["pmq"].stem != made["pmq"].stem
    passes = by_name(grid_of({**STABLE, "pretrain.budget": "passes"}))
    assert passes["pmq"].stem == made["pmq"].stem, "a budget decides the length alone"
    assert passes["pmq"].key != made["pmq"].key


def test_a_budget_of_passes_rests_on_what_a_method_is_said_to_cost(monkeypatch: pytest.MonkeyPatch) -> None:
    def byol(budget: str) -> str:
        return by_name(grid_of({"methods": ["byol"], "pretrain.budget": budget}))["byol"].key

    before = {budget: byol(budget) for budget in ("epochs", "windows", "passes")}
    assert len(set(before.values())) == 3
    monkeypatch.setattr(BYOL, "encoder_passes", 9.0)
    assert [budget for budget in before if byol(budget) != before[budget]] == ["passes"]


def test_a_budget_of_seconds_rests_on_the_costs_given_for_the_method_and_for_pmq() -> None:
    def byol(**costs: float) -> str:
        given = {"pmq": 2.0, "moco": 1.0, "byol": 4.0} | costs
        seconds = {"pretrain.budget": "seconds", "pretrain.pair_milliseconds": given}
        return by_name(grid_of({"methods": ["byol"], **seconds}))["byol"].key

    assert byol() == byol(moco=3.0)
    assert len({byol(), byol(byol=5.0), byol(pmq=2.5)}) == 3


def test_the_shared_updates_are_done_once_and_give_the_bits_of_every_length_alone(
    cohorts: Cohorts, small_config: SmallConfig, tmp_path: Path
) -> None:
    stable = {**STABLE, "methods": ["pmq"], "pretrain.epochs": 2}
    grid, store, steps = worked_off(small_config({**stable, "pretrain.snapshots": [0.5, 1]}), cohorts, tmp_path / "all")
    found = weights_of(grid, store)
    assert len(set(found.values())) == 3
    per_epoch = steps["pmq pretrain seed 42"] // 2
    assert steps["pmq@1 pretrain seed 42"] == round(DECAY_SHARE * per_epoch)
    for name, epochs in {"pmq": 2, "pmq@1": 1, "pmq@0.5": 0.5}.items():
        alone = worked_off(small_config({**stable, "pretrain.epochs": epochs}), cohorts, tmp_path / name)
        assert weights_of(*alone[:2])["pmq"] == found[name]
        card = store.card(by_name(grid)[name].key)
        own = alone[1].card(by_name(alone[0])["pmq"].key)
        assert card is not None
        assert own is not None
        told = ("loss", "health", "updates", "encoder_passes", "batch_size", "illustration_sha256")
        assert [card[fact] for fact in told] == [own[fact] for fact in told]
    assert [path.name for path in (store.root / STEMS).iterdir()] == [by_name(grid)["pmq"].stem]


def test_a_later_longer_budget_continues_the_stored_stem(
    cohorts: Cohorts, small_config: SmallConfig, tmp_path: Path
) -> None:
    stable = {**STABLE, "methods": ["pmq"], "pretrain.epochs": 1}
    _, _, first = worked_off(small_config(stable), cohorts, tmp_path / "runs")
    _, _, later = worked_off(small_config({**stable, "pretrain.epochs": 2}), cohorts, tmp_path / "runs")
    name = "pmq pretrain seed 42"
    assert later[name] == 2 * first[name] - (first[name] - round(DECAY_SHARE * first[name]))


def test_a_stem_that_another_runner_trains_is_waited_for(
    cohorts: Cohorts, small_config: SmallConfig, tmp_path: Path
) -> None:
    config, store = small_config({**STABLE, "methods": ["pmq"], "pretrain.snapshots": [1]}), Store(tmp_path / "runs")
    grid = make_grid(config, cohorts, MACHINE)
    begun: list[str] = []
    with Claims(store.root / CLAIMS) as other:
        assert other.take(grid.pretrainings[0].stem)

        def waiting(line: str) -> None:
            assert begun == []
            other.release(grid.pretrainings[0].stem)

        watch = replace(NO_PROGRESS, started=begun.append, waiting=waiting)
        assert do(missing(grid, store), RunContext(config, cohorts, store, MACHINE, watch)) == 0
    assert len(begun) == 6
    assert not list((store.root / CLAIMS).glob("*.json"))


@pytest.mark.parametrize(("budget", "share"), [("passes", 0.5), ("seconds", 0.25)])
def test_equal_budgets_give_each_method_its_number_of_updates(
    budget: str, share: float, cohorts: Cohorts, small_config: SmallConfig, tmp_path: Path
) -> None:
    costs = {"pmq": 1.0, "byol": 4.0, "pclr": 2.0}
    given = {"pretrain.pair_milliseconds": costs} if budget == "seconds" else {}
    config = small_config({"methods": list(costs), "pretrain.budget": budget, "pretrain.epochs": 8, **given})
    grid, store, _ = worked_off(config, cohorts, tmp_path / "runs")
    cards = {name: store.card(own.key) or {} for name, own in by_name(grid).items()}
    seen = {name: card["updates"] * card["batch_size"] for name, card in cards.items()}
    assert seen["byol"] / seen["pmq"] == pytest.approx(share, rel=0.05)
    assert cards["pclr"]["windows_per_epoch"] < cards["pmq"]["windows_per_epoch"] + cards["pmq"]["batch_size"]
    measured = {
        "passes": {name: card["encoder_passes"] for name, card in cards.items()},
        "seconds": {name: pairs * costs[name] for name, pairs in seen.items()},
    }[budget]
    assert list(measured.values()) == pytest.approx([measured["pmq"]] * 3, rel=0.05)


def test_the_estimate_leaves_out_the_stem_that_a_longer_pretraining_trains() -> None:
    config = load_config(BASIC, {**PLAIN, **STABLE, "pretrain.snapshots": [1], "pretrain.epochs": 4})
    made = by_name(expand(config, corpus="corpus", fingerprints={"chapman": "data"}, mode=MODE))
    sizes = {"mimic-iv-ecg": Size(100, 2000, exact=True)}
    assert pairs_trained(made["pmq"], config, sizes) == 4000
    assert pairs_trained(made["pmq@1"], config, sizes) == pytest.approx(DECAY_SHARE * 1000)
    assert pairs_trained(replace(made["pmq@1"], lengths=(1,)), config, sizes) == 1000


def test_a_sweep_of_a_config_key_changes_that_key_for_its_row_alone() -> None:
    swept = {
        "pretrain.epochs": [3, 4],
        "encoder.hidden": [8],
        "encoder.name": ["resnet1d"],
        "finetune.lr": [0.5],
        "linear.strengths": [[1.0]],
    }
    grid = grid_of({"sweeps": {"pmq": swept, "random": {"encoder.hidden": [8]}}, "evaluate": ["finetune", "linear"]})
    assert [v.name for v in grid.variants if v.role == SWEEP] == [
        "pmq:pretrain.epochs=3", "pmq:pretrain.epochs=4", "pmq:encoder.hidden=8", "pmq:encoder.name=resnet1d",
        "pmq:finetune.lr=0.5", "pmq:linear.strengths=[1.0]", "random:encoder.hidden=8",
    ]  # fmt: skip
    made = by_name(grid)
    assert made["pmq:pretrain.epochs=3"].key == made["pmq:finetune.lr=0.5"].key == made["pmq"].key
    assert made["pmq:pretrain.epochs=4"].content["epochs"] == 4
    assert made["pmq:encoder.hidden=8"].content["encoder"]["hidden"] == 8
    other = by_name(grid_of({"encoder.name": "resnet1d"}))["pmq"]
    assert made["pmq:encoder.name=resnet1d"].key == other.key
    assert made["random:encoder.hidden=8"].key != made["random"].key
    cells = {(cell.variant.name, cell.evaluation): cell for cell in grid.cells if cell.ratio == 0.1}
    assert cells["pmq:finetune.lr=0.5", "finetune"].content["settings"]["lr"] == 0.5
    assert cells["pmq:finetune.lr=0.5", "linear"].key == cells["pmq", "linear"].key
    assert cells["pmq:linear.strengths=[1.0]", "linear"].content["settings"] == {"strengths": [1.0]}


def test_a_swept_config_key_acts(cohorts: Cohorts, small_config: SmallConfig, tmp_path: Path) -> None:
    """A row of the sweep has the encoder and the scores of a run whose config has that value."""
    base = {"methods": ["pmq"]}
    swept = {"encoder.hidden": [6], "finetune.beats_per_trial": [4]}
    grid, store, _ = worked_off(small_config({**base, "sweeps": {"pmq": swept}}), cohorts, tmp_path / "swept")
    rows = {cell.variant.name: store.load_row(cell.key) for cell in grid.cells if cell.evaluation == "finetune"}
    for key, (value,) in swept.items():
        plain, own, _ = worked_off(small_config({**base, key: value}), cohorts, tmp_path / key)
        row = rows[f"pmq:{key}={value}"]
        (expected,) = (own.load_row(cell.key) for cell in plain.cells if cell.evaluation == "finetune")
        assert row is not None
        assert expected is not None
        assert (row.key, row.scores) == (expected.key, expected.scores)
    hidden = rows["pmq:encoder.hidden=6"]
    assert hidden is not None
    assert hidden.provenance["config"]["encoder"]["hidden"] == 6


@pytest.mark.parametrize(
    ("key", "values", "line"),
    [
        ("momentun", [1], r"unknown config key 'sweeps.pmq.momentun' \(did you mean 'sweeps.pmq.momentum'\?\)"),
        ("finetune.lrr", [1], r"unknown config key 'sweeps.pmq.finetune.lrr' \(did you mean 'sweeps.pmq.finetune.lr'"),
        ("data.labels", ["multi"], "unknown config key 'sweeps.pmq.data.labels'"),
        ("finetune.lr", [0.1, 0], "finetune.lr: input should be greater than 0, got 0"),
        ("encoder.hidden", [0], "encoder.hidden: "),
        ("pretrain.epochs", [-1], "pretrain.epochs: input should be a valid number of epochs"),
    ],
)
def test_a_sweep_of_what_is_not_there_or_cannot_act_is_refused_in_one_line(
    key: str, values: list[Any], line: str
) -> None:
    with pytest.raises(ConfigError, match=line) as caught:
        load_config(BASIC, {**PLAIN, "sweeps": {"pmq": {key: values}}})
    assert "\n" not in str(caught.value)
