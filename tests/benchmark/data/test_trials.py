"""Pseudo-trials of prepared recordings: which beats they hold, whose they are, and their cache.

One mean and deviation over some recordings of a dataset, all leads together.
"""

from __future__ import annotations

import hashlib
import json
import os
import subprocess
import sys
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest

from benchmark.data import trials as trials_module
from benchmark.data.datasets.base import Entry
from benchmark.data.heartbeats import normalise_trials
from benchmark.data.prepare import Prepared
from benchmark.data.segments import Segmentation
from benchmark.data.trials import Scale, Trials, scale_of, trials

BEATS = (7, 2, 3, 9)
PATIENTS = ("b", "c", "a", "b")
Flip = Callable[[Path, float], None]


@pytest.fixture
def prepared(tmp_path: Path) -> Prepared:
    """Four recordings of three patients, with 7, 2, 3 and 9 random beats."""
    beats = np.random.default_rng(0).normal(size=(sum(BEATS), 300, 12)).astype(np.float16)
    entries = tuple(Entry(f"r{index}", patient, "") for index, patient in enumerate(PATIENTS))
    first_window = np.cumsum((0, *BEATS))
    return Prepared("x", "X", (), "", False, beats, first_window, entries, (), (), "", tmp_path)


def test_consecutive_beats_of_one_recording_make_a_trial(prepared: Prepared, monkeypatch: pytest.MonkeyPatch):
    monkeypatch.setattr(trials_module, "CHUNK", 2)
    made = trials(prepared, 3)
    assert made.signal.shape == (6, 900, 12)
    np.testing.assert_array_equal(made.recording, [0, 0, 2, 3, 3, 3])
    np.testing.assert_array_equal(made.patient, [0, 0, 2, 0, 0, 0])  # numbered by first appearance
    for trial, first in enumerate([0, 3, 9, 12, 15, 18]):
        expected = normalise_trials(prepared.windows[first : first + 3], 3)[0]
        np.testing.assert_array_equal(made.signal[trial], expected.astype(np.float16))


@pytest.fixture
def whole(prepared: Prepared) -> Prepared:
    """Four recordings of 1000, 249, 700 and 251 samples, kept whole, of which crops of 250 begin every 125 samples."""
    lengths = (1000, 249, 700, 251)
    samples = np.random.default_rng(1).normal(0.3, 2.0, size=(sum(lengths), 1, 12)).astype(np.float16)
    crops = Segmentation("recordings", 250, 100, 125)
    return replace(prepared, windows=samples, first_window=np.cumsum((0, *lengths)), segmentation=crops)


def test_crops_lie_over_each_other_and_their_trials_beside_each_other(whole: Prepared):
    apart, over = trials(whole, 2), trials(whole, 1)
    assert apart.recording.tolist() == [0, 0, 2]
    assert apart.start.tolist() == [0, 500, 1249]
    assert over.recording.tolist() == [0] * 7 + [2] * 4 + [3]
    assert over.start.tolist() == [*range(0, 751, 125), *range(1249, 1625, 125), 1949]
    assert over.patient.tolist() == [0] * 7 + [2] * 4 + [0]
    assert (apart.too_short, over.too_short) == (("r1", "r3"), ("r1",))
    samples = whole.windows[:, 0]
    np.testing.assert_array_equal(apart.signal, [samples[0:500], samples[500:1000], samples[1249:1749]])
    np.testing.assert_array_equal(over.signal[[6, 11]], [samples[750:1000], samples[1949:2199]])
    assert list(whole.folder.iterdir()) == []  # read from the windows' own file


def test_windows_and_crops_are_taken_by_number_from_any_trial(whole: Prepared):
    apart, samples = trials(whole, 2), whole.windows[:, 0]
    np.testing.assert_array_equal(apart.take(np.array([2, 0])), apart.signal[[2, 0]])
    np.testing.assert_array_equal(apart.windows(np.array([5, 2])), [samples[1499:1749], samples[500:750]])
    np.testing.assert_array_equal(apart.cut(np.array([1, 2]), np.array([0, 7])), [samples[500:750], samples[1256:1506]])


def test_windows_in_millivolts_are_read_from_their_own_file_one_after_the_other(prepared: Prepared):
    raw = replace(prepared, segmentation=Segmentation(raw=True))
    made = trials(raw, 3)
    assert not np.shares_memory(made.signal, raw.windows)  # beats are left out between them
    assert np.shares_memory(trials(raw, 1).signal, raw.windows)
    assert made.start.tolist() == [300 * first for first in (0, 3, 9, 12, 15, 18)]
    np.testing.assert_array_equal(made.signal[2], raw.windows[9:12].reshape(900, 12))
    assert list(prepared.folder.iterdir()) == []


