"""A corpus to pretrain on: which pseudo-trials, of whom, with which text; pairs, batches read ahead, their order."""

from __future__ import annotations

import hashlib
from collections import Counter
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import torch
from torch import Tensor

from benchmark.data import trials as trials_module
from benchmark.data.column import Column
from benchmark.data.corpus import Corpus, corpus_of, epoch_order, epoch_shape
from benchmark.data.damage import digest_file
from benchmark.data.datasets.base import Entry
from benchmark.data.heartbeats import normalise_trials
from benchmark.data.prepare import Prepared
from benchmark.data.report_text import has_text
from benchmark.data.segments import Segmentation
from benchmark.data.splits import TaskSpec
from benchmark.data.trials import Scale, Trials, scale_of, trials_of
from tests.benchmark.data.corpora import batch_of, corpus_in_memory
from tests.benchmark.tables import table, whole_trials, with_cells
from tests.benchmark.tasks import make_task

CPU = torch.device("cpu")
Cohorts = dict[str, Prepared]
MakePrepared = Callable[..., Prepared]
COUNTS, NAMES = (7, 2, 3, 9), ("b", "c", "a", "b")


@pytest.fixture
def prepared(tmp_path: Path) -> Prepared:
    """Four recordings of three patients, with 7, 2, 3 and 9 random heartbeats."""
    beats = np.random.default_rng(0).normal(size=(sum(COUNTS), 300, 12)).astype(np.float16)
    entries = tuple(Entry(f"r{index}", patient, "") for index, patient in enumerate(NAMES))
    return Prepared("x", "X", (), table(entries, windows=COUNTS), "", beats, tmp_path)


@pytest.fixture
def whole(prepared: Prepared) -> Prepared:
    """Four recordings of 1000, 249, 700 and 251 samples, kept whole, of which crops of 250 begin every 125 samples."""
    lengths = (1000, 249, 700, 251)
    samples = np.random.default_rng(1).normal(0.3, 2.0, size=(sum(lengths), 1, 12)).astype(np.float16)
    crops = Segmentation("recordings", 250, 100, 125)
    return replace(with_cells(prepared, windows=lengths), windows=samples, segmentation=crops)


def every(trials: Trials) -> np.ndarray[Any, Any]:
    """(T, P * S, 12)"""
    return whole_trials(trials, np.arange(len(trials.start)))


