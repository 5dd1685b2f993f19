"""A corpus of signals in memory, laid out as one on disk."""

from __future__ import annotations

from typing import Any

import numpy as np
import torch
from torch import Tensor

from benchmark.data.corpus import Corpus
from benchmark.data.trials import Scale, Trials
from methods.base import Batch


def corpus_in_memory(
    signal: Tensor,
    patient: Tensor,
    recording: Tensor,
    text: Tensor | None = None,
    *,
    random_start: bool = False,
    scale: Scale | None = None,
    device: str = "cpu",
) -> Corpus:
    """Pseudo-trials (T, P, S, L) among others that are not of the corpus; patient, from 1, and recording: (T,)."""
    count, windows, samples, leads = signal.shape
    chosen = 1 + 2 * np.arange(count)  # (T,) every other one
    signals = np.full((2 * count + 1, windows * samples, leads), np.nan, np.float16)
    signals[chosen] = signal.flatten(1, 2).numpy()
    start = np.arange(2 * count + 1) * windows * samples
    ids = np.zeros((2, 2 * count + 1), np.int64)
    ids[:, chosen] = recording.numpy(), patient.numpy() - 1
    trials = Trials((signals.reshape(-1, leads),), start, *ids, samples, windows, scale)
    return Corpus(trials, chosen, torch.device(device), random_start, text)


def batch_of(corpus: Corpus, numbers: Tensor, pairing: Any, seed: int = 0) -> Batch:
    """The batch of numbered pairs (B,), drawn by a seed."""
    return next(corpus.batches(numbers[None], pairing, lambda step: seed))
