"""Signals: digests of whole microvolts, outlines of near copies, and doubts about leads, units and offsets.

Exchanged, inverted and equal leads are seen, and nothing in real recordings.
"""

from __future__ import annotations

from collections.abc import Callable
from itertools import combinations
from operator import eq
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from numpy.typing import NDArray

from benchmark.data.datasets.wfdb_files import read_recording
from benchmark.data.signals import (
    COPIED,
    FLAT_BELOW_MV,
    IDENTICAL,
    LARGEST_ERROR,
    LARGEST_OFFSET,
    LIMB_LEADS,
    amplitude_of,
    has_copied_chest_leads,
    lead_problem,
    outline_of,
    signal_digest,
    signal_doubts,
)
from benchmark.data.simulate import simulate


def test_a_digest_is_of_whole_microvolts(make_ecg):
    signal = make_ecg().astype(np.float32)
    signal[0] = 0.0
    rounded = np.asfortranarray(np.rint(signal * 1000) / 1000)
    rounded[0] = -0.0
    assert signal_digest(rounded) == signal_digest(signal)
    assert signal_digest(-signal) != signal_digest(signal)
    changed = signal.copy()
    changed[17, 3] += 1e-3
    assert signal_digest(changed) != signal_digest(signal)


LeadsSignal = NDArray[np.float32]


def test_the_mean_error_of_four_limb_leads_may_be_a_share_of_their_size(ecg: LeadsSignal) -> None:
    noise = np.random.default_rng(1).normal(size=2000)
    limit = 2 * LARGEST_ERROR * np.linalg.norm(ecg[:, :6] - ecg[:, :6].mean(axis=0)) / 6**0.5
    for share, problem in ((0.9, ""), (1.1, LIMB_LEADS)):
        noisy = ecg.copy()
        noisy[:, 3] += (share * limit * noise / np.linalg.norm(noise)).astype(np.float32)
        assert lead_problem(noisy) == problem


@pytest.fixture
def ecg() -> LeadsSignal:
    """(2000, 12) mV: noise of three electrodes and six chest leads, with the limb leads by their definition."""
    random = np.random.default_rng(0)
    ra, la, ll, *chest = random.normal(0, 0.3, (9, 2000)) * np.linspace(1, 2, 9)[:, None]
    wilson = (ra + la + ll) / 3
    limbs = [la - ra, ll - ra, ll - la]
    augmented = [1.5 * (electrode - wilson) for electrode in (ra, la, ll)]
    return np.stack([*limbs, *augmented, *chest], axis=1).astype(np.float32)


def test_limb_leads_of_three_electrodes_are_sound_at_any_scale(ecg: LeadsSignal) -> None:
    assert lead_problem(ecg) == ""
    assert lead_problem(ecg + np.float32(300) * np.arange(12, dtype=np.float32)) == ""  # offsets of amplifiers, mV
    assert lead_problem(ecg / ecg.std(axis=0)) == ""  # scaled one by one, as some publishers do


@pytest.mark.parametrize("scaled", [False, True])
def test_leads_that_are_exchanged_inverted_or_of_another_place_break_einthoven_s_laws(
    ecg: LeadsSignal, scaled: bool
) -> None:
    ecg = ecg / ecg.std(axis=0) if scaled else ecg
    for first, second in (*combinations(range(6), 2), (0, 6), (5, 8)):
        order = np.arange(12)
        order[[first, second]] = second, first
        assert lead_problem(ecg[:, order]) == LIMB_LEADS
    for lead in range(6):
        assert lead_problem(ecg * np.where(np.arange(12) == lead, -1, 1).astype(np.float32)) == LIMB_LEADS
    assert lead_problem(ecg[:, [0, 1, 6, 7, 8, 9, 10, 11, 2, 3, 4, 5]]) == LIMB_LEADS  # I, II, V1 to V6, III, ...