def test_consecutive_beats_of_one_recording_make_a_trial(prepared: Prepared, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(trials_module, "CHUNK", 2)
    trials = trials_of(prepared, 3)
    assert trials.recording.tolist() == [0, 0, 2, 3, 3, 3]
    assert trials.patient.tolist() == [0, 0, 2, 0, 0, 0]  # numbered by first appearance
    for signal, first in zip(every(trials), [0, 3, 9, 12, 15, 18], strict=True):
        expected = normalise_trials(prepared.windows[first : first + 3], 3)[0]
        np.testing.assert_array_equal(signal, expected.astype(np.float16))
    assert every(trials_of(prepared, 10)).shape == (0, 3000, 12)
    raw = every(trials_of(replace(prepared, segmentation=Segmentation(raw=True)), 3))
    np.testing.assert_array_equal(raw[1], prepared.windows[3:6].reshape(900, 12))  # in mV, as they are


def test_pseudo_trials_are_written_once(prepared: Prepared, monkeypatch: pytest.MonkeyPatch) -> None:
    first = every(trials_of(prepared, 3))
    file = prepared.folder / "trials-3.f16"
    content = file.read_bytes()
    file.write_bytes(content[:-2])
    np.testing.assert_array_equal(every(trials_of(prepared, 3)), first)
    assert file.read_bytes() == content
    monkeypatch.delattr(trials_module, "normalise_trials")
    np.testing.assert_array_equal(every(trials_of(prepared, 3)), first)
    assert sorted(prepared.folder.iterdir()) == [file, digest_file(file)]


def test_crops_of_one_window_overlap(whole: Prepared) -> None:
    apart, over, samples = trials_of(whole, 2), trials_of(whole, 1), whole.windows[:, 0]
    assert apart.recording.tolist() == [0, 0, 2]
    assert apart.start.tolist() == [0, 500, 1249]
    assert over.recording.tolist() == [0] * 7 + [2] * 4 + [3]
    assert over.start.tolist() == [*range(0, 751, 125), *range(1249, 1625, 125), 1949]
    assert over.patient.tolist() == [0] * 7 + [2] * 4 + [0]
    np.testing.assert_array_equal(every(apart), [samples[0:500], samples[500:1000], samples[1249:1749]])
    np.testing.assert_array_equal(apart.windows(np.array([5, 2])), [samples[1499:1749], samples[500:750]])
    crops = apart.take(np.array([1, 2]), np.array([0, 7]))
    np.testing.assert_array_equal(crops, [samples[500:750], samples[1256:1506]])
    scale = Scale(0.5, 2.0)
    np.testing.assert_array_equal(every(replace(apart, scale=scale)), scale.applied(every(apart)))
    assert list(whole.folder.iterdir()) == []  # read from the windows' own file


def test_standardises_as_the_ptb_xl_benchmark(make_prepared: MakePrepared, shared_reference: Path) -> None:
    with np.load(shared_reference / "protocol_dev.npz") as stored:
        given = {name: stored[f"standardise/{name}"] for name in ("train", "val", "train_out", "val_out")}
    recordings = [(str(number), (0,), 1, 1) for number in range(len(given["train"]))]
    prepared = replace(make_prepared("ptb-xl", recordings), windows=given["train"])  # type: ignore[arg-type]
    scale = scale_of(prepared, np.arange(len(recordings)))
    for side in ("train", "val"):
        standardised = (given[side] - scale.mean) / scale.deviation
        np.testing.assert_allclose(standardised, given[f"{side}_out"], rtol=1e-5, atol=1e-6)
        np.testing.assert_allclose(scale.applied(given[side]), given[f"{side}_out"], rtol=2**-10, atol=1e-3)
    zeros = replace(prepared, windows=np.zeros_like(given["train"]))
    assert scale_of(zeros, np.arange(2)) == scale_of(prepared, np.array([], np.int64)) == (0.0, 1.0)


def test_a_labelled_dataset_pretrains_on_its_training_part_alone(cohorts: Cohorts) -> None:
    ptb = cohorts["ptb-xl"]
    corpus = corpus_of(Column(ptb, TaskSpec(6, "single", "paper")), CPU)
    task = make_task(ptb, TaskSpec(6, "single", "paper"), ratio=1.0, seed=41, device=CPU)
    pretrained = {ptb.recordings.recording[recording] for recording in corpus.recording.tolist()}
    assert pretrained == set(task.train.recording)
    assert pretrained.isdisjoint({*task.validation.recording, *task.test.recording})


def test_text_comes_with_the_recordings_that_have_a_report(cohorts: Cohorts) -> None:
    mimic = cohorts["mimic-iv-ecg"]
    mimic = with_cells(mimic, report=[" - ", *[*mimic.recordings.report][1:]])
    with_report = {index for index, report in enumerate(mimic.recordings.report) if has_text(report)}
    corpus = corpus_of(Column(mimic, TaskSpec(4, "single", "paper")), CPU, "tfidf")
    assert corpus.text is not None
    assert len(corpus.text) == len(corpus.recording)
    assert set(corpus.recording.tolist()) <= with_report
    without = corpus_of(Column(mimic, TaskSpec(4, "single", "paper")), CPU)
    assert set(without.recording.tolist()) - with_report == {0}
    for recording in set(corpus.recording.tolist()):
        text = corpus.text[corpus.recording == recording]  # (t, E)
        assert bool((text == text[0]).all())
    assert without.text is None


BEATS, STEPS = 6, 4
PATIENT = torch.tensor([1, 1, 1, 2, 3, 3, 3])
RECORDING = torch.tensor([10, 10, 11, 20, 30, 31, 32])
"""Patient 1 has two recordings, 2 has one of one pseudo-trial, 3 has three."""
TRIALS = len(PATIENT)


@pytest.fixture
def beats() -> Corpus:
    """Every sample of a heartbeat holds its number, 100 * pseudo-trial + beat."""
    numbers = 100 * torch.arange(TRIALS)[:, None] + torch.arange(BEATS)  # (T, P)
    return corpus_in_memory(numbers[:, :, None, None].expand(-1, -1, STEPS, 12), PATIENT, RECORDING)


@pytest.fixture
def crops() -> Corpus:
    """Crops of 4 samples, 6 in each pseudo-trial; a sample holds its place, 100 * pseudo-trial + sample."""
    positions = 100 * torch.arange(TRIALS)[:, None] + torch.arange(BEATS * STEPS)  # (T, P * S)
    signal = positions[:, :, None].expand(-1, -1, 12).reshape(TRIALS, BEATS, STEPS, 12)
    return corpus_in_memory(signal, PATIENT, RECORDING, random_start=True)


def drawn(corpus: Corpus, numbers: Tensor, pairing: Any, seed: int = 0) -> list[tuple[int, int]]:
    """First values of both windows of each pair; the windows must be whole."""
    batch = batch_of(corpus, numbers, pairing, seed)
    for x in (batch.x1, batch.x2):
        assert torch.equal(x[:, :, 0], x[:, :1, 0] + torch.arange(STEPS) * corpus.random_start)
    return [(int(one), int(two)) for one, two in zip(batch.x1[:, 0, 0], batch.x2[:, 0, 0], strict=True)]


def partners(corpus: Corpus, numbers: Tensor, of: int = 1) -> dict[int, set[int]]:
    """First value of a pair of pairing `patient`, divided by `of` -> those of its partners in 200 draws."""
    result: dict[int, set[int]] = {}
    for seed in range(200):
        for one, other in drawn(corpus, numbers, "patient", seed):
            result.setdefault(one // of, set()).add(other)
    return result


def test_neighbors_are_consecutive_beats_of_one_pseudo_trial(beats: Corpus) -> None:
    numbers = [100 * trial + 2 * pair for trial in range(TRIALS) for pair in range(3)]
    assert drawn(beats, torch.arange(3 * TRIALS), "neighbor") == [(number, number + 1) for number in numbers]
    assert beats.trial_of_pair.tolist() == [trial for trial in range(TRIALS) for _ in range(3)]
    assert beats.patient_of_pair.tolist() == [patient for patient in PATIENT.tolist() for _ in range(3)]


@pytest.mark.parametrize("pairing", ["neighbor", "same", "patient"])
def test_a_batch_is_described_by_its_first_windows(beats: Corpus, pairing: Any) -> None:
    numbers = torch.tensor([20, 0, 9, 9])
    batch = batch_of(replace(beats, text=torch.arange(TRIALS)[:, None].float()), numbers, pairing)
    trial = [6, 0, 3, 3]
    assert [int(x) // 100 for x in batch.x1[:, 0, 0]] == batch.trial.tolist() == trial
    assert (batch.patient.tolist(), batch.recording.tolist()) == (PATIENT[trial].tolist(), RECORDING[trial].tolist())
    assert batch.text is not None
    assert batch.text.flatten().tolist() == trial
    assert batch_of(beats, numbers, pairing).text is None


def test_patients_pair_with_another_of_their_recordings_else_with_another_window(beats: Corpus) -> None:
    of_trial = partners(beats, torch.arange(3 * TRIALS), 100)
    of = {trial: {100 * trial + beat for beat in range(BEATS)} for trial in range(TRIALS)}
    assert of_trial[0] == of_trial[1] == of[2]
    assert of_trial[2] == of[0] | of[1]
    assert of_trial[4] == of[5] | of[6]
    assert of_trial[5] == of[4] | of[6]
    alone = partners(beats, torch.tensor([9, 10, 11]))  # of patient 2
    assert alone == {number: of[3] - {number} for number in of[3]}


def test_partners_are_equally_likely(beats: Corpus) -> None:
    pairs = drawn(beats, torch.full((12_000,), 3 * 2), "patient")  # pseudo-trial 2 of patient 1
    counts = Counter(other for _, other in pairs).values()
    assert len(counts) == 2 * BEATS
    assert min(counts) > 850  # 1000 expected, standard deviation 30
    assert max(counts) < 1150


def test_crops_lie_anywhere_behind_each_other_or_in_the_same_place(crops: Corpus) -> None:
    pair = torch.full((2_000,), 4)  # of pseudo-trial 1
    counts = Counter(drawn(crops, pair, "neighbor"))
    assert counts.keys() == {(100 + t, 104 + t) for t in range(4 * BEATS - 8 + 1)}
    assert min(counts.values()) > 70  # 118 expected, standard deviation 11
    assert max(counts.values()) < 170
    assert set(drawn(crops, pair, "same")) == {(100 + t, 100 + t) for t in range(4 * BEATS - 4 + 1)}


@pytest.mark.parametrize("pairing", ["neighbor", "same", "patient"])
@pytest.mark.parametrize(("windows", "random_start"), [(6, False), (5, True)])
@pytest.mark.parametrize("first", [0, 3, 5])
def test_draws_follow_the_seed_of_their_step(pairing: Any, windows: int, random_start: bool, first: int) -> None:
    generator = torch.Generator().manual_seed(windows)
    signal, text = (torch.randn(TRIALS, *shape, generator=generator) for shape in ((windows, STEPS, 12), (3,)))
    scale = Scale(0.3, 1.7)
    corpus = corpus_in_memory(signal.half(), PATIENT, RECORDING, text, random_start=random_start, scale=scale)
    order = torch.randint(len(corpus.trial_of_pair), (5, 4), generator=generator)
    walked = [(batch, torch.rand(3)) for batch in corpus.batches(order, pairing, lambda step: 1000 + step, first)]
    assert len(walked) == 5 - first
    for step, (batch, after) in enumerate(walked, start=first):
        alone = batch_of(corpus, order[step], pairing, 1000 + step)  # torch is left as if it had drawn this
        for value, expected in zip(batch, alone, strict=True):
            assert torch.equal(value, expected)
            assert value.dtype == expected.dtype
        assert torch.equal(after, torch.rand(3))


PER_TRIAL = 5
TRIAL_OF_PAIR = torch.arange(24).repeat_interleave(PER_TRIAL)  # (120,)
PATIENT_OF_PAIR = torch.tensor([1] * 12 + [2] * 6 + [3, 4, 5, 6, 7, 8]).repeat_interleave(PER_TRIAL)  # (120,) unequal
OVER_PAIRS = ["shuffled", "trial", "trial-fixed"]


def order_of(batching: Any, size: int = 20, *, seed: int = 42, epoch: int = 0, pairs: int = 120) -> Tensor:
    """(n, B) numbers of pairs."""
    trial, patient = TRIAL_OF_PAIR[:pairs], PATIENT_OF_PAIR[:pairs]
    shape = epoch_shape(patient, batching, size)
    order = epoch_order(trial, patient, shape, batching=batching, seed=seed, epoch=epoch)
    assert tuple(order.shape) == (shape.updates, shape.batch_size)
    return order


@pytest.mark.parametrize("batching", OVER_PAIRS)
def test_every_pair_stands_in_an_epoch_once_but_for_a_smaller_last_batch(batching: str) -> None:
    for epoch in range(3):
        assert sorted(order_of(batching, epoch=epoch).flatten().tolist()) == list(range(120))
    assert len(order_of(batching, 50).unique()) == 100
    assert order_of(batching, 500).shape == (1, 120)  # a batch larger than the data shrinks
    assert order_of(batching, 500, pairs=7).shape == (1, 7)


def test_a_pseudo_trial_stands_in_one_batch() -> None:
    def members(batching: str, epoch: int) -> set[frozenset[int]]:
        return {frozenset(batch.tolist()) for batch in order_of(batching, epoch=epoch)}

    for batching in ("trial", "trial-fixed"):
        for batch in order_of(batching, 4 * PER_TRIAL):
            assert set(Counter(TRIAL_OF_PAIR[batch].tolist()).values()) == {PER_TRIAL}
    assert min(len(TRIAL_OF_PAIR[batch].unique()) for batch in order_of("shuffled", 4 * PER_TRIAL)) > 4
    assert members("trial-fixed", 0) == members("trial-fixed", 7)
    assert members("trial", 0).isdisjoint(members("trial", 7))
    assert not torch.equal(order_of("trial-fixed", epoch=0), order_of("trial-fixed", epoch=7))  # permuted inside


@pytest.mark.parametrize("size", [2, 3, 4, 100])
def test_no_patient_stands_twice_in_a_batch_or_of_patient_once_in_an_epoch(size: int) -> None:
    for batch in order_of("patient", size):
        assert len(PATIENT_OF_PAIR[batch].unique()) == len(batch)
    once = order_of("patient-once", size).flatten()
    assert len(PATIENT_OF_PAIR[once].unique()) == len(once) == (8 if size != 3 else 6)
    assert epoch_shape(torch.arange(15) // 5, "patient", size) == (7, 2)  # of three patients two stand in a batch
    assert epoch_shape(torch.arange(2), "patient", size) == (1, 2)


@pytest.mark.parametrize(
    ("batching", "known"),
    [
        ("shuffled", "f33123e82d62"),
        ("trial", "2631ce34ac0b"),
        ("trial-fixed", "d660b5cdfea6"),
        ("patient", "820b3d9112f8"),
        ("patient-once", "5c3863564ad5"),
    ],
)
def test_the_order_of_an_epoch_is_the_same_on_every_machine(batching: str, known: str) -> None:
    # Another order is another result: where this has to change, PRETRAIN_VERSION has to be raised.
    torch.manual_seed(1)
    assert hashlib.sha256(order_of(batching, epoch=3).numpy().tobytes()).hexdigest()[:12] == known
    first = order_of(batching, 4)
    assert not torch.equal(order_of(batching, 4, epoch=1), first)
    assert not torch.equal(order_of(batching, 4, seed=43), first)
