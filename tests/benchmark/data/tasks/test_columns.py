"""A column is a dataset under a task that it has; the sets of Chapman, Ningbo and CPSC2018 are MERL's."""

from __future__ import annotations

from pathlib import Path

import pytest

from benchmark.data.readers.base import Entry
from benchmark.data.readers.chapman import Chapman
from benchmark.data.readers.cpsc2018 import CPSC2018
from benchmark.data.tasks.columns import TASKS, Column, columns_of, tasks_of
from benchmark.data.tasks.spec import TaskSpec
from benchmark.data.tasks.split import sides_of, split_recordings
from benchmark.results import names


def test_the_command_line_knows_every_task() -> None:
    assert set(names.TASKS) == {names.DEFAULT_TASK, *(task for tasks in TASKS.values() for task in tasks)}


def test_a_dataset_takes_the_tasks_that_it_has() -> None:
    columns = columns_of(["ptb-xl", "cpsc2018", "ours"], ["all", "rhythm", "default"])
    assert [column.name for column in columns] == [
        *("ptb-xl.all", "ptb-xl.rhythm", "ptb-xl"),
        *("cpsc2018.all", "cpsc2018", "ours"),
    ]
    assert [column.named is None for column in columns] == [False, False, True, False, True, True]
    assert tasks_of("ours") == ("default",)


def test_a_task_that_no_dataset_has_and_a_dataset_without_a_task_are_refused() -> None:
    with pytest.raises(ValueError, match="no dataset of the table has the task 'form': chapman has default, all"):
        columns_of(["chapman"], ["default", "form"])
    with pytest.raises(ValueError, match="chapman has none of the tasks form, rhythm: it has default, all"):
        columns_of(["ptb-xl", "chapman"], ["form", "rhythm"])


def test_the_numbers_of_classes_are_merl_s() -> None:
    assert {name: len(TASKS[name]["all"].classes) for name in ("chapman", "ningbo", "cpsc2018")} == {
        "chapman": 38,
        "ningbo": 38,
        "cpsc2018": 9,
    }


def test_merl_s_tasks_are_shuffled_and_ptb_xl_s_follow_its_folds() -> None:
    sides = {name: {task.sides for task in own.values()} for name, own in TASKS.items()}
    assert sides == {"ptb-xl": {"protocol"}, "chapman": {"shuffled"}, "ningbo": {"shuffled"}, "cpsc2018": {"shuffled"}}


def test_codes_become_classes_and_others_are_left_out() -> None:
    task = TASKS["chapman"]["all"]
    entry = Entry("JS1", "JS1", "JS1", (0,), statements=("426177001", "427084000", "17338001", "427172004"))
    assert [task.classes[index] for index in task.labels(entry)] == ["VPB", "ST"]
    assert task.labels(Entry("JS2", "JS2", "JS2", (0,), statements=("426177001",))) == ()


def test_figshare_s_table_states_all_classes(shared_ecgs: Path, tmp_path: Path) -> None:
    (tmp_path / "figshare").symlink_to(shared_ecgs / "chapman" / "figshare")
    task = TASKS["chapman"]["all"]
    labels = [task.labels(entry) for entry in Chapman(tmp_path).listing().entries]
    assert {label for own in labels for label in own} == set(range(38))
    assert sum(task.classes.index("AFIB") in own for own in labels) == 1780


def test_the_sides_of_cpsc2018_are_as_large_as_merl_s(shared_ecgs: Path) -> None:
    task = Column("cpsc2018", "all").named
    assert task is not None
    entries = CPSC2018(shared_ecgs / "cpsc2018").listing().entries
    sides = [
        sides_of(split_recordings(entries, TaskSpec(6, "multi", protocol, sides=task.sides), first_label_counts=False))
        for protocol in ("paper", "strict")
    ]
    assert {side: len(own) for side, own in sides[0].items()} == {"training": 4950, "validation": 551, "test": 1376}
    assert all((sides[0][side] == sides[1][side]).all() for side in sides[0])
    assert sorted(index for own in sides[0].values() for index in own) == list(range(6877))
