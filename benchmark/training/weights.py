"""A pretrained encoder on disk: its weights (safetensors), and a card with its sizes, history and digest."""

from __future__ import annotations

import hashlib
import json
from dataclasses import asdict, replace
from pathlib import Path
from typing import Any

from safetensors.torch import load as load_tensors
from safetensors.torch import save as save_tensors

from benchmark.results.files import write_atomic
from benchmark.results.names import CARD
from methods.encoders.dilated import Encoder, EncoderConfig

WEIGHTS = "encoder.safetensors"
CHECKPOINT = "checkpoint.pt"


def save_encoder(folder: Path, encoder: Encoder, facts: dict[str, Any]) -> None:
    """Write the weights, then the card that vouches for them; the encoder is kept without its pretraining dropout."""
    body = save_tensors({name: value.detach().cpu().contiguous() for name, value in encoder.state_dict().items()})
    card = {
        "encoder": asdict(replace(encoder.config, dropout=0.0)),
        "sha256": hashlib.sha256(body).hexdigest(),
        **facts,
    }
    write_atomic(folder / WEIGHTS, body)
    write_atomic(folder / CARD, json.dumps(card, indent=1).encode())


def read_card(folder: Path) -> dict[str, Any] | None:
    """How a finished pretraining was done; None where there is none, or its files are truncated or altered."""
    try:
        card: dict[str, Any] = json.loads((folder / CARD).read_bytes())
        body = (folder / WEIGHTS).read_bytes()
    except (OSError, ValueError):
        return None
    return card if hashlib.sha256(body).hexdigest() == card.get("sha256") else None


def load_encoder(folder: Path) -> Encoder:
    """A pretrained encoder, strictly. Raises FileNotFoundError where there is no whole one."""
    card = read_card(folder)
    if card is None:
        raise FileNotFoundError(
            f"no pretrained encoder in {folder}: it is missing or damaged; run the same command again"
        )
    encoder = Encoder(EncoderConfig(**card["encoder"]))
    encoder.load_state_dict(load_tensors((folder / WEIGHTS).read_bytes()), strict=True)
    return encoder
