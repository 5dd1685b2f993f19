"""Encoders by name: ECG windows in, representations out.

To add an encoder, add its file and a line in `ENCODERS`; the path of a .py file also works as a name.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from methods import ClassTable, find_class, sources_of

if TYPE_CHECKING:
    from methods.encoders.base import Encoder, EncoderConfig

ENCODERS: ClassTable[type[Encoder]] = ClassTable(
    {
        "dilated": "methods.encoders.dilated:Dilated",
        "resnet1d": "methods.encoders.resnet1d:ResNet1d",
        "xresnet1d101": "methods.encoders.xresnet1d101:XResNet1d101",
        "vit1d": "methods.encoders.vit:ViT1d",
        "s4": "methods.encoders.s4:S4",
    }
)
DEFAULT = "dilated"
"""Encoder of the paper, used where no name is given."""


def get_encoder(name: str) -> type[Encoder]:
    """Return the class of an encoder: a name of `ENCODERS`, or the path of a .py file that defines one `Encoder`.

    Raises ValueError for an unknown name or an invalid file.
    """
    from methods.encoders.base import Encoder

    return find_class("encoder", name, ENCODERS, Encoder)


def identity(encoder_class: type[Encoder], config: EncoderConfig) -> dict[str, Any]:
    """Return what determines an encoder's numbers, for content keys: name, sizes and a file's sources."""
    return {"name": encoder_class.name} | config.content() | sources_of(encoder_class) | encoder_class.external_files()
