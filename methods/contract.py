"""The contract of methods and encoders as plain checks, for pytest and for the command `check`.

    @pytest.mark.parametrize("check", METHOD_CHECKS)
    def test_mine(check): check(Mine, Dilated)

    @pytest.mark.parametrize("check", ENCODER_CHECKS)
    def test_my_encoder(check): check(MyEncoder)

A check raises AssertionError, or the error that the class raised; where it has nothing to try, it returns why. Encoders
have their small sizes, windows are noise, and twelve of them are of six recordings of four patients.
"""

from __future__ import annotations

import json
from collections.abc import Sequence
from contextlib import suppress
from copy import deepcopy
from dataclasses import asdict, fields, replace
from typing import Any, TypeAlias

import torch
from torch import Tensor
from torch.optim import Optimizer

from methods import METHODS
from methods.base import Batch, MethodConfig, PretrainMethod
from methods.encoders.base import MEAN, Encoder, EncoderConfig, refuse_lazy
from methods.encoders.pretrained import PretrainedEncoder

MethodClass: TypeAlias = type[PretrainMethod]
EncoderClass: TypeAlias = type[Encoder]
SAMPLES, LEADS, SIZE = 48, 12, 12
PARTS, MOST_SHIFT = 8, 0.3
"""Parts of a window, on one of which a step depends most, and how far off that may lie, as a share of the window."""
SMALL = {"queue_size": 24, "negatives": 24, "momentum": 0.9, "time_mask": 0.1, "decoder_width": 32, "decoder_depth": 1}
"""Hyperparameters, of the methods that have them, with which 30 updates show whether a method learns."""


def new_encoder(encoder_class: EncoderClass, **changes: Any) -> Encoder:
    """Build a small encoder with fixed initial weights. Raises ValueError for lazy layers."""
    torch.manual_seed(0)
    encoder = encoder_class(replace(encoder_class.Config.small(), **changes))
    refuse_lazy(encoder)
    return encoder


def new_method(method_class: MethodClass, encoder: EncoderClass) -> PretrainMethod:
    """Build a method with a short queue around a small encoder, with fixed initial weights."""
    small: Any = {field.name: SMALL[field.name] for field in fields(method_class.Config) if field.name in SMALL}
    return method_class(new_encoder(encoder), method_class.Config(**small))


def noise(windows: int = 4, samples: int = SAMPLES, leads: int = LEADS, seed: int = 1) -> Tensor:
    """Draw windows (B, S, L)."""
    return torch.randn(windows, samples, leads, generator=torch.Generator().manual_seed(seed))  # (B, S, L)


def batch_of(method_class: MethodClass, size: int = SIZE, seed: int = 0) -> Batch:
    """Draw two noisy views of each of `size` windows, two windows a recording, for a method's forward."""
    x = noise(size, seed=3 * seed).cumsum(1) / SAMPLES**0.5  # (B, S, L)
    x1, x2 = (x + 0.1 * noise(size, seed=3 * seed + view) for view in (1, 2))  # (B, S, L), (B, S, L)
    recording = torch.arange(size) // 2  # (B,)
    text = None
    if method_class.needs_text:
        width = getattr(method_class.Config(), "text_width", 1)
        text = noise(size, 1, width, seed)[:, 0]  # (B, E)
    return Batch(x1, x2, recording % 4 + 1, recording, recording, text)


def refusal_of(method_class: MethodClass, encoder: EncoderClass) -> str:
    """Return the ValueError by which a method or an encoder at its small size refuses the other; '' for none.

    Any other error is a fault of the code and no refusal: the checks name it.
    """
    with suppress(Exception):
        try:
            if method_class.trains:
                new_method(method_class, encoder)(batch_of(method_class))
        except ValueError as error:
            return str(error)
    return ""


def update(method: PretrainMethod, optimiser: Optimizer, seed: int) -> Tensor:
    """Do one step of training; returns the loss, 0-d."""
    torch.manual_seed(seed)
    optimiser.zero_grad()
    loss: Tensor = method(batch_of(type(method), seed=seed))
    loss.backward()  # type: ignore[no-untyped-call]
    optimiser.step()
    method.after_step()
    return loss.detach()


