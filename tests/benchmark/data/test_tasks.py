"""A column is a dataset under a task that it has; a task has names and a fingerprint of its own."""

from __future__ import annotations

from dataclasses import replace

from benchmark.data.prepare import Prepared
from benchmark.data.tasks import TASKS, DatasetTask, columns_of, of_task, open_task_view, tasks_of
from benchmark.results import names

RHYTHM = DatasetTask("ptb-xl", "rhythm")


def test_tasks_are_those_of_the_command_line_merl_s_are_shuffled_and_ptb_xl_s_follow_its_folds() -> None:
    assert set(names.TASKS) == {names.DEFAULT_TASK, *(task for tasks in TASKS.values() for task in tasks)}
    merl = {name: (len(item["all"].classes), item["all"].sides) for name, item in TASKS.items() if "all" in item}
    merl.pop("ptb-xl")
    assert merl == {"chapman": (38, "shuffled"), "ningbo": (38, "shuffled"), "cpsc2018": (9, "shuffled")}
    assert {task.sides for task in TASKS["ptb-xl"].values()} == {"protocol"}


def test_a_dataset_takes_the_tasks_that_it_has() -> None:
    columns = columns_of(["ptb-xl", "cpsc2018", "ours"], ["all", "rhythm", "default"])
    assert [column.name for column in columns] == [
        *("ptb-xl.all", "ptb-xl.rhythm", "ptb-xl"),
        *("cpsc2018.all", "cpsc2018", "ours"),
    ]
    assert [column.named is None for column in columns] == [False, False, True, False, True, True]
    assert tasks_of("ours") == ("default",)


def test_a_task_has_names_of_its_own_and_tells_its_dataset(cohorts: dict[str, Prepared]) -> None:
    data = cohorts["cpsc2018"]
    assert of_task(data, DatasetTask("cpsc2018")) is data
    result = of_task(data, DatasetTask("cpsc2018", "all"))
    assert (result.name, result.title, result.dataset_name) == ("cpsc2018.all", "CPSC2018 all", "cpsc2018")
    assert (data.first_label_counts, result.first_label_counts) == (True, False)


def test_a_task_s_fingerprint_is_of_its_labels(cohorts: dict[str, Prepared]) -> None:
    data = cohorts["ptb-xl"]
    first = data.entries[0]
    other = replace(data, entries=(replace(first, statements=("AFIB",)), *data.entries[1:]))
    assert len({data.fingerprint, of_task(data, RHYTHM).fingerprint, of_task(other, RHYTHM).fingerprint}) == 3
    assert of_task(data, RHYTHM).fingerprint == open_task_view(data.folder, RHYTHM).fingerprint
