"""Which cells go together, and what a killed job leaves.

What is left of a runner's work: claimed whole or not at all, and taken off with all that hangs on it.

The missing work of a grid.

A claim that is no longer renewed is told by the clock of its own file system, and nothing is taken over by it.

A job that no runner watches over does what is free, and leaves in the store how it ended.

A job runs with the code that it was submitted with, or not at all.
"""

from __future__ import annotations

import hashlib
import json
import os
import pickle
import time
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path

import pytest
import torch

from benchmark.machine.processes import this_process
from benchmark.results.names import CARD, EVALUATIONS
from benchmark.results.store import End, Failure, Store, card_bytes
from benchmark.run import claims as claims_module
from benchmark.run import jobs as jobs_module
from benchmark.run.cell import CellJob
from benchmark.run.claims import CLAIMS, Claims
from benchmark.run.grid import Cell, Pretraining, task_name
from benchmark.run.jobs import (
    Job,
    OpenTasks,
    RemoteJob,
    cell_jobs,
    configs_of,
    digests_of_code,
    groups_of,
    killed,
    open_tasks_of,
    pretraining_job,
    read_digests,
    refuse_other_code,
    settle,
)
from benchmark.run.local import Start
from benchmark.run.pretraining import PretrainingJob
from benchmark.training.checkpoint import SOURCE, WEIGHTS
from tests.benchmark.run.bench import Bench, Cohorts, SmallConfig, cell_of, stamps


def jobs_of(bench: Bench) -> list[CellJob]:
    return [
        CellJob(cell, bench.config, bench.prepared[cell.dataset].folder, bench.store.root, "cpu", "float32")
        for cell in bench.grid.cells
    ]


def test_probes_of_all_kinds_share_the_features_of_an_encoder(
    cohorts: Cohorts, small_config: SmallConfig, tmp_path: Path
) -> None:
    every = {"evaluate": [*EVALUATIONS], "gates": ["features", "supervised"], "ratios": [0.5]}
    groups = groups_of(Bench(small_config(every), cohorts, Store(tmp_path / "runs")).grid.cells)
    together = sorted(sorted({cell.evaluation for cell in group}) for group in groups)
    probes = ["attention", "knn", "linear"]
    assert together == [probes, probes, ["features"], ["finetune"], ["finetune"], ["supervised"]]


def test_what_a_killed_process_had_stored_stands(finished: Bench) -> None:
    first, second, *_ = jobs_of(finished)
    (finished.store.root / "cells" / f"{second.cell.key}.json").unlink()
    ends = killed([first, second], RuntimeError("killed"), finished.store)
    assert [(end.key, end.failure) for end in ends] == [
        (first.cell.key, None),
        (second.cell.key, Failure("RuntimeError: killed")),
    ]


def left_in(bench: Bench) -> OpenTasks:
    return open_tasks_of(bench.missing(), bench.store, Claims(bench.store.root / CLAIMS))


def test_what_is_left_begins_with_all_and_only_cells_with_an_encoder_are_ready(bench: Bench) -> None:
    left = left_in(bench)
    assert (len(left.tasks), left.ready, left.failures) == (6, [], 0)
    made = bench.grid.pretrainings[0]
    assert left.claims.take(made.key)
    settle(End(made.key, 1.0, None), left, bench.setup(bench.heard.watch()), stored=False)
    assert made.key not in left.tasks
    assert left.claims.holder(made.key) == ""
    assert {cell.pretrain_key for cell in left.ready} == {made.key}
    assert (len(left.tasks), len(left.ready)) == (5, 2)


