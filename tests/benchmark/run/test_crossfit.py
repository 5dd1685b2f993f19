"""Datasets that are tested in parts and pretrained on: nobody is tested by an encoder that has seen him.

Two datasets share names of patients. What an encoder saw is what `pretrain` was handed, and what a part tests is what
`learn` was handed: neither is asked of the code that deals.
"""

from __future__ import annotations

import shutil
from dataclasses import replace
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
import pytest

from benchmark.cli.pretrained import find
from benchmark.cli.tune import check_searchable
from benchmark.config.config import Config
from benchmark.config.errors import ConfigError
from benchmark.data.column import Column
from benchmark.data.datasets.base import DatasetError
from benchmark.data.prepare import Prepared, write_index
from benchmark.data.splits import Part
from benchmark.results.metrics import score_both_units
from benchmark.results.store import Row, Store
from benchmark.run import cell as cell_module
from benchmark.run import pretraining as pretraining_module
from benchmark.run.cell import CellInput, Shared, learn
from benchmark.run.crossfit import DEALT_BY, Columns, crossfitted, parts_of
from benchmark.run.datasets import audit_run, joins_of, make_plan, with_columns
from benchmark.run.grid import Cell
from benchmark.training.finetune import Outcome
from reports.jackknife import leave_one_out
from reports.results import in_unit
from tests.benchmark.run.bench import Bench, Cohorts, SmallConfig
from tests.benchmark.tables import with_cells

PARTS, SEEDS = 3, [41, 42]
BOTH = ["chapman", "cpsc2018"]
CROSSFITTED = {
    "data.datasets": BOTH, "data.pretrain": BOTH, "data.folds": PARTS, "protocol": "strict", "seeds": SEEDS,
    "data.segmentation.beats": "authors", "ratios": [0.5], "subsets": 2, "pretrain.epochs": 1,
    "evaluate": ["linear", "finetune"], "finetune.epochs": 1, "finetune.lr": [1e-3], "linear.strengths": [1.0],
}  # fmt: skip


class Handed(NamedTuple):
    """The patients that a part of a cell was handed."""

    cell: Cell
    learned: set[str]
    tested: set[str]


def views_of(config: Config, cohorts: Cohorts, folder: Path) -> dict[str, Prepared]:
    """Corpus and columns of two datasets whose patients are called P0, P1, ... in both, on disk."""
    made = {}
    for name in config.data.corpora:
        data = cohorts[name]
        names = sorted({*data.recordings.patient})
        renamed = with_cells(data, patient=[f"P{names.index(patient)}" for patient in data.recordings.patient])
        made[name] = replace(renamed, folder=folder / name, fingerprint=f"renamed {name}")
        shutil.copytree(data.folder, folder / name)
        write_index(made[name])
    for join in joins_of(config, made, folder):
        write_index(join)
        made[join.name] = join
    return with_columns(config, cohorts | made)


@pytest.fixture(scope="module")
def bench(cohorts: Cohorts, small_config: SmallConfig, tmp_path_factory: pytest.TempPathFactory) -> Bench:
    config, folder = small_config(CROSSFITTED), tmp_path_factory.mktemp("bench")
    return Bench(config, views_of(config, cohorts, folder / "cache"), Store(folder / "runs"))


@pytest.fixture(scope="module")
def handed(bench: Bench) -> tuple[dict[str, set[str]], list[Handed]]:
    """Key of a pretraining -> names of the patients in its corpus; and all parts of all cells."""
    seen, tested, corpus = dict[str, set[str]](), list[Handed](), bench.prepared[bench.config.data.pretrain]
    pretrain = pretraining_module.pretrain

    def pretraining(method: Any, settings: Any, batches: Any, **rest: Any) -> Any:
        names = {corpus.recordings.patient[r].rpartition("/")[2] for r in np.unique(batches.recording.numpy())}
        seen[rest["checkpoint"].parent.name] = names
        return pretrain(method, settings, batches, **rest)

    def learning(inputs: CellInput, task: Any, encoder: Any, known: Shared) -> Outcome:
        sides = {name: set(side.patient.tolist()) for name, side in task.sides().items()}
        tested.append(
            Handed(replace(inputs.cell, pretraining=encoder), sides["train"] | sides["validation"], sides["test"])
        )
        return learn(inputs, task, encoder, known)

    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(pretraining_module, "pretrain", pretraining)
        patch.setattr(cell_module, "learn", learning)
        assert bench.work_off() == 0, bench.heard.failed
    return seen, tested


