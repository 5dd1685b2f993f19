"""The missing work of a grid."""

from __future__ import annotations

import hashlib
import json
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from benchmark.results.cards import card_bytes
from benchmark.results.names import CARD
from benchmark.results.rows import Row
from benchmark.results.store import Store
from benchmark.run.grid.cells import Cell, Pretraining, task_name
from benchmark.run.machine import Machine
from benchmark.training.weights import SOURCE, WEIGHTS
from tests.benchmark.run.bench import Bench, Cohorts, SmallConfig, cell_of, stamps


def test_all_of_a_new_grid_is_missing_and_looking_writes_nothing(bench: Bench, tmp_path: Path) -> None:
    work = bench.missing()
    assert work.cells == bench.grid.cells
    assert work.pretrainings == bench.grid.pretrainings
    assert (len(work.cells), len(work.pretrainings), work.damaged) == (4, 2, ())
    assert list(tmp_path.iterdir()) == []


def test_a_dataset_at_a_time_and_its_gates_last(cohorts: Cohorts, small_config: SmallConfig, tmp_path: Path) -> None:
    gates = ["frozen", "features", "full-labels"]
    config = small_config({"data.datasets": ["chapman", "cpsc2018"], "gates": gates, "seeds": [1, 2]})
    bench = Bench(config, cohorts, Store(tmp_path / "runs"))
    cells = bench.missing().cells
    assert {cell.key for cell in cells} == {cell.key for cell in bench.grid.cells}
    assert len({cell.key for cell in cells}) == len(cells)
    assert [cell.dataset for cell in cells] == sorted(cell.dataset for cell in cells)
    for name in ("chapman", "cpsc2018"):
        gate = [cell.gate for cell in cells if cell.dataset == name]
        assert gate == sorted(gate, key=bool)
        assert {"features", "full-labels"} <= set(gate)
    frozen = {cell.key for cell in bench.grid.cells if cell.variant.name == "random-frozen" and cell.ratio == 0.5}
    assert {cell.gate for cell in cells if cell.key in frozen} == {""}  # the untrained row of the linear table


def test_task_names_are_unique(bench: Bench, small_config: SmallConfig) -> None:
    bench.config = small_config({"seeds": [1, 2], "ratios": [0.5, 0.1], "protocol": "strict"})
    tasks: list[Cell | Pretraining] = [*bench.grid.cells, *bench.grid.pretrainings]
    assert len({task_name(task) for task in tasks}) == len(tasks) == 20


@pytest.mark.attack("rows damaged, cut or gone")
@pytest.mark.parametrize("damage", ["gone", "cut json", "cut npz", "no npz"])
def test_a_damaged_row_is_done_again_alone(finished: Bench, damage: str) -> None:
    rows, before = finished.rows(), stamps(finished.store)
    key = cell_of(finished, "pmq").key
    file = finished.store.cells / f"{key}.{'npz' if 'npz' in damage else 'json'}"
    content = file.read_bytes()
    file.unlink()
    if damage.startswith("cut"):
        file.write_bytes(content[:-20])
    work = finished.missing()
    assert [cell.key for cell in work.cells] == [key]
    assert work.pretrainings == ()
    assert [key in line for line in work.damaged] == ([] if damage == "gone" else [True])
    assert finished.work_off() == 0
    changed = {path.stem for path, stamp in stamps(finished.store).items() if before.get(path) != stamp}
    assert changed == {key}
    assert finished.rows() == rows


@pytest.mark.attack("cards edited, swapped or damaged")
@pytest.mark.parametrize("name", [WEIGHTS, CARD])
def test_a_damaged_encoder_is_made_again_where_a_cell_needs_it(finished: Bench, name: str) -> None:
    cell = cell_of(finished, "pmq")
    folder = finished.store.pretrained / cell.pretraining.key
    weights, rows = (folder / WEIGHTS).read_bytes(), finished.rows()
    (folder / name).write_bytes((folder / name).read_bytes()[:-20])
    assert finished.missing().pretrainings == ()  # no cell is missing
    (finished.store.cells / f"{cell.key}.json").unlink()
    assert finished.missing().pretrainings == (cell.pretraining,)
    assert finished.work_off() == 0
    assert finished.heard.done == ["pmq pretrain seed 42", cell.describe()]
    assert (folder / WEIGHTS).read_bytes() == weights
    assert finished.rows() == rows