def test_a_failure_is_stored_once_and_takes_the_cells_with_it(bench: Bench) -> None:
    left, (made, *_) = left_in(bench), bench.grid.pretrainings
    settle(End(made.key, 1.0, Failure("ValueError: no", "")), left, bench.setup(bench.heard.watch()), stored=False)
    cells = [cell for cell in bench.grid.cells if cell.pretrain_key == made.key]
    assert bench.store.failures([made.key])[made.key] == Failure("ValueError: no", "")
    failed = bench.store.failures(cell.key for cell in cells)
    assert set(failed.values()) == {Failure("its pretraining failed: ValueError: no", "")}
    assert (left.failures, len(left.tasks)) == (3, 3)
    assert not left.tasks.keys() & {cell.key for cell in cells}


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
    assert len({task_name(task) for task in tasks}) == len(tasks) == 52


DAMAGE: dict[str, tuple[Callable[[Path], object], str]] = {
    "gone": (Path.unlink, ""),
    "cut json": (lambda file: file.write_bytes(file.read_bytes()[:-20]), ".json"),
    "cut npz": (lambda file: os.truncate(file.with_suffix(".npz"), 20), ".npz"),
    "no npz": (lambda file: file.with_suffix(".npz").unlink(), ".npz"),
}
"""What happens to a row -> a change of its file, and what is said of it."""


@pytest.mark.parametrize("damage", DAMAGE)
def test_a_damaged_row_is_done_again_alone(finished: Bench, damage: str) -> None:
    rows, before, key = finished.rows(), stamps(finished.store), cell_of(finished, "pmq").key
    change, said = DAMAGE[damage]
    change(finished.store.cells / f"{key}.json")
    work = finished.missing()
    assert ([cell.key for cell in work.cells], work.pretrainings) == ([key], ())
    assert [key in line and said in line for line in work.damaged] == [True] * bool(said)
    assert finished.work_off() == 0
    assert {path.stem for path, stamp in stamps(finished.store).items() if before.get(path) != stamp} == {key}
    assert finished.rows() == rows


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


def test_a_finished_grid_is_finished_on_another_number_of_threads(finished: Bench, two_threads: None) -> None:
    assert finished.missing().cells == ()


def attempt_jobs_of(bench: Bench) -> tuple[dict[str, PretrainingJob], list[tuple[CellJob, ...]]]:
    """The jobs of a bench's pretrainings by their method, and of its cells."""
    grid, setup = bench.grid, bench.setup(bench.heard.watch())
    configs = configs_of(bench.config, grid.cells)
    pretrainings = {task.method.name: pretraining_job(task, configs, setup) for task in grid.pretrainings}
    return pretrainings, cell_jobs(grid.cells, configs, setup)


def attempt(bench: Bench, job: Job, **further: float) -> list[End] | Start:
    own = RemoteJob(bench.store.root, {}, digests_of_code(), late_seconds=further.get("late", 0.0))
    return pickle.loads(pickle.dumps(own))(pickle.loads(pickle.dumps(job)), lambda news: None)


def test_jobs_one_by_one_leave_what_a_runner_leaves(bench: Bench, whole: Bench) -> None:
    pretrainings, groups = attempt_jobs_of(bench)
    assert [attempt(bench, job) for job in (*pretrainings.values(), *groups)] == [[]] * (2 + len(groups))
    assert bench.rows() == whole.rows()
    assert list((bench.store.root / CLAIMS).iterdir()) == []


def test_what_is_done_is_not_done_again_and_what_another_holds_is_left_to_it(
    bench: Bench, monkeypatch: pytest.MonkeyPatch
) -> None:
    pretrainings, _ = attempt_jobs_of(bench)
    job = pretrainings["random"]
    other = Claims(bench.store.root / CLAIMS, process=this_process()._replace(host="there", pid=7))
    assert other.take(job.task.key)
    assert attempt(bench, job) is Start.LATER
    other.release(job.task.key)
    assert attempt(bench, job) == []
    monkeypatch.setattr(jobs_module, "run_to_end", lambda *arguments: pytest.fail("it is done already"))
    assert attempt(bench, job) == []


