"""Coverage counts patients per class, once each, whatever side they are on and however they were lost."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace

from benchmark.data.prepared.load import Prepared
from benchmark.data.prepared.skipped import Skipped
from benchmark.data.prepared.windows import plain_seconds
from benchmark.data.tasks.coverage import coverage
from benchmark.data.tasks.spec import TaskSpec

MakePrepared = Callable[..., Prepared]
LOST = (
    Skipped("s1", "p9", (0,), "heart rate below 50/min: median RR 320 samples at 250 Hz"),
    Skipped("s2", "p9", (0,), "too short: 1.00 s"),
    Skipped("s3", "p1", (0,), "NaN samples"),
    Skipped("s4", "s4", (), "no label: empty"),
    Skipped("s5", "p8", (0, 3), "NaN samples"),
)


def test_a_patient_is_lost_where_no_recording_of_the_class_is_left(make_prepared: MakePrepared) -> None:
    recordings = [("p1", (0,), 12, 1), ("p2", (0,), 5, 9), ("p3", (1,), 5, 10), ("p3", (1,), 6, 10), ("p4", (2,), 6, 1)]
    found = coverage(replace(make_prepared("ptb-xl", recordings), skipped=LOST), TaskSpec(6, "single", "paper"))
    assert list(found) == ["NORM", "MI", "STTC", "CD", "HYP"]
    assert found["NORM"] == {
        "patients": 3,
        "unscored": {"p2": "fewer than 6 heartbeats", "p9": "heart rate below 50/min"},
    }
    assert found["MI"] == {"patients": 1, "unscored": {}}
    assert found["CD"] == found["HYP"] == {"patients": 0, "unscored": {}}


def test_with_several_labels_a_patient_counts_for_each(make_prepared: MakePrepared) -> None:
    prepared = replace(make_prepared("ptb-xl", [("p1", (0, 1), 6, 1)]), skipped=LOST)
    found = coverage(prepared, TaskSpec(6, "multi", "paper"))
    assert found["NORM"] == {"patients": 3, "unscored": {"p9": "heart rate below 50/min", "p8": "NaN samples"}}
    assert found["CD"] == {"patients": 1, "unscored": {"p8": "NaN samples"}}


def test_plain_windows_are_called_so(make_prepared: MakePrepared) -> None:
    prepared = replace(make_prepared("ptb-xl", [("p1", (0,), 2, 1)]), skipped=(), segmentation=plain_seconds(2.5))
    assert coverage(prepared, TaskSpec(4, "single", "paper"))["NORM"]["unscored"] == {"p1": "fewer than 4 windows"}
