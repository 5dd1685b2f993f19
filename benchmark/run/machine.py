"""Device, precision and concurrency of a run, and which of them result keys hold."""

from __future__ import annotations

from dataclasses import dataclass

import torch

from benchmark.machine.ranks import is_alone


@dataclass(frozen=True)
class Machine:
    """Device, precision and concurrency of a run."""

    device: torch.device
    precision: str
    jobs: int
    """Concurrent cells, on a CPU pretrainings too."""
    compiled: bool = False
    """Pretrain with torch.compile."""
    ranks: int = 1
    """Processes that pretrain one encoder together."""
    devices: int = 1
    """Devices that share the jobs."""

    def mode(self) -> dict[str, str | int]:
        """Properties of the machine that enter result keys: bits are equal within one mode, for equal threads."""
        mode: dict[str, str | int] = {"device": self.device.type, "precision": self.precision}
        return mode | ({"compiled": True} if self.compiled else {}) | ({"ranks": self.ranks} if self.ranks > 1 else {})

    def abreast(self, pretrainings: int) -> int:
        """Concurrent pretrainings of so many: `jobs` on a CPU, one on each GPU, one of several ranks."""
        if self.ranks > 1:
            return 1
        return max(1, min(self.jobs if self.device.type == "cpu" else self.devices, pretrainings))

    def abreast_on_a_device(self, abreast: int) -> int:
        """Most of so many concurrent pretrainings on one device."""
        return -(-abreast // self.devices)

    def pretraining_threads(self, abreast: int) -> int:
        """Threads of each of so many concurrent pretrainings."""
        return max(1, torch.get_num_threads() // abreast)

    def cell_threads(self) -> int:
        """Threads per cell process: one on a CPU, so that results do not depend on the number of cores."""
        return 1 if self.device.type == "cpu" else torch.get_num_threads()


def in_ranks(machine: Machine) -> bool:
    """Whether this process is the first of the ranks that pretrain together, which do what it hands out."""
    return machine.ranks > 1 and not is_alone()
