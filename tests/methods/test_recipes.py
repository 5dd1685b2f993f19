"""The defaults and heads of every method, written down: the papers' (DEVIATIONS.md says where they differ).

A default that moves moves the numbers of everyone who gives none: it is changed here too, with a results version.
"""

from __future__ import annotations

from dataclasses import asdict
from typing import Any

import pytest
from torch import nn

from methods import METHODS
from methods.encoders.vit import ViT1d
from tests import make


def recipe(*values: Any) -> dict[str, Any]:
    """Name the values of a recipe."""
    return dict(zip(("optimiser", "lr", "weight_decay", "schedule", "batch_size"), values, strict=True))


ADAMW = recipe("adamw", 1e-3, 1e-2, "warmup-cosine", 256)
VIEWS = {"pairing": "neighbor", "batching": "shuffled", "encoder_dropout": 0.0}
SAME = {**VIEWS, "pairing": "same"}
MASKS = {"time_mask": 0.5, "frequency_mask": 0.1, "recipe": ADAMW}
QUEUE = {"temperature": 0.1, "momentum": 0.999, "queue_size": 16384}
HEADS = {"projection_layers": 3, "prediction_layers": 2}
PATIENT = {"pairing": "patient", "batching": "patient", "encoder_dropout": 0.0}
TRIAL = {"pairing": "same", "batching": "trial", "encoder_dropout": 0.1, "mask_spans": 5, "mask_span_share": 0.1}
LEVELS = {"patient_weight": 0.1, "trial_weight": 0.7, "sample_weight": 0.1, "observation_weight": 0.1}
REPORT = {**SAME, "temperature": 0.07, "text_width": 768}
TS2VEC = {**SAME, "encoder_dropout": 0.1, "time_mask": 0.5, "instance_weight": 0.5}
JEPA = {**SAME, "momentum": 0.996, "blocks": 4, "block_share": 0.2, "prediction_layers": 2}
MAE = {**SAME, "mask_ratio": 0.75, "normalise": True, "decoder_width": 256, "decoder_depth": 4}
CLIP = {**REPORT, "latent_dropout": 0.1, "uma_weight": 1.0}
CPC = {**SAME, "horizon": 12, "negatives": 128, "temperature": 1}
DEFAULTS: dict[str, dict[str, Any]] = {
    "random": {**VIEWS, "recipe": ADAMW},
    "moco": {**VIEWS, **QUEUE, **MASKS, "head": "pmq", "predictor": True},
    "byol": {**VIEWS, **MASKS, **HEADS, "momentum": 0.996, "momentum_schedule": "cosine"},
    "clocs": {**VIEWS, "temperature": 0.1, "recipe": recipe("adam", 1e-4, 0.0, "constant", 256)},
    "pclr": {**PATIENT, "temperature": 0.1, "projection_layers": 2, "recipe": recipe("adam", 1e-2, 0, "constant", 512)},
    "comet": {**TRIAL, **LEVELS, "recipe": recipe("adamw", 1e-4, 1e-2, "constant", 256)},
    "etp": {**REPORT, "recipe": recipe("adam", 2e-3, 1e-5, "constant", 128)},
    "pmq": {**VIEWS, **QUEUE, **MASKS, **HEADS, "positives": "patient"},
    "pmq-released": {**VIEWS, **QUEUE, **MASKS, "batching": "trial-fixed", "encoder_dropout": 0.1},
    "simclr": {**SAME, **MASKS, "temperature": 0.1, "projection_layers": 2},
    "vicreg": {**SAME, **MASKS, "invariance": 25.0, "variance": 25.0, "covariance": 1.0},
    "barlow": {**SAME, **MASKS, "off_diagonal_weight": 5e-3},
    "simsiam": {**SAME, **MASKS},
    "ts2vec": {**TS2VEC, "recipe": recipe("adamw", 1e-3, 1e-2, "constant", 16)},
    "cpc": {**CPC, "recipe": recipe("adam", 2e-4, 0, "constant", 64)},
    "jepa": {**JEPA, "recipe": recipe("adamw", 2.5e-5, 0.05, "warmup-cosine", 128)},
    "mae": {**MAE, "recipe": recipe("adamw", 1.5e-4, 1e-2, "warmup-cosine", 256)},
    "clip-report": {**CLIP, "recipe": recipe("adamw", 2e-4, 1e-5, "warmup-cosine", 512)},
}
FACTS = {
    "random": ("Random", 1, 4, 0, 0), "moco": ("MoCo", 2, 4, 5, 5), "byol": ("BYOL", 2, 8, 5, 5),
    "clocs": ("CLOCS", 1, 6, 0, 0), "pclr": ("PCLR", 2, 6, 2, 0), "comet": ("COMET", 4, 55, 0, 0),
    "etp": ("ETP", 1, 3, 2, 0), "pmq": ("PMQ", 2, 4, 5, 5), "pmq-released": ("PMQ (released code)", 3, 4, 5, 5),
    "simclr": ("SimCLR", 1, 6, 2, 0), "vicreg": ("VICReg", 1, 6, 3, 2), "barlow": ("Barlow Twins", 1, 6, 3, 2),
    "simsiam": ("SimSiam", 1, 6, 5, 4), "ts2vec": ("TS2Vec", 2, 8, 0, 0), "cpc": ("CPC", 1, 4, 1, 0),
    "jepa": ("JEPA", 1, 5, 2, 0), "mae": ("MAE", 2, 1.5, 14, 0), "clip-report": ("CLIP-Report", 1, 3, 5, 0),
}  # fmt: skip
"""Title, results version, encoder passes of an update, linear layers and batch normalisations beside the encoder."""


@pytest.mark.parametrize("name", DEFAULTS)
def test_recipes_are_those_of_the_papers(name: str) -> None:
    kind = METHODS[name]
    config = kind.Config()
    assert asdict(config) == DEFAULTS[name]
    assert type(config)(**asdict(config)) == config
    method = kind(ViT1d(ViT1d.Config.small()) if name == "mae" else make.encoder(), config)
    parts = [part for place, part in method.named_modules() if not place.startswith(("encoder", "momentum", "average"))]
    layers = [sum(isinstance(part, layer) for part in parts) for layer in (nn.Linear, nn.BatchNorm1d)]
    assert (kind.name, kind.title, kind.version, kind.encoder_passes, *layers) == (name, *FACTS[name])
