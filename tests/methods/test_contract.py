"""What every method must hold to, for all of `METHODS`: a new method is covered by being listed there."""

from __future__ import annotations

import copy
from collections.abc import Iterator
from dataclasses import fields

import pytest
import torch
from torch import Tensor

from methods import METHODS
from methods.base import Batch, MethodConfig, PretrainMethod, Recipe
from methods.parts.encoder import Encoder, EncoderConfig

PATIENTS, STEPS = 6, 48
TRAINED = [name for name, method in METHODS.items() if method.trains]


def build(name: str, **knobs: object) -> PretrainMethod:
    """A method at a tiny size, with its own defaults otherwise; knobs that it does not have are left out."""
    torch.manual_seed(0)
    method = METHODS[name]
    known = {field.name for field in fields(method.Config)}
    chosen = {knob: value for knob, value in {"queue_size": 24, **knobs}.items() if knob in known}
    return method(Encoder(EncoderConfig(hidden=8, depth=3, output=16)), method.Config(**chosen))


def make_batch(seed: int = 0, size: int = 12) -> Batch:
    """Windows of simulated patients, each with a rhythm and a lead pattern of his own, and noise."""
    generator = torch.Generator().manual_seed(seed)
    patient = torch.randperm(size, generator=generator) % PATIENTS + 1
    time = torch.linspace(0, 1, STEPS)[:, None]
    leads = torch.randn(PATIENTS + 1, 1, 12, generator=torch.Generator().manual_seed(99))
    clean = torch.sin(2 * torch.pi * time * (patient[:, None, None] + 1)) * leads[patient]  # (B, S, L)
    views = [clean + 0.1 * torch.randn(clean.shape, generator=generator) for _ in range(2)]
    text = torch.randn(PATIENTS + 1, 768, generator=torch.Generator().manual_seed(98))[patient]  # (B, E)
    return Batch(*views, patient=patient, recording=patient * 10, trial=patient * 100, text=text)


def train_step(method: PretrainMethod, optimiser: torch.optim.Optimizer, step: int) -> float:
    torch.manual_seed(step)
    loss = method(make_batch(step))
    optimiser.zero_grad()
    loss.backward()
    optimiser.step()
    method.after_step()
    return loss.item()


def make_optimiser(method: PretrainMethod) -> torch.optim.Optimizer:
    return torch.optim.AdamW([p for p in method.parameters() if p.requires_grad], lr=1e-2)


def state(method: PretrainMethod) -> dict[str, Tensor]:
    return {name: value.clone() for name, value in method.state_dict().items()}


def changed(before: dict[str, Tensor], after: dict[str, Tensor]) -> Iterator[str]:
    return (name for name, value in before.items() if not torch.equal(value, after[name]))


@pytest.mark.parametrize("name", METHODS)
def test_says_who_it_is(name: str) -> None:
    method = METHODS[name]
    assert method.name == name
    assert method.title
    assert isinstance(method.Config(), MethodConfig)


@pytest.mark.parametrize("name", METHODS)
def test_exports_an_encoder_of_the_same_form(name: str) -> None:
    method = build(name)
    exported = method.exported()
    assert isinstance(exported, Encoder)
    assert exported.config == method.encoder.config
    assert exported.dropout == method.Config().encoder_dropout


@pytest.mark.parametrize("name", TRAINED)
def test_the_loss_is_a_finite_scalar_with_a_gradient_for_all_that_trains(name: str) -> None:
    method = build(name)
    method(make_batch(0))
    method(make_batch(1)).backward()
    for parameter_name, parameter in method.named_parameters():
        if parameter.requires_grad:
            assert parameter.grad is not None, parameter_name
            assert parameter.grad.isfinite().all(), parameter_name
        else:
            assert parameter.grad is None, parameter_name
    assert all(parameter.requires_grad for parameter in method.encoder.parameters())
    assert any(parameter.grad.abs().sum() > 0 for parameter in method.encoder.parameters())


