"""Waves, lead vectors and the twelve leads against their formulas."""

from __future__ import annotations

import numpy as np

from benchmark.data.datasets.base import LEADS
from benchmark.data.simulate.heart import LEAD_VECTORS, lead_vectors, twelve_leads, wave_trains


def test_undisplaced_electrodes_give_dowers_matrix() -> None:
    np.testing.assert_allclose(lead_vectors(np.zeros(6), np.zeros(6)), LEAD_VECTORS)


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


def test_leads_obey_the_laws_of_limb_leads() -> None:
    eight = np.random.default_rng(0).standard_normal((50, 8)).astype(np.float32)
    lead = dict(zip(LEADS, twelve_leads(eight).T, strict=True))
    np.testing.assert_allclose(lead["III"], lead["II"] - lead["I"], atol=1e-6)
    np.testing.assert_allclose(lead["aVR"] + lead["aVL"] + lead["aVF"], 0, atol=1e-6)
    np.testing.assert_allclose(lead["aVL"], (lead["I"] - lead["III"]) / 2, atol=1e-6)
    np.testing.assert_allclose(lead["aVF"], (lead["II"] + lead["III"]) / 2, atol=1e-6)
    np.testing.assert_array_equal(lead["V1"], eight[:, 2])
    np.testing.assert_array_equal(lead["V6"], eight[:, 7])
