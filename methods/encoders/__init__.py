"""The encoders by name. A new one is its file and a line in `ENCODERS`; a path to a .py file also works."""

from __future__ import annotations

import hashlib
from collections.abc import Mapping
from dataclasses import asdict, replace
from typing import Any

from torch import Tensor

from methods.encoders.base import Encoder, EncoderConfig
from methods.encoders.dilated import Dilated
from methods.encoders.resnet1d import ResNet1d
from methods.from_file import find_class, text_of

ENCODERS: dict[str, type[Encoder]] = {
    "dilated": Dilated,
    "resnet1d": ResNet1d,
}
DEFAULT = "dilated"
"""The paper's, which is meant where no name is given."""


def get_encoder(name: str) -> type[Encoder]:
    """The class of an encoder: a name of `ENCODERS`, or the path of a .py file that defines one `Encoder`.

    Raises ValueError with the names there are, or with what is wrong with the file.
    """
    return find_class("encoder", name, ENCODERS, Encoder)


def load_official(name: str, state_dict: Mapping[str, Tensor]) -> Encoder:
    """An encoder with published weights, by the state dict of the official module; a head in it is left out.

    Raises ValueError for an unknown name, and where the tensors are not those of the module.
    """
    return get_encoder(name).from_official(state_dict)


def identity(kind: type[Encoder], config: EncoderConfig) -> dict[str, Any]:
    """All of an encoder that decides its numbers, as plain values: name, sizes and, of a file, a digest of its text.

    The default one goes without its name: so it stands in the results from before there were others.
    """
    name, text = {} if kind.name == DEFAULT else {"name": kind.name}, text_of(kind)
    source = {} if text is None else {"source": hashlib.sha256(text).hexdigest()}
    return name | asdict(replace(config, dropout=0.0)) | source
