"""What methods of two masked views share, and that a loss has to be given."""

from __future__ import annotations

from typing import ClassVar

import pytest
import torch
from torch import Tensor, nn

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


def test_under_autocast_the_loss_is_in_single_precision() -> None:
    seen: list[tuple[bool, torch.dtype, torch.dtype]] = []

    class Watched(Siamese[SiameseConfig]):
        name: ClassVar[str] = "watched"

        def loss(self, z1: Tensor, z2: Tensor) -> Tensor:
            seen.append((torch.is_autocast_enabled("cpu"), z1.dtype, (z1 @ z2.mT).dtype))
            return z1.sum() + z2.sum()

    method, x = Watched(Dilated(DilatedConfig.small()), SiameseConfig()), torch.randn(3, 20, 12)
    with torch.autocast("cpu", torch.bfloat16):
        method(Batch(x, x, *[torch.arange(3)] * 3))
    assert seen == [(False, torch.float32, torch.float32)]
