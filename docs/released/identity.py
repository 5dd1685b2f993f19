"""A network that knows who a patient is, and nothing else (xECG, MIT), as a row: docs/METHODS.md."""

from __future__ import annotations

from safetensors.torch import load_file
from torch import Tensor, nn

from methods.encoders.pretrained import PretrainedEncoder, SignalFormat


class Identity(PretrainedEncoder):
    """Lead I at 200 Hz, five seconds at a time, trained to tell 290 people of PTB Diagnostic apart."""

    name, title, licence, features = "identity", "Identity of 290 people", "MIT", 100
    signals = SignalFormat(rate=200, leads=("I",), unit="mV", seconds=5.0, standardise="window")
    pretrained_on, weights = ("ptbdb",), ("identity_ptb_290.safetensors",)

    def __init__(self, config=None) -> None:
        super().__init__(config)
        sizes = ((1, 24), (24, 24), (24, 36), (36, 36))
        layers = [part for width, out in sizes for part in (nn.Conv1d(width, out, 5), nn.ReLU(), nn.MaxPool1d(5))]
        self.convnet = nn.Sequential(*layers[:-1])
        self.fc = nn.Sequential(nn.Linear(108, 100), nn.ReLU())

    def load(self) -> None:
        """Their checkpoint, without its layer of people."""
        state = load_file(self.file(self.weights[0]))
        self.load_state_dict({name: value for name, value in state.items() if not name.startswith("fc.3.")})

    def encode(self, x: Tensor) -> Tensor:
        """(B, 1, S) -> (B, 100)."""
        return self.fc(self.convnet(x).flatten(1))
