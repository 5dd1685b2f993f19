"""MERL's loss is that of the text and of two latent views."""

from __future__ import annotations

import torch

from methods.clip_report import ClipReport, ClipReportConfig, clip_loss
from tests import make


def make_method(**knobs: float) -> ClipReport:
    torch.manual_seed(0)
    return ClipReport(make.encoder(), ClipReportConfig(text_width=9, **knobs))  # type: ignore[arg-type]


def test_the_loss_is_that_of_the_text_and_of_two_latent_views() -> None:
    method, batch = make_method(latent_dropout=0.0), make.batch(text=9)
    pooled = method.encoder.pooled(batch.x1)
    cma = clip_loss(method.ecg_projection(pooled), method.text_projection(batch.text), 0.07)
    uma = clip_loss(*(view(pooled) for view in method.latent_views), 0.07)
    torch.testing.assert_close(method(batch), cma + uma)
    torch.testing.assert_close(make_method(latent_dropout=0.0, uma_weight=0.0)(batch), cma)
