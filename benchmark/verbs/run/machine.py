"""Device, precision and number of jobs of a command, from its flags and config."""

from __future__ import annotations

from argparse import Namespace

from benchmark.config.command_line import device_of, jobs_of
from benchmark.config.config import Config
from benchmark.machine.device import pick_precision
from benchmark.run.machine import Machine
from benchmark.training.compiled import require_compiler


def machine_of(arguments: Namespace, config: Config) -> Machine:
    """The machine of a run. Raises ConfigError if the device is missing or torch.compile fails on it."""
    device = device_of(arguments)
    jobs = jobs_of(arguments, device)
    if config.compile:
        require_compiler(device)
    return Machine(device, pick_precision(config.precision, device), jobs, config.compile)
