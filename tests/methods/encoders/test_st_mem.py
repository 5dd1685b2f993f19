"""st-mem gives the official module's encoding and tokens, in pretraining too, and takes on its weights."""

from __future__ import annotations

import math
from pathlib import Path

import numpy as np
import pytest
import torch
from torch import Tensor

from methods.encoders import load_official
from methods.encoders.st_mem import STMEM, STMEMConfig, sine_cosine
from tests.methods.encoders.official import arrays_of, official_module, state_of

LEADS = 12


def in_official_order(seen: Tensor) -> Tensor:
    """Tokens followed by separators -> lead after lead, each between its separators: (B, N + 2 L, K) -> the same."""
    tokens, ends = seen[:, : -2 * LEADS].unflatten(1, (LEADS, -1)), seen[:, -2 * LEADS :].unflatten(1, (LEADS, 2))
    return torch.cat([ends[:, :, :1], tokens, ends[:, :, 1:]], 2).flatten(1, 2)


@torch.no_grad()
def test_gives_the_official_tokens_and_encoding(shared_reference: Path) -> None:
    official, state = official_module(shared_reference, "st-mem")
    encoder = load_official("st-mem", state).eval()
    x = torch.from_numpy(official["x"]).mT  # (B, S, L)
    embedded = encoder.embed(x)  # (B, N, K)
    seen = encoder.seen(encoder.placed(embedded))  # type: ignore[operator]
    found = {
        "patch_embedding": embedded.unflatten(1, (LEADS, -1)),
        "tokens_after_last_block": in_official_order(seen),
        "encoding": encoder.pooled(x),
    }
    for name, value in found.items():
        np.testing.assert_allclose(value, official[name], rtol=1e-5, atol=1e-5, err_msg=name)
    tokens = official["tokens_after_last_block"].reshape(2, LEADS, 12, -1)[:, :, 1:-1]
    np.testing.assert_allclose(encoder(x), tokens.mean(1), rtol=1e-5, atol=1e-5)


def test_has_the_official_size_with_its_positions(shared_reference: Path) -> None:
    official, state = official_module(shared_reference, "st-mem")
    encoder = load_official("st-mem", state)
    assert sum(value.numel() for value in encoder.state_dict().values()) == int(official["n_params"])
    small = STMEM(STMEMConfig(patch=75, length=2250))
    assert sum(value.numel() for value in small.state_dict().values()) == 21_341_718
    with torch.device("meta"):
        base = STMEM(STMEMConfig(patch=75, length=2250, output=768, heads=12, hidden=3072))
    assert sum(value.numel() for value in base.state_dict().values()) == 85_150_614


@torch.no_grad()
def test_what_the_official_pretraining_keeps_gives_its_latent_tokens(shared_reference: Path) -> None:
    official = arrays_of(shared_reference / "backbones_vit_dev.npz", "st_mem_pretrain")
    state = state_of(official)
    for name in ("encoder", "decoder"):
        place = {"encoder": "encoder.pos_embedding", "decoder": "decoder_pos_embed"}[name]
        state[place] = torch.from_numpy(official[f"sincos_{name}_pos"])
    encoder = load_official("st-mem", state).eval()
    torch.testing.assert_close(encoder.positions, sine_cosine(8, 32))
    order = torch.from_numpy(official["noise"]).argsort(2)[..., :2]  # (B, L, M / L), the least noise is kept
    kept = (order + 8 * torch.arange(LEADS)[:, None]).flatten(1)  # (B, M)
    embedded = encoder.embed(torch.from_numpy(official["x"]).mT)  # (B, N, K)
    tokens = torch.from_numpy(official["latent_tokens"]).unflatten(1, (LEADS, -1))[:, :, 1:-1].flatten(1, 2)
    found = encoder.kept_steps(embedded, kept)  # (B, M, K)
    torch.testing.assert_close(found, tokens, rtol=1e-5, atol=1e-5)


def test_positions_are_sines_and_cosines_at_falling_rates_between_zeros() -> None:
    found = sine_cosine(2000, 6)
    angles = [1999 * 10_000 ** -(rate / 3) for rate in range(3)]
    assert found[-2].tolist() == pytest.approx([*map(math.sin, angles), *map(math.cos, angles)], abs=1e-6)
    assert found.shape == (2002, 6)
    assert not found[[0, -1]].any()


def test_patches_are_those_of_single_leads(shared_reference: Path) -> None:
    official = arrays_of(shared_reference / "backbones_vit_dev.npz", "st_mem_pretrain")
    encoder = STMEM(STMEMConfig(patch=25, length=200, output=16, depth=1, heads=2, hidden=16))
    patches = encoder.patches(torch.from_numpy(official["x"]).mT)[:1]  # (1, N, P)
    np.testing.assert_array_equal(patches.unflatten(1, (LEADS, -1)), official["patchify_of_x_first_sample"])
