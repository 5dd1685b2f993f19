"""An encoder in one file with a card and no code: what its forms have in common."""

from __future__ import annotations

from pathlib import Path
from typing import Any, ClassVar

from torch import Tensor

from methods.encoders.pretrained import PretrainedEncoder


class ModelFile(PretrainedEncoder):
    """An encoder that a file holds whole."""

    card: ClassVar[Path]
    """The file of its card."""
    output: ClassVar[str | None] = None

    @classmethod
    def folder(cls) -> Path:
        """Where its file lies: beside the card."""
        return cls.card.parent

    @classmethod
    def word(cls) -> str:
        """What names it on a command line: its card."""
        return str(cls.card)

    @classmethod
    def model(cls) -> Path:
        """Its file."""
        return cls.file(cls.weights[0])

    @classmethod
    def brought(cls) -> dict[str, Any]:
        """With the name of its output, where one is chosen."""
        return super().brought() | ({"output": cls.output} if cls.output else {})


def one_tensor(found: object, file: Path) -> Tensor:
    """What a network gives, if it is one tensor. Raises ValueError."""
    if not isinstance(found, Tensor):
        raise ValueError(f"{file} gives {type(found).__name__}, not one tensor: save it with its features alone")
    return found
