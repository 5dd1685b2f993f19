"""Checks of encoders whose weights come from elsewhere: each tests one promise and returns its finding.

A broken one raises; the messages of `benchmark.elsewhere` name the value, its place and the remedy.
"""

from __future__ import annotations

import copy

import torch
from torch import Tensor

from benchmark.elsewhere.seen import words_of
from benchmark.elsewhere.tried import noise, told_of, tried
from benchmark.training.pretrain import autocast
from benchmark.verbs.contract.promises import Broken
from methods.encoders.pretrained import PretrainedEncoder

Kind = type[PretrainedEncoder]
RATE = 1e-2
"""Of the one step of gradient descent."""


def says_what_it_is(kind: Kind) -> str:
    """Name, title, signals, width, licence and pretraining data are stated."""
    told_of(kind)
    return f"{kind.title}, licence {kind.licence}, pretrained on {words_of(kind)}; reads {kind.signals.words()}"


def brings_its_weights(kind: Kind) -> str:
    """The files of its weights are there and are read; returns how many parameters they hold."""
    files = len(kind.brought()["weights"])
    parameters = sum(parameter.numel() for parameter in kind.loaded().parameters())
    if not files and not parameters:
        raise Broken(f"{kind.__name__}.weights names no file: name those that load() reads, so that an edit is noticed")
    held = f"{parameters:,} parameters" if parameters else "parameters that torch does not see"
    return f"{files} file{'' if files == 1 else 's'}, {held}"


def gives_its_features(kind: Kind) -> str:
    """Windows give as many finite numbers as stated, the same at each call, each window for itself."""
    tried(kind)
    own = kind.signals
    return f"{kind.features} numbers a window of {own.samples} samples and {len(own.leads)} leads"


def is_the_same_when_loaded_again(kind: Kind) -> str:
    """Loading it twice gives equal features: no weight is left as it was drawn."""
    one, other = (features(kind.loaded(), kind) for _ in range(2))
    if not torch.equal(one, other):
        raise Broken("loading it twice gives other features: load() has to set every weight")
    return "equal features after loading it twice"


def is_as_precise_at_any_precision(kind: Kind) -> str:
    """Under bfloat16 its features are those in float32."""
    encoder, x = kind.loaded(), noise(kind)  # (n, S, 12)
    with torch.no_grad(), autocast(x.device, "bf16"):
        half = encoder.pooled(x)  # (n, K)
    if not torch.equal(half, features(encoder, kind)):
        raise Broken("under bfloat16 its features differ: leave the precision to the suite, which runs it in float32")
    return "float32 at any precision of a run"


def is_fine_tuned_or_says_why_not(kind: Kind) -> str:
    """A copy learns from a step and the original stays; or the reason why it cannot be fine-tuned."""
    if why := kind.why_frozen():
        return f"not fine-tuned: {why}; its cells there are dashes"
    encoder, x = kind.loaded(), noise(kind)  # (n, S, 12)
    before = features(encoder, kind)
    copied = copy.deepcopy(encoder).train()
    loss = copied.pooled(x).square().mean()
    if not loss.requires_grad:
        raise Broken(f"no gradient reaches its weights: set {kind.__name__}.frozen to the reason, or let it through")
    loss.backward()  # type: ignore[no-untyped-call]
    learning = [parameter for parameter in copied.parameters() if parameter.grad is not None]
    torch.optim.SGD(learning, lr=RATE).step()
    if torch.equal(features(copied, kind), before):
        raise Broken("a step of gradient descent changes no feature")
    if not torch.equal(features(encoder, kind), before):
        raise Broken("a step on a copy changes the encoder itself: its copies share weights")
    return f"gradients for {len(learning)} of {len(list(copied.parameters()))} tensors"


@torch.no_grad()
def features(encoder: PretrainedEncoder, kind: Kind) -> Tensor:
    """Features (n, K) of windows of noise."""
    return encoder.eval().pooled(noise(kind))  # (n, K)
