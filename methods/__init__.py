"""METHODS, get_method.

Pretraining methods by name: batches and an encoder in, a loss and a pretrained encoder out.

To add a method, add its file and a line in `METHODS`; the path of a .py file also works as a name.

A row of weights from elsewhere: the method that trains nothing, around the encoder that it brings.
"""

from __future__ import annotations

from collections.abc import Hashable
from functools import cache
from typing import Any, cast

from methods.base import PretrainMethod
from methods.byol import BYOL
from methods.clip_report import ClipReport
from methods.clocs import CLOCS
from methods.comet import COMET
from methods.cpc import CPC
from methods.encoders import ENCODERS
from methods.encoders.base import TWO_OF, Encoder
from methods.encoders.pretrained import PretrainedEncoder
from methods.etp import ETP
from methods.from_file import find_class
from methods.jepa import JEPA
from methods.mae import MAE
from methods.moco import MoCo
from methods.pclr import PCLR
from methods.pmq import PMQ
from methods.pmq_released import PMQReleased
from methods.siamese import BarlowTwins, RandomInit, SimCLR, SimSiam, VICReg
from methods.ts2vec import TS2Vec


def as_method(kind: type[PretrainedEncoder]) -> type[PretrainMethod]:
    """The method of an encoder's row: its name and title, no training; the same class at each call."""
    return _as_method(cast(Hashable, kind))


@cache
def _as_method(kind: Any) -> type[PretrainMethod]:
    values = {"name": kind.name, "title": kind.title, "trains": False, "brings": kind, "__module__": kind.__module__}
    return type(kind.__name__, (PretrainMethod,), values)


METHODS: dict[str, type[PretrainMethod]] = {
    "random": RandomInit,
    "moco": MoCo,
    "byol": BYOL,
    "clocs": CLOCS,
    "pclr": PCLR,
    "comet": COMET,
    "etp": ETP,
    "pmq": PMQ,
    "pmq-released": PMQReleased,
    "simclr": SimCLR,
    "vicreg": VICReg,
    "barlow": BarlowTwins,
    "simsiam": SimSiam,
    "ts2vec": TS2Vec,
    "cpc": CPC,
    "jepa": JEPA,
    "mae": MAE,
    "clip-report": ClipReport,
}
"""Name -> class, in the order of a table's rows."""


def get_method(name: str) -> type[PretrainMethod]:
    """The class of a method: a name of `METHODS`, or the path of a .py file that defines one `PretrainMethod`.

    Of a file that defines one `PretrainedEncoder`: the method of its row. Raises ValueError for an unknown name or an
    invalid file.
    """
    found: type[PretrainMethod] | type[PretrainedEncoder] = find_class(
        "method", name, METHODS, PretrainMethod, PretrainedEncoder
    )
    return as_method(found) if issubclass(found, PretrainedEncoder) else found


NEEDS = {
    "tokens": "{method} hides tokens, which the encoder {encoder!r} does not have",
    "timed": "{method} hides stretches of time, and the encoder {encoder!r} does not embed in the order of time",
}
"""What a method may need of an encoder -> why one without is refused."""


def refusal(method: type[PretrainMethod], encoder: type[Encoder]) -> str:
    """Why a method cannot pretrain an encoder, and which encoders it can; '' where it can."""
    for need in method.needs:
        if need not in TWO_OF and not getattr(encoder, need):
            able = [name for name, kind in ENCODERS.items() if getattr(kind, need)]
            served = f"--encoder {' or '.join(able)}" if able else "one of your own"
            return f"{NEEDS[need].format(method=method.name, encoder=encoder.name)}; use {served}, or leave it out"
    return ""
