"""The released algorithm: its loss against a double loop, and six of its training steps."""

from __future__ import annotations

import math
from pathlib import Path

import numpy as np
import pytest
import torch
from torch import Tensor, nn

from methods.base import Batch
from methods.encoders.dilated import Dilated, load_released
from methods.pmq_released import MOMENTUM_LAYERS, PMQReleased, PMQReleasedConfig, released_loss

BATCH, QUEUE, STEPS = 16, 64, 6


def looped(q: Tensor, k: Tensor, patient: list[int], queue: Tensor, ids: list[int], temperature: float) -> float:
    exponentials = (q @ torch.cat([k, queue]).T / temperature).exp().tolist()
    columns = patient + ids
    diagonal, others = [], []
    for i, row in enumerate(exponentials):
        nll = [-math.log((value + 1e-12) / (math.fsum(row) + 1e-12)) for value in row]
        diagonal.append(nll[i])
        others += [nll[j] for j in range(i + 1, len(row)) if columns[j] == patient[i]]
    loss = sum(diagonal) / len(diagonal)
    return 2 * temperature * ((loss + sum(others) / len(others)) / 2 if others else loss)


@pytest.mark.parametrize(
    ("patient", "ids"),
    [
        ([1, 2, 3, 4], []),
        ([1, 2, 3, 4], [0, 0, 0]),
        ([1, 1, 1, 1], [1, 1]),
        ([1, 2], [2, 0, 2**40]),
        ([2**24 + 1, 2**24, 2**24 + 1], [2**24, 0]),
    ],
)
@pytest.mark.parametrize("temperature", [0.02, 0.1, 1.0])
def test_equals_the_double_loop(patient: list[int], ids: list[int], temperature: float) -> None:
    torch.manual_seed(0)
    q, k, queue = (torch.nn.functional.normalize(torch.randn(n, 5, dtype=torch.float64), dim=1) for n in (
        len(patient), len(patient), len(ids)
    ))  # fmt: skip
    ours = released_loss(q, k, torch.tensor(patient), queue, torch.tensor(ids, dtype=torch.int64), temperature)
    assert ours.item() == pytest.approx(looped(q, k, patient, queue, ids, temperature), rel=1e-10)


@pytest.fixture(scope="module")
def run(shared_reference: Path) -> dict[str, Tensor]:
    with np.load(shared_reference / "steps_pmq_released.npz") as arrays:
        return {name: torch.from_numpy(arrays[name]) for name in arrays.files}


def state(run: dict[str, Tensor], prefix: str) -> dict[str, Tensor]:
    return {name.removeprefix(prefix): value for name, value in run.items() if name.startswith(prefix)}


def start(run: dict[str, Tensor]) -> PMQReleased:
    """The method with the initial weights of the reference run."""
    config = PMQReleasedConfig(encoder_dropout=0.0, momentum=0.9, queue_size=QUEUE, time_mask=0.0, frequency_mask=0.0)
    method = PMQReleased(load_released(state(run, "init.net.")), config)
    method.projection_head.load_state_dict(state(run, "init.proj."))
    method.average_projection_head.module.load_state_dict(method.projection_head[MOMENTUM_LAYERS].state_dict())
    method.prediction_head.load_state_dict(state(run, "init.pred."))
    method.momentum_encoder.load_state_dict(load_released(state(run, "init.key_net.")).state_dict())
    method.momentum_projection_head.load_state_dict(state(run, "init.key_proj."))
    method.queue.keys.copy_(run["init.queue"])
    return method


def sums(module: nn.Module) -> np.ndarray:
    return np.array([parameter.double().sum().item() for parameter in module.parameters()])


def shift_free(encoder: Dilated) -> list[bool]:
    """Which parameters batch normalisation does not make irrelevant.

    The biases of the output block shift all representations alike, which the normalisation of the heads removes. Their
    gradient is zero but for rounding, and Adam turns the rounding's sign into a full step.
    """
    return [name not in ("output.conv2.bias", "output.skip.bias") for name, _ in encoder.named_parameters()]


def test_six_steps_of_the_released_training_are_reproduced(run: dict[str, Tensor]) -> None:
    method = start(run)
    trainable = [parameter for parameter in method.parameters() if parameter.requires_grad]
    optimiser = torch.optim.AdamW(trainable, lr=1e-3, weight_decay=1e-2)
    counted = shift_free(method.encoder)
    for step in range(STEPS):
        (x1, x2), patient = run["x"][step].unbind(1), run["patient"][step]
        loss = method(Batch(x1, x2, patient, patient, patient))
        optimiser.zero_grad()
        loss.backward()
        optimiser.step()
        method.after_step()
        assert loss.item() == pytest.approx(run["losses"][step].item(), rel=1e-5)
        slots = (torch.arange(BATCH) + step * BATCH) % QUEUE
        torch.testing.assert_close(method.queue.keys[slots], run[f"step{step}.keys"], rtol=1e-5, atol=1e-5)
        assert torch.equal(method.queue.patient, run[f"step{step}.queue_ids"])
        for module, name in ((method.encoder, "net_sum"), (method.momentum_encoder, "key_net_sum")):
            difference = np.abs(sums(module) - run[f"step{step}.{name}"].numpy())
            assert difference[counted].max() < 1e-4
    exported = load_released(state(run, "final.export."))
    for ours, theirs, count in zip(method.exported().parameters(), exported.parameters(), counted, strict=True):
        # A gradient near zero makes Adam's step, here 1e-3, sensitive to rounding.
        torch.testing.assert_close(ours.detach(), theirs.detach(), rtol=1e-5, atol=5e-5 if count else 1e-2)
    for name in ("0.weight", "1.weight", "1.bias", "3.weight", "4.weight", "4.bias"):
        ours = method.momentum_projection_head.get_parameter(name)
        torch.testing.assert_close(ours.detach(), run[f"final.key_proj.{name}"], rtol=1e-5, atol=1e-5)
