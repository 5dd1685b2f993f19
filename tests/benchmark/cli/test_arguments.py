"""What the flags make: the config with their overrides, one for data of the user, the machine."""

from __future__ import annotations

import json
from pathlib import Path

import pytest
import torch

from benchmark.cli.arguments import OWN_SIZES, config_of, machine_of
from benchmark.cli.main import parse
from benchmark.config.config import Config
from benchmark.config.errors import ConfigError
from benchmark.config.load import load_config


def config_from(line: str) -> Config:
    return config_of(parse(line.split())[1])


def test_flags_set_the_config_and_set_comes_last() -> None:
    assert config_from("--results r --cache c --workers 3 --jobs 7 --device cpu") == load_config("demo")
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


@pytest.mark.parametrize(("recordings", "size"), [(3, OWN_SIZES[0]), (2_500, OWN_SIZES[1])])
def test_own_data_without_a_config_get_one_by_their_size(
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
    datasets = f"--datasets {tmp_path / 'ours.yaml'}"
    config = config_from(datasets)
    shown = " ".join(capsys.readouterr().out.split())
    assert shown.startswith("config own, as no --config is named: encoder dilated with hidden ")
    assert f"{size[2]} epochs for {recordings} recordings of ours, 5 seeds" in shown
    assert (config.name, config.data.pretrain, config.protocol) == ("own", "ours", "strict")
    assert config.encoder.items() >= size[1].items()
    assert (config.pretrain.epochs, len(config.seeds)) == (size[2], 5)
    other = config_from(f"{datasets} --encoder resnet1d --set pretrain.epochs=2")
    assert (other.encoder, other.pretrain.epochs) == ({"name": "resnet1d", "output": 128}, 2)
    assert config_from(f"--config demo {datasets} --pretrain-dataset {tmp_path / 'ours.yaml'}").name == "demo"


@pytest.mark.parametrize(
    ("there", "visible", "line", "expected"),
    [
        (2, "", "", (1, ())),
        (2, "", "--devices 0 1", (2, ("0", "1"))),
        (2, "4,7", "--devices 1", (1, ("7",))),
        (0, "", "--devices 0", "--devices 0: name devices once each; torch sees none"),
        (2, "", "--devices 0 0", "--devices 0 0: name devices once each"),
        (0, "", "--engine tcp://a:1 --devices 0", "--devices is of --engine local: start a worker for each GPU"),
        (0, "", "--engine s.json --device cuda", "--engine s.json: name what the workers compute on and in"),
    ],
)
def test_devices_count_among_those_that_are_visible_and_others_are_refused(
    there: int, visible: str, line: str, expected: str | tuple[int, tuple[str, ...]], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(torch.cuda, "device_count", lambda: there)
    monkeypatch.setattr(torch.cuda, "is_available", lambda: there > 0)
    monkeypatch.setattr(torch.cuda, "is_bf16_supported", lambda including_emulation: True)
    monkeypatch.setenv("CUDA_VISIBLE_DEVICES", visible)
    _, arguments = parse(line.split())
    if isinstance(expected, str):
        with pytest.raises(ConfigError, match=expected):
            machine_of(arguments, config_of(arguments))
        return
    machine = machine_of(arguments, config_of(arguments))
    assert (machine.jobs, machine.devices) == expected
    assert machine.mode() == {"device": "cuda", "precision": "bf16"}
