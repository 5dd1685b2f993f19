"""Encoders give the official modules' features and gradients, and take on all of their weights; tokens of vit1d."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest
import torch

from methods.encoders import ENCODERS
from methods.encoders.vit import ViT1d, ViT1dConfig
from tests.methods.encoders.official import gradient_of, official_module

CNNS = ["resnet1d", "xresnet1d101"]


@pytest.mark.parametrize("name", CNNS)
def test_features_are_the_official_ones(shared_reference: Path, name: str) -> None:
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


@pytest.mark.parametrize(("name", "width"), [("vit1d", slice(None)), ("vit1d of the paper", slice(8))])
def test_tokens_are_the_official_ones(shared_reference: Path, name: str, width: slice) -> None:
    official, _, encoder = official_module(shared_reference, name)
    x = torch.from_numpy(official["x"]).mT  # (B, S, L)
    encoder.eval()
    tokens = official["tokens_after_last_block" + ("_first8dims" if width.stop else "")]
    with torch.no_grad():
        np.testing.assert_allclose(encoder(x)[..., width], tokens, rtol=1e-5, atol=1e-5)
        np.testing.assert_allclose(encoder.pooled(x), official["encoding"], rtol=1e-5, atol=1e-5)
        if name == "vit1d":
            np.testing.assert_allclose(encoder.embed(x), official["patch_embedding"], rtol=1e-5, atol=1e-5)
        else:
            assert sum(p.numel() for p in encoder.parameters()) == int(official["n_params"]) == 21_655_176
    gradient = gradient_of(encoder, official["x"], "pooled")  # (B, L, S)
    theirs = official["grad_x_of_sum_y_cos_every5th_step"]
    np.testing.assert_allclose(gradient[:, :, ::5], theirs, rtol=1e-5, atol=1e-6)


def test_tokens_that_are_left_out_have_no_influence() -> None:
    encoder = ViT1d(ViT1dConfig.small()).eval()
    x = torch.randn(3, 20, 12)
    embedded = encoder.embed(x)  # (B, N, D)
    every = torch.arange(10).expand(3, -1)  # (B, N)
    torch.testing.assert_close(encoder.encode_tokens(embedded, every), encoder(x)[:, 1:])
    visible = torch.tensor([[4, 1], [0, 9], [7, 8]])  # (B, M)
    chosen = encoder.encode_tokens(embedded, visible)  # (B, M, K)
    other = embedded.clone()
    other[0, 2:4] += 1
    torch.testing.assert_close(encoder.encode_tokens(other, visible), chosen)
    other[0, 4] += 1
    assert not torch.allclose(encoder.encode_tokens(other, visible)[0], chosen[0])


@torch.no_grad()
def test_the_normalised_class_token_is_pooled() -> None:
    encoder, x = ViT1d(ViT1dConfig.small()).eval(), torch.randn(3, 20, 12)
    token = encoder.norm(encoder(x)[:, 0])  # (B, K)
    assert torch.equal(encoder.pooled(x), token)
    encoder.dropout = 1.0
    assert torch.equal(encoder.pooled(x), token)
    assert not encoder.train().pooled(x).any()
