"""How each diagnosis changes a heart.

A change is applied to the healthy heart in body axes, before the rotation of the patient's anatomy, so that a finding
shows in its diagnostic leads: criteria of Surawicz et al. 2009 (JACC 53:976, conduction),
Hancock et al. 2009 (JACC 53:992, hypertrophy), Thygesen et al. 2018 (Circulation 138:e618, ST segments and Q waves).
Infarctions, shifts of ST and the anterior fascicle's block are additive, so that they combine.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import replace

from benchmark.data.simulate.heart import (
    ATRIAL,
    SINUS,
    Heart,
    Wave,
    scaled,
    toward,
    vector,
    with_waves,
    without_atrial_waves,
)


def _lbbb(heart: Heart, severity: float) -> Heart:
    wall, slow = heart.waves["wall"], 0.85 + 0.15 * severity
    first = wall._replace(centre=-0.012 * slow, rise=0.017 * slow, fall=0.019 * slow)
    second = wall._replace(centre=0.030 * slow, rise=0.019 * slow, fall=0.017 * slow)
    late = wall._replace(centre=0.056 * slow, rise=0.014 * slow, fall=0.013 * slow)
    changed = with_waves(
        heart,
        septum=Wave("R", -0.036 * slow, 0.010, 0.010, vector(0.16, 0.10, 0.02)),
        wall=scaled(first, vector(0.70, 0.40, 2.6)),
        wall_2=scaled(second, vector(0.74, 0.33, 3.0)),
        base=scaled(late, vector(0.30, 0.05, 1.2)),
        notch=None,
        st=Wave("J", 0.060, 0.050, 0.080, vector(-0.10, -0.05, -0.15)),
        t=heart.waves["t"]._replace(dipole=vector(-0.34, -0.14, -0.40)),
    )
    return replace(changed, onset=-0.057 * slow, j_point=0.086 * slow)


def _rbbb(heart: Heart, severity: float) -> Heart:
    late = Wave("R", 0.058, 0.015, 0.017, vector(-0.56, -0.06, -0.50) * (0.6 + 0.4 * severity))
    t = heart.waves["t"]
    changed = with_waves(
        heart,
        base=scaled(heart.waves["base"], vector(0.8, 1.0, 0.35)),
        right_wall=late,
        t=t._replace(dipole=t.dipole + vector(0.02, 0.0, 0.26)),
    )
    return replace(changed, j_point=0.096)


def _lafb(heart: Heart, severity: float) -> Heart:
    septum, wall, base = heart.waves["septum"], heart.waves["wall"], heart.waves["base"]
    changed = with_waves(
        heart,
        septum=septum._replace(dipole=septum.dipole + vector(-0.02, 0.33, 0.07)),
        wall=wall._replace(centre=0.004, rise=0.012, fall=0.013, dipole=wall.dipole * vector(0.95, -0.80, 1.2)),
        base=base._replace(centre=0.030, dipole=base.dipole + vector(0.0, -0.25 * severity, 0.0)),
    )
    return replace(changed, onset=-0.044, j_point=0.060)


def _first_degree_block(heart: Heart, severity: float) -> Heart:
    return replace(heart, pr=0.17 + 0.09 * severity)


def _st_depression(heart: Heart, severity: float) -> Heart:
    plateau = Wave("J", 0.085, 0.105, 0.085, vector(-0.17, -0.12, 0.03) * severity, order=4)
    return with_waves(heart, st_shift=plateau, t=scaled(heart.waves["t"], 0.6))


def _anterior_st_elevation(heart: Heart, severity: float) -> Heart:
    plateau = Wave("J", 0.100, 0.120, 0.090, vector(0.08, -0.10, -0.17) * severity, order=4)
    return with_waves(heart, st_shift=plateau, t=scaled(heart.waves["t"], vector(1.1, 0.7, 2.0)))


def _inferior_st_elevation(heart: Heart, severity: float) -> Heart:
    plateau = Wave("J", 0.100, 0.120, 0.090, vector(-0.06, 0.22, 0.05) * severity, order=4)
    return with_waves(heart, st_shift=plateau, t=scaled(heart.waves["t"], vector(0.7, 1.6, 0.5)))


def _old_anterior_infarction(heart: Heart, severity: float) -> Heart:
    septum, wall, t = heart.waves["septum"], heart.waves["wall"], heart.waves["t"]
    inverted = 0.95 * max(0.0, severity - 0.85)
    lost = vector(0.12, 0.09, 0.66 + 0.15 * severity)
    return with_waves(
        heart,
        septum=septum._replace(centre=-0.014, rise=0.014, fall=0.014, dipole=septum.dipole + lost),
        wall=wall._replace(dipole=wall.dipole * vector(0.75, 0.95, 1.0) + vector(0.0, 0.0, 0.22)),
        t=t._replace(dipole=t.dipole + vector(-0.4 * inverted, 0.0, inverted)),
    )


def _old_inferior_infarction(heart: Heart, severity: float) -> Heart:
    septum, wall, t = heart.waves["septum"], heart.waves["wall"], heart.waves["t"]
    inverted = 0.9 * max(0.0, severity - 0.85)
    lost = vector(0.08, -0.37 - 0.15 * severity, 0.06)
    changed = with_waves(
        heart,
        septum=septum._replace(centre=-0.024, rise=0.0115, fall=0.0115, dipole=septum.dipole + lost),
        wall=wall._replace(centre=0.006, dipole=wall.dipole * vector(1.0, 0.75, 1.0)),
        t=t._replace(dipole=t.dipole + vector(0.0, -inverted, -0.1 * inverted)),
    )
    return replace(changed, onset=-0.050)


def _old_lateral_infarction(heart: Heart, severity: float) -> Heart:
    septum, wall, t = heart.waves["septum"], heart.waves["wall"], heart.waves["t"]
    inverted = 0.9 * max(0.0, severity - 0.85)
    lost = vector(-0.28 - 0.13 * severity, 0.12, 0.08)
    changed = with_waves(
        heart,
        septum=septum._replace(centre=-0.024, rise=0.0115, fall=0.0115, dipole=septum.dipole + lost),
        wall=wall._replace(centre=0.006, dipole=wall.dipole * vector(0.72, 1.0, 0.9)),
        t=t._replace(dipole=t.dipole + vector(-inverted, 0.1 * inverted, 0.0)),
    )
    return replace(changed, onset=-0.050)


def _lv_hypertrophy(heart: Heart, severity: float) -> Heart:
    wall, strain = heart.waves["wall"], min(1.0, max(0.0, 2.2 * (severity - 0.75)))
    t, broad = heart.waves["t"], 1.25
    larger = wall.dipole * (vector(1.60, 0.85, 1.70) + 0.5 * severity) + vector(0.0, 0.0, 0.25)
    changed = with_waves(
        heart,
        wall=wall._replace(rise=broad * wall.rise, fall=broad * wall.fall, dipole=larger),
        base=scaled(heart.waves["base"], 1.2),
        st=Wave("J", 0.080, 0.070, 0.080, vector(-0.13, -0.06, 0.06) * strain),
        t=t._replace(dipole=(1 - strain) * t.dipole + strain * vector(-0.32, -0.14, -0.20)),
    )
    return replace(changed, onset=-0.045, j_point=0.052)


def _rv_hypertrophy(heart: Heart, severity: float) -> Heart:
    wall, t = heart.waves["wall"], heart.waves["t"]
    to_the_right = wall.dipole * vector(0.45, 1.0, 0.2) + vector(-0.14, 0.05, -0.55 - 0.42 * severity)
    late = Wave("R", 0.030, 0.010, 0.012, vector(-0.35, 0.02, -0.06) * (0.6 + 0.4 * severity))
    strain = min(1.0, max(0.0, 1.6 * (severity - 0.6)))
    return with_waves(
        heart,
        wall=wall._replace(dipole=to_the_right),
        base=scaled(heart.waves["base"], vector(1.0, 1.0, 0.25)),
        right_wall=late,
        st_strain=Wave("J", 0.080, 0.070, 0.080, vector(0.02, -0.05, 0.08) * strain),
        t=t._replace(dipole=t.dipole + vector(0.0, -0.14, 0.40) * strain),
    )


def _t_inversion(heart: Heart, severity: float) -> Heart:
    return with_waves(heart, st=None, t=scaled(heart.waves["t"], 0.35 - 0.75 * severity))


def _premature_atrial(heart: Heart) -> Heart:
    focus = Wave("P", 0.045, 0.020, 0.022, vector(-0.06, 0.10, -0.06), beats=(ATRIAL,))
    return with_waves(heart, p_ectopic=focus)


def _supraventricular_tachycardia(heart: Heart) -> Heart:
    retrograde = Wave("J", 0.055, 0.020, 0.020, vector(0.02, -0.09, 0.03), beats=(SINUS,))
    return with_waves(without_atrial_waves(heart), p_retrograde=retrograde)


_SHAPES: Mapping[str, Callable[[Heart, float], Heart]] = {
    "TWI": _t_inversion,
    "LVH": _lv_hypertrophy,
    "RVH": _rv_hypertrophy,
    "MI-ANT": _old_anterior_infarction,
    "MI-INF": _old_inferior_infarction,
    "MI-LAT": _old_lateral_infarction,
    "LAFB": _lafb,
    "LBBB": _lbbb,
    "RBBB": _rbbb,
    "STD": _st_depression,
    "STE-ANT": _anterior_st_elevation,
    "STE-INF": _inferior_st_elevation,
    "AVB1": _first_degree_block,
}
"""Changes of graded severity, in the order in which several are applied."""

_ATRIA: Mapping[str, Callable[[Heart], Heart]] = {
    "PAC": _premature_atrial,
    "AFIB": without_atrial_waves,
    "AFL": without_atrial_waves,
    "SVT": _supraventricular_tachycardia,
}
"""Changes without severity; the remaining diagnoses change only the beat times."""


def diseased(
    heart: Heart,
    names: tuple[str, ...],
    severity: Mapping[str, float],
    focus: Mapping[str, Wave],
    *,
    share: float = 1.0,
) -> Heart:
    """The heart with these diagnoses.

    Args:
        heart: the patient's healthy heart.
        names: diagnoses, as `check_diagnoses` allows them.
        severity: diagnosis -> severity in this patient; 1 is typical.
        focus: waves of the patient's premature ventricular beats, added if diagnosed.
        share: scale of all changes, as in `toward`.
    """
    for name, change in _SHAPES.items():
        if name in names:
            heart = toward(heart, change(heart, severity[name]), share)
    for name, replacement in _ATRIA.items():
        if name in names:
            heart = replacement(heart)
    return with_waves(heart, **focus) if "PVC" in names else heart
