"""What weights from elsewhere read: what fits together, and how it is told."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, ClassVar

import pytest
import torch

from methods.encoders.pretrained import ORDER, PretrainedEncoder, SignalFormat

PLAIN: dict[str, Any] = {"rate": 500, "leads": ORDER, "unit": "mV", "seconds": 10.0, "standardise": "none"}


def signals(**changed: Any) -> SignalFormat:
    return SignalFormat(**(PLAIN | changed))


@pytest.mark.parametrize(
    ("changed", "of_window"),
    [
        ({"standardise": "none", "unit": "mV"}, lambda x: x),
        ({"standardise": "none", "unit": "uV"}, lambda x: 1000 * x),
        ({"standardise": "none", "unit": "V"}, lambda x: x / 1000),
        ({"standardise": "recording"}, lambda x: x),
        ({"standardise": "window"}, lambda x: (x - x.mean(0)) / x.std(0, correction=0)),
        ({"standardise": "window-all-leads"}, lambda x: (x - x.mean()) / x.std(correction=0)),
    ],
    ids=lambda value: value.get("standardise") if isinstance(value, dict) else "",
)
def test_a_window_is_read_as_its_signals_say(
    changed: dict[str, Any], of_window: Callable[[torch.Tensor], torch.Tensor]
) -> None:
    chosen = signals(leads=("V1", "II"), **changed)
    encoder = type("Theirs", (PretrainedEncoder,), {"name": "theirs", "features": 4, "signals": chosen})()
    x = torch.randn(3, 40, 12, generator=torch.Generator().manual_seed(0))
    for embedded, window in zip(encoder.embed(x), x[..., [6, 1]], strict=True):
        torch.testing.assert_close(embedded, of_window(window), rtol=1e-4, atol=1e-5)


class Theirs(PretrainedEncoder):
    """Gives what it is handed, as a window's first four samples of its first lead."""

    name: ClassVar[str] = "theirs"
    features: ClassVar[int] = 4
    signals: ClassVar[SignalFormat] = signals(leads=("I", "II"))

    def encode(self, x: torch.Tensor) -> torch.Tensor:
        assert x.dtype == torch.float32
        return x[:, 0, :4]


def test_features_are_one_step_of_a_window_of_leads_in_single_precision() -> None:
    x = torch.randn(3, 40, 12)
    assert torch.equal(Theirs()(x), x[:, None, :4, 0])  # leads first
    assert Theirs().config.output == 4
    with torch.autocast("cpu", dtype=torch.bfloat16):
        assert Theirs()(x).dtype == torch.float32
