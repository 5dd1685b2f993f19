"""The device and the precision that a run computes with, and the cores it may use."""

from __future__ import annotations

import os
import platform
from typing import Any

import torch


def device_facts(device: torch.device) -> dict[str, Any]:
    """Type and name of the device, and the number of CPU threads torch uses."""
    name = torch.cuda.get_device_name(device) if device.type == "cuda" else platform.processor() or platform.machine()
    return {"type": device.type, "name": name, "threads": torch.get_num_threads()}


def cores() -> int:
    """Cores this process may use."""
    return len(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else os.cpu_count() or 1


def pick_device(name: str) -> torch.device:
    """'auto', 'cpu', 'cuda' or 'cuda:N' as a device. Raises ValueError if unknown or not available."""
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


def visible_devices() -> list[str]:
    """What CUDA_VISIBLE_DEVICES has to be for each CUDA device of this process to be the only one."""
    count = torch.cuda.device_count()
    named = [name for name in os.environ.get("CUDA_VISIBLE_DEVICES", "").split(",") if name]
    return named[:count] if named else [str(number) for number in range(count)]


def pick_precision(name: str, device: torch.device) -> str:
    """'auto' as 'bf16' where the device multiplies it natively, else 'float32'; other names unchanged."""
    if name != "auto":
        return name
    if device.type == "cuda":
        return "bf16" if torch.cuda.is_bf16_supported(including_emulation=False) else "float32"
    native = torch.backends.cpu.get_cpu_capability() == "AVX512" and torch.cpu._is_avx512_bf16_supported()
    return "bf16" if native else "float32"
