"""The promises of a method and of an encoder, each tried by `check-method` and `check-encoder`.

Methods are built at a small size around a small encoder and get batches of simulated patients, made as in pretraining
by the sampler and the views of the method's default config. Encoders are built at their small size (the cost at full
size) and get windows of noise.

A promise returns its finding in one line and raises if it is broken; the message names the value and the remedy.
"""

from __future__ import annotations

import math
from collections.abc import Iterator, Mapping, Sequence
from copy import deepcopy
from dataclasses import asdict, fields, replace
from functools import lru_cache
from textwrap import shorten

import numpy as np
import torch
from numpy.typing import NDArray
from torch import Tensor, nn

from benchmark.config.errors import built
from benchmark.data.corpus import Corpus, Trials, epoch_order, epoch_shape
from benchmark.data.heartbeats import FS, WINDOW, pseudo_trials
from benchmark.data.report_text import WIDTH as TEXT_WIDTH
from benchmark.data.simulate import simulate
from benchmark.elsewhere import noise, told_of, tried, words_of
from benchmark.machine.device import seed_torch
from benchmark.results.schema import digest
from benchmark.run.estimate import multiplications
from benchmark.training.pretrain import autocast, make_optimiser, train_step
from methods import METHODS, refusal
from methods.base import Batch, MethodConfig, PretrainMethod, Recipe
from methods.encoders import DEFAULT, get_encoder
from methods.encoders.base import MEAN, Encoder, EncoderConfig
from methods.encoders.pretrained import PretrainedEncoder

PATIENTS, RECORDINGS, BEATS = 24, 2, 8
"""Patients, recordings of each, and heartbeats of each recording."""
DIAGNOSES = ("NORM", "LBBB", "RBBB", "MI-ANT", "LVH", "STD")
"""Diagnoses of the patients, in turn, so that patients are separable."""
SECONDS = 24.0
"""Seconds of signal per patient, enough for the heartbeats of all recordings."""
EVERY = 6
"""Subsampling of a heartbeat, from 300 samples to 50."""
BATCH = 12
QUEUE = 24
"""Keys in the queue of a method that has a `queue_size`; wrong candidates where it draws `negatives`."""
RATE = 1e-2
SHARED = get_encoder(DEFAULT)
"""Default encoder of the checks of methods."""

Kind = type[PretrainMethod]
EncoderKind = type[Encoder]
ExternalKind = type[PretrainedEncoder]
State = dict[str, Tensor]
"""Name -> tensor of a state_dict or of parameters."""


class Broken(Exception):
    """A broken promise; the message gives the finding and the remedy."""


def small_method(kind: Kind, encoder: EncoderKind = SHARED, **knobs: object) -> PretrainMethod:
    """A method around a small encoder, with a small queue, default knobs and fixed initial weights.

    Knobs that its config lacks are ignored.
    """
    knobs = {"queue_size": QUEUE, "negatives": QUEUE, **knobs}
    known = {field.name: knobs[field.name] for field in fields(kind.Config) if field.name in knobs}
    seed_torch("tryout", "build")
    return kind(encoder(encoder.Config.small()), kind.Config(**known))  # type: ignore[arg-type]


@lru_cache(maxsize=2)
def simulated_patients(text_width: int | None) -> Corpus:
    """Heartbeats of the simulated patients; with `text_width` E, a random (T, E) embedding of the reports."""
    beats = np.concatenate([simulated_beats(patient) for patient in range(PATIENTS)])  # (T, P, S, L)
    recording = np.arange(len(beats))  # (T,)
    _, windows, samples, leads = beats.shape
    start, patient = recording * windows * samples, recording // RECORDINGS
    trials = Trials((beats.reshape(-1, leads),), start, recording, patient, samples, windows)
    generator = torch.Generator().manual_seed(0)
    text = None if text_width is None else torch.randn(len(beats), text_width, generator=generator)  # (T, E)
    return Corpus(trials, recording, torch.device("cpu"), text=text)


