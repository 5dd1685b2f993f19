"""A heartbeat as a moving dipole, and the twelve leads as its projections.

The dipole's three components are sums of Gaussian waves placed relative to every beat (Sameni et al. 2007, EURASIP
J. Adv. Signal Process. 43407, Eq. 3, the 3D form of McSharry et al. 2003, IEEE TBME 50:289, Eq. 1): the septum
depolarises to the right and the front, the free walls to the left, the feet and the back, the base last and backwards;
repolarisation is parallel to the main QRS vector. Leads I, II and V1-V6 follow from Frank's X, Y, Z by Dower's matrix
(Dower et al. 1980, Clin. Cardiol. 3:87); III and the augmented leads from I and II by the laws of Einthoven and
Goldberger. Axes: x to the left, y to the feet, z to the back.
"""

from __future__ import annotations

from collections.abc import Mapping
from functools import cache
from pathlib import Path
from typing import NamedTuple

import numpy as np

from benchmark.data.datasets.base import LIMB_SHARES, rows_beside
from benchmark.results.arrays import Doubles, Floats

LEAD_VECTORS = np.loadtxt(Path(__file__).with_name("lead_vectors.csv"), delimiter=",", skiprows=1, usecols=(1, 2, 3))
"""(8, 3) I, II, V1-V6: rows of Dower's matrix."""
INTERCOSTAL_TILT = 0.35
"""Change of a chest lead's y component per intercostal space of downward displacement."""

EIGHT_TO_TWELVE = np.vstack(
    [
        np.eye(2, 8),  # I, II
        np.pad([*LIMB_SHARES.values()], ((0, 0), (0, 6))),
        np.eye(6, 8, k=2),  # V1-V6
    ]
)  # (12, 8)


def rotation(degrees: Doubles) -> Doubles:
    """Make a rotation matrix (3, 3) of the dipole, for a column vector.

    degrees: (3,) about the x axis (sagittal plane), the y axis (horizontal) and the z axis (frontal; a positive angle
    turns the electrical axis to the right, as cardiology counts it).
    """
    angles = np.radians(degrees)
    cx, cy, cz = np.cos(angles)
    sx, sy, sz = np.sin(angles)
    sagittal = np.array([[1, 0, 0], [0, cx, -sx], [0, sx, cx]])
    horizontal = np.array([[cy, 0, sy], [0, 1, 0], [-sy, 0, cy]])
    frontal = np.array([[cz, -sz, 0], [sz, cz, 0], [0, 0, 1]])
    return np.asarray(frontal @ horizontal @ sagittal)


def lead_vectors(across: Doubles, down: Doubles) -> Doubles:
    """Compute the lead vectors of I, II, V1-V6 for displaced chest electrodes, (8, 3) in mV per mV of dipole.

    across: (6,) to the left, in electrode spacings; between electrodes Dower's rows are interpolated, beyond V1 and V6
    extrapolated. down: (6,) in intercostal spaces.
    """
    position = np.arange(6) + across
    lower = np.clip(np.floor(position), 0, 4).astype(int)  # (6,)
    share = (position - lower)[:, None]  # (6, 1)
    chest_vectors = LEAD_VECTORS[2:]  # (6, 3) V1-V6
    chest = (1 - share) * chest_vectors[lower] + share * chest_vectors[lower + 1]  # (6, 3)
    chest[:, 1] += INTERCOSTAL_TILT * down
    return np.vstack([LEAD_VECTORS[:2], chest])  # (8, 3)


def wave_trains(
    centre: Doubles, rise: Doubles, fall: Doubles, height: Doubles, order: Doubles, samples: int, fs: float
) -> Doubles:
    """Compute the time courses (n, C) of C waves over B beats: exp(-|u|^order / 2), u in widths of its flank.

    centre, rise, fall: (C, B) seconds. height: (C, B) factor of a beat, 0 where a wave is absent. order: (C,) 2 is a
    Gaussian, 4 a plateau.
    """
    wave, beat = np.nonzero(height)  # (P,) pairs that there are
    peak = centre[wave, beat][:, None]  # (P, 1)
    ascent = rise[wave, beat][:, None]  # (P, 1)
    descent = fall[wave, beat][:, None]  # (P, 1)
    amplitude = height[wave, beat][:, None]  # (P, 1)
    is_plateau = order[wave][:, None] > 2  # (P, 1)
    reach = np.where(is_plateau, 1.9, 4.0)  # (P, 1)
    first = np.ceil((peak - reach * ascent) * fs)  # (P, 1) samples
    last = np.floor((peak + reach * descent) * fs)  # (P, 1) samples
    longest = (last - first).max()
    sample = first + np.arange(longest + 1)  # (P, W)
    offset = sample / fs - peak  # (P, W)
    flank = np.where(offset < 0, ascent, descent)  # (P, W)
    squared = (offset / flank) ** 2  # (P, W)
    exponent = np.where(is_plateau, squared**2, squared)  # (P, W)
    value = amplitude * np.exp(-0.5 * exponent)  # (P, W)
    inside = (sample <= last) & (sample >= 0) & (sample < samples)  # (P, W)
    places = (sample * len(centre) + wave[:, None])[inside].astype(int)
    trains = np.bincount(places, value[inside], samples * len(centre)).astype(np.float64)
    return trains.reshape(samples, -1)  # (n, C)


