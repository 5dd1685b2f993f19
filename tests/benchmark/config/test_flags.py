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
from benchmark.config.errors import ConfigError, config_names
from benchmark.config.flags import FLAGS, NO_GATE, Folders, config_of, device_of, jobs_of, place_of, shared
from benchmark.config.sections import Data, Pretrain
from benchmark.machine.device import pick_device


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


def test_gates_are_those_of_the_config_or_none() -> None:
    known = FLAGS["--gates"].known
    assert known is not None
    assert set(known.names) == {*literal_of(Config, "gates"), NO_GATE}


def test_a_config_is_one_of_the_suite_or_a_file() -> None:
    known = FLAGS["--config"].known
    assert known is not None
    assert list(known.names) == config_names()
    known.refuse("mine.yaml")


@pytest.mark.parametrize("word", ["auto", "cpu"])
def test_a_device_that_is_taken_is_one(word: str) -> None:
    known = FLAGS["--device"].known
    assert known is not None
    known.refuse(word)
    known.refuse("cuda:1")
    assert pick_device(word)


ANY = {"any": Verb("takes every shared flag", "kitchen:nothing", shared(*FLAGS))}
WRONG = [
    (["--ablate", "queue"], "unknown ablation 'queue' (did you mean 'pmq:w/o queue'?)"),
    (["--method", "pmq"], "unknown flag '--method' (did you mean '--methods'?)"),
    (["--ratios", "30"], "share of the labels, less than or equal to 1 (did you mean 0.3?), got 30.0"),
    (
        ["--gates", "rndom"],
        "gates.0: input should be 'random', 'frozen', 'features', 'full-labels', 'supervised' or 'minirocket', got",
    ),
    (["--gates", "none", "random"], "gates.0: input should be"),
    (["--ablate", "w/o queu"], "unknown ablation 'w/o queu' (did you mean 'pmq:w/o queue'?)"),
    (["--methods", "moco", "--ablations"], "ablate: no compared method has an ablation; compare pmq too"),
    (["--queue-sizes", "-1"], "methods.pmq.queue_size: input should be greater than or equal to 0, got -1"),
    (["--queue-sizes", "many"], "argument --queue-sizes: invalid int value: 'many'"),
    (["--methods", "pmqq"], "unknown method 'pmqq': did you mean 'pmq'?"),
    (["--encoder", "resnet"], "unknown encoder 'resnet': did you mean 'resnet1d'?"),
    (["--methods", "missing.py"], "missing.py does not exist"),
    (["--methods"], "argument --methods: expected at least one argument"),
    (["--datasets", "ptbxl"], "unknown dataset 'ptbxl' (did you mean 'ptb-xl'?)"),
    (["--pretrain-dataset", "mimic"], "unknown dataset 'mimic'"),
    (["--config", "papr"], "unknown config 'papr' (did you mean 'paper'?)"),
    (["--set", "pretrain.epoch=3"], "unknown config key 'pretrain.epoch' (did you mean 'pretrain.epochs'?)"),
    (["--set", "pretrain.epochs"], "--set 'pretrain.epochs' is not KEY=VALUE"),
    (["--set", "=3"], "--set '=3' is not KEY=VALUE"),
    (["--set", "ratios=[0.5"], "--set: '[0.5' is not a YAML value"),
    (["--set", "methods.pmq.momentum=2"], "methods.pmq.momentum: input should be less than or equal to 1, got 2"),
    (["--ratios", "0"], "ratios.0: input should be greater than 0, got 0.0"),
    (["--ratios", "0.5", "1.5"], "ratios.1: input should be a share of the labels, less than or equal to 1"),
    (["--ratios", "half"], "argument --ratios: invalid float value: 'half'"),
    (["--ratios", "nan"], "ratios.0"),
    (["--ratios", "0.1", "0.1"], "ratios: [0.1, 0.1] names a value twice"),
    (["--seeds", "one"], "argument --seeds: invalid int value: 'one'"),
    (["--seeds", "-1"], "seeds.0: input should be greater than or equal to 0, got -1"),
    (["--seeds", "1", "1"], "seeds: [1, 1] names a value twice"),
    (["--protocol", "loose"], "protocol: input should be 'paper' or 'strict', got 'loose'"),
    (["--labels", "many"], "data.labels: input should be 'single' or 'multi', got 'many'"),
    (["--leads", "I", "V7"], "data.leads: 'V7' is no lead; there are I II III aVR aVL aVF V1"),
    (["--leads", "5"], "or one of the numbers 12, 8, 6, 3, 2, 1, got ['5']"),
    (["--leads", "I", "i"], "data.leads: each lead has to be named once"),
    (["--window-rate", "300"], "data.rate: input should be 100, 250 or 500, got 300"),
    (["--segmentation", "crops"], "data.segmentation: input should be 'heartbeats' or 'recordings'"),
    (["--window-seconds", "2"], "data.window_seconds cannot act: it is of crops of whole recordings"),
    (
        ["--segmentation", "recordings", "--window-seconds", "2", "--window-stride", "3"],
        "data.window_stride: it would leave gaps between crops of 2 s (data.window_seconds), got 3.0",
    ),
    (["--standardise", "batch"], "data.standardise: input should be 'recording', 'dataset' or 'none', got 'batch'"),
    (["--pool", "median"], "data.pool: input should be 'mean' or 'max', got 'median'"),
    (["--evaluate", "probe"], "evaluate.0: unknown evaluation 'probe'; there are: finetune, linear, knn"),
    (["--preset", "own"], "pretrain.preset: input should be 'unified' or 'paper', got 'own'"),
    (["--precision", "fp16"], "precision: input should be 'auto', 'float32' or 'bf16', got 'fp16'"),
    (["--data", "ptb-xl"], "--data 'ptb-xl' is not NAME=DIR, e.g. --data ptb-xl=/data/ptb-xl"),
    (["--data", "ptb-xl="], "--data 'ptb-xl=' is not NAME=DIR"),
    (
        ["--data", "ptb=/x"],
        "--data: unknown dataset 'ptb' (did you mean 'ptb-xl'?); there are: mimic-iv-ecg, ptb-xl, chapman, cpsc2018",
    ),
    (["--workers", "0"], "--workers: 0 is not a count; use 1 or more"),
    (["--workers", "two"], "argument --workers: 'two' is not a count; use a whole number, 1 or more"),
    (["--jobs-per-device", "-1"], "--jobs-per-device: -1 is not a count; use 1 or more"),
    (["--jobs-per-device", "0"], "--jobs-per-device: 0 is not a count; use 1 or more"),
    (["--unit", "beat"], "argument --unit: invalid choice: 'beat'"),
    (["--device", "nonsense"], "--device 'nonsense' is no device; use auto, cpu, cuda or cuda:N"),
    (["--device", "mps"], "--device 'mps' is not supported"),
    (["--device", "cuda:99"], "--device 'cuda:99' is not there"),
]


