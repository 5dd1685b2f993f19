"""A pretrained encoder on disk: weights (safetensors) and a card (JSON) with key, name, sizes, history and digests.

The source file of a user's own encoder is stored beside its weights, to be read by others. It is never executed: a
store may come from others, so an encoder's class is what the caller gives, and the card must be of the same content.
"""

from __future__ import annotations

import hashlib
from collections.abc import Mapping
from pathlib import Path
from typing import Any

from safetensors.torch import load as load_tensors
from safetensors.torch import save as save_tensors

from benchmark.config.errors import built
from benchmark.results.cards import BadCard, card_bytes, read_card_file
from benchmark.results.files.read import MEBIBYTE, read_regular
from benchmark.results.files.write import write_atomic
from benchmark.results.names import CARD
from methods.encoders import DEFAULT, identity
from methods.encoders.base import Encoder
from methods.encoders.pretrained import PretrainedConfig, PretrainedEncoder
from methods.external.from_file import sources_of, text_of

WEIGHTS = "encoder.safetensors"
SOURCE = "encoder.py"
CHECKPOINT = "checkpoint.pt"
LARGEST_WEIGHTS = 16 * 1024 * MEBIBYTE
"""Bytes: four thousand million parameters."""
NOT_SIZES = ("name", "source", "modules")
"""Entries of a card's encoder that are no fields of its config."""


def save_encoder(folder: Path, encoder: Encoder, facts: dict[str, Any]) -> None:
    """Write the weights, then the card with their SHA-256 and `facts`; pretraining dropout is not stored.

    Weights from elsewhere stay where they are, and their licence with them: the card holds their digests. The folder's
    name is the pretraining's key.
    """
    held = {} if isinstance(encoder, PretrainedEncoder) else encoder.state_dict()
    body = save_tensors({name: value.detach().cpu().contiguous() for name, value in held.items()})
    card = {
        "key": folder.name,
        "encoder": {"name": encoder.name, **identity(type(encoder), encoder.config)},
        "sha256": hashlib.sha256(body).hexdigest(),
        **facts,
    }
    source = text_of(type(encoder))
    if source is not None:
        write_atomic(folder / SOURCE, source)
    write_atomic(folder / WEIGHTS, body)
    write_atomic(folder / CARD, card_bytes(card))


def checked_card(folder: Path) -> dict[str, Any] | None:
    """The card of a pretraining whose files match it; None without a card.

    Raises BadCard, which names the file, if the card or a file is damaged, altered or of another pretraining.
    """
    try:
        card = read_card_file(folder / CARD)
    except FileNotFoundError:
        return None
    try:
        files = {WEIGHTS: card["sha256"]}
        if "source" in card["encoder"]:
            files[SOURCE] = card["encoder"]["source"]
    except (KeyError, TypeError) as error:
        raise BadCard(f"{folder / CARD}: the card lacks {error}") from None
    for name, own in files.items():
        try:
            content = read_regular(folder / name, LARGEST_WEIGHTS)
        except OSError as error:
            raise BadCard(f"{folder / name}: {error.strerror}") from None
        if hashlib.sha256(content).hexdigest() != own:
            raise BadCard(f"{folder / name}: the file does not match the digest in its card")
    return card


def read_card(folder: Path) -> dict[str, Any] | None:
    """The card of a finished pretraining; None if a file is missing, altered or of another pretraining."""
    try:
        return checked_card(folder)
    except BadCard:
        return None


def load_encoder(folder: Path, kind: type[Encoder]) -> Encoder:
    """Load a pretrained encoder of the class `kind`; a card without an encoder's name (older form) means the default.

    Raises FileNotFoundError if it is missing or damaged, ValueError if it is of another encoder than `kind`.
    """
    card = read_card(folder)
    if card is None:
        raise FileNotFoundError(
            f"no pretrained encoder in {folder}: it is missing or damaged; run the same command again"
        )
    try:
        return built_encoder(kind, card["encoder"], (folder / WEIGHTS).read_bytes())
    except (TypeError, ValueError) as error:
        raise ValueError(f"{folder / CARD}: {error}; delete the folder and run the same command again") from None


def load_brought(kind: type[PretrainedEncoder], expected: Mapping[str, Any]) -> PretrainedEncoder:
    """An encoder with its weights from elsewhere; `expected`: its identity when the run began.

    Raises ValueError if its file, its card or its weights have changed since, or cannot be read.
    """
    if identity(kind, PretrainedConfig(output=kind.features)) != expected:
        raise ValueError(f"{kind.word()} or its weights have been edited since this run began; run the command again")
    return kind.loaded()


def built_encoder(kind: type[Encoder], stored: Mapping[str, Any], weights: bytes) -> Encoder:
    """An encoder of the class `kind` with stored name, sizes and weights.

    Raises ValueError if they are of another encoder or code than `kind`, RuntimeError if tensors do not fit.
    """
    sizes = {key: value for key, value in stored.items() if key not in NOT_SIZES}
    if problem := other_encoder(stored, {"name": kind.name, **sources_of(kind)}):
        raise ValueError(problem)
    encoder = kind(built(kind.Config, sizes, "encoder."))
    encoder.load_state_dict(load_tensors(weights), strict=True)
    return encoder


def other_encoder(stored: Mapping[str, Any], asked: Mapping[str, Any]) -> str:
    """How the name or the code of a stored encoder differs from the one that is asked for; '' if they are the same."""
    own, wanted = (values.get("name", DEFAULT) for values in (stored, asked))
    if own != wanted:
        return f"these are weights of the encoder {own!r}, not of {wanted!r}"
    if stored.get("source") != asked.get("source"):
        return f"these weights were made with another code of the encoder {own!r} than this run has"
    if stored.get("modules") != asked.get("modules"):
        return f"a module that the file of the encoder {own!r} imports has changed since the pretraining"
    return ""
