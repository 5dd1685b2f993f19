"""A corpus is streamed where it does not fit, and then needs no memory of its size."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

import numpy as np
import pytest
import torch

from benchmark.data.corpus import mapped
from benchmark.data.corpus.mapped import SHARE, ask_for, is_streamed

ROOT = Path(__file__).resolve().parents[4]
CPU = torch.device("cpu")
LIMITED = """
import resource, sys
from dataclasses import replace
import numpy as np, torch
from pathlib import Path
from benchmark.data.prepared.trials import Trials
from benchmark.data.corpus.pairs import PairSource
from benchmark.data.corpus.ahead import batches_ahead
from benchmark.data.corpus.mapped import MappedSignal, is_streamed
from benchmark.machine.memory import free_bytes

file, trials = Path(sys.argv[1]), 2000
size = trials * 10 * 300 * 12 * 2
with open(file, "wb") as written:
    written.truncate(size)
samples = np.memmap(file, np.float16, "r", shape=(trials * 3000, 12))
every = np.arange(trials)
signal = MappedSignal(Trials(samples, every * 3000, 300, every, every, 10, ()), every, torch.device("cpu"))
source = PairSource(signal, torch.from_numpy(every), torch.from_numpy(every // 2))
pairs = torch.randperm(source.pairs)[: 39 * 256].view(39, 256)
with batches_ahead(source, pairs, "neighbor", int) as batch_at:  # what threads and allocator need
    batch_at(0)
lines = dict(line.split(":") for line in Path("/proc/self/status").read_text().splitlines())
used = 1024 * int(lines["VmData"].split()[0])
resource.setrlimit(resource.RLIMIT_DATA, (used + int(0.6 * size), resource.RLIM_INFINITY))
assert free_bytes(torch.device("cpu")) <= 0.6 * size, free_bytes(torch.device("cpu"))
assert is_streamed("auto", size, torch.device("cpu"))
try:
    signal.trials.take(every)
except MemoryError:
    print("too large")
with batches_ahead(source, pairs, "neighbor", int, block_bytes=2**23) as batch_at:
    print(sum(len(batch_at(step).x1) for step in range(len(pairs))))
"""


def test_a_corpus_is_streamed_where_it_takes_more_than_its_share(monkeypatch: pytest.MonkeyPatch) -> None:
    free = {"cpu": 4000, "cuda": 1000}
    monkeypatch.setattr(mapped, "free_bytes", lambda device: free[device.type])
    assert SHARE == 0.25
    assert [is_streamed("auto", size, CPU) for size in (1000, 1001)] == [False, True]
    assert [is_streamed("auto", size, torch.device("cuda")) for size in (250, 251)] == [False, True]
    assert [is_streamed(asked, 10**6, CPU) for asked in ("always", "never")] == [True, False]
    assert is_streamed("always", 1, CPU)


@pytest.mark.skipif(not hasattr(os, "posix_fadvise"), reason="the system takes no such advice")
def test_the_stretches_of_a_file_are_asked_for_and_nothing_else(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    file, asked = tmp_path / "samples", list[tuple[int, int, int, int]]()
    file.write_bytes(bytes(48 + 10 * 24))  # a header of 48 bytes, then 10 samples of 12 leads of 2 bytes
    monkeypatch.setattr(os, "posix_fadvise", lambda number, *rest: asked.append((os.fstat(number).st_ino, *rest)))
    start = np.array([0, 5])
    ask_for(np.memmap(file, np.float16, "r", offset=48, shape=(10, 12)), start, 3)
    own = file.stat().st_ino
    assert asked == [(own, 48, 72, os.POSIX_FADV_WILLNEED), (own, 48 + 120, 72, os.POSIX_FADV_WILLNEED)]
    ask_for(np.zeros((10, 12), np.float16), start, 3)
    assert len(asked) == 2, "an array in memory has no file"


@pytest.mark.slow
@pytest.mark.skipif(not sys.platform.startswith("linux"), reason="limits of a process's data are Linux's")
def test_under_a_limit_that_refuses_the_corpus_it_is_streamed(tmp_path: Path) -> None:
    command = [sys.executable, "-c", LIMITED, str(tmp_path / "corpus.f16")]
    environment = {**os.environ, "PYTHONPATH": str(ROOT), "OMP_NUM_THREADS": "1"}
    done = subprocess.run(command, env=environment, capture_output=True, text=True, check=False, timeout=120)
    assert done.stdout.split("\n")[:2] == ["too large", str(39 * 256)], done.stderr
