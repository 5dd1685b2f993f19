"""Several datasets as one corpus: their recordings under names that stay apart, their windows in their own files."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest
import torch

from benchmark.data.corpus import corpus_of, scale_of
from benchmark.data.datasets.base import DatasetError
from benchmark.data.joined import Mark, Member, join, recut
from benchmark.data.prepare import Prepared, open_prepared, prepare, write_index
from benchmark.data.segments import Segmentation
from benchmark.data.simulate import SimulatedDataset
from benchmark.data.splits import TaskSpec

SPEC = TaskSpec(2, "single", "paper")
CPU = torch.device("cpu")


@pytest.fixture
def members(make_prepared: Callable[..., Prepared], tmp_path: Path) -> list[Member]:
    """Two recordings of three of one dataset, and all two of another, with patients of equal names."""
    one = make_prepared("ptb-xl", [("a", (0,), 5, 1), ("b", (1,), 4, 9), ("a", (2,), 3, 2)])
    other = make_prepared("mimic-iv-ecg", [("a", (), 2, None), ("c", (), 4, None)])
    folders = [tmp_path / "one", tmp_path / "other"]
    for folder in folders:
        folder.mkdir()
    one, other = replace(one, folder=folders[0]), replace(other, folder=folders[1])
    return [(one, np.array([0, 2])), (other, np.array([0, 1]))]


@pytest.mark.parametrize("raw", [False, True])
def test_pseudo_trials_are_those_of_the_datasets_end_to_end(members: list[Member], tmp_path: Path, raw: bool) -> None:
    members = [(replace(data, segmentation=Segmentation(raw=raw)), numbers) for data, numbers in members]
    corpus = corpus_of(join("ptb-xl+mimic-iv-ecg", members, tmp_path), SPEC, CPU)
    assert corpus.recording.tolist() == [0, 0, 1, 2, 3, 3]
    assert corpus.patient.tolist() == [1, 1, 1, 2, 3, 3]
    alone = [corpus_of(replace(data, classes=()), SPEC, CPU) for data, _ in members]
    expected = [*alone[0].trials.take(np.array([0, 1, 4]), windows=2), *alone[1].trials.take(np.arange(3), windows=2)]
    np.testing.assert_array_equal(corpus.trials.take(corpus.chosen, windows=2), expected)
    windows = corpus.trials.take(np.array([5, 0, 3]), np.array([7, 300, 0]))
    np.testing.assert_array_equal(windows, [expected[5][7:307], expected[0][300:], expected[3][:300]])


def test_recordings_keep_apart_and_have_neither_label_nor_fold(members: list[Member], tmp_path: Path) -> None:
    corpus = join("ptb-xl+mimic-iv-ecg", members, tmp_path)
    assert [entry.patient for entry in corpus.entries] == ["ptb-xl/a", "ptb-xl/a", "mimic-iv-ecg/a", "mimic-iv-ecg/c"]
    assert len({entry.recording for entry in corpus.entries}) == 4
    assert {(entry.labels, entry.fold) for entry in corpus.entries} == {((), None)}
    assert corpus.window_count == 5 + 3 + 2 + 4
    (one, _), (other, _) = members
    values = np.concatenate([one.windows[9:12], other.windows[:2]]).astype(float)
    np.testing.assert_allclose(scale_of(corpus, np.array([1, 2])), (values.mean(), values.std()), rtol=1e-6)
    with pytest.raises(DatasetError, match=r"all recordings belong to validation or test parts$"):
        join("ptb-xl", [(one, np.array([], np.int64))], tmp_path)


def test_another_process_opens_it_from_its_folder_and_it_can_be_cut_otherwise(tmp_path: Path) -> None:
    datasets = [SimulatedDataset(name, 3) for name in ("ptb-xl", "chapman")]
    whole = [prepare(dataset, tmp_path, workers=1) for dataset in datasets]
    members = [(data, np.arange(1, len(data.entries))) for data in whole]
    marks: list[Mark] = [((n % 2,), n % 3) for n in range(sum(len(numbers) for _, numbers in members))]
    joined = join("a@b", members, tmp_path, title="A", classes=("x", "y"), marks=marks)
    write_index(joined)
    again = open_prepared(joined.folder)
    for name in ("name", "title", "classes", "fingerprint", "folder", "entries", "signals", "segmentation"):
        assert getattr(again, name) == getattr(joined, name)
    assert np.array_equal(again.windows_of(3), joined.windows_of(3))
    assert join("a@b", members, tmp_path, classes=("x", "y"), marks=marks[::-1]).fingerprint != joined.fingerprint
    crops = Segmentation("recordings", 250, 100, 125)
    parts = [prepare(dataset, tmp_path, workers=1, segmentation=crops) for dataset in datasets]
    parts[1] = replace(parts[1], entries=tuple(replace(e, recording=e.recording[::-1]) for e in parts[1].entries))
    other = recut(joined, parts)
    assert other.entries == joined.entries[: len(members[0][1])]
    assert np.array_equal(other.windows_of(0), parts[0].windows_of(1))