def simulated_beats(patient: int) -> NDArray[np.float16]:
    """Heartbeats of a patient's recordings, each one pseudo-trial: (T, P, S, L)."""
    diagnosis = DIAGNOSES[patient % len(DIAGNOSES)]
    signal = simulate(diagnosis, seed=patient, seconds=SECONDS, fs=FS)  # (n, L)
    trials = pseudo_trials(signal, FS, BEATS)[:RECORDINGS]  # (T, P * WINDOW, L)
    beats = trials.reshape(RECORDINGS, BEATS, WINDOW, -1)  # (T, P, WINDOW, L)
    return beats[:, :, ::EVERY].astype(np.float16)  # (T, P, S, L)


def patients_for(kind: Kind) -> Corpus:
    """The simulated patients, with report embeddings if the method needs text."""
    return simulated_patients(getattr(kind.Config(), "text_width", TEXT_WIDTH) if kind.needs_text else None)


def batch_of_size(kind: Kind, size: int, number: int = 0) -> Batch:
    """A batch of `size` random pairs; `number` seeds the draw."""
    corpus = patients_for(kind)
    seed_torch("tryout", number)
    return corpus.batch(torch.randperm(len(corpus.trial_of_pair))[:size], kind.Config().pairing)


def training_batch(kind: Kind, update: int) -> Batch:
    """The batch of update `update` (from 0), across epochs; seeds torch for the update."""
    corpus, config = patients_for(kind), kind.Config()
    trial, patient = corpus.trial_of_pair, corpus.patient_of_pair  # (N,), (N,)
    shape = epoch_shape(patient, config.batching, BATCH)
    epoch, step = divmod(update, shape.updates)
    order = epoch_order(trial, patient, shape, batching=config.batching, seed=0, epoch=epoch)  # (n, B)
    seed_torch("tryout", epoch, step)
    return corpus.batch(order[step], config.pairing)


def small_optimiser(method: PretrainMethod) -> torch.optim.Optimizer:
    """AdamW with a high learning rate, since the training is short."""
    return make_optimiser(method, Recipe(lr=RATE))


def train(method: PretrainMethod, optimiser: torch.optim.Optimizer, updates: Sequence[int]) -> list[float]:
    """Losses of the given updates, each a `train_step`."""
    kind = type(method)
    return [train_step(method, optimiser, training_batch(kind, n), RATE, "float32").item() for n in updates]


def copies(tensors: Mapping[str, Tensor]) -> State:
    """Copies of named tensors."""
    return {name: value.detach().clone() for name, value in tensors.items()}


def changed(before: State, after: Mapping[str, Tensor]) -> list[str]:
    """Names of the tensors whose bits differ."""
    return [name for name, value in before.items() if not torch.equal(bits(value), bits(after[name]))]


def bits(value: Tensor) -> Tensor:
    """The bytes of a tensor, so that NaN equals NaN."""
    return value.detach().contiguous().flatten().view(torch.uint8)


def same_in_evaluation(before: State, module: nn.Module) -> None:
    """Raise Broken where the state has changed."""
    for name in changed(before, module.state_dict()):
        raise Broken(f"{name} changes in evaluation: ask `if self.training` before the state is moved")


def sound_config(kind: type, base: type[MethodConfig] | type[EncoderConfig]) -> None:
    """Raise Broken where a class's Config is no dataclass of its own that extends `base`."""
    config = getattr(kind, "Config", None)
    if not (isinstance(config, type) and issubclass(config, base) and "__dataclass_fields__" in vars(config)):
        raise Broken(f"{kind.__name__}.Config: make it a @dataclass(frozen=True) that extends {base.__name__}")


def can_be_filed(config: MethodConfig | EncoderConfig) -> None:
    """Raise Broken where result keys, which hash the settings, cannot hold them."""
    try:
        digest(asdict(config))
    except (TypeError, ValueError) as error:
        raise Broken(f"{type(config).__name__} cannot be filed ({error}): use numbers, texts and lists") from error


