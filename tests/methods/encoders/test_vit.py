"""vit1d gives the official module's tokens and encoding, leaves tokens out exactly, and pools its class token."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest
import torch

from methods.encoders.vit import ViT1d, ViT1dConfig
from tests.methods.encoders.official import official_module

ALL, FIRST_WIDTHS = slice(None), slice(8)


@pytest.mark.parametrize(
    ("name", "tokens", "width"),
    [
        ("vit1d", "tokens_after_last_block", ALL),
        ("vit1d of the paper", "tokens_after_last_block_first8dims", FIRST_WIDTHS),
    ],
)
@torch.no_grad()
def test_gives_the_official_tokens_and_encoding(shared_reference: Path, name: str, tokens: str, width: slice) -> None:
    official, _, encoder = official_module(shared_reference, name)
    x = torch.from_numpy(official["x"]).mT  # (B, S, L)
    encoder.eval()
    np.testing.assert_allclose(encoder(x)[..., width], official[tokens], rtol=1e-5, atol=1e-5)
    np.testing.assert_allclose(encoder.pooled(x), official["encoding"], rtol=1e-5, atol=1e-5)
    if name == "vit1d":
        np.testing.assert_allclose(encoder.embed(x), official["patch_embedding"], rtol=1e-5, atol=1e-5)
    else:
        assert sum(p.numel() for p in encoder.parameters()) == int(official["n_params"]) == 21_655_176


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
def test_the_normalised_class_token_is_pooled_and_dropped_out_in_training_alone() -> None:
    encoder, x = ViT1d(ViT1dConfig.small()).eval(), torch.randn(3, 20, 12)
    token = encoder.norm(encoder(x)[:, 0])  # (B, K)
    assert torch.equal(encoder.pooled(x), token)
    encoder.dropout = 1.0
    assert torch.equal(encoder.pooled(x), token)
    assert not encoder.train().pooled(x).any()