def test_nobody_is_tested_by_an_encoder_or_a_probe_that_has_seen_him(
    bench: Bench, handed: tuple[dict[str, set[str]], list[Handed]]
) -> None:
    seen, tested = handed
    assert len(seen) == PARTS * len(SEEDS)
    parts_of_cell: dict[str, list[frozenset[str]]] = {}
    dealt: dict[tuple[str, int], set[tuple[frozenset[str], ...]]] = {}
    for part in tested:
        assert part.tested.isdisjoint(part.learned)
        assert part.tested.isdisjoint(seen.get(part.cell.pretrain_key, set()))
        parts_of_cell.setdefault(part.cell.key, []).append(frozenset(part.tested))
    cells = bench.grid.distinct_cells()
    assert parts_of_cell.keys() == {cell.key for cell in cells}
    for cell in cells:
        parts = parts_of_cell[cell.key]
        column = crossfitted(bench.config, bench.prepared)[cell.dataset]
        there = {column.data.recordings.patient[r] for r in column.tested}
        assert len(parts) == PARTS
        assert sum(map(len, parts)) == len(frozenset().union(*parts)) <= len(there)
        dealt.setdefault((cell.dataset, cell.seed), set()).add(tuple(parts))
    assert {len(dealings) for dealings in dealt.values()} == {1}  # for all rows, ratios and labelled subsets
    assert len({next(iter(dealings)) for dealings in dealt.values()}) == len(dealt)
    compared = [part for part in tested if part.cell.pretrain_key in seen]
    assert len({part.cell.pretrain_key for part in compared}) == PARTS * len(SEEDS)


def pmq_row(bench: Bench) -> tuple[Cell, Row]:
    cell = next(cell for cell in bench.grid.cells if cell.parts and cell.evaluation == "linear")
    row = bench.store.load_row(cell.key)
    assert row is not None
    return cell, row


def test_a_ranking_is_the_mean_over_the_parts(bench: Bench, handed: tuple[dict[str, set[str]], list[Handed]]) -> None:
    cell, row = pmq_row(bench)
    assert row.encoders == [pretraining.key for pretraining in cell.parts]
    records = [bench.store.record(key) or {} for key in row.encoders]
    assert [record["key_content"]["part"][0] for record in records] == list(range(PARTS))
    bench.store.save_plan(make_plan(bench.config, bench.prepared, bench.grid))
    for word, seed, key in (("pmq", cell.seed, row.encoders[0]), (row.encoders[2], None, row.encoders[2])):
        exported = find(bench.store.root, word, seed)
        assert exported.folder.name == key
        assert cell.key in [one.key for one in exported.cells]
    test = bench.store.predictions(cell.key)
    assert test.part is not None
    judged = score_both_units(test.probability, test.truth, test.recording, multi=False, part=test.part)
    for unit, scored in judged.items():
        assert scored.values.items() <= row.scores[unit].items()
    alone = []
    for number in range(PARTS):
        here = test.part == number
        values = score_both_units(test.probability[here], test.truth[here], test.recording[here], multi=False)
        alone.append(values["recording"].values["auroc"])
    assert row.scores["recording"]["auroc"] == pytest.approx(np.mean(alone))
    together = score_both_units(test.probability, test.truth, test.recording, multi=False)["recording"].values
    assert row.scores["recording"]["f1"] == together["f1"]
    assert row.scores["recording"]["auroc"] != together["auroc"]
    for unit in ("heartbeat", "recording"):
        left_out = leave_one_out(in_unit(test, unit), ["auroc", "f1"], multi=False)
        assert left_out["auroc"][0] == pytest.approx(row.scores[unit]["auroc"])
        rest = test.patient != sorted(set(test.patient))[3]
        without = [values[rest] for values in (test.probability, test.truth, test.recording)]
        expected = score_both_units(*without, multi=False, part=test.part[rest])[unit].values  # type: ignore[misc]
        assert left_out["auroc"][4] == pytest.approx(expected["auroc"])


def test_encoders_of_one_cell_share_no_features(
    bench: Bench, handed: tuple[dict[str, set[str]], list[Handed]], monkeypatch: pytest.MonkeyPatch
) -> None:
    cell, _ = pmq_row(bench)
    inputs, known = CellInput(cell, bench.config, bench.context()), Shared()
    spec = cell_module.spec_of(bench.config, "linear", cell.dataset)
    task = cell_module.folds_of(inputs, Column(bench.prepared[cell.dataset], spec), known)[0]
    one, other = (learn(inputs, task, part, known).probability for part in cell.parts[:2])
    again = learn(inputs, task, cell.parts[1], Shared()).probability
    np.testing.assert_array_equal(other, again)
    assert not np.array_equal(one, other)


