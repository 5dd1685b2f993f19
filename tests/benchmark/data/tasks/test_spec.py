"""What of a task's spec is in a result's key: all that differs from the defaults, and a new field nowhere else."""

from __future__ import annotations

from dataclasses import dataclass

from benchmark.data.readers.base import LEADS
from benchmark.data.tasks.spec import TaskSpec


@dataclass(frozen=True)
class Cropped(TaskSpec):
    """A spec with a field more, as a later version may have it."""

    crop: float = 0.0


def test_labels_and_protocol_are_the_rules() -> None:
    assert TaskSpec(6, "single", "paper").rules() == ["single", "paper"]
    assert TaskSpec(10, "multi", "strict").rules() == ["multi", "strict"]


def test_what_is_stated_as_it_is_by_default_moves_no_key() -> None:
    stated = TaskSpec(6, "single", "paper", standardise="recording", leads=LEADS, pool="mean", sides="protocol")
    assert stated == TaskSpec(6, "single", "paper")
    assert stated.rules() == ["single", "paper"]


def test_a_new_field_moves_a_key_only_where_it_is_set() -> None:
    assert Cropped(6, "single", "paper").rules() == TaskSpec(6, "single", "paper").rules()
    assert Cropped(6, "single", "paper", crop=2.5).rules() == ["single", "paper", {"crop": 2.5}]
