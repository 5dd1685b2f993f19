"""The codec of OpenECG (extra `openecg`, Apache-2.0), as a row: docs/METHODS.md."""

from __future__ import annotations

from copy import deepcopy
from pathlib import Path

import openecg
import torch
from torch import Tensor, nn

from methods.encoders.pretrained import ORDER, PretrainedEncoder, SignalFormat


class Codec(PretrainedEncoder):
    """Each lead alone at 500 Hz, ten seconds at a time, by the ranks of its samples: 128 features of each of 12."""

    name, title, licence, features = "openecg", "OpenECG codec", "Apache-2.0", 12 * 128
    signals = SignalFormat(rate=500, leads=ORDER, unit="mV", seconds=10.0, standardise="none")
    pretrained_on = ("LUDB", "other: QTDB", "other: ISP", "other: MIT-BIH", "other: two hospitals")
    weights = ("codec_v6.pt",)

    @classmethod
    def file(cls, name: str) -> Path:
        """The path of a file in their package."""
        return Path(openecg.__file__).parent / "models" / name

    def load(self) -> None:
        """Their checkpoint, without the head of the waves."""
        self.network = deepcopy(openecg.load_codec(str(self.file(self.weights[0]))))
        self.network.head_sample = nn.Identity()

    def encode(self, x: Tensor) -> Tensor:
        """(B, 12, S) -> (B, 12 * 128)."""
        ranks = x.argsort(-1).argsort(-1).float()  # (B, 12, S)
        ranked, first_lead = 2 * ranks / (x.shape[-1] - 1) - 1, torch.zeros(12, dtype=torch.long, device=x.device)
        # One window at a time, since there are features of each of its samples: (12, S, 128).
        return torch.stack([self.network(window, first_lead)[0].mean(1).flatten() for window in ranked])
