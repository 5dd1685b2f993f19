"""What a file of signals states, and the recording that it is under a card."""

from __future__ import annotations

import math
from collections.abc import Collection, Sequence
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from benchmark.data.readers.base import LEADS, Recording, Unusable
from benchmark.data.readers.cards.card import NO_LEAD, Signals
from benchmark.data.readers.checks import checked_recording
from benchmark.data.readers.files.wfdb_record import MILLIVOLTS, lead_columns

LIMB = {
    "I": (1.0, 0.0),
    "II": (0.0, 1.0),
    "III": (-1.0, 1.0),
    "aVR": (-0.5, -0.5),
    "aVL": (1.0, -0.5),
    "aVF": (-0.5, 1.0),
}
"""Limb lead -> its shares of I and II, by Einthoven's and Goldberger's laws. Any two determine the other four."""
SAME_RATE = 1e-4
"""Relative difference up to which two rates are one."""


class Stored(NamedTuple):
    """The content of a file. What it does not state is None, and stands in the card."""

    signal: NDArray[np.float64]
    """(n, L)"""
    leads: Sequence[str] | None
    """Names of the columns."""
    units: Sequence[str] | None
    """Units of the columns."""
    fs: float | None
    """Hz."""


def samples_by_leads(array: NDArray[Any], signals: Signals) -> NDArray[np.float64]:
    """An array of numbers as (n, L), L the leads of the card, which stand along either axis. Raises Unusable."""
    count = len(signals.leads or ())
    if array.ndim != 2 or not (np.issubdtype(array.dtype, np.integer) or np.issubdtype(array.dtype, np.floating)):
        raise Unusable(f"not a two-dimensional array of numbers: {array.dtype} of {array.ndim} dimensions")
    along = [axis for axis, length in enumerate(array.shape) if length == count]
    if len(along) != 1:
        shape = " x ".join(map(str, array.shape))
        raise Unusable(f"array has not one axis of as many as signals.leads names: {shape}, {count} leads")
    return np.asarray(array if along == [1] else array.T, np.float64)


def recording_of(stored: Stored, signals: Signals) -> Recording:
    """A file's content as 12 leads in mV. Raises Unusable where it and the card do not make a recording together."""
    fs = _rate(stored.fs, signals)
    names = _names(stored, signals)
    computed = _computed(names, signals)
    columns = lead_columns([*names, *computed])  # (12,)
    there = [column for column in columns if column < len(names)]
    scale = dict(zip(there, _millivolts(stored.units, there, signals), strict=True))
    if not computed:
        factors = np.array([scale[column] for column in columns])  # (12,)
        return checked_recording(stored.signal[:, columns] * factors, fs)
    measured = {LEADS[place]: stored.signal[:, own] * scale[own] for place, own in enumerate(columns) if own in scale}
    return checked_recording(np.stack([_lead(name, measured) for name in LEADS], axis=1), fs)


def derivable(names: Collection[str]) -> list[str]:
    """The leads that lack among the twelve, where these leads, in any case, determine them; else none."""
    lowered = {name.strip().lower() for name in names}
    lacking = [lead for lead in LEADS if lead.lower() not in lowered]
    return lacking if set(lacking) <= set(LIMB) and len(lacking) <= len(LIMB) - 2 else []


def _lead(name: str, measured: dict[str, NDArray[np.float64]]) -> NDArray[np.float64]:
    """A measured lead (n,), or one that two limb leads determine by Einthoven's and Goldberger's laws."""
    if name in measured:
        return measured[name]
    one, two = _plane(measured)
    laws = {"I": one, "II": two, "III": two - one, "aVR": -(one + two) / 2, "aVL": one - two / 2, "aVF": two - one / 2}
    return laws[name]


def _plane(measured: dict[str, NDArray[np.float64]]) -> tuple[NDArray[np.float64], NDArray[np.float64]]:
    """I and II (n,): measured, or solved for from the first two limb leads that are."""
    first, second = [lead for lead in LIMB if lead in measured][:2]
    (a, b), (c, d) = LIMB[first], LIMB[second]
    x, y = measured[first], measured[second]
    of_both = a * d - b * c
    return measured.get("I", (d * x - b * y) / of_both), measured.get("II", (a * y - c * x) / of_both)


def _computed(names: Sequence[str], signals: Signals) -> Sequence[str]:
    """The leads to be computed. Raises Unusable where leads lack that the card could give."""
    lowered = {name.strip().lower() for name in names}
    lacking = [lead for lead in LEADS if lead.lower() not in lowered]
    if not lacking:
        return ()
    computed = derivable(names)
    if computed and not signals.derive:
        told = " and ".join(filter(None, [", ".join(computed[:-1]), computed[-1]]))
        word = "leads" if len(computed) > 1 else "lead"
        naming = (
            ", or name the file's leads in signals.leads" if lowered - {lead.lower() for lead in LEADS} - {""} else ""
        )
        raise Unusable(f"{word} {told} not in the file; set signals.derive to true in the card{naming}")
    if not computed:
        there = ", ".join(filter(None, names))[:200]
        raise Unusable(f"lead missing; name the file's leads in signals.leads: {', '.join(lacking)}, not in {there!r}")
    return computed


def _rate(stated: float | None, signals: Signals) -> float:
    rate = signals.rate if stated is None else stated
    if rate is None:
        raise Unusable("sampling rate not in the file; give signals.rate in the card")
    if signals.rate is not None and not math.isclose(rate, signals.rate, rel_tol=SAME_RATE):
        raise Unusable(f"sampling rate contradicts the card; correct signals.rate: {rate:g} Hz in the file")
    return float(rate)


def _names(stored: Stored, signals: Signals) -> list[str]:
    """Name of each column; '' for one that is not used."""
    count = stored.signal.shape[1]
    if isinstance(signals.leads, list):
        if len(signals.leads) != count:
            raise Unusable(f"columns are not the leads of the card; correct signals.leads: {count} columns")
        return ["" if lead == NO_LEAD else lead for lead in signals.leads]
    if stored.leads is None:
        raise Unusable("no names of leads in the file; give signals.leads in the card")
    given = signals.leads or {}
    return ["" if given.get(name) == NO_LEAD else given.get(name, name) for name in stored.leads]


def _millivolts(units: Sequence[str] | None, columns: Sequence[int], signals: Signals) -> list[float]:
    """Millivolts per unit of each of the columns: by the file's units, else by the card's."""
    stated = {units[column] for column in columns} - {""} if units is not None else set()
    unknown = sorted(unit for unit in stated if unit.lower() not in MILLIVOLTS)
    if units is not None and stated and not unknown:
        if "" in {units[column] for column in columns}:
            raise Unusable("unit of some leads alone; correct the files")
        if signals.gain is not None or (signals.unit and {unit.lower() for unit in stated} != {signals.unit.lower()}):
            raise Unusable(f"unit contradicts the card; leave out signals.unit and gain: {', '.join(sorted(stated))}")
        return [MILLIVOLTS[units[column].lower()] for column in columns]
    if signals.gain is not None:
        return [1 / signals.gain] * len(columns)
    if signals.unit is not None:
        return [MILLIVOLTS[signals.unit.lower()]] * len(columns)
    if unknown:
        raise Unusable(f"unknown unit; give signals.unit or signals.gain in the card: {', '.join(unknown)[:60]}")
    raise Unusable("unit not in the file; give signals.unit or signals.gain in the card")
