"""Several datasets as one: a corpus; a transport, on the classes that both have and no patient twice."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest
import torch

from benchmark.config.config import Config
from benchmark.config.errors import ConfigError
from benchmark.data.column import Column
from benchmark.data.corpus import corpus_of
from benchmark.data.datasets import DATASETS
from benchmark.data.datasets.base import NO_FOLD, DatasetError
from benchmark.data.joined import CONCEPTS, Mark, Member, join, transport_of
from benchmark.data.prepare import Prepared, open_prepared, prepare, write_index
from benchmark.data.segments import Segmentation
from benchmark.data.simulate import SimulatedDataset
from benchmark.data.splits import TaskSpec
from benchmark.data.tasks import named_tasks, of_task
from benchmark.data.trials import scale_of
from benchmark.run.datasets import audit_run, joins_of, names_of, untested, with_columns
from tests.benchmark.tables import rows_of, whole_trials

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
    corpus = corpus_of(Column(join("ptb-xl+mimic-iv-ecg", members, tmp_path), SPEC), CPU)
    assert corpus.recording.tolist() == [0, 0, 1, 2, 3, 3]
    assert corpus.patient.tolist() == [1, 1, 1, 2, 3, 3]
    alone = [corpus_of(Column(replace(data, classes=()), SPEC), CPU) for data, _ in members]
    chosen = np.array([0, 1, 4]), np.arange(3)
    expected = np.concatenate([whole_trials(one.trials, part) for one, part in zip(alone, chosen, strict=True)])
    np.testing.assert_array_equal(whole_trials(corpus.trials, corpus.chosen), expected)
    windows = corpus.trials.take(np.array([5, 0, 3]), np.array([7, 300, 0]))
    np.testing.assert_array_equal(windows, [expected[5][7:307], expected[0][300:], expected[3][:300]])


def test_recordings_of_several_datasets_keep_apart(members: list[Member], tmp_path: Path) -> None:
    corpus = join("ptb-xl+mimic-iv-ecg", members, tmp_path)
    assert [*corpus.recordings.patient] == ["ptb-xl/a", "ptb-xl/a", "mimic-iv-ecg/a", "mimic-iv-ecg/c"]
    assert len({*corpus.recordings.recording}) == 4
    assert (sum(corpus.recordings.labels, ()), {*corpus.recordings.fold}) == ((), {NO_FOLD})
    assert corpus.window_count == 5 + 3 + 2 + 4
    (one, _), (other, _) = members
    values = np.concatenate([one.windows[9:12], other.windows[:2]]).astype(float)
    np.testing.assert_allclose(scale_of(corpus, np.array([1, 2])), (values.mean(), values.std()), rtol=1e-6)


def test_a_join_of_no_recording_is_refused(members: list[Member], tmp_path: Path) -> None:
    (one, _), _ = members
    with pytest.raises(DatasetError, match=one.title):
        join("ptb-xl", [(one, np.array([], np.int64))], tmp_path)


def test_another_process_opens_it_from_its_folder(tmp_path: Path) -> None:
    whole = [prepare(SimulatedDataset(name, patients=3), tmp_path, workers=1) for name in ("ptb-xl", "chapman")]
    members = [(data, np.arange(1, data.usable)) for data in whole]
    marks: list[Mark] = [((n % 2,), n % 3) for n in range(sum(len(numbers) for _, numbers in members))]
    joined = join("a@b", members, tmp_path, title="A", classes=("x", "y"), marks=marks)
    write_index(joined)
    again = open_prepared(joined.folder)
    for name in ("name", "title", "classes", "fingerprint", "folder", "segmentation"):
        assert getattr(again, name) == getattr(joined, name)
    assert rows_of(again.listed) == rows_of(joined.listed)
    assert np.array_equal(again.windows_of(3), joined.windows_of(3))
    other = join("a@b", members, tmp_path, classes=("x", "y"), marks=marks, chosen_by="another split")
    assert other.fingerprint != joined.fingerprint


SmallConfig = Callable[..., Config]
NAME = "ptb-xl.rhythm@chapman.all"
SHARED = {
    "SR": "sinus rhythm",
    "STACH": "sinus tachycardia",
    "SARRH": "sinus arrhythmia",
    "AFIB": "atrial fibrillation",
    "AFLT": "atrial flutter",
}
"""Class of PTB-XL's rhythms -> concept that Chapman has too."""