@pytest.mark.parametrize("name", TRAINED)
def test_the_optimiser_reaches_only_the_query_branch(name: str) -> None:
    method = build(name)
    frozen = {n for n, parameter in method.named_parameters() if not parameter.requires_grad}
    optimiser = make_optimiser(method)
    method(make_batch(0))
    method(make_batch(1)).backward()
    before = state(method)
    optimiser.step()
    assert frozen.isdisjoint(changed(before, method.state_dict()))


@pytest.mark.parametrize("name", TRAINED)
def test_evaluation_changes_no_state(name: str) -> None:
    method = build(name).eval()
    before = state(method)
    with torch.no_grad():
        assert method(make_batch()).isfinite()
    assert not list(changed(before, method.state_dict()))


@pytest.mark.parametrize("name", TRAINED)
def test_a_resumed_step_gives_the_same_bits(name: str) -> None:
    method = build(name)
    method.begin(updates=4)
    optimiser = make_optimiser(method)
    for step in range(3):
        train_step(method, optimiser, step)
    saved = copy.deepcopy((method.state_dict(), optimiser.state_dict()))
    expected = train_step(method, optimiser, 3)
    resumed = build(name)
    with torch.no_grad():
        for parameter in resumed.parameters():
            parameter.zero_()
    resumed_optimiser = make_optimiser(resumed)
    resumed.load_state_dict(saved[0], strict=True)
    resumed_optimiser.load_state_dict(saved[1])
    resumed.begin(updates=4)
    assert train_step(resumed, resumed_optimiser, 3) == expected
    assert not list(changed(state(method), resumed.state_dict()))


@pytest.mark.parametrize("name", TRAINED)
def test_after_steps_the_frozen_copies_have_moved(name: str) -> None:
    method = build(name)
    frozen = {n for n, parameter in method.named_parameters() if not parameter.requires_grad}
    before = state(method)
    optimiser = make_optimiser(method)
    for step in range(3):
        train_step(method, optimiser, step)
    assert frozen <= set(changed(before, method.state_dict()))


@pytest.mark.parametrize("name", TRAINED)
def test_the_loss_falls(name: str) -> None:
    method = build(name, time_mask=0.1, momentum=0.9)
    method.begin(updates=60)
    optimiser = make_optimiser(method)
    losses = [train_step(method, optimiser, step) for step in range(60)]
    first, last = losses[3:13], losses[-10:]  # from the fourth step on a queue is full
    assert sum(last) < 0.95 * sum(first)


@pytest.mark.parametrize("name", TRAINED)
@pytest.mark.parametrize("size", [2, 7, 40])
def test_any_batch_size_works(name: str, size: int) -> None:
    method = build(name)
    for seed in range(3):
        method(make_batch(seed, size)).backward()


@pytest.mark.parametrize("name", TRAINED)
def test_half_precision_stays_near_single(name: str) -> None:
    losses = []
    for enabled in (False, True):
        method = build(name)
        torch.manual_seed(5)
        with torch.autocast("cpu", torch.bfloat16, enabled=enabled):
            method(make_batch(0))
            loss = method(make_batch(1))
        assert loss.dtype == torch.float32
        loss.backward()
        losses.append(loss.item())
    assert losses[1] == pytest.approx(losses[0], rel=0.05)


def test_a_method_that_trains_nothing_has_no_loss() -> None:
    method = build("random")
    with pytest.raises(NotImplementedError, match="RandomInit has no loss"):
        method(make_batch())


def test_bad_settings_are_refused_by_name() -> None:
    with pytest.raises(ValueError, match=r"PMQConfig\.temperature = 0: give a number above 0"):
        METHODS["pmq"].Config(temperature=0)  # type: ignore[call-arg]
    with pytest.raises(ValueError, match=r"MethodConfig\.pairing = 'near'"):
        MethodConfig(pairing="near")  # type: ignore[arg-type]
    with pytest.raises(ValueError, match=r"Recipe\.batch_size = 1"):
        Recipe(batch_size=1)
