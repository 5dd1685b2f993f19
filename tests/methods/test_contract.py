"""What every method must hold to, for all of `METHODS`: a new method is covered by being listed there.

The promises are those of `benchmark.verbs.contract.check`, which `check-method` tries on a file.
"""

from __future__ import annotations

from dataclasses import asdict, replace
from typing import Any

import pytest

from benchmark.verbs.contract.check import PROMISES, Promise, judge
from benchmark.verbs.contract.tryout import changed, copied_state, small_method, small_optimiser, train, training_batch
from benchmark.verbs.contract.two_processes import train_together
from methods import METHODS
from methods.base import MethodConfig, Recipe

TRAINED = [name for name, method in METHODS.items() if method.trains]
IN_ONE_PROCESS = [promise for promise in PROMISES if promise.name != "two processes"]


@pytest.mark.parametrize(
    ("name", "promise"),
    [
        pytest.param(name, promise, id=f"{name}-{promise.name.replace(' ', '-')}")
        for name, method in METHODS.items()
        for promise in IN_ONE_PROCESS
        if method.trains or promise.of_all
    ],
)
def test_keeps_its_promise(name: str, promise: Promise) -> None:
    verdict = judge(promise, METHODS[name])
    assert verdict.kept, verdict.detail


@pytest.mark.slow
def test_two_processes_hold_the_same() -> None:
    held = train_together([(METHODS[name], {}) for name in TRAINED])
    for name, (first, second) in zip(TRAINED, held, strict=True):
        assert not changed(first.shared, second.shared), name
        assert {*first.shared, *first.own} == set(small_method(METHODS[name]).state_dict())


@pytest.mark.parametrize("name", METHODS)
def test_is_listed_under_its_own_name(name: str) -> None:
    assert METHODS[name].name == name


@pytest.mark.parametrize("name", TRAINED)
def test_after_steps_the_frozen_copies_have_moved(name: str) -> None:
    method = small_method(METHODS[name])
    frozen = {n for n, parameter in method.named_parameters() if not parameter.requires_grad}
    before = copied_state(method)
    train(method, small_optimiser(method), range(3))
    assert frozen <= set(changed(before, method.state_dict()))


def test_a_method_that_trains_nothing_has_no_loss() -> None:
    method = METHODS["random"]
    with pytest.raises(NotImplementedError, match="RandomInit has no loss"):
        small_method(method)(training_batch(method, 0))


def test_bad_settings_are_refused_by_name() -> None:
    with pytest.raises(ValueError, match=r"temperature\n  Input should be greater than 0"):
        METHODS["pmq"].Config(temperature=0)  # type: ignore[call-arg]
    with pytest.raises(ValueError, match=r"pairing\n  Input should be 'neighbor', 'same' or 'patient'"):
        MethodConfig(pairing="near")  # type: ignore[arg-type]
    with pytest.raises(ValueError, match=r"batch_size\n  Input should be greater than or equal to 2"):
        Recipe(batch_size=1)


@pytest.mark.parametrize(
    ("changes", "message"),
    [
        ({"momentum": 2}, "less than or equal to 1"),
        ({"momentum": True}, "valid number"),
        ({"momentum": "0.5"}, "valid number"),
        ({"momentum": float("nan")}, "finite number"),
        ({"queue_size": 0.5}, "valid integer"),
        ({"queue_size": True}, "valid integer"),
        ({"recipe": {"lr": True}}, r"recipe\.lr\n  Input should be a valid number"),
        ({"momentm": 0.5}, r"momentm\n  Unexpected keyword argument"),
    ],
)
def test_a_changed_config_is_checked_like_a_new_one(changes: dict[str, Any], message: str) -> None:
    config = METHODS["pmq"].Config()
    with pytest.raises(ValueError, match=message):
        replace(config, **changes)
    assert replace(config, encoder_dropout=1).encoder_dropout == 1.0


@pytest.mark.parametrize("name", METHODS)
def test_a_config_survives_its_plain_form(name: str) -> None:
    config = METHODS[name].Config()
    assert type(config)(**asdict(config)) == config
