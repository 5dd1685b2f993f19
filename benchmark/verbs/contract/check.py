"""What every pretraining method promises, and whether one keeps it: the verb `check-method`, and the contract tests."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass

import torch

from benchmark.verbs.contract import promises
from benchmark.verbs.contract.promises import Broken, Kind
from benchmark.verbs.contract.two_processes import in_one_line


@dataclass(frozen=True)
class Promise:
    """One thing that a method must hold to."""

    name: str
    meaning: str
    check: Callable[[Kind], str]
    """Says what was found; raises where the promise is not kept."""
    of_all: bool = False
    """Asked also of a method that trains nothing."""
    decisive: bool = False
    """Where it is broken, nothing further is asked: all the rest would fail with it."""


@dataclass(frozen=True)
class Verdict:
    """What became of a promise."""

    promise: Promise
    kept: bool
    detail: str

    def __str__(self) -> str:
        return f"{'kept  ' if self.kept else 'BROKEN'} {self.promise.name}: {self.detail}"


def check_method(kind: Kind) -> Iterator[Verdict]:
    """Try the promises that apply to a method one after the other, as far as a broken decisive one."""
    for promise in PROMISES:
        if kind.trains or promise.of_all:
            verdict = judge(promise, kind)
            yield verdict
            if promise.decisive and not verdict.kept:
                return


def judge(promise: Promise, kind: Kind) -> Verdict:
    """Try one promise; whatever the method raises breaks it."""
    threads = torch.get_num_threads()
    torch.set_num_threads(1)  # on tensors so small more would wait for each other
    try:
        return Verdict(promise, True, promise.check(kind))
    except Broken as broken:
        return Verdict(promise, False, str(broken))
    except Exception as error:
        return Verdict(promise, False, in_one_line(error))
    finally:
        torch.set_num_threads(threads)


PROMISES: tuple[Promise, ...] = (
    Promise(
        "builds", "comes of its default config and the shared encoder", promises.builds, of_all=True, decisive=True
    ),
    Promise("name", "has a name for the command line and a title for tables", promises.says_who_it_is, of_all=True),
    Promise("encoder", "hands on an encoder of the shared form", promises.hands_on_an_encoder, of_all=True),
    Promise(
        "finite loss", "the loss is a finite scalar in float32 with a graph", promises.has_a_finite_loss, decisive=True
    ),
    Promise(
        "gradient", "all that learns gets a finite gradient, the whole encoder included", promises.trains_the_encoder
    ),
    Promise("momentum copies", "what the method moves itself gets no gradient", promises.keeps_gradients_from_copies),
    Promise("evaluation", "changes no state", promises.leaves_state_alone_in_evaluation),
    Promise("positives", "are told without a trace", promises.tells_positives_without_a_trace),
    Promise("state", "lies in parameters and buffers alone", promises.keeps_its_state_in_its_checkpoint),
    Promise("resume", "save, load, next step: the same bits", promises.resumes),
    Promise("batch size", "may be any", promises.takes_any_batch_size),
    Promise("half precision", "gives nearly the same loss", promises.stands_half_precision),
    Promise("learning", "the loss falls on simulated patients", promises.learns),
    Promise("two processes", "hold the same state after training together", promises.agrees_on_two_processes),
)
"""In the order in which a method is best mended."""
