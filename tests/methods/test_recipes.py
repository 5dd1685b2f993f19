"""The defaults of every method, written down: the papers' recipes (DEVIATIONS.md says where they differ).

A default that moves moves the numbers of everyone who gives none: it is changed here too, with a results version.
"""

from __future__ import annotations

from dataclasses import asdict
from typing import Any

import pytest

from methods import METHODS

ADAMW = {"optimiser": "adamw", "lr": 1e-3, "weight_decay": 1e-2, "schedule": "warmup-cosine", "batch_size": 256}
VIEWS = {"pairing": "neighbor", "batching": "shuffled", "encoder_dropout": 0.0}
ONE_WINDOW = {**VIEWS, "pairing": "same"}
MASKS = {"time_mask": 0.5, "frequency_mask": 0.1}
QUEUE = {"temperature": 0.1, "momentum": 0.999, "queue_size": 16384}
HEADS = {"projection_layers": 3, "prediction_layers": 2}
DEFAULTS: dict[str, dict[str, Any]] = {
    "random": {**VIEWS, "recipe": ADAMW},
    "moco": {**VIEWS, **QUEUE, **MASKS, "head": "pmq", "predictor": True, "recipe": ADAMW},
    "byol": {**VIEWS, **MASKS, **HEADS, "momentum": 0.996, "momentum_schedule": "cosine", "recipe": ADAMW},
    "clocs": {
        **VIEWS, "temperature": 0.1,
        "recipe": {"optimiser": "adam", "lr": 1e-4, "weight_decay": 0.0, "schedule": "constant", "batch_size": 256},
    },
    "pclr": {
        **VIEWS, "pairing": "patient", "batching": "patient", "temperature": 0.1, "projection_layers": 2,
        "recipe": {"optimiser": "adam", "lr": 1e-2, "weight_decay": 0.0, "schedule": "constant", "batch_size": 512},
    },
    "comet": {
        **VIEWS, "pairing": "same", "batching": "trial", "encoder_dropout": 0.1, "mask_spans": 5,
        "mask_span_share": 0.1, "patient_weight": 0.1, "trial_weight": 0.7, "sample_weight": 0.1,
        "observation_weight": 0.1,
        "recipe": {"optimiser": "adamw", "lr": 1e-4, "weight_decay": 1e-2, "schedule": "constant", "batch_size": 256},
    },
    "etp": {
        **VIEWS, "pairing": "same", "temperature": 0.07, "text_width": 768,
        "recipe": {"optimiser": "adam", "lr": 2e-3, "weight_decay": 1e-5, "schedule": "constant", "batch_size": 128},
    },
    "pmq": {**VIEWS, **QUEUE, **MASKS, **HEADS, "positives": "patient", "recipe": ADAMW},
    "pmq-released": {**VIEWS, **QUEUE, **MASKS, "batching": "trial-fixed", "encoder_dropout": 0.1, "recipe": ADAMW},
    "simclr": {**ONE_WINDOW, **MASKS, "temperature": 0.1, "projection_layers": 2, "recipe": ADAMW},
    "vicreg": {
        **ONE_WINDOW, **MASKS, "invariance": 25.0, "variance": 25.0, "covariance": 1.0, "recipe": ADAMW,
    },
    "barlow": {**ONE_WINDOW, **MASKS, "off_diagonal_weight": 5e-3, "recipe": ADAMW},
    "simsiam": {**ONE_WINDOW, **MASKS, "recipe": ADAMW},
    "ts2vec": {
        **ONE_WINDOW, "encoder_dropout": 0.1, "time_mask": 0.5, "instance_weight": 0.5,
        "recipe": {"optimiser": "adamw", "lr": 1e-3, "weight_decay": 1e-2, "schedule": "constant", "batch_size": 16},
    },
    "cpc": {
        **ONE_WINDOW, "horizon": 12, "negatives": 128, "temperature": 1.0,
        "recipe": {"optimiser": "adam", "lr": 2e-4, "weight_decay": 0.0, "schedule": "constant", "batch_size": 64},
    },
    "jepa": {
        **ONE_WINDOW, "momentum": 0.996, "blocks": 4, "block_share": 0.2, "prediction_layers": 2,
        "recipe": {**ADAMW, "lr": 2.5e-5, "weight_decay": 0.05, "batch_size": 128},
    },
    "mae": {
        **ONE_WINDOW, "mask_ratio": 0.75, "normalise": True, "decoder_width": 256, "decoder_depth": 4,
        "recipe": {**ADAMW, "lr": 1.5e-4},
    },
    "clip-report": {
        **ONE_WINDOW, "temperature": 0.07, "text_width": 768, "latent_dropout": 0.1, "uma_weight": 1.0,
        "recipe": {**ADAMW, "lr": 2e-4, "weight_decay": 1e-5, "batch_size": 512},
    },
}  # fmt: skip


@pytest.mark.parametrize("name", METHODS)
def test_the_defaults_are_those_written_here(name: str) -> None:
    config = METHODS[name].Config()
    assert asdict(config) == DEFAULTS[name]
    assert type(config)(**asdict(config)) == config
