"""METHODS: pretraining methods by name. Batches and an encoder in, a loss and a pretrained encoder out.

To add a method, add its file and a line in `PAPER` or `BEYOND`; the path of a .py file also works as a name. A method
is imported when it is asked for, so that the names are there without torch.

A row of weights from elsewhere is the method that trains nothing, around the encoder that it brings.
"""

from __future__ import annotations

from functools import cache
from typing import TYPE_CHECKING, Any

from methods.from_file import ClassTable, find_class

if TYPE_CHECKING:
    from methods.base import PretrainMethod

PAPER = {
    "random": "methods.siamese:RandomInit",
    "moco": "methods.moco:MoCo",
    "byol": "methods.byol:BYOL",
    "clocs": "methods.clocs:CLOCS",
    "pclr": "methods.pclr:PCLR",
    "comet": "methods.comet:COMET",
    "etp": "methods.etp:ETP",
    "pmq": "methods.pmq:PMQ",
    "pmq-released": "methods.pmq_released:PMQReleased",
}
"""What the PMQ paper compares."""
BEYOND = {
    "simclr": "methods.siamese:SimCLR",
    "vicreg": "methods.siamese:VICReg",
    "barlow": "methods.siamese:BarlowTwins",
    "simsiam": "methods.siamese:SimSiam",
    "ts2vec": "methods.ts2vec:TS2Vec",
    "cpc": "methods.cpc:CPC",
    "jepa": "methods.jepa:JEPA",
    "mae": "methods.mae:MAE",
    "clip-report": "methods.clip_report:ClipReport",
}
"""What it does not; compared by the config `literature` alone."""
METHODS: ClassTable[type[PretrainMethod]] = ClassTable(PAPER | BEYOND)
"""Name -> class, in the order of a table's rows."""


@cache
def as_method(kind: Any) -> type[PretrainMethod]:
    """The method of a `PretrainedEncoder`'s row: its name and title, no training; the same class at each call."""
    from methods.base import PretrainMethod

    values = {"name": kind.name, "title": kind.title, "trains": False, "external_encoder": kind}
    return type(kind.__name__, (PretrainMethod,), values | {"__module__": kind.__module__})


def get_method(name: str) -> type[PretrainMethod]:
    """The class of a method: a name of `METHODS`, or the path of a .py file that defines one `PretrainMethod`.

    Of a file that defines one `PretrainedEncoder`: the method of its row. Raises ValueError for an unknown name or an
    invalid file.
    """
    from methods.base import PretrainMethod
    from methods.encoders.pretrained import PretrainedEncoder

    kind: Any = find_class("method", name, METHODS, PretrainMethod, PretrainedEncoder)
    method: type[PretrainMethod] = as_method(kind) if issubclass(kind, PretrainedEncoder) else kind
    return method
