"""The signals of a corpus that is not taken into memory, and whether one fits."""

from __future__ import annotations

import os
from dataclasses import dataclass
from typing import Literal

import numpy as np
import torch
from numpy.typing import NDArray
from torch import Tensor

from benchmark.data.prepared.trials import Trials
from benchmark.data.readers.base import LEADS
from benchmark.machine.memory import free_bytes

Streaming = Literal["auto", "always", "never"]
"""When a corpus is read from disk: if it does not fit into memory, or as told."""
SHARE = 0.25
"""Of the free memory of host and device: a larger corpus is streamed. Several pretrainings may share a host."""
ROWS = 512
"""Windows copied at a time: as many as stay in a CPU's cache."""


@dataclass(frozen=True)
class MappedSignal:
    """T pseudo-trials of P windows of S samples that stay in their memory map."""

    trials: Trials
    chosen: NDArray[np.int64]
    """(T,) their numbers in `trials`."""
    device: torch.device
    """Where the windows go that are taken."""

    @property
    def shape(self) -> tuple[int, int, int, int]:
        """(T, P, S, L) of all of it."""
        return len(self.chosen), self.trials.per_trial, self.trials.window, len(LEADS)

    def read(self, trial: NDArray[np.int64], start: NDArray[np.int64]) -> NDArray[np.float16]:
        """Windows (n, S, L) that begin at the given samples of pseudo-trials, read in the order of the file."""
        number = self.chosen[trial]  # (n,)
        place = self.trials.start[number] + start  # (n,)
        order = np.argsort(place, kind="stable")  # (n,)
        ask_for(self.trials.samples, place[order], self.trials.window)
        read = np.empty((len(trial), *self.shape[2:]), np.float16)  # (n, S, L)
        for part in np.split(order, range(ROWS, len(order), ROWS)):
            read[part] = self.trials.cut(number[part], start[part])
        return read

    def take(self, trial: Tensor, start: Tensor) -> Tensor:
        """Windows (B, S, L) in float16 on the device; trial, start: (B,)."""
        return torch.from_numpy(self.read(trial.cpu().numpy(), start.cpu().numpy())).to(self.device)


def ask_for(samples: NDArray[np.float16], start: NDArray[np.int64], length: int) -> None:
    """Let the system begin to read stretches of a memory map's file, all at once and nothing around them.

    samples: (n, 12). start: (m,) first sample of each, ascending. Without effect on another system or array.
    """
    if not isinstance(samples, np.memmap) or samples.filename is None or not hasattr(os, "posix_fadvise"):
        return
    bytes_of_sample = samples.strides[0]
    with open(samples.filename, "rb") as file:
        for place in (samples.offset + start * bytes_of_sample).tolist():
            os.posix_fadvise(file.fileno(), place, length * bytes_of_sample, os.POSIX_FADV_WILLNEED)


def is_streamed(asked: Streaming, size: int, device: torch.device) -> bool:
    """Whether a corpus of `size` bytes is read from disk."""
    if asked != "auto":
        return asked == "always"
    return size > SHARE * min(free_bytes(place) for place in {device, torch.device("cpu")})
