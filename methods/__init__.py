"""The pretraining methods by name. A new one is its file and a line in `METHODS`; a path to a .py file also works."""

from __future__ import annotations

import difflib
import importlib.util
import sys
from functools import cache
from pathlib import Path

from methods.base import PretrainMethod
from methods.byol import BYOL
from methods.clocs import CLOCS
from methods.comet import COMET
from methods.etp import ETP
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
    if name.endswith(".py"):
        return _load_file(Path(name).resolve())
    if name in METHODS:
        return METHODS[name]
    close = difflib.get_close_matches(name, METHODS, n=1)
    hint = f"did you mean {close[0]!r}? " if close else ""
    raise ValueError(f"unknown method {name!r}: {hint}choose from {', '.join(METHODS)}, or give the path of a .py file")


@cache
def _load_file(path: Path) -> type[PretrainMethod]:
    """The one method that a file outside the package defines."""
    if not path.is_file():
        raise ValueError(f"method file {path} does not exist")
    module_name = str(path)
    spec = importlib.util.spec_from_file_location(module_name, path)
    if spec is None or spec.loader is None:
        raise ValueError(f"method file {path} cannot be imported")
    module = importlib.util.module_from_spec(spec)
    sys.modules[module_name] = module  # dataclasses look their module up while it runs
    try:
        spec.loader.exec_module(module)
    except Exception as error:
        del sys.modules[module_name]
        raise ValueError(f"method file {path}: {type(error).__name__}: {error}") from error
    found = [
        value
        for value in vars(module).values()
        if isinstance(value, type) and issubclass(value, PretrainMethod) and value.__module__ == module_name
    ]
    if len(found) != 1:
        raise ValueError(f"method file {path} defines {len(found)} PretrainMethod classes: define exactly one")
    if getattr(found[0], "name", "") in {"", *METHODS}:
        raise ValueError(f"method file {path}: give {found[0].__name__} a `name` that none of {', '.join(METHODS)} has")
    return found[0]
