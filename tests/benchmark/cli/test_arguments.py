"""What the flags make: the config with their overrides, the folders, tasks at a time; a config for one's own data."""

from __future__ import annotations

import json
import os
from collections.abc import Sequence
from pathlib import Path

import pytest
import torch

from benchmark.cli.arguments import OWN_SIZES, config_of, device_of, folders_of, jobs_of
from benchmark.cli.main import parse
from benchmark.config.config import Config
from benchmark.config.errors import ConfigError
from benchmark.config.load import Folders, load_config


def read(argv: Sequence[str]) -> tuple[Config, Folders, int]:
    """All that the shared flags make: the config, the folders, and tasks at a time."""
    arguments = parse(argv)[1]
    return config_of(arguments), folders_of(arguments), jobs_of(arguments, device_of(arguments), ())


def config_from(line: str) -> Config:
    return read(line.split())[0]


@pytest.mark.parametrize(
    ("argv", "message"),
    [
        (["--set", "pretrain.epochs"], "--set 'pretrain.epochs' is not KEY=VALUE"),
        (["--set", "ratios=[0.5"], "--set: '[0.5' is not a YAML value"),
        (["--config", "dmo"], "unknown config 'dmo' (did you mean 'demo'?); there are: demo, laptop"),
        (["--data", "ptb-xl"], "--data 'ptb-xl' is not NAME=DIR, e.g. --data ptb-xl=/data/ptb-xl"),
        (["--config", "demo", "--data", "ptb=/x"], "--data: unknown dataset 'ptb' (did you mean 'ptb-xl'?)"),
        (["--device", "nonsense"], "--device 'nonsense' is no device; use auto, cpu, cuda or cuda:N"),
        (["--device", "cuda:99"], "--device 'cuda:99' is not there"),
    ],
)
def test_a_wrong_value_is_one_line(argv: list[str], message: str) -> None:
    with pytest.raises(ConfigError) as caught:
        read(argv)
    assert message in str(caught.value)
    assert "\n" not in str(caught.value)


def test_no_flag_is_the_demo_here() -> None:
    config, folders, _ = read([])
    assert config == load_config("demo")
    assert folders == Folders(None, {}, Path("cache"), len(os.sched_getaffinity(0)))


def test_flags_set_the_config_and_set_comes_last() -> None:
    config = config_from(
        "--config paper --methods pmq moco --datasets chapman ptb-xl --pretrain-dataset cpsc2018 --ratios 0.5 1 "
        "--seeds 1 2 --protocol strict --labels multi --evaluate linear finetune --preset unified --precision bf16 "
        "--gates none --ablations --queue-sizes 64 256 --segmentation recordings --encoder resnet1d --leads 2 "
        "--set ratios=[0.5] methods.pmq.momentum=0.5 data.segmentation.seconds=2.5 encoder.output=32"
    )
    assert (config.name, config.methods, config.gates, config.ablate) == ("paper", ["pmq", "moco"], [], ["all"])
    assert (config.data.datasets, config.data.pretrain) == (["chapman", "ptb-xl"], "cpsc2018")
    assert config.sweeps["pmq"] == {"queue_size": [64, 256]}
    assert (config.ratios, config.seeds) == ([0.5], [1, 2])
    assert (config.protocol, config.data.labels, config.evaluate) == ("strict", "multi", ["linear", "finetune"])
    assert (config.pretrain.preset, config.precision) == ("unified", "bf16")
    assert (config.data.cut().kind, config.data.cut().seconds) == ("recordings", 2.5)
    assert config.encoder == {"name": "resnet1d", "output": 32}
    assert config.data.leads == ["I", "II"]
    assert config.method_config("pmq").momentum == 0.5  # type: ignore[attr-defined]


def test_folders_and_tasks_at_a_time_are_no_part_of_the_config(monkeypatch: pytest.MonkeyPatch) -> None:
    config, folders, jobs = read(["--results", "r", "--cache", "c", "--workers", "3", "--jobs", "7", "--device", "cpu"])
    assert config == load_config("demo")
    assert (folders.cache, folders.workers, jobs) == (Path("c"), 3, 7)
    monkeypatch.setattr(os, "sched_getaffinity", lambda process: {0, 1, 2}, raising=False)
    arguments = parse([])[1]
    assert jobs_of(arguments, torch.device("cpu"), ()) == 3
    assert jobs_of(arguments, torch.device("cuda"), ("0", "1")) == 2


def test_real_data_end_the_simulation_and_the_cards_of_a_config_can_be_named() -> None:
    assert config_from("--config demo --data-root /data").data.simulation is None
    assert config_from("--config demo --data ptb-xl=/x chapman=/y").data.simulation is None
    config = config_from("--config real --datasets ludb ptb-xl ludb@ptb-xl.rhythm")
    assert config.data.datasets == ["ludb", "ptb-xl", "ludb@ptb-xl.rhythm"]


@pytest.mark.parametrize(("recordings", "size"), [(3, OWN_SIZES[0]), (2_500, OWN_SIZES[1])])
def test_data_of_ones_own_without_a_config_get_one_by_their_size(
    recordings: int, size: tuple[float, dict[str, int], int], tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    card = {
        "name": "ours",
        "signals": {"files": "{recording}.hea"},
        "table": {"file": "labels.csv", "recording": "id", "patient": "who"},
        "labels": {"column": "rhythm", "classes": ["SR", "AF"]},
    }
    (tmp_path / "ours.yaml").write_text(json.dumps(card))
    lines = [f"r{n},p{n},{'AF' if n % 2 else 'SR'}" for n in range(recordings)]
    (tmp_path / "labels.csv").write_text("\n".join(["id,who,rhythm", *lines]))
    for n in range(recordings):
        (tmp_path / f"r{n}.hea").touch()
    own = ["--datasets", str(tmp_path / "ours.yaml")]
    config = read(own)[0]
    said = " ".join(capsys.readouterr().out.split())
    assert said.startswith("config own, as no --config is named: encoder dilated with hidden ")
    assert f"{size[2]} epochs for {recordings} recordings of ours, 5 seeds" in said
    assert (config.name, config.data.pretrain, config.protocol) == ("own", "ours", "strict")
    assert config.encoder.items() >= size[1].items()
    assert (config.pretrain.epochs, len(config.seeds)) == (size[2], 5)
    other = read([*own, "--encoder", "resnet1d", "--set", "pretrain.epochs=2"])[0]
    assert (other.encoder, other.pretrain.epochs) == ({"name": "resnet1d", "output": 128}, 2)
    assert read(["--config", "demo", *own, "--pretrain-dataset", own[1]])[0].name == "demo"
