"""Encoders give the official modules' features and gradients, and take on all of their weights."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest
import torch

from methods.encoders import ENCODERS
from tests.methods.encoders.official import Arrays, State, gradient_of, load_official, official_module

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
