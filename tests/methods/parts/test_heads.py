"""Heads have the layers their names say."""

from __future__ import annotations

import pytest
import torch
from torch import nn

from methods.parts.heads import batch_norm_head, mlp_head


def kinds(head: nn.Sequential) -> list[type[nn.Module]]:
    return [type(module) for module in head]


def test_batch_norm_follows_every_layer_and_relu_all_but_the_last() -> None:
    layer = [nn.Linear, nn.BatchNorm1d]
    assert kinds(batch_norm_head(8, 1)) == layer
    assert kinds(batch_norm_head(8, 3)) == [*layer, nn.ReLU, *layer, nn.ReLU, *layer]


def test_the_plain_head_has_no_normalisation() -> None:
    assert kinds(mlp_head(8, 1)) == [nn.Linear]
    assert kinds(mlp_head(8, 2)) == [nn.Linear, nn.ReLU, nn.Linear]


def test_no_layers_is_the_identity() -> None:
    x = torch.randn(2, 8)
    assert torch.equal(batch_norm_head(8, 0)(x), x)


@pytest.mark.parametrize(("layers", "parameters"), [(3, 310_080), (2, 206_720)])
def test_has_the_released_heads_number_of_parameters(layers: int, parameters: int) -> None:
    assert sum(parameter.numel() for parameter in batch_norm_head(320, layers).parameters()) == parameters