def assert_same(before: dict[str, Tensor], after: dict[str, Tensor], why: str) -> None:
    """Raise AssertionError for the first tensor that differs."""
    for name, value in before.items():
        assert torch.equal(value, after[name]), f"{name} {why}"


def assert_close(ours: Tensor, theirs: Tensor, why: str) -> None:
    """Raise AssertionError where float32 values differ by more than rounding."""
    assert (ours - theirs).abs().max() <= 1e-4 * theirs.abs().max().clamp(min=1e-12), why


def assert_named(model_class: type, base: type[MethodConfig] | type[EncoderConfig], *attributes: str) -> None:
    """Raise AssertionError where a class lacks a text, or a Config that extends `base` and that a key can hold."""
    for name in attributes:
        assert getattr(model_class, name, ""), f"{model_class.__name__}.{name} is empty: give the class one"
    config: Any = getattr(model_class, "Config", None)
    sound = isinstance(config, type) and issubclass(config, base) and "__dataclass_fields__" in vars(config)
    assert sound, f"{model_class.__name__}.Config: make it a @dataclass(frozen=True) that extends {base.__name__}"
    json.dumps(asdict(config()))


def is_built_from_its_config(method_class: MethodClass, encoder: EncoderClass) -> None:
    """It has a name, a title and a config with defaults, and exports an encoder of the sizes that it was given."""
    assert_named(method_class, MethodConfig, "name", "title")
    exported = new_method(method_class, encoder).exported()
    same = isinstance(exported, encoder) and exported.config == encoder.Config.small()
    assert same, f"exported() gives {type(exported).__name__}: return the encoder it was given, or a copy of that"
    assert exported.dropout == method_class.Config().encoder_dropout, "leave the encoder's dropout at the config's"


def loss_is_a_finite_scalar(method_class: MethodClass, encoder: EncoderClass) -> None:
    """The loss is finite for batches smaller and larger than the queue, and under bf16 close to that in float32."""
    losses = {}
    for size, half in ((2, False), (7, False), (40, False), (40, True)):
        method = new_method(method_class, encoder)
        with torch.autocast("cpu", torch.bfloat16, enabled=half):
            loss = [method(batch_of(method_class, size, seed)) for seed in range(2)][-1]
        assert loss.shape == (), f"forward gives a tensor of shape {tuple(loss.shape)}: give the loss, 0-d"
        assert loss.dtype == torch.float32, f"the loss is {loss.dtype}: compute it in float32"
        assert loss.isfinite(), f"the loss is {loss.item()} for {size} pairs: look for a log of 0 or an empty mean"
        losses[half] = loss.item()
    drift = abs(losses[True] - losses[False])
    assert drift < max(0.06 * abs(losses[False]), 0.03), f"bf16 moves the loss by {drift:.2g}: compute it in float32"


def gradients_reach_the_encoder(method_class: MethodClass, encoder: EncoderClass) -> None:
    """Every parameter that learns has a finite gradient, and the encoder's is not zero."""
    method = new_method(method_class, encoder)
    method(batch_of(method_class))
    method(batch_of(method_class, seed=1)).backward()
    for name, parameter in method.named_parameters():
        assert parameter.requires_grad or not name.startswith("encoder."), f"{name} is frozen: the encoder has to learn"
        if parameter.requires_grad and name.removeprefix("encoder.") not in encoder.pooled_only:
            assert parameter.grad is not None, f"{name} has no gradient: use it in the loss, or requires_grad_(False)"
            assert parameter.grad.isfinite().all(), f"the gradient of {name} is not finite"
    gradients = [parameter.grad for parameter in method.encoder.parameters() if parameter.grad is not None]
    assert any(gradient.any() for gradient in gradients), "the loss does not depend on the encoder"


def last_loss(method_class: MethodClass, encoder: EncoderClass, batches: Sequence[Batch]) -> Tensor:
    """Compute the loss of the last of some batches, when a queue has the keys of the others: 0-d."""
    method = new_method(method_class, encoder)
    for batch in batches:
        torch.manual_seed(0)
        loss: Tensor = method(batch)
    return loss.detach()