@pytest.mark.parametrize(
    "change",
    [
        lambda ecg: ecg * 1.37,
        lambda ecg: np.rint(ecg * 200) / 200,
        lambda ecg: np.trunc(ecg * 100) / 100,
        lambda ecg: ecg + 0.3,
        lambda ecg: ecg[::2],
    ],
    ids=["gain", "steps of 5 uV", "cut to 10 uV", "offset", "half the rate"],
)
def test_only_near_copies_have_an_outline_in_common(change: Callable[[Any], Any]) -> None:
    signals = [simulate(rhythm, seed=seed) for rhythm in ("SR", "AFIB", "SB") for seed in (1, 2)]
    outlines = [outline_of(signal) for signal in signals]
    changed = [outline_of(np.ascontiguousarray(change(signal), np.float32)) for signal in signals]
    shared = [[any(map(eq, one, other)) for other in outlines] for one in changed]
    assert np.array_equal(shared, np.eye(len(signals), dtype=bool))


def test_equal_leads_are_doubtful(ecg: LeadsSignal) -> None:
    equal = np.repeat(ecg[:, :1], 12, axis=1)
    assert lead_problem(equal) == IDENTICAL
    equal[0] = 0.0
    equal[0, 4] = FLAT_BELOW_MV  # of the coarsest signals
    assert lead_problem(equal) == IDENTICAL


def test_chest_leads_that_are_copies_of_another_are_doubtful(ecg: LeadsSignal) -> None:
    assert COPIED not in signal_doubts(ecg, 500, raw=False)
    ecg[:, 1] = 0  # of the limb leads two are now equal by Einthoven's laws
    ecg[:, 6] = 0
    ecg[:, 9] = 0
    assert COPIED not in signal_doubts(ecg, 500, raw=False)
    ecg[:, 11] = ecg[:, 7] + FLAT_BELOW_MV / 2
    assert COPIED in signal_doubts(ecg, 500, raw=False)


@pytest.mark.parametrize(
    ("folder", "step"),
    [
        ("ptb-xl/records100", 40),
        ("ptb-xl/records500", 4),
        ("cpsc2018/WFDB_CPSC2018", 1),
        ("chapman/WFDB_ChapmanShaoxing", 1),
    ],
)
def test_nothing_is_said_of_real_recordings_but_for_an_exchange(shared_ecgs: Path, folder: str, step: int) -> None:
    headers = sorted((shared_ecgs / folder).rglob("*.hea"))[::step]
    signals = [read_recording(header.with_suffix("")).signal for header in headers]
    assert {lead_problem(signal) for signal in signals} == {""}
    assert {lead_problem(signal[:, [1, 0, *range(2, 12)]]) for signal in signals} == {LIMB_LEADS}
    assert not any(map(has_copied_chest_leads, signals))


@pytest.mark.parametrize("rate", [40, 75, 180])
def test_the_amplitude_is_that_of_the_qrs_complexes(make_ecg: Callable[..., Any], rate: float) -> None:
    ecg = make_ecg(rate=rate).astype(np.float32)  # R waves of 1 to 2.1 mV
    assert amplitude_of(ecg, 500) == pytest.approx(1.55, rel=0.02)
    assert amplitude_of(ecg * (np.arange(12) > 5), 500) == pytest.approx(1.85, rel=0.02)
    assert amplitude_of(0 * ecg, 500) == 0


@pytest.mark.parametrize(("factor", "doubts"), [(1, 0), (1000, 1), (1e-3, 1), (0.1, 0), (5, 0)])
def test_wrong_units_are_doubtful(make_ecg: Callable[..., Any], factor: float, doubts: int) -> None:
    signal = make_ecg().astype(np.float32) * factor
    assert ["unit" in doubt for doubt in signal_doubts(signal, 500, raw=False)].count(True) == doubts


def test_an_offset_is_doubtful_where_float16_keeps_it(make_ecg: Callable[..., Any]) -> None:
    ecg = make_ecg().astype(np.float32)
    assert np.spacing(np.float16(LARGEST_OFFSET)) > 0.005 > np.spacing(np.float16(LARGEST_OFFSET / 2))
    for offset, raw, doubts in ((9, True, 1), (-9, True, 1), (9, False, 0), (7, True, 0)):
        ecg[:, 3] = make_ecg()[:, 3] + offset
        assert ["offset" in doubt for doubt in signal_doubts(ecg, 500, raw=raw)].count(True) == doubts
