"""A checkpoint that the authors of PMQ or COMET published -> an encoder and what the file tells of it.

Both save the same module, so the file does not tell whose it is. The windows are cut as PMQ's released code cuts them
for its downstream tasks: heartbeats at 250 Hz, six to a pseudo-trial.
"""

from __future__ import annotations

import hashlib
import pickle
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import torch
from safetensors import SafetensorError
from safetensors.torch import load_file, save
from torch import Tensor

from benchmark.config.errors import ConfigError
from benchmark.config.sections.evaluate import Finetune
from benchmark.data.prepared.windows import HEARTBEATS
from benchmark.data.readers.base import LEADS
from benchmark.embedding.saved import Description
from methods.encoders import DEFAULT, identity, load_official

NAME, TITLE = "released", "Published checkpoint (PMQ or COMET)"
UNKNOWN = (
    "The file holds weights alone. Not known: whether it is PMQ's or COMET's, what data it was pretrained on and "
    "whether they hold your test patients, its budget, its seed and its licence.",
    "Its recordings may have had another order of leads: PMQ's code leaves MIMIC-IV-ECG's (aVR, aVF, aVL) in "
    "pretraining and has aVR, aVL, aVF downstream. Here leads are ordered by name, as downstream there.",
    "COMET's authors take the maximum over time, PMQ's the mean; here it is the mean.",
)
"""What the model card says of such an encoder."""


def read_released(file: Path) -> tuple[Description, bytes]:
    """Description and weights of the encoder in a checkpoint, .safetensors or saved by torch.

    No code in the file is executed. Raises ConfigError, in one line, if it is no such checkpoint.
    """
    try:
        encoder = load_official(DEFAULT, tensors_of(file))
    except ValueError as error:
        raise ConfigError(f"{file}: {error}") from None
    if encoder.config.leads != len(LEADS):
        raise ConfigError(f"{file}: the encoder reads {encoder.config.leads} leads; recordings here have {len(LEADS)}")
    weights = save({name: value.contiguous() for name, value in encoder.state_dict().items()})
    description = Description(
        name=NAME,
        title=TITLE,
        encoder={"name": encoder.name, **identity(type(encoder), encoder.config)},
        sha256=hashlib.sha256(weights).hexdigest(),
        cut={"kind": HEARTBEATS.kind, "samples": HEARTBEATS.samples, "per_trial": Finetune().beats_per_trial},
        precision="float32",
        task={"labels": "single", "protocol": "paper"},
        pretraining={},
        leads=list(LEADS),
    )
    return description, weights


def tensors_of(file: Path) -> Mapping[str, Tensor]:
    """The state dict in a file, bare or under 'state_dict' or 'model'. Raises ConfigError in one line."""
    if not file.is_file():
        raise ConfigError(f"--released {file}: there is no such file")
    try:
        if file.suffix == ".safetensors":
            return load_file(file)
        found: Any = torch.load(file, map_location="cpu", weights_only=True)
    except (SafetensorError, pickle.UnpicklingError, RuntimeError, EOFError, ValueError, KeyError) as error:
        raise ConfigError(f"{file}: no checkpoint of tensors alone ({str(error).splitlines()[0][:100]})") from None
    for name in ("state_dict", "model"):
        if isinstance(found, dict) and isinstance(found.get(name), dict):
            found = found[name]
    if not isinstance(found, dict) or not all(isinstance(value, Tensor) for value in found.values()):
        raise ConfigError(f"{file}: this is no state dict; save `model.state_dict()` of the encoder")
    return found
