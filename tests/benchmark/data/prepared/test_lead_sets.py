"""Fewer leads: by number or name, in their fixed order, and zero where they are absent."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

from benchmark.data.prepared.lead_sets import LEAD_SETS, leads_named, without_absent
from benchmark.data.readers.base import LEADS


@pytest.mark.parametrize(
    ("asked", "leads"),
    [
        (12, list(LEADS)),
        (["8"], ["I", "II", "V1", "V2", "V3", "V4", "V5", "V6"]),
        (6, ["I", "II", "III", "aVR", "aVL", "aVF"]),
        ([3], ["I", "II", "V2"]),
        ("2", ["I", "II"]),
        (1, ["I"]),
        ("v1", ["V1"]),
        (["V2", "avr", " I "], ["I", "aVR", "V2"]),
    ],
)
def test_leads_are_named_by_number_or_one_by_one(asked: Any, leads: list[str]) -> None:
    assert leads_named(asked) == leads


@pytest.mark.parametrize("asked", [5, 0, -1, [], ["I", "V7"], ["2", "3"], [True], None, {"I": 1}, ["I", "I"]])
def test_what_names_no_leads_is_refused_with_what_is_possible(asked: Any) -> None:
    with pytest.raises(ValueError, match=r"; there are I II III aVR .* or one of the numbers 12, 8, 6, 3, 2, 1$"):
        leads_named(asked)


@pytest.mark.parametrize("number", LEAD_SETS)
def test_a_set_has_its_number_of_leads(number: int) -> None:
    assert len(set(LEAD_SETS[number]) & set(LEADS)) == number


def test_absent_leads_are_zero_and_the_given_array_stays_as_it_is() -> None:
    signal = np.random.default_rng(0).normal(size=(3, 5, 12)).astype(np.float16)
    before = signal.copy()
    found = without_absent(signal, ["I", "V6"])
    np.testing.assert_array_equal(found[..., [0, 11]], signal[..., [0, 11]])
    assert not found[..., 1:11].any()
    np.testing.assert_array_equal(signal, before)
    assert without_absent(signal, LEADS) is signal
