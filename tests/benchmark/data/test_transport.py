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
    (column,) = config.data.columns()
    transport = transport_of(NAME, source_of)
    rhythm = of_task(cohorts["ptb-xl"], transport.learned)
    split, _ = split_or_none(rhythm, config.task_spec(config.finetune, "ptb-xl.rhythm"))
    of_fold = {fold: {entry.recording for entry in made.entries if entry.fold == fold} for fold in (1, 9, 10)}
    for fold, part in ((1, split.train), (9, split.validation)):
        entries = [rhythm.entries[r] for r in part]
        labelled = [entry for entry in entries if SHARED.keys() & {rhythm.classes[label] for label in entry.labels}]
        assert of_fold[fold] == {f"ptb-xl/{entry.recording}" for entry in labelled}
    tested = {f"chapman/{entry.recording}": entry for entry in of_task(cohorts["chapman"], transport.tested).entries}
    assert of_fold[10] <= tested.keys()
    conditions = TASKS["chapman"]["all"].classes
    for entry in made.entries:
        if entry.fold == 10:
            labels = {conditions[label] for label in tested[entry.recording].labels}
            concepts = {concept for concept, places in CONCEPTS.items() if places.get("chapman.all") in labels}
            assert {made.classes[label] for label in entry.labels} == concepts & {*made.classes}
    columns = with_columns(config, {**cohorts, NAME: made})
    assert (column.name, columns[NAME].classes) == (NAME, made.classes)
    assert audit_run(config, columns).leaks == []
    fold_of = [item.fold for item in made.entries]
    copied = list(made.signals)
    copied[fold_of.index(10)] = copied[fold_of.index(1)]
    (leak,) = audit_run(config, columns | {NAME: replace(made, signals=tuple(copied))}).leaks
    assert "on two sides of a split" in leak
    copied[fold_of.index(10)] = copied[fold_of.index(10)]._replace(digest=cohorts["mimic-iv-ecg"].signals[0].digest)
    (leak,) = audit_run(config, columns | {NAME: replace(made, signals=tuple(copied))}).leaks
    assert "both pretrained on and tested" in leak


def test_patients_who_are_pretrained_on_are_not_tested(
    small_config: SmallConfig, cohorts: dict[str, Prepared], tmp_path: Path
) -> None:
    config = small_config({"data.datasets": [NAME], "data.pretrain": ["mimic-iv-ecg", "chapman"], "protocol": "strict"})
    _, made = joins_of(config, cohorts, tmp_path)
    pretrained = {f"chapman/{entry.recording}" for entry in untested(config, cohorts["chapman"])}
    tested = {entry.recording for entry in made.entries if entry.fold == 10}
    assert tested
    assert pretrained
    assert pretrained.isdisjoint(tested)