@pytest.mark.parametrize("per_trial", [1, 2])
def test_a_scale_is_applied_to_all_that_is_taken(whole: Prepared, per_trial: int):
    """Also where trials follow each other without gap or overlap, as those of the first recording here."""
    plain = trials(replace(whole, segmentation=Segmentation("recordings", 250, 100, 250)), per_trial)
    plain = replace(plain, start=plain.start[: 4 // per_trial])
    scale = Scale(0.5, 2.0)
    scaled = replace(plain, scale=scale)
    np.testing.assert_array_equal(scaled.signal, scale.applied(plain.signal))
    np.testing.assert_array_equal(scaled.windows(np.array([3])), scale.applied(plain.windows(np.array([3]))))


@pytest.mark.parametrize(("samples", "start"), [(300, 51), (200, 0), (0, 0)])
def test_nothing_is_read_beyond_the_end_of_the_samples(samples: int, start: int):
    """Of 300 samples, a window of 250 may begin at number 50 at the latest; of fewer than 250, nowhere."""
    zero = np.zeros(1, np.int64)
    one = Trials(np.zeros((samples, 12), np.float16), np.array([start]), 250, zero, zero, 1, ())
    with pytest.raises(IndexError):
        one.take(zero)


def test_beside_pseudo_trials_stands_whose_they_are(prepared: Prepared):
    made = trials(replace(prepared, fingerprint="0123"), 3)
    told = json.loads((prepared.folder / "trials-3.json").read_bytes())
    digest = hashlib.sha256(np.ascontiguousarray(made.signal).tobytes()).hexdigest()
    assert told == {"fingerprint": "0123", "per_trial": 3, "sha256": digest}


def test_named_tasks_share_the_pseudo_trials_of_their_dataset(prepared: Prepared, monkeypatch: pytest.MonkeyPatch):
    whole = replace(prepared, fingerprint="whole")
    first = np.array(trials(whole, 3).signal)
    monkeypatch.delattr(trials_module, "normalise_trials")
    of_task = replace(whole, fingerprint="of the task", dataset="x", prepared_as="whole")
    np.testing.assert_array_equal(trials(of_task, 3).signal, first)


def test_recordings_with_too_few_beats_are_listed(prepared: Prepared):
    assert trials(prepared, 3).too_short == ("r1",)
    assert trials(prepared, 8).too_short == ("r0", "r1", "r2")
    nothing = trials(prepared, 10)
    assert nothing.signal.shape == (0, 3000, 12)
    assert len(nothing.too_short) == 4


@pytest.mark.parametrize("name", ["trials-3.f16", "trials-3.json"])
def test_the_cache_is_used_and_a_damaged_one_is_told_and_replaced(
    prepared: Prepared, name: str, flip: Flip, caplog: pytest.LogCaptureFixture, monkeypatch: pytest.MonkeyPatch
):
    first = np.array(trials(prepared, 3).signal)
    file = prepared.folder / name
    content = file.read_bytes()
    texts = (b"", b"[]", b"{}", b"7", content[:-2])
    for damage in (0.0, 0.3, 0.5, 0.7, 0.999, *texts):
        if isinstance(damage, bytes):
            file.write_bytes(damage)
        else:
            flip(file, damage)
        np.testing.assert_array_equal(trials(prepared, 3).signal, first)
        assert file.read_bytes() == content
        (line,) = caplog.messages
        what = "is damaged or of other windows; it is not used, and made again from the windows"
        assert line == f"{prepared.folder / 'trials-3.f16'} {what}"
        caplog.clear()
    monkeypatch.delattr(trials_module, "normalise_trials")
    np.testing.assert_array_equal(trials(prepared, 3).signal, first)
    assert {path.name for path in prepared.folder.iterdir()} == {"trials-3.f16", "trials-3.json"}


def test_trials_of_other_windows_or_of_another_number_are_refused(prepared: Prepared, tmp_path: Path):
    other_folder = tmp_path / "other"
    other_folder.mkdir()
    other = replace(prepared, windows=prepared.windows[::-1].copy(), fingerprint="other", folder=other_folder)
    first, others = np.array(trials(prepared, 3).signal), np.array(trials(other, 3).signal)
    assert not np.array_equal(first, others)
    for kind in ("f16", "json"):
        (other_folder / f"trials-3.{kind}").rename(prepared.folder / f"trials-3.{kind}")
    np.testing.assert_array_equal(trials(prepared, 3).signal, first)
    wide = replace(prepared, folder=tmp_path)
    twos = np.array(trials(wide, 2).signal)
    for kind in ("f16", "json"):
        (prepared.folder / f"trials-3.{kind}").replace(prepared.folder / f"trials-2.{kind}")
    np.testing.assert_array_equal(trials(prepared, 2).signal, twos)


MAKER = """
import logging, sys, time
from pathlib import Path
import numpy as np
from benchmark.data import trials as module
from benchmark.data.prepare import Prepared
from benchmark.data.datasets.base import Entry
logging.basicConfig(level=logging.WARNING)
module.CHUNK = 1
folder = Path(sys.argv[1])
with np.load(folder / "windows.npz") as arrays:
    windows, first = arrays["windows"], arrays["first"]
entries = tuple(Entry(f"r{index}", "p", "") for index in range(len(first) - 1))
prepared = Prepared("x", "X", (), "", False, windows, first, entries, (), (), "f", folder / "made")
(folder / f"ready-{sys.argv[2]}").touch()
while len(list(folder.glob("ready-*"))) < 2:
    time.sleep(0.001)
made = module.trials(prepared, 3)
np.save(folder / f"seen-{sys.argv[2]}.npy", made.signal)
"""


def test_two_processes_at_once_end_with_the_same_whole_file(prepared: Prepared):
    folder = prepared.folder
    (folder / "made").mkdir()
    np.savez(folder / "windows.npz", windows=prepared.windows, first=prepared.first_window)
    command = [sys.executable, "-c", MAKER, str(folder)]
    makers = [subprocess.Popen([*command, name], stderr=subprocess.PIPE, text=True) for name in ("one", "two")]
    told = [maker.communicate()[1] for maker in makers]
    assert told == ["", ""]
    expected = trials(replace(prepared, folder=folder / "alone"), 3).signal
    for name in ("one", "two"):
        np.testing.assert_array_equal(np.load(folder / f"seen-{name}.npy"), expected)
    assert {file.name for file in (folder / "made").iterdir()} == {"trials-3.f16", "trials-3.json"}
    assert (folder / "made" / "trials-3.f16").read_bytes() == np.ascontiguousarray(expected).tobytes()


def test_pseudo_trials_are_never_there_without_their_digest(
    prepared: Prepared, monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture
):
    """Another process looks right after each file is put in place."""
    replace_file, looked = os.replace, []

    def look_after(source: Path, target: Path) -> None:
        replace_file(source, target)
        if not looked:
            looked.append(target)
            trials(prepared, 3)

    monkeypatch.setattr(os, "replace", look_after)
    trials(prepared, 3)
    assert looked
    assert caplog.messages == []


MakePrepared = Callable[..., Prepared]


def test_mean_and_deviation_are_over_all_samples_and_leads_of_the_recordings_named(make_prepared: MakePrepared) -> None:
    prepared = make_prepared("ptb-xl", [("a", (0,), 3, 1), ("b", (1,), 2, 2), ("c", (2,), 4, 3)])
    prepared.windows[:3] += 2  # type: ignore[index]
    prepared.windows[:] *= 0.25  # type: ignore[index]
    own = np.concatenate([prepared.windows[:3], prepared.windows[5:]]).astype(np.float64)
    found = scale_of(prepared, np.array([0, 2]))
    np.testing.assert_allclose(found, (own.mean(), own.std()), rtol=1e-9)
    assert found.mean > 0.1
    assert found.deviation < 0.5


def test_what_has_no_samples_or_one_value_is_left_as_it_is(make_prepared: MakePrepared) -> None:
    prepared = make_prepared("ptb-xl", [("a", (0,), 3, 1)])
    assert scale_of(prepared, np.array([], np.int64)) == (0.0, 1.0)
    prepared.windows[:] = 0  # type: ignore[index]
    assert scale_of(prepared, np.array([0])) == (0.0, 1.0)


def test_standardises_as_the_ptb_xl_benchmark(make_prepared: MakePrepared, shared_reference: Path) -> None:
    with np.load(shared_reference / "protocol_dev.npz") as stored:
        given = {name: stored[f"standardise/{name}"] for name in ("train", "val", "train_out", "val_out")}
    recordings = [(str(number), (0,), 1, 1) for number in range(len(given["train"]))]
    prepared = replace(make_prepared("ptb-xl", recordings), windows=given["train"])  # type: ignore[arg-type]
    scale = scale_of(prepared, np.arange(len(recordings)))
    for side in ("train", "val"):
        found = (given[side] - scale.mean) / scale.deviation
        np.testing.assert_allclose(found, given[f"{side}_out"], rtol=1e-5, atol=1e-6)
        np.testing.assert_allclose(scale.applied(given[side]), given[f"{side}_out"], rtol=2**-10, atol=1e-3)
