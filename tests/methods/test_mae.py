"""MAE's loss against the official values, what the encoder sees, and where tokens are reconstructed."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest
import torch

from benchmark.config.errors import ConfigError
from benchmark.config.load import load_config
from methods.encoders.vit import ViT1d, ViT1dConfig
from methods.mae import MAE, MAEConfig, reconstruction_loss
from tests import make
from tests.basic import BASIC

TOKENS = replace(ViT1dConfig.small(), patch=5)


@pytest.mark.parametrize("normalise", [False, True])
def test_equals_the_official_loss(shared_reference: Path, normalise: bool) -> None:
    arrays = np.load(shared_reference / "backbones_vit_dev.npz")
    stored = {name: arrays[f"st_mem_pretrain/lossonly_normpix{normalise:d}_{name}"] for name in ("pred", "mask")}
    patches = torch.from_numpy(arrays["st_mem_pretrain/x"]).unflatten(2, (8, 25))  # (B, leads, N, P)
    prediction = torch.from_numpy(stored["pred"]).requires_grad_()
    loss = reconstruction_loss(prediction, patches, torch.from_numpy(stored["mask"]), normalise)
    key = f"st_mem_pretrain/lossonly_normpix{normalise:d}"
    assert loss.item() == pytest.approx(float(arrays[f"{key}_loss"]), rel=1e-5)
    loss.backward()
    assert prediction.grad is not None
    np.testing.assert_allclose(prediction.grad, arrays[f"{key}_grad_pred"], rtol=1e-5, atol=1e-9)


@pytest.mark.parametrize(("ratio", "visible"), [(0.75, 2), (0.5, 4), (1.0, 1), (0.0, 7)])
def test_the_encoder_sees_the_visible_tokens_alone(ratio: float, visible: int, monkeypatch: pytest.MonkeyPatch) -> None:
    method = MAE(ViT1d(TOKENS), MAEConfig(mask_ratio=ratio, decoder_width=8, decoder_depth=1))
    seen = []
    whole = method.encoder.encode_tokens
    monkeypatch.setattr(
        method.encoder, "encode_tokens", lambda embedded, visible: (seen.append(visible), whole(embedded, visible))[1]
    )
    method(make.batch(steps=40)).backward()
    (tokens,) = seen
    assert tokens.shape == (4, visible)
    assert all(len(set(row)) == visible for row in tokens.tolist())


def test_a_token_is_decoded_at_its_own_place() -> None:
    torch.manual_seed(0)
    method = MAE(ViT1d(TOKENS), MAEConfig(decoder_width=8, decoder_depth=1)).eval()
    method.decoder = torch.nn.Sequential()  # so that each place depends on its own token alone
    steps, visible = torch.randn(1, 2, 16), torch.tensor([[3, 1]])
    decoded, other = method.decode(steps, visible, 5), method.decode(steps + 1, visible, 5)
    moved = [not torch.equal(*pair) for pair in zip(decoded[0], other[0], strict=True)]
    assert moved == [False, True, False, True, False]
    assert decoded.shape == (1, 5, 60)


@pytest.mark.parametrize("encoder", ["dilated", "resnet1d"])
def test_an_encoder_without_tokens_is_refused_before_any_work(encoder: str) -> None:
    with pytest.raises(ConfigError, match=f"methods: mae: encoder {encoder} has no tokens to hide; use"):
        load_config(BASIC, {"methods": ["pmq", "mae"], "encoder": {"name": encoder}})
    with pytest.raises(ConfigError, match="methods: mae: encoder"):
        load_config(BASIC, {"encoder": {"name": encoder}, "sweeps": {"mae": {"mask_ratio": [0.5]}}})
