"""CPC, JEPA, TS2Vec and MAE: the hidden part of a window, and the rest that they read."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest
import torch

from methods.cpc import CPC, CPCConfig, other_steps
from methods.encoders.dilated import Dilated, DilatedConfig
from methods.encoders.vit import ViT1d, ViT1dConfig
from methods.jepa import JEPA, JEPAConfig, hidden_steps, hide
from methods.mae import MAE, MAEConfig, reconstruction_loss
from methods.ts2vec import TS2Vec, TS2VecConfig, crop, draw_crops
from tests import make

TOKENS = replace(ViT1dConfig.small(), patch=5)


def test_cpcs_negatives_are_all_steps_but_the_right_one() -> None:
    drawn = other_steps(batch=2, steps=3, count=400, device=torch.device("cpu"))  # (2, 2, 400)
    for position in range(2):
        for window in range(2):
            right = 3 * window + position + 1
            assert set(drawn[position, window].tolist()) == set(range(6)) - {right}


def test_cpcs_context_does_not_see_the_future() -> None:
    torch.manual_seed(0)
    method = CPC(Dilated(DilatedConfig.small()), CPCConfig()).eval()
    embedded, cut = torch.randn(3, 20, 8), torch.tensor([[1], [7], [20]])
    past = torch.arange(20) < cut
    other = torch.where(past.unsqueeze(2), embedded, torch.randn(3, 20, 8))
    assert torch.equal(method.context(embedded, past, cut), method.context(other, past, cut))
    assert not torch.equal(method.context(embedded, past, cut), method.context(embedded + 1.0, past, cut))


@pytest.mark.parametrize("steps", [2, 3, 12, 300])
def test_jepa_hides_some_steps_only(steps: int) -> None:
    torch.manual_seed(0)
    counts = torch.stack([hidden_steps(steps, 4, 0.2) for _ in range(100)]).sum(1)
    assert counts.min() >= 1
    assert counts.max() < steps
    assert hidden_steps(300, 1, 0.2).sum() == 60
    assert hidden_steps(2, 9, 1.0).sum() == 1


def test_jepa_hides_the_embedded_steps_of_hidden_outputs() -> None:
    hidden = torch.tensor([False, True, False])
    assert hide(torch.ones(1, 6, 2), hidden)[0, :, 0].tolist() == [1, 1, 0, 0, 1, 1]
    assert hide(torch.ones(1, 2, 2), hidden)[0, :, 0].tolist() == [0, 1]  # a token stands before the others


def test_jepas_prediction_depends_on_the_visible_steps_alone() -> None:
    torch.manual_seed(0)
    method, x = JEPA(Dilated(DilatedConfig.small()), JEPAConfig()).eval(), torch.randn(4, 20, 12)
    hidden = hidden_steps(20, 4, 0.2)
    other = torch.where(hidden[:, None], torch.randn_like(x), x)
    assert torch.equal(*[method.encoder(view, lambda embedded: hide(embedded, hidden)) for view in (x, other)])
    assert not torch.equal(method.momentum_encoder(x), method.momentum_encoder(other))


def test_ts2vecs_crops_overlap() -> None:
    torch.manual_seed(0)
    drawn = torch.tensor([draw_crops() for _ in range(500)])  # (500, 4)
    assert drawn.min() >= 0
    assert drawn.max() <= 1
    assert (drawn.diff(dim=1) >= 0).all()
    assert (drawn[:, 2] - drawn[:, 1]).std() > 0.2  # overlaps of all lengths


def test_a_crop_of_ts2vec_hides_the_rest() -> None:
    x = torch.ones(2, 10, 3)
    assert crop(x, 0.25, 0.5)[0, :, 0].tolist() == [0, 0, 1, 1, 1, 0, 0, 0, 0, 0]
    assert torch.equal(crop(x, 0.0, 1.0), x)


def test_ts2vec_contrasts_the_tokens_that_both_crops_see(monkeypatch: pytest.MonkeyPatch) -> None:
    torch.manual_seed(0)
    method = TS2Vec(ViT1d(ViT1dConfig.small()), TS2VecConfig(time_mask=0.0)).eval()
    batch, contrasted = make.batch(steps=40), []
    batch = batch._replace(x2=batch.x1)
    monkeypatch.setattr("methods.ts2vec.draw_crops", lambda: (0.0, 0.0, 0.5, 1.0))
    monkeypatch.setattr("methods.ts2vec.hierarchical_loss", lambda h1, h2, alpha: contrasted.append((h1, h2)))
    method(batch)
    ((h1, h2),) = contrasted
    first_half = method.encoder(batch.x1, lambda x: crop(x, 0.0, 0.5))
    torch.testing.assert_close(h1, first_half[:, 1:11])  # ten of the twenty tokens, not the class token
    torch.testing.assert_close(h2, method.encoder(batch.x2)[:, 1:11])


@pytest.mark.parametrize("normalise", [False, True])
def test_mae_has_the_official_loss(shared_reference: Path, normalise: bool) -> None:
    arrays, key = np.load(shared_reference / "backbones_vit_dev.npz"), f"st_mem_pretrain/lossonly_normpix{normalise:d}"
    patches = torch.from_numpy(arrays["st_mem_pretrain/x"]).unflatten(2, (8, 25))  # (B, leads, N, P)
    prediction = torch.from_numpy(arrays[f"{key}_pred"]).requires_grad_()
    loss = reconstruction_loss(prediction, patches, torch.from_numpy(arrays[f"{key}_mask"]), normalise)
    assert loss.item() == pytest.approx(float(arrays[f"{key}_loss"]), rel=1e-5)
    loss.backward()
    assert prediction.grad is not None
    np.testing.assert_allclose(prediction.grad, arrays[f"{key}_grad_pred"], rtol=1e-5, atol=1e-9)


@pytest.mark.parametrize(("ratio", "visible"), [(0.75, 2), (0.5, 4), (1.0, 1), (0.0, 7)])
def test_mae_encodes_the_visible_tokens_alone(ratio: float, visible: int, monkeypatch: pytest.MonkeyPatch) -> None:
    method = MAE(ViT1d(TOKENS), MAEConfig(mask_ratio=ratio, decoder_width=8, decoder_depth=1))
    seen: list[torch.Tensor] = []
    whole = method.encoder.encode_tokens
    monkeypatch.setattr(method.encoder, "encode_tokens", lambda x, tokens: seen.append(tokens) or whole(x, tokens))
    method(make.batch(steps=40)).backward()
    (tokens,) = seen
    assert tokens.shape == (4, visible)
    assert all(len(set(row)) == visible for row in tokens.tolist())


def test_mae_decodes_a_token_at_its_own_place() -> None:
    torch.manual_seed(0)
    method = MAE(ViT1d(TOKENS), MAEConfig(decoder_width=8, decoder_depth=1)).eval()
    method.decoder = torch.nn.Sequential()  # so that each place depends on its own token alone
    steps, visible = torch.randn(1, 2, 16), torch.tensor([[3, 1]])
    decoded, other = method.decode(steps, visible, 5), method.decode(steps + 1, visible, 5)
    moved = [not torch.equal(*pair) for pair in zip(decoded[0], other[0], strict=True)]
    assert moved == [False, True, False, True, False]
    assert decoded.shape == (1, 5, 60)