def twelve_leads(eight: Floats) -> Floats:
    """Compute all twelve leads, (n, 12) in the order of `datasets.base.LEADS`, from I, II, V1-V6, (n, 8)."""
    return eight @ EIGHT_TO_TWELVE.T.astype(np.float32)  # (n, 12)


BEAT_KINDS = ("SINUS", "ATRIAL", "VENTRICULAR", "BLOCKED", "ESCAPE")
SINUS, ATRIAL, VENTRICULAR, BLOCKED, ESCAPE = range(5)
"""Beats in the basic rhythm (sinus, fibrillation, ...), premature atrial, premature ventricular, sinus without
conduction, and junctional escape."""
CLOCKS = ("P", "R", "J")
"""Origin of a wave's time: onset of P, peak of R, or the J point (whose times scale with the RR interval)."""


class Wave(NamedTuple):
    """One wave of the heart's dipole: x to the left, y to the feet, z to the back."""

    clock: str
    centre: float
    """Seconds after the clock's origin, at 60 beats a minute."""
    rise: float
    """Width (standard deviation) of the ascending flank, seconds."""
    fall: float
    """Width of the descending flank, seconds."""
    dipole: Doubles  # (3,) mV at the peak
    order: int = 2
    """2: Gaussian; 4: plateau."""
    beats: tuple[int, ...] = (SINUS, ATRIAL, ESCAPE)
    """Kinds of beats that have this wave."""


class Heart(NamedTuple):
    """Waves and intervals of a heart's beats."""

    waves: Mapping[str, Wave]
    intervals: Mapping[str, float]
    """Seconds. `pr`: onset of P to onset of QRS at 60 beats a minute; `onset` and `j_point`: begin and end of QRS
    relative to the peak of R."""


def changed(heart: Heart, diagnosis: str, severity: float) -> Heart:
    """Return the heart with the changes of a diagnosis in heart_changes.csv.

    A row changes an interval or a wave: its dipole d, from that of the wave `like`, or of no wave zero, becomes
    d (factor + g factor_slope) + shift + g shift_slope at the gain g(severity). Its times are seconds, `0.01g` times
    the gain, `1.25x` times those before. Numbers of a gain: offset, slope, threshold, maximum.
    """
    waves = dict(heart.waves)
    intervals = dict(heart.intervals)
    for row in CHANGES[diagnosis]:
        name = row["wave"]
        offset, slope, threshold, most = _numbers(row["gain"] or "0 1 0 inf")
        gain = min(most, max(0.0, offset + slope * (severity - threshold)))
        absent = Wave(row["clock"], 0.0, 0.0, 0.0, np.zeros(3))
        wave = heart.waves.get(row["like"] or name, absent)
        centre = _time(row["centre"], wave.centre, gain)
        rise = _time(row["rise"], wave.rise, gain)
        fall = _time(row["fall"], wave.fall, gain)
        if name in ("pr", "onset", "j_point"):
            intervals[name] = centre
        elif row["clock"] == "gone":
            waves.pop(name, None)
        else:
            factor = _numbers(row["factor"] or "1") + _numbers(row["factor_slope"]) * gain
            shift = _numbers(row["shift"]) + _numbers(row["shift_slope"]) * gain
            beats = tuple(map(BEAT_KINDS.index, row["beats"].split())) or wave.beats
            order = int(row["order"] or wave.order)
            clock = row["clock"] or wave.clock
            dipole = wave.dipole * factor + shift  # (3,)
            waves[name] = Wave(clock, centre, rise, fall, dipole, order, beats)
    return Heart(waves, intervals)


@cache
def _numbers(cell: str) -> Doubles:
    """Read the numbers of a cell, (3,) or, for all three axes, (1,)."""
    return np.array((cell or "0").split(), float)


def _time(cell: str, before: float, gain: float) -> float:
    if not cell:
        return before
    factors = {"g": gain, "x": before}
    number = float(cell.rstrip("gx"))
    return number * factors.get(cell[-1], 1.0)


CHANGES: dict[str, list[dict[str, str]]] = {}
for row in rows_beside(__file__, "heart_changes.csv"):
    CHANGES.setdefault(row["diagnosis"], []).append(row)
"""Diagnosis -> its changes, in the order in which several diagnoses are applied; `healthy` makes a heart of nothing."""
HEALTHY = changed(Heart({}, {}), "healthy", 1.0)


def interpolate(heart: Heart, other: Heart, share: float) -> Heart:
    """Interpolate to another heart: share 0 is this heart, 1 the other, 2 extrapolates to twice the difference.

    Times and dipoles are interpolated linearly, widths geometrically, so they stay positive. A wave that only the other
    has grows from zero; one that only this heart has is gone at 1.
    """
    waves = {}
    for name in dict.fromkeys((*heart.waves, *other.waves)):
        here = heart.waves.get(name)
        there = other.waves.get(name)
        if here and there:
            waves[name] = there._replace(
                centre=here.centre + share * (there.centre - here.centre),
                rise=here.rise * (there.rise / here.rise) ** share,
                fall=here.fall * (there.fall / here.fall) ** share,
                dipole=here.dipole + share * (there.dipole - here.dipole),
            )
        elif there and share > 0:
            waves[name] = there._replace(dipole=there.dipole * share)
        elif here and share < 1:
            waves[name] = here._replace(dipole=here.dipole * (1 - share))
    intervals = {}
    for name, seconds in heart.intervals.items():
        intervals[name] = seconds + share * (other.intervals[name] - seconds)
    return Heart(waves, intervals)
