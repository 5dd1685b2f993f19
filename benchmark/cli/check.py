"""The verbs `check-method` and `check-encoder`: test a method or an encoder against its contract."""

from __future__ import annotations

from argparse import Namespace
from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass
from typing import TypeVar

import torch

from benchmark.cli import promises
from benchmark.cli.promises import Broken, Kind, in_one_line
from benchmark.config.command_line import FAILED, OK
from benchmark.config.errors import ConfigError
from benchmark.screen import Console, note, step
from methods import get_method, refusal
from methods.encoders import DEFAULT, get_encoder
from methods.encoders.pretrained import PretrainedEncoder


@dataclass(frozen=True)
class Promise:
    """One requirement of a contract."""

    name: str
    check: Callable[..., str]
    """Takes a method and its encoder, or an encoder alone; returns the finding, or raises if the promise is broken."""
    of_all: bool = False
    """Also tested on a method that trains nothing."""
    decisive: bool = False
    """If broken, testing stops, because the later checks would fail too."""


@dataclass(frozen=True)
class Verdict:
    """Result of testing a promise."""

    promise: Promise
    kept: bool
    detail: str

    def __str__(self) -> str:
        return f"{'kept  ' if self.kept else 'BROKEN'} {self.promise.name}: {self.detail}"


def in_turn(tested: Sequence[Promise], *classes: type) -> Iterator[Verdict]:
    """Test promises of a method and its encoder, or of an encoder, in order; stops after a broken decisive one."""
    for promise in tested:
        verdict = judge(promise, *classes)
        yield verdict
        if promise.decisive and not verdict.kept:
            return


def judge(promise: Promise, *classes: type) -> Verdict:
    """Test one promise; any exception counts as broken."""
    threads = torch.get_num_threads()
    torch.set_num_threads(1)  # more threads are slower on tensors this small
    try:
        return Verdict(promise, True, promise.check(*classes))
    except Exception as error:
        return Verdict(promise, False, str(error) if isinstance(error, Broken) else in_one_line(error))
    finally:
        torch.set_num_threads(threads)


PROMISES: tuple[Promise, ...] = (
    Promise("builds", promises.builds, of_all=True, decisive=True),
    Promise("name", promises.says_who_it_is, of_all=True),
    Promise("encoder", promises.hands_on_an_encoder, of_all=True),
    Promise("finite loss", promises.has_a_finite_loss, decisive=True),
    Promise("gradient", promises.trains_the_encoder),
    Promise("momentum copies", promises.keeps_gradients_from_copies),
    Promise("evaluation", promises.leaves_state_alone_in_evaluation),
    Promise("state", promises.keeps_its_state_in_its_checkpoint),
    Promise("resume", promises.resumes),
    Promise("batch size", promises.takes_any_batch_size),
    Promise("half precision", promises.stands_half_precision),
    Promise("learning", promises.learns),
)
"""In the order in which failures of a method are best fixed."""

ENCODER_PROMISES: tuple[Promise, ...] = (
    Promise("builds", promises.encoder_builds, decisive=True),
    Promise("name", promises.encoder_says_who_it_is),
    Promise("shapes", promises.keeps_to_shapes, decisive=True),
    Promise("gradient", promises.learns_with_every_parameter),
    Promise("state", promises.is_its_state),
    Promise("evaluation", promises.is_settled_in_evaluation),
    Promise("pooled", promises.pools_as_it_says),
    Promise("dropout", promises.drops_out_in_training),
    Promise("mask", promises.lets_a_mask_act),
    Promise("tokens", promises.leaves_tokens_out),
    Promise("one window", promises.takes_one_window),
    Promise("half precision", promises.encoder_stands_half_precision),
    Promise("methods", promises.is_learned_by_every_method),
)
"""In the order in which failures of an encoder are best fixed."""

ELSEWHERE_PROMISES: tuple[Promise, ...] = (
    Promise("card", promises.says_what_it_is, decisive=True),
    Promise("weights", promises.brings_its_weights, decisive=True),
    Promise("features", promises.gives_its_features, decisive=True),
    Promise("state", promises.is_the_same_when_loaded_again),
    Promise("precision", promises.is_as_precise_at_any_precision),
    Promise("gradient", promises.is_fine_tuned_or_says_why_not),
)
"""In the order in which failures of weights from elsewhere are best fixed."""


T = TypeVar("T")
PAGE = "docs/METHODS.md"
"""Page with the contracts."""


def promises_of(kind: Kind) -> list[Promise]:
    """The promises that apply to a method."""
    return [promise for promise in PROMISES if kind.trains or promise.of_all]


def check_methods(arguments: Namespace, console: Console) -> int:
    """Print one line per promise of a method. Raises ConfigError for an unknown or unserved method or encoder."""
    encoders = [named(get_encoder, name) for name in arguments.encoder or [DEFAULT]]
    method = named(get_method, arguments.word)
    if method.external_encoder is not None:
        return check_external(method.external_encoder, arguments.word, console)
    for encoder in encoders:
        if refused := refusal(method, encoder):
            raise ConfigError(refused)
    tested = promises_of(method)
    verdicts = (verdict for encoder in encoders for verdict in in_turn(tested, method, encoder))
    seconds = "less than a minute" if method.trains else "a few seconds"
    return print_verdicts(verdicts, len(encoders) * len(tested), arguments.word, console, seconds=seconds)


def check_encoders(arguments: Namespace, console: Console) -> int:
    """Print one line per promise of an encoder. Raises ConfigError for an unknown encoder."""
    encoder = named(get_encoder, arguments.word)
    if issubclass(encoder, PretrainedEncoder):
        return check_external(encoder, arguments.word, console)
    verdicts = in_turn(ENCODER_PROMISES, encoder)
    return print_verdicts(verdicts, len(ENCODER_PROMISES), arguments.word, console)


def check_external(encoder: type[PretrainedEncoder], word: str, console: Console) -> int:
    """Print one line per promise of an encoder whose weights come from elsewhere."""
    return print_verdicts(in_turn(ELSEWHERE_PROMISES, encoder), len(ELSEWHERE_PROMISES), word, console)


def named(get: Callable[[str], T], name: str) -> T:
    """`get(name)`. Raises ConfigError for an unknown name or a file that cannot be used."""
    try:
        return get(name)
    except ValueError as error:
        raise ConfigError(f"{error}; {PAGE} shows how to write one") from None


def print_verdicts(
    verdicts: Iterable[Verdict], count: int, name: str, console: Console, *, seconds: str = "a few seconds"
) -> int:
    """Print each of `count` verdicts on `name` as it comes; returns the exit status, FAILED if a promise is broken.

    seconds: what the tests are said to take.
    """
    note(console, f"{name}: {count} promises to test, {seconds} on an idle core")
    kept = []
    with step(console, name) as progress:
        for verdict in verdicts:
            kept.append(verdict.kept)
            note(console, str(verdict))
            progress(len(kept), count)
    if not all(kept):
        note(console, f"{kept.count(False)} of {len(kept)} promises tested are broken; {PAGE} has the contract")
    return OK if all(kept) else FAILED