@pytest.mark.attack("cards edited, swapped or damaged")
def test_swapped_encoders_are_made_again_and_told(finished: Bench) -> None:
    folders = [finished.store.pretrained / cell_of(finished, name).pretrain_key for name in ("pmq", "random")]
    rows, weights = finished.rows(), [(folder / WEIGHTS).read_bytes() for folder in folders]
    spare = folders[0].with_name("spare")
    for old, new in ((folders[0], spare), (folders[1], folders[0]), (spare, folders[1])):
        old.rename(new)
    for cell in finished.grid.cells:
        (finished.store.cells / f"{cell.key}.json").unlink(missing_ok=True)
    told = [f"{a / CARD}: this is the card of {b.name}" for a, b in (folders, folders[::-1])]
    assert sorted(finished.missing().damaged) == sorted(told)
    assert finished.work_off() == 0
    assert [(folder / WEIGHTS).read_bytes() for folder in folders] == weights
    assert finished.rows() == rows


def reseal(store: Store, key: str, change: Callable[[Row], Row]) -> None:
    """Change a stored row by hand, under a digest that fits."""
    row = store.load_row(key)
    assert row is not None
    store.save_row(change(row), store.predictions(key))


@pytest.mark.attack("simulated data passed off as real")
@pytest.mark.parametrize("entry", ["data", "corpus"])
def test_a_resealed_row_that_calls_simulated_data_real_is_done_again(finished: Bench, entry: str) -> None:
    key, rows = cell_of(finished, "pmq").key, finished.rows()

    def call_real(row: Row) -> Row:
        facts = row.provenance[entry] | {"simulated": False}
        return replace(row, provenance=row.provenance | {entry: facts})

    reseal(finished.store, key, call_real)
    work = finished.missing()
    assert [cell.key for cell in work.cells] == [key]
    (line,) = work.damaged
    assert line.endswith(f"{key}.json: the row says that its {entry} is real, and here the same data are simulated")
    assert finished.work_off() == 0
    assert finished.rows() == rows


@pytest.mark.attack("rows and cards of another cell under valid digests")
@pytest.mark.parametrize("change", [{"dataset": "ptb-xl"}, {"method": "moco"}, {"ratio": 0.1}, {"seed": 7}])
def test_a_row_of_another_cell_without_the_content_of_its_key_is_done_again(
    finished: Bench, change: dict[str, Any]
) -> None:
    key, rows = cell_of(finished, "pmq").key, finished.rows()
    reseal(finished.store, key, lambda row: replace(row, provenance={**row.provenance, "key_content": None}, **change))
    (line,) = finished.missing().damaged
    assert f"the row's {next(iter(change))} is " in line
    assert finished.work_off() == 0
    assert finished.rows() == rows


@pytest.mark.attack("code that lies in a results store")
def test_a_pretraining_that_brings_code_is_made_again_and_the_code_never_executed(
    finished: Bench, tmp_path: Path
) -> None:
    cell, rows = cell_of(finished, "pmq"), finished.rows()
    folder = finished.store.pretrained / cell.pretrain_key
    code = f"open({str(tmp_path / 'acted')!r}, 'w').close()\n"
    card = json.loads((folder / CARD).read_bytes())
    card["encoder"]["source"] = hashlib.sha256(code.encode()).hexdigest()
    (folder / SOURCE).write_text(code)
    (folder / CARD).write_bytes(card_bytes(card))
    (finished.store.cells / f"{cell.key}.json").unlink()
    (line,) = finished.missing().damaged
    assert (
        line == f"{folder / CARD}: these weights were made with another code of the encoder 'dilated' than this run has"
    )
    assert finished.work_off() == 0
    assert finished.heard.done == ["pmq pretrain seed 42", cell.describe()]
    assert finished.rows() == rows
    assert not (tmp_path / "acted").exists()


def test_an_older_card_is_used_and_told_and_not_for_another_method(
    finished: Bench, caplog: pytest.LogCaptureFixture
) -> None:
    cell = cell_of(finished, "pmq")
    file = finished.store.pretrained / cell.pretrain_key / CARD
    card = json.loads(file.read_bytes())
    for name in ("key", "card_sha256"):
        card.pop(name)
    file.write_text(json.dumps(card))
    (finished.store.cells / f"{cell.key}.json").unlink()
    assert finished.missing().pretrainings == ()
    assert caplog.messages == [f"{file} was written before cards held their key: whose it is cannot be checked"]
    file.write_text(json.dumps(card | {"seed": 1}))
    work = finished.missing()
    assert work.pretrainings == (cell.pretraining,)
    assert work.damaged == (f"{file}: this is the card of another pretraining",)


def test_a_finished_grid_is_finished_on_another_number_of_threads(finished: Bench, two_threads: None) -> None:
    assert finished.missing().cells == ()


def test_a_store_of_keys_that_hold_threads_goes_on_under_them(
    bench: Bench, monkeypatch: pytest.MonkeyPatch, two_threads: None
) -> None:
    with monkeypatch.context() as patched:
        mode = Machine.mode
        patched.setattr(Machine, "mode", lambda self: mode(self) | {"threads": 1})
        assert bench.work_off() == 0
        made = [cell.key for cell in bench.grid.cells]
    assert [cell.key for cell in bench.grid.cells] == made
    assert bench.missing().cells == ()
