"""Memory of this process: reuse of freed tensors, peak use, and what is free.

By default glibc maps each large tensor anew and the kernel zeroes its pages: a fifth of a training step on a CPU. No
result depends on this.
"""

from __future__ import annotations

import ctypes
import os
import sys
from contextlib import suppress
from pathlib import Path
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    import torch

PROCESS_STATUS, PEAK_RESET = Path("/proc/self/status"), Path("/proc/self/clear_refs")
"""Linux files that report a process's peak resident memory (VmHWM) and reset it."""


def begin_peak_memory(device: torch.device) -> None:
    """Reset the peak that `peak_memory_gib` returns; on CPUs only where the system allows it (Linux)."""
    if device.type == "cuda":
        import torch  # here, because it loads slowly and verbs that need no torch import this module

        torch.cuda.reset_peak_memory_stats(device)
    elif PEAK_RESET.is_file():
        give_back_freed_memory()
        with suppress(OSError):  # a container may forbid it; the peak is then that of the whole process
            PEAK_RESET.write_text("5")


def peak_memory_gib(device: torch.device) -> float:
    """Peak memory in GiB: allocated on a GPU, else resident in this process."""
    if device.type == "cuda":
        import torch

        return torch.cuda.max_memory_allocated(device) / 2**30
    if PROCESS_STATUS.is_file():
        # Not getrusage: its peak is inherited from the parent process.
        lines = PROCESS_STATUS.read_text().splitlines()
        return next(int(line.split()[1]) for line in lines if line.startswith("VmHWM")) / 2**20
    import resource

    kilobytes = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
    return kilobytes / (2**30 if os.uname().sysname == "Darwin" else 2**20)


MEMORY, CGROUP = Path("/proc/meminfo"), Path("/sys/fs/cgroup")
"""Linux: memory of the host, and limits of the process's group."""
LIMITS = (("", "memory.max", "memory.current"), ("memory", "memory.limit_in_bytes", "memory.usage_in_bytes"))
"""Folder, limit and use of a group, by version of cgroups; those of a container's own group lie at the top."""
FILE_PAGES = ("inactive_file", "active_file")
"""Of a group's use: copies of files, which the system drops when memory is asked for."""


def free_bytes(device: torch.device) -> int:
    """Memory that can still be taken: of a GPU, else of the host within the limits of its group and of this process.

    A large number where the system does not tell.
    """
    if device.type == "cuda":
        import torch

        return int(torch.cuda.mem_get_info(device)[0])
    import resource

    free = [2**60]
    if MEMORY.is_file():
        free += [1024 * kib for name, kib in _kibibytes(MEMORY) if name == "MemAvailable"]
    used = dict(_kibibytes(PROCESS_STATUS)) if PROCESS_STATUS.is_file() else {}
    for limit, own in ((resource.RLIMIT_DATA, "VmData"), (resource.RLIMIT_AS, "VmSize")):
        most = resource.getrlimit(limit)[0]
        if most != resource.RLIM_INFINITY and own in used:
            free.append(most - 1024 * used[own])
    for folder, most_file, used_file in LIMITS:
        with suppress(OSError, ValueError):  # no such version, or no limit ('max')
            group = CGROUP / folder
            pages = dict(line.split() for line in (group / "memory.stat").read_text().splitlines())
            cached = sum(int(pages.get(name, 0)) for name in FILE_PAGES)
            free.append(int((group / most_file).read_text()) - int((group / used_file).read_text()) + cached)
    return max(0, min(free))


def _kibibytes(file: Path) -> list[tuple[str, int]]:
    """The 'Name: 123 kB' lines of a file."""
    lines = (line.split() for line in file.read_text().splitlines())
    return [(words[0].rstrip(":"), int(words[1])) for words in lines if words[-1:] == ["kB"]]


M_TRIM_THRESHOLD, M_MMAP_THRESHOLD = -1, -3
MOST = 2**31 - 1


def keep_freed_memory() -> None:
    """Raise glibc's thresholds for mapping and trimming; no effect with another C library."""
    if not sys.platform.startswith("linux"):
        return
    mallopt = getattr(ctypes.CDLL(None), "mallopt", None)
    if mallopt is not None:
        mallopt(M_MMAP_THRESHOLD, MOST)
        mallopt(M_TRIM_THRESHOLD, MOST)


def give_back_freed_memory() -> None:
    """Return freed memory to the system, so that later use can be measured; glibc only."""
    if not sys.platform.startswith("linux"):
        return
    malloc_trim = getattr(ctypes.CDLL(None), "malloc_trim", None)
    if malloc_trim is not None:
        malloc_trim(0)
