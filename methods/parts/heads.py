"""Heads between the representation and the space of the loss: multi-layer perceptrons of one width."""

from __future__ import annotations

from torch import nn


def batch_norm_head(width: int, layers: int) -> nn.Sequential:
    """Make `layers` of Linear-BatchNorm with ReLU between: (B, width) -> (B, width). The last is normalised too.

    The projection head (three layers) and the prediction head (two) of PMQ, section "Implementation details".
    Layer i is modules 3i to 3i + 1; ReLU is module 3i + 2.
    """
    modules: list[nn.Module] = []
    for _ in range(layers):
        modules += [nn.Linear(width, width), nn.BatchNorm1d(width), nn.ReLU()]
    return nn.Sequential(*modules[:-1])


def mlp_head(width: int, layers: int) -> nn.Sequential:
    """Make `layers` of Linear with ReLU between, no normalisation: (B, width) -> (B, width). MoCo v2 has two."""
    modules: list[nn.Module] = []
    for _ in range(layers):
        modules += [nn.Linear(width, width), nn.ReLU()]
    return nn.Sequential(*modules[:-1])
