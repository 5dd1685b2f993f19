"""Encoders give the official modules' features and gradients, and take on all of their weights."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest
import torch

from methods.encoders import ENCODERS
from tests.methods.encoders.official import gradient_of, official_module

CNNS = ["resnet1d", "xresnet1d101"]


@pytest.mark.parametrize("name", CNNS)
def test_features_and_counted_statistics_are_the_official_ones(shared_reference: Path, name: str) -> None:
    official, _, encoder = official_module(shared_reference, name)
    encoder.double().eval()
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


@pytest.mark.parametrize("name", CNNS)
def test_features_have_the_official_gradient(shared_reference: Path, name: str) -> None:
    official, _, encoder = official_module(shared_reference, name)
    x = torch.from_numpy(official["x"]).double().mT  # (B, S, L)
    encoder.double().train()(x)  # the gradient was taken in evaluation, after one pass in training
    gradient = gradient_of(encoder.eval(), official["x"])  # (B, L, S)
    theirs = official["grad_x_of_sum_y_cos_every4th_step"]
    np.testing.assert_allclose(gradient[:, :, ::4], theirs, rtol=1e-5, atol=1e-6)


@pytest.mark.parametrize("name", ["vit1d", "vit1d of the paper"])
def test_pooled_representations_have_the_official_gradient(shared_reference: Path, name: str) -> None:
    official, _, encoder = official_module(shared_reference, name)
    gradient = gradient_of(encoder.eval(), official["x"], "pooled")  # (B, L, S)
    theirs = official["grad_x_of_sum_y_cos_every5th_step"]
    np.testing.assert_allclose(gradient[:, :, ::5], theirs, rtol=1e-5, atol=1e-6)
