"""What methods of two masked views share, and that a loss has to be given."""

from __future__ import annotations

from typing import ClassVar

import pytest
import torch
from torch import nn

from methods.base import Batch
from methods.encoders.dilated import Dilated, DilatedConfig
from methods.siamese import Siamese, SiameseConfig


class Unfinished(Siamese[SiameseConfig]):
    """Without a loss."""

    name: ClassVar[str] = "unfinished"


def test_the_head_is_not_normalised_at_its_end() -> None:
    method = Unfinished(Dilated(DilatedConfig.small()), SiameseConfig())
    kinds = [type(module) for module in method.projection]  # type: ignore[arg-type]
    inner = [nn.Linear, nn.BatchNorm1d, nn.ReLU]
    assert kinds == [*inner, *inner, nn.Linear]


def test_a_method_without_a_loss_is_told_so() -> None:
    method, x = Unfinished(Dilated(DilatedConfig.small()), SiameseConfig()), torch.randn(3, 20, 12)
    with pytest.raises(NotImplementedError, match=r"Unfinished\.loss: give the loss of two projections"):
        method(Batch(x, x, *[torch.arange(3)] * 3))
