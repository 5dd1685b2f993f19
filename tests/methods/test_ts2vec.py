"""TS2Vec's crops, and what it hands on."""

from __future__ import annotations

import pytest
import torch

from methods.encoders.dilated import Dilated, DilatedConfig
from methods.encoders.vit import ViT1d, ViT1dConfig
from methods.ts2vec import TS2Vec, TS2VecConfig, crop, draw_crops
from tests import make


def test_crops_lie_in_the_window_and_overlap() -> None:
    torch.manual_seed(0)
    drawn = torch.tensor([draw_crops() for _ in range(500)])  # (500, 4)
    assert drawn.min() >= 0
    assert drawn.max() <= 1
    assert (drawn.diff(dim=1) >= 0).all()
    assert (drawn[:, 2] - drawn[:, 1]).std() > 0.2  # overlaps of all lengths


def test_a_crop_hides_what_lies_outside_it() -> None:
    x = torch.ones(2, 10, 3)
    assert crop(x, 0.25, 0.5)[0, :, 0].tolist() == [0, 0, 1, 1, 1, 0, 0, 0, 0, 0]
    assert torch.equal(crop(x, 0.0, 1.0), x)


def test_the_running_average_is_handed_on() -> None:
    method = TS2Vec(Dilated(DilatedConfig.small()), TS2VecConfig())
    weights = [method.encoder.input.weight.detach().clone()]  # type: ignore[union-attr]
    for _ in range(2):
        with torch.no_grad():
            method.encoder.input.weight.add_(1)  # type: ignore[union-attr, operator]
        method.after_step()
        weights.append(method.encoder.input.weight.detach().clone())  # type: ignore[union-attr]
    exported = method.exported()
    assert exported is not method.encoder
    torch.testing.assert_close(exported.input.weight, torch.stack(weights).mean(0))  # type: ignore[union-attr]


def test_the_tokens_that_both_crops_see_are_contrasted(monkeypatch: pytest.MonkeyPatch) -> None:
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
