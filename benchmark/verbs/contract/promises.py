"""Checks of the method contract: each tests one promise and returns its finding, or raises `Broken`.

Methods are built at a small size around a small encoder and get batches of simulated patients.
"""

from __future__ import annotations

import math
from copy import deepcopy
from dataclasses import asdict

import torch
from torch import Tensor, nn

from benchmark.results.keys import digest
from benchmark.training.pretrain import autocast
from benchmark.verbs.contract.tryout import (
    SHARED,
    batch_of_size,
    changed,
    copied_state,
    outside_state,
    small_method,
    small_optimiser,
    train,
    training_batch,
)
from benchmark.verbs.contract.two_processes import train_together
from methods.base import MethodConfig, PretrainMethod
from methods.encoders.base import Encoder

Kind = type[PretrainMethod]

SIZES = (2, 7, 40)
HALF_PRECISION_DRIFT, HALF_PRECISION_FLOOR = 0.06, 3e-2
"""Tolerance of a loss under bf16: relative, and absolute for a loss near 0, as a mean cosine begins."""
FALL = 0.05
"""Required relative decrease of the loss in the short training."""
BATCHES, ROUNDS = 8, 4
"""Batches of the short training, and passes over them."""
SETTLED = 2
"""Batches until the small queue is full; losses of the first and last round are compared from here on."""


class Broken(Exception):
    """A broken promise; the message gives the finding and the remedy."""


def builds(kind: Kind, encoder: type[Encoder] = SHARED) -> str:
    """The default config is valid and builds a method."""
    if not issubclass(kind.Config, MethodConfig) or "__dataclass_fields__" not in vars(kind.Config):
        raise Broken(f"{kind.__name__}.Config: make it a dataclass(frozen=True) that extends MethodConfig")
    config = kind.Config()
    try:
        digest(asdict(config))  # result keys hash the settings
    except (TypeError, ValueError) as error:
        raise Broken(f"{kind.Config.__name__} cannot be filed ({error}): use numbers, texts and lists") from error
    parameters = list(kind(encoder(encoder.Config.small()), config).parameters())
    learning = sum(p.numel() for p in parameters if p.requires_grad)
    followers = sum(p.numel() for p in parameters) - learning
    return f"{learning:,} parameters that learn and {followers:,} that do not, with a small encoder"


def says_who_it_is(kind: Kind, encoder: type[Encoder] = SHARED) -> str:
    """The class has a name for the command line and a title for tables."""
    for attribute, example in (("name", "my-method"), ("title", "My method")):
        value = getattr(kind, attribute, None)
        if not (isinstance(value, str) and value):
            raise Broken(
                f"{kind.__name__}.{attribute} is {value!r}: give the class one, e.g. {attribute} = {example!r}"
            )
    return f"{kind.name}, printed as {kind.title}"


def hands_on_an_encoder(kind: Kind, encoder: type[Encoder] = SHARED) -> str:
    """`exported()` is an encoder of the given sizes."""
    method = small_method(kind, encoder)
    exported = method.exported()
    if not (isinstance(exported, encoder) and exported.config == encoder.Config.small()):
        raise Broken(f"exported() is {type(exported).__name__}: return the encoder it was given, or a copy of that")
    if exported.dropout != kind.Config().encoder_dropout:
        raise Broken(f"its dropout is {exported.dropout:g}: leave it at the config's encoder_dropout")
    return "the trained one" if exported is method.encoder else "a copy of the trained one"


def has_a_finite_loss(kind: Kind, encoder: type[Encoder] = SHARED) -> str:
    """The loss of two batches is a finite float32 scalar with a graph."""
    method = small_method(kind, encoder)
    method(training_batch(kind, 0))
    loss = sound_loss(method(training_batch(kind, 1)))
    return f"{loss.item():.4g} after two batches"


def sound_loss(loss: object) -> Tensor:
    """The loss, 0-d. Raises Broken if it is not a finite float32 scalar with a graph."""
    if not isinstance(loss, Tensor) or loss.shape != ():
        found = f"a tensor of shape {tuple(loss.shape)}" if isinstance(loss, Tensor) else type(loss).__name__
        raise Broken(f"forward returns {found}: return the loss as a 0-d tensor")
    if not loss.requires_grad:
        raise Broken("the loss has no graph: nothing that led to it may be detached or under no_grad")
    if not loss.isfinite():
        raise Broken(f"the loss is {loss.item()}: look for a log of 0, a division by 0 or an empty mean")
    if loss.dtype != torch.float32:
        raise Broken(f"the loss is {loss.dtype}: compute it in float32 (see scaled_similarity and unit_length)")
    return loss


