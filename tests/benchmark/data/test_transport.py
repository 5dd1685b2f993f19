"""A transport learns on one dataset and tests another, on the classes that both have and no patient twice."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace

import pytest

from benchmark.config.config import Config
from benchmark.config.errors import ConfigError
from benchmark.data.datasets.registry import source_of
from benchmark.data.prepare import Prepared, prepare
from benchmark.data.simulate import SimulatedDataset
from benchmark.data.splits import TASKS, split_or_none
from benchmark.data.task import of_task
from benchmark.data.transport import CONCEPTS, ends_of, transport_of
from benchmark.run.datasets import audit_run, names_of, transports_of, untested, with_columns
from tests.benchmark.small_cohorts import small_cohort

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


def datasets_of(config: Config) -> list[SimulatedDataset]:
    return list(map(small_cohort, names_of(config)))


def test_the_classes_are_those_that_both_ends_have() -> None:
    found = transport_of(NAME, source_of)
    assert (found.name, found.title) == (NAME, "PTB-XL rhythm → Chapman all")
    assert {*found.classes} == {*SHARED.values()}
    for concept, places in CONCEPTS.items():
        for place, label in places.items():
            dataset, _, task = place.partition(".")
            tasks = TASKS[dataset]
            classes = {*source_of(dataset).classes}.union(*(own.classes for own in tasks.values()))
            assert label in (tasks[task].classes if task else classes), (concept, place)


def test_ends_that_are_named_apart_make_every_pair_of_two_datasets(small_config: SmallConfig) -> None:
    ends = {"data.train_on": ["ptb-xl.rhythm", "chapman.all"], "data.test_on": ["chapman.all", "ptb-xl.rhythm"]}
    config = small_config({"data.datasets": ["ptb-xl"]} | ends)
    assert config.data.datasets == ["ptb-xl", "ptb-xl.rhythm@chapman.all", "chapman.all@ptb-xl.rhythm"]
    again = small_config({"data.datasets": config.data.datasets} | ends)
    assert again.data.datasets == config.data.datasets


@pytest.mark.parametrize(
    ("ends", "message"),
    [
        ({"data.train_on": ["ptb-xl"]}, "test_on is empty"),
        ({"data.test_on": ["ptb-xl"]}, "train_on is empty"),
        ({"data.train_on": ["ptb-xl"], "data.test_on": ["ptb-xl.form"]}, "both name ptb-xl alone"),
        ({"data.train_on": ["ptb-xl.form"], "data.test_on": ["chapman"]}, "PTB-XL form and Chapman share no class"),
    ],
)
def test_a_transport_with_one_end_is_refused(
    small_config: SmallConfig, ends: dict[str, list[str]], message: str
) -> None:
    with pytest.raises(ConfigError, match=message):
        small_config(ends)


@pytest.mark.parametrize(
    ("name", "message"),
    [
        ("ptb-xl.form@chapman", "PTB-XL form and Chapman share no class; two are needed"),
        ("ptb-xl.rhythm@cpsc2018", "share one class, atrial fibrillation; two are needed"),
        ("ptb-xl.rhytm@chapman", "ptb-xl has no task 'rhytm': it has default, all"),
        ("ptb-xl@ptb-xl.form", "both ends are ptb-xl; name two datasets"),
        ("ptb-xl@chapman@cpsc2018", "two columns were expected"),
        ("ptb-xl@nowhere", "unknown dataset 'nowhere'"),
    ],
)
def test_what_cannot_be_transported_is_refused(small_config: SmallConfig, name: str, message: str) -> None:
    with pytest.raises(ConfigError, match=message):
        small_config({"data.datasets": [name]})


def test_it_learns_on_one_split_and_tests_all_of_the_other(
    small_config: SmallConfig, cohorts: dict[str, Prepared]
) -> None:
    config = small_config({"data.datasets": [NAME], "data.labels": "multi", "protocol": "strict"})
    assert names_of(config) == ["mimic-iv-ecg", "ptb-xl", "chapman"]
    (made,) = transports_of(config, datasets_of(config), cohorts)
    entries = made.listing().entries
    (column,) = config.data.columns()
    rhythm = of_task(cohorts["ptb-xl"], ends_of(NAME).learned)
    split, _ = split_or_none(rhythm, config.task_spec(config.finetune, "ptb-xl.rhythm"))
    of_fold = {fold: {own.recording for own in entries if own.fold == fold} for fold in (1, 9, 10)}
    for fold, side in ((1, split.train), (9, split.validation)):
        labelled = [rhythm.entries[r] for r in side]
        kept = [own for own in labelled if SHARED.keys() & {rhythm.classes[label] for label in own.labels}]
        assert of_fold[fold] == {f"ptb-xl/{own.recording}" for own in kept}
    assert {name.partition("/")[0] for name in of_fold[10]} == {"chapman"}
    number = {own.recording: own for own in cohorts["chapman"].entries}
    named = of_task(cohorts["chapman"], ends_of(NAME).tested)
    for own in entries:
        if own.fold == 10:
            stated = {named.classes[label] for label in next(
                one.labels for one in named.entries if f"chapman/{one.recording}" == own.recording
            )}  # fmt: skip
            assert {made.classes[label] for label in own.labels} <= {
                concept for concept, places in CONCEPTS.items() if places.get("chapman.all") in stated
            }
            assert own.recording.partition("/")[2] in number
    prepared = prepare(made, cohorts["ptb-xl"].folder.parent, workers=1)
    assert prepared.simulated
    columns = with_columns(config, {**cohorts, NAME: prepared})
    assert (column.name, columns[NAME].classes) == (NAME, made.classes)
    assert audit_run(config, columns).leaks == []
    fold_of = [own.fold for own in prepared.entries]
    copied = list(prepared.signals)
    copied[fold_of.index(10)] = copied[fold_of.index(1)]
    (leak,) = audit_run(config, columns | {NAME: replace(prepared, signals=tuple(copied))}).leaks
    assert "on two sides of a split" in leak
    copied[fold_of.index(10)] = copied[fold_of.index(10)]._replace(digest=cohorts["mimic-iv-ecg"].signals[0].digest)
    (leak,) = audit_run(config, columns | {NAME: replace(prepared, signals=tuple(copied))}).leaks
    assert "both pretrained on and tested" in leak


def test_patients_who_are_pretrained_on_are_not_tested(small_config: SmallConfig, cohorts: dict[str, Prepared]) -> None:
    config = small_config({"data.datasets": [NAME], "data.pretrain": ["mimic-iv-ecg", "chapman"], "protocol": "strict"})
    *_, made = transports_of(config, datasets_of(config), cohorts)
    pretrained = {f"chapman/{own.recording}" for own in untested(config, cohorts["chapman"])}
    tested = {own.recording for own in made.listing().entries if own.fold == 10}
    assert tested
    assert pretrained
    assert pretrained.isdisjoint(tested)
