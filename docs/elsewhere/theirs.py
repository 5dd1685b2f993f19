"""An encoder whose weights come from elsewhere, as docs/METHODS.md explains it."""

from __future__ import annotations

from typing import ClassVar

import torch
from torch import Tensor, nn

from methods.encoders.base import EncoderConfig
from methods.encoders.pretrained import PretrainedEncoder, SignalFormat


class Network(nn.Module):
    """Their network, as their repository has it: (B, 3, S) -> (B, 16)."""

    def __init__(self) -> None:
        super().__init__()
        self.first = nn.Conv1d(3, 16, 15, stride=4)
        self.second = nn.Conv1d(16, 16, 9, stride=4)

    def forward(self, x: Tensor) -> Tensor:
        """Features of windows."""
        hidden = self.first(x).relu()  # (B, 16, S / 4)
        return self.second(hidden).relu().mean(-1)  # (B, 16)


class Theirs(PretrainedEncoder):
    """Three leads at 200 Hz in microvolts, ten seconds at a time."""

    name: ClassVar[str] = "theirs"
    title: ClassVar[str] = "Theirs"
    signals: ClassVar[SignalFormat] = SignalFormat(
        rate=200, leads=("II", "V2", "V5"), unit="uV", seconds=10.0, standardise="window"
    )
    features: ClassVar[int] = 16
    licence: ClassVar[str] = "MIT"
    pretrained_on: ClassVar[tuple[str, ...]] = ("other: CODE-15", "chapman")
    weights: ClassVar[tuple[str, ...]] = ("weights.pt",)

    def __init__(self, config: EncoderConfig | None = None) -> None:
        super().__init__(config)
        self.network = Network()

    def load(self) -> None:
        """Their checkpoint."""
        self.network.load_state_dict(torch.load(self.file("weights.pt"), weights_only=True))

    def encode(self, x: Tensor) -> Tensor:
        """(B, 3, S) -> (B, 16)."""
        features: Tensor = self.network(x)  # (B, 16)
        return features


if __name__ == "__main__":  # a stand-in for their published weights
    torch.manual_seed(0)
    torch.save(Network().state_dict(), Theirs.file("weights.pt"))