def stated(kind: type, attribute: str, example: str) -> str:
    """A text that a class states. Raises Broken where it does not."""
    value = getattr(kind, attribute, None)
    if not (isinstance(value, str) and value):
        raise Broken(f"{kind.__name__}.{attribute} is {value!r}: give the class one, e.g. {attribute} = {example!r}")
    return value


def zeroed(module: nn.Module) -> None:
    """Zero the parameters, so that a tensor missing from a checkpoint shows."""
    with torch.no_grad():
        for parameter in module.parameters():
            parameter.zero_()


def outside_state(module: nn.Module) -> Iterator[tuple[str, Tensor | torch.Generator]]:
    """Path and value of each tensor or generator of a module that is in none of its parameters and buffers.

    A second name of a parameter, which torch's recurrent layers give to each of theirs, is no state of its own.
    """
    known = {id(tensor) for tensor in (*module.parameters(), *module.buffers())}
    for name, part in module.named_modules():
        for attribute, value in vars(part).items():
            if attribute in ("_parameters", "_buffers", "_modules"):
                continue
            for item in flat(value):
                if isinstance(item, Tensor | torch.Generator) and id(item) not in known:
                    yield f"{name}.{attribute}".lstrip("."), item


def flat(value: object) -> Iterator[object]:
    """A value and, recursively, the elements of a list, tuple, set or dict."""
    yield value
    inner = value.values() if isinstance(value, dict) else value if isinstance(value, (list, tuple, set)) else ()
    for item in inner:
        yield from flat(item)


MESSAGE_WIDTH = 200


def in_one_line(error: Exception) -> str:
    """Type of an error and the first line of its message, truncated."""
    first_line = next(iter(str(error).splitlines()), "without a message")
    return f"{type(error).__name__}: {shorten(first_line, MESSAGE_WIDTH, placeholder=' ...')}"


SIZES = (2, 7, 40)
HALF_PRECISION_DRIFT, HALF_PRECISION_FLOOR = 0.06, 3e-2
"""Tolerance of a loss under bf16: relative, and absolute for a loss near 0, as a mean cosine begins."""
FALL = 0.05
"""Required relative decrease of the loss in the short training."""
BATCHES, ROUNDS = 8, 4
"""Batches of the short training, and passes over them."""
SETTLED = 2
"""Batches until the small queue is full; losses of the first and last round are compared from here on."""


def builds(kind: Kind, encoder: EncoderKind = SHARED) -> str:
    """The default config is valid and builds a method."""
    sound_config(kind, MethodConfig)
    config = kind.Config()
    can_be_filed(config)
    parameters = list(kind(encoder(encoder.Config.small()), config).parameters())
    learning = sum(p.numel() for p in parameters if p.requires_grad)
    followers = sum(p.numel() for p in parameters) - learning
    return f"{learning:,} parameters that learn and {followers:,} that do not, with a small encoder"


def says_who_it_is(kind: Kind, encoder: EncoderKind = SHARED) -> str:
    """The class has a name for the command line and a title for tables."""
    return f"{stated(kind, 'name', 'my-method')}, printed as {stated(kind, 'title', 'My method')}"


def hands_on_an_encoder(kind: Kind, encoder: EncoderKind = SHARED) -> str:
    """`exported()` is an encoder of the given sizes."""
    method = small_method(kind, encoder)
    exported = method.exported()
    if not (isinstance(exported, encoder) and exported.config == encoder.Config.small()):
        raise Broken(f"exported() is {type(exported).__name__}: return the encoder it was given, or a copy of that")
    if exported.dropout != kind.Config().encoder_dropout:
        raise Broken(f"its dropout is {exported.dropout:g}: leave it at the config's encoder_dropout")
    return "the trained one" if exported is method.encoder else "a copy of the trained one"


def has_a_finite_loss(kind: Kind, encoder: EncoderKind = SHARED) -> str:
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


def trains_the_encoder(kind: Kind, encoder: EncoderKind = SHARED) -> str:
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


