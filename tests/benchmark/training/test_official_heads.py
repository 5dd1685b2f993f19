"""The head of supervised training gives what the PTB-XL benchmark's gives under its weights."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest
import torch
from torch import Tensor

from benchmark.training.finetune import BenchmarkClassifier
from tests.methods.encoders.official import official_module


@pytest.mark.parametrize(("name", "head"), [("resnet1d", "6."), ("xresnet1d101", "8.")])
def test_pools_and_predicts_as_the_official_module(shared_reference: Path, name: str, head: str) -> None:
    """head: what the names of the official head begin with; its pooling and flattening are its layers 0 and 1."""
    official, state, encoder = official_module(shared_reference, name)
    model = BenchmarkClassifier(encoder, classes=71, hidden=128, dropout=0.5)
    layers = {key.removeprefix(head): value for key, value in state.items() if key.startswith(head)}
    model.head.load_state_dict({f"{int(key[0]) - 2}{key[1:]}": value for key, value in layers.items()}, strict=True)
    pooled: list[Tensor] = []
    model.head.register_forward_pre_hook(lambda _, given: pooled.append(given[0]))
    with torch.no_grad():
        logits = model.eval()(torch.from_numpy(official["x"]).mT)  # (B, C)
    np.testing.assert_allclose(pooled[0], official["concat_pooled"], rtol=1e-5, atol=1e-5)
    np.testing.assert_allclose(logits, official["logits_full_head"], rtol=1e-5, atol=1e-5)
    assert sum(p.numel() for p in model.parameters()) == int(official["n_params_with_head"])
