"""Wrong keys and values, names that nobody knows, and parts that do not fit are refused in one line."""

from __future__ import annotations

from typing import Any

import pytest

from benchmark.config.errors import ConfigError
from benchmark.config.load import load_config
from benchmark.data.datasets import DATASETS

RECORDINGS = {"data.segmentation.kind": "recordings", "methods": ["moco"]}
ONE_TOKEN = {"name": "vit1d", "patch": 300, "length": 300}
WRONG: tuple[tuple[dict[str, Any], list[str]], ...] = (
    ({"pretrain.epoch": 3}, ["'pretrain.epoch'", "did you mean 'pretrain.epochs'", "pretrain.recipe"]),
    ({"evaluate": ["liner"]}, ["unknown evaluation 'liner' (did you mean 'linear'?)"]),
    ({"evaluate": ["retrieval"]}, ["evaluate: retrieval cannot be the only evaluation"]),
    ({**RECORDINGS, "data.segmentation.beats": "fused"}, ["'data.segmentation.beats'", "data.segmentation.stride"]),
    (
        {"methods.comet": {f"{level}_weight": 0 for level in ("observation", "sample", "trial", "patient")}},
        ["methods.comet: all four weights are 0"],
    ),
    ({"methods": ["pmqq"]}, ["'pmqq'", "did you mean 'pmq'", "moco"]),
    ({"methods.random.recipe.lr": 0.5}, ["methods.random cannot act: this method trains nothing"]),
    ({"sweeps.pmq.data.rate": [100]}, ["'sweeps.pmq.data.rate'", "sweeps.pmq.queue_size", "sweeps.pmq.finetune"]),
    ({"data.datasets": ["ptbxl"]}, ["'ptbxl'", "did you mean 'ptb-xl'", *DATASETS]),
    ({"data.simulation.patients": {"ptb-xl": 5, "chapman": 5, "cpsc2018": 5}}, ["data.simulation", "mimic-iv-ecg"]),
    ({"data.datasets": ["chapman"], "data.task": ["form"]}, ["data.task", "'form'", "chapman has default, all"]),
    ({"data.folds": 5}, ["data.folds: 5", "--protocol strict"]),
    ({"seeds": [41, 41]}, ["seeds", "[41, 41]", "twice"]),
    ({"pretrain.epochs": 1e300}, ["pretrain.epochs", "1000000"]),
    ({"ablate": ["w/o queu"]}, ["unknown ablation 'w/o queu' (did you mean 'pmq:w/o queue'?)"]),
    ({"ablate": ["all"], "methods": ["moco"]}, ["ablate: no compared method has an ablation; compare pmq too"]),
    # what a forward pass of two zero windows tells
    ({"methods": ["mae"], "encoder.name": "dilated"}, ["methods", "mae", "dilated"]),
    ({"methods": ["cpc"], "encoder": ONE_TOKEN}, ["methods: cpc"]),
    ({"methods": ["random"], "sweeps.cpc.horizon": [4], "encoder": ONE_TOKEN}, ["methods: cpc"]),
    ({"encoder": {"name": "vit1d", "patch": 70, "length": 2800}}, ["vit1d", "windows of 300 samples"]),
)


@pytest.mark.parametrize(("overrides", "words"), WRONG)
def test_a_config_that_cannot_be_meant_is_refused_in_one_line(overrides: dict[str, Any], words: list[str]) -> None:
    with pytest.raises(ConfigError) as caught:
        load_config("demo", overrides)
    message = str(caught.value)
    assert "\n" not in message
    assert [word for word in words if word not in message] == []