def keeps_gradients_from_copies(kind: Kind, encoder: EncoderKind = SHARED) -> str:
    """Parameters that the method updates itself require no gradient and are not changed by the optimiser."""
    method = small_method(kind, encoder)
    method.begin(3)
    optimiser = small_optimiser(method)
    parameters = dict(method.named_parameters())
    moved: set[str] = set()
    for update in range(3):
        before = copies(parameters)
        optimiser.zero_grad()
        method(training_batch(kind, update)).backward()
        moved.update(changed(before, parameters))
        before = copies(parameters)
        optimiser.step()
        for name in changed(before, parameters):
            if not parameters[name].requires_grad:
                raise Broken(f"the optimiser moves {name}, which is frozen: copy it, so that it shares no memory")
        before = copies(parameters)
        method.after_step()
        moved.update(changed(before, parameters))
    for name in sorted(moved):
        if parameters[name].requires_grad or parameters[name].grad is not None:
            raise Broken(f"{name} is moved by the method and learns too: freeze it, as momentum_copy does")
    return f"{len(moved)} tensors follow others, without a gradient" if moved else "there is none"


def leaves_state_alone_in_evaluation(kind: Kind, encoder: EncoderKind = SHARED) -> str:
    """In evaluation the loss is finite and no tensor of the state changes."""
    method = small_method(kind, encoder).eval()
    before = copies(method.state_dict())
    with torch.no_grad():
        loss = method(training_batch(kind, 0))
    if not loss.isfinite():
        raise Broken(f"the loss in evaluation is {loss.item()}: it must be finite there too")
    same_in_evaluation(before, method)
    return f"{len(before)} tensors unchanged"


def keeps_its_state_in_its_checkpoint(kind: Kind, encoder: EncoderKind = SHARED) -> str:
    """No tensor or generator is stored outside parameters and buffers."""
    method = small_method(kind, encoder)
    train(method, small_optimiser(method), range(2))
    for path, item in outside_state(method):
        if isinstance(item, torch.Generator):
            raise Broken(f"{path} holds a torch.Generator: draw from torch's default one, which the trainer seeds")
        raise Broken(f"{path} holds a tensor that no checkpoint has: use register_buffer")
    return f"{len(method.state_dict())} tensors, all in parameters and buffers"


def resumes(kind: Kind, encoder: EncoderKind = SHARED) -> str:
    """A step after loading a checkpoint into a new method is bit-identical."""
    method = small_method(kind, encoder)
    method.begin(4)
    optimiser = small_optimiser(method)
    train(method, optimiser, range(3))
    saved = deepcopy((method.state_dict(), optimiser.state_dict()))
    (expected,) = train(method, optimiser, [3])
    resumed = small_method(kind, encoder)
    zeroed(resumed)
    resumed_optimiser = small_optimiser(resumed)
    resumed.load_state_dict(saved[0])
    resumed_optimiser.load_state_dict(saved[1])
    resumed.begin(4)
    (loss,) = train(resumed, resumed_optimiser, [3])
    wrong = changed(method.state_dict(), resumed.state_dict())
    if str(loss) != str(expected) or wrong:
        what = f"{wrong[0]} differs" if wrong else f"the loss is {loss!r} instead of {expected!r}"
        raise Broken(f"after loading, {what}: keep all state in buffers and draw from torch's default generator")
    return f"loss {loss:.4g} and {len(saved[0])} tensors, bit for bit"


def takes_any_batch_size(kind: Kind, encoder: EncoderKind = SHARED) -> str:
    """Accepts batches smaller and larger than the queue, and sizes that do not divide it."""
    for size in SIZES:
        method = small_method(kind, encoder)
        for number in range(3):
            sound_loss(method(batch_of_size(kind, size, number))).backward()  # type: ignore[no-untyped-call]
    return f"{', '.join(map(str, SIZES[:-1]))} and {SIZES[-1]} windows"


def stands_half_precision(kind: Kind, encoder: EncoderKind = SHARED) -> str:
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


def learns(kind: Kind, encoder: EncoderKind = SHARED) -> str:
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


