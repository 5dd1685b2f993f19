"""A patient's anatomy, constant over recordings: heart, its position in the chest, conduction to the leads.

Drawn once per patient. `spread` scales the differences between patients; at 0 all have the same heart.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

import numpy as np

from benchmark.data.simulate.diagnoses import DIAGNOSES
from benchmark.data.simulate.dipole import Floats, rotation
from benchmark.data.simulate.heart import HEALTHY, VENTRICULAR, Heart, Wave, vector

HEART_ANGLES = vector(6.0, 9.0, 14.0)
"""Standard deviation of the heart's rotation about the x, y and z axes, degrees."""
WOMEN_VOLTAGE, WOMEN_JT = 0.92, 1.04
"""Factors of QRS voltage and JT interval in women."""

CONDUCTION = np.ones((3, 8))
CONDUCTION[0] = [1.0, 1.0, 1.1, 0.6, 0.45, 0.6, 0.75, 0.9]
"""Gain of I, II, V1-V6 for atria, QRS and repolarisation; the atria lie behind V1, too near for a far dipole."""

PVC_FOCI: tuple[Floats, ...] = (vector(0.25, 1.25, 0.75), vector(-0.75, -0.70, -1.05), vector(1.05, -0.55, 1.00))
"""QRS direction of ventricular beats from the right outflow tract, the left ventricle's base, and the apex."""


@dataclass(frozen=True)
class Anatomy:
    """Anatomy of one patient."""

    heart: Heart
    """Without any disease."""
    position: Floats  # (3, 3) rotation of the ventricles' dipole
    atrial_position: Floats  # (3, 3)
    across: Floats  # (6,) mean displacement of the chest electrodes, as in `dipole.lead_vectors`
    down: Floats  # (6,)
    conduction: Floats  # (3, 8) factor of a lead for atria, QRS and repolarisation (correction of the far-dipole model)
    resting_rate: float
    """Beats per minute."""
    severity: Mapping[str, float]
    """Diagnosis -> severity in this patient; 1 is typical."""
    ectopic_focus: Mapping[str, Wave]
    """Waves of the patient's premature ventricular beats."""


def draw_anatomy(rng: np.random.Generator, *, woman: bool, spread: float = 1.0) -> Anatomy:
    """Draw a patient's anatomy. `spread` scales the differences between patients (1: realistic, 0: none)."""
    turned = HEART_ANGLES * _normal(rng, 3) * spread  # (3,)
    trunk = 0.28 * _normal(rng, 2) * spread  # (2,) the row of electrodes as a whole
    return Anatomy(
        heart=_draw_heart(rng, woman, spread),
        position=rotation(turned),
        atrial_position=rotation(0.5 * turned + 6.0 * _normal(rng, 3) * spread),
        across=0.5 * trunk[0] + 0.12 * spread * _normal(rng, 6),
        down=trunk[1] + 0.15 * spread * _normal(rng, 6),
        conduction=CONDUCTION * np.exp(0.09 * spread * _normal(rng, (3, 8))),
        resting_rate=float(73 + 8 * spread * _normal(rng)),
        severity={name: float(rng.uniform(0.7, 1.35)) for name in DIAGNOSES},
        ectopic_focus=_draw_focus(rng),
    )


def _normal(rng: np.random.Generator, size: int | tuple[int, ...] | None = None) -> Floats:
    """Standard normal, clipped at two standard deviations, since extremes are left to the diagnoses."""
    return np.clip(rng.standard_normal(size), -2.0, 2.0)


def _draw_heart(rng: np.random.Generator, woman: bool, spread: float) -> Heart:
    voltage = float(np.exp(0.16 * spread * _normal(rng))) * (WOMEN_VOLTAGE**spread if woman else 1.0)
    slow = float(np.exp(0.06 * spread * _normal(rng)))
    jt = float(np.exp(0.055 * spread * _normal(rng))) * (WOMEN_JT**spread if woman else 1.0)
    pace = {"P": 1.0, "R": slow, "J": jt}
    waves = {name: _personal(rng, wave, pace[wave.clock], voltage, spread) for name, wave in HEALTHY.waves.items()}
    notch = 0.09 * voltage * spread * _normal(rng, 3)  # (3,)
    waves["notch"] = Wave("R", float(rng.uniform(-0.018, 0.028)), 0.005, 0.005, notch)
    pr = HEALTHY.pr + 0.015 * spread * float(_normal(rng))
    return Heart(waves=waves, pr=pr, onset=HEALTHY.onset * slow, j_point=HEALTHY.j_point * slow)


def _personal(rng: np.random.Generator, wave: Wave, pace: float, voltage: float, spread: float) -> Wave:
    size = float(np.linalg.norm(wave.dipole))
    bent = wave.dipole + 0.11 * size * spread * _normal(rng, 3)  # (3,)
    height = voltage * float(np.exp(0.15 * spread * _normal(rng)))
    rise, fall = np.exp(0.10 * spread * _normal(rng, 2))
    if wave.clock == "J":
        rise, fall = rise * rise, fall**0.5
    return wave._replace(
        centre=wave.centre * pace, rise=wave.rise * pace * rise, fall=wave.fall * pace * fall, dipole=height * bent
    )


def _draw_focus(rng: np.random.Generator) -> dict[str, Wave]:
    direction = PVC_FOCI[rng.integers(len(PVC_FOCI))] * np.exp(0.2 * _normal(rng)) + 0.2 * _normal(rng, 3)  # (3,)
    turned = direction + 0.35 * float(np.linalg.norm(direction)) * 0.5 * _normal(rng, 3)  # (3,)
    slow = float(rng.uniform(0.9, 1.15))
    only = (VENTRICULAR,)
    return {
        "pvc_early": Wave("R", -0.004, 0.020 * slow, 0.022 * slow, direction, beats=only),
        "pvc_late": Wave("R", 0.048 * slow, 0.022 * slow, 0.024 * slow, 0.6 * turned, beats=only),
        "pvc_st": Wave("J", 0.110, 0.060, 0.080, -0.15 * direction, beats=only),
        "pvc_t": Wave("J", 0.265, 0.060, 0.045, -0.42 * direction, beats=only),
    }
