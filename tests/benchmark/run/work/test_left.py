"""What is left of a runner's work: claimed whole or not at all, and taken off with all that hangs on it."""

from __future__ import annotations

from dataclasses import replace

from benchmark.machine.process import this_process
from benchmark.results.failures import End, Failure
from benchmark.run.work.claims import CLAIMS, Claims
from benchmark.run.work.left import Left, claimed, left_of, settle, take
from tests.benchmark.run.bench import Bench


def left_in(bench: Bench) -> Left:
    return left_of(bench.missing(), bench.store, Claims(bench.store.root / CLAIMS))


def test_a_pretraining_is_claimed_with_its_stem_or_not_at_all(bench: Bench) -> None:
    claims = Claims(bench.store.root / CLAIMS)
    other = Claims(bench.store.root / CLAIMS, process=this_process()._replace(host="there", pid=7))
    task = replace(bench.grid.pretrainings[0], stem="stem")
    assert claimed(task) == (task.key, "stem")
    assert other.take("stem")
    assert not take(task, claims)
    assert claims.holder(task.key) == ""
    other.release("stem")
    assert take(task, claims)
    assert not other.take("stem")


def test_what_is_left_begins_with_all_and_only_cells_with_an_encoder_are_ready(bench: Bench) -> None:
    left = left_in(bench)
    assert (left.count(), left.ready(), left.failures) == (6, [], 0)
    made = bench.grid.pretrainings[0]
    assert left.claims.take(made.key)
    settle(End(made.key, 1.0, None), left, bench.setup(bench.heard.watch()), stored=False)
    assert not left.has(made)
    assert left.claims.holder(made.key) == ""
    assert {cell.pretrain_key for cell in left.ready()} == {made.key}
    assert (left.count(), len(left.ready())) == (5, 2)


def test_a_failure_is_stored_once_and_takes_the_cells_with_it(bench: Bench) -> None:
    left, (made, *_) = left_in(bench), bench.grid.pretrainings
    settle(End(made.key, 1.0, Failure("ValueError: no", "")), left, bench.setup(bench.heard.watch()), stored=False)
    cells = [cell for cell in bench.grid.cells if cell.pretrain_key == made.key]
    assert bench.store.failures([made.key])[made.key] == Failure("ValueError: no", "")
    failed = bench.store.failures(cell.key for cell in cells)
    assert set(failed.values()) == {Failure("its pretraining failed: ValueError: no", "")}
    assert (left.failures, left.count()) == (3, 3)
    assert not any(map(left.has, cells))


def test_a_failure_that_a_job_has_stored_is_not_written_again(bench: Bench) -> None:
    left, cell = left_in(bench), bench.grid.cells[0]
    file = bench.store.save_failure(cell.key, "as the job said it", "ValueError: no")
    before = file.stat().st_mtime_ns
    settle(End(cell.key, 1.0, Failure("ValueError: no", "")), left, bench.setup(bench.heard.watch()), stored=True)
    assert (file.stat().st_mtime_ns, b"as the job said it" in file.read_bytes()) == (before, True)
    assert bench.heard.lost == {cell.describe(): "ValueError: no"}