def test_the_classes_are_those_that_both_ends_have() -> None:
    result = transport_of(NAME, DATASETS.__getitem__)
    assert (result.name, result.title) == (NAME, "PTB-XL rhythm → Chapman all")
    assert {*result.classes} == {*SHARED.values()}
    for concept, places in CONCEPTS.items():
        for column_name, label in ((name, label) for name, label in places.items() if label):
            dataset, _, task = column_name.partition(".")
            tasks = named_tasks(dataset)
            classes = {*DATASETS[dataset].classes}.union(*(item.classes for item in tasks.values()))
            assert label in (tasks[task].classes if task else classes), (concept, column_name)


@pytest.mark.parametrize(
    ("name", "message"),
    [
        ("ptb-xl.form@chapman", "PTB-XL form and Chapman have none"),
        ("ptb-xl.rhytm@chapman", "no task 'rhytm'"),
        ("ptb-xl@ptb-xl.form", "ptb-xl@ptb-xl.form: "),
    ],
)
def test_what_cannot_be_transported_is_refused(small_config: SmallConfig, name: str, message: str) -> None:
    with pytest.raises(ConfigError, match=message):
        small_config({"data.datasets": [name]})


def test_a_transport_tests_all_of_the_other_dataset(
    small_config: SmallConfig, cohorts: dict[str, Prepared], tmp_path: Path
) -> None:
    config = small_config({"data.datasets": [NAME], "data.labels": "multi", "protocol": "strict"})
    assert names_of(config) == ["mimic-iv-ecg", "ptb-xl", "chapman"]
    (made,) = joins_of(config, cohorts, tmp_path)
    transport = transport_of(NAME, DATASETS.__getitem__)
    rhythm, tested = (of_task(cohorts[end.dataset], end) for end in transport.ends)
    split = Column(rhythm, config.column_spec("ptb-xl.rhythm")).split
    for fold, part in ((1, split.train), (9, split.validation)):
        rows = [rhythm.recordings.row(r) for r in part]
        labelled = [row for row in rows if SHARED.keys() & {rhythm.classes[label] for label in row.labels}]
        of_fold = {row.recording for row in rows_of(made.recordings) if row.fold == fold}
        assert of_fold == {f"ptb-xl/{row.recording}" for row in labelled}
    labels_of = {
        f"chapman/{row.recording}": {tested.classes[n] for n in row.labels} for row in rows_of(tested.recordings)
    }
    concept_of = {places.get("chapman.all"): concept for concept, places in CONCEPTS.items()}
    for row in rows_of(made.recordings):
        if row.fold == 10:
            concepts = {concept_of.get(label) for label in labels_of[row.recording]}
            assert {made.classes[label] for label in row.labels} == concepts & {*made.classes}
    audit_run(config, with_columns(config, {**cohorts, NAME: made}))


def test_patients_who_are_pretrained_on_are_not_tested(
    small_config: SmallConfig, cohorts: dict[str, Prepared], tmp_path: Path
) -> None:
    config = small_config({"data.datasets": [NAME], "data.pretrain": ["mimic-iv-ecg", "chapman"], "protocol": "strict"})
    _, made = joins_of(config, cohorts, tmp_path)
    names = cohorts["chapman"].recordings.recording
    pretrained = {f"chapman/{names[r]}" for r in untested(config, cohorts["chapman"])}
    tested = {row.recording for row in rows_of(made.recordings) if row.fold == 10}
    assert tested
    assert pretrained
    assert pretrained.isdisjoint(tested)