def read(argv: Sequence[str]) -> tuple[Config, Folders, int]:
    """All that the shared flags make: the config, the place, and cells at a time."""
    arguments = parse(ANY, argv)[1]
    return config_of(arguments), place_of(arguments), jobs_of(arguments, device_of(arguments))


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
    assert place == Folders(None, {}, Path("cache"), len(os.sched_getaffinity(0)), Path("data") / "simulated")
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


def test_a_value_may_hold_an_equals_sign() -> None:
    assert config_from("--set caption=a=b").caption == "a=b"
    assert place_from("--data ptb-xl=/a=b").paths == {"ptb-xl": Path("/a=b")}


@pytest.mark.parametrize("flag", ["--data-root /data", "--data ptb-xl=/x chapman=~/y"])
def test_a_folder_of_real_data_ends_the_simulation(flag: str) -> None:
    assert config_from("").data.simulation is not None
    assert config_from(flag).data.simulation is None


def test_the_datasets_of_a_shipped_configs_cards_can_be_named() -> None:
    verb, found = parse(
        ANY,
        ["any", "--config", "real", "--datasets", "ludb", "ptb-xl", "--train-on", "ludb", "--test-on", "ptb-xl.rhythm"],
    )
    refuse_unknown(verb, found)
    assert config_of(found).data.datasets == ["ludb", "ptb-xl", "ludb@ptb-xl.rhythm"]


def test_folders_of_datasets_add_up() -> None:
    place = place_from("--data ptb-xl=/x --data chapman=~/y --data-root /z")
    assert place.paths == {"ptb-xl": Path("/x"), "chapman": Path.home() / "y"}
    assert place.data_root == Path("/z")


def test_the_place_is_no_part_of_the_config() -> None:
    config, place, jobs = read(
        ["--results", "r", "--out", "o", "--cache", "c", "--workers", "3", "--jobs-per-device", "7", "--device", "cpu"]
    )
    assert config == load_config("demo")
    assert (place.cache, place.workers, jobs) == (Path("c"), 3, 7)


def test_cells_at_a_time_follow_the_device(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(os, "sched_getaffinity", lambda process: {0, 1, 2}, raising=False)
    arguments = parse(ANY, [])[1]
    assert jobs_of(arguments, torch.device("cpu")) == 3
    assert jobs_of(arguments, torch.device("cuda")) == 1


def test_a_system_without_affinity_counts_its_cores(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delattr(os, "sched_getaffinity")
    _, place, jobs = read(["--device", "cpu"])
    assert (place.workers, jobs) == (os.cpu_count(), os.cpu_count())


def test_gates_are_chosen_or_left_out() -> None:
    assert config_from("--config paper").gates == ["random", "frozen", "features", "full-labels"]
    assert config_from("--gates random full-labels").gates == ["random", "full-labels"]
    assert config_from("--gates none").gates == []
