"""Cross-validation: each patient is tested once per seed, by what is learned on others, and each class in each part."""

from __future__ import annotations

from collections.abc import Callable

import numpy as np
import pytest

from benchmark.data.folds import is_cross_validated, split_part
from benchmark.data.folds import tested_recordings as recordings_tested
from benchmark.data.prepare import Prepared
from benchmark.data.splits import TaskSpec, patients_on_two_sides, split_of

MakePrepared = Callable[..., Prepared]
SPEC = TaskSpec(1, "single", "strict", folds=5)


@pytest.fixture
def chapman(make_prepared: MakePrepared) -> Prepared:
    """40 patients of a class each, 20 of the other, two recordings each; and one recording without a label."""
    labels = [(0,)] * 40 + [(1,)] * 20
    recordings = [(f"p{patient}", own, 2, None) for patient, own in enumerate(labels) for _ in range(2)]
    return make_prepared("chapman", [*recordings, ("p60", (), 2, None)])


def test_every_labelled_recording_is_tested_once_and_no_patient_is_on_two_sides(chapman: Prepared) -> None:
    parts = [split_part(chapman, SPEC, part, seed=41) for part in range(5)]
    tested = np.concatenate([own.test for own in parts])
    assert sorted(tested.tolist()) == list(range(120)) == recordings_tested(chapman, SPEC).tolist()
    for own in parts:
        assert patients_on_two_sides(chapman.entries, own) == {}
        assert sorted([*own.train, *own.validation, *own.test]) == list(range(120))
        assert len(own.validation) == 12  # 6 of 48 patients
        classes = [chapman.entries[r].labels[0] for r in own.test]
        assert (classes.count(0), classes.count(1)) == (16, 8)


def test_a_seed_deals_its_own_parts(chapman: Prepared) -> None:
    first, again, other = (split_part(chapman, SPEC, 0, seed=seed).test.tolist() for seed in (41, 41, 42))
    assert first == again
    assert first != other


def test_a_dataset_with_folds_keeps_its_split(cohorts: dict[str, Prepared], chapman: Prepared) -> None:
    assert is_cross_validated(chapman, SPEC)
    assert not is_cross_validated(chapman, TaskSpec(1, "single", "strict"))
    ptb_xl = cohorts["ptb-xl"]
    assert not is_cross_validated(ptb_xl, SPEC)
    np.testing.assert_array_equal(recordings_tested(ptb_xl, SPEC), split_of(ptb_xl, SPEC).test)


def test_only_folds_that_are_asked_for_enter_a_key() -> None:
    assert "folds" not in TaskSpec(1, "single", "strict").content()
    assert SPEC.content()["folds"] == 5
