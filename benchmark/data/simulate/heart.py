"""A heartbeat as a set of named dipole waves, and the healthy heart.

Dipoles are those of the normal vectorcardiogram: the septum depolarises to the right and the front, the free walls to
the left, the feet and the back, the base last and backwards; repolarisation is parallel to the main QRS vector.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, replace
from typing import Literal, NamedTuple

import numpy as np

from benchmark.data.simulate.dipole import Floats

SINUS, ATRIAL, VENTRICULAR, BLOCKED, ESCAPE = range(5)
"""Kinds of beats: in the basic rhythm (sinus, fibrillation, ...), premature atrial, premature ventricular, sinus
without conduction, and junctional escape."""
KINDS = 5

Clock = Literal["P", "R", "J"]
"""Origin of a wave's time: onset of P, peak of R, or the J point (whose times scale with the RR interval)."""
CLOCKS: tuple[Clock, ...] = ("P", "R", "J")


class Wave(NamedTuple):
    """One wave of the heart's dipole."""

    clock: Clock
    centre: float
    """Seconds after the clock's origin, at 60 beats a minute."""
    rise: float
    """Width (standard deviation) of the ascending flank, seconds."""
    fall: float
    """Width of the descending flank, seconds."""
    dipole: Floats  # (3,) mV at the peak
    order: int = 2
    """2: Gaussian; 4: plateau."""
    beats: tuple[int, ...] = (SINUS, ATRIAL, ESCAPE)
    """Kinds of beats that have this wave."""


@dataclass(frozen=True)
class Heart:
    """Waves and intervals of a heart's beats."""

    waves: Mapping[str, Wave]
    pr: float
    """Onset of P to onset of QRS, seconds, at 60 beats a minute."""
    onset: float
    """Onset of QRS relative to the peak of R, seconds (negative)."""
    j_point: float
    """End of QRS relative to the peak of R, seconds."""


def vector(x: float, y: float, z: float) -> Floats:
    """Dipole in mV: x to the left, y to the feet, z to the back; (3,)."""
    return np.array([x, y, z])


def scaled(wave: Wave, factor: float | Floats) -> Wave:
    """The wave with its dipole multiplied, by a number or per axis."""
    return wave._replace(dipole=wave.dipole * factor)


def with_waves(heart: Heart, **waves: Wave | None) -> Heart:
    """The heart with waves added or replaced; None removes a wave."""
    merged = {**heart.waves, **waves}
    return replace(heart, waves={name: wave for name, wave in merged.items() if wave is not None})


def without_atrial_waves(heart: Heart) -> Heart:
    """The heart without P waves of any kind."""
    return replace(heart, waves={name: wave for name, wave in heart.waves.items() if wave.clock != "P"})


def toward(heart: Heart, other: Heart, share: float) -> Heart:
    """Interpolate to another heart: share 0 is this heart, 1 the other, 2 extrapolates to twice the difference.

    Times and dipoles are interpolated linearly, widths geometrically, so they stay positive. A wave that only the other
    has grows from zero; one that only this heart has is gone at 1.
    """
    waves = {}
    for name in dict.fromkeys((*heart.waves, *other.waves)):
        here, there = heart.waves.get(name), other.waves.get(name)
        if here is not None and there is not None:
            waves[name] = _between(here, there, share)
        elif there is not None and share > 0:
            waves[name] = scaled(there, share)
        elif here is not None and share < 1:
            waves[name] = scaled(here, 1 - share)
    return Heart(
        waves=waves,
        pr=heart.pr + share * (other.pr - heart.pr),
        onset=heart.onset + share * (other.onset - heart.onset),
        j_point=heart.j_point + share * (other.j_point - heart.j_point),
    )


def _between(here: Wave, there: Wave, share: float) -> Wave:
    return there._replace(
        centre=here.centre + share * (there.centre - here.centre),
        rise=here.rise * (there.rise / here.rise) ** share,
        fall=here.fall * (there.fall / here.fall) ** share,
        dipole=here.dipole + share * (there.dipole - here.dipole),
    )


HEALTHY = Heart(
    waves={
        "p_right": Wave("P", 0.034, 0.017, 0.017, vector(0.07, 0.09, -0.055), beats=(SINUS, BLOCKED)),
        "p_left": Wave("P", 0.066, 0.018, 0.020, vector(0.09, 0.05, 0.050), beats=(SINUS, BLOCKED)),
        "septum": Wave("R", -0.022, 0.008, 0.008, vector(-0.14, -0.05, -0.24)),
        "wall": Wave("R", 0.000, 0.0105, 0.010, vector(1.05, 0.85, 0.30)),
        "base": Wave("R", 0.024, 0.009, 0.010, vector(-0.22, -0.22, 0.62)),
        "st": Wave("J", 0.090, 0.045, 0.060, vector(0.03, 0.02, -0.030)),
        "t": Wave("J", 0.215, 0.052, 0.034, vector(0.30, 0.22, -0.16)),
        "u": Wave("J", 0.360, 0.040, 0.040, vector(0.01, 0.01, -0.015)),
    },
    pr=0.155,
    onset=-0.041,
    j_point=0.047,
)
