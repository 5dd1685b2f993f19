"""Structured state spaces over time (S4, Gu et al. 2022; as in ECG-CPC of AI4Health).

The encoder has `depth` layers. Each is a linear state space per channel, computed as a long convolution over time,
then GELU, a gated linear layer, the sum with the layer's input and layer normalisation. A causal encoder's step sees no
later one; a bidirectional encoder's step sees both sides. The front is ECG-CPC's four convolutions, of which the
first halves the time steps. A mask acts on its output, (B, S', K).

A state space is x' = A x + B u, y = C x + D u, in discrete steps of dt. A is HiPPO-LegS in the form w - P P* (diagonal
plus low rank). A, B and dt stay as they start, C and D learn.
"""

from __future__ import annotations

import math
from typing import Annotated

import torch
import torch.nn.functional as F
from pydantic import Field
from pydantic.dataclasses import dataclass
from torch import Tensor, nn

from methods.encoders.base import Encoder, EncoderConfig, Size, convolution

SLOWEST, FASTEST = 1e-3, 1e-1
"""Bounds of dt, drawn per channel, uniform in its logarithm."""


class StateSpace(nn.Module):
    """A state space per channel as a convolution over time, with learned C and D. Complex tensors are real pairs."""

    w: Tensor  # (H, N / 2, 2)
    p: Tensor  # (H, N / 2, 2)
    b: Tensor  # (H, N / 2, 2)
    log_dt: Tensor  # (H,)

    def __init__(self, channels: int, states: int, length: int, *, bidirectional: bool) -> None:
        super().__init__()
        self.length = length
        start = math.log(SLOWEST)
        end = math.log(FASTEST)
        self.register_buffer("log_dt", start + (end - start) * torch.rand(channels))
        for name, value in zip(("w", "p", "b"), hippo(states), strict=True):
            pairs = torch.view_as_real(value).float()  # (N / 2, 2)
            self.register_buffer(name, pairs.repeat(channels, 1, 1))
        c = torch.randn(1 + bidirectional, channels, states // 2, dtype=torch.complex128)  # (1 or 2, H, N / 2)
        self.c = nn.Parameter(torch.view_as_real(self.of_length(c)).float())  # (1 or 2, H, N / 2, 2)
        self.d = nn.Parameter(torch.randn(channels))  # (H,)

    def forward(self, u: Tensor) -> Tensor:
        """Map (B, H, S) -> (B, H, S); S at most `length`."""
        steps = u.shape[-1]
        kernels = self.kernel()[..., :steps]  # (1 or 2, H, S)
        taps = F.pad(kernels[0], (0, steps))  # (H, 2 S)
        if len(kernels) == 2:
            taps = taps + F.pad(kernels[1].flip(-1), (steps, 0))  # (H, 2 S), later steps at the end
        u = u.to(taps.dtype)  # half precision has no FFT
        spectrum = torch.fft.rfft(u, n=2 * steps) * torch.fft.rfft(taps)  # (B, H, S + 1)
        return torch.fft.irfft(spectrum)[..., :steps] + u * self.d[:, None]  # (B, H, S)

    def kernel(self) -> Tensor:
        """Compute the first `length` taps of each convolution: (1 or 2, H, length).

        By their generating function at the roots of unity z (S4, Algorithm 1): with d = 2 (1 - z) - w dt (1 + z),
        sums r over states of products with 1 / d, and Woodbury's identity for the low rank. Both sides are multiplied
        by 1 + z, so that nothing is divided by zero at z = -1.
        """
        dt = self.log_dt.exp()[:, None]  # (H, 1)
        w, p, b, c = (torch.view_as_complex(part) for part in (self.w, self.p, self.b, self.c))
        turn = torch.arange(self.length // 2 + 1, device=dt.device, dtype=dt.dtype) * (-2 * math.pi / self.length)
        root = torch.polar(torch.ones_like(turn), turn)  # (R,)
        inputs = torch.stack([b, p])  # (2, H, N / 2)
        outputs = torch.cat([c, p.conj()[None]])  # (1 or 2 + 1, H, N / 2)
        products = dt * inputs[:, None] * outputs[None]  # (2, 1 or 2 + 1, H, N / 2)
        poles = (w * dt)[..., None]  # (H, N / 2, 1)
        r = summed(products, 2 * (1 - root) - poles * (1 + root))  # (2, 1 or 2 + 1, H, R)
        r = r + summed(products.conj(), 2 * (1 - root) - poles.conj() * (1 + root))
        low_rank = (1 + root) * r[0, -1] * r[1, :-1] / (1 + (1 + root) * r[1, -1])  # (1 or 2, H, R)
        return torch.fft.irfft(2 * (r[0, :-1] - low_rank), n=self.length)  # (1 or 2, H, length)

    def of_length(self, c: Tensor) -> Tensor:
        """Map C to C (1 - A^length) for the discrete A: what makes the generating function stop at `length` taps."""
        doubled = [torch.view_as_complex(part.double()) for part in (self.w, self.p)]
        w, p = (torch.cat([part, part.conj()], -1) for part in doubled)  # each (H, N), with the conjugate states
        a = torch.diag_embed(w) - p[..., :, None] * p.conj()[..., None, :]  # (H, N, N)
        half = self.log_dt.double().exp()[:, None, None] / 2 * a  # (H, N, N)
        one = torch.eye(a.shape[-1], dtype=a.dtype)
        power = torch.linalg.matrix_power(torch.linalg.solve(one - half, one + half), self.length)  # (H, N, N)
        whole = torch.cat([c, c.conj()], -1)  # (1 or 2, H, N)
        return (whole - torch.einsum("chn,hnm->chm", whole, power))[..., : c.shape[-1]]  # (1 or 2, H, N / 2)


def summed(products: Tensor, denominators: Tensor) -> Tensor:
    """Sum products / denominators over states: (X, Y, H, N / 2), (H, N / 2, R) -> (X, Y, H, R)."""
    return torch.einsum("xyhn,hnr->xyhr", products, denominators.reciprocal())


def hippo(states: int) -> tuple[Tensor, Tensor, Tensor]:
    """Compute HiPPO-LegS of N states as w, P and B, each (N / 2,) complex: one of each pair of conjugate eigenvalues.

    The phase of an eigenvector is free; here B is real and positive, so that all machines agree.
    """
    order = torch.arange(states, dtype=torch.float64)
    root = (2 * order + 1).sqrt()  # (N,)
    low_rank = (order + 0.5).sqrt()  # (N,)
    # A + P P* + 1 / 2 below its diagonal, of a skew-symmetric matrix all that is read.
    skew = low_rank[:, None] * low_rank - root[:, None] * root  # (N, N)
    frequencies, vectors = torch.linalg.eigh(skew * -1j)  # (N,) ascending, (N, N)
    frequencies = frequencies[states // 2 :]
    vectors = vectors[:, states // 2 :]
    b = vectors.mH @ root.to(vectors.dtype)  # (N / 2,)
    phase = b / b.abs()  # (N / 2,)
    p = (vectors.mH @ low_rank.to(vectors.dtype)) / phase  # (N / 2,)
    return torch.complex(torch.full_like(frequencies, -0.5), frequencies), p, (b / phase)


KERNELS, STRIDE = (3, 1, 1, 1), 2
"""Widths of the front's convolutions, and the stride of the first."""


@dataclass(frozen=True, kw_only=True)
class S4Config(EncoderConfig):
    """Sizes; the defaults are ECG-CPC's and give 2,932,736 parameters, 2,123,776 of them behind the front."""

    output: Size = 512
    """K, the channels of every layer."""
    depth: Size = 4
    """Layers."""
    states: Annotated[int, Field(ge=2, multiple_of=2)] = 8
    """N, the states of a channel."""
    bidirectional: bool = False
    """A step sees later steps too."""
    length: Size = 1250
    """Most time steps behind the front, which halves them: 10 s at 250 Hz. Weights belong to one length."""

    def check_length(self, samples: int) -> None:
        """Raise ValueError for windows with more steps than `length`."""
        steps = math.ceil(samples / STRIDE)
        if steps > self.length:
            raise ValueError(f"encoder.length is {self.length}; set encoder.length={steps}")

    @classmethod
    def small(cls) -> S4Config:
        """Return two layers of 16 channels."""
        return cls(output=16, depth=2, states=4, length=150)


class Layer(nn.Module):
    """A state space, GELU, a gated linear layer, the sum with the input, layer normalisation."""

    def __init__(self, config: S4Config) -> None:
        super().__init__()
        width = config.output
        self.space = StateSpace(width, config.states, config.length, bidirectional=config.bidirectional)
        self.mix = nn.Sequential(nn.GELU(), nn.Linear(width, 2 * width), nn.GLU())
        self.norm = nn.LayerNorm(width)

    def forward(self, x: Tensor) -> Tensor:
        """Map (B, S, K) -> (B, S, K)."""
        return self.norm(x + self.mix(self.space(x.mT).mT))  # (B, S, K)


def convolutions(leads: int, width: int) -> nn.Sequential:
    """Make ECG-CPC's front, (B, L, S) -> (B, K, ceil(S / 2)): four convolutions with batch normalisation."""
    layers = nn.Sequential()
    for number, kernel in enumerate(KERNELS):
        channels, stride = (leads, STRIDE) if number == 0 else (width, 1)
        layer = convolution(channels, width, kernel, stride)
        layers.append(nn.Sequential(layer, nn.BatchNorm1d(width), nn.ReLU()))
    return layers


class S4(Encoder):
    """ECG windows -> representations at every second time step."""

    name, Config = "s4", S4Config
    config: S4Config

    def __init__(self, config: S4Config | None = None) -> None:
        super().__init__(config)
        self.front: nn.Module = convolutions(self.config.leads, self.config.output)
        self.layers = nn.Sequential(*[Layer(self.config) for _ in range(self.config.depth)])

    def embed(self, x: Tensor) -> Tensor:
        """Compute the output of the front: (B, S, L) -> (B, S', K)."""
        return self.front(x.mT).mT  # (B, S', K)

    def steps(self, embedded: Tensor) -> Tensor:
        """Map (B, S', K) -> (B, S', K)."""
        return self.layers(embedded)  # (B, S', K)
