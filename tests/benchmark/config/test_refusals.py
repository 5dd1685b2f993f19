"""Wrong values, names that nobody knows, and sections that do not fit each other, are refused in one line."""

from __future__ import annotations

from typing import Any

import pytest

from benchmark.config.errors import ConfigError
from benchmark.config.load import load_config
from benchmark.data.readers.registry import DATASETS


@pytest.mark.parametrize(
    ("overrides", "words"),
    [
        ({"pretrain.epoch": 3}, ["'pretrain.epoch'", "did you mean 'pretrain.epochs'", "pretrain.recipe"]),
        ({"pretrain.recipe.lrr": 3}, ["'pretrain.recipe.lrr'", "pretrain.recipe.lr", "pretrain.recipe.schedule"]),
        ({"methods.clocs.recipe.lrr": 3}, ["'methods.clocs.recipe.lrr'", "methods.clocs.recipe.schedule"]),
        ({"methods.clocs.recipe": 3}, ["methods.clocs.recipe", "3"]),
        ({"sweeps": 3}, ["sweeps", "3"]),
        ({"sweeps.pmq": 3}, ["sweeps.pmq", "3"]),
        ({"epochs": 3}, ["'epochs'", "pretrain, finetune", "seeds"]),
        ({"data.task": []}, ["data.task", "at least 1"]),
        ({"data.task": "all"}, ["data.task", "list", "'all'"]),
        ({"ratios": [0.5, 0]}, ["ratios.1", "greater than 0", "got 0"]),
        ({"ratios": [1.5]}, ["ratios.0", "less than or equal to 1", "1.5"]),
        ({"ratios": [-0.1]}, ["ratios.0", "-0.1"]),
        ({"ratios": ["half"]}, ["ratios.0", "'half'"]),
        ({"ratios": []}, ["ratios", "at least 1", "[]"]),
        ({"ratios": 0.5}, ["ratios", "list", "0.5"]),
        ({"seeds": [-1]}, ["seeds.0", "-1"]),
        ({"seeds": [1.5]}, ["seeds.0", "1.5"]),
        ({"protocol": "papers"}, ["protocol", "'paper' or 'strict'", "'papers'"]),
        ({"precision": "fp16"}, ["precision", "'bf16'", "'fp16'"]),
        ({"evaluate": ["probe"]}, ["evaluate.0", "unknown evaluation 'probe'", "finetune, linear, linear-fix"]),
        ({"pretrain.epochs": 0}, ["pretrain.epochs", "0"]),
        ({"pretrain.recipe.lr": 0}, ["pretrain.recipe.lr", "greater than 0", "got 0"]),
        ({"pretrain.recipe.batch_size": 1}, ["pretrain.recipe.batch_size", "greater than or equal to 2", "got 1"]),
        ({"pretrain.recipe.schedule": "cosine"}, ["pretrain.recipe.schedule", "'warmup-cosine'", "'cosine'"]),
        ({"finetune.lr": "fast"}, ["finetune.lr", "'fast'"]),
        ({"finetune.dropout": 1}, ["finetune.dropout", "less than 1"]),
        ({"linear.strengths": [1, 0]}, ["linear.strengths.1", "greater than 0"]),
        ({"methods.pmq.momentum": 1.5}, ["methods.pmq.momentum", "less than or equal to 1", "got 1.5"]),
        ({"methods.pmq.positives": "all"}, ["methods.pmq.positives", "'all'", "'patient'"]),
        ({"methods.pmq.momentum": "0.5"}, ["methods.pmq.momentum", "valid number", "got '0.5'"]),
        ({"methods.comet.mask_spans": 1.5}, ["methods.comet.mask_spans", "valid integer", "got 1.5"]),
        ({"methods.clocs": {"leads": "one", "views": "cmlc"}}, ["methods.clocs: leads = 'one': cmlc", "give 'all'"]),
        (
            {"methods.comet": {f"{level}_weight": 0 for level in ("observation", "sample", "trial", "patient")}},
            ["methods.comet: all four weights are 0"],
        ),
        ({"encoder": 3}, ["encoder", "3"]),
        ({"encoder.hidden": 10.5}, ["encoder.hidden", "valid integer", "got 10.5"]),
        ({"encoder.hidden.x": 3}, ["'encoder.hidden.x'", "'hidden' is a value"]),
        ({"methods": ["pmqq"]}, ["'pmqq'", "did you mean 'pmq'", "moco"]),
        ({"methods.mocco": {}}, ["'mocco'", "did you mean 'moco'"]),
        ({"data.datasets": ["ptbxl"]}, ["'ptbxl'", "did you mean 'ptb-xl'", *DATASETS]),
        ({"data.pretrain": "mimic"}, ["'mimic'", *DATASETS]),
        ({"data.simulation.patients.ptbxl": 3}, ["'ptbxl'", *DATASETS]),
        ({"data.datasets": ["mimic-iv-ecg"]}, ["mimic-iv-ecg", "no labels"]),
        ({"data.datasets": ["chapman"], "data.task": ["form"]}, ["data.task", "'form'", "chapman has default, all"]),
        (
            {"data.datasets": ["ptb-xl", "chapman"], "data.task": ["form"]},
            ["data.task", "chapman has none of the tasks form", "it has default, all"],
        ),
        ({"data.task": ["all", "all"]}, ["data.task", "['all', 'all']", "twice"]),
        ({"seeds": [41, 41]}, ["seeds", "[41, 41]", "twice"]),
        ({"ratios": [0.1, 1e-1]}, ["ratios", "twice"]),
        ({"methods": ["pmq", "moco", "pmq"]}, ["methods", "twice"]),
        ({"evaluate": ["linear", "linear"]}, ["evaluate", "twice"]),
        ({"data.datasets": ["ptb-xl", "ptb-xl"]}, ["data.datasets", "twice"]),
        (
            {"data.simulation.patients": {"ptb-xl": 5, "chapman": 5, "cpsc2018": 5}},
            ["data.simulation.patients", "mimic-iv-ecg"],
        ),
        ({"knobs.pmq.momentun": 0.5}, ["momentun", "methods.pmq.momentum"]),
        ({"ablations.pmq": {"half": {"momentum": 2}}}, ["methods.pmq.momentum", "got 2"]),
        ({"sweeps.pmq.queue_size": [-1]}, ["methods.pmq.queue_size", "got -1"]),
        (
            {"engine.minutes": 15, "engine.warning_seconds": 451},
            ["engine.warning_seconds", "engine.minutes=15", "at most 450", "got 451"],
        ),
        (
            {"methods": ["pmq", "moco", "random"], "pretrain.budget": "seconds"},
            ["pretrain.pair_milliseconds", "of pmq, moco, by which", "`speed`"],
        ),
        (
            {
                "methods": ["moco"],
                "sweeps.byol.momentum": [0.9],
                "pretrain.budget": "seconds",
                "pretrain.pair_milliseconds": {"moco": 1.0, "pmq": 1.0},
            },
            ["pretrain.pair_milliseconds", "of byol, by which"],
        ),
        (
            {"pretrain.budget": "seconds", "pretrain.pair_milliseconds.moko": 1.0},
            ["'moko'", "did you mean 'moco'"],
        ),
        (
            {"pretrain.budget": "seconds", "pretrain.pair_milliseconds.moco": 0.0},
            ["pretrain.pair_milliseconds.moco", "greater than 0"],
        ),
        ({"pretrain.pair_milliseconds.moco": 1.0}, ["pretrain.pair_milliseconds", "pretrain.budget=seconds"]),
        ({"methods": ["mae"], "encoder.name": "dilated"}, ["methods", "mae", "dilated"]),
        *[
            (
                {"methods": [method], "encoder": {"name": "vit1d", "patch": 300, "length": 300}},
                [f"methods: {method}", "the encoder gives 1 step per window", "2 are needed"],
            )
            for method in ("ts2vec", "cpc", "mae")
        ],
        (
            {
                "methods": ["random"],
                "sweeps.cpc.horizon": [4],
                "encoder": {"name": "vit1d", "patch": 300, "length": 300},
            },
            ["methods: cpc", "the encoder gives 1 step per window"],
        ),
    ],
)
def test_a_config_that_cannot_be_meant_is_refused_in_one_line(overrides: dict[str, Any], words: list[str]) -> None:
    with pytest.raises(ConfigError) as caught:
        load_config("demo", overrides)
    message = str(caught.value)
    assert "\n" not in message
    assert [word for word in words if word not in message] == []


def test_the_first_of_several_faults_is_told() -> None:
    wrong = {"data.datasets": ["ptbxl"], "seeds": [1, 1], "knobs.pmq.momentun": 1}
    with pytest.raises(ConfigError, match="'ptbxl'"):
        load_config("demo", wrong)
    with pytest.raises(ConfigError, match="momentun"):
        load_config("demo", {name: value for name, value in wrong.items() if name != "data.datasets"})
