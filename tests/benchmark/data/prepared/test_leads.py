"""Exchanged, inverted, identical and flat leads are found, and nothing in real or simulated recordings."""

from __future__ import annotations

from itertools import combinations
from pathlib import Path

import numpy as np
import pytest
from numpy.typing import NDArray

from benchmark.data.prepared.leads import FLAT, IDENTICAL, LAWS, STEP, doubt_about
from benchmark.data.prepared.load import Prepared
from benchmark.data.readers.base import LEADS
from benchmark.data.readers.files.wfdb_record import read_recording

Signal = NDArray[np.float32]


@pytest.fixture
def ecg() -> Signal:
    """(2000, 12) mV: noise of three electrodes and six chest leads, with the limb leads by their definition."""
    random = np.random.default_rng(0)
    right, left, foot, *chest = random.normal(0, 0.3, (9, 2000)) * np.linspace(1, 2, 9)[:, None]
    wilson = (right + left + foot) / 3
    limbs = [left - right, foot - right, foot - left]
    augmented = [1.5 * (electrode - wilson) for electrode in (right, left, foot)]
    return np.stack([*limbs, *augmented, *chest], axis=1).astype(np.float32)


def test_the_laws_hold_for_leads_between_electrodes(ecg: Signal) -> None:
    assert np.abs(ecg @ LAWS.T).max() < 1e-6
    assert doubt_about(ecg) == ""
    assert doubt_about(ecg + np.linspace(-2, 2, 12, dtype=np.float32)) == ""  # offsets of amplifiers


@pytest.mark.attack("leads exchanged, inverted, equal or flat")
@pytest.mark.parametrize("pair", [*combinations(range(6), 2), (0, 6), (1, 11), (5, 8)])
def test_an_exchange_with_a_limb_lead_is_named(ecg: Signal, pair: tuple[int, int]) -> None:
    ecg[:, list(pair)] = ecg[:, list(pair[::-1])]
    assert doubt_about(ecg) == f"leads exchanged: {LEADS[pair[0]]} and {LEADS[pair[1]]}"


@pytest.mark.attack("leads exchanged, inverted, equal or flat")
@pytest.mark.parametrize("lead", range(6))
def test_an_inverted_limb_lead_is_named(ecg: Signal, lead: int) -> None:
    ecg[:, lead] *= -1
    assert doubt_about(ecg) == f"lead inverted: {LEADS[lead]}"


def test_leads_that_break_the_laws_otherwise_are_not_called_exchanged(ecg: Signal) -> None:
    assert doubt_about(ecg / ecg.std(axis=0)) == ""  # scaled one by one, as some publishers do
    ecg[:, 1] = ecg[::-1, 7]
    assert doubt_about(ecg) == ""


@pytest.mark.attack("leads exchanged, inverted, equal or flat")
def test_equal_leads_are_told_and_equal_pairs_are_not(ecg: Signal) -> None:
    equal = np.repeat(ecg[:, :1], 12, axis=1)
    assert doubt_about(equal) == IDENTICAL
    equal[0] = 0.0
    equal[0, 4] = STEP  # of the coarsest signals
    assert doubt_about(equal) == IDENTICAL
    ecg[:, 7] = ecg[:, 6]
    assert doubt_about(ecg) == ""


def test_leads_that_are_equal_in_some_samples_or_where_they_move_are_told_apart(ecg: Signal) -> None:
    ecg[::50] = ecg[::50, :1]
    assert doubt_about(ecg) == ""
    equal = np.repeat(ecg[:, :1], 12, axis=1)
    equal[:, 7:] = 0.0
    assert doubt_about(equal) == IDENTICAL


@pytest.mark.parametrize(("step", "flat", "equal"), [(0.005, FLAT, IDENTICAL), (0.006, "", "")])
def test_a_step_of_a_coarse_file_is_no_movement_and_no_difference(
    ecg: Signal, step: float, flat: str, equal: str
) -> None:
    ecg[:, 6:] = 0.0
    ecg[7, 6:] = step
    assert doubt_about(ecg) == flat
    same = np.repeat(ecg[:, :1], 12, axis=1)
    same[0], same[0, 4] = 0.0, step
    assert doubt_about(same) == equal