def uses_both_views(method_class: MethodClass, encoder: EncoderClass) -> str | None:
    """The loss depends on the second view, unless the method's `pairing` gives it the first one again."""
    if method_class.Config().pairing == "same":
        return "its pairing is same"
    batches = [batch_of(method_class, seed=seed) for seed in range(2)]
    changed = [batch._replace(x2=batch.x2.flip(1)) for batch in batches]
    is_same = torch.equal(last_loss(method_class, encoder, batches), last_loss(method_class, encoder, changed))
    remedy = 'use both views, or set `pairing: Pairing = "same"` in the config'
    assert not is_same, f"the loss does not depend on x2: {remedy}"
    return None


def compares_ids_alone(method_class: MethodClass, encoder: EncoderClass) -> None:
    """Other numbers of the same patients, recordings and trials give the same loss."""
    batches = [batch_of(method_class, seed=seed) for seed in range(2)]
    loss = last_loss(method_class, encoder, batches)
    other = last_loss(method_class, encoder, [renumbered(batch) for batch in batches])
    assert_close(other, loss, "the loss computes with the numbers of patients, recordings or trials: compare them")


def renumbered(batch: Batch) -> Batch:
    """Give patients, recordings and trials of a batch other numbers, in the reverse order."""
    patient, recording, trial = (3 * (ids.max() + 1 - ids) for ids in (batch.patient, batch.recording, batch.trial))
    return batch._replace(patient=patient, recording=recording, trial=trial)


def evaluation_changes_nothing(method_class: MethodClass, encoder: EncoderClass) -> None:
    """Evaluation gives a finite loss, and moves no parameter and no buffer."""
    method = new_method(method_class, encoder).eval()
    before = deepcopy(method.state_dict())
    with torch.no_grad():
        assert method(batch_of(method_class)).isfinite(), "the loss is not finite in evaluation"
    assert_same(before, method.state_dict(), "changes in evaluation: ask `if self.training`")


def resumes_to_the_bit(method_class: MethodClass, encoder: EncoderClass) -> None:
    """A step after loading the state into a new method is that of the method that went on."""
    methods = [new_method(method_class, encoder) for _ in range(2)]
    optimisers = [torch.optim.AdamW(method.parameters(), lr=1e-2) for method in methods]
    for method in methods:
        method.begin(4)
    for seed in range(3):
        update(methods[0], optimisers[0], seed)
    for trained, resumed in (methods, optimisers):
        resumed.load_state_dict(deepcopy(trained.state_dict()))
    losses = [update(method, optimiser, 3) for method, optimiser in zip(methods, optimisers, strict=True)]
    assert torch.equal(*losses), "the loss differs after loading: keep all state in parameters and buffers"
    assert_same(methods[0].state_dict(), methods[1].state_dict(), "differs after loading: keep all state in buffers")


def learns(method_class: MethodClass, encoder: EncoderClass) -> None:
    """The loss on the same six batches falls by 5 %."""
    method = new_method(method_class, encoder)
    method.begin(30)
    optimiser = torch.optim.AdamW(method.parameters(), lr=1e-2)  # a high rate, since the training is short
    losses = [float(update(method, optimiser, step % 6)) for step in range(30)]
    first = sum(losses[2:6]) / 4  # from the third on the short queue is full
    last = sum(losses[-4:]) / 4
    assert first - last > 0.05 * abs(first), f"the loss goes from {first:.3g} to {last:.3g}: it must fall by 5 %"


METHOD_CHECKS = (
    is_built_from_its_config, loss_is_a_finite_scalar, gradients_reach_the_encoder, uses_both_views,
    compares_ids_alone, evaluation_changes_nothing, resumes_to_the_bit, learns,
)  # fmt: skip
"""Checks of a method that trains; the first one is that of a method that does not."""


