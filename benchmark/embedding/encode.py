"""Signals of anyone's recordings -> embeddings, to the bits that the linear probe saw.

    encoder = load_encoder("pmq")                                   # a folder written by `export`
    encoder.encode(signals, rate=500, leads=["I", "II", ...])       # (n, K), a row per recording
    encoder.encode_windows(signals, rate=500, leads=[...])          # (N, K) a row per window, and whose it is

A recording's embedding is the mean over its windows. Batches are those of the linear probe: the same recordings in the
same order give the same bits as there. In float32 the last, incomplete batch of a call may round otherwise than the
same windows in a full one (by some 1e-7); in bf16 it does not.
"""

from __future__ import annotations

import warnings
from collections import Counter, deque
from collections.abc import Generator, Iterable, Sequence
from itertools import chain
from pathlib import Path
from typing import Any, Literal

import numpy as np
import torch
from numpy.typing import NDArray

from benchmark.config.errors import ConfigError
from benchmark.embedding.cut import Signals, Windows, cut_all, each_of
from benchmark.embedding.saved import Description, read_description, read_encoder
from benchmark.machine.device import pick_device
from benchmark.training.finetune import EVALUATION_BATCH
from benchmark.training.linear import Floats, features
from methods.encoders.base import Encoder

BATCHES = 16
"""Batches of windows that are in memory at a time."""
PRECISIONS = ("float32", "bf16")
Unusables = Literal["nan", "raise"]


class SavedEncoder:
    """An exported encoder, ready to embed. It can be pickled."""

    def __init__(self, description: Description, encoder: Encoder, device: torch.device, precision: str) -> None:
        self.description = description
        self.encoder = encoder.to(device)
        self.device = device
        self.precision = precision

    @property
    def width(self) -> int:
        """K, the numbers of an embedding."""
        return self.encoder.config.output

    @property
    def feature_names(self) -> list[str]:
        """'e0' to 'e63'."""
        return [f"e{number}" for number in range(self.width)]

    def encode(
        self, signals: Signals, rate: float, leads: Sequence[str], *, unusable: Unusables = "nan"
    ) -> NDArray[np.float32]:
        """Embeddings (n, K) of recordings, the mean over each one's windows.

        signals: (n, samples, leads), or a list of arrays (samples, leads) of any length; in any unit where every lead
        is standardised, else in mV (`description.standardisation`). rate: Hz. leads: names of the last axis, in any
        order and case; others than the 12 are not used, and those that the encoder's tests had not may be absent.
        unusable: what becomes of a recording that gives no window (NaN samples, too short, no heartbeat, slower than
        50/min): a row of NaN and one warning with the counts ('nan'), or an error ('raise').

        Raises ConfigError (a ValueError), in one line, for a missing lead, a wrong shape or rate.
        """
        found = self._embedded(signals, rate, leads)
        report_unusable(found, unusable)
        return np.stack([mean_of(own, self.width) for own in found]) if found else np.empty((0, self.width), np.float32)

    def encode_windows(
        self, signals: Signals, rate: float, leads: Sequence[str], *, unusable: Unusables = "nan"
    ) -> tuple[NDArray[np.float32], NDArray[np.int64]]:
        """Embeddings (N, K) of all windows, recording after recording, and (N,) the number of each one's recording.

        Arguments and errors as for `encode`; an unusable recording has no windows.
        """
        found = self._embedded(signals, rate, leads)
        report_unusable(found, unusable)
        counts = [0 if isinstance(own, str) else len(own) for own in found]
        rows = [own for own in found if not isinstance(own, str)]
        together = np.concatenate(rows) if rows else np.empty((0, self.width), np.float32)  # (N, K)
        return together, np.repeat(np.arange(len(found)), counts)

    def windows(
        self, signals: Signals, rate: float, leads: Sequence[str], *, unusable: Unusables = "nan"
    ) -> tuple[NDArray[np.float32], NDArray[np.int64]]:
        """Windows (N, S, 12) as the encoder or its ONNX file reads them, and (N,) the recording's number of each."""
        taken = self.description.taken
        read, numbers = each_of(signals, rate, leads, taken.leads)
        cuts = list(cut_all(read, numbers, taken))
        report_unusable(cuts, unusable)
        rows = [own for own in cuts if not isinstance(own, str)]
        shape = (0, self.description.segmentation.samples, len(self.description.leads))
        together = np.concatenate(rows).astype(np.float32) if rows else np.empty(shape, np.float32)  # (N, S, 12)
        return together, np.repeat(np.arange(len(cuts)), [0 if isinstance(own, str) else len(own) for own in cuts])

    def embeddings(self, cuts: Iterable[Windows | str]) -> Generator[Floats | str, None, None]:
        """Embeddings (m, K) of the windows (m, S, 12) of each recording, in order; a reason is passed on.

        Windows are embedded in the linear probe's batches, whatever recordings they are of.
        """
        size = EVALUATION_BATCH[self.device.type]
        waiting: deque[int | str] = deque()
        unread: list[Windows] = []
        held, ready = 0, np.empty((0, self.width), np.float32)  # windows in `unread`; (r, K)
        for cut in chain(cuts, (None,)):  # None: there are no more
            if cut is not None:
                waiting.append(cut if isinstance(cut, str) else len(cut))
            if isinstance(cut, np.ndarray):
                unread.append(cut)
                held += len(cut)
            if held >= BATCHES * size or (cut is None and held):
                block = np.concatenate(unread)  # (b, S, 12)
                whole = held if cut is None else held // size * size
                ready, unread = np.concatenate([ready, self._features(block[:whole])]), [block[whole:]]
                held -= whole
            while waiting and (isinstance(waiting[0], str) or waiting[0] <= len(ready)):
                next_one = waiting.popleft()
                if isinstance(next_one, str):
                    yield next_one
                else:
                    yield ready[:next_one]
                    ready = ready[next_one:]

    def _embedded(self, signals: Signals, rate: float, leads: Sequence[str]) -> list[Floats | str]:
        taken = self.description.taken
        read, numbers = each_of(signals, rate, leads, taken.leads)
        return list(self.embeddings(cut_all(read, numbers, taken)))

    def _features(self, windows: Windows) -> Floats:
        return features(self.encoder, torch.from_numpy(windows).to(self.device), self.precision)  # (b, K)


