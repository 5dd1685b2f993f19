"""AV blocks with dropped beats, applied to a train of sinus beats.

Second degree, Mobitz type I: the PR interval grows within a group, most at its second beat, until a P wave is not
conducted. Third degree: no P wave is conducted; slow junctional escape (Kusumoto et al. 2019, JACC 74:e51).
"""

from __future__ import annotations

import numpy as np

from benchmark.data.simulate.heart import BLOCKED, ESCAPE
from benchmark.data.simulate.rhythm import MARGIN_S, Beats, followed

GROUPS, GROUP_SHARES = (3, 4, 5), (0.40, 0.35, 0.25)
"""P waves of a Wenckebach group, one of which is not conducted."""


def second_degree(rng: np.random.Generator, beats: Beats) -> Beats:
    """Sinus beats in Wenckebach groups; `delay`: PR prolongation over a group's first beat, seconds."""
    group = int(rng.choice(GROUPS, p=GROUP_SHARES))
    place = (np.arange(len(beats.time)) + rng.integers(group)) % group  # (B,)
    step = rng.uniform(0.06, 0.11)
    grown = step * np.cumsum([0.0, 1.0, *(0.5 ** np.arange(1, group - 1))])  # (group,) decreasing steps
    lost = place == group - 1  # (B,)
    delay = np.where(lost, 0.0, grown[place])
    time = beats.time + delay
    kind = np.where(lost, BLOCKED, beats.kind).astype(np.int8)  # (B,)
    rr = beats.rr.copy()
    rr[~lost] = followed(np.diff(time[~lost], prepend=time[~lost][0] - beats.rr[0]))
    return Beats(time=time, kind=kind, rr=rr, delay=delay)


def third_degree(rng: np.random.Generator, beats: Beats, seconds: float) -> Beats:
    """The sinus beats without ventricles, and independent junctional escape beats at 40-56/min, in order of time."""
    basic = 60.0 / rng.uniform(40.0, 56.0)
    count = int((seconds + 2 * MARGIN_S) / basic) + 2
    rr = basic * (1 + 0.008 * rng.standard_normal(count))  # (E,)
    escapes = -MARGIN_S + basic * rng.uniform() + np.cumsum(rr) - rr[0]  # (E,)
    time = np.concatenate([beats.time, escapes])
    order = np.argsort(time, kind="stable")
    kind = np.concatenate([np.full(len(beats.time), BLOCKED), np.full(count, ESCAPE)]).astype(np.int8)
    return Beats(
        time=time[order],
        kind=kind[order],
        rr=np.concatenate([beats.rr, rr])[order],
        delay=np.zeros(len(time)),
    )
