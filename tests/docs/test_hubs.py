"""Stand-ins of published networks, with their inputs, outputs and calls, become rows by the cards of docs/elsewhere."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
import pytest
import torch
from torch import Tensor, nn

from benchmark.config.words import find_method
from docs.elsewhere.hubs import HUBS, write
from methods.encoders.pretrained import PretrainedEncoder
from tests.docs.pages import text_of

TEXT = text_of("METHODS.md", "### Five published encoders")


class StandIn(nn.Module):
    """A strided convolution with the width of the published network; it answers all their calls."""

    def __init__(self, name: str) -> None:
        super().__init__()
        card = HUBS[name].card
        leads = 1 if name == "hubert-ecg" else len(card["signals"]["leads"])
        self.convolve = nn.Conv1d(leads, card["features"], 50, stride=50)

    def tokens(self, x: Tensor) -> Tensor:
        """(B, T, K) of (B, L, S), or of one long signal (B, S)."""
        return self.convolve(x[:, None] if x.ndim == 2 else x).transpose(1, 2)

    def extract_features(self, source: Tensor, padding_mask: None, mask: bool) -> dict[str, Tensor]:
        return {"x": self.tokens(source)}

    def forward_encoding(self, x: Tensor) -> Tensor:
        return self.tokens(x).mean(1)

    representation = forward_encoding

    def forward(self, x: Tensor) -> Any:
        if x.ndim == 2:
            return {"last_hidden_state": self.tokens(x)}
        return torch.zeros(len(x), 150), self.tokens(x).mean(1)


@pytest.mark.parametrize("name", list(HUBS))
def test_a_stand_in_of_the_same_format_is_a_row(name: str, tmp_path: Path) -> None:
    torch.manual_seed(0)
    network = StandIn(name).eval()
    kind = find_method(str(write(name, network, tmp_path))).external_encoder
    assert kind is not None
    assert issubclass(kind, PretrainedEncoder)
    encoder, signals = kind.loaded(), kind.signals
    x = torch.randn(3, len(signals.leads), signals.samples)  # (B, L, S)
    found = encoder.encode(x)
    assert tuple(found.shape) == (3, HUBS[name].card["features"])
    expected = HUBS[name].features(network, x)
    np.testing.assert_allclose(found.detach(), expected.detach(), rtol=1e-4, atol=1e-5)


def test_each_stands_in_the_table_of_the_page_with_its_rate_leads_and_features() -> None:
    for hub in HUBS.values():
        signals = hub.card["signals"]
        (line,) = [line for line in TEXT.splitlines() if line.startswith(f"| {hub.card['title']} |")]
        assert f"{signals['rate']} Hz, {signals['seconds']} s, {len(signals['leads'])}" in line
        assert f"| {hub.card['features']} |" in line
