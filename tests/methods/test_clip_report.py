"""MERL's losses against the official values, the latent views."""

from __future__ import annotations

from functools import partial
from pathlib import Path

import pytest
import torch
from torch import Tensor

from methods.clip_report import ClipReport, ClipReportConfig, clip_loss, uma_loss
from tests import make
from tests.methods.official import agrees, arrays_of


def make_method(**knobs: float) -> ClipReport:
    torch.manual_seed(0)
    return ClipReport(make.encoder(), ClipReportConfig(text_width=9, **knobs))  # type: ignore[arg-type]


@pytest.mark.parametrize(("key", "temperature"), [("merl_cma", 0.07), ("merl_cma_t0.2", 0.2)])
def test_alignment_equals_the_official_loss(shared_reference: Path, key: str, temperature: float) -> None:
    arrays = arrays_of(shared_reference, "objectives_dev.npz")
    agrees(arrays, key, partial(clip_loss, temperature=temperature), "merl/ecg", "merl/text")


def test_latent_alignment_and_the_sum_equal_the_official_losses(shared_reference: Path) -> None:
    def total(ecg: Tensor, text: Tensor, z1: Tensor, z2: Tensor) -> Tensor:
        return clip_loss(ecg, text, 0.07) + uma_loss(z1, z2, 0.07)

    arrays = arrays_of(shared_reference, "objectives_dev.npz")
    agrees(arrays, "merl_uma", partial(uma_loss, temperature=0.07), "merl/uma1", "merl/uma2")
    agrees(arrays, "merl_total", total, "merl/ecg", "merl/text", "merl/uma1", "merl/uma2")


def test_the_loss_is_that_of_the_text_and_of_two_latent_views() -> None:
    method, batch = make_method(latent_dropout=0.0), make.batch(text=9)
    pooled = method.encoder.pooled(batch.x1)
    cma = clip_loss(method.ecg_projection(pooled), method.text_projection(batch.text), 0.07)
    uma = uma_loss(*(view(pooled) for view in method.latent_views), 0.07)
    torch.testing.assert_close(method(batch), cma + uma)
    torch.testing.assert_close(make_method(latent_dropout=0.0, uma_weight=0.0)(batch), cma)
