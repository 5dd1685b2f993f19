"""A tiny encoder of another group in each form: a .py file with a state dict, a TorchScript file, an ONNX file."""

from __future__ import annotations

import warnings
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import torch
import yaml
from torch import Tensor, nn

KERNEL, STRIDE = 5, 4
SIGNALS: dict[str, dict[str, Any]] = {
    "py": {"rate": 100, "leads": ["V2", "I"], "unit": "mV", "seconds": 4, "standardise": "window"},
    "torchscript": {"rate": 400, "leads": ["II", "V1", "V6"], "unit": "uV", "seconds": 2.5, "standardise": "none"},
    "onnx": {
        "rate": 128,
        "leads": ["V5", "aVF", "II", "I"],
        "unit": "mV",
        "seconds": 10,
        "standardise": "given",
        "mean": [0.1, 0.0, 0.05, 0.02],
        "deviation": [0.3],
        "layout": "samples-first",
    },
}
"""Of each form: no rate, lead order or window is the suite's own."""
FEATURES = {"py": 6, "torchscript": 7, "onnx": 5}
CODE = '''
"""Theirs, from its own repository."""
import torch
from torch import nn
from methods.encoders.pretrained import PretrainedEncoder, Signals

class Theirs(PretrainedEncoder):
    name, title, licence = "theirs-py", "Theirs (py)", "MIT"
    signals = Signals(**{signals})
    features, weights, pretrained_on = {features}, ("theirs.pt",), {pretrained_on}

    def __init__(self, config=None):
        super().__init__(config)
        self.conv = nn.Conv1d({leads}, {features}, {kernel}, stride={stride})

    def load(self):
        self.load_state_dict(torch.load(self.file("theirs.pt"), weights_only=True))

    def encode(self, x):
        return self.conv(x).relu().mean(-1)
'''


class Network(nn.Module):
    """A convolution, its ReLU and the mean over time, of windows in a layout."""

    def __init__(self, leads: int, features: int, samples_first: bool = False) -> None:
        super().__init__()
        self.conv = nn.Conv1d(leads, features, KERNEL, stride=STRIDE)
        self.samples_first = samples_first

    def forward(self, x: Tensor) -> Tensor:
        if self.samples_first:
            x = x.transpose(1, 2)
        return self.conv(x).relu().mean(-1)


def network_of(form: str) -> Network:
    """The network of a form with fixed weights, scaled to its unit."""
    torch.manual_seed(3)
    own = SIGNALS[form]
    return Network(len(own["leads"]), FEATURES[form], own.get("layout") == "samples-first").eval()


def write(form: str, folder: Path, pretraining: Any = "unknown", **changes: Any) -> Path:
    """The encoder in a folder; returns what `--methods` names. changes: keys of the card or its signals."""
    folder.mkdir(parents=True, exist_ok=True)
    network, signals = network_of(form), SIGNALS[form]
    if form == "py":
        torch.save(network.state_dict(), folder / "theirs.pt")
        values = {
            "signals": signals,
            "features": changes.get("features", FEATURES[form]),
            "pretrained_on": None if pretraining == "unknown" else tuple(pretraining),
        }
        sizes = {"leads": len(signals["leads"]), "kernel": KERNEL, "stride": STRIDE}
        text = CODE
        for name, value in {**values, **sizes}.items():
            text = text.replace(f"{{{name}}}", repr(value))
        (folder / "theirs.py").write_text(text)
        return folder / "theirs.py"
    file = folder / f"theirs.{'onnx' if form == 'onnx' else 'pt'}"
    if form == "onnx":
        file.write_bytes(onnx_bytes(network, signals))
    else:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore", DeprecationWarning)
            torch.jit.script(network).save(str(file))
    card: dict[str, Any] = {
        "name": f"theirs-{form}",
        "title": f"Theirs ({form})",
        "file": file.name,
        "signals": signals,
        "features": FEATURES[form],
        "licence": "MIT",
        "pretraining": pretraining,
    }
    for name, value in changes.items():
        holder = card["signals"] = dict(card["signals"])
        (holder if name in {*signals, "heartbeats", "layout"} else card)[name] = value
    card["signals"] = {name: value for name, value in card["signals"].items() if value is not None}
    (folder / "theirs.yaml").write_text(yaml.safe_dump({k: v for k, v in card.items() if v is not None}))
    return folder / "theirs.yaml"


def onnx_bytes(network: Network, signals: dict[str, Any], outputs: int = 1) -> bytes:
    """The network as an ONNX graph of one window at a time, (1, S, L)."""
    pytest.importorskip("onnx", reason="the extra `onnx` is not installed")
    from onnx import TensorProto, helper, numpy_helper

    samples, leads = round(signals["seconds"] * signals["rate"]), len(signals["leads"])
    weights = {
        "w": network.conv.weight.detach().numpy(),
        "b": network.conv.bias.detach().numpy(),  # type: ignore[union-attr]
    }
    nodes = [
        helper.make_node("Transpose", ["x"], ["t"], perm=[0, 2, 1]),
        helper.make_node("Conv", ["t", "w", "b"], ["c"], strides=[STRIDE]),
        helper.make_node("Relu", ["c"], ["r"]),
        helper.make_node("GlobalAveragePool", ["r"], ["p"]),
        helper.make_node("Flatten", ["p"], ["features"]),
    ]
    names = ["features", "r"][:outputs]
    graph = helper.make_graph(
        nodes,
        "theirs",
        [helper.make_tensor_value_info("x", TensorProto.FLOAT, [1, samples, leads])],
        [helper.make_tensor_value_info(name, TensorProto.FLOAT, None) for name in names],
        [numpy_helper.from_array(np.asarray(value, np.float32), name) for name, value in weights.items()],
    )
    model = helper.make_model(graph, opset_imports=[helper.make_opsetid("", 17)], ir_version=8)
    return bytes(model.SerializeToString())
