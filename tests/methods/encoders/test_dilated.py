"""The encoder equals its plain formulation, in values and gradients, and reads the authors' checkpoints."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest
import torch
from torch import Tensor

from methods.encoders.dilated import Dilated, DilatedConfig, load_released
from tests.speed.plain import PlainDilated


def plain(encoder: Dilated) -> PlainDilated:
    """The network as the paper writes it, with the same parameters."""
    form = PlainDilated(encoder.config).train(encoder.training)
    for name, module in encoder.named_children():
        setattr(form, name, module)
    return form


def small(**changes: float) -> Dilated:
    torch.manual_seed(0)
    return Dilated(DilatedConfig(**{"hidden": 4, "output": 8, **changes}))  # type: ignore[arg-type]


def assert_same(encoder: Dilated, ours: Tensor, theirs: Tensor) -> None:
    weights, parameters = torch.randn_like(ours), list(encoder.parameters())
    torch.testing.assert_close(ours, theirs)
    gradients = [torch.autograd.grad((out * weights).sum(), parameters) for out in (ours, theirs)]
    torch.testing.assert_close(*gradients)


@pytest.mark.parametrize("steps", [64, 151, 300, 1000])
@pytest.mark.parametrize("depth", [0, 3, 10])
def test_equals_the_plain_formulation(steps: int, depth: int) -> None:
    encoder = small(depth=depth).double()  # in double precision, so that rounding hides nothing
    x = torch.randn(2, steps, 12, dtype=torch.float64)
    assert_same(encoder, encoder(x), plain(encoder)(x))
    assert_same(encoder, encoder.pooled(x), plain(encoder).pooled(x))


def test_weight_decay_moves_unread_taps_as_in_the_plain_formulation() -> None:
    x = torch.randn(2, 64, 12)
    after = []
    for form in (lambda e: e.pooled(x), lambda e: plain(e).pooled(x)):
        encoder = small()
        optimiser = torch.optim.AdamW(encoder.parameters(), lr=1e-2, weight_decay=0.1)
        form(encoder).square().sum().backward()
        optimiser.step()
        after.append(encoder.output.conv2.weight[..., [0, 2]].detach())
    assert torch.equal(after[0], after[1])


@pytest.fixture(scope="module")
def released(shared_reference: Path) -> dict[str, np.ndarray]:
    with np.load(shared_reference / "encoder_small.npz") as arrays:
        return dict(arrays)


def state_of(released: dict[str, np.ndarray]) -> dict[str, Tensor]:
    return {
        name.removeprefix("sd."): torch.from_numpy(value) for name, value in released.items() if name.startswith("sd.")
    }


@pytest.mark.parametrize("averaged", [False, True])
def test_gives_the_released_encoders_outputs(released: dict[str, np.ndarray], averaged: bool) -> None:
    state = state_of(released)
    if averaged:
        state = {"n_averaged": torch.tensor(7), **{f"module.{name}": value for name, value in state.items()}}
    encoder = load_released(state)
    x = torch.from_numpy(released["x"])
    assert encoder.config == DilatedConfig(hidden=16, output=32)
    np.testing.assert_allclose(encoder(x).detach(), released["per_time"], rtol=1e-5, atol=1e-5)
    np.testing.assert_allclose(encoder.pooled(x).detach(), released["pooled"], rtol=1e-5, atol=1e-5)


@pytest.mark.parametrize(
    ("damage", "message"),
    [
        (lambda state: {**state, "head.weight": torch.zeros(2)}, r"Unexpected key.*head\.weight"),
        (lambda state: {**state, "input_fc.bias": torch.zeros(3)}, r"size mismatch for input\.bias"),
    ],
)
def test_anything_but_a_released_encoder_is_refused(released, damage, message) -> None:  # type: ignore[no-untyped-def]
    with pytest.raises(ValueError, match=message):
        load_released(damage(state_of(released)))


@pytest.mark.parametrize("pool", [2, 3])
def test_pooling_averages_samples_before_the_first_layer(pool: int) -> None:
    encoder, x = small(pool=pool), torch.randn(2, 300, 12)
    same = small()
    same.load_state_dict(encoder.state_dict())
    coarse = x.unflatten(1, (-1, pool)).mean(2)  # (B, S', L)
    torch.testing.assert_close(encoder(x), same(coarse))
    torch.testing.assert_close(encoder.pooled(x), same.pooled(coarse))
