"""s4 gives the official module's kernels and outputs, and its convolution is the recurrence that it stands for."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest
import torch
from torch import Tensor, nn

from methods.encoders.s4 import S4Config, StateSpace, hippo
from tests.methods.encoders.official import arrays_of, load_official, s4_state, state_of

SIZES = {
    "s4_causal": S4Config(leads=5, output=24, depth=2, length=64),
    "s4_bidirectional": S4Config(leads=16, output=16, depth=2, states=16, bidirectional=True, length=50),
    "ecg_cpc": S4Config(length=60),
}
"""Official module -> its sizes."""


@pytest.mark.parametrize("name", SIZES)
def test_s4_equals_the_official_module(shared_reference: Path, name: str) -> None:
    official = arrays_of(shared_reference / "backbones_s4_dev.npz", name)
    state = s4_state(
        official, SIZES[name].length
    )  # filled by a rule but for HiPPO's tensors, which the reference holds
    every = 8 if name == "ecg_cpc" else 1
    if "conv_state_names" in official:
        state = state_of(official, "conv_") | state
    fronts = {"s4_causal": nn.Conv1d(5, 24, 1), "s4_bidirectional": nn.Identity()}
    encoder = load_official("s4", state, SIZES[name], fronts.get(name)).eval()
    x = torch.from_numpy(official["x"])  # (B, S, L), of ecg_cpc (B, L, S)
    with torch.no_grad():
        kernel = encoder.layers[0].space.kernel()[:, ::every]  # type: ignore[index, operator, union-attr]
        out = encoder(x if every == 1 else x.mT)[..., ::every]  # (B, S', K)
    np.testing.assert_allclose(kernel, official["kernel_layer0"], rtol=1e-5, atol=1e-5)
    np.testing.assert_allclose(out, official["y"], rtol=1e-5, atol=1e-5)


def test_hippo_is_the_papers_matrix() -> None:
    """LegS: A = -sqrt((2n + 1)(2k + 1)) below its diagonal, -(n + 1) on it; what no basis changes is B* A^i B."""
    n = torch.arange(6, dtype=torch.float64)
    b = (2 * n + 1).sqrt()
    a = -(b[:, None] * b).tril(-1) - torch.diag(n + 1)
    half = hippo(6)
    w, p, ours = (torch.cat([part, part.conj()]) for part in half)
    diagonal_and_low_rank = torch.diag(w) - p[:, None] * p.conj()
    for power in range(6):
        moment = ours.conj() @ torch.linalg.matrix_power(diagonal_and_low_rank, power) @ ours
        torch.testing.assert_close(moment.real, b @ torch.linalg.matrix_power(a, power) @ b)
    torch.testing.assert_close(half[2], half[2].abs().to(half[2].dtype))


def recurrence(space: StateSpace, steps: int) -> Tensor:
    """The taps of the first convolution step by step, from a C that belongs to no length: (H, steps)."""
    dt = space.log_dt.double().exp()[:, None, None]
    w, p, b, c = (torch.view_as_complex(part.double()) for part in (space.w, space.p, space.b, space.c[0]))
    w, p, b, c = (torch.cat([part, part.conj()], -1) for part in (w, p, b, c))  # each (H, N)
    a = torch.diag_embed(w) - p[..., :, None] * p.conj()[..., None, :]  # (H, N, N)
    one = torch.eye(a.shape[-1], dtype=a.dtype)
    step = torch.linalg.solve(one - dt / 2 * a, one + dt / 2 * a)  # (H, N, N)
    of_all = torch.linalg.solve((one - torch.linalg.matrix_power(step, space.length)).mT, c[..., None])[..., 0]
    state, taps = torch.linalg.solve(one - dt / 2 * a, dt * b[..., None]), []
    for _ in range(steps):
        taps.append((of_all[..., None, :] @ state).real.flatten())
        state = step @ state
    return torch.stack(taps, -1).detach()


@pytest.mark.parametrize("length", [20, 21])
def test_the_convolution_is_the_recurrence_at_any_length(length: int) -> None:
    torch.manual_seed(0)
    space = StateSpace(4, 6, length, bidirectional=False)
    taps = space.kernel().detach()[0]  # (H, length)
    assert taps.shape == (4, length)
    np.testing.assert_allclose(taps, recurrence(space, length), rtol=1e-4, atol=1e-5)
