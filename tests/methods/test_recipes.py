"""The defaults of every method, written down: the papers' recipes (DEVIATIONS.md says where they differ).

A default that moves moves the numbers of everyone who gives none: it is changed here too, with a results version.
"""

from __future__ import annotations

from dataclasses import asdict
from typing import Any

import pytest

from methods import METHODS


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
CPC = {**SAME, "horizon": 12, "negatives": 128}
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
    "cpc": {
        **SAME,
        "horizon": 12,
        "negatives": 128,
        "temperature": 1,
        "recipe": recipe("adam", 2e-4, 0, "constant", 64),
    },
    "jepa": {**JEPA, "recipe": recipe("adamw", 2.5e-5, 0.05, "warmup-cosine", 128)},
    "mae": {**MAE, "recipe": recipe("adamw", 1.5e-4, 1e-2, "warmup-cosine", 256)},
    "clip-report": {**CLIP, "recipe": recipe("adamw", 2e-4, 1e-5, "warmup-cosine", 512)},
}


@pytest.mark.parametrize("name", DEFAULTS)
def test_the_defaults_are_those_written_here(name: str) -> None:
    config = METHODS[name].Config()
    assert asdict(config) == DEFAULTS[name]
    assert type(config)(**asdict(config)) == config
