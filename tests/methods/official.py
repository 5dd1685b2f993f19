"""Losses and gradients of official functions, `reference/*.npz`, beside ours."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

import numpy as np
import pytest
import torch
from torch import Tensor

TOLERANCE = 1e-5


def arrays_of(reference: Path, file: str) -> dict[str, np.ndarray]:
    """Arrays of a file; skips where it is not there."""
    if not (reference / file).is_file():
        pytest.skip(f"{file} is not in {reference.name}/")
    with np.load(reference / file) as stored:
        return dict(stored)


def agrees(arrays: dict[str, np.ndarray], key: str, loss: Callable[..., Tensor], *inputs: str) -> None:
    """Assert that a loss of the named inputs has the official value and the official gradients where there are any."""
    tensors = [torch.from_numpy(arrays[name]).double().requires_grad_() for name in inputs]
    value = loss(*tensors)
    assert value.shape == ()
    assert value.item() == pytest.approx(float(arrays[f"{key}/loss"]), rel=TOLERANCE)
    value.backward()
    for number, tensor in enumerate(tensors):
        if f"{key}/grad{number}" in arrays:
            assert tensor.grad is not None
            expected = torch.from_numpy(arrays[f"{key}/grad{number}"]).double()
            torch.testing.assert_close(
                tensor.grad, expected, rtol=TOLERANCE, atol=TOLERANCE * float(expected.abs().max())
            )
