"""The names that flags take, which are refused before the config is read, are those that the config takes.

The flags that verbs share: what each sets in the config and the place, and one line for what cannot be meant.
"""

from __future__ import annotations

import os
from collections.abc import Sequence
from pathlib import Path
from typing import Any, get_args, get_type_hints

import pytest
import torch

from benchmark.config.command_line import Verb, parse, refuse_unknown
from benchmark.config.config import Config, load_config
from benchmark.config.errors import ConfigError
from benchmark.config.flags import FLAGS, Folders, config_of, device_of, jobs_of, place_of, shared
from benchmark.config.sections import Data, Pretrain


def literal_of(section: Any, key: str) -> tuple[Any, ...]:
    """The values of a key, or those of its list."""
    found = get_args(get_type_hints(section)[key])
    return get_args(found[0]) or found


@pytest.mark.parametrize(
    ("flag", "section", "key"),
    [
        ("--protocol", Config, "protocol"),
        ("--precision", Config, "precision"),
        ("--preset", Pretrain, "preset"),
        ("--labels", Data, "labels"),
        ("--segmentation", Data, "segmentation"),
        ("--standardise", Data, "standardise"),
        ("--pool", Data, "pool"),
    ],
)
def test_a_flag_takes_what_its_key_takes(flag: str, section: Any, key: str) -> None:
    known = FLAGS[flag].known
    assert known is not None
    assert set(known.names) == set(literal_of(section, key))


ANY = {"any": Verb("takes every shared flag", "kitchen:nothing", shared(*FLAGS))}
WRONG = [
    (["--ratios", "30"], "share of the labels, less than or equal to 1 (did you mean 0.3?), got 30.0"),
    (["--ablate", "w/o queu"], "unknown ablation 'w/o queu' (did you mean 'pmq:w/o queue'?)"),
    (["--methods", "moco", "--ablations"], "ablate: no compared method has an ablation; compare pmq too"),
    (["--queue-sizes", "-1"], "methods.pmq.queue_size: input should be greater than or equal to 0, got -1"),
    (["--set", "pretrain.epochs"], "--set 'pretrain.epochs' is not KEY=VALUE"),
    (["--set", "ratios=[0.5"], "--set: '[0.5' is not a YAML value"),
    (["--leads", "I", "V7"], "data.leads: 'V7' is no lead; there are I II III aVR aVL aVF V1"),
    (["--window-rate", "300"], "data.rate: input should be 100, 250 or 500, got 300"),
    (["--window-seconds", "2"], "data.window_seconds cannot act: it is of crops of whole recordings"),
    (
        ["--segmentation", "recordings", "--window-seconds", "2", "--window-stride", "3"],
        "data.window_stride: it would leave gaps between crops of 2 s (data.window_seconds), got 3.0",
    ),
    (["--data", "ptb-xl"], "--data 'ptb-xl' is not NAME=DIR, e.g. --data ptb-xl=/data/ptb-xl"),
    (
        ["--data", "ptb=/x"],
        "--data: unknown dataset 'ptb' (did you mean 'ptb-xl'?); there are: mimic-iv-ecg, ptb-xl, chapman, cpsc2018",
    ),
    (["--workers", "0"], "--workers: 0 is not a count; use 1 or more"),
    (["--device", "nonsense"], "--device 'nonsense' is no device; use auto, cpu, cuda or cuda:N"),
    (["--device", "cuda:99"], "--device 'cuda:99' is not there"),
]


def read(argv: Sequence[str]) -> tuple[Config, Folders, int]:
    """All that the shared flags make: the config, the place, and cells at a time."""
    arguments = parse(ANY, argv)[1]
    return config_of(arguments), place_of(arguments), jobs_of(arguments, device_of(arguments), ())


def config_from(line: str) -> Config:
    return read(line.split())[0]


def place_from(line: str) -> Folders:
    return read(line.split())[1]


@pytest.mark.parametrize(("argv", "message"), WRONG, ids=[" ".join(argv) for argv, _ in WRONG])
def test_a_wrong_value_is_one_line(argv: list[str], message: str) -> None:
    with pytest.raises(ConfigError) as caught:
        read(argv)
    assert message in str(caught.value)
    assert "\n" not in str(caught.value)


