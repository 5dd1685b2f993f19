"""Leads and units that a file states and a card: what makes a recording, and what contradicts."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

import numpy as np
import pytest

from benchmark.data.readers.base import LEADS, Unusable
from benchmark.data.readers.cards.card import Signals
from benchmark.data.readers.cards.forms.stored import Stored, recording_of

MILLIVOLTS = ["mV"] * 12


@pytest.fixture
def made(make_ecg: Callable[..., Any]) -> Callable[..., Any]:
    """The recording of a file with these leads and units under a card."""

    def make(file_leads: Sequence[str] = LEADS, units: Sequence[str] | None = MILLIVOLTS, **card: Any) -> Any:
        signals = Signals.model_validate({"files": "{recording}.hea", **card})
        return recording_of(Stored(make_ecg(seconds=2.0), file_leads, units, 500.0), signals).signal

    return make


def test_units_of_the_file_count_lead_by_lead(made: Callable[..., Any], make_ecg: Callable[..., Any]) -> None:
    factors = np.array([1.0] * 6 + [1e-3] * 6)
    expected = (make_ecg(seconds=2.0) * factors).astype(np.float32)
    np.testing.assert_array_equal(made(units=["mV"] * 6 + ["UV"] * 6), expected)


def test_a_unit_that_is_no_voltage_is_the_card_s(made: Callable[..., Any]) -> None:
    assert np.array_equal(made(units=["adu"] * 12, gain=200), made(units=None, gain=200))
    assert np.array_equal(made(units=["NU"] * 12, unit="mV"), made())
    with pytest.raises(Unusable, match=r"unknown unit; give signals\.unit or signals\.gain in the card: NU"):
        made(units=["NU"] * 12)
    with pytest.raises(Unusable, match=r"unit not in the file; give signals\.unit"):
        made(units=[""] * 12)
    with pytest.raises(Unusable, match="unit of some leads alone"):
        made(units=["mV"] * 11 + [""])


def test_a_unit_may_not_contradict_the_file(made: Callable[..., Any]) -> None:
    assert np.array_equal(made(unit="mV"), made())
    for card in ({"unit": "uV"}, {"gain": 1000}):
        with pytest.raises(Unusable, match=r"unit contradicts the card; leave out signals\.unit and gain: mV"):
            made(**card)


def test_names_of_leads_are_mapped(made: Callable[..., Any]) -> None:
    names = [f"MDC_ECG_LEAD_{lead.upper()}" for lead in LEADS]
    with pytest.raises(Unusable, match=r"lead missing; name the file's leads in signals\.leads: I, II, .*MDC_ECG"):
        made(file_leads=names)
    named = dict(zip(names, LEADS, strict=True))
    assert np.array_equal(made(file_leads=names, leads=named), made())
