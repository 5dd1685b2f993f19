"""Leads and units that a file states and a card: what makes a recording, and what contradicts.

Text files: names or numbers in the first line, and what separates them.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from itertools import combinations
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from benchmark.data.datasets.base import LEADS, Unusable
from benchmark.data.datasets.card_formats import FileContent, read_content, to_recording
from benchmark.data.datasets.card_sections import CardSignals

MILLIVOLTS = ["mV"] * 12


@pytest.fixture
def made(make_ecg: Callable[..., Any]) -> Callable[..., Any]:
    """The recording of a file with these leads and units under a card."""

    def make(file_leads: Sequence[str] = LEADS, units: Sequence[str] | None = MILLIVOLTS, **card: Any) -> Any:
        signals = CardSignals.model_validate({"files": "{recording}.hea", **card})
        return to_recording(FileContent(make_ecg(seconds=2.0), file_leads, units, 500.0), signals).signal

    return make


def test_units_of_the_file_count_lead_by_lead(made: Callable[..., Any], make_ecg: Callable[..., Any]) -> None:
    factors = np.array([1.0] * 6 + [1e-3] * 6)
    expected = (make_ecg(seconds=2.0) * factors).astype(np.float32)
    np.testing.assert_array_equal(made(units=["mV"] * 6 + ["UV"] * 6), expected)


def test_a_unit_that_is_no_voltage_is_the_card_s(made: Callable[..., Any]) -> None:
    assert np.array_equal(made(units=["adu"] * 12, gain=200), made(units=None, gain=200))
    assert np.array_equal(made(units=["NU"] * 12, unit="mV"), made())
    with pytest.raises(
        Unusable, match=r"unknown unit or none in the file; give signals\.unit or signals\.gain in the card: NU"
    ):
        made(units=["NU"] * 12)
    with pytest.raises(Unusable, match=r"unknown unit or none in the file; give signals\.unit"):
        made(units=[""] * 12)
    with pytest.raises(Unusable, match="unit of some leads alone"):
        made(units=["mV"] * 11 + [""])


def test_a_card_may_contradict_neither_unit_nor_rate_of_the_file(made: Callable[..., Any]) -> None:
    assert np.array_equal(made(unit="mV"), made())
    for card in ({"unit": "uV"}, {"gain": 1000}):
        with pytest.raises(Unusable, match=r"unit contradicts the card; leave out signals\.unit and gain: mV"):
            made(**card)
    with pytest.raises(Unusable, match=r"contradicts the card; correct signals\.rate: 500 Hz"):
        made(rate=250)


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
    signals = CardSignals(files="*.hea", format="wfdb", derive=True)
    columns = ecg[:, [LEADS.index(name) for name in names]]
    return to_recording(FileContent(columns, names, ["mV"] * len(names), 500.0), signals).signal


def test_any_two_limb_leads_or_more_determine_the_others(twelve: Any) -> None:
    for limb in (*PAIRS, *combinations(LEADS[:6], 5)):
        result = derived(twelve, [*CHEST, *limb])
        np.testing.assert_allclose(result, twelve, atol=1e-6)
        for lead in (*limb, *CHEST):
            assert np.array_equal(result[:, LEADS.index(lead)], twelve[:, LEADS.index(lead)].astype(np.float32)), lead


@pytest.mark.parametrize("names", [["II", *CHEST], [lead for lead in LEADS if lead != "V3"]], ids=["one", "chest"])
def test_what_two_limb_leads_do_not_determine_is_missing(names: list[str], twelve: Any) -> None:
    with pytest.raises(Unusable, match=r"^lead missing; name the file's leads in signals\.leads: "):
        derived(twelve, names)


SIGNALS = CardSignals.model_construct(files="r.csv", leads=None)


def written(folder: Path, text: str, encoding: str = "utf-8") -> Path:
    path = folder / "r.csv"
    path.write_bytes(text.encode(encoding))
    return path


@pytest.mark.parametrize(
    ("text", "names"),
    [
        ("I,II\n0.5,2\n-1,1e1\n", ["I", "II"]),
        ("0.5,2\n-1,10\n", None),
        ("I;II;\n0,5;2;\n-1;10;\n", ["I", "II"]),
        ("0,5\t2\n-1\t10\n", None),
        ("0,5;2;\n-1;10;\n", None),
        ("0.5,2,\n-1,10,\n", None),
        ('"I" ; "II"\r\n0,5;2\r\n-1;10\r\n', ["I", "II"]),
        ("I,\n0.5,2\n-1,10\n", ["I", ""]),
        ("\ufeffI,II\n0.5,2\n-1,10\n", ["I", "II"]),
    ],
)
def test_numbers_with_either_decimal_mark_are_read(tmp_path: Path, text: str, names: list[str] | None) -> None:
    stored = read_content(written(tmp_path, text), None, SIGNALS)
    np.testing.assert_array_equal(stored.signal, [[0.5, 2.0], [-1.0, 10.0]])
    assert (stored.leads, stored.units, stored.fs) == (names, None, None)


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("I,II\n1,x\n", "not of its format: ValueError"),
        ("", "not of its format"),
        ("1,2\n1,2,3\n", "lines have more cells than the first|not of its format"),
        ("I,II\n1,2,3\n4,5,6\n", "lines have more cells than the first"),
    ],
)
def test_anything_else_is_refused(tmp_path: Path, text: str, message: str) -> None:
    with pytest.raises(Unusable, match=message):
        read_content(written(tmp_path, text), None, SIGNALS)
