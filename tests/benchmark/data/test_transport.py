"""A transport learns on one dataset and tests another, on the classes that both have and no patient twice."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from pathlib import Path

import pytest

from benchmark.config.config import Config
from benchmark.config.errors import ConfigError
from benchmark.data.datasets import source_of
from benchmark.data.prepare import Prepared
from benchmark.data.splits import split_or_none
from benchmark.data.tasks import TASKS, of_task
from benchmark.data.transport import CONCEPTS, transport_of
from benchmark.run.datasets import audit_run, joins_of, names_of, untested, with_columns

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
    result = transport_of(NAME, source_of)
    assert (result.name, result.title) == (NAME, "PTB-XL rhythm → Chapman all")
    assert {*result.classes} == {*SHARED.values()}
    for concept, places in CONCEPTS.items():
        for column_name, label in places.items():
            dataset, _, task = column_name.partition(".")
            tasks = TASKS[dataset]
            classes = {*source_of(dataset).classes}.union(*(item.classes for item in tasks.values()))
            assert label in (tasks[task].classes if task else classes), (concept, column_name)


@pytest.mark.parametrize(
    ("name", "message"),
    [
        ("ptb-xl.form@chapman", "of two common classes PTB-XL form and Chapman have none"),
        ("ptb-xl.rhythm@cpsc2018", "of two common classes PTB-XL rhythm and CPSC2018 have atrial fibrillation"),
        ("ptb-xl.rhytm@chapman", "ptb-xl has no task 'rhytm': it has default, "),
        ("ptb-xl@ptb-xl.form", "a transport has one @ between columns of two datasets"),
        ("ptb-xl@chapman@cpsc2018", "a transport has one @ between columns of two datasets"),
        ("ptb-xl@nowhere", "unknown dataset 'nowhere'"),
    ],
)
def test_what_cannot_be_transported_is_refused(small_config: SmallConfig, name: str, message: str) -> None:
    with pytest.raises(ConfigError, match=message):
        small_config({"data.datasets": [name]})


def test_it_learns_on_one_split_and_tests_all_of_the_other(
    small_config: SmallConfig, cohorts: dict[str, Prepared], tmp_path: Path
) -> None:
    config = small_config({"data.datasets": [NAME], "data.labels": "multi", "protocol": "strict"})
    assert names_of(config) == ["mimic-iv-ecg", "ptb-xl", "chapman"]
    (made,) = joins_of(config, cohorts, tmp_path)
    transport = transport_of(NAME, source_of)
    rhythm, tested = (of_task(cohorts[end.dataset], end) for end in (transport.learned, transport.tested))
    split, _ = split_or_none(rhythm, config.task_spec(config.finetune, "ptb-xl.rhythm"))
    for fold, part in ((1, split.train), (9, split.validation)):
        entries = [rhythm.entries[r] for r in part]
        labelled = [entry for entry in entries if SHARED.keys() & {rhythm.classes[label] for label in entry.labels}]
        of_fold = {entry.recording for entry in made.entries if entry.fold == fold}
        assert of_fold == {f"ptb-xl/{entry.recording}" for entry in labelled}
    labels_of = {f"chapman/{entry.recording}": {tested.classes[n] for n in entry.labels} for entry in tested.entries}
    concept_of = {places.get("chapman.all"): concept for concept, places in CONCEPTS.items()}
    for entry in made.entries:
        if entry.fold == 10:
            concepts = {concept_of.get(label) for label in labels_of[entry.recording]}
            assert {made.classes[label] for label in entry.labels} == concepts & {*made.classes}
    columns, fold_of = with_columns(config, {**cohorts, NAME: made}), [entry.fold for entry in made.entries]
    assert audit_run(config, columns)[0] == []
    copied = list(made.signals)
    for digest, reason in (
        (copied[fold_of.index(1)].digest, "on two sides of a split"),
        (cohorts["mimic-iv-ecg"].signals[0].digest, "both pretrained on and tested"),
    ):
        copied[fold_of.index(10)] = copied[fold_of.index(10)]._replace(digest=digest)
        ((leak,), _) = audit_run(config, columns | {NAME: replace(made, signals=tuple(copied))})
        assert reason in leak


def test_patients_who_are_pretrained_on_are_not_tested(
    small_config: SmallConfig, cohorts: dict[str, Prepared], tmp_path: Path
) -> None:
    config = small_config({"data.datasets": [NAME], "data.pretrain": ["mimic-iv-ecg", "chapman"], "protocol": "strict"})
    _, made = joins_of(config, cohorts, tmp_path)
    pretrained = {f"chapman/{cohorts['chapman'].entries[r].recording}" for r in untested(config, cohorts["chapman"])}
    tested = {entry.recording for entry in made.entries if entry.fold == 10}
    assert tested
    assert pretrained
    assert pretrained.isdisjoint(tested)
