"""Use of a pretrained encoder outside the suite: a folder that holds all of it, signals in, embeddings out.

    encoder = load_encoder("pmq")                                   # a folder written by `export`
    encoder.encode(signals, rate=500, leads=["I", "II", ...])       # (n, K), a row per recording
    FunctionTransformer(encoder.encode, kw_args={"rate": 500, "leads": [...]})      # a step of scikit-learn's pipelines

Recordings are cut and standardised as for training, and windows are embedded in the linear probe's batches: the same
recordings in the same order give the same bits as there. The embedding of a recording is the mean over its windows.
"""

from __future__ import annotations

import hashlib
import json
import warnings
from collections import Counter
from collections.abc import Iterable, Sequence
from dataclasses import dataclass as plain_dataclass
from itertools import pairwise
from pathlib import Path
from typing import Any, Literal

import numpy as np
import torch
from numpy.typing import NDArray
from pydantic import TypeAdapter
from pydantic.dataclasses import dataclass

from benchmark.config.errors import ConfigError
from benchmark.data.datasets.base import LEADS, Recording, Unusable
from benchmark.data.datasets.wfdb_files import checked_recording, lead_columns
from benchmark.data.heartbeats import normalise_trials
from benchmark.data.prepare import PIPELINE_VERSION
from benchmark.data.segments import Segmentation, zero_missing_leads
from benchmark.data.trials import Scale
from benchmark.machine import pick_device
from benchmark.results.arrays import Floats, Halves, Ints
from benchmark.results.files import (
    Damaged,
    digested_json,
    read_digested_json,
    reading,
    refuse_altered,
    write_atomic,
)
from benchmark.results.names import STRICT, Labels, Protocol
from benchmark.training.checkpoint import SOURCE, built_encoder
from benchmark.training.probes import features
from methods.encoders import get_encoder
from methods.encoders.base import Encoder

Windows = Halves
"""(m, S, 12) of one recording."""
Signals = NDArray[Any] | Sequence[NDArray[Any]]
"""Recordings (n, samples, leads), or n of any length (samples, leads)."""
MODEL, CONFIG, MODEL_CARD = "model.safetensors", "config.json", "README.md"
"""Files of an exported encoder, by the names of model hubs."""
CONFIG_DIGEST = "config_sha256"
EXPORT_AGAIN = "export the encoder again"
PRECISIONS = ("float32", "bf16")
LISTED = 5
"""Recordings that a warning names."""


@dataclass(frozen=True, config=STRICT)
class Description:
    """Content of config.json: all that makes an encoder's embeddings, and what is known of its making."""

    name: str
    """Name of the row in the tables, e.g. 'pmq'."""
    title: str
    encoder: dict[str, Any]
    """Name and sizes, and the digest of its source if a user wrote it (`methods.encoders.identity`)."""
    sha256: str
    """Digest of the weights."""
    segmentation: Segmentation
    per_trial: int
    """Consecutive windows standardised together; those left over at a recording's end are dropped."""
    precision: Literal["float32", "bf16"]
    """Precision in which the linear probe saw the embeddings."""
    labels: Labels
    protocol: Protocol
    """`labels` and `protocol`: of the task that the scores in the model card are of."""
    pretraining: dict[str, Any]
    """Key, method, and what the key is the digest of."""
    scale: tuple[float, float] | None = None
    """Mean and deviation of the pretraining corpus, mV, by which every sample is standardised; None: not by these."""
    leads: tuple[str, ...] = LEADS
    """The leads that its tests had; the others may be absent and are zero."""
    pipeline: int = PIPELINE_VERSION
    """Version of the preparation of windows."""

    @property
    def standardisation(self) -> str:
        """Standardisation of the windows, in words."""
        if self.segmentation.raw:
            return (
                "none: millivolts" if self.scale is None else "mean {:.6g} and deviation {:.6g} mV".format(*self.scale)
            )
        further = ", then per pseudo-trial and lead" if self.segmentation.standardises_trials else ""
        return f"z-score per recording and lead{further}"


def windows_of(recording: Recording, description: Description) -> Windows:
    """Cut the windows (m, S, 12) of a recording, m a multiple of `per_trial`. Raises Unusable if it gives none."""
    cut, per_trial = description.segmentation, description.per_trial
    whole = cut.cut(recording.signal, recording.fs).astype(np.float16)  # (n, S, 12), or samples (n, 1, 12)
    count = int(cut.trials_in(np.array(len(whole)), per_trial))
    if not count:
        raise Unusable(f"fewer than {per_trial} {cut.unit_name}s: {int(cut.trials_in(np.array(len(whole)), 1))}")
    if cut.standardises_trials:
        windows = normalise_trials(whole, per_trial).astype(np.float16)  # (n // P, P * S, 12)
    else:
        length = per_trial * cut.samples
        step = cut.step(per_trial)
        samples = whole.reshape(-1, len(LEADS))  # (n, 12)
        windows = np.stack([samples[first : first + length] for first in range(0, count * step, step)])
    scale = description.scale
    scaled = windows if scale is None else Scale(*scale).applied(windows)
    return zero_missing_leads(scaled, description.leads).reshape(-1, cut.samples, len(LEADS))  # (m, S, 12)