WINDOWS, STEPS, LEADS = 4, 48, 12
PAPER_STEPS = 300
SHAPES = ((300, 12), (250, 12), (101, 12), (48, 1), (33, 8), (16, 12))
"""(S, L): heartbeats, windows of other rates, odd lengths, few leads."""
CLOSE = 1e-4
"""Tolerance in float32, relative to the largest value."""
ENCODER_DRIFT = 0.05
"""Tolerance under bf16, relative, of the norm over a batch."""
ENCODER_UPDATES = 2


def encoder_builds(kind: EncoderKind) -> str:
    """The default config builds an encoder; returns its parameters and multiplications per window."""
    sound_config(kind, EncoderConfig)
    try:
        config = built(kind.Config, {}, f"{kind.Config.__name__}.")
    except ValueError as error:
        raise Broken(f"{error}: give every knob a default") from None
    can_be_filed(config)
    if why := config.unfit(PAPER_STEPS):
        raise Broken(f"the defaults refuse heartbeats of {PAPER_STEPS} samples ({why}): choose sizes that take them")
    encoder = kind(config)
    parameters = sum(parameter.numel() for parameter in encoder.parameters())
    millions = multiplications(encoder, PAPER_STEPS) / 1e6
    return f"{parameters:,} parameters, {millions:,.1f} million multiplications for a window of {PAPER_STEPS} samples"


def encoder_says_who_it_is(kind: EncoderKind) -> str:
    """The class has a name."""
    return stated(kind, "name", "my-encoder")


def small(kind: EncoderKind, **changes: float) -> Encoder:
    """A small encoder with fixed initial weights."""
    seed_torch("tryout", "encoder")
    return kind(replace(kind.Config.small(), **changes))  # type: ignore[arg-type]


def noise_windows(number: int = 0, windows: int = WINDOWS, steps: int = STEPS, leads: int = LEADS) -> Tensor:
    """Windows of noise, (B, S, L)."""
    generator = torch.Generator().manual_seed(number)
    return torch.randn(windows, steps, leads, generator=generator)  # (B, S, L)


def keeps_to_shapes(kind: EncoderKind) -> str:
    """Output shapes for windows of several lengths and numbers of leads, or a line on why it refuses a length."""
    if why := kind.Config.small().unfit(STEPS):
        raise Broken(f"small() refuses windows of {STEPS} samples ({why}): choose sizes that take them")
    seen = []
    for steps, leads in SHAPES:
        encoder = small(kind, leads=leads)
        if why := encoder.config.unfit(steps):
            if len(why.splitlines()) != 1:
                raise Broken(f"unfit({steps}) gives {why!r}: say in one line what is possible")
            seen.append(f"{steps} refused")
            continue
        width, x = encoder.config.output, noise_windows(steps=steps, leads=leads)  # (B, S, L)
        embedded, out, pooled = encoder.embed(x), encoder(x), encoder.pooled(x)
        at = f"of windows {tuple(x.shape)}"
        if embedded.ndim != 3 or len(embedded) != len(x):
            raise Broken(f"embed {at} gives {tuple(embedded.shape)}: give (B, S, D), samples and time in front")
        if out.ndim != 3 or len(out) != len(x) or not 1 <= out.shape[1] <= steps or out.shape[2] != width:
            raise Broken(f"forward {at} gives {tuple(out.shape)}: give (B, S', K) with S' <= S and K = {width}")
        if pooled.shape != (len(x), width):
            raise Broken(f"pooled {at} gives {tuple(pooled.shape)}: give (B, K) with K = {width}")
        seen.append(f"{steps} -> {out.shape[1]}")
    return f"K = {width}, time steps {', '.join(seen)}; leads {', '.join(map(str, sorted({n for _, n in SHAPES})))}"


