"""Five published encoders as rows: their cards, and how each one's network becomes a TorchScript file beside its card.

    sys.path += ["docs/elsewhere", "ECG_JEPA"]             # this file, and their repository
    from hubs import write
    from models import load_encoder                        # of their repository
    write("ecg-jepa", load_encoder("multiblock_epoch100.pth")[0], "theirs")
    python run_benchmark.py check-method theirs/ecg-jepa.yaml

What is said of files, rates, leads and normalisation is from the authors' code as of 2026-11; nobody's weights and no
network are here. docs/METHODS.md has a table of them.
"""

from __future__ import annotations

import warnings
from collections.abc import Callable
from pathlib import Path
from typing import Any, NamedTuple

import torch
import yaml
from torch import Tensor, nn

LIMBS = ["I", "II", "III", "aVR", "aVL", "aVF"]
CHEST = ["V1", "V2", "V3", "V4", "V5", "V6"]
TWELVE = [*LIMBS, *CHEST]


class Hub(NamedTuple):
    """A published encoder."""

    card: dict[str, Any]
    """Its card, without the file."""
    features: Callable[[nn.Module, Tensor], Tensor]
    """(their network, windows (B, L, S)) -> (B, K), as their code pools them."""


def tokens_that_are_there(network: nn.Module, x: Tensor) -> Tensor:
    """ECG-FM: the mean over the tokens that are not zero, as its authors take it."""
    tokens = network.extract_features(x, None, False)["x"]  # type: ignore[operator]  # (B, T, 768)
    return tokens.sum(1) / (tokens != 0).sum(1)  # type: ignore[no-any-return]


def before_the_classes(network: nn.Module, x: Tensor) -> Tensor:
    """ECGFounder, built with return_features=True: (logits, features)."""
    return network(x)[1]  # type: ignore[no-any-return]  # (B, 1024)


def flat_and_scaled(network: nn.Module, x: Tensor) -> Tensor:
    """HuBERT-ECG: every lead from -1 to 1, one lead after the other in one long signal; the mean over its tokens."""
    low, high = x.amin(2, keepdim=True), x.amax(2, keepdim=True)  # (B, 12, 1)
    scaled = 2 * (x - low) / (high - low + 1e-8) - 1  # (B, 12, S)
    return network(scaled.flatten(1))["last_hidden_state"].mean(1)  # type: ignore[no-any-return]  # (B, K)


HUBS: dict[str, Hub] = {
    "ecg-fm": Hub(
        {
            "title": "ECG-FM",
            "signals": {"rate": 500, "leads": TWELVE, "unit": "mV", "seconds": 5, "standardise": "recording"},
            "features": 768,
            "licence": "unknown",
            "pretraining": ["mimic-iv-ecg", "challenge2021"],
        },
        tokens_that_are_there,
    ),
    "ecgfounder": Hub(
        {
            "title": "ECGFounder",
            "signals": {"rate": 500, "leads": TWELVE, "unit": "mV", "seconds": 10, "standardise": "window-all-leads"},
            "features": 1024,
            "licence": "unknown",
            "pretraining": [{"other": "Harvard-Emory ECG database"}],
        },
        before_the_classes,
    ),
    "st-mem": Hub(
        {
            "title": "ST-MEM",
            "signals": {"rate": 250, "leads": TWELVE, "unit": "mV", "seconds": 9, "standardise": "window-all-leads"},
            "features": 768,
            "licence": "unknown",
            "pretraining": ["chapman", "ningbo", {"other": "CODE-15"}],
        },
        lambda network, x: network.forward_encoding(x),  # type: ignore[operator,no-any-return]
    ),
    "hubert-ecg": Hub(
        {
            "title": "HuBERT-ECG",
            "signals": {"rate": 100, "leads": TWELVE, "unit": "mV", "seconds": 5, "standardise": "none"},
            "features": 768,
            "licence": "CC BY-NC 4.0",
            "pretraining": "unknown",
        },
        flat_and_scaled,
    ),
    "ecg-jepa": Hub(
        {
            "title": "ECG-JEPA",
            "signals": {
                "rate": 250,
                "leads": ["I", "II", *CHEST],
                "unit": "mV",
                "seconds": 10,
                "standardise": "none",
            },
            "features": 768,
            "licence": "MIT",
            "pretraining": ["chapman", "ningbo", {"other": "CODE-15"}],
        },
        lambda network, x: network.representation(x),  # type: ignore[operator,no-any-return]
    ),
}
"""Name of a row -> the encoder. Licences are those of the weights, where a text that names them was found."""


class Features(nn.Module):
    """Windows (B, L, S) -> features (B, K) of a published network."""

    def __init__(self, name: str, network: nn.Module) -> None:
        super().__init__()
        self.network, self.features = network, HUBS[name].features

    def forward(self, x: Tensor) -> Tensor:
        """Its features."""
        return self.features(self.network, x)


def write(name: str, network: nn.Module, folder: str | Path) -> Path:
    """Trace a network with its authors' weights into NAME.pt in a folder, and write its card; returns the card's path.

    A network that cannot be traced is a row by a class instead (docs/METHODS.md).
    """
    folder, card = Path(folder), {"name": name, **HUBS[name].card, "file": f"{name}.pt"}
    folder.mkdir(parents=True, exist_ok=True)
    signals = card["signals"]
    windows = torch.randn(2, len(signals["leads"]), signals["rate"] * signals["seconds"])  # (B, L, S)
    with torch.no_grad(), warnings.catch_warnings():
        warnings.simplefilter("ignore")  # of tracing, by torch itself
        torch.jit.trace(Features(name, network).eval(), (windows,)).save(str(folder / f"{name}.pt"))  # type: ignore[no-untyped-call]
    place = folder / f"{name}.yaml"
    place.write_text(yaml.safe_dump(card, sort_keys=False), encoding="utf-8")
    return place
