"""A heart on its way to another."""

from __future__ import annotations

import numpy as np
import pytest

from benchmark.data.simulate.heart import HEALTHY, Wave, toward, vector, with_waves

SICK = with_waves(
    HEALTHY,
    t=HEALTHY.waves["t"]._replace(dipole=-HEALTHY.waves["t"].dipole, rise=4 * HEALTHY.waves["t"].rise, centre=0.315),
    late=Wave("R", 0.06, 0.01, 0.01, vector(0.5, 0, 0)),
    u=None,
)


def test_the_ends_are_the_two_hearts() -> None:
    for share, heart in ((0.0, HEALTHY), (1.0, SICK)):
        reached = toward(HEALTHY, SICK, share)
        for name, wave in reached.waves.items():
            expected = heart.waves.get(name)
            if expected is None:
                np.testing.assert_allclose(wave.dipole, 0)
            else:
                np.testing.assert_allclose(wave.dipole, expected.dipole)
                assert (wave.centre, wave.rise, wave.fall) == pytest.approx(expected[1:4])
        assert set(heart.waves) <= set(reached.waves)


def test_halfway_and_beyond() -> None:
    half, beyond = (toward(HEALTHY, SICK, share).waves for share in (0.5, 2.0))
    np.testing.assert_allclose(half["t"].dipole, 0, atol=1e-12)
    assert half["t"].centre == pytest.approx(0.265)
    assert half["t"].rise == pytest.approx(2 * HEALTHY.waves["t"].rise)
    np.testing.assert_allclose(half["late"].dipole, [0.25, 0, 0])
    np.testing.assert_allclose(half["u"].dipole, HEALTHY.waves["u"].dipole / 2)
    np.testing.assert_allclose(beyond["t"].dipole, -3 * HEALTHY.waves["t"].dipole)
    assert "u" not in beyond
