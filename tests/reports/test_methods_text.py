"""The methods paragraph: that it says what the made-up store did, and cites what it names."""

from __future__ import annotations

import re
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path

import pytest

from benchmark.results.store import Plan
from reports import load
from reports.layouts import layouts
from reports.methods_text import bibliography, methods_text
from tests.reports.conftest import write_record

WriteStore = Callable[..., Path]
RECIPE = {"optimiser": "adamw", "lr": 0.003}


def text_of(root: Path) -> str:
    results = load(root)
    return methods_text(results, [next(layouts(results.plan, "finetune"))], "heartbeat")


def write_records(root: Path, **recipe: float) -> None:
    encoder = {"encoder": {"name": "dilated"}, "encoder_parameters": 1234, "updates": 300, "loss": [2.0, 1.0]}
    for row, changes in (("moco", {}), ("pmq", recipe)):
        write_record(root, row, method=row, key_content={"config": {"recipe": RECIPE | changes}}, **encoder)
    write_record(root, "random", method="random")


def test_the_paragraph_says_what_the_run_did(write_store: WriteStore) -> None:
    root = write_store(complete=True)
    write_records(root)
    text = text_of(root)
    for sentence in (
        "The pretraining corpus was simulated recordings in the form of MIMIC-IV-ECG [@gow2023mimic]: 80 recordings "
        "of 8 patients.",
        "PTB-XL [@wagner2020ptbxl] (simulated, 30 recordings of 20 patients, 2 classes); Chapman [@zheng2020chapman] "
        "(40 recordings of 40 patients, 2 classes), with single-label targets.",
        "The encoder was dilated [@sun2025pmq] with 1,234 parameters.",
        "The pretrained methods were MoCo [@he2020moco] (300 updates), PMQ [@sun2025pmq] (300 updates). They had "
        "an equal number of epochs over their batches. They had one recipe: optimiser adamw, lr 0.003.",
        "Random stands for one untrained encoder.",
        "Fine-tuned (encoder and a new head, trained together): 30 % and 1 % of the training labels, seeds 41, 42.",
        "Software: ecg-pretrain-bench, commit 0123456789ab, PyTorch 2.13.0, on cuda in float32.",
    ):
        assert sentence in text
    assert "crops" not in text


def test_the_paragraph_has_the_windows_with_what_validation_chose(write_store: WriteStore) -> None:
    def of_recordings(plan: Plan) -> Plan:
        data = plan.config["data"] | {
            "segmentation": {"kind": "recordings", "seconds": 2.5, "stride": None}, "rate": 100, "standardise": "none",
        }  # fmt: skip
        sections = {
            "data": data, "finetune": {"epochs": 6, "lr": [1e-4, 1e-3]}, "hyperparameters": {"pmq": {"queue_size": 8}},
            "protocol": "strict", "validation_labels": "whole",
        }  # fmt: skip
        return replace(plan, config=plan.config | sections)

    root = write_store(complete=True, alter_plan=of_recordings)
    write_records(root)
    text = text_of(root)
    for sentence in (
        "Windows were crops of 2.5 s every 1.25 s at 100 Hz, of 12 leads, in mV.",
        "Hyperparameters were set for PMQ (queue size 8).",
        "Settings were chosen by the mean log-likelihood per recording on the labels of all of the validation "
        "patients: for Fine-tuned the learning rate (of 0.0001, 0.001) and the epoch (up to 6).",
    ):
        assert sentence in text


def test_the_paragraph_has_ablations_sweeps_and_how_the_test_parts_were_drawn(write_store: WriteStore) -> None:
    def with_changes(plan: Plan) -> Plan:
        roles = {
            "pmq:w/o mask_t": {"role": "ablation", "of": "pmq", "hyperparameter": "", "value": None},
            "pmq:queue_size=64": {"role": "sweep", "of": "pmq", "hyperparameter": "queue_size", "value": 64},
            "pmq:queue_size=256": {"role": "sweep", "of": "pmq", "hyperparameter": "queue_size", "value": 256},
        }
        datasets = plan.datasets | {"ptb-xl": plan.datasets["ptb-xl"] | {"division": "by the folds of the dataset"}}
        return replace(plan, roles=plan.roles | roles, datasets=datasets)

    root = write_store(complete=True, alter_plan=with_changes)
    write_records(root)
    text = text_of(root)
    assert "PMQ was also run w/o mask_t. PMQ was also run with queue size 64 and 256." in text
    assert "2 classes, divided by the folds of the dataset);" in text


def test_a_recipe_is_named_only_where_all_have_it(write_store: WriteStore) -> None:
    root = write_store(complete=True)
    write_records(root, lr=0.1)
    assert "recipe" not in text_of(root)


@pytest.mark.parametrize("protocol", ["paper", "strict"])
def test_exactly_the_papers_of_the_run_are_cited(write_store: WriteStore, protocol: str) -> None:
    def under(plan: Plan) -> Plan:
        return replace(plan, config=plan.config | {"protocol": protocol})

    root = write_store(complete=True, alter_plan=under)
    write_records(root)
    text = text_of(root)
    keys = set(re.findall(r"@\w+\{(\w+),", bibliography(text)))
    assert keys == set(re.findall(r"@(\w+)", text))
    assert {"he2020moco", "holm1979"} <= keys
    assert "grill2020byol" not in keys
