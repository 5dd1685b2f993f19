"""Device, precision, seeds and versions that a number is computed with, and the machine of a run."""

from __future__ import annotations

import hashlib
import os
import platform
import re
import subprocess
from contextlib import suppress
from dataclasses import dataclass
from functools import lru_cache
from importlib import metadata
from pathlib import Path
from typing import Any

import numpy as np
import torch
from threadpoolctl import threadpool_info


def device_facts(device: torch.device) -> dict[str, Any]:
    """Collect type and name of the device, CPU threads of torch, and what its processor's bits depend on.

    These are the kernels of NumPy's and SciPy's BLAS ('Haswell') and, where torch computes on the CPU, the instructions
    that it uses ('AVX2').
    """
    libraries = [library for library in threadpool_info() if library["user_api"] == "blas"]
    kernels = {library.get("architecture", library["internal_api"]) for library in libraries}
    facts = {"type": device.type, "threads": torch.get_num_threads(), "kernels": " ".join(sorted(kernels))}
    if device.type == "cuda":
        return facts | {"name": torch.cuda.get_device_name(device)}
    matrices = " AMX" * torch.cpu._is_amx_tile_supported()  # the capability is AVX512 with and without
    return facts | {"name": processor_name(), "instructions": torch.backends.cpu.get_cpu_capability() + matrices}


@lru_cache(maxsize=1)
def processor_name() -> str:
    """Return the model of the processor where Linux names it, else its architecture."""
    with suppress(OSError):
        if model := re.search(r"^model name\s*: (.+)$", Path("/proc/cpuinfo").read_text(), re.MULTILINE):
            return model[1]
    return platform.processor() or platform.machine()


def cores() -> int:
    """Count the cores this process may use."""
    return len(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else os.cpu_count() or 1


def pick_device(name: str) -> torch.device:
    """Return the device 'auto', 'cpu', 'cuda' or 'cuda:N'. Raises ValueError if unknown or not available."""
    if name == "auto":
        return torch.device("cuda" if torch.cuda.is_available() else "cpu")
    if not re.fullmatch(r"cpu|cuda(:(0|[1-9]\d?))?", name):
        raise ValueError(f"--device {name!r} is not supported; use auto, cpu, cuda or cuda:N")
    device = torch.device(name)
    count = torch.cuda.device_count()
    if device.type == "cuda" and (device.index or 0) >= count:
        raise ValueError(f"--device {name!r} is not there: torch sees {count} CUDA devices")
    return device


def visible_devices() -> list[str]:
    """List what CUDA_VISIBLE_DEVICES has to be for each CUDA device of this process to be the only one."""
    count = torch.cuda.device_count()
    named = [name for name in os.environ.get("CUDA_VISIBLE_DEVICES", "").split(",") if name]
    return named[:count] if named else [str(number) for number in range(count)]


def pick_precision(name: str, device: torch.device) -> str:
    """Return 'auto' as 'bf16' where the device multiplies it natively, else 'float32'; other names unchanged."""
    if name != "auto":
        return name
    if device.type == "cuda":
        return "bf16" if torch.cuda.is_bf16_supported(including_emulation=False) else "float32"
    native = torch.backends.cpu.get_cpu_capability() == "AVX512" and torch.cpu._is_avx512_bf16_supported()
    return "bf16" if native else "float32"


@dataclass(frozen=True)
class Machine:
    """Device, precision and engine of a run."""

    device: torch.device
    precision: str
    jobs: int | None = 1  # tasks at a time; None: one for each worker of the engine
    engine: str = "local"  # 'local', or the address or the scheduler file of a Dask scheduler
    devices: tuple[str, ...] = ()  # what CUDA_VISIBLE_DEVICES is in the workers, in turn; () for what it is here

    def threads(self) -> int | None:
        """Count the CPU threads of a pretraining: a share of those here; None for those that a worker elsewhere has."""
        return max(1, torch.get_num_threads() // (self.jobs or 1)) if self.engine == "local" else None


LARGE = 2**62  # bound of integer draws: modulo a small n nearly uniform and below n, unlike a float times n


def stream(*parts: int | str) -> int:
    """Derive a 63-bit seed for a named purpose, e.g. stream('pretrain', seed, epoch, step)."""
    words = [int.from_bytes(hashlib.sha256(p.encode()).digest()[:4], "big") if isinstance(p, str) else p for p in parts]
    return int(np.random.SeedSequence(words).generate_state(1, np.uint64)[0] >> np.uint64(1))


PACKAGES = ("torch", "numpy", "scikit-learn", "scipy", "pandas", "wfdb")


@lru_cache(maxsize=1)
def git_state() -> dict[str, str | bool | None]:
    """Look up the commit and whether there are changes; None outside a checkout, and in another project's."""
    file = Path(__file__).resolve()
    printed = []
    try:
        for words in (["ls-files", "--error-unmatch", file.name], ["rev-parse", "HEAD"], ["diff", "HEAD", "--stat"]):
            done = subprocess.run(["git", *words], cwd=file.parent, capture_output=True, text=True, check=True)
            printed.append(done.stdout.strip())
    except (OSError, subprocess.CalledProcessError):
        return {"commit": None, "dirty": False}
    _, commit, changes = printed
    return {"commit": commit, "dirty": bool(changes)}


@lru_cache
def versions(*further: str) -> dict[str, str]:
    """Collect versions of Python and the packages that can move a number, and of further ones."""
    return {"python": platform.python_version(), **{name: metadata.version(name) for name in (*PACKAGES, *further)}}


def releases() -> dict[str, str]:
    """Collect what workers of one run share of `versions`: Python's minor version, packages without build ('+cpu')."""
    public = {name: version.partition("+")[0] for name, version in versions().items()}
    return public | {"python": ".".join(platform.python_version_tuple()[:2])}


def computer(device: torch.device, precision: str, *further: str) -> dict[str, Any]:
    """Collect what computes a row or an encoder here; further: packages that it needs beside `PACKAGES`."""
    return {
        "versions": versions(*further),
        "git": git_state(),
        "device": device_facts(device),
        "precision": precision,
    }
