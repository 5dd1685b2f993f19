"""The peak of what a process holds."""

from __future__ import annotations

import pytest
import torch

from benchmark.machine import memory
from benchmark.machine.memory import begin_peak_memory, peak_memory_gib


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
