"""Energy use of a device in joules, where its counters can be read: NVML for a GPU, RAPL for CPU packages on Linux.

Both count all that runs on the device: a figure is a pretraining's only if nothing else ran at the same time.
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
"""Seconds between reads; a RAPL counter wraps after some 260 kJ, minutes of a package's use."""

Read = Callable[[], int]


@dataclass(frozen=True)
class Counter:
    """One energy counter of a device."""

    read: Read
    joules_each: float
    """Joules per count."""
    turns_at: int | None
    """Value at which it wraps to 0; None: never."""


class Meter:
    """Sums the increments of a device's energy counters."""

    def __init__(self, counters: list[Counter]) -> None:
        self.counters = counters
        self.values = [counter.read() for counter in counters]
        self.looked = time.monotonic()
        self.joules = 0.0

    def look(self) -> None:
        """Read the counters if `LOOK_EVERY` seconds have passed, so that no wrap-around is missed."""
        if time.monotonic() - self.looked >= LOOK_EVERY:
            self.read()

    def read(self) -> None:
        """Read the counters and add their increments."""
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
    """The RAPL counter of each CPU package, in microjoules; empty if one of them is not readable.

    Zones are named `intel-rapl:N` on AMD's CPUs too; subzones `intel-rapl:N:M` are included in the package's count.
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
    """Stripped text of a file; '' if not readable."""
    try:
        return path.read_text().strip()
    except OSError:
        return ""


def _whole(path: Path) -> int:
    return int(path.read_text())
