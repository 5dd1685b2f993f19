"""Each plain step has the loss and gradients of the suite's method, once neither masks nor dropout differ by chance."""

from __future__ import annotations

from dataclasses import fields, replace

import pytest
import torch

from methods import METHODS
from methods.base import Batch, MethodConfig, PretrainMethod
from methods.encoders.dilated import Dilated, DilatedConfig
from methods.parts.losses import unit_length
from methods.parts.momentum import KeyQueue
from methods.pmq import PMQConfig
from methods.pmq_released import PMQReleased, PMQReleasedConfig
from tests.speed.plain_steps import PLAIN, PlainDilated, PlainReleased, overwrite_oldest, released_knobs

SIZE = DilatedConfig(hidden=8, depth=3, output=16)
CALM = {"encoder_dropout": 0.0, "time_mask": 0.0, "frequency_mask": 0.0, "mask_spans": 0, "queue_size": 12}
COMPARABLE = [name for name in PLAIN if name != "pmq"]  # its plain form is its authors' step, with their loss


def calm(name: str) -> MethodConfig:
    kind = METHODS[name].Config
    known = {field.name for field in fields(kind)}
    return replace(kind(), **{knob: value for knob, value in CALM.items() if knob in known})


def build(kind: type[PretrainMethod], encoder: type[Dilated], config: MethodConfig) -> PretrainMethod:
    torch.manual_seed(0)
    method = kind(encoder(SIZE), config)
    queue = getattr(method, "queue", None)
    if isinstance(queue, KeyQueue):
        queue.keys.copy_(unit_length(torch.randn_like(queue.keys)))
        queue.patient.copy_(torch.arange(len(queue.patient)) % 5)
    return method.double().train()  # in float32 batch normalisation of six windows drowns small gradients


def batch(text_width: int | None) -> Batch:
    torch.manual_seed(1)
    patient = torch.tensor([1, 1, 2, 2, 3, 4])
    x1, x2 = torch.randn(2, 6, 40, 12, dtype=torch.float64)
    text = None if text_width is None else torch.randn(6, text_width, dtype=torch.float64)
    return Batch(x1, x2, patient, torch.arange(6), torch.arange(6) // 2, text)


@pytest.mark.parametrize("name", COMPARABLE)
def test_loss_and_gradients_are_those_of_the_suite(name: str) -> None:
    config = calm(name)
    windows = batch(getattr(config, "text_width", None))
    losses, grads = [], []
    for kind, encoder in ((METHODS[name], Dilated), (PLAIN[name], PlainDilated)):
        method = build(kind, encoder, config)
        loss = method(windows)
        loss.backward()
        losses.append(loss.detach())
        grads.append([p.grad for p in method.encoder.parameters()])
    torch.testing.assert_close(losses[1], losses[0], rtol=1e-5, atol=1e-6, check_dtype=False)
    for ours, plain in zip(*grads, strict=True):
        torch.testing.assert_close(plain, ours, rtol=1e-5, atol=1e-6)


@pytest.mark.parametrize("name", ["moco", "byol", "pmq-released"])
def test_three_updates_lead_to_the_same_state(name: str) -> None:
    states = []
    for kind, encoder in ((METHODS[name], Dilated), (PLAIN[name], PlainDilated)):
        method = build(kind, encoder, calm(name))
        method.begin(10)
        optimiser = torch.optim.SGD([p for p in method.parameters() if p.requires_grad], lr=0.1)
        for _ in range(3):
            optimiser.zero_grad()
            method(batch(None)).backward()
            optimiser.step()
            method.after_step()
        states.append(method.state_dict())
    for key, value in states[0].items():
        if key != "queue.recording":  # of which the plain queues keep no account
            torch.testing.assert_close(states[1][key], value, rtol=1e-5, atol=1e-6, msg=key)


def test_a_batch_without_a_shared_patient_has_the_released_loss() -> None:
    windows = batch(None)._replace(patient=torch.arange(100, 106))
    config = calm("pmq-released")
    ours = build(PMQReleased, Dilated, config)(windows)
    torch.testing.assert_close(build(PlainReleased, PlainDilated, config)(windows), ours, rtol=1e-5, atol=1e-6)


def test_the_plain_queue_refuses_what_does_not_divide() -> None:
    with pytest.raises(ValueError, match="queue size 10 is no multiple of batch size 4"):
        overwrite_oldest(KeyQueue(10, 2), torch.ones(4, 2), torch.ones(4, dtype=torch.int64))


def test_the_released_step_takes_on_pmqs_dropout() -> None:
    knobs = released_knobs(PMQConfig(queue_size=7, momentum=0.5))
    assert knobs == PMQReleasedConfig(batching="shuffled", encoder_dropout=0.0, queue_size=7, momentum=0.5)