def test_the_laws_are_of_limb_leads_that_move(ecg: Signal) -> None:
    ecg[:, 6:8] = 0.0
    exchanged = ecg.copy()
    exchanged[:, [0, 1]] = ecg[:, [1, 0]]
    assert doubt_about(exchanged) == "leads exchanged: I and II"
    exchanged = ecg.copy()
    exchanged[:, [0, 6]] = ecg[:, [6, 0]]  # lead I is flat, V1 holds it
    assert doubt_about(exchanged) == ""


@pytest.mark.parametrize("size", [0.01, 1.0, 100.0])
@pytest.mark.parametrize(("share", "told"), [(0.045, "leads exchanged: I and III"), (0.055, "")])
def test_an_exchange_is_told_where_its_repair_leaves_less_than_a_twentieth(
    ecg: Signal, size: float, share: float, told: str
) -> None:
    """Noise in aVF alone breaks one law of four: their root mean square is half of it."""
    limbs = np.sqrt(np.square(ecg[:, :6] - ecg[:, :6].mean(axis=0)).mean())
    noise = np.random.default_rng(1).normal(size=len(ecg))
    noise = (noise - noise.mean()) / noise.std()
    ecg[:, 5] += 2 * share * limbs * noise
    ecg[:, [0, 2]] = ecg[:, [2, 0]]
    assert doubt_about(size * ecg) == told


def test_an_amplifier_s_offset_is_no_broken_law(ecg: Signal) -> None:
    """300 mV, as far as amplifiers go, in a recording of ten minutes at 500 Hz: their sum needs double precision."""
    long = np.tile(ecg, (150, 1))
    long[:, [0, 1]] = long[:, [1, 0]]
    assert doubt_about(long + np.float32(300) * np.arange(12, dtype=np.float32)) == "leads exchanged: I and II"


@pytest.mark.attack("leads exchanged, inverted, equal or flat")
@pytest.mark.parametrize("level", [0.0, -1.5])
def test_six_flat_leads_are_told_and_five_are_not(ecg: Signal, level: float) -> None:
    ecg[:, 6:11] = level
    assert doubt_about(ecg) == ""
    ecg[:, 0] = level
    assert doubt_about(ecg) == FLAT


def test_nothing_is_said_of_the_simulated_cohorts(cohorts: dict[str, Prepared]) -> None:
    doubts = {signal.doubt for prepared in cohorts.values() for signal in prepared.signals}
    assert doubts == {""}


@pytest.mark.parametrize(
    ("folder", "step"),
    [
        ("ptb-xl/records100", 20),
        ("ptb-xl/records500", 4),
        ("cpsc2018/Training_WFDB", 4),
        ("cpsc2018/WFDB_CPSC2018", 1),
        ("chapman/ecg-arrhythmia-1.0.0", 1),
        ("chapman/WFDB_ChapmanShaoxing", 1),
    ],
)
def test_nothing_is_said_of_real_recordings_but_for_an_exchange(shared_ecgs: Path, folder: str, step: int) -> None:
    headers = sorted((shared_ecgs / folder).rglob("*.hea"))[::step]
    signals = [read_recording(header.with_suffix("")).signal for header in headers]
    assert {doubt_about(signal) for signal in signals} == {""}
    lawful = [signal for signal in signals if np.abs(signal @ LAWS.T).max() < 0.02]  # mV; others were scaled by lead
    assert lawful
    for signal in lawful:
        signal[:, [0, 1]] = signal[:, [1, 0]]
    assert {doubt_about(signal) for signal in lawful} == {"leads exchanged: I and II"}


@pytest.mark.parametrize(("between_arms", "told"), [(0.15, False), (0.25, True)])
def test_an_exchange_is_told_from_an_error_of_a_tenth(between_arms: float, told: bool) -> None:
    """Arms that differ little make II and aVF alike: exchanged, they break the laws by 8 and by 13 %."""
    left, foot, difference, *chest = np.random.default_rng(0).normal(0, 0.3, (9, 2000))
    right = left - between_arms * difference
    wilson = (right + left + foot) / 3
    augmented = [1.5 * (electrode - wilson) for electrode in (right, left, foot)]
    signal = np.stack([left - right, foot - right, foot - left, *augmented, *chest], axis=1).astype(np.float32)
    signal[:, [1, 5]] = signal[:, [5, 1]]
    assert doubt_about(signal) == ("leads exchanged: II and aVF" if told else "")
