"""Devices, precision and engine of a command; what cannot be meant is one line before any work."""

from __future__ import annotations

import pytest
import torch

from benchmark.config.command_line.values import config_of
from benchmark.config.command_line.verb import parse
from benchmark.config.config import Config
from benchmark.config.errors import ConfigError
from benchmark.run.engines.local import Local
from benchmark.run.grid.keys import pretrain_content
from benchmark.run.machine import Machine
from benchmark.verbs import VERBS
from benchmark.verbs.run import machine as machine_module
from benchmark.verbs.run.machine import engine_of, machine_of

CPU = "--device cpu --precision float32"


def opened(words: str) -> tuple[Machine, object]:
    _, arguments = parse(VERBS, words.split())
    config = config_of(arguments)
    machine = machine_of(arguments, config)
    return machine, engine_of(arguments, config, machine)


def two_devices(monkeypatch: pytest.MonkeyPatch, visible: str = "") -> None:
    monkeypatch.setattr(torch.cuda, "device_count", lambda: 2)
    monkeypatch.setattr(torch.cuda, "is_available", lambda: True)
    monkeypatch.setattr(torch.cuda, "is_bf16_supported", lambda including_emulation: True)
    monkeypatch.setenv("CUDA_VISIBLE_DEVICES", visible)


@pytest.mark.parametrize("words", ["--devices 0 1", "--devices 0,1"])
def test_each_device_has_its_own_jobs(words: str, monkeypatch: pytest.MonkeyPatch) -> None:
    two_devices(monkeypatch)
    machine, engine = opened(f"{words} --jobs-per-device 3")
    assert (machine.device.type, machine.jobs, machine.devices, machine.mode()["precision"]) == ("cuda", 6, 2, "bf16")
    assert engine == Local(6, ("0", "1"))
    assert (machine.abreast(7), machine.abreast_on_a_device(2), machine.abreast(1)) == (2, 1, 1)


def test_devices_count_among_those_that_are_visible(monkeypatch: pytest.MonkeyPatch) -> None:
    two_devices(monkeypatch, visible="4,7")
    assert opened("--devices 1")[1] == Local(1, ("7",))


@pytest.mark.parametrize(
    ("words", "message"),
    [
        ("--devices 0", "--devices '0' is not there: torch sees no CUDA device: leave it out"),
        ("--devices 0 --device cpu", "--devices 0 and --device cpu: name the devices once"),
        ("--detach", "--detach is of a cluster: with --engine local the work ends with this process"),
        ("--engine slurm --devices 0", "--devices is of --engine local; a job has as many GPUs as engine.gpus says"),
        (
            "--engine slurm --jobs-per-device 2",
            "--jobs-per-device is of --engine local; a job runs its tasks one by one",
        ),
        (
            "--engine slurm --device cuda",
            "--device cuda: the jobs have engine.gpus=0; set that",
        ),
        (
            "--engine slurm --set engine.gpus=1",
            "--precision auto cannot be told here, without a GPU: give float32, or bf16 for A100 and later",
        ),
    ],
)
def test_what_cannot_be_meant_is_refused(words: str, message: str, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(torch.cuda, "device_count", lambda: 0)
    monkeypatch.setattr(torch.cuda, "is_available", lambda: False)
    with pytest.raises(ConfigError) as error:
        opened(words)
    assert str(error.value) == message


@pytest.mark.parametrize("words", ["--devices 2", "--devices one"])
def test_a_device_that_is_not_there_is_refused_by_name(words: str, monkeypatch: pytest.MonkeyPatch) -> None:
    two_devices(monkeypatch)
    with pytest.raises(ConfigError, match=r"^--devices '\w+' is not there: torch sees 2 CUDA devices$"):
        opened(words)


def test_a_device_named_twice_is_refused(monkeypatch: pytest.MonkeyPatch) -> None:
    two_devices(monkeypatch)
    with pytest.raises(ConfigError, match=r"^--devices 0 0 names a device twice; several tasks on one: --jobs-per-dev"):
        opened("--devices 0 0")


def test_a_job_has_the_device_of_its_cluster_and_not_of_this_host(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(torch.cuda, "is_available", lambda: False)
    _, arguments = parse(VERBS, ["--engine", "slurm", "--set", "engine.gpus=1", "--precision", "bf16"])
    machine = machine_of(arguments, config_of(arguments))
    assert machine.mode() == {"device": "cuda", "precision": "bf16"}


@pytest.mark.parametrize("precision", ["bf16", "float32"])
def test_the_precision_of_jobs_on_cpus_is_not_picked_by_the_cpu_of_this_host(
    precision: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(machine_module, "pick_precision", lambda name, device: precision if name == "auto" else name)
    arguments = parse(VERBS, ["--engine", "slurm"])[1]
    if precision == "float32":
        assert machine_of(arguments, config_of(arguments)).precision == "float32"
        return
    with pytest.raises(ConfigError, match=r"^--precision auto is bf16 by this host's CPU, and the nodes may have"):
        machine_of(arguments, config_of(arguments))
    arguments = parse(VERBS, ["--engine", "slurm", "--precision", "bf16"])[1]
    assert machine_of(arguments, config_of(arguments)).precision == "bf16"


def test_several_gpus_of_a_job_are_ranks_and_the_key_says_so() -> None:
    words = ["--engine", "slurm", "--set", "engine.gpus=2", "--precision", "bf16"]
    _, arguments = parse(VERBS, words)
    assert machine_of(arguments, config_of(arguments)).mode()["ranks"] == 2


def test_torchrun_and_a_cluster_or_several_devices_are_refused(monkeypatch: pytest.MonkeyPatch) -> None:
    two_devices(monkeypatch)
    size = {"WORLD_SIZE": "2", "RANK": "0", "LOCAL_RANK": "0", "LOCAL_WORLD_SIZE": "2"}
    for name, value in {**size, "MASTER_ADDR": "127.0.0.1", "MASTER_PORT": "29500"}.items():
        monkeypatch.setenv(name, value)
    with pytest.raises(ConfigError, match=r"^torchrun is of --engine local; engine\.gpus says how many processes"):
        opened("--engine slurm")
    with pytest.raises(ConfigError, match=r"^--devices is of a command alone; under torchrun each process has"):
        opened("--devices 0 1")


def test_where_tasks_run_is_in_no_key_and_in_no_stored_config() -> None:
    here, there = (config_of_words(f"{CPU} {words}") for words in ("", "--engine slurm --set engine.minutes=30"))
    assert there.engine.minutes == 30
    assert here.model_dump(mode="json") == there.model_dump(mode="json")
    assert "engine" not in there.model_dump()
    assert here.model_dump_json() == there.model_dump_json()
    method = here.method_class("pmq")
    contents = [
        pretrain_content(config, method, config.method_config("pmq"), 1, "data", {"device": "cpu"})
        for config in (here, there)
    ]
    assert contents[0] == contents[1]


def config_of_words(words: str) -> Config:
    return config_of(parse(VERBS, words.split())[1])


def test_a_changed_config_runs_where_the_first_does() -> None:
    from benchmark.config.change import with_settings

    config = config_of_words("--engine slurm --set engine.partition=gpu")
    assert with_settings(config, {"finetune.lr": 0.5}).engine == config.engine


def test_an_unknown_engine_is_refused_with_those_there_are(capsys: pytest.CaptureFixture[str]) -> None:
    from run_benchmark import main

    assert main(["--engine", "slrum"]) == 2
    assert "'slrum'" in capsys.readouterr().err