def test_what_a_dead_host_holds_is_taken_over_after_watching_it_over_several_calls(
    bench: Bench, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(claims_module, "STALE_SECONDS", 0.3)
    pretrainings, _ = attempt_jobs_of(bench)
    job = pretrainings["random"]
    other = Claims(bench.store.root / CLAIMS, process=this_process()._replace(host="there", pid=7))
    assert other.take(job.task.key)
    own = pickle.loads(pickle.dumps(RemoteJob(bench.store.root, {}, digests_of_code())))
    assert own(job, lambda news: None) is Start.LATER
    time.sleep(0.2)
    assert own(job, lambda news: None) is Start.LATER
    time.sleep(0.2)
    assert own(job, lambda news: None) == []
    assert bench.store.card(job.task.key) is not None


def test_a_cell_waits_for_its_encoder_and_fails_with_it(bench: Bench) -> None:
    _, groups = attempt_jobs_of(bench)
    job = next(group for group in groups if group[0].cell.variant.name == "pmq")
    cell = job[0].cell
    assert attempt(bench, job) is Start.LATER
    assert bench.store.failures([cell.key]) == {}
    bench.store.save_pretraining_failure(cell.pretrain_key, "it", "ValueError: no keys today")
    assert attempt(bench, job) == []
    assert bench.store.failures([cell.key])[cell.key] == Failure("its pretraining failed: ValueError: no keys today")


def test_other_code_and_unseen_data_are_refused_before_any_work(bench: Bench, tmp_path: Path) -> None:
    job = attempt_jobs_of(bench)[0]["random"]
    key = job.task.key
    RemoteJob(bench.store.root, {}, {"methods/pmq.py": "of before"})(job, lambda news: None)
    error = bench.store.failures([key])[key].error
    assert error.startswith("ValueError: ")
    assert error.endswith("has been edited since this job was submitted; the same command submits it as it is now")
    (bench.store.pretrained / key / "error.json").unlink()
    assert attempt(bench, replace(job, prepared={"chapman": tmp_path / "nowhere"})) == []
    error = bench.store.failures([key])[key].error
    assert (
        f"does not see the prepared data {tmp_path / 'nowhere'}: put --cache on a folder that all nodes share" in error
    )


def test_a_cell_has_its_threads_however_many_its_process_has(bench: Bench, monkeypatch: pytest.MonkeyPatch) -> None:
    seen: list[int] = []
    monkeypatch.setattr("benchmark.run.jobs.run_job", lambda job, tell: seen.append(torch.get_num_threads()) or [])
    before = torch.get_num_threads()
    torch.set_num_threads(3)
    try:
        pretrainings, groups = attempt_jobs_of(bench)
        own = RemoteJob(bench.store.root, {}, digests_of_code(), cell_threads=1)
        own._run(pretrainings["pmq"], lambda news: None)
        own._run(groups[0], lambda news: None)
        assert torch.get_num_threads() == 3
    finally:
        torch.set_num_threads(before)
    assert seen == [3, 1]


@pytest.fixture
def checkout(tmp_path: Path) -> Path:
    for name in ("benchmark/run/cell.py", "benchmark/cli/look.py", "methods/pmq.py", "tests/test.py"):
        (tmp_path / name).parent.mkdir(parents=True, exist_ok=True)
        (tmp_path / name).write_text("x = 1\n")
    return tmp_path


def test_an_edited_a_new_and_a_removed_file_are_refused_by_name(checkout: Path) -> None:
    before = read_digests(checkout)
    for name in ("benchmark/cli/look.py", "tests/test.py"):  # what no result rests on
        (checkout / name).write_text("x = 2\n")
    refuse_other_code(before, checkout)
    (checkout / "methods/pmq.py").write_text("x = 2\n")
    again = "has been edited since this job was submitted; the same command submits it as it is now"
    with pytest.raises(ValueError, match=rf"^methods/pmq\.py {again}$"):
        refuse_other_code(before, checkout)
    (checkout / "benchmark/run/new.py").touch()
    (checkout / "benchmark/run/cell.py").unlink()
    with pytest.raises(ValueError, match=rf"^benchmark/run/cell\.py and 2 more {again}$"):
        refuse_other_code(before, checkout)