def shapes_follow_the_config(encoder_class: EncoderClass) -> None:
    """It has a name, and outputs of the config's width for the lengths, leads and widths that it takes."""
    assert_named(encoder_class, EncoderConfig, "name")
    encoder_class.Config().check_length(300)  # type: ignore[call-arg]
    assert encoder_class.Config.small().takes(SAMPLES), (
        f"small() takes no windows of {SAMPLES} samples: give sizes that do"
    )
    embedded_shapes = {}
    for samples, leads in ((SAMPLES, LEADS), (300, LEADS), (101, LEADS), (SAMPLES, 1)):
        encoder = new_encoder(encoder_class, leads=leads)
        try:
            if encoder.config.takes(samples):
                embedded_shapes[samples, leads] = outputs_have_shapes(encoder, samples)
        except RuntimeError as error:
            if leads == LEADS:
                raise
            raise AssertionError(f"it takes {LEADS} leads alone: use config.leads for that number ({error})") from error
    with suppress(ValueError):  # of a width that its config refuses
        outputs_have_shapes(new_encoder(encoder_class, output=2 * encoder_class.Config.small().output), SAMPLES)
    widths = {shape[2] for shape in embedded_shapes.values()}
    assert widths != {LEADS, 1}, "embed gives leads, on which masks would act: embed them, e.g. by nn.Linear(leads, D)"
    of_lengths = {shape[2] for (_, leads), shape in embedded_shapes.items() if leads == LEADS}
    assert len(of_lengths) == 1, "the last axis of embed follows the samples: give (B, S, D), e.g. by .mT at its end"


def outputs_have_shapes(encoder: Encoder, samples: int) -> torch.Size:
    """Raise AssertionError for an output that has not its shape; returns that of the embedded input."""
    width = encoder.config.output
    x = noise(samples=samples, leads=encoder.config.leads)  # (B, S, L)
    embedded = encoder.embed(x)
    steps = encoder(x)
    pooled = encoder.pooled(x)
    assert embedded.ndim == 3, f"embed gives {tuple(embedded.shape)}: give (B, S, D)"
    assert steps.shape == (len(x), steps.shape[1], width), f"forward gives {tuple(steps.shape)}: give (B, S', {width})"
    assert pooled.shape == (len(x), width), f"pooled gives {tuple(pooled.shape)}: give (B, {width})"
    return embedded.shape


