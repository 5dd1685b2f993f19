"""Checkpoints of a running pretraining, and the stored encoder of a finished one.

A checkpoint is sealed with the key of its pretraining and holds numbers and tensors only. A pretrained encoder is its
weights (safetensors) and a record (JSON) with key, name, sizes, history and digests. The source of a user's own encoder
lies beside its weights, to be read and never executed: the caller gives the class, whose source must be the same.
"""

from __future__ import annotations

import hashlib
import io
from collections.abc import Mapping
from contextlib import suppress
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import torch
from safetensors.torch import load as load_tensors
from safetensors.torch import save as save_tensors
from torch import Tensor
from torch.optim import Optimizer

from benchmark.config.errors import built
from benchmark.results.files import Damaged, digest, file_digest, reading, refuse_altered, seal, unseal, write_atomic
from benchmark.results.names import RECORD_FILE, WEIGHTS
from benchmark.results.store import ENCODER_AGAIN, read_record_file, record_bytes
from methods import text_of
from methods.base import PretrainMethod
from methods.encoders import identity
from methods.encoders.base import Encoder
from methods.encoders.pretrained import PretrainedConfig, PretrainedEncoder

SOURCE, CHECKPOINT = "encoder.py", "checkpoint.pt"


@dataclass
class History:
    """Record of a pretraining: `loss` per epoch, wall time in seconds, sizes, health."""

    loss: list[float]
    seconds: float
    updates: int
    batch_size: int
    health: list[dict[str, Any]] = field(default_factory=list)
    """Results of `health.measure`, before the first epoch and after each."""
    computed_on: list[dict[str, Any]] = field(default_factory=list)
    """Results of `machine.computer` on all computers that it ran on, in their order."""


@dataclass
class Epoch:
    """An epoch under way: the losses of its n updates, of which `step` are done."""

    losses: Tensor  # (n,)
    step: int = 0
    positives: Tensor | None = None  # (B,) of each query of the last batch, for methods with patients


def save_checkpoint(
    path: Path, method: PretrainMethod, optimiser: Optimizer, history: History, epoch: Epoch | None
) -> None:
    """Write all state atomically, sealed with the name of its folder, the key of the pretraining.

    epoch: the one under way, None between two.
    """
    state = {
        "method": method.state_dict(),
        "optimiser": optimiser.state_dict(),
        "history": vars(history),
        "epoch": vars(epoch) if epoch else None,
    }
    buffer = io.BytesIO()
    torch.save(state, buffer)
    write_atomic(path, seal(path.parent.name, buffer.getvalue()))


def read_checkpoint(path: Path) -> bytes:
    """Read the state in a checkpoint file; nothing where there is none. Raises Damaged, of another pretraining too."""
    if not path.is_file():
        return b""
    with reading(path, "the pretraining starts over"):
        return unseal(path.parent.name, path.read_bytes())


def resume(path: Path, method: PretrainMethod, optimiser: Optimizer, history: History) -> Epoch | None:
    """Restore the state in a checkpoint file; returns the epoch under way, None between two.

    Does nothing where there is none, or one that is damaged or of another pretraining.
    """
    body = b""
    with suppress(Damaged):
        body = read_checkpoint(path)
    if not body:
        return None
    state: dict[str, Any] = torch.load(io.BytesIO(body), map_location="cpu", weights_only=True)
    method.load_state_dict(state["method"])
    optimiser.load_state_dict(state["optimiser"])
    vars(history).update(state["history"])
    return Epoch(**state["epoch"]) if state["epoch"] else None


def save_encoder(folder: Path, encoder: Encoder, facts: dict[str, Any]) -> None:
    """Write the weights, then the record with their SHA-256 and `facts`; pretraining dropout is not stored.

    Weights from elsewhere stay where they are, and their licence with them: the record holds their digests. The name of
    the folder is the pretraining's key.
    """
    is_elsewhere = isinstance(encoder, PretrainedEncoder) and not encoder.is_twin
    state = {} if is_elsewhere else encoder.state_dict()
    # Clones, since safetensors stores no tensors that share memory: tied weights have two names.
    body = save_tensors({name: value.cpu().contiguous().clone() for name, value in state.items()})
    record = {
        "key": folder.name,
        "encoder": identity(type(encoder), encoder.config),
        "sha256": hashlib.sha256(body).hexdigest(),
        **facts,
    }
    if source := text_of(type(encoder)):
        write_atomic(folder / SOURCE, source)
    write_atomic(folder / WEIGHTS, body)
    write_atomic(folder / RECORD_FILE, record_bytes(record))


def read_record(folder: Path) -> dict[str, Any] | None:
    """Read the record of a finished pretraining; None if a file is not there. Raises Damaged for it and its encoder."""
    record = read_record_file(folder / RECORD_FILE)
    if record is None:
        return None
    digests = {WEIGHTS: record["sha256"], SOURCE: record["encoder"].get("source")}
    files = {folder / name: expected for name, expected in digests.items() if expected}
    if not all(file.is_file() for file in files):
        return None
    for file, expected in files.items():
        with reading(file, ENCODER_AGAIN):
            refuse_altered(file_digest(file), expected)
    return record


def load_encoder(folder: Path, encoder_class: type[Encoder]) -> Encoder:
    """Load a pretrained encoder of a class, weights from elsewhere from their own files.

    Raises FileNotFoundError if it is missing, Damaged, ValueError if it is of another class.
    """
    if (record := read_record(folder)) is None:
        raise FileNotFoundError(f"no pretrained encoder in {folder}; {ENCODER_AGAIN}")
    if issubclass(encoder_class, PretrainedEncoder):
        external = load_external(encoder_class, record["encoder"])
        if encoder_class.is_twin:
            external.load_state_dict(load_tensors((folder / WEIGHTS).read_bytes()))
        return external
    return built_encoder(encoder_class, record["encoder"], (folder / WEIGHTS).read_bytes())


def load_external(encoder_class: type[PretrainedEncoder], expected: Mapping[str, Any]) -> PretrainedEncoder:
    """Load an encoder with its weights from elsewhere; `expected`: its identity when the run began.

    Raises ValueError if its file, its record or its weights have changed since, or cannot be read.
    """
    here = identity(encoder_class, PretrainedConfig(output=encoder_class.features))
    if digest(here) != digest(expected):  # tuples are JSON lists
        raise ValueError(
            f"{encoder_class.word()} or its weights have been edited since this run began; run the command again"
        )
    return encoder_class.loaded()


def built_encoder(encoder_class: type[Encoder], stored: Mapping[str, Any], weights: bytes) -> Encoder:
    """Build an encoder of a class with stored name, sizes and weights.

    Raises ValueError if they are of another encoder or code, RuntimeError if tensors do not fit.
    """
    sizes = {name: value for name, value in stored.items() if name not in ("name", "source")}
    encoder = encoder_class(built(encoder_class.Config, sizes, "encoder."))
    if digest(identity(encoder_class, encoder.config)) != digest(stored):  # tuples are JSON lists
        raise ValueError(
            f"these weights were made with another encoder, or another code of it, than {encoder_class.name!r}"
        )
    encoder.load_state_dict(load_tensors(weights))
    return encoder
