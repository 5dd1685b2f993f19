"""The command `check`: a method or an encoder, by name or in a file of one's own, against its contract.

The checks are those of `methods.contract`, and for an encoder with weights from elsewhere also what every run tries
before it reads data.
"""

from __future__ import annotations

from argparse import Namespace
from collections import ChainMap
from collections.abc import Callable, Mapping
from functools import partial
from typing import Any, cast

import torch

from benchmark.cli.main import FAILED, OK
from benchmark.config.errors import ConfigError
from benchmark.external import try_external
from benchmark.screen import Console, note
from methods import METHODS
from methods.base import PretrainMethod
from methods.contract import ENCODER_CHECKS, EXTERNAL_CHECKS, METHOD_CHECKS, fits
from methods.encoders import ENCODERS
from methods.encoders.base import Encoder
from methods.encoders.pretrained import PretrainedEncoder
from methods.from_file import find_class

PAGE = "docs/METHODS.md"


def check(arguments: Namespace, console: Console) -> int:
    """Print a line per check; returns FAILED if one fails. Raises ConfigError for an unknown name or a broken file."""
    classes = cast(Mapping[str, type], ChainMap(METHODS, ENCODERS))  # type: ignore[arg-type]
    try:
        kind: type = find_class("method or encoder", arguments.word, classes, PretrainMethod, Encoder)
    except ValueError as error:
        raise ConfigError(f"{error}; {PAGE} shows how to write one") from None
    checks, failed = checks_of(kind), 0
    note(console, f"{arguments.word}: {len(checks)} checks, at most half a minute")
    torch.set_num_threads(1)  # more threads are slower on tensors this small
    for one in checks:
        problem = failure(one)
        name = one.func.__name__.replace("_", " ")
        note(console, f"FAILED {name}: {problem}" if problem else f"ok     {name}")
        failed += bool(problem)
    if failed:
        note(console, f"{failed} of {len(checks)} checks failed; {PAGE} has the contract")
    return FAILED if failed else OK


def checks_of(kind: Any) -> list[partial[Any]]:
    """List the checks of a class. A method is checked with the first encoder that it can train."""
    if issubclass(kind, PretrainedEncoder):
        return [partial(one, kind) for one in (try_external, *EXTERNAL_CHECKS)]
    if issubclass(kind, PretrainMethod):
        encoder = next((one for one in ENCODERS.values() if fits(kind, one)), ENCODERS["dilated"])
        return [partial(one, kind, encoder) for one in (METHOD_CHECKS if kind.trains else METHOD_CHECKS[:1])]
    return [partial(one, kind) for one in ENCODER_CHECKS]


def failure(run: Callable[[], object]) -> str:
    """Return what a check raised, in one line; '' for nothing."""
    try:
        run()
    except Exception as error:  # of anyone's code
        line = " ".join(str(error).split())[:300]
        return line if isinstance(error, (AssertionError, ValueError)) and line else f"{type(error).__name__}: {line}"
    return ""
