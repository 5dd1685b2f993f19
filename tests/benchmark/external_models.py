"""A tiny encoder of another group as a .py file with a state dict, in two forms that differ in all that it reads."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import torch
from torch import nn

KERNEL, STRIDE = 5, 4
SIGNALS: dict[str, dict[str, Any]] = {
    "learns": {"rate": 100, "leads": ["V2", "I"], "unit": "mV", "seconds": 4, "standardise": "window"},
    "frozen": {"rate": 128, "leads": ["V5", "aVF", "II", "I"], "unit": "uV", "seconds": 10, "standardise": "none"},
}
"""Signals of each form: no rate, lead order or window is the suite's own."""
FEATURES = {"learns": 6, "frozen": 5}
WHY_FROZEN = "its network has no gradients"
CODE = '''
"""Theirs, from its own repository."""
import torch
from torch import nn
from methods.encoders.pretrained import PretrainedEncoder, SignalFormat

class Theirs(PretrainedEncoder):
    name, title, licence = {name}, {title}, "MIT"
    signals = SignalFormat(**{signals})
    features, weights, pretrained_on = {features}, ("theirs.pt",), {pretrained_on}
    frozen = {frozen}

    def __init__(self, config=None):
        super().__init__(config)
        self.conv = nn.Conv1d({leads}, {width}, {kernel}, stride={stride})

    def load(self):
        self.load_state_dict(torch.load(self.file("theirs.pt"), weights_only=True))

    def encode(self, x):
        return self.conv(x).relu().mean(-1)
'''


def convolution_of(form: str) -> nn.Conv1d:
    """The convolution of a form with fixed weights; its features are the mean over time of its ReLU."""
    torch.manual_seed(3)
    return nn.Conv1d(len(SIGNALS[form]["leads"]), FEATURES[form], KERNEL, stride=STRIDE)


def write(form: str, folder: Path, pretraining: tuple[Any, ...] | None = None, **changes: Any) -> Path:
    """The encoder in a folder; returns what `--methods` names. changes: `features`, or fields of its signals."""
    folder.mkdir(parents=True, exist_ok=True)
    state = convolution_of(form).state_dict()
    torch.save({f"conv.{name}": value for name, value in state.items()}, folder / "theirs.pt")
    features = changes.pop("features", FEATURES[form])
    values = {
        "name": f"theirs-{form}",
        "title": f"Theirs ({form})",
        "signals": SIGNALS[form] | changes,
        "features": features,
        "pretrained_on": pretraining,
        "frozen": WHY_FROZEN if form == "frozen" else "",
        "leads": len(SIGNALS[form]["leads"]),
        "width": FEATURES[form],
        "kernel": KERNEL,
        "stride": STRIDE,
    }
    text = CODE
    for name, value in values.items():
        text = text.replace(f"{{{name}}}", repr(value))
    (folder / "theirs.py").write_text(text)
    return folder / "theirs.py"