def recordings_of(signals: Signals, rate: float, leads: Sequence[str], present: Sequence[str] = LEADS) -> list[Any]:
    """Make recordings of numbers (samples, leads) at `rate` Hz, or the reason why one is none.

    leads: names of the last axis, in any order and case; leads that are not `present` for the encoder may be missing.
    Raises ConfigError in one line for another shape, or a lead that is missing or named twice.
    """
    if isinstance(leads, str) or not all(
        np.ndim(signal) == 2 and np.shape(signal)[1] == len(leads) for signal in signals
    ):
        shapes = ", ".join(dict.fromkeys(str(np.shape(signal)) for signal in signals))
        raise ConfigError(
            f"signals {shapes}: recordings (samples, {len(leads)}), an axis for each of the leads, are needed"
        )
    names = [name.strip().lower() for name in leads]
    absent = [lead for lead in LEADS if lead not in present and lead.lower() not in names]
    try:
        columns = lead_columns([*names, *absent])
    except Unusable as reason:
        raise ConfigError(f"leads: {reason}; the encoder needs {' '.join(present)}, in any order") from None
    recordings: list[Recording | str] = []
    for signal in signals:
        padded = np.pad(np.asarray(signal, np.float64), ((0, 0), (0, len(absent))))
        try:
            recordings.append(checked_recording(padded[:, columns], float(rate)))
        except Unusable as reason:
            recordings.append(str(reason))
    return recordings


def save_folder(folder: Path, description: Description, weights: bytes, card: str, *, source: bytes | None) -> None:
    """Write an encoder's folder, config.json last; source: of an encoder that a user wrote. Raises OSError."""
    contents = {MODEL: weights, **({SOURCE: source} if source else {}), MODEL_CARD: card.encode()}
    contents[CONFIG] = digested_json(TypeAdapter(Description).dump_python(description, mode="json"), CONFIG_DIGEST)
    for name, content in contents.items():
        write_atomic(folder / name, content)
    if source is None:
        (folder / SOURCE).unlink(missing_ok=True)  # of an encoder that was here before


def is_exported(folder: Path) -> bool:
    """Tell whether the config of a folder is that of an exported encoder, whole or damaged."""
    file = folder / CONFIG
    return file.is_file() and CONFIG_DIGEST.encode() in file.read_bytes()


def read_description(folder: Path) -> Description:
    """Read the description in a folder. Raises ConfigError, in one line, if it is no usable exported encoder."""
    file = folder / CONFIG
    if not is_exported(folder):
        wrong = "is of another program" if file.is_file() else "is not there"
        raise ConfigError(f"{folder} is no exported encoder: {CONFIG} {wrong}; `export NAME --to FOLDER` makes one")
    try:
        with reading(file, EXPORT_AGAIN):
            stored = read_digested_json(file, CONFIG_DIGEST)
            description = TypeAdapter(Description).validate_json(json.dumps(stored))
    except Damaged as problem:
        raise ConfigError(str(problem)) from None
    if description.pipeline != PIPELINE_VERSION:
        raise ConfigError(
            f"{file}: its windows were cut by version {description.pipeline} of the preparation, here is "
            f"{PIPELINE_VERSION}; use the version of the suite that exported it, or export it again"
        )
    return description


def encoder_of(stored: dict[str, Any], weights: bytes, folder: Path, code: str | Path | None) -> Encoder:
    """Build the encoder of a name and sizes with these weights, in evaluation mode.

    code: the file that defines it, if a user wrote it; the copy in the folder may be anyone's and is not executed.
    Raises ConfigError in one line.
    """
    if "source" in stored and code is None:
        raise ConfigError(
            f"the encoder {stored['name']!r} in {folder} is from a file of its author: read {folder / SOURCE}, then "
            "name it with --code FILE (in Python: code=FILE)"
        )
    try:
        encoder_class = get_encoder(str(code) if "source" in stored else stored["name"])
        return built_encoder(encoder_class, stored, weights).eval()
    except (TypeError, ValueError, RuntimeError) as error:
        raise ConfigError(f"{folder}: {' '.join(str(error).split())}") from None


