"""vit1d gives the official module's tokens and encoding, takes on its weights, and leaves tokens out exactly."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest
import torch

from methods.encoders import load_official
from methods.encoders.vit1d import ViT1d, ViT1dConfig
from tests.methods.encoders.official import Arrays, State, arrays_of, gradient_of, state_of


@pytest.fixture(scope="session")
def official(shared_reference: Path) -> Arrays:
    """Inputs and outputs of a tiny official module, under weights that follow a rule."""
    return arrays_of(shared_reference / "backbones_vit_dev.npz", "vit_tiny_custom")


@pytest.fixture(scope="session")
def state(official: Arrays) -> State:
    """Its state dict."""
    return state_of(official)


def test_gives_the_official_tokens_and_encoding(official: Arrays, state: State) -> None:
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


def test_has_the_official_gradient(official: Arrays, state: State) -> None:
    gradient = gradient_of(load_official("vit1d", state).eval(), official["x"], "pooled")  # (B, L, S)
    theirs = official["grad_x_of_sum_y_cos_every5th_step"]
    np.testing.assert_allclose(gradient[:, :, ::5], theirs, rtol=1e-5, atol=1e-6)


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


def test_the_small_module_has_the_official_gradient(shared_reference: Path) -> None:
    official = arrays_of(shared_reference / "backbones_vit_dev.npz", "vit_small")
    gradient = gradient_of(load_official("vit1d", state_of(official)).eval(), official["x"], "pooled")  # (B, L, S)
    theirs = official["grad_x_of_sum_y_cos_every5th_step"]
    np.testing.assert_allclose(gradient[:, :, ::5], theirs, rtol=1e-5, atol=1e-6)


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


@pytest.mark.parametrize(
    ("damage", "message"),
    [
        (lambda state: state.clear(), "no tensor pos_embedding; pass the whole state_dict"),
        (lambda state: state.pop("block1.ff.fn.net.0.weight"), "Missing key.*blocks.1.perceptron.1.weight"),
        (lambda state: state.update({"sep_embedding": torch.zeros(48)}), "unknown tensor 'sep_embedding'"),
        (lambda state: state.update({"cls_embedding": torch.zeros(4)}), "size mismatch"),
        (lambda state: state.update({"block0.attn.fn.to_qkv.weight": torch.zeros(150, 48)}), "no heads .* make up 50"),
    ],
)
def test_anything_but_the_official_module_is_refused(state, damage, message) -> None:  # type: ignore[no-untyped-def]
    state = dict(state)
    damage(state)
    with pytest.raises(ValueError, match=rf"^official vit1d: .*{message}") as caught:
        load_official("vit1d", state)
    assert "\n" not in str(caught.value)


def test_the_small_one_has_two_heads_of_eight() -> None:
    small = ViT1dConfig.small()
    assert (small.depth, small.heads, small.head_width, small.output, small.patch) == (2, 2, 8, 16, 2)


def test_the_head_of_the_official_module_is_left_out(state: State) -> None:
    whole = state | {"head.weight": torch.zeros(5, 3), "head.bias": torch.zeros(5)}
    assert load_official("vit1d", whole).state_dict().keys() == load_official("vit1d", state).state_dict().keys()