def trains_the_encoder(kind: Kind, encoder: type[Encoder] = SHARED) -> str:
    """Every parameter that requires a gradient, the whole encoder included, gets a finite one."""
    method = small_method(kind, encoder)
    method(training_batch(kind, 0))
    method(training_batch(kind, 1)).backward()
    frozen = [name for name, parameter in method.encoder.named_parameters() if not parameter.requires_grad]
    if frozen:
        raise Broken(f"encoder.{frozen[0]} is frozen: the encoder has to learn")
    learning = {name: parameter for name, parameter in method.named_parameters() if parameter.requires_grad}
    spared = {f"encoder.{name}" for name in encoder.of_pooled}
    for name, parameter in learning.items():
        if parameter.grad is None:
            if name in spared:
                continue
            raise Broken(f"{name} gets no gradient: use it in the loss, or freeze it with requires_grad_(False)")
        if not parameter.grad.isfinite().all():
            raise Broken(f"the gradient of {name} is not finite: look for a norm or a square root at 0")
    if not any(parameter.grad.any() for parameter in method.encoder.parameters() if parameter.grad is not None):
        raise Broken("every gradient of the encoder is 0: the loss does not depend on it")
    return f"a finite gradient for all {len(learning)} tensors that learn"


def keeps_gradients_from_copies(kind: Kind, encoder: type[Encoder] = SHARED) -> str:
    """Parameters that the method updates itself require no gradient and are not changed by the optimiser."""
    method = small_method(kind, encoder)
    method.begin(3)
    optimiser = small_optimiser(method)
    parameters = dict(method.named_parameters())
    moved: set[str] = set()
    for update in range(3):
        before = values(parameters)
        optimiser.zero_grad()
        method(training_batch(kind, update)).backward()
        moved.update(changed(before, values(parameters)))
        before = values(parameters)
        optimiser.step()
        for name in changed(before, values(parameters)):
            if not parameters[name].requires_grad:
                raise Broken(f"the optimiser moves {name}, which is frozen: copy it, so that it shares no memory")
        before = values(parameters)
        method.after_step()
        moved.update(changed(before, values(parameters)))
    for name in sorted(moved):
        if parameters[name].requires_grad or parameters[name].grad is not None:
            raise Broken(f"{name} is moved by the method and learns too: freeze it, as momentum_copy does")
    return f"{len(moved)} tensors follow others, without a gradient" if moved else "there is none"


def values(parameters: dict[str, nn.Parameter]) -> dict[str, Tensor]:
    """Copies of the parameters' values."""
    return {name: parameter.detach().clone() for name, parameter in parameters.items()}


def leaves_state_alone_in_evaluation(kind: Kind, encoder: type[Encoder] = SHARED) -> str:
    """In evaluation the loss is finite and no tensor of the state changes."""
    method = small_method(kind, encoder).eval()
    before = copied_state(method)
    with torch.no_grad():
        loss = method(training_batch(kind, 0))
    if not loss.isfinite():
        raise Broken(f"the loss in evaluation is {loss.item()}: it must be finite there too")
    wrong = changed(before, method.state_dict())
    if wrong:
        raise Broken(f"{wrong[0]} changes in evaluation: ask `if self.training` before the state is moved")
    return f"{len(before)} tensors unchanged"


def tells_positives_without_a_trace(kind: Kind, encoder: type[Encoder] = SHARED) -> str:
    """`positives(batch)` changes no state and draws no random numbers."""
    method, batch = small_method(kind, encoder), training_batch(kind, 0)
    before, generator = copied_state(method), torch.get_rng_state()
    told = method.positives(batch)
    wrong = changed(before, method.state_dict())
    if wrong:
        raise Broken(f"`positives` changes {wrong[0]}: it may only look")
    if not torch.equal(generator, torch.get_rng_state()):
        raise Broken("`positives` draws random numbers: the training would depend on being watched")
    if told is None:
        return "it tells nothing"
    queries, candidates = told.attracts.shape  # (N, C)
    if told.attracts.dtype != torch.bool or told.recording.shape != (candidates,):
        raise Broken(f"`attracts` must be (N, C) bool and `recording` (C,), not {tuple(told.recording.shape)}")
    return f"{told.attracts.sum() / queries:.3g} of {candidates} candidates attract a query"


