"""The contract of a method: what a recipe and a config take, and what a method without anything of its own does."""

from __future__ import annotations

import pytest
import torch

from methods.base import Batch, MethodConfig, PretrainMethod
from methods.encoders.dilated import Dilated, DilatedConfig


def test_a_method_with_nothing_of_its_own_keeps_its_encoder_and_has_no_loss() -> None:
    encoder = Dilated(DilatedConfig(hidden=2, depth=1, output=2))
    method = PretrainMethod(encoder, MethodConfig(encoder_dropout=0.25))
    x, ids = torch.zeros(1, 8, 12), torch.zeros(1, dtype=torch.int64)
    batch = Batch(x, x, ids, ids, ids)
    assert (method.trains, method.needs_text, method.mask, batch.text) == (True, False, None, None)
    assert method.exported() is encoder
    assert encoder.dropout == 0.25
    with pytest.raises(NotImplementedError, match="PretrainMethod has no loss"):
        method(batch)
