"""Leads and units that a file states and a card: what makes a recording, and what contradicts."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from itertools import combinations
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


CHEST = LEADS[6:]
PAIRS = list(combinations(LEADS[:6], 2))


@pytest.fixture
def twelve(make_ecg: Callable[..., Any]) -> Any:
    """(n, 12) in mV whose limb leads obey the laws: III = II - I, aVR = -(I + II) / 2 and so on."""
    ecg = make_ecg(seconds=2.0)
    one, two = ecg[:, 0], ecg[:, 1]
    ecg[:, 2:6] = np.stack([two - one, -(one + two) / 2, one - two / 2, two - one / 2], axis=1)
    return ecg


def derived(ecg: Any, names: Sequence[str]) -> Any:
    signals = Signals(files="*.hea", format="wfdb", derive=True)
    columns = ecg[:, [LEADS.index(name) for name in names]]
    return recording_of(Stored(columns, names, ["mV"] * len(names), 500.0), signals).signal


@pytest.mark.parametrize("pair", PAIRS, ids="-".join)
def test_any_two_limb_leads_determine_the_other_four(pair: tuple[str, str], twelve: Any) -> None:
    found = derived(twelve, [*CHEST, *pair])
    np.testing.assert_allclose(found, twelve, atol=1e-6)
    for lead in (*pair, *CHEST):
        assert np.array_equal(found[:, LEADS.index(lead)], twelve[:, LEADS.index(lead)].astype(np.float32)), lead


@pytest.mark.parametrize("lacking", LEADS[:6])
def test_a_single_limb_lead_that_lacks_is_computed(lacking: str, twelve: Any) -> None:
    np.testing.assert_allclose(derived(twelve, [lead for lead in LEADS if lead != lacking]), twelve, atol=1e-6)


def test_a_file_with_nine_leads_says_how_the_others_are_had(made: Callable[..., Any], make_ecg: Any) -> None:
    nine, signals = ["I", "II", "III", *CHEST], Signals(files="*.hea", format="wfdb")
    ecg = make_ecg(seconds=2.0)[:, :9]
    with pytest.raises(
        Unusable, match=r"^leads aVR, aVL and aVF not in the file; set signals\.derive to true in the ca"
    ):
        recording_of(Stored(ecg, nine, ["mV"] * 9, 500.0), signals)
    with pytest.raises(Unusable, match=r"^lead aVF not in the file; set signals\.derive to true"):
        made(file_leads=[lead if lead != "aVF" else "ECG" for lead in LEADS])


@pytest.mark.parametrize("names", [["II", *CHEST], [lead for lead in LEADS if lead != "V3"]], ids=["one", "chest"])
def test_what_two_limb_leads_do_not_determine_is_missing(names: list[str], twelve: Any) -> None:
    with pytest.raises(Unusable, match=r"^lead missing; name the file's leads in signals\.leads: "):
        derived(twelve, names)