def learns_with_every_parameter(kind: EncoderKind) -> str:
    """Every parameter gets a finite gradient through `forward` and through `pooled`."""
    for way in ("forward", "pooled"):
        encoder = small(kind).train()
        out = getattr(encoder, way)(noise_windows())
        (out * torch.randn_like(out)).sum().backward()
        for name, parameter in encoder.named_parameters():
            if not parameter.requires_grad:
                raise Broken(f"{name} is frozen: the encoder has to learn")
            if way == "forward" and name in kind.of_pooled:
                continue
            if parameter.grad is None:
                raise Broken(f"{name} gets no gradient through {way}: use it, or leave it out")
            if not parameter.grad.isfinite().all():
                raise Broken(f"the gradient of {name} through {way} is not finite")
    return f"a finite gradient for all {len(list(encoder.parameters()))} tensors"


def is_its_state(kind: EncoderKind) -> str:
    """After a training pass, config and state_dict rebuild an encoder with equal outputs and contain all tensors."""
    encoder = small(kind).train()
    encoder(noise_windows())
    for path, _ in outside_state(encoder):
        raise Broken(f"{path} holds a tensor or generator that no checkpoint has: use register_buffer")
    seed_torch("tryout", "another encoder")
    loaded = kind(encoder.config)
    zeroed(loaded)
    loaded.load_state_dict(encoder.state_dict(), strict=True)
    x = noise_windows(1)
    if not torch.equal(encoder.eval()(x), loaded.eval()(x)):
        raise Broken(
            "after loading, the outputs differ: keep all state in parameters and buffers, all else in the config"
        )
    return f"{len(encoder.state_dict())} tensors; loaded strictly, the same bits"


@torch.no_grad()
def is_settled_in_evaluation(kind: EncoderKind) -> str:
    """In evaluation: no random draws, no change of state, and each window is independent of its batch."""
    encoder, x = small(kind, dropout=0.5).eval(), noise_windows()
    before, generator = copies(encoder.state_dict()), torch.get_rng_state()
    both = encoder(x), encoder(x)
    same_in_evaluation(before, encoder)
    if not torch.equal(generator, torch.get_rng_state()) or not torch.equal(*both):
        raise Broken("it draws random numbers in evaluation: ask `if self.training` before anything is drawn")
    alone = torch.cat([encoder(window) for window in torch.split(x, 1)])  # (B, S', K)
    if not close(alone, both[0]):
        raise Broken("a window's output in evaluation depends on the windows beside it")
    return f"{len(before)} tensors unchanged, the same bits twice, each window by itself"


@torch.no_grad()
def pools_as_it_says(kind: EncoderKind) -> str:
    """`pooled` is the mean over time of `forward`, in training and in evaluation, unless the class says otherwise."""
    if kind.pooling != MEAN:
        return f"{kind.pooling}, as it says"
    for training in (True, False):
        encoder, x = small(kind).train(training), noise_windows()
        if not close(encoder.pooled(x), encoder(x).mean(1)):
            mode = "training" if training else "evaluation"
            raise Broken(f"in {mode} pooled is not the mean over time of forward: a shortcut must be exact")
    return f"the {MEAN} of forward, in training and in evaluation"


@torch.no_grad()
def drops_out_in_training(kind: EncoderKind) -> str:
    """Dropout zeroes outputs in training only."""
    x = noise_windows()
    kept, whole = small(kind, dropout=0.5).train()(x), small(kind).train()(x)  # (B, S', K)
    share = float((kept[whole != 0] == 0).float().mean())
    if not 0.3 < share < 0.7:
        raise Broken(f"a dropout of 0.5 hides {share:.0%} of the outputs: leave it to Encoder.forward")
    if not torch.equal(small(kind, dropout=0.5).eval()(x), small(kind).eval()(x)):
        raise Broken("dropout acts in evaluation: ask `if self.training`")
    return f"0.5 hides {share:.0%} of the outputs in training, none in evaluation"


def close(ours: Tensor, theirs: Tensor) -> bool:
    """Equal up to `CLOSE`."""
    return bool((ours - theirs).abs().max() <= CLOSE * theirs.abs().max().clamp(min=1e-12))


