"""Batch normalisation over the batch of all ranks (Ioffe & Szegedy 2015), on CPUs and GPUs; torch's is for GPUs alone.

Ranks exchange the means and variances of their shares of a batch; of equal shares these give the moments of the whole.
"""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager

import torch
from torch import Tensor, nn

from benchmark.config.sections.pretrain import BatchNorm
from methods.parts.gather import gather_with_gradient, rank_and_ranks

KINDS = (nn.BatchNorm1d, nn.BatchNorm2d, nn.BatchNorm3d)


class OverAllRanks(nn.modules.batchnorm._BatchNorm):
    """A batch normalisation whose statistics in training are of the samples of all ranks, in float32 or better."""

    @torch.compiler.disable  # type: ignore[untyped-decorator]
    def forward(self, x: Tensor) -> Tensor:
        """(B, C) or (B, C, ...) -> the same shape and type. In evaluation the running statistics are used."""
        if not self.training:
            return super().forward(x)
        dims = [dim for dim in range(x.ndim) if dim != 1]
        wide = x.to(torch.promote_types(x.dtype, torch.float32))
        var, mean = torch.var_mean(wide, dims, correction=0)  # (C,), (C,) of this rank
        means, variances = gather_with_gradient(torch.stack([mean, var])[None]).unbind(1)  # (ranks, C), (ranks, C)
        var, mean = torch.var_mean(means, 0, correction=0)  # (C,), (C,)
        var = var + variances.mean(0)
        self.keep(mean.detach(), var.detach(), x.numel() // x.shape[1] * len(means))
        shape = [1, -1] + [1] * (x.ndim - 2)
        normalised = (wide - mean.view(shape)) * (var + self.eps).rsqrt().view(shape)
        if self.affine:
            normalised = normalised * self.weight.view(shape) + self.bias.view(shape)
        return normalised.to(x.dtype)

    def _check_input_dim(self, input: Tensor) -> None:
        """Any number of dimensions: the layer that this stands for has checked its own."""

    @torch.no_grad()
    def keep(self, mean: Tensor, var: Tensor, samples: int) -> None:
        """Move the running statistics, (C,) each, as torch does: the variance without bias."""
        if self.running_mean is None or self.running_var is None or self.num_batches_tracked is None:
            return
        self.num_batches_tracked += 1
        step = 1 / float(self.num_batches_tracked) if self.momentum is None else self.momentum
        self.running_mean.lerp_(mean.to(self.running_mean.dtype), step)
        self.running_var.lerp_((var * (samples / max(samples - 1, 1))).to(self.running_var.dtype), step)


@contextmanager
def over_ranks(module: nn.Module, batch_norm: BatchNorm) -> Iterator[None]:
    """Within, a module's batch normalisations are over all ranks where `synchronised`; 'per-rank' leaves them alone."""
    wanted = batch_norm == "synchronised" and rank_and_ranks()[1] > 1
    layers = [layer for layer in module.modules() if type(layer) in KINDS] if wanted else []
    kinds = [type(layer) for layer in layers]
    try:
        for layer in layers:
            layer.__class__ = OverAllRanks
        yield
    finally:
        for layer, kind in zip(layers, kinds, strict=True):
            layer.__class__ = kind
