"""R peaks against neurokit2's own: simulated and real ECGs, noise, plateaus, nothing at all."""

from __future__ import annotations

import warnings
from pathlib import Path

import neurokit2
import numpy as np
import pytest
from numpy.typing import NDArray

from benchmark.data.prepared.beats import FS, clean, resample, standardise
from benchmark.data.prepared.r_peaks import find_r_peaks, long_stretches, most_prominent, spaced
from benchmark.data.readers.files.wfdb_record import read_recording
from benchmark.data.simulate import simulate


def assert_neurokits(cleaned: NDArray[np.float64]) -> int:
    """The peaks of all leads (L, n) are neurokit2's; how many there are."""
    ours = find_r_peaks(cleaned, FS)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", RuntimeWarning)  # a lead without a whole QRS makes it average nothing
        theirs = [neurokit2.ecg_findpeaks(lead, FS, method="neurokit")["ECG_R_Peaks"] for lead in cleaned]
    for own, reference in zip(ours, theirs, strict=True):
        np.testing.assert_array_equal(own, np.asarray(reference, int))
    return sum(map(len, ours))


@pytest.mark.parametrize("diagnosis", ["NORM", "LBBB", "AFIB", "MI-ANT", "ST"])
@pytest.mark.parametrize("fs", [100.0, 500.0])
def test_simulated_ecgs(diagnosis: str, fs: float) -> None:
    for seed in range(4):
        signal = simulate(diagnosis, seed=seed, seconds=10.0, fs=fs)
        assert assert_neurokits(clean(standardise(resample(signal, fs)))) > 60


@pytest.mark.parametrize("folder", ["ptb-xl/records500/00000", "cpsc2018/Training_WFDB"])
def test_real_ecgs(shared_ecgs: Path, folder: str) -> None:
    headers = sorted((shared_ecgs / folder).glob("*.hea"))[:20]
    assert headers
    for header in headers:
        recording = read_recording(header.with_suffix(""))
        assert assert_neurokits(clean(standardise(resample(recording.signal, recording.fs)))) > 0


@pytest.mark.parametrize("decimals", [0, 1, 15])
def test_noise_and_plateaus(decimals: int) -> None:
    generator = np.random.default_rng(0)
    assert sum(assert_neurokits(np.round(generator.normal(size=(12, 700)).cumsum(axis=1), decimals)) for _ in range(20))


def test_where_there_is_nothing_to_find() -> None:
    assert assert_neurokits(np.zeros((2, 1000))) == 0
    assert assert_neurokits(np.linspace(0, 1, 1000)[None]) == 0
    step = np.r_[np.zeros(500), np.ones(500)]
    assert_neurokits(np.stack([step, np.zeros(1000), -step]))


def test_nothing_is_steep_where_a_lead_is_flat_between_its_beats() -> None:
    """Whole numbers, so that slope and average are zero there to the bit."""
    lead = np.zeros(3000)
    for beat in (500, 1250, 2250):
        lead[beat - 2 : beat + 3] = 0, 50, 100, 50, 0
    (found,) = find_r_peaks(lead[None], FS)
    assert found.tolist() == [500, 1250, 2250]
    assert assert_neurokits(lead[None]) == 3


def test_a_lower_maximum_may_be_the_more_prominent() -> None:
    lead = np.array([9.0, 10.0, 9.5, 5.0, 8.0, 4.0])  # 10 stands 1 above its begin, 8 stands 3 above its valley
    (found,) = most_prominent(lead[None], np.array([0]), np.array([0]), np.array([6]))
    assert found == 4
    (none,) = most_prominent(lead[None], np.array([0]), np.array([2]), np.array([4]))
    assert none == -1


def test_of_equal_maxima_the_first_counts_and_neither_hides_the_other() -> None:
    """Each 10 stands 10 above the ends of the stretch, 8 above the valley between; the 9 stands 9 above both sides."""
    lead = np.array([[0.0, 10.0, 2.0, 10.0, 0.0, 9.0, 0.0]])
    assert most_prominent(lead, np.array([0]), np.array([0]), np.array([7])).tolist() == [1]


def test_a_stretch_with_equal_neighbours_may_have_no_maximum() -> None:
    lead = np.array([[1.0, 1.0, 2.0, 3.0, 3.0]])
    assert most_prominent(lead, np.array([0]), np.array([0]), np.array([5])).tolist() == [-1]


def test_stretches_of_less_than_two_fifths_of_their_lead_s_mean_are_dropped() -> None:
    """Of 2 and 8 samples the mean is 5, and 2 just long enough; of 1 and 9, 1 is not. What is cut off is left out."""
    steep = np.zeros((4, 40), bool)
    for lead, begin, end in [(0, 5, 7), (0, 20, 28), (2, 3, 4), (2, 10, 19), (3, 0, 9), (3, 12, 13), (3, 30, 40)]:
        steep[lead, begin:end] = True
    lead, begin, end = long_stretches(steep)
    assert lead.tolist() == [0, 0, 2, 3]
    assert begin.tolist() == [4, 19, 9, 11]  # the sample before
    assert end.tolist() == [6, 27, 18, 12]


def test_peaks_keep_their_distance_from_the_last_that_was_kept() -> None:
    np.testing.assert_array_equal(spaced(np.array([75, 76, 140, 152, 300]), 75), [76, 152, 300])