def keeps_its_state_in_its_checkpoint(kind: Kind, encoder: type[Encoder] = SHARED) -> str:
    """No tensor or generator is stored outside parameters and buffers."""
    method = small_method(kind, encoder)
    train(method, small_optimiser(method), range(2))
    for path, item in outside_state(method):
        if isinstance(item, torch.Generator):
            raise Broken(f"{path} holds a torch.Generator: draw from torch's default one, which the trainer seeds")
        raise Broken(f"{path} holds a tensor that no checkpoint has: use register_buffer")
    return f"{len(method.state_dict())} tensors, all in parameters and buffers"


def resumes(kind: Kind, encoder: type[Encoder] = SHARED) -> str:
    """A step after loading a checkpoint into a new method is bit-identical."""
    method = small_method(kind, encoder)
    method.begin(4)
    optimiser = small_optimiser(method)
    train(method, optimiser, range(3))
    saved = deepcopy((method.state_dict(), optimiser.state_dict()))
    (expected,) = train(method, optimiser, [3])
    resumed = small_method(kind, encoder)
    with torch.no_grad():
        for parameter in resumed.parameters():
            parameter.zero_()  # so that a tensor missing from the checkpoint shows
    resumed_optimiser = small_optimiser(resumed)
    resumed.load_state_dict(saved[0])
    resumed_optimiser.load_state_dict(saved[1])
    resumed.begin(4)
    (loss,) = train(resumed, resumed_optimiser, [3])
    wrong = changed(copied_state(method), resumed.state_dict())
    if str(loss) != str(expected) or wrong:
        what = f"{wrong[0]} differs" if wrong else f"the loss is {loss!r} instead of {expected!r}"
        raise Broken(f"after loading, {what}: keep all state in buffers and draw from torch's default generator")
    return f"loss {loss:.4g} and {len(saved[0])} tensors, bit for bit"


def takes_any_batch_size(kind: Kind, encoder: type[Encoder] = SHARED) -> str:
    """Accepts batches smaller and larger than the queue, and sizes that do not divide it."""
    for size in SIZES:
        method = small_method(kind, encoder)
        for number in range(3):
            sound_loss(method(batch_of_size(kind, size, number))).backward()  # type: ignore[no-untyped-call]
    return f"{', '.join(map(str, SIZES[:-1]))} and {SIZES[-1]} windows"


def stands_half_precision(kind: Kind, encoder: type[Encoder] = SHARED) -> str:
    """Under bf16 autocast the loss is float32 and close to the float32 value."""
    losses = []
    for precision in ("float32", "bf16"):
        method = small_method(kind, encoder)
        with autocast(torch.device("cpu"), precision):
            method(training_batch(kind, 0))
            loss = sound_loss(method(training_batch(kind, 1)))
        loss.backward()  # type: ignore[no-untyped-call]
        losses.append(loss.item())
    found = f"{losses[1]:.4g} under bf16, {losses[0]:.4g} in float32"
    if not math.isclose(*losses, rel_tol=HALF_PRECISION_DRIFT, abs_tol=HALF_PRECISION_FLOOR):
        raise Broken(f"{found}: compute normalisation, logits and FFT in float32")
    return found


def learns(kind: Kind, encoder: type[Encoder] = SHARED) -> str:
    """The loss on the same batches falls over a few passes."""
    method = small_method(kind, encoder, time_mask=0.1, momentum=0.9)  # defaults are too slow for so few updates
    method.begin(BATCHES * ROUNDS)
    losses = train(method, small_optimiser(method), [*range(BATCHES)] * ROUNDS)
    count = BATCHES - SETTLED
    first, last = sum(losses[SETTLED:BATCHES]) / count, sum(losses[-count:]) / count
    found = f"{first:.4g} in the first round through {BATCHES} batches, {last:.4g} in round {ROUNDS}"
    if not first - last > FALL * abs(first):
        raise Broken(f"{found}: it must fall by {FALL:.0%}; does each step move the encoder against the gradient?")
    return found


def agrees_on_two_processes(kind: Kind, encoder: type[Encoder] = SHARED) -> str:
    """Two processes, each with half of every batch, end in the same state."""
    try:
        ((first, second),) = train_together([(kind, {})], encoder)
    except RuntimeError as error:
        raise Broken(str(error)) from error
    wrong = changed(first, second)
    if wrong:
        raise Broken(f"{wrong[0]} differs between the processes: pass what it is made of through `gather`")
    return f"{len(first)} tensors equal, bit for bit"
