"""A ResNet trained with PTB-XL's labels (ecgresnet-ptbxl, Apache-2.0), as a row: docs/METHODS.md."""

from __future__ import annotations

import torch
from safetensors.torch import load_file
from torch import Tensor, nn

from methods.encoders.pretrained import ORDER, PretrainedEncoder, SignalFormat

DEVIATIONS = (0.139, 0.156, 0.130, 0.132, 0.110, 0.126, 0.189, 0.317, 0.294, 0.269, 0.238, 0.197)
"""Of each lead in mV, filtered, over 424 recordings of PTB-XL's folds 1 to 8: those of the authors are not released."""


def convolution(width: int, out: int, kernel: int, stride: int) -> nn.Conv1d:
    """A convolution without a bias, before a batch normalisation."""
    return nn.Conv1d(width, out, kernel, stride, padding=kernel // 2, bias=False)


class Block(nn.Module):
    """Two convolutions of 7 samples beside a shortcut."""

    def __init__(self, width: int, out: int, stride: int) -> None:
        super().__init__()
        self.conv1, self.bn1 = convolution(width, out, 7, stride), nn.BatchNorm1d(out)
        self.conv2, self.bn2 = convolution(out, out, 7, 1), nn.BatchNorm1d(out)
        self.shortcut = nn.Sequential()
        if width != out:
            self.shortcut = nn.Sequential(convolution(width, out, 1, stride), nn.BatchNorm1d(out))

    def forward(self, x: Tensor) -> Tensor:
        """(B, C, S) -> (B, C', S')."""
        return (self.bn2(self.conv2(self.bn1(self.conv1(x)).relu())) + self.shortcut(x)).relu()


class EcgResnet(PretrainedEncoder):
    """Twelve leads at 100 Hz, three seconds at a time, filtered from 0.5 to 40 Hz by its authors, and not here."""

    name, title, licence, features = "ecgresnet", "ECG-ResNet (PTB-XL labels)", "Apache-2.0", 128
    signals = SignalFormat(rate=100, leads=ORDER, unit="mV", seconds=3.0, standardise="none")
    pretrained_on, weights = ("ptb-xl",), ("ecgresnet_ptbxl_bce.safetensors",)

    def __init__(self, config=None) -> None:
        super().__init__(config)
        self.stem = nn.Sequential(convolution(12, 64, 15, 2), nn.BatchNorm1d(64), nn.ReLU(), nn.MaxPool1d(3, 2, 1))
        self.blocks = nn.Sequential(Block(64, 64, 1), Block(64, 128, 2))
        self.head = nn.Linear(128, 5)  # to NORM, MI, STTC, CD, HYP

    def load(self) -> None:
        """Their checkpoint."""
        self.load_state_dict(load_file(self.file(self.weights[0])))

    def encode(self, x: Tensor) -> Tensor:
        """(B, 12, S) -> (B, 128)."""
        scaled = x / torch.tensor(DEVIATIONS, device=x.device)[:, None]  # (B, 12, S)
        return self.blocks(self.stem(scaled)).mean(-1)
