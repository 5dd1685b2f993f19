"""A corpus to pretrain on: which windows, of whom, with which text, in memory or streamed."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace

import numpy as np
import pytest
import torch

from benchmark.data.corpus.pairs import make_batch
from benchmark.data.corpus.source import pretraining_source
from benchmark.data.corpus.text import has_text
from benchmark.data.prepared.load import Prepared
from benchmark.data.prepared.trials import trials
from benchmark.data.prepared.windows import plain_seconds
from benchmark.data.readers.base import DatasetError
from benchmark.data.tasks.spec import TaskSpec
from benchmark.data.tasks.task import make_task

CPU = torch.device("cpu")
Cohorts = dict[str, Prepared]
MakePrepared = Callable[..., Prepared]


def test_a_corpus_of_plain_windows_may_be_cut_anywhere(make_prepared: MakePrepared) -> None:
    beats = make_prepared("mimic-iv-ecg", [("p1", (), 4, None), ("p2", (), 3, None)])
    plain = replace(beats, windows=np.zeros((7, 625, 12), np.float16), segmentation=plain_seconds(2.5))
    plain = replace(plain, fingerprint="plain")
    assert not pretraining_source(beats, TaskSpec(3, "single", "paper"), torch.device("cpu")).anywhere
    source = pretraining_source(plain, TaskSpec(3, "single", "paper"), torch.device("cpu"))
    assert source.anywhere
    assert source.signal.shape == (2, 3, 625, 12)
    with pytest.raises(DatasetError, match="no recording to pretrain on has the 5 windows of a pseudo-trial"):
        pretraining_source(plain, TaskSpec(5, "single", "paper"), torch.device("cpu"))


def test_a_corpus_gives_all_of_its_pseudo_trials_with_patients_from_one(cohorts: Cohorts) -> None:
    mimic = cohorts["mimic-iv-ecg"]
    source = pretraining_source(mimic, TaskSpec(4, "single", "paper"), CPU)
    whole = trials(mimic, 4)
    assert source.signal.shape == (len(whole.recording), 4, 300, 12)
    np.testing.assert_array_equal(source.signal.flatten(1, 2).numpy(), whole.signal)
    names = [mimic.entries[recording].patient for recording in source.recording.tolist()]
    assert source.patient.min() == 1
    assert source.patient.tolist() == [list(dict.fromkeys(names)).index(name) + 1 for name in names]


@pytest.mark.parametrize("name", ["mimic-iv-ecg", "ptb-xl"])
def test_a_streamed_corpus_has_the_windows_of_one_in_memory(cohorts: Cohorts, name: str) -> None:
    spec = TaskSpec(4, "single", "paper")
    memory, disk = (pretraining_source(cohorts[name], spec, CPU, streaming=how) for how in ("never", "always"))
    assert isinstance(memory.signal, torch.Tensor)
    assert not isinstance(disk.signal, torch.Tensor)
    assert disk.signal.shape == tuple(memory.signal.shape)
    every = torch.arange(memory.pairs)
    for own, other in zip(make_batch(memory, every, "neighbor"), make_batch(disk, every, "neighbor"), strict=True):
        assert own is other is None or torch.equal(own, other)


def test_a_labelled_dataset_pretrains_on_its_training_part_alone(cohorts: Cohorts) -> None:
    ptb = cohorts["ptb-xl"]
    source = pretraining_source(ptb, TaskSpec(6, "single", "paper"), CPU)
    task = make_task(ptb, TaskSpec(6, "single", "paper"), ratio=1.0, seed=41, device=CPU)
    pretrained = {ptb.entries[recording].recording for recording in source.recording.tolist()}
    assert pretrained == set(task.train.recording)
    assert pretrained.isdisjoint({*task.validation.recording, *task.test.recording})
    assert source.patient.min() >= 1


def test_text_comes_with_the_recordings_that_have_a_report(cohorts: Cohorts) -> None:
    mimic = cohorts["mimic-iv-ecg"]
    mimic = replace(mimic, entries=[replace(mimic.entries[0], report=" - "), *mimic.entries[1:]])
    told = {index for index, entry in enumerate(mimic.entries) if has_text(entry.report)}
    source = pretraining_source(mimic, TaskSpec(4, "single", "paper"), CPU, "tfidf")
    assert source.text is not None
    assert len(source.text) == len(source.recording)
    assert set(source.recording.tolist()) <= told
    all_of_it = pretraining_source(mimic, TaskSpec(4, "single", "paper"), CPU)
    assert set(all_of_it.recording.tolist()) - told == {0}
    assert (source.recordings_without_text, all_of_it.recordings_without_text) == (1, 0)
    for recording in set(source.recording.tolist()):
        text = source.text[source.recording == recording]  # (t, E)
        assert bool((text == text[0]).all())
    assert all_of_it.text is None
