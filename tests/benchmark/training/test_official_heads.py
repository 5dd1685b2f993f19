"""The head of supervised training gives what the PTB-XL benchmark's gives under its weights."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest
import torch
from torch import Tensor

from benchmark.training.finetune import BenchmarkClassifier
from tests.methods.encoders.official import Arrays, State, arrays_of, load_official, state_of

OFFICIAL = {"resnet1d": ("resnet1d_wang", "6."), "xresnet1d101": ("xresnet1d101", "8.")}
"""Encoder -> its module in the reference, and what the names of its head begin with."""
BEFORE = 2
"""Layers of the official head before those that learn: the pooling, and flattening."""


def official_state(official: Arrays) -> State:
    """Weights by the rule; of a tensor's two names the second one has its values."""
    filled = state_of(official)
    return {name: filled[name.replace(".convs.", ".convpath.0.")] for name in filled}


@pytest.fixture(scope="module", params=OFFICIAL)
def classifier(request: pytest.FixtureRequest, shared_reference: Path) -> tuple[BenchmarkClassifier, Arrays]:
    module, prefix = OFFICIAL[request.param]
    official = arrays_of(shared_reference / "backbones_cnn_dev.npz", module)
    state = official_state(official)
    model = BenchmarkClassifier(load_official(request.param, state), classes=71, hidden=128, dropout=0.5)
    own = {name.removeprefix(prefix): value for name, value in state.items() if name.startswith(prefix)}
    model.head.load_state_dict({renumbered(name): value for name, value in own.items()}, strict=True)
    return model.eval(), official


def renumbered(name: str) -> str:
    """Name in our head of a tensor of the official one."""
    layer, _, rest = name.partition(".")
    return f"{int(layer) - BEFORE}.{rest}"


def test_pools_and_predicts_as_the_official_module(classifier: tuple[BenchmarkClassifier, Arrays]) -> None:
    model, official = classifier
    pooled: list[Tensor] = []
    hook = model.head.register_forward_pre_hook(lambda _, given: pooled.append(given[0]))
    with torch.no_grad():
        logits = model(torch.from_numpy(official["x"]).mT)  # (B, C)
    hook.remove()
    np.testing.assert_allclose(pooled[0], official["concat_pooled"], rtol=1e-5, atol=1e-5)
    np.testing.assert_allclose(logits, official["logits_full_head"], rtol=1e-5, atol=1e-5)


def test_has_the_official_size(classifier: tuple[BenchmarkClassifier, Arrays]) -> None:
    model, official = classifier
    assert sum(p.numel() for p in model.parameters()) == int(official["n_params_with_head"])
