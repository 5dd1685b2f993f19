"""Pretraining methods by name: batches and an encoder in, a loss and a pretrained encoder out. Imported by benchmark.

To add a method, add its file and a line in `METHODS`; the path of a .py file also works as a name.
"""

from __future__ import annotations

from methods.base import PretrainMethod
from methods.byol import BYOL
from methods.clocs import CLOCS
from methods.comet import COMET
from methods.etp import ETP
from methods.from_file import find_class
from methods.moco import MoCo
from methods.pclr import PCLR
from methods.pmq import PMQ
from methods.pmq_released import PMQReleased
from methods.random_init import RandomInit

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
}
"""Name -> class, in the order of a table's rows."""


def get_method(name: str) -> type[PretrainMethod]:
    """The class of a method: a name of `METHODS`, or the path of a .py file that defines one `PretrainMethod`.

    Raises ValueError for an unknown name or an invalid file.
    """
    return find_class("method", name, METHODS, PretrainMethod)