def load_encoder(
    folder: str | Path, *, device: str = "cpu", precision: str | None = None, code: str | Path | None = None
) -> SavedEncoder:
    """The encoder in a folder that `export` wrote.

    device: cpu, cuda, cuda:N or auto. precision: float32 or bf16; by default the one that the linear probe used. code:
    the file of an encoder that a user wrote. Raises ConfigError (a ValueError), in one line, for a folder that holds no
    exported encoder, a damaged one, one of another version of the windows, or a device that is not there.
    """
    folder = Path(folder)
    description = read_description(folder)
    if precision is not None and precision not in PRECISIONS:
        raise ConfigError(f"precision {precision!r} is not known; there are {', '.join(PRECISIONS)}")
    try:
        place = pick_device(device)
    except ValueError as error:
        raise ConfigError(str(error)) from None
    return SavedEncoder(description, read_encoder(folder, description, code), place, precision or description.precision)


def mean_of(embeddings: Floats | str, width: int) -> NDArray[np.float32]:
    """(K,) mean over the windows (m, K) of a recording; NaN where a reason stands in their place."""
    if isinstance(embeddings, str):
        return np.full(width, np.nan, np.float32)
    return np.asarray(embeddings.mean(axis=0, dtype=np.float64), np.float32)  # (K,)


def unusable_line(reasons: Sequence[str]) -> str:
    """'3 of 100 recordings have no embedding: 2 NaN samples, 1 too short'; '' if all have one. '' is no reason."""
    kinds = Counter(reason.partition(":")[0] for reason in reasons if reason).most_common()
    told = ", ".join(f"{count} {kind}" for kind, count in kinds)
    return f"{sum(map(bool, reasons))} of {len(reasons)} recordings have no embedding: {told}" if kinds else ""


def report_unusable(found: Sequence[NDArray[Any] | str], unusable: Unusables) -> None:
    """Warn the caller's caller of recordings with a reason in place of numbers, or raise ConfigError for the first."""
    if unusable not in ("nan", "raise"):
        raise ConfigError(f"unusable={unusable!r} is not known; there are 'nan' and 'raise'")
    reasons = [own if isinstance(own, str) else "" for own in found]
    line = unusable_line(reasons)
    if line and unusable == "raise":
        number = next(number for number, reason in enumerate(reasons) if reason)
        raise ConfigError(f"recording {number}: {reasons[number]}; unusable='nan' gives it a row of NaN")
    if line:
        warnings.warn(line, stacklevel=3)
