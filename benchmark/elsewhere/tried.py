"""Try an encoder from elsewhere on a few windows before a run: what its card says against what comes out."""

from __future__ import annotations

from typing import Any

import torch
from torch import Tensor

from benchmark.elsewhere.seen import Source, sources_of
from methods.encoders.pretrained import ORDER, PretrainedEncoder, Signals

WINDOWS = 3
CLOSE = 1e-3
"""Largest difference, relative, between a window alone and among others."""
KINDS: dict[str, tuple[type, ...]] = {
    "name": (str,), "title": (str,), "signals": (Signals,), "features": (int,), "licence": (str,), "weights": (tuple,),
    "pretrained_on": (tuple, type(None)),
}  # fmt: skip
"""Attribute of the class -> its types."""


def tried(kind: type[PretrainedEncoder]) -> PretrainedEncoder:
    """The encoder with its weights, after it has given features for windows of noise.

    Raises ValueError in one line that names the value, its place and the remedy.
    """
    told_of(kind)
    encoder, where = opened(kind), kind.word()
    x = noise(kind)  # (n, S, 12)
    try:
        with torch.no_grad():
            found = encoder.steps(encoder.embed(x))  # (n, 1, K)
            again, alone = encoder.steps(encoder.embed(x)), encoder.steps(encoder.embed(x[:1]))
    except ValueError:
        raise
    except Exception as error:  # of anyone's code
        reason = (" ".join(str(error).split()) or type(error).__name__)[-160:]
        own = kind.signals
        raise ValueError(
            f"{where}: it takes no windows of {len(own.leads)} leads and {own.samples} samples, {own.layout} "
            f"({reason}); correct signals: leads, rate, seconds or layout"
        ) from error
    if found.ndim != 3 or len(found) != WINDOWS:
        shape = (found.shape[0], *found.shape[2:])
        raise ValueError(f"{where}: {WINDOWS} windows give {shape}; one row of numbers a window is needed, pooled")
    if found.shape[2] != kind.features:
        raise ValueError(
            f"{where}: features {kind.features}, but a window gives {found.shape[2]} numbers; write {found.shape[2]}"
        )
    if not found.isfinite().all():
        raise ValueError(f"{where}: windows of noise give numbers that are not finite; check signals.unit")
    if not torch.equal(found, again):
        raise ValueError(f"{where}: the same windows give other numbers at each call; switch its dropout off")
    if not close(found[:1], alone):
        raise ValueError(f"{where}: a window's numbers depend on the others of its batch; use statistics that are kept")
    return encoder


def opened(kind: type[PretrainedEncoder]) -> PretrainedEncoder:
    """The encoder with its weights. Raises ValueError for a file that is missing or not of its network."""
    kind.brought()
    try:
        return kind.loaded()
    except ValueError:
        raise
    except Exception as error:  # of anyone's code
        reason = " ".join(str(error).split())[:160]
        raise ValueError(
            f"{kind.word()}: load() fails ({type(error).__name__}: {reason}); it has to read the weights of its network"
        ) from error


def told_of(kind: type[PretrainedEncoder]) -> tuple[Source, ...] | None:
    """What it was pretrained on, after its attributes have been checked. Raises ValueError in one line."""
    for name, types in KINDS.items():
        value: Any = getattr(kind, name, "nothing")
        if not isinstance(value, types):
            wanted = " or ".join("None" if own is type(None) else own.__name__ for own in types)
            raise ValueError(f"{kind.word()}: {kind.__name__}.{name} is {value!r}; set it, {wanted}")
    if kind.licence.strip() == "":
        raise ValueError(f"{kind.word()}: licence is empty; state that of the weights, or 'unknown'")
    return sources_of(kind)


def noise(kind: type[PretrainedEncoder]) -> Tensor:
    """Windows of noise (n, S, 12) in mV, the same at each call."""
    generator = torch.Generator().manual_seed(0)
    return torch.randn(WINDOWS, kind.signals.samples, len(ORDER), generator=generator)  # (n, S, 12)


def close(one: Tensor, other: Tensor) -> bool:
    """Whether features are equal up to rounding."""
    return bool((one - other).abs().max() <= CLOSE * one.abs().max().clamp_min(1e-6))
