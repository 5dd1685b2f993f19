"""Beats that the AV node loses."""

from __future__ import annotations

import itertools

import numpy as np
import pytest

from benchmark.data.simulate.conduction import second_degree, third_degree
from benchmark.data.simulate.heart import BLOCKED, ESCAPE, SINUS
from benchmark.data.simulate.rhythm import Beats, Breath, draw_beats


def _sinus(seed: int) -> tuple[np.random.Generator, Beats]:
    rng = np.random.default_rng(seed)
    return rng, draw_beats(rng, "SR", 75.0, (), 20.0, Breath(0.25, 1.0))


@pytest.mark.parametrize("seed", range(6))
def test_pr_grows_until_a_beat_is_lost(seed: int) -> None:
    rng, sinus = _sinus(seed)
    beats = second_degree(rng, sinus)
    np.testing.assert_allclose(beats.time - beats.delay, sinus.time)  # the atria keep their time
    lost = np.flatnonzero(beats.kind == BLOCKED)
    groups = np.unique(np.diff(lost))
    assert len(groups) == 1
    assert 3 <= groups[0] <= 5
    for first, last in itertools.pairwise(lost):
        grown = beats.delay[first + 1 : last]
        assert grown[0] == 0
        assert (np.diff(grown) > 0).all()
        assert (np.diff(grown, 2) < 0).all()
    conducted = beats.time[beats.kind == SINUS]
    assert (np.diff(conducted) > 0.3).all()


@pytest.mark.parametrize("seed", range(6))
def test_atria_and_ventricles_go_their_own_ways(seed: int) -> None:
    rng, sinus = _sinus(seed)
    beats = third_degree(rng, sinus, 20.0)
    assert set(beats.kind.tolist()) == {BLOCKED, ESCAPE}
    np.testing.assert_array_equal(beats.time[beats.kind == BLOCKED], sinus.time)
    escapes = beats.time[beats.kind == ESCAPE]
    assert escapes[0] < 0
    assert escapes[-1] > 20
    assert 39 < 60 / np.diff(escapes).mean() < 57
    assert np.diff(escapes).std() < 0.03
    assert (np.diff(beats.time) >= 0).all()
