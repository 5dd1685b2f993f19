"""The card of a file of weights from elsewhere, and the encoder that it describes (docs/ELSEWHERE.md)."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path
from typing import Annotated, Any, Literal

from pydantic import BaseModel, ConfigDict, Field

from benchmark.elsewhere.model_file import ModelFile
from benchmark.elsewhere.onnx_file import OnnxFile
from benchmark.elsewhere.torchscript import TorchScriptFile
from methods import METHODS
from methods.encoders.pretrained import Signals
from methods.external.from_file import NAME

KINDS: dict[str, type[ModelFile]] = {".onnx": OnnxFile, ".pt": TorchScriptFile, ".ts": TorchScriptFile}
"""Ending of a file -> how it is run."""
Words = Annotated[str, Field(min_length=1)]


class ModelCard(BaseModel):
    """A card as its YAML file has it. Unknown keys are refused."""

    model_config = ConfigDict(frozen=True, extra="forbid", strict=True, allow_inf_nan=False)

    name: Words
    """Of the row, in configs and files."""
    title: Words
    """In tables."""
    file: Words
    """Beside the card: .onnx, or .pt and .ts of TorchScript."""
    signals: Signals
    """What it reads."""
    features: Annotated[int, Field(ge=1)]
    """K, the numbers that it gives for a window."""
    licence: Words
    """Of the weights; 'unknown' where none is stated."""
    pretraining: list[Any] | Literal["unknown"]
    """Datasets that it was pretrained on (`seen.Source`); [] for none."""
    output: str | None = None
    """Name of the ONNX file's output, where it has several."""


def kind_of(values: Mapping[str, Any], card: Path) -> type[ModelFile]:
    """The class of the encoder that a card's values describe; `card`: its file.

    Raises ValueError in one line, and pydantic's ValidationError for a wrong key or value.
    """
    own = ModelCard.model_validate(values)
    if own.name in METHODS or not NAME.fullmatch(own.name):
        raise ValueError(f"name: {own.name!r} is taken or not of letters, digits, blanks and _ . + -; give another")
    kind = KINDS.get(Path(own.file).suffix)
    if kind is None:
        raise ValueError(f"file: {own.file!r} ends in none of {', '.join(KINDS)}; give an ONNX or TorchScript file")
    if not (card.parent / own.file).is_file():
        raise ValueError(f"file: {card.parent / own.file} is not there; name a file beside the card")
    if own.output is not None and kind is not OnnxFile:
        raise ValueError("output: only an ONNX file has named outputs; leave it out")
    attributes = {
        "name": own.name,
        "title": own.title,
        "signals": own.signals,
        "features": own.features,
        "licence": own.licence,
        "pretrained_on": None if own.pretraining == "unknown" else tuple(own.pretraining),
        "weights": (own.file,),
        "card": card,
        "output": own.output,
        "__module__": kind.__module__,
    }
    return type(own.name, (kind,), attributes)