@torch.no_grad()
def lets_a_mask_act(kind: EncoderKind) -> str:
    """A mask is called once, on the output of `embed`, and the rest of the encoder reads only its result."""
    encoder = small(kind).eval()
    x, other = noise_windows(0), noise_windows(1)
    for way in ("forward", "pooled"):
        run = getattr(encoder, way)
        given: list[Tensor] = []

        def watch(h: Tensor, given: list[Tensor] = given) -> Tensor:
            given.append(h.clone())
            return h

        watched = run(x, watch)
        if len(given) != 1 or not torch.equal(given[0], encoder.embed(x)):
            raise Broken(
                f"{way} calls a mask {len(given)} times, not once with what embed gives: use self.masked(x, mask)"
            )
        if not close(watched, run(x)):
            raise Broken(f"{way} with a mask that hides nothing differs from {way} without one")
        if not torch.equal(run(x, torch.zeros_like), run(other, torch.zeros_like)):
            raise Broken(f"{way} sees the window past a mask that hides all of it: compute from the masked input alone")
        if close(run(x, half_hidden), run(x)):
            raise Broken(f"{way} does not depend on what a mask hides")
    return f"once, on {tuple(given[0].shape[1:])} of a window; nothing passes beside it"


def half_hidden(h: Tensor) -> Tensor:
    """Zero the second half of the time steps: (B, S, D) -> (B, S, D)."""
    return torch.cat([h[:, : h.shape[1] // 2], torch.zeros_like(h[:, h.shape[1] // 2 :])], 1)  # (B, S, D)


def takes_one_window(kind: EncoderKind) -> str:
    """A batch of one window gives finite outputs and gradients in training."""
    encoder = small(kind).train()
    encoder.pooled(noise_windows(windows=1)).square().sum().backward()  # type: ignore[no-untyped-call]
    if not all(parameter.grad.isfinite().all() for parameter in encoder.parameters() if parameter.grad is not None):
        raise Broken("of one window a gradient is not finite: look for statistics over the batch alone")
    return "finite gradients"


def encoder_stands_half_precision(kind: EncoderKind) -> str:
    """Under bf16 autocast `pooled` is close to float32, in training and in evaluation."""
    # Batch normalisation over the few steps of a short window would show its own noise.
    steps = STEPS if kind.Config.small().unfit(PAPER_STEPS) else PAPER_STEPS
    found = []
    for training in (True, False):
        encoder, x = small(kind).train(training), noise_windows(steps=steps)
        exact = encoder.pooled(x)  # (B, K)
        with autocast(x.device, "bf16"):
            half = encoder.pooled(x)  # (B, K)
        half.float().square().sum().backward()  # type: ignore[no-untyped-call]
        found.append(float((half.float() - exact).detach().norm() / exact.detach().norm()))
        if not found[-1] < ENCODER_DRIFT:
            raise Broken(f"bf16 moves pooled by {found[-1]:.1%}: keep normalisation and sums in float32")
    return f"bf16 moves pooled by {max(found):.2%}"


@torch.no_grad()
def leaves_tokens_out(kind: EncoderKind) -> str:
    """An encoder of tokens gives the samples of each token, and reads no token that is not kept."""
    if not kind.tokens:
        return "it has none, as it says"
    encoder, x = small(kind).eval(), noise_windows()
    patches, embedded = encoder.patches(x), encoder.embed(x)  # (B, N, P), (B, N, D)
    if patches.shape[:2] != embedded.shape[:2] or patches.numel() != x.numel():
        raise Broken(f"patches of {tuple(x.shape)} are {tuple(patches.shape)}: give the samples of each of the tokens")
    if not torch.equal(patches.flatten().sort().values, x.flatten().sort().values):
        raise Broken("patches changes the samples: give them as they are, each once")
    kept = torch.stack([torch.randperm(embedded.shape[1])[:3] for _ in x])  # (B, M)
    chosen = encoder.kept_steps(embedded, kept)  # (B, M, K)
    if chosen.shape != (*kept.shape, encoder.config.output):
        raise Broken(f"kept_steps of {tuple(kept.shape)} tokens gives {tuple(chosen.shape)}: give (B, M, K)")
    hidden = torch.zeros_like(embedded).scatter(1, kept[..., None].expand(-1, -1, embedded.shape[2]), 1.0)  # (B, N, D)
    if not torch.equal(encoder.kept_steps(embedded * hidden, kept), chosen):
        raise Broken("kept_steps depends on tokens that are not kept: put those kept through the blocks alone")
    if not close(encoder.kept_steps(embedded, kept.flip(1)).flip(1), chosen):
        raise Broken("kept_steps gives the tokens in another order than `kept`")
    return f"{embedded.shape[1]} tokens of {patches.shape[2]} samples; those left out have no influence"


def is_learned_by_every_method(kind: EncoderKind) -> str:
    """Every method trains it for some steps: finite loss, and every encoder parameter changes."""
    trained = []
    for name, method_class in METHODS.items():
        if not method_class.trains or refusal(method_class, kind):
            continue
        method = small_method(method_class, kind)
        parameters = dict(method.encoder.named_parameters())
        before = copies(parameters)
        losses = train(method, small_optimiser(method), range(ENCODER_UPDATES))
        if not torch.tensor(losses).isfinite().all():
            raise Broken(f"{name}: the losses are {losses}")
        still = {*before} - {*changed(before, parameters)} - {*kind.of_pooled}
        if still:
            raise Broken(f"{name}: {min(still)} stays where it was")
        trained.append(name)
    return f"{', '.join(trained)} take {ENCODER_UPDATES} steps each"


def says_what_it_is(kind: ExternalKind) -> str:
    """Name, title, signals, width, licence and pretraining data are stated."""
    told_of(kind)
    return f"{kind.title}, licence {kind.licence}, pretrained on {words_of(kind)}; reads {kind.signals.words()}"


def brings_its_weights(kind: ExternalKind) -> str:
    """The files of its weights are there and are read; returns how many parameters they hold."""
    files = len(kind.external_files()["weights"])
    parameters = sum(parameter.numel() for parameter in kind.loaded().parameters())
    if not files and not parameters:
        raise Broken(f"{kind.__name__}.weights names no file: name those that load() reads, so that an edit is noticed")
    held = f"{parameters:,} parameters" if parameters else "parameters that torch does not see"
    return f"{files} file{'' if files == 1 else 's'}, {held}"


def gives_its_features(kind: ExternalKind) -> str:
    """Windows give as many finite numbers as stated, the same at each call, each window for itself."""
    tried(kind)
    own = kind.signals
    return f"{kind.features} numbers a window of {own.samples} samples and {len(own.leads)} leads"


def is_the_same_when_loaded_again(kind: ExternalKind) -> str:
    """Loading it twice gives equal features: no weight is left as it was drawn."""
    one, other = (features(kind.loaded(), kind) for _ in range(2))
    if not torch.equal(one, other):
        raise Broken("loading it twice gives other features: load() has to set every weight")
    return "equal features after loading it twice"


def is_as_precise_at_any_precision(kind: ExternalKind) -> str:
    """Under bfloat16 its features are those in float32."""
    encoder, x = kind.loaded(), noise(kind)  # (n, S, 12)
    with torch.no_grad(), autocast(x.device, "bf16"):
        half = encoder.pooled(x)  # (n, K)
    if not torch.equal(half, features(encoder, kind)):
        raise Broken("under bfloat16 its features differ: leave the precision to the suite, which runs it in float32")
    return "float32 at any precision of a run"


def is_fine_tuned_or_says_why_not(kind: ExternalKind) -> str:
    """A copy learns from a step and the original stays; or the reason why it cannot be fine-tuned."""
    if why := kind.frozen:
        return f"not fine-tuned: {why}; its cells there are dashes"
    encoder, x = kind.loaded(), noise(kind)  # (n, S, 12)
    before = features(encoder, kind)
    copied = deepcopy(encoder).train()
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
def features(encoder: PretrainedEncoder, kind: ExternalKind) -> Tensor:
    """Features (n, K) of windows of noise."""
    return encoder.eval().pooled(noise(kind))  # (n, K)
