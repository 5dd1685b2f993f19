"""Each name has its evaluation, and what the reports know of it agrees with what it does."""

from __future__ import annotations

from pathlib import Path

import pytest

from benchmark.config.load import load_config
from benchmark.data.tasks.subsets import drawn_per_class
from benchmark.results.names import EVALUATION_FACTS, EVALUATIONS, SUPERVISED, VALIDATION
from benchmark.training import evaluations
from benchmark.training.evaluations.contract import Pool
from benchmark.training.evaluations.registry import evaluation_named

ALL = (*EVALUATIONS, SUPERVISED, VALIDATION)


@pytest.mark.parametrize("name", EVALUATIONS)
def test_facts_and_code_agree(name: str) -> None:
    found, facts = evaluation_named(name), EVALUATION_FACTS[name]
    assert (found.draw is drawn_per_class) is facts.shots


@pytest.mark.parametrize("name", ALL)
def test_its_section_is_one_of_the_config_and_has_its_settings(name: str) -> None:
    found, config = evaluation_named(name), load_config("demo")
    if found.section:
        assert set(found.settings(config)) <= set(getattr(config, found.section).model_dump())


def test_every_file_is_an_evaluation_of_a_name() -> None:
    assert evaluations.__file__ is not None
    files = {path.stem for path in Path(evaluations.__file__).parent.glob("*.py")}
    assert files - {"__init__", "contract", "registry"} == {name.replace("-", "_") for name in ALL}


@pytest.mark.parametrize(("shots", "windows"), [(1, 3 * 2), (10, 30 * 2), (1000, 200)])
def test_few_shots_label_the_windows_of_so_many_patients_per_class(shots: float, windows: float) -> None:
    assert evaluation_named("few-shot").labelled(Pool(windows=200, recordings=100, classes=3), shots) == windows


def test_an_unknown_name_has_none() -> None:
    with pytest.raises(ModuleNotFoundError, match=r"evaluations\.nearest"):
        evaluation_named("nearest")
