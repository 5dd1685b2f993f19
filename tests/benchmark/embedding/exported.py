"""A small exported encoder, and made-up recordings with heartbeats."""

from __future__ import annotations

import hashlib
from pathlib import Path
from typing import Any

import numpy as np
import torch
from numpy.typing import NDArray
from safetensors.torch import save

from benchmark.data.datasets.base import LEADS
from benchmark.data.segments import HEARTBEATS
from benchmark.embedding import Description, save_folder
from methods import text_of
from methods.encoders import identity
from methods.encoders.base import Encoder
from methods.encoders.dilated import Dilated, DilatedConfig

RATE = 500


def small_encoder() -> Dilated:
    torch.manual_seed(0)
    return Dilated(DilatedConfig(hidden=4, depth=2, output=6)).eval()


def export_encoder(folder: Path, encoder: Encoder | None = None, **changed: Any) -> Path:
    """A folder with an encoder of random weights; `changed` fields of its description."""
    encoder = encoder or small_encoder()
    weights = save(dict(encoder.state_dict()))
    facts: dict[str, Any] = {
        "name": "pmq",
        "title": "PMQ",
        "encoder": identity(type(encoder), encoder.config),
        "sha256": hashlib.sha256(weights).hexdigest(),
        "segmentation": HEARTBEATS,
        "per_trial": 6,
        "precision": "float32",
        "labels": "single",
        "protocol": "paper",
        "pretraining": {},
    }
    save_folder(folder, Description(**facts | changed), weights, "# PMQ\n", source=text_of(type(encoder)))
    return folder


def recording(seed: int = 0, *, seconds: float = 10.0, rate: float = RATE) -> NDArray[np.float64]:
    """(n, 12) mV: spikes at 75 a minute over some noise, of another height in each lead."""
    draws = np.random.default_rng(seed)
    time = np.arange(int(seconds * rate)) / rate  # (n,)
    phase = (time / 0.8) % 1.0 - 0.5
    beat = np.exp(-((phase / 0.02) ** 2)) + 0.2 * np.exp(-(((phase - 0.25) / 0.06) ** 2))  # (n,)
    height = draws.uniform(0.5, 1.5, len(LEADS))  # (12,)
    return np.asarray(beat[:, None] * height + 0.01 * draws.normal(size=(len(time), len(LEADS))))
