"""What an update costs, counted on torch's `meta` device: FLOP, bytes, operations; its seconds on a GPU, calculated.

Every operation of an update is counted with its FLOP (convolutions and matrix products) and the bytes that it reads and
writes. Its seconds are the largest of three: FLOP at a share of the device's peak, bytes at a share of its bandwidth,
and one launch. Nothing is measured here.
"""

from __future__ import annotations

import contextlib
from collections.abc import Callable
from dataclasses import dataclass, replace
from typing import Any, NamedTuple
from unittest.mock import patch

import torch
from torch.utils._python_dispatch import TorchDispatchMode
from torch.utils._pytree import tree_leaves
from torch.utils.flop_counter import flop_registry

from benchmark.config.config import Config
from benchmark.data.heartbeats import WINDOW
from benchmark.extras.speed import Setting, finetuning_job, training_job
from benchmark.run.rows import Variant
from methods.base import MethodConfig

SHARE = 0.4
"""Assumed of a device's peak: updates in bf16 reach 0.42 to 0.49 of a matrix product's speed on the CPU of SPEED.md."""
LAUNCH_SECONDS = 5e-6
"""Assumed of an operation in eager mode, however small."""
HALF = 0.5
"""bf16: of the bytes in float32."""


class Gpu(NamedTuple):
    """Published peaks of a device."""

    name: str
    flops: float
    """bf16, dense."""
    bandwidth: float
    """Bytes a second."""


A100 = Gpu("A100 80 GB SXM", 312e12, 2.039e12)
H100 = Gpu("H100 SXM", 989e12, 3.35e12)


@dataclass(frozen=True)
class Update:
    """What an update does."""

    batch: int
    operations: tuple[tuple[float, float], ...]
    """(FLOP, bytes in float32) of each."""
    kept: float
    """Bytes in float32 that the forward pass keeps for the backward pass."""

    @property
    def flop(self) -> float:
        """Of all operations."""
        return sum(flop for flop, _ in self.operations)

    @property
    def moved(self) -> float:
        """Bytes in float32 of all operations, read and written."""
        return sum(moved for _, moved in self.operations)

    def seconds(self, gpu: Gpu) -> float:
        """Calculated, in bf16."""
        return sum(
            max(LAUNCH_SECONDS, flop / gpu.flops / SHARE, HALF * moved / gpu.bandwidth / SHARE)
            for flop, moved in self.operations
        )


class Counter(TorchDispatchMode):
    """Notes FLOP and bytes of each operation that is no view."""

    def __init__(self) -> None:
        super().__init__()
        self.operations: list[tuple[float, float]] = []

    def __torch_dispatch__(self, func: Any, types: Any, args: Any = (), kwargs: Any = None) -> Any:
        kwargs = kwargs or {}
        out = func(*args, **kwargs)
        if not func.is_view and func is not torch.ops.aten.detach.default:
            tensors = [own for own in tree_leaves((args, kwargs, out)) if isinstance(own, torch.Tensor)]
            moved = sum(own.numel() * own.element_size() for own in tensors)
            count = flop_registry.get(func._overloadpacket)
            self.operations.append((float(count(*args, **kwargs, out_val=out)) if count else 0.0, float(moved)))
        return out


def counted(job: Callable[[], Any], batch: int) -> Update:
    """An update, after one that makes the optimiser's state."""
    kept: dict[int, torch.UntypedStorage] = {}

    def keep(tensor: torch.Tensor) -> torch.Tensor:
        storage = tensor.untyped_storage()
        kept[storage._cdata] = storage
        return tensor

    job()
    hooks = torch.autograd.graph.saved_tensors_hooks(keep, lambda tensor: tensor)
    with hooks, Counter() as counter:
        job()
    return Update(batch, tuple(counter.operations), float(sum(own.nbytes() for own in kept.values())))


def update_of(config: Config, variant: Variant, ranks: int = 1, **knobs: Any) -> Update:
    """An update of a row at its batch, as one of `ranks` ranks with its share of the pairs; `knobs` replace its own."""
    own = replace(variant.config, **knobs)
    batch = own.recipe.batch_size // ranks
    setting = Setting(
        variant.method_name, own, config.encoder_class().name, config.encoder_config(), WINDOW, batch, "float32", "meta"
    )
    with without_autocast():
        return counted(training_job(setting), batch)


def finetuning_update(config: Config) -> Update:
    """An update of fine-tuning."""
    batch = config.finetune.batch_size
    encoder = config.encoder_class().name
    setting = Setting("", MethodConfig(), encoder, config.encoder_config(), WINDOW, batch, "float32", "meta")
    with without_autocast():
        return counted(finetuning_job(setting), batch)


def without_autocast() -> Any:
    """Within, torch.autocast does nothing: there is none for the meta device."""
    return patch.object(torch, "autocast", lambda *given, **named: contextlib.nullcontext())
