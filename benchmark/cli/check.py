"""The verb `check`: a method or an encoder, by name or in a file of one's own, against its contract.

The checks are those of `methods.contract`, and for an encoder with weights from elsewhere also what every run tries
before it reads data.
"""

from __future__ import annotations

from argparse import Namespace
from collections import ChainMap
from collections.abc import Callable, Mapping, Sequence
from functools import partial
from typing import cast

import torch

from benchmark.cli.main import FAILED, OK
from benchmark.config.errors import ConfigError
from benchmark.external import try_external
from benchmark.screen import Console, note, step
from methods import METHODS
from methods.base import PretrainMethod
from methods.contract import ENCODER_CHECKS, EXTERNAL_CHECKS, METHOD_CHECKS, fits
from methods.encoders import ENCODERS
from methods.encoders.base import Encoder
from methods.encoders.pretrained import PretrainedEncoder
from methods.from_file import find_class

PAGE = "docs/METHODS.md"
Check = Callable[[], object]


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
    with step(console, arguments.word) as progress:
        for number, (name, run) in enumerate(checks.items(), start=1):
            problem = failure(run)
            note(console, f"FAILED {name}: {problem}" if problem else f"ok     {name}")
            failed += bool(problem)
            progress(number, len(checks))
    if failed:
        note(console, f"{failed} of {len(checks)} checks failed; {PAGE} has the contract")
    return FAILED if failed else OK


def checks_of(kind: type) -> dict[str, Check]:
    """Name -> check of a class. A method is checked with the first encoder that it can train."""
    if issubclass(kind, PretrainedEncoder):
        return {"gives its features": partial(try_external, kind)} | named(EXTERNAL_CHECKS, kind)
    if issubclass(kind, PretrainMethod):
        encoder = next(
            (encoder_class for encoder_class in ENCODERS.values() if fits(kind, encoder_class)), ENCODERS["dilated"]
        )
        return named(METHOD_CHECKS if kind.trains else METHOD_CHECKS[:1], kind, encoder)
    return named(ENCODER_CHECKS, kind)


def named(checks: Sequence[Callable[..., object]], *classes: type) -> dict[str, Check]:
    """Checks by their names in words."""
    return {check.__name__.replace("_", " "): partial(check, *classes) for check in checks}


def failure(run: Check) -> str:
    """What a check raised, in one line; '' for nothing."""
    try:
        run()
    except Exception as error:  # of anyone's code
        line = " ".join(str(error).split())[:300]
        return line if isinstance(error, (AssertionError, ValueError)) and line else f"{type(error).__name__}: {line}"
    return ""
