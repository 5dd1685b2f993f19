"""Windows of anyone's recordings: those of training to the bit, whatever the order of the leads."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

from benchmark.config.errors import ConfigError
from benchmark.data.prepared.beats import pseudo_trials
from benchmark.data.prepared.load import Prepared
from benchmark.data.prepared.scale import Scale
from benchmark.data.prepared.trials import trials
from benchmark.data.prepared.windows import HEARTBEATS, Segmentation, plain_seconds
from benchmark.data.readers.base import LEADS, Dataset, Recording, Unusable
from benchmark.data.readers.registry import source_of
from benchmark.embedding.cut import Taken, check_signals, columns_of, cut_all, each_of, recording_of, windows_of
from tests.benchmark.embedding.exported import RATE, recording

SIX_BEATS = Taken(HEARTBEATS, 6)


def dataset_of(prepared: Prepared) -> Dataset:
    return source_of(prepared.name)(prepared.folder.parents[1] / prepared.name)


@pytest.mark.parametrize("name", ["chapman", "ptb-xl"])
def test_windows_are_those_of_the_prepared_dataset_to_the_bit(cohorts: dict[str, Prepared], name: str) -> None:
    prepared = cohorts[name]
    every, dataset = trials(prepared, 6), dataset_of(prepared)
    found = list(cut_all(dataset.read, prepared.entries, SIX_BEATS))
    for number, own in enumerate(found):
        expected = every.signal[every.recording == number].reshape(-1, 300, len(LEADS))
        if isinstance(own, str):
            assert not len(expected)
            assert own.startswith("fewer than 6 heartbeats: ")
        else:
            assert np.array_equal(own, expected)
    assert sum(not isinstance(own, str) for own in found) > len(found) / 2


def test_the_order_of_leads_and_their_case_and_unit_do_not_matter() -> None:
    signal = recording()
    order = np.random.default_rng(1).permutation(12)
    names = [LEADS[lead].upper() for lead in order]
    one, _ = each_of(signal[None], RATE, LEADS)
    other, _ = each_of(signal[None][..., order], RATE, names)
    assert np.array_equal(one(0).signal, other(0).signal)
    wide, _ = each_of(np.concatenate([np.ones((1, len(signal), 1)), signal[None]], axis=2), RATE, ["V7", *LEADS])
    assert np.array_equal(one(0).signal, wide(0).signal)
    microvolts = windows_of(Recording((1000 * signal).astype(np.float32), RATE), SIX_BEATS)
    assert np.allclose(microvolts, windows_of(one(0), SIX_BEATS), atol=2e-3)


def test_leads_are_named_in_the_error() -> None:
    names = ["I", "MLII", *LEADS[2:]]
    with pytest.raises(ConfigError, match=r"^leads: lead missing: II; not known: MLII; the 12 are I II III aVR"):
        columns_of(names)
    with pytest.raises(ConfigError, match="lead twice: I"):
        columns_of(["I", "I", *LEADS[1:]])
    with pytest.raises(ConfigError, match="give a list of names"):
        columns_of("I II III")


@pytest.mark.parametrize(
    ("signals", "rate", "message"),
    [
        (np.zeros((2, 100, 11)), 500, "recording 0 is of shape .100, 11., and 12 leads are named"),
        (np.zeros((100, 12)), 500, r"are one recording: give signals\[None\]"),
        ([np.zeros((100, 12)), np.zeros(100)], 500, "recording 1 is float64 .100,., not numbers"),
        (np.full((1, 5, 12), "x"), 500, "not numbers .samples, leads."),
        (np.zeros((1, 100, 12)), 5, "rate 5 is not a sampling rate in Hz from 50 to 10000"),
        (np.zeros((1, 100, 12)), float("nan"), "rate nan is not"),
    ],
)
def test_what_are_no_recordings_is_one_line(signals: Any, rate: float, message: str) -> None:
    with pytest.raises(ConfigError, match=message):
        check_signals(signals, rate, LEADS)


@pytest.mark.parametrize(
    ("signal", "reason"),
    [
        (np.where(np.arange(5000)[:, None] == 7, np.nan, recording()), "NaN samples: lead I, II"),
        (recording(seconds=1.0), "too short: 1.00 s"),
        (recording(seconds=4.0), "fewer than 6 heartbeats: "),
        (np.zeros((5000, 12)), "all samples zero"),
        (recording()[:, :] * 1e12, "infinite samples"),
    ],
)
def test_a_recording_without_windows_has_a_reason(signal: Any, reason: str) -> None:
    with pytest.raises(Unusable, match=reason):
        windows_of(recording_of(signal, RATE, range(12)), SIX_BEATS)


def test_plain_windows_are_cut_as_plain_windows() -> None:
    own = windows_of(recording_of(recording(), RATE, range(12)), Taken(plain_seconds(2.5), 1))
    assert own.shape == (4, 625, 12)


def test_crops_are_those_of_the_whole_recording_and_absent_leads_are_zero() -> None:
    signal = recording()
    whole = Segmentation("recordings", 250, 100, 125)
    own = windows_of(recording_of(signal, RATE, range(12)), Taken(whole, 1, Scale(1.0, 2.0), ("I", "V6")))
    kept = whole.cut(signal.astype(np.float32), RATE)[:, 0].astype(np.float16)  # (1000, 12)
    assert own.shape == (7, 250, 12)
    for crop, first in zip(own, range(0, 751, 125), strict=True):
        expected = (kept[first : first + 250].astype(np.float32) - 1) / 2
        np.testing.assert_array_equal(crop[:, [0, 11]], expected[:, [0, 11]].astype(np.float16))
        assert not crop[:, 1:11].any()


def test_leads_that_the_tests_had_not_may_be_absent() -> None:
    signal = recording()
    read, _ = each_of(signal[None][..., [1, 0]], RATE, ["ii", "I"], ("I", "II"))
    assert np.array_equal(read(0).signal[:, :2], signal[:, :2].astype(np.float32))
    assert not read(0).signal[:, 2:].any()
    with pytest.raises(ConfigError, match=r"^leads: lead missing: II; the encoder needs I II, in any order$"):
        columns_of(["I"], ("I", "II"))


def test_resampling_is_that_of_training() -> None:
    signal = recording(rate=400, seconds=12.0)
    own = windows_of(recording_of(signal, 400, range(12)), SIX_BEATS)
    expected = pseudo_trials(signal.astype(np.float32), 400, 6).reshape(-1, 300, 12)
    assert np.allclose(own, expected, atol=5e-3)  # but for the float16 of the cache