def load_encoder(
    folder: str | Path, *, device: str = "cpu", precision: str | None = None, code: str | Path | None = None
) -> SavedEncoder:
    """Load the encoder in a folder that `export` wrote.

    device: cpu, cuda, cuda:N or auto. precision: float32 or bf16; by default the one that the linear probe used. code:
    the file of an encoder that a user wrote. Raises ConfigError (a ValueError), in one line, for a folder that holds no
    exported encoder, a damaged one, one of another version of the windows, or a device that is not there.

    >>> from benchmark.data.simulate import simulate
    >>> encoder = load_encoder("pmq")
    >>> signals = np.stack([simulate("NORM", seed=seed) for seed in (1, 2)])  # (2, 5000, 12)
    >>> encoder.encode(signals, rate=500, leads=LEADS).shape == (2, encoder.width)
    True
    """
    folder = Path(folder)
    description = read_description(folder)
    if precision not in (None, *PRECISIONS):
        raise ConfigError(f"precision {precision!r} is not known; there are {', '.join(PRECISIONS)}")
    try:
        with reading(folder / MODEL, EXPORT_AGAIN):
            weights = (folder / MODEL).read_bytes()
            refuse_altered(hashlib.sha256(weights).hexdigest(), description.sha256)
    except Damaged as problem:
        raise ConfigError(str(problem)) from None
    try:
        where = pick_device(device)
    except ValueError as error:
        raise ConfigError(str(error)) from None
    encoder = encoder_of(description.encoder, weights, folder, code).to(where)
    return SavedEncoder(description, encoder, where, precision or description.precision)


@plain_dataclass
class SavedEncoder:
    """An exported encoder, ready to embed. It can be pickled."""

    description: Description
    encoder: Encoder
    device: torch.device
    precision: str

    @property
    def width(self) -> int:
        """K, the numbers of an embedding."""
        return self.encoder.config.output

    @property
    def feature_names(self) -> list[str]:
        """'e0' to 'e63'."""
        return [f"e{number}" for number in range(self.width)]

    def encode(self, signals: Signals, rate: float, leads: Sequence[str]) -> Floats:
        """Compute embeddings (n, K) of recordings, the mean over each one's windows.

        signals: (n, samples, leads), or a list of arrays (samples, leads) of any length; in any unit where every lead
        is standardised, else in mV. rate: Hz. leads: names of the last axis, in any order and case. A recording that
        gives no window (NaN samples, too short, no heartbeat) is a row of NaN, and one warning names it.

        Raises ConfigError (a ValueError), in one line, for a missing lead or a wrong shape.
        """
        return self.means(self._cut_with_warning(signals, rate, leads))

    def encode_windows(self, signals: Signals, rate: float, leads: Sequence[str]) -> tuple[Floats, Ints]:
        """Compute embeddings (N, K) of all windows, recording after recording, and (N,) the recording of each.

        Arguments and errors as for `encode`; an unusable recording has no windows.
        """
        windows, whose = self.windows(signals, rate, leads)
        return features(self.encoder, torch.from_numpy(windows).to(self.device), self.precision), whose

    def windows(self, signals: Signals, rate: float, leads: Sequence[str]) -> tuple[Windows, Ints]:
        """Cut recordings into windows (N, S, 12) as the encoder reads them, and (N,) the recording of each."""
        windows = self._cut_with_warning(signals, rate, leads)
        return np.concatenate(windows), np.repeat(np.arange(len(signals)), list(map(len, windows[1:])))

    def means(self, windows: Sequence[Windows]) -> Floats:
        """Compute the mean embedding (n, K) of each recording of `cut`; NaN for one without windows."""
        rows = features(
            self.encoder, torch.from_numpy(np.concatenate(windows)).to(self.device), self.precision
        )  # (N, K)
        ends = np.cumsum(list(map(len, windows)))
        means = np.full((len(windows) - 1, self.width), np.nan, np.float32)  # (n, K)
        for number, (first, end) in enumerate(pairwise(ends)):
            if end > first:
                means[number] = rows[first:end].mean(axis=0, dtype=np.float64)
        return means

    def _cut_with_warning(self, signals: Signals, rate: float, leads: Sequence[str]) -> list[Windows]:
        windows, reasons = self.cut(recordings_of(signals, rate, leads, self.description.leads))
        if text := unusable_text(reasons):
            warnings.warn(f"{text}; their rows are NaN, which SimpleImputer() fills in a pipeline", stacklevel=3)
        return windows

    def cut(self, recordings: Iterable[Recording | str]) -> tuple[list[Windows], list[str]]:
        """Cut recordings: an empty array and the windows (m, S, 12) of each, and why it has none; '' where it has."""
        nothing = np.empty((0, self.description.segmentation.samples, len(LEADS)), np.float16)  # (0, S, 12)
        windows, reasons = [nothing], []
        for recording in recordings:
            try:
                if isinstance(recording, str):
                    raise Unusable(recording)
                windows.append(windows_of(recording, self.description))
                reasons.append("")
            except Unusable as reason:
                windows.append(nothing)
                reasons.append(str(reason))
        return windows, reasons


def unusable_text(reasons: Sequence[str]) -> str:
    """Return '2 of 9 recordings have no embedding: 2 NaN samples (3: NaN samples: lead I, ...)'; '' if all have one."""
    named = [f"{number}: {reason}" for number, reason in enumerate(reasons) if reason]
    if not named:
        return ""
    kinds = Counter(reason.partition(":")[0] for reason in reasons if reason).most_common()
    counts = ", ".join(f"{count} {kind}" for kind, count in kinds)
    more = f" and {len(named) - LISTED} more" if len(named) > LISTED else ""
    return f"{len(named)} of {len(reasons)} recordings have no embedding: {counts} ({', '.join(named[:LISTED])}{more})"
