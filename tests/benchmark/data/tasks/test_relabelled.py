"""A named task has a dataset's windows and labels of its own; nothing is prepared again for it."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest

from benchmark.data.prepared.load import Prepared
from benchmark.data.prepared.skipped import Skipped
from benchmark.data.prepared.trials import trials
from benchmark.data.tasks.columns import TASKS, Column
from benchmark.data.tasks.coverage import coverage
from benchmark.data.tasks.relabelled import of_task, opened_for
from benchmark.data.tasks.spec import TaskSpec
from benchmark.data.tasks.split import split_of

RHYTHM = Column("ptb-xl", "rhythm")
SPEC = TaskSpec(6, "multi", "paper")


def test_the_default_task_is_the_dataset_as_it_is(cohorts: dict[str, Prepared]) -> None:
    assert of_task(cohorts["ptb-xl"], Column("ptb-xl")) is cohorts["ptb-xl"]


@pytest.mark.parametrize(
    ("dataset", "task"), [(name, task) for name, own in TASKS.items() for task in own if name != "ningbo"]
)
def test_every_task_of_a_simulated_dataset_can_be_split(cohorts: dict[str, Prepared], dataset: str, task: str) -> None:
    column = Column(dataset, task)
    found = of_task(cohorts[dataset], column)
    named = TASKS[dataset][task]
    split = split_of(found, replace(SPEC, sides=named.sides))
    assert min(len(split.train), len(split.validation), len(split.test)) > 0
    assert found.classes == named.classes
    assert {label for entry in found.entries for label in entry.labels} <= set(range(len(named.classes)))
    assert list(coverage(found, SPEC)) == list(named.classes)


def test_a_task_has_names_of_its_own_and_tells_its_dataset(cohorts: dict[str, Prepared]) -> None:
    data = cohorts["cpsc2018"]
    found = of_task(data, Column("cpsc2018", "all"))
    assert (found.name, found.title) == ("cpsc2018.all", "CPSC2018 all")
    assert (found.dataset, found.dataset_name, found.prepared_as) == ("cpsc2018", "cpsc2018", data.fingerprint)
    assert (data.first_label_counts, found.first_label_counts) == (True, False)


def test_recordings_that_were_skipped_have_the_task_s_labels_too(cohorts: dict[str, Prepared]) -> None:
    lost = Skipped("s", "p", (0,), "NaN samples", ("NORM", "AFIB", "SR"))
    found = of_task(replace(cohorts["ptb-xl"], skipped=(lost,)), RHYTHM)
    assert [found.classes[label] for label in found.skipped[0].labels] == ["AFIB", "SR"]


def test_the_same_windows_and_pseudo_trials_serve_a_task(cohorts: dict[str, Prepared], tmp_path: Path) -> None:
    data = cohorts["ptb-xl"]
    found = of_task(data, RHYTHM)
    assert found.windows is data.windows
    own = trials(data, 6)
    written = (data.folder / "trials-6.f16").stat().st_mtime_ns
    np.testing.assert_array_equal(trials(found, 6).signal[:3], own.signal[:3])
    assert (data.folder / "trials-6.f16").stat().st_mtime_ns == written


def test_a_task_s_fingerprint_is_of_its_labels(cohorts: dict[str, Prepared]) -> None:
    data = cohorts["ptb-xl"]
    first = data.entries[0]
    other = replace(data, entries=(replace(first, statements=("AFIB",)), *data.entries[1:]))
    assert len({data.fingerprint, of_task(data, RHYTHM).fingerprint, of_task(other, RHYTHM).fingerprint}) == 3
    assert of_task(data, RHYTHM).fingerprint == opened_for(data.folder, RHYTHM).fingerprint
