"""Device, precision, number of jobs and engine of a command, from its flags and config."""

from __future__ import annotations

from argparse import Namespace

import torch

from benchmark.config.command_line.values import device_of, devices_of, jobs_of, place_of
from benchmark.config.config import Config
from benchmark.config.errors import ConfigError
from benchmark.machine.device import pick_precision
from benchmark.machine.ranks import read_ranks
from benchmark.run.engines.engine import Engine
from benchmark.run.engines.registry import ENGINES, Asked
from benchmark.run.machine import Machine
from benchmark.training.compiled import require_compiler


def machine_of(arguments: Namespace, config: Config) -> Machine:
    """The machine of a run. Raises ConfigError if a device is missing or torch.compile fails on it."""
    takes_engine = "engine" in arguments
    if takes_engine and ENGINES[config.engine.name].cluster:
        return machine_of_jobs(arguments, config)
    devices, ranks = devices_of(arguments) if takes_engine else (), read_ranks()
    if devices and ranks.size > 1:
        raise ConfigError("--devices is of a command alone; under torchrun each process has the GPU of its LOCAL_RANK")
    device = device_of(arguments)
    jobs = jobs_of(arguments, device) * max(1, len(devices))
    if arguments.jobs_per_device is None:  # the ranks of a machine share its cores
        jobs = max(1, jobs // ranks.on_machine)
    if config.compile:
        require_compiler(device)
    precision = pick_precision(config.precision, device)
    return Machine(device, precision, jobs, config.compile, ranks.size, max(1, len(devices)))


def machine_of_jobs(arguments: Namespace, config: Config) -> Machine:
    """What the jobs of a cluster run on, which this host need not have. Raises ConfigError for what is of this host."""
    if read_ranks().size > 1:
        raise ConfigError(
            "torchrun is of --engine local; engine.gpus says how many processes pretrain together in a job"
        )
    if arguments.devices:
        raise ConfigError("--devices is of --engine local; a job has as many GPUs as engine.gpus says")
    if arguments.jobs_per_device is not None:
        raise ConfigError("--jobs-per-device is of --engine local; a job runs its tasks one by one")
    kind = "cuda" if config.engine.gpus else "cpu"
    if arguments.device not in ("auto", kind):
        raise ConfigError(f"--device {arguments.device}: the jobs have engine.gpus={config.engine.gpus}; set that")
    device = torch.device(kind)
    if config.precision == "auto" and kind == "cuda" and not torch.cuda.is_available():
        raise ConfigError(
            "--precision auto cannot be told here, without a GPU: give float32, or bf16 for A100 and later"
        )
    precision = pick_precision(config.precision, device)
    if config.precision == "auto" and kind == "cpu" and precision != "float32":
        raise ConfigError(
            f"--precision auto is {precision} by this host's CPU, and the nodes may have others: give float32, or "
            f"{precision} where all of them compute in it"
        )
    return Machine(device, precision, 1, config.compile, max(1, config.engine.gpus))


def engine_of(arguments: Namespace, config: Config, machine: Machine) -> Engine:
    """The engine of a run. Raises ConfigError if it is not there."""
    devices, detach = devices_of(arguments), bool(vars(arguments).get("detach"))
    kind = ENGINES[config.engine.name]
    if detach and not kind.cluster:
        raise ConfigError(
            f"--detach is of a cluster: with --engine {config.engine.name} the work ends with this process"
        )
    place = place_of(arguments)
    asked = Asked(config.engine, machine.jobs, devices, arguments.results, [place.cache], detach)
    return kind.open(asked)
