"""Waves, lead vectors and the twelve leads; a heart on its way to another."""

from __future__ import annotations

import numpy as np
import pytest

from benchmark.data.datasets.base import LEADS
from benchmark.data.simulate.heart import (
    CHEST_VECTORS,
    HEALTHY,
    LIMB_VECTORS,
    Wave,
    interpolate,
    lead_vectors,
    rotation,
    twelve_leads,
    vector,
    wave_trains,
    with_waves,
)

SICK = with_waves(
    HEALTHY,
    t=HEALTHY.waves["t"]._replace(dipole=-HEALTHY.waves["t"].dipole, rise=4 * HEALTHY.waves["t"].rise, centre=0.315),
    late=Wave("R", 0.06, 0.01, 0.01, vector(0.5, 0, 0)),
    u=None,
)


def test_halfway_and_beyond() -> None:
    half, beyond = (interpolate(HEALTHY, SICK, share).waves for share in (0.5, 2.0))
    np.testing.assert_allclose(half["t"].dipole, 0, atol=1e-12)
    assert half["t"].centre == pytest.approx(0.265)
    assert half["t"].rise == pytest.approx(2 * HEALTHY.waves["t"].rise)
    np.testing.assert_allclose(half["late"].dipole, [0.25, 0, 0])
    np.testing.assert_allclose(half["u"].dipole, HEALTHY.waves["u"].dipole / 2)
    np.testing.assert_allclose(beyond["t"].dipole, -3 * HEALTHY.waves["t"].dipole)
    assert "u" not in beyond


def test_undisplaced_electrodes_give_dowers_matrix() -> None:
    np.testing.assert_allclose(lead_vectors(np.zeros(6), np.zeros(6)), np.vstack([LIMB_VECTORS, CHEST_VECTORS]))


def test_rotation_keeps_lengths_and_turns_the_axis_to_the_right() -> None:
    matrix = rotation(np.array([10.0, -20.0, 30.0]))
    np.testing.assert_allclose(matrix @ matrix.T, np.eye(3), atol=1e-12)
    np.testing.assert_allclose(rotation(np.array([0.0, 0.0, 90.0])) @ [1, 0, 0], [0, 1, 0], atol=1e-12)


def test_wave_trains_equal_the_plain_formula() -> None:
    fs, samples = 500.0, 1000
    centre = np.array([[0.5, 1.2], [0.7, 1.9]])
    rise, fall = np.full((2, 2), 0.02), np.full((2, 2), 0.05)
    height = np.array([[1.0, -2.0], [0.0, 1.0]])
    order = np.array([2.0, 4.0])
    time = np.arange(samples) / fs
    plain = np.zeros((samples, 2))
    for wave in range(2):
        for beat in range(2):
            offset = time - centre[wave, beat]
            u = np.abs(offset / np.where(offset < 0, 0.02, 0.05))
            plain[:, wave] += height[wave, beat] * np.exp(-0.5 * u ** order[wave])
    np.testing.assert_allclose(wave_trains(centre, rise, fall, height, order, samples, fs), plain, atol=2e-3)


def test_leads_obey_einthoven_and_goldberger() -> None:
    eight = np.random.default_rng(0).standard_normal((50, 8)).astype(np.float32)
    lead = dict(zip(LEADS, twelve_leads(eight).T, strict=True))
    np.testing.assert_allclose(lead["III"], lead["II"] - lead["I"], atol=1e-6)
    np.testing.assert_allclose(lead["aVR"] + lead["aVL"] + lead["aVF"], 0, atol=1e-6)
    np.testing.assert_allclose(lead["aVL"], (lead["I"] - lead["III"]) / 2, atol=1e-6)
    np.testing.assert_allclose(lead["aVF"], (lead["II"] + lead["III"]) / 2, atol=1e-6)
    np.testing.assert_array_equal(lead["V1"], eight[:, 2])
    np.testing.assert_array_equal(lead["V6"], eight[:, 7])
