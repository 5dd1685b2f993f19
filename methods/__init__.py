"""The pretraining methods by name. A new one is its file and a line in `METHODS`; a path to a .py file also works."""

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
"""In the order of the rows of a table."""


def get_method(name: str) -> type[PretrainMethod]:
    """The class of a method: a name of `METHODS`, or the path of a .py file that defines one `PretrainMethod`.

    Raises ValueError with the names there are, or with what is wrong with the file.
    """
    return find_class("method", name, METHODS, PretrainMethod)
