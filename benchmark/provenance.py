"""Where a number comes from: seeds, versions, code state, device."""

from __future__ import annotations

import hashlib
import os
import platform
import subprocess
from contextlib import suppress
from functools import lru_cache
from importlib import metadata
from pathlib import Path
from typing import Any

import numpy as np
import torch

from benchmark.allocator import give_back_freed_memory

PACKAGES = ("torch", "numpy", "scikit-learn", "scipy", "neurokit2", "wfdb")
PROCESS_STATUS, PEAK_RESET = Path("/proc/self/status"), Path("/proc/self/clear_refs")
"""Where Linux tells the most memory a process held (VmHWM), and lets it begin anew."""


def stream(*parts: int | str) -> int:
    """A 63-bit seed for a named purpose, e.g. stream('pretrain', seed, epoch, step)."""
    words = [int.from_bytes(hashlib.sha256(p.encode()).digest()[:4], "big") if isinstance(p, str) else p for p in parts]
    return int(np.random.SeedSequence(words).generate_state(1, np.uint64)[0] >> np.uint64(1))


def seed_torch(*parts: int | str) -> None:
    """Seed torch's default generators (CPU and GPU) for a named purpose."""
    torch.manual_seed(stream(*parts))


def _git(*arguments: str) -> str | None:
    folder = Path(__file__).resolve().parent
    try:
        done = subprocess.run(["git", *arguments], cwd=folder, capture_output=True, text=True, timeout=10, check=True)
    except (OSError, subprocess.SubprocessError):
        return None
    return done.stdout.strip()


@lru_cache(maxsize=1)
def git_state() -> dict[str, str | bool | None]:
    """Commit, whether the checkout differs from it, and a digest of that difference; None outside a git checkout."""
    difference = _git("diff", "HEAD")
    return {
        "commit": _git("rev-parse", "HEAD"),
        "dirty": bool(difference),
        "diff": hashlib.sha256(difference.encode()).hexdigest()[:12] if difference else None,
    }


@lru_cache(maxsize=1)
def versions() -> dict[str, str]:
    """Versions of Python and the packages that can move a number."""
    return {"python": platform.python_version(), **{name: metadata.version(name) for name in PACKAGES}}


def device_facts(device: torch.device) -> dict[str, Any]:
    """Type and name of the device, and how many threads compute on it."""
    name = torch.cuda.get_device_name(device) if device.type == "cuda" else platform.processor() or platform.machine()
    return {"type": device.type, "name": name, "threads": torch.get_num_threads()}


def begin_peak_memory(device: torch.device) -> None:
    """Forget the peak so far, so that `peak_memory_gib` tells that of what follows, where the system can (Linux)."""
    if device.type == "cuda":
        torch.cuda.reset_peak_memory_stats(device)
    elif PEAK_RESET.is_file():
        give_back_freed_memory()
        with suppress(OSError):  # a container may forbid it; the peak is then that of the whole process
            PEAK_RESET.write_text("5")


def peak_memory_gib(device: torch.device) -> float:
    """Most memory held: on the GPU where there is one, else by this process, in GiB."""
    if device.type == "cuda":
        return torch.cuda.max_memory_allocated(device) / 2**30
    if PROCESS_STATUS.is_file():
        # Not getrusage: there a process begins with the peak of the one that started it.
        lines = PROCESS_STATUS.read_text().splitlines()
        return next(int(line.split()[1]) for line in lines if line.startswith("VmHWM")) / 2**20
    import resource

    kilobytes = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
    return kilobytes / (2**30 if os.uname().sysname == "Darwin" else 2**20)


def cores() -> int:
    """Cores this process may use."""
    return len(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else os.cpu_count() or 1


def pick_device(name: str) -> torch.device:
    """'auto', 'cpu', 'cuda' or 'cuda:N' as a device. Raises ValueError where it is not there."""
    if name == "auto":
        return torch.device("cuda" if torch.cuda.is_available() else "cpu")
    try:
        device = torch.device(name)
    except RuntimeError:
        raise ValueError(f"--device {name!r} is no device; use auto, cpu, cuda or cuda:N") from None
    if device.type not in ("cpu", "cuda"):
        raise ValueError(f"--device {name!r} is not supported; use auto, cpu, cuda or cuda:N")
    if device.type == "cuda" and (not torch.cuda.is_available() or (device.index or 0) >= torch.cuda.device_count()):
        raise ValueError(f"--device {name!r} is not there: torch sees {torch.cuda.device_count()} CUDA devices")
    return device


def pick_precision(name: str, device: torch.device) -> str:
    """'auto' as 'float32' or 'bf16': bf16 where the device multiplies it natively, so that it helps."""
    if name != "auto":
        return name
    if device.type == "cuda":
        return "bf16" if torch.cuda.is_bf16_supported(including_emulation=False) else "float32"
    native = torch.backends.cpu.get_cpu_capability() == "AVX512" and torch.cpu._is_avx512_bf16_supported()
    return "bf16" if native else "float32"
