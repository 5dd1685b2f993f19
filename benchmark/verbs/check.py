"""The verbs `check-method` and `check-encoder`: test a method or an encoder against its contract."""

from __future__ import annotations

from argparse import Namespace
from collections.abc import Callable, Iterable
from dataclasses import replace
from typing import TYPE_CHECKING, TypeVar

from benchmark.config.command_line.flags import ENCODER, METHOD, shared
from benchmark.config.command_line.verb import FAILED, OK, Verb
from benchmark.config.declared import is_file
from benchmark.config.errors import ConfigError
from benchmark.screen.console import Console, note
from benchmark.screen.progress import step

if TYPE_CHECKING:
    from benchmark.verbs.contract.check import Verdict
    from methods.encoders.pretrained import PretrainedEncoder

T = TypeVar("T")
QUICK = 3
"""Promises of a method that trains nothing; more include short trainings."""
METHOD_PAGE, ENCODER_PAGE, ELSEWHERE_PAGE = "docs/METHOD.md", "docs/ENCODER.md", "docs/ELSEWHERE.md"
"""Pages with the contracts."""


def check_methods(arguments: Namespace, console: Console) -> int:
    """Print one line per promise of a method. Raises ConfigError for an unknown or unserved method or encoder."""
    from benchmark.config.elsewhere import find_method  # here, because torch loads slowly
    from benchmark.verbs.contract.check import check_method, promises_of
    from methods import refusal
    from methods.encoders import DEFAULT, get_encoder

    encoders = [named(get_encoder, name, ENCODER_PAGE) for name in arguments.encoder or [DEFAULT]]
    method = named(find_method, arguments.word, METHOD_PAGE)
    if method.brings is not None:
        return check_brought(method.brings, arguments.word, console)
    for encoder in encoders:
        if refused := refusal(method, encoder):
            raise ConfigError(refused)
    verdicts = (verdict for encoder in encoders for verdict in check_method(method, encoder))
    count = len(encoders) * len(promises_of(method))
    return print_verdicts(verdicts, count, arguments.word, METHOD_PAGE, console)


def check_encoders(arguments: Namespace, console: Console) -> int:
    """Print one line per promise of an encoder. Raises ConfigError for an unknown encoder."""
    from benchmark.config.elsewhere import find_method  # here, because torch loads slowly
    from benchmark.verbs.contract.check import ENCODER_PROMISES, check_encoder
    from methods.encoders import get_encoder
    from methods.encoders.pretrained import PretrainedEncoder

    if is_file(arguments.word):
        brings = find_method(arguments.word).brings
        assert brings is not None, "a card is of an encoder"
        return check_brought(brings, arguments.word, console)
    encoder = named(get_encoder, arguments.word, ENCODER_PAGE)
    if issubclass(encoder, PretrainedEncoder):
        return check_brought(encoder, arguments.word, console)
    return print_verdicts(check_encoder(encoder), len(ENCODER_PROMISES), arguments.word, ENCODER_PAGE, console)


def check_brought(encoder: type[PretrainedEncoder], word: str, console: Console) -> int:
    """Print one line per promise of an encoder whose weights come from elsewhere."""
    from benchmark.verbs.contract.check import ELSEWHERE_PROMISES, check_elsewhere  # here, because torch loads slowly

    return print_verdicts(check_elsewhere(encoder), len(ELSEWHERE_PROMISES), word, ELSEWHERE_PAGE, console)


def named(get: Callable[[str], T], name: str, page: str) -> T:
    """`get(name)`. Raises ConfigError for an unknown name or a file that cannot be used."""
    try:
        return get(name)
    except ValueError as error:
        raise ConfigError(f"{error}; {page} shows how to write one") from None


def print_verdicts(verdicts: Iterable[Verdict], count: int, name: str, page: str, console: Console) -> int:
    """Print each of `count` verdicts on `name` as it comes; returns the exit status, FAILED if a promise is broken.

    page: where the contract stands.
    """
    about = "less than a minute" if count > QUICK and page == METHOD_PAGE else "a few seconds"
    note(console, f"{name}: {count} promises to test, {about} on an idle core")
    kept = []
    with step(console, name) as progress:
        for verdict in verdicts:
            kept.append(verdict.kept)
            note(console, str(verdict))
            progress(len(kept), count)
    if not all(kept):
        note(console, f"{kept.count(False)} of {len(kept)} promises tested are broken; {page} has the contract")
    return OK if all(kept) else FAILED


CHECK_METHOD = Verb(
    "whether a method, or the one defined in a file, keeps what a method promises",
    check_methods,
    shared("--encoder"),
    word="NAME|FILE",
    word_help="a method of `list`, a .py file that defines one, or the .yaml card of an encoder from elsewhere",
    known=METHOD,
    examples={"check-method ./mine.py": "what a method of one's own has to hold to"},
)
CHECK_ENCODER = Verb(
    "whether an encoder, or the one defined in a file, keeps what an encoder promises",
    check_encoders,
    word="NAME|FILE",
    word_help="an encoder of `list`, a .py file that defines one, or the .yaml card of one from elsewhere",
    known=replace(ENCODER, other=METHOD.other, is_other=METHOD.is_other),
    examples={"check-encoder ./mine.py": "what an encoder of one's own has to hold to"},
)
