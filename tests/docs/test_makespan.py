"""The simulated makespan: by hand on small orders, within its bounds on many, and that of the engines themselves."""

from __future__ import annotations

import random
import time
from collections.abc import Iterator

import pytest

from benchmark.config.sections import EngineSection
from benchmark.extras.slurm import batches_of
from benchmark.run.local import Local, Order, Task
from docs.evidence.scaling.makespan import Makespan, as_local, as_slurm

ONE_BY_ONE = EngineSection(name="slurm", tasks_per_job=1)


def whole(name: str, seconds: float) -> Task[None]:
    return Task(name, name, None, seconds=seconds, is_pretraining=True)


def cells(after: str, *seconds: float) -> list[Task[None]]:
    return [Task(f"{after}{n}", f"{after}{n}", None, after, own) for n, own in enumerate(seconds)]


def test_cells_begin_as_soon_as_their_own_pretraining_has_ended() -> None:
    found = as_local([whole("p", 5), whole("q", 3), *cells("p", 1, 1), *cells("q", 4)], 2)
    assert dict(found.begun) == {"p": 0, "q": 0, "q0": 3, "p0": 5, "p1": 6}
    assert found == Makespan(7, 1.0, ("q", "q0"), 7, found.begun)


def test_a_device_has_no_more_whole_tasks_than_abreast_and_fills_up_with_others() -> None:
    tasks = [whole("p", 4), whole("q", 4), *cells("", 1, 1, 1)]
    assert dict(as_local(tasks, 1, jobs=2).begun) == {"p": 0, "0": 0, "1": 1, "2": 2, "q": 4}
    assert as_local(tasks, 1, jobs=2).busy == 11 / 16
    assert as_local(tasks, 1, jobs=2, concurrent=2).seconds == 6
    assert as_local(tasks, 2).seconds == 6
    assert as_local(tasks, 3).seconds == 4


def test_a_job_has_a_start_of_its_own_and_shares_it_among_its_cells() -> None:
    tasks = [whole("p", 5), *cells("p", 1, 1, 1, 1)]
    assert as_slurm(tasks, 1, ONE_BY_ONE, job_seconds=2).seconds == 7 + 4 * 3
    assert as_slurm(tasks, 4, ONE_BY_ONE, job_seconds=2).seconds == 7 + 3
    together = as_slurm(tasks, 4, EngineSection(name="slurm", tasks_per_job=2), job_seconds=2)
    assert (together.seconds, together.chain, together.chain_seconds) == (11, ("p", "p0"), 11)
    assert together.busy == pytest.approx((7 + 2 * 4) / (4 * 11))


def test_a_pretraining_of_several_ranks_waits_for_as_many_devices() -> None:
    two = EngineSection(name="slurm", gpus=2)
    tasks = [whole("p", 4), whole("q", 4), *cells("p", 1)]
    assert as_slurm(tasks, 2, two, job_seconds=0).seconds == 9
    assert dict(as_slurm(tasks, 3, two, job_seconds=0).begun) == {"p": 0, "q": 4, "p0": 4}
    with pytest.raises(ValueError, match="a pretraining asks for 2 devices, and there are 1"):
        as_slurm(tasks, 1, two)


def test_what_waits_for_a_task_of_no_order_is_free_and_a_circle_is_refused() -> None:
    assert as_local(cells("done before", 2, 2), 2).seconds == 2
    assert as_local([], 2) == Makespan(0, 1.0, (), 0, ())
    with pytest.raises(ValueError, match="2 tasks wait for one that never ends"):
        as_local([Task("a", "a", None, "b"), Task("b", "b", None, "a")], 1)


def orders() -> Iterator[list[Task[None]]]:
    draw = random.Random(5)
    for _ in range(30):
        pretrainings = [whole(f"p{n}", draw.uniform(1, 50)) for n in range(draw.randrange(6))]
        owners = [*(task.key for task in pretrainings), ""]
        yield pretrainings + [
            Task(f"c{n}", f"c{n}", None, draw.choice(owners), draw.choice([0.0, draw.uniform(0, 9)]))
            for n in range(draw.randrange(60))
        ]


@pytest.mark.parametrize("tasks", list(orders()))
def test_no_makespan_is_beyond_its_bounds_and_nothing_begins_before_it_may(tasks: list[Task[None]]) -> None:
    total, by_key = sum(task.seconds for task in tasks), {task.key: task for task in tasks}
    assert as_local(tasks, 1).seconds == pytest.approx(total)
    for devices in (1, 2, 5, 200):
        for found in (as_local(tasks, devices), as_slurm(tasks, devices, ONE_BY_ONE, job_seconds=0)):
            least = max(found.chain_seconds, total / devices)
            assert least - 1e-9 <= found.seconds <= total / devices + found.chain_seconds + 1e-9  # Graham 1966
            assert found.busy == pytest.approx(total / (devices * found.seconds) if found.seconds else 1)
            start = dict(found.begun)
            assert start.keys() == by_key.keys()
            for key, second in found.begun:
                before = by_key.get(by_key[key].after)
                assert before is None or second >= start[before.key] + before.seconds
                runs = [own for own, begin in found.begun if begin <= second < begin + by_key[own].seconds]
                assert len(runs) <= devices
    assert as_local(tasks, 200).seconds == pytest.approx(as_local(tasks, 200).chain_seconds)


@pytest.mark.parametrize("tasks", list(orders()))
def test_the_jobs_are_those_that_the_engine_hands_over(tasks: list[Task[None]]) -> None:
    settings = EngineSection(name="slurm", tasks_per_job=3, minutes=5)
    batches = batches_of(tasks, most=3, minutes=5)
    found = as_slurm(tasks, 1, settings, job_seconds=7)
    assert sorted(key for key, _ in found.begun) == sorted(batch[0].key for batch in batches)
    assert found.seconds == pytest.approx(sum(task.seconds for task in tasks) + 7 * len(batches))


def sleep(seconds: float, tell: object) -> None:
    time.sleep(seconds)


@pytest.mark.slow
def test_the_order_of_the_engine_local_is_that_of_the_simulation() -> None:
    tasks = [
        Task("p", "p", 0.9, seconds=0.9, is_pretraining=True),
        Task("q", "q", 1.9, seconds=1.9, is_pretraining=True),
        Task("of q", "", 0.9, "q", 0.9),
        Task("of p", "", 0.1, "p", 0.1),
        Task("free", "", 0.9, seconds=0.9),
    ]
    begun: list[str] = []
    list(Local(2).run(Order(tasks, sleep, on_start=lambda task: begun.append(task.key))))
    assert begun == [key for key, _ in as_local(tasks, 1, jobs=2).begun] == ["p", "free", "q", "of p", "of q"]
