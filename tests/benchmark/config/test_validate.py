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
    ({"methods.clocs.recipe.lrr": 3}, ["'methods.clocs.recipe.lrr'", "methods.clocs.recipe.schedule"]),
    ({"epochs": 3}, ["'epochs'", "pretrain, finetune", "seeds"]),
    ({"ratios": [30.0]}, ["ratios.0", "a share of the labels", "did you mean 0.3?", "got 30.0"]),
    ({"pretrain.epochs": 0}, ["pretrain.epochs", "0"]),
    ({"finetune.lr": True}, ["finetune.lr: input should be a valid number, got True"]),
    ({"pretrain.recipe.lr": "inf"}, ["pretrain.recipe.lr"]),
    ({"methods.pmq.momentum": 1.5}, ["methods.pmq.momentum", "less than or equal to 1", "got 1.5"]),
    ({"evaluate": ["liner"]}, ["unknown evaluation 'liner' (did you mean 'linear'?)"]),
    ({"data.leads": ["I", "V7"]}, ["data.leads", "V7"]),
    ({"data.rate": 300}, ["data.rate: input should be 100, 250 or 500, got 300"]),
    ({"data.segmentation.seconds": 2.0}, ["'data.segmentation.seconds'", "data.segmentation.beats"]),
    ({**RECORDINGS, "data.segmentation.beats": "fused"}, ["'data.segmentation.beats'", "data.segmentation.stride"]),
    ({"data.segmentation.kind": "windows"}, ["data.segmentation", "windows", "heartbeats"]),
    (
        {"methods.comet": {f"{level}_weight": 0 for level in ("observation", "sample", "trial", "patient")}},
        ["methods.comet: all four weights are 0"],
    ),
    ({"encoder.hidden": 10.5}, ["encoder.hidden", "valid integer", "got 10.5"]),
    ({"encoder": {"hiden": 3}}, ["'encoder.hiden' (did you mean 'encoder.hidden'?); there are: encoder.name,"]),
    ({"encoder": {"name": "resnet"}}, ["unknown encoder 'resnet': did you mean 'resnet1d'?"]),
    ({"encoder": {"name": 3}}, ["encoder: {name: dilated} was expected, with knobs of that encoder"]),
    ({"encoders": [{"name": "resnet1d", "depth": 2}]}, ["unknown config key 'encoders.0.depth'"]),
    ({"methods": ["pmqq"]}, ["'pmqq'", "did you mean 'pmq'", "moco"]),
    ({"methods.random.recipe.lr": 0.5}, ["methods.random cannot act: this method trains nothing"]),
    ({"sweeps.pmq.data.rate": [100]}, ["'sweeps.pmq.data.rate'", "sweeps.pmq.queue_size", "sweeps.pmq.finetune"]),
    ({"sweeps.pmq.pretrain.epoch": [1]}, ["'pretrain.epoch' (did you mean 'pretrain.epochs'?)"]),
    ({"sweeps.pmq.momentun": [0.5]}, ["'sweeps.pmq.momentun' (did you mean 'sweeps.pmq.momentum'?)"]),
    ({"sweeps.pmq.recipe.lr": [0.0]}, ["methods.pmq.recipe"]),
    ({"data.datasets": ["ptbxl"]}, ["'ptbxl'", "did you mean 'ptb-xl'", *DATASETS]),
    ({"data.simulation.patients.ptbxl": 3}, ["'ptbxl'", *DATASETS]),
    ({"data.simulation.patients": {"ptb-xl": 5, "chapman": 5, "cpsc2018": 5}}, ["data.simulation", "mimic-iv-ecg"]),
    ({"data.datasets": ["mimic-iv-ecg"]}, ["mimic-iv-ecg", "no labels"]),
    ({"data.datasets": ["chapman"], "data.task": ["form"]}, ["data.task", "'form'", "chapman has default, all"]),
    ({"data.folds": 5}, ["data.folds: 5", "--protocol strict"]),
    ({"subsets": 5}, ["subsets: 5 of them need --protocol strict"]),
    ({"seeds": [41, 41]}, ["seeds", "[41, 41]", "twice"]),
    ({"ablate": ["w/o queu"]}, ["unknown ablation 'w/o queu' (did you mean 'pmq:w/o queue'?)"]),
    ({"ablate": ["all"], "methods": ["moco"]}, ["ablate: no compared method has an ablation; compare pmq too"]),
    ({"ablations.pmq": {"half": {"momentum": 2}}}, ["methods.pmq.momentum", "got 2"]),
    ({"printed": ["nobody-2020"]}, ["unknown source of printed numbers 'nobody-2020'"]),
)


@pytest.mark.parametrize(("overrides", "words"), WRONG)
def test_a_config_that_cannot_be_meant_is_refused_in_one_line(overrides: dict[str, Any], words: list[str]) -> None:
    with pytest.raises(ConfigError) as caught:
        load_config("demo", overrides)
    message = str(caught.value)
    assert "\n" not in message
    assert [word for word in words if word not in message] == []


@pytest.mark.parametrize(
    ("overrides", "words"),
    [
        ({"methods": ["mae"], "encoder.name": "dilated"}, ["methods", "mae", "dilated"]),
        ({"methods": ["cpc"], "encoder": ONE_TOKEN}, ["methods: cpc"]),
        ({"methods": ["random"], "sweeps.cpc.horizon": [4], "encoder": ONE_TOKEN}, ["methods: cpc"]),
        ({"encoder": {"name": "vit1d", "patch": 70, "length": 2800}}, ["vit1d", "windows of 300 samples"]),
    ],
)
def test_two_zero_windows_tell_whether_a_method_can_pretrain_the_encoder(
    overrides: dict[str, Any], words: list[str]
) -> None:
    with pytest.raises(ConfigError) as caught:
        load_config("demo", overrides)
    assert [word for word in words if word not in str(caught.value)] == []
