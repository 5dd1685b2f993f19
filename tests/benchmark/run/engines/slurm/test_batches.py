"""Which tasks share a job, and which jobs an array."""

from __future__ import annotations

from benchmark.run.engines.engine import Task
from benchmark.run.engines.slurm.batches import arrays_of, batches_of


def cells(count: int, after: str = "", seconds: float = 0.0) -> list[Task[int]]:
    return [Task(f"{after} {number}", "", number, after, seconds) for number in range(count)]


def sizes(tasks: list[Task[int]], *, most: int = 100, minutes: float = 60) -> list[int]:
    return [len(batch.tasks) for batch in batches_of(tasks, most=most, minutes=minutes)]


def test_a_pretraining_is_alone_and_cells_of_two_encoders_share_no_job() -> None:
    tasks = [Task("p", "", 0, whole=True), *cells(3, "p"), Task("q", "", 0, whole=True), *cells(2, "q"), *cells(2)]
    found = batches_of(tasks, most=100, minutes=60)
    assert [(batch.whole, batch.after, len(batch.tasks)) for batch in found] == [
        (True, "", 1),
        (True, "", 1),
        (False, "p", 3),
        (False, "q", 2),
        (False, "", 2),
    ]


def test_a_job_has_no_more_tasks_than_asked_for_and_is_expected_within_half_its_limit() -> None:
    assert sizes(cells(10), most=4) == [4, 3, 3]
    assert sizes(cells(10, seconds=60), minutes=10) == [5, 5]
    assert sizes(cells(3, seconds=6000), minutes=10) == [1, 1, 1]


def test_jobs_are_expected_to_take_about_equally_long_and_keep_the_order_of_their_tasks() -> None:
    tasks = [Task(str(number), "", number, seconds=seconds) for number, seconds in enumerate((100, 10, 90, 20, 80, 0))]
    found = batches_of(tasks, most=4, minutes=10)
    assert [[task.work for task in batch.tasks] for batch in found] == [[0, 1, 3, 5], [2, 4]]
    assert [sum(task.seconds for task in batch.tasks) for batch in found] == [130, 170]


def test_an_array_holds_jobs_that_wait_for_one_task_and_no_more_than_the_cluster_takes() -> None:
    batches = batches_of([Task("p", "", 0, whole=True), *cells(5, "p"), *cells(2)], most=1, minutes=60)
    assert [[batch.after for batch in array] for array in arrays_of(batches, 3)] == [
        [""],
        ["p"] * 3,
        ["p"] * 2,
        ["", ""],
    ]