def test_no_flag_is_the_demo_here() -> None:
    config, place, _ = read([])
    assert config == load_config("demo")
    assert place == Folders(None, {}, Path("cache"), len(os.sched_getaffinity(0)))
    values = vars(parse(ANY, [])[1])
    assert (values["results"], values["out"], values["unit"]) == (Path("runs"), Path("out"), None)


def test_flags_set_the_config() -> None:
    config = config_from(
        "--config paper --methods pmq moco --datasets chapman ptb-xl --pretrain-dataset cpsc2018 --ratios 0.5 1 "
        "--seeds 1 2 --protocol strict --labels multi --evaluate linear finetune --preset unified --precision bf16"
    )
    assert (config.name, config.methods) == ("paper", ["pmq", "moco"])
    assert (config.data.datasets, config.data.pretrain) == (["chapman", "ptb-xl"], "cpsc2018")
    assert (config.ratios, config.seeds) == ([0.5, 1.0], [1, 2])
    assert (config.protocol, config.data.labels, config.evaluate) == ("strict", "multi", ["linear", "finetune"])
    assert (config.pretrain.preset, config.precision) == ("unified", "bf16")


def test_flags_add_ablations_and_sweeps() -> None:
    config = read(["--ablations", "--ablate", "w/o queue", "--queue-sizes", "16", "32"])[0]
    assert config.ablate == ["all", "w/o queue"]
    assert config.sweeps == {"pmq": {"queue_size": [16, 32]}}


def test_a_flag_that_is_not_given_leaves_what_the_file_says(tmp_path: Path) -> None:
    file = tmp_path / "mine.yaml"
    file.write_text("methods: [moco]\nprecision: bf16\nablate: ['w/o queue']\nablations: {moco: {w/o queue: {}}}\n")
    config = config_from(f"--config {file}")
    assert (config.precision, config.ablate) == ("bf16", ["w/o queue"])


def test_an_encoder_is_chosen_by_its_flag_and_its_knobs_by_set() -> None:
    config = config_from("--config demo --set encoder.output=32 --encoder resnet1d")
    assert config.encoder == {"name": "resnet1d", "output": 32}


def test_set_reaches_any_knob_and_is_laid_over_the_flags() -> None:
    config = config_from(
        "--ratios 0.3 --set ratios=[0.5] methods.pmq.momentum=0.5 --methods pmq --set pretrain.recipe.lr=1e-4"
    )
    assert config.ratios == [0.5]
    assert config.pretrain.recipe.lr == 1e-4
    assert config.method_config("pmq").momentum == 0.5  # type: ignore[attr-defined]


@pytest.mark.parametrize("flag", ["--data-root /data", "--data ptb-xl=/x chapman=~/y"])
def test_a_folder_of_real_data_ends_the_simulation(flag: str) -> None:
    assert config_from("").data.simulation is not None
    assert config_from(flag).data.simulation is None


def test_the_datasets_of_a_shipped_configs_cards_can_be_named() -> None:
    verb, found = parse(
        ANY,
        ["any", "--config", "real", "--datasets", "ludb", "ptb-xl", "ludb@ptb-xl.rhythm"],
    )
    refuse_unknown(verb, found)
    assert config_of(found).data.datasets == ["ludb", "ptb-xl", "ludb@ptb-xl.rhythm"]


def test_the_place_is_no_part_of_the_config() -> None:
    config, place, jobs = read(
        ["--results", "r", "--out", "o", "--cache", "c", "--workers", "3", "--jobs", "7", "--device", "cpu"]
    )
    assert config == load_config("demo")
    assert (place.cache, place.workers, jobs) == (Path("c"), 3, 7)


def test_cells_at_a_time_follow_the_device(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(os, "sched_getaffinity", lambda process: {0, 1, 2}, raising=False)
    arguments = parse(ANY, [])[1]
    assert jobs_of(arguments, torch.device("cpu"), ()) == 3
    assert jobs_of(arguments, torch.device("cuda"), ()) == 1
    assert jobs_of(arguments, torch.device("cuda"), ("0", "1")) == 2


def test_gates_are_chosen_or_left_out() -> None:
    assert config_from("--config paper").gates == ["random", "frozen", "features", "full-labels"]
    assert config_from("--gates random full-labels").gates == ["random", "full-labels"]
    assert config_from("--gates none").gates == []
