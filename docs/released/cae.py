"""The encoder of an autoencoder of 12-lead ECGs (12-lead-ECG-AD, MIT), as a row: docs/METHODS.md."""

from __future__ import annotations

from safetensors.torch import load_file
from torch import Tensor, nn

from methods.encoders.pretrained import ORDER, PretrainedEncoder, SignalFormat


class Cae(PretrainedEncoder):
    """Twelve leads at 500 Hz, ten seconds at a time; which corpus it saw is not said, nor is its filter here."""

    name, title, licence, features = "cae", "Autoencoder (CAE)", "MIT", 128
    signals = SignalFormat(rate=500, leads=ORDER, unit="mV", seconds=10.0, standardise="window")
    pretrained_on, weights = None, ("cae_12lead.safetensors",)

    def __init__(self, config=None) -> None:
        super().__init__(config)
        sizes = ((12, 32, 7), (32, 64, 5), (64, 128, 3))
        layers = [(nn.Conv1d(width, out, k, 2, k // 2), nn.ReLU()) for width, out, k in sizes]
        self.encoder = nn.Sequential(*(part for pair in layers for part in pair))

    def load(self) -> None:
        """Their checkpoint, without its decoder."""
        state = load_file(self.file(self.weights[0]))
        self.load_state_dict({name: value for name, value in state.items() if name.startswith("encoder.")})

    def encode(self, x: Tensor) -> Tensor:
        """(B, 12, S) -> (B, 128)."""
        return self.encoder(x).mean(-1)
