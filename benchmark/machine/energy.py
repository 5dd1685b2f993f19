"""Energy that a device uses, where its counters can be read: NVML for a GPU, RAPL for CPU packages on Linux.

Both count all that runs on the device, so a figure is that of a pretraining only where nothing else ran beside it.
"""

from __future__ import annotations

import time
from collections.abc import Callable
from dataclasses import dataclass
from functools import partial
from pathlib import Path

import torch

POWERCAP = Path("/sys/class/powercap")
LOOK_EVERY = 10.0
"""Seconds; a RAPL counter begins anew after some 260 kJ, which a package takes minutes to use."""

Read = Callable[[], int]


@dataclass(frozen=True)
class Counter:
    """One energy counter of a device."""

    read: Read
    joules_each: float
    """Joules of one unit."""
    turns_at: int | None
    """Where it begins anew at 0; None: never."""


class Meter:
    """Adds up how far the counters of a device go on."""

    def __init__(self, counters: list[Counter]) -> None:
        self.counters = counters
        self.values = [counter.read() for counter in counters]
        self.looked = time.monotonic()
        self.joules = 0.0

    def look(self) -> None:
        """Read the counters where the last look is ten seconds ago, so that none begins anew twice unseen."""
        if time.monotonic() - self.looked >= LOOK_EVERY:
            self.read()

    def read(self) -> None:
        """Read the counters."""
        self.looked = time.monotonic()
        for i, counter in enumerate(self.counters):
            value = counter.read()
            used = value - self.values[i]
            self.joules += counter.joules_each * (used % counter.turns_at if counter.turns_at else used)
            self.values[i] = value

    def total(self) -> float:
        """Joules since the meter was opened."""
        self.read()
        return self.joules


def open_meter(device: torch.device, powercap: Path = POWERCAP) -> Meter | None:
    """A meter of a device; None where no counter can be read."""
    counters = gpu_counters(device) if device.type == "cuda" else package_counters(powercap)
    return Meter(counters) if counters else None


def package_counters(powercap: Path) -> list[Counter]:
    """The RAPL counter of each CPU package, in microjoules; empty where one of them may not be read.

    Zones are named `intel-rapl:N` on AMD's CPUs too; their parts, `intel-rapl:N:M`, are in the package's figure.
    """
    zones = [zone for zone in sorted(powercap.glob("intel-rapl:*")) if zone.name.count(":") == 1]
    packages = [zone for zone in zones if _text(zone / "name").startswith("package")]
    counters = []
    for zone in packages:
        range_ = _text(zone / "max_energy_range_uj")
        if not (_text(zone / "energy_uj") and range_):
            return []
        counters.append(Counter(partial(_whole, zone / "energy_uj"), 1e-6, int(range_)))
    return counters


def gpu_counters(device: torch.device) -> list[Counter]:
    """The GPU's own counter, in millijoules (Volta or later); empty without the package nvidia-ml-py."""
    try:
        import pynvml
    except ImportError:
        return []
    try:
        pynvml.nvmlInit()
        uuid = torch.cuda.get_device_properties(device).uuid
        handle = pynvml.nvmlDeviceGetHandleByUUID(f"GPU-{uuid}")
        pynvml.nvmlDeviceGetTotalEnergyConsumption(handle)
    except pynvml.NVMLError:
        return []
    return [Counter(partial(pynvml.nvmlDeviceGetTotalEnergyConsumption, handle), 1e-3, None)]


def _text(path: Path) -> str:
    """What a file says, '' where it may not be read."""
    try:
        return path.read_text().strip()
    except OSError:
        return ""


def _whole(path: Path) -> int:
    return int(path.read_text())
