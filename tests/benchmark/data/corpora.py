"""A corpus in memory, laid out as one on disk."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import torch
from torch import Tensor

from benchmark.data.batches import MappedSignal, PairSource
from benchmark.data.trials import Scale, Trials


def streamed(source: PairSource, scale: Scale | None = None) -> PairSource:
    """The same corpus on disk, among pseudo-trials that are not of it."""
    signal = source.signal
    assert isinstance(signal, Tensor)
    count, windows, samples, leads = signal.shape
    number = 1 + 2 * np.arange(count)  # every other one is of the corpus
    samples_of = np.zeros((2 * count + 1, windows * samples, leads), np.float16)
    samples_of[number] = signal.flatten(1, 2).numpy()
    start = np.arange(2 * count + 1) * windows * samples
    nobody = np.zeros(2 * count + 1, np.int64)
    trials = Trials(samples_of.reshape(-1, leads), start, samples, nobody, nobody, windows, (), scale)
    return replace(source, signal=MappedSignal(trials, number, torch.device("cpu")))
