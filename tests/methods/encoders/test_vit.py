"""vit1d gives the official module's tokens and encoding, takes on its weights, and leaves tokens out exactly.

What the encoders of tokens share: which windows they take, what of a window is pooled, which bits a seed gives.
"""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest
import torch
from pydantic import ValidationError

from methods.encoders import load_official
from methods.encoders.st_mem import STMEM, STMEMConfig
from methods.encoders.vit import TokenConfig, TokenEncoder, ViT1d, ViT1dConfig
from tests.methods.encoders.official import arrays_of, official_module, state_of


def test_gives_the_official_tokens_and_encoding(shared_reference: Path) -> None:
    official, state = official_module(shared_reference, "vit1d")
    encoder = load_official("vit1d", state).eval()
    x = torch.from_numpy(official["x"]).mT  # (B, S, L)
    with torch.no_grad():
        found = {
            "tokens_after_last_block": encoder(x),
            "encoding": encoder.pooled(x),
            "patch_embedding": encoder.embed(x),
        }
    for name, value in found.items():
        np.testing.assert_allclose(value, official[name], rtol=1e-5, atol=1e-5, err_msg=name)


def test_the_small_module_of_the_paper_is_loaded_whole(shared_reference: Path) -> None:
    official = arrays_of(shared_reference / "backbones_vit_dev.npz", "vit_small")
    encoder = load_official("vit1d", state_of(official)).eval()
    assert encoder.config == ViT1dConfig(patch=75, length=2250)
    assert sum(p.numel() for p in encoder.parameters()) == int(official["n_params"]) == 21_655_176
    x = torch.from_numpy(official["x"]).mT  # (B, S, L)
    with torch.no_grad():
        tokens, pooled = encoder(x), encoder.pooled(x)  # (B, 1 + N, K), (B, K)
    np.testing.assert_allclose(tokens[..., :8], official["tokens_after_last_block_first8dims"], rtol=1e-5, atol=1e-5)
    np.testing.assert_allclose(pooled, official["encoding"], rtol=1e-5, atol=1e-5)


def test_the_base_module_has_the_official_size() -> None:
    with torch.device("meta"):
        base = ViT1d(ViT1dConfig(patch=75, length=2250, output=768, heads=12, hidden=3072))
    assert sum(p.numel() for p in base.parameters()) == 85_775_880


def test_tokens_that_are_left_out_have_no_influence() -> None:
    encoder = ViT1d(ViT1dConfig.small()).eval()
    x = torch.randn(3, 20, 12)
    embedded = encoder.embed(x)  # (B, N, D)
    every = torch.arange(10).expand(3, -1)  # (B, N)
    torch.testing.assert_close(encoder.kept_steps(embedded, every), encoder(x)[:, 1:])
    kept = torch.tensor([[4, 1], [0, 9], [7, 8]])  # (B, M)
    chosen = encoder.kept_steps(embedded, kept)  # (B, M, K)
    other = embedded.clone()
    other[0, 2:4] += 1
    torch.testing.assert_close(encoder.kept_steps(other, kept), chosen)
    other[0, 4] += 1
    assert not torch.allclose(encoder.kept_steps(other, kept)[0], chosen[0])


def test_a_patch_is_its_samples() -> None:
    encoder = ViT1d(ViT1dConfig(leads=3, patch=4, length=8, output=8, heads=2, depth=1))
    x = torch.arange(24.0).view(1, 8, 3)
    assert torch.equal(encoder.patches(x), torch.arange(24.0).view(1, 2, 12))


def test_shorter_windows_have_the_first_positions() -> None:
    encoder = ViT1d(ViT1dConfig.small())
    encoder(torch.randn(2, 20, 12)).square().sum().backward()  # type: ignore[no-untyped-call]
    assert encoder.positions.grad is not None
    assert encoder.positions.grad.any(1).tolist() == [True] * 11 + [False] * 140


KINDS = [ViT1d, STMEM]


@pytest.mark.parametrize("kind", KINDS)
@pytest.mark.parametrize(
    ("samples", "message"),
    [
        (313, "encoder.patch 25 does not divide them; use 1, or windows of 300 or 325 samples"),
        (310, "encoder.patch 25 does not divide them; use 2 or 5 or 10, or windows of 300 or 325 samples"),
        (3, "encoder.patch 25 does not divide them; use 1, or windows of 25 samples"),
        (5000, "encoder.length is 2500; set encoder.length=5000"),
    ],
)
def test_windows_that_no_patches_make_up_are_refused(kind: type[TokenEncoder], samples: int, message: str) -> None:
    assert kind.Config().unfit(samples) == message  # type: ignore[call-arg]
    with pytest.raises(ValueError, match=f"encoder {kind.name} cannot take windows of {samples} samples: {message}"):
        kind().patches(torch.zeros(1, samples, 12))


@pytest.mark.parametrize("kind", [ViT1dConfig, STMEMConfig])
def test_sizes_that_do_not_divide_are_refused(kind: type[ViT1dConfig | STMEMConfig]) -> None:
    with pytest.raises(ValueError, match="patch 30 does not divide length 2500"):
        kind(patch=30)


@pytest.mark.parametrize("kind", KINDS)
@torch.no_grad()
def test_what_is_pooled_is_the_normalised_summary_and_dropped_out_in_training_alone(kind: type[TokenEncoder]) -> None:
    encoder, x = kind(kind.Config.small()).eval(), torch.randn(3, 20, 12)
    summary = encoder(x)[:, 0] if kind is ViT1d else encoder(x).mean(1)  # (B, K)
    assert torch.equal(encoder.pooled(x), encoder.norm(summary))
    encoder.dropout = 1.0
    assert torch.equal(encoder.pooled(x), encoder.norm(summary))
    assert not encoder.train().pooled(x).any()


@pytest.mark.parametrize("kind", KINDS)
def test_an_encoder_is_drawn_from_its_seed_part_by_part(kind: type[TokenEncoder]) -> None:
    """Stored results rest on the order: the embedding, what stands at or beside the tokens, the blocks."""
    torch.manual_seed(3)
    encoder = kind(kind.Config.small())
    torch.manual_seed(3)
    config = encoder.config
    samples = encoder.input[1].in_features
    linear = torch.nn.Linear(samples, config.output)
    beside = [p for name, p in encoder.named_parameters() if "." not in name]
    drawn = [0.02 * torch.randn(p.shape) for p in beside]
    first = torch.nn.Linear(config.output, 3 * config.heads * config.head_width)
    assert torch.equal(encoder.input[1].weight, linear.weight)
    assert all(map(torch.equal, beside, drawn))
    assert torch.equal(encoder.blocks[0].attention.qkv.weight, first.weight)


@pytest.mark.parametrize("kind", [ViT1dConfig, STMEMConfig])
def test_an_encoder_of_tokens_has_a_block(kind: type[TokenConfig]) -> None:
    with pytest.raises(ValidationError, match="greater than or equal to 1"):
        kind(depth=0)
    assert kind(depth=1).depth == 1


def test_an_encoder_of_tokens_says_what_it_lacks() -> None:
    bare = type("Bare", (TokenEncoder,), {"name": "bare"})
    for method, words in (("cut", "the samples of each token"), ("summary", "the representation of a window")):
        with pytest.raises(NotImplementedError, match=f"^Bare.{method}: give {words}"):
            getattr(bare, method)(bare.__new__(bare), torch.zeros(1, 4, 12))
