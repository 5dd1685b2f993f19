"""Encoders give the official modules' features and gradients, and take on all of their weights and nothing else."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import torch

from methods.encoders import ENCODERS, load_official
from tests.methods.encoders.official import MODULES, Arrays, State, gradient_of, official_module

CNNS = ["resnet1d", "xresnet1d101"]


@pytest.fixture
def module(request: pytest.FixtureRequest, shared_reference: Path) -> tuple[str, Arrays, State]:
    """Name, inputs and outputs, and state dict of an official module."""
    return request.param, *official_module(shared_reference, request.param)


def of(names: list[str]) -> pytest.MarkDecorator:
    return pytest.mark.parametrize("module", names, indirect=True)


@of(CNNS)
def test_features_and_counted_statistics_are_the_official_ones(module: tuple[str, Arrays, State]) -> None:
    name, official, state = module
    encoder = load_official(name, state).double().eval()
    x = torch.from_numpy(official["x"]).double().mT  # (B, S, L)
    with torch.no_grad():
        np.testing.assert_allclose(encoder(x).mT, official["features"], rtol=1e-5, atol=1e-5)
        np.testing.assert_allclose(encoder.pooled(x), official["features"].mean(2), rtol=1e-5, atol=1e-5)
        np.testing.assert_allclose(encoder.train()(x).mT, official["features_train_mode"], rtol=1e-5, atol=1e-5)
    for kind in ("mean", "var"):
        counted = sum(  # the official state names the statistics of a bottleneck twice
            float(value.sum()) * (2 if ".path." in key else 1)
            for key, value in encoder.named_buffers()
            if key.endswith(f"running_{kind}")
        )
        assert counted == pytest.approx(float(official[f"after_train_sum_running_{kind}"]), rel=1e-5)
    assert sum(p.numel() for p in ENCODERS[name]().parameters()) == int(official["n_params_features"])


@of(CNNS)
def test_features_have_the_official_gradient(module: tuple[str, Arrays, State]) -> None:
    name, official, state = module
    encoder = load_official(name, state).double().train()
    encoder(torch.from_numpy(official["x"]).double().mT)  # it was taken in evaluation, after one pass in training
    gradient = gradient_of(encoder.eval(), official["x"])  # (B, L, S)
    theirs = official["grad_x_of_sum_y_cos_every4th_step"]
    np.testing.assert_allclose(gradient[:, :, ::4], theirs, rtol=1e-5, atol=1e-6)


@of(["vit1d", "vit1d of the paper"])
def test_pooled_representations_have_the_official_gradient(module: tuple[str, Arrays, State]) -> None:
    name, official, state = module
    gradient = gradient_of(load_official(name.split()[0], state).eval(), official["x"], "pooled")  # (B, L, S)
    theirs = official["grad_x_of_sum_y_cos_every5th_step"]
    np.testing.assert_allclose(gradient[:, :, ::5], theirs, rtol=1e-5, atol=1e-6)


@of(["vit1d"])
def test_the_head_of_the_official_module_is_left_out(module: tuple[str, Arrays, State]) -> None:
    name, _, state = module
    whole = state | {"head.weight": torch.zeros(5, 3), "head.bias": torch.zeros(5)}
    assert load_official(name, whole).state_dict().keys() == load_official(name, state).state_dict().keys()


def without(*names: str) -> Callable[[State], Any]:
    return lambda state: [state.pop(name) for name in names]


def with_(name: str, *shape: int) -> Callable[[State], Any]:
    return lambda state: state.update({name: torch.zeros(*shape)})


DAMAGE: dict[str, list[tuple[Callable[[State], Any], str]]] = {
    "resnet1d": [
        (dict.clear, "no tensor 0.weight; pass the whole state_dict"),
        (without("4.0.conv2.weight"), "Missing key.*blocks.1.conv2.weight"),
        (with_("7.0.conv1.weight", 1), "unknown tensor '7.0.conv1.weight'"),
        (with_("3.0.conv1.weight", 128, 128, 3), "size mismatch"),
    ],
    "xresnet1d101": [
        (dict.clear, "no tensor 0.0.weight; pass the whole state_dict"),
        (without("7.2.convs.2.0.weight", "7.2.convpath.0.2.0.weight"), "no tensor 7.2.convs.2.0.weight; pass"),
        (without("2.0.weight"), "Missing key.*stem.4.0.weight"),
        (with_("4.0.squeeze.weight", 1), "unknown tensor '4.0.squeeze.weight'"),
        (with_("4.0.idpath.0.0.weight", 1), "size mismatch"),
    ],
    "vit1d": [
        (dict.clear, "no tensor pos_embedding; pass the whole state_dict"),
        (without("block1.ff.fn.net.0.weight"), "Missing key.*blocks.1.perceptron.1.weight"),
        (with_("sep_embedding", 48), "unknown tensor 'sep_embedding'"),
        (with_("cls_embedding", 4), "size mismatch"),
        (with_("block0.attn.fn.to_qkv.weight", 150, 48), "no heads .* make up 50"),
    ],
    "s4": [
        (dict.clear, "no tensor s4_layers.0.kernel.kernel.C; pass the whole state_dict"),
        (without("s4_layers.0.kernel.kernel.omega"), "no tensor s4_layers.0.kernel.kernel.omega; pass"),
        (without("s4_layers.0.D"), "no tensor s4_layers.0.D; pass"),
        (without("s4_layers.1.D"), "Missing key.*layers.1.space.d"),
        (with_("s4_layers.0.gate.weight", 1), "unknown tensor 's4_layers.0.gate"),
        (with_("norms.0.weight", 3), "size mismatch"),
    ],
}
"""Encoder -> damages of its official state dict with the line that each is refused by."""


@of(list(DAMAGE))
def test_anything_but_the_official_module_is_refused_in_one_line(module: tuple[str, Arrays, State]) -> None:
    name, _, state = module
    assert name in MODULES
    for damage, message in DAMAGE[name]:
        damaged = dict(state)
        damage(damaged)
        with pytest.raises(ValueError, match=rf"^official {name}: .*{message}") as caught:
            load_official(name, damaged)
        assert "\n" not in str(caught.value)