@torch.no_grad()
def steps_are_in_the_order_of_time(encoder_class: EncoderClass) -> str | None:
    """Each step depends most on its own part of the window, counted from the end: more steps may stand in front."""
    encoder = new_encoder(encoder_class).eval()
    x, other = (noise(8, 300 if encoder.config.takes(300) else SAMPLES, seed=seed) for seed in (1, 2))  # (B, S, L)
    steps = encoder(x)  # (B, S', K)
    number = min(steps.shape[1], encoder.embed(x).shape[1])
    if number < 2:
        return "a window has one step"
    changes = []
    for n in range(PARTS):
        part = slice(n * x.shape[1] // PARTS, (n + 1) * x.shape[1] // PARTS)
        changed = x.clone()  # (B, S, L)
        changed[:, part] = other[:, part]
        changes.append((encoder(changed) - steps).norm(dim=2).mean(0)[-number:])  # (number,)
    part_of_step = torch.stack(changes).argmax(0)  # (number,)
    position = (part_of_step + 0.5) / PARTS  # (number,)
    expected = (torch.arange(number) + 0.5) / number  # (number,)
    step = int((position - expected).abs().argmax())
    assert abs(position[step] - expected[step]) < MOST_SHIFT, (
        f"step {step + 1} of {number} depends most on part {part_of_step[step] + 1} of {PARTS} of the window: give the "
        "steps in the order of time, and a step for all of the window, if there is one, in front"
    )
    return None


def every_parameter_learns(encoder_class: EncoderClass) -> None:
    """One window gives each parameter a finite gradient; bf16 moves `pooled` by less than 5 %."""
    encoder = new_encoder(encoder_class).train()
    encoder.pooled(noise(1)).square().sum().backward()  # type: ignore[no-untyped-call]
    for name, parameter in encoder.named_parameters():
        sound = parameter.grad is not None and parameter.grad.isfinite().all()
        assert sound, f"{name} has no finite gradient through pooled of one window"
    encoder = new_encoder(encoder_class)
    x = noise(samples=300 if encoder.config.takes(300) else SAMPLES)  # (B, S, L)
    with torch.no_grad():
        exact = encoder.pooled(x)  # (B, K)
        with torch.autocast("cpu", torch.bfloat16):
            drift = float((encoder.pooled(x).float() - exact).norm() / exact.norm())
    assert drift < 0.05, f"bf16 moves pooled by {drift:.1%}: keep normalisation and sums in float32"


@torch.no_grad()
def windows_are_independent(encoder_class: EncoderClass) -> None:
    """Evaluation embeds each window alone: it depends on no other window, and draws no random number."""
    encoder = new_encoder(encoder_class, dropout=0.5).eval()
    x = noise()
    before = deepcopy(encoder)
    generator = torch.get_rng_state()
    steps = encoder(x)  # (B, S', K)
    assert torch.equal(generator, torch.get_rng_state()), "it draws random numbers in evaluation"
    state, after = (one.state_dict() | dict(one.named_buffers()) for one in (before, encoder))
    assert_same(state, after, "changes in evaluation: ask `if self.training`")
    assert torch.equal(encoder(x), steps), "a second pass of the same windows differs: keep nothing of the first"
    alone = torch.cat([encoder(window) for window in torch.split(x, 1)])  # (B, S', K)
    assert_close(alone, steps, "a window's output in evaluation depends on the windows beside it")


@torch.no_grad()
def pooled_is_the_mean(encoder_class: EncoderClass) -> str | None:
    """`pooled` is the mean over time of `forward`, in training and evaluation, unless the class says what else."""
    if encoder_class.pooling != MEAN:
        return f"it is {encoder_class.pooling}"
    for training in (True, False):
        encoder = new_encoder(encoder_class).train(training)
        x = noise()
        assert_close(encoder.pooled(x), encoder(x).mean(1), "pooled is not the mean of forward: set `pooling`")
    return None


@torch.no_grad()
def masks_act_on_the_embedded_input(encoder_class: EncoderClass) -> None:
    """A part that a mask hides has no influence, and a mask that hides nothing changes nothing."""
    encoder = new_encoder(encoder_class).eval()
    windows = (noise(seed=1), noise(seed=2))
    for read in (encoder.forward, encoder.pooled):
        hidden = [read(x, torch.zeros_like) for x in windows]
        assert torch.equal(*hidden), "it sees the window past a mask that hides all of it"
        assert_close(read(windows[0], torch.clone), read(windows[0]), "a mask that hides nothing changes the output")


def state_is_in_the_checkpoint(encoder_class: EncoderClass) -> None:
    """Config and state_dict rebuild an encoder with equal outputs after a pass of training, with weights of its own."""
    encoder = new_encoder(encoder_class).train()
    encoder(noise())
    torch.manual_seed(1)
    loaded = encoder_class(encoder.config)
    lies_at = {value.data_ptr() for value in loaded.state_dict().values() if value.numel()}
    for name, value in encoder.state_dict().items():
        assert value.data_ptr() not in lies_at, f"two encoders share {name}: make its layer in __init__"
    loaded.load_state_dict(encoder.state_dict(), strict=True)
    same = torch.equal(encoder.eval()(noise()), loaded.eval()(noise()))
    assert same, "after loading, outputs differ: keep state in parameters and buffers, all else in the config"


def every_method_trains_it(encoder_class: EncoderClass) -> None:
    """Each method that takes it has a finite loss, whose gradient reaches every parameter; one at least takes it."""
    refusals = []
    trained = [method_class for method_class in METHODS.values() if method_class.trains]
    for method_class in trained:
        if refusal := refusal_of(method_class, encoder_class):
            refusals.append(refusal)
            continue
        try:
            gradients_reach_the_encoder(method_class, encoder_class)
        except AssertionError as error:
            raise AssertionError(f"{method_class.name}: {error}") from None
    assert len(refusals) < len(trained), f"no method takes it: {refusals[0]}"


ENCODER_CHECKS = (
    shapes_follow_the_config, steps_are_in_the_order_of_time, every_parameter_learns, windows_are_independent,
    pooled_is_the_mean, masks_act_on_the_embedded_input, state_is_in_the_checkpoint, every_method_trains_it,
)  # fmt: skip


def loads_its_weights(encoder_class: type[PretrainedEncoder]) -> None:
    """Two loaded encoders give equal features, and learn unless `frozen` is the reason why not."""
    x = noise(3, encoder_class.signals.samples)  # (B, S, 12)
    first, second = (encoder_class.loaded().pooled(x) for _ in range(2))  # (B, K), (B, K)
    assert torch.equal(first, second), "loading it twice gives other features: load() has to set every weight"
    assert encoder_class.frozen or first.requires_grad, (
        f"no gradient reaches its weights: set {encoder_class.__name__}.frozen"
    )
