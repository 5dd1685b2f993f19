"""The peak of what a process holds, and what it can still take."""

from __future__ import annotations

import resource
from pathlib import Path

import pytest
import torch

from benchmark.machine import memory
from benchmark.machine.memory import begin_peak_memory, free_bytes, peak_memory_gib


@pytest.mark.skipif(not memory.PEAK_RESET.is_file(), reason="the system cannot begin a peak anew")
def test_a_peak_that_is_begun_anew_forgets_what_was_freed() -> None:
    cpu = torch.device("cpu")
    begin_peak_memory(cpu)
    held = torch.ones(2**27)  # 0.5 GiB
    with_it = peak_memory_gib(cpu)
    del held
    begin_peak_memory(cpu)
    without = peak_memory_gib(cpu)
    assert without < with_it - 0.3
    held = torch.ones(2**27)
    assert peak_memory_gib(cpu) > without + 0.3
    del held


def test_what_is_free_is_the_least_of_host_process_and_group(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    host, process, groups, limits = tmp_path / "meminfo", tmp_path / "status", tmp_path / "cgroup", {}
    host.write_text("MemTotal: 64 kB\nMemAvailable:    50 kB\nHugePages_Total:  0\n")
    process.write_text("Name: python\nVmSize:  30 kB\nVmData:  20 kB\n")
    for name, value in {"MEMORY": host, "PROCESS_STATUS": process, "CGROUP": groups}.items():
        monkeypatch.setattr(memory, name, value)
    unlimited = (resource.RLIM_INFINITY, resource.RLIM_INFINITY)
    monkeypatch.setattr(resource, "getrlimit", lambda kind: limits.get(kind, unlimited))
    cpu = torch.device("cpu")
    assert free_bytes(cpu) == 50 * 1024
    limits[resource.RLIMIT_DATA] = (65 * 1024, 0)
    assert free_bytes(cpu) == 45 * 1024
    limits[resource.RLIMIT_AS] = (60 * 1024, 0)
    assert free_bytes(cpu) == 30 * 1024
    groups.mkdir()
    files = {
        "memory.max": "max",
        "memory.current": "9000",
        "memory.stat": "anon 5\ninactive_file 3000\nactive_file 500",
    }
    for name, text in files.items():
        (groups / name).write_text(text)
    assert free_bytes(cpu) == 30 * 1024
    (groups / "memory.max").write_text("20000")
    assert free_bytes(cpu) == 20000 - 9000 + 3500
    (groups / "memory.current").write_text("90000")
    assert free_bytes(cpu) == 0