def test_a_cell_refuses_an_encoder_that_has_seen_whom_it_tests(
    bench: Bench, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    config = bench.config.model_copy(update={"evaluate": ["linear"], "seeds": SEEDS[:1], "subsets": 1})
    mistaken = Bench(config, bench.prepared, Store(tmp_path / "runs"))

    def dealt_otherwise(columns: Columns, seed: int) -> list[Part]:
        return parts_of(columns, seed + 1)

    monkeypatch.setattr(pretraining_module, "parts_of", dealt_otherwise)
    assert mistaken.work_off() == 2
    assert all("of its test patients, P" in line for line in mistaken.heard.failed.values())
    assert {name.split()[0] for name in mistaken.heard.failed} == {"pmq"}


def test_a_column_tested_otherwise_has_the_first_parts_encoder(
    bench: Bench, cohorts: Cohorts, small_config: SmallConfig
) -> None:
    trained = [one for one in bench.grid.pretrainings if one.method.trains]
    assert len(trained) == len({one.key for one in trained}) == PARTS * len(SEEDS)
    assert len([one for one in bench.grid.pretrainings if not one.method.trains]) == len(SEEDS)
    assert all(cell.content[DEALT_BY][0] == cell.seed for cell in bench.grid.cells)
    config = small_config(CROSSFITTED | {"data.datasets": [*BOTH, "ptb-xl"]})
    grid = Bench(config, bench.prepared | {"ptb-xl": cohorts["ptb-xl"]}, bench.store).grid
    for cell in grid.cells:
        if cell.dataset == "ptb-xl" and cell.pretraining and cell.pretraining.method.trains:
            assert (cell.parts, cell.pretraining.part, DEALT_BY in cell.content) == ((), 0, False)


def test_a_dataset_that_is_tested_in_parts_beside_the_corpus_is_dealt_with_it(
    bench: Bench, small_config: SmallConfig
) -> None:
    """Its patients may be those of the corpus: equal names are one person."""
    config = small_config(CROSSFITTED | {"data.pretrain": "chapman"})
    assert list(crossfitted(config, bench.prepared)) == BOTH
    assert crossfitted(small_config(CROSSFITTED | {"data.pretrain": "mimic-iv-ecg"}), bench.prepared) == {}
    grid = Bench(config, bench.prepared, bench.store).grid
    assert {len(cell.parts) for cell in grid.cells if cell.variant.name == "pmq"} == {PARTS}
    assert (leaks_with_copy(bench, config, "P1"), len(leaks_with_copy(bench, config, "P2"))) == ([], 1)


def leaks_with_copy(bench: Bench, config: Config, patient: str) -> list[str]:
    """Leaks where a recording of P1 in one dataset is also one of a patient in the other."""
    one, other = (bench.prepared[name] for name in BOTH)
    digests = [*other.recordings.digest]
    digests[[*other.recordings.patient].index(patient)] = one.recordings.digest[[*one.recordings.patient].index("P1")]
    changed = {"cpsc2018": with_cells(other, digest=digests)}
    warnings = audit_run(config, bench.prepared | changed, allow_leak=True)
    return [text for text in warnings if "both pretrained on" in text]


def test_a_recording_under_two_names_is_a_leak(bench: Bench) -> None:
    audit_run(bench.config, bench.prepared)
    assert leaks_with_copy(bench, bench.config, "P1") == []
    assert len(leaks_with_copy(bench, bench.config, "P2")) == 1


def test_what_has_one_encoder_is_refused_or_says_so(bench: Bench, cohorts: Cohorts, small_config: SmallConfig) -> None:
    plan = make_plan(bench.config, bench.prepared, bench.grid)
    assert [facts["crossfitted"] for facts in plan.datasets.values()] == [True, True]
    everyone = {patient for name in BOTH for patient in bench.prepared[name].recordings.patient}
    assert 0.4 < plan.pretraining["used_patients"] / len(everyone) / 2 < 0.7
    config = small_config(
        CROSSFITTED | {"data.datasets": ["chapman", "ptb-xl.rhythm@chapman.all"], "data.pretrain": "chapman"}
    )
    with pytest.raises(DatasetError, match=r"^ptb-xl.rhythm@chapman.all: everybody in chapman .*data\.folds=null"):
        joins_of(config, cohorts, Path())
    with pytest.raises(ConfigError, match=r"^tune: every patient is tested \(data.folds=3\).*data.folds=null"):
        check_searchable(bench.config)
