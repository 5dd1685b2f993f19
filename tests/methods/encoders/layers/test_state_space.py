"""The state space is the recurrence that it stands for, starts as HiPPO-LegS says, and is its taps."""

from __future__ import annotations

import numpy as np
import pytest
import torch
from torch import Tensor

from methods.encoders.layers.state_space import StateSpace, Taps, hippo


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
def test_the_convolution_is_the_recurrence_at_even_and_odd_lengths(length: int) -> None:
    torch.manual_seed(0)
    space = StateSpace(4, 6, length, bidirectional=False)
    taps = space.kernel().detach()[0]  # (H, length)
    assert taps.shape == (4, length)
    np.testing.assert_allclose(taps, recurrence(space, length), rtol=1e-4, atol=1e-5)


def test_steps_in_time_are_drawn_log_uniform_between_a_thousandth_and_a_tenth() -> None:
    torch.manual_seed(0)
    space = StateSpace(5, 2, 4, bidirectional=False)
    torch.manual_seed(0)
    torch.testing.assert_close(space.log_dt.exp(), 0.001 * 100 ** torch.rand(5))


def test_hippo_is_the_legendre_matrix() -> None:
    w, p, b = hippo(6)
    order = torch.arange(6, dtype=torch.float64)
    root = (2 * order + 1).sqrt()
    legendre = -torch.tril(root[:, None] * root, -1) - torch.diag(order + 1)  # (N, N)
    ours = (
        torch.diag(torch.cat([w, w.conj()])) - torch.outer(*(torch.cat(pair) for pair in ((p, p.conj()),) * 2)).conj()
    )
    torch.testing.assert_close(torch.linalg.eigvals(ours).sum().real, legendre.trace())
    powers = [
        (torch.cat([b, b.conj()]).conj() @ torch.linalg.matrix_power(ours, k) @ torch.cat([b, b.conj()])).real
        for k in range(5)
    ]
    theirs = [root @ torch.linalg.matrix_power(legendre, k) @ root for k in range(5)]
    torch.testing.assert_close(torch.stack(powers), torch.stack(theirs))
    assert bool((b.real > 0).all())
    assert not (b.imag.abs() > 1e-12).any()


@pytest.mark.parametrize("bidirectional", [False, True])
@pytest.mark.parametrize("samples", [1, 13, 20])
def test_the_taps_are_the_same_convolution(bidirectional: bool, samples: int) -> None:
    torch.manual_seed(0)
    space = StateSpace(3, 6, 20, bidirectional=bidirectional)
    u = torch.randn(2, 3, samples)
    with torch.no_grad():
        torch.testing.assert_close(Taps(space)(u), space(u), rtol=1e-4, atol=1e-5)
