"""Losses and gradients equal those of the official functions, `reference/*.npz`."""

from __future__ import annotations

import re
from collections.abc import Callable
from functools import partial
from pathlib import Path

import numpy as np
import pytest
import torch
import torch.nn.functional as F
from torch import Tensor

from methods.clip_report import clip_loss, uma_loss
from methods.clocs import cmsc_loss
from methods.comet import observation_loss, patient_loss, sample_loss, trial_loss
from methods.cpc import cpc_loss
from methods.jepa import jepa_loss
from methods.moco import moco_loss
from methods.pclr import nt_xent
from methods.pmq_released import released_loss
from methods.siamese import barlow_loss, simclr_loss, simsiam_loss, vicreg_loss
from methods.ts2vec import hierarchical_loss

Loss = Callable[..., Tensor]
TOLERANCE = 1e-5
VALUES: dict[str, Callable[[dict[str, Tensor]], Tensor]] = {
    "clocs_cmsc": lambda a: cmsc_loss(*a["clocs_views"].unbind(2), a["patient"], 0.1),
    "clocs_simclr": lambda a: nt_xent(*a["clocs_views"].unbind(2), 0.1),
    "comet_observation": lambda a: observation_loss(a["z1"], a["z2"]),
    "comet_sample": lambda a: sample_loss(a["z1"], a["z2"]),
    "comet_trial": lambda a: trial_loss(a["z1"], a["z2"], a["trial"]),
    "comet_patient": lambda a: patient_loss(a["z1"], a["z2"], a["patient"]),
    "moco_queue_2tau": lambda a: 0.2 * moco_loss(a["q"], a["k"], a["queue"], torch.zeros(len(a["queue"])).long(), 0.1),
    "pmq_released_queue": lambda a: released_loss(a["q"], a["k"], a["patient"], a["queue"], a["queue_patient"], 0.1),
    "pmq_released_noqueue": lambda a: released_loss(
        a["q"], a["k"], a["patient"], a["queue"][:0], a["queue_patient"][:0], 0.1
    ),
}
"""Key of a value -> ours of the arrays beside it."""


@pytest.mark.parametrize("file", ["losses_a", "losses_c"])
@pytest.mark.parametrize("key", VALUES)
def test_equals_the_official_value(shared_reference: Path, file: str, key: str) -> None:
    with np.load(shared_reference / f"{file}.npz") as stored:
        arrays = {name: torch.from_numpy(value) for name, value in stored.items()}
    assert VALUES[key](arrays).item() == pytest.approx(arrays[key].item(), rel=TOLERANCE)


@pytest.fixture(scope="module")
def arrays(shared_reference: Path) -> dict[str, np.ndarray]:
    with np.load(shared_reference / "objectives_dev.npz") as stored:
        scaled = {f"0.6 {name}": 0.6 * stored[name] for name in ("pair/a", "pair/b")}
        return dict(stored) | scaled


def total(ecg: Tensor, text: Tensor, z1: Tensor, z2: Tensor) -> Tensor:
    return clip_loss(ecg, text, 0.07) + uma_loss(z1, z2, 0.07)


PAIR, SCALED = ("pair/a", "pair/b"), ("0.6 pair/a", "0.6 pair/b")
MERL, UMA = ("merl/ecg", "merl/text"), ("merl/uma1", "merl/uma2")
LOSSES: dict[str, tuple[Loss, tuple[str, ...]]] = {
    **{f"ntxent_t{t}": (partial(simclr_loss, temperature=t), PAIR) for t in (0.1, 0.5)},
    **{f"barlow_lambda{w}": (partial(barlow_loss, off_diagonal_weight=w), PAIR) for w in (0.005, 0.05)},
    "vicreg_25_25_1_on_0.6x": (lambda a, b: vicreg_loss(a, b, 25, 25, 1), SCALED),
    "vicreg_10_5_2_on_0.6x": (lambda a, b: vicreg_loss(a, b, 10, 5, 2), SCALED),
    **{
        f"ts2vec_{shape}_alpha{alpha}_tunit0": (
            partial(hierarchical_loss, alpha=alpha),
            (f"ts2vec_{shape}/z1", f"ts2vec_{shape}/z2"),
        )
        for shape in ("4x13x6", "5x16x8")
        for alpha in (0.0, 0.5, 1.0)
    },
    "merl_cma": (partial(clip_loss, temperature=0.07), MERL),
    "merl_cma_t0.2": (partial(clip_loss, temperature=0.2), MERL),
    "merl_uma": (partial(clip_loss, temperature=0.07), UMA),
    "merl_total": (total, MERL + UMA),
}
"""Key -> our loss, and the arrays that it takes."""


def agrees(arrays: dict[str, np.ndarray], key: str, loss: Loss, *inputs: str) -> None:
    """Assert that a loss of the named inputs has the official value and the official gradients where there are any."""
    tensors = [torch.from_numpy(arrays[name]).double().requires_grad_() for name in inputs]
    value = loss(*tensors)
    assert value.shape == ()
    assert value.item() == pytest.approx(float(arrays[f"{key}/loss"]), rel=TOLERANCE)
    value.backward()
    for number, tensor in enumerate(tensors):
        if f"{key}/grad{number}" in arrays:
            assert tensor.grad is not None
            expected = torch.from_numpy(arrays[f"{key}/grad{number}"]).double()
            torch.testing.assert_close(
                tensor.grad, expected, rtol=TOLERANCE, atol=TOLERANCE * float(expected.abs().max())
            )


@pytest.mark.parametrize("key", LOSSES)
def test_a_loss_has_the_official_gradient(arrays: dict[str, np.ndarray], key: str) -> None:
    loss, inputs = LOSSES[key]
    agrees(arrays, key, loss, *inputs)


def test_predictions_are_compared_with_targets_as_in_the_official_code(arrays: dict[str, np.ndarray]) -> None:
    target = torch.from_numpy(arrays["jepa/h_raw_target"])
    agrees(arrays, "jepa_smoothl1_lnorm_target", lambda z: jepa_loss(z, target), "jepa/z_pred")
    z1, z2 = (torch.from_numpy(arrays[f"simsiam/z{view}"]).requires_grad_() for view in range(2))
    agrees(arrays, "simsiam", lambda p1, p2: simsiam_loss(p1, z1, p2, z2), "simsiam/p0", "simsiam/p1")
    assert z1.grad is z2.grad is None


@pytest.mark.parametrize(
    "form", ["ai4h_any", "ai4h_same", "ai4h_same_norm_t0.1", "ai4h_interval", "hhi_same0", "hhi_same1"]
)
def test_cpc_has_the_official_loss(arrays: dict[str, np.ndarray], form: str) -> None:
    setting = str(arrays[f"cpc_{form}/setting"])
    steps = int(re.findall(r"steps_predicted=(\d+)", setting)[0])
    temperature = float((re.findall(r"temperature=(\d+\.\d+)", setting) or ["1"])[0])
    negatives = torch.from_numpy(arrays[f"cpc_{form}/negatives_flat_index"])

    def loss(predicted: Tensor, encoded: Tensor) -> Tensor:
        if "normalize=True" in setting:
            predicted, encoded = F.normalize(predicted, dim=-1), F.normalize(encoded, dim=-1)
        return cpc_loss(predicted, encoded, negatives, steps, temperature)

    agrees(arrays, f"cpc_{form}", loss, "cpc/predicted", "cpc/encoded")
