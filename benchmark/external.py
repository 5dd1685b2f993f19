"""Encoders whose weights come from elsewhere, as rows of the tables; each is a class in a .py file.

The task of a cell is the same recordings, cut to the encoder's signals (`methods.encoders.pretrained`). It learns from
all its windows of the labelled recordings. Its prediction of a recording, pooled over its windows, stands for each of
the run's test windows of that recording, so that all rows are tested on the same windows. Whether it saw the test
patients of a column is known by the names of datasets that the class gives: two datasets hold the same people where
they have a cohort in common.
"""

from __future__ import annotations

import re
from collections.abc import Collection, Iterable
from dataclasses import dataclass, replace
from pickle import UnpicklingError

import numpy as np
import torch

from benchmark.data.datasets.base import LEADS
from benchmark.data.heartbeats import Beats
from benchmark.data.prepare import Prepared
from benchmark.data.segments import Segmentation, zero_missing_leads
from benchmark.data.task import Task, Windows
from benchmark.data.trials import trials_of
from benchmark.results.arrays import Floats, Halves
from benchmark.results.files import impostor
from benchmark.results.metrics import pooled_by
from benchmark.results.names import RECORDING, reason_of, unknown
from methods.encoders.pretrained import ORDER, PretrainedEncoder, SignalFormat

CHALLENGE_2020 = ("CPSC 2018", "CPSC 2018 extra", "INCART", "PTB", "PTB-XL", "Georgia")
COHORTS_OF = {
    "ptb-xl": ("PTB-XL",),
    "cpsc2018": ("CPSC 2018",),
    "chapman": ("Chapman-Shaoxing",),
    "ningbo": ("Ningbo",),
    "mimic-iv-ecg": ("MIMIC-IV-ECG",),
    "ptbdb": ("PTB",),
    "incartdb": ("INCART",),
    "ludb": ("LUDB",),
    "ecg-arrhythmia": ("Chapman-Shaoxing", "Ningbo"),
    "mimic-iv-ecg-demo": ("MIMIC-IV-ECG",),
    "challenge2020": CHALLENGE_2020,
    "challenge2021": (*CHALLENGE_2020, "Chapman-Shaoxing", "Ningbo"),
}
"""Public dataset -> the cohorts whose recordings it holds, by the releases' descriptions."""
COHORTS = tuple(dict.fromkeys(cohort for cohorts in COHORTS_OF.values() for cohort in cohorts))
OTHER = "other: "
"""Prefix of a name in `pretrained_on` that the suite does not know."""
WINDOWS = 3
CLOSE = 1e-3
"""Largest difference, relative, between a window alone and among others."""


def letters(name: str) -> str:
    """Leave out what differs in spelling: 'PTB-XL' and 'ptbxl' are one name."""
    return re.sub(r"[^a-z0-9]", "", name.lower())


def cohorts_of(name: str) -> tuple[str, ...]:
    """List the cohorts of a dataset, or the cohort, by any spelling of its name; a dataset alone is its own cohort."""
    for known, cohorts in COHORTS_OF.items():
        if letters(known) == letters(name):
            return cohorts
    return tuple(cohort for cohort in COHORTS if letters(cohort) == letters(name)) or (letters(name),)


def saw_test_patients(encoder_class: type[PretrainedEncoder], column: Prepared) -> str:
    """Say 'yes', 'no' or 'not known': whether an encoder saw the dataset of a column, whole or in part."""
    if encoder_class.pretrained_on is None:
        return "not known"
    tested = {*cohorts_of(column.dataset_name)}
    seen = {cohort for name in encoder_class.pretrained_on if not name.startswith(OTHER) for cohort in cohorts_of(name)}
    return "yes" if tested & seen else "no"


def pretrained_on_text(encoder_class: type[PretrainedEncoder]) -> str:
    """Name what an encoder was pretrained on: 'PTB-XL, CODE-15'; 'nothing', 'data that are not known'."""
    if encoder_class.pretrained_on is None:
        return "data that are not known"
    return ", ".join(name.removeprefix(OTHER) for name in encoder_class.pretrained_on) or "nothing"


def check_pretrained_on(encoder_class: type[PretrainedEncoder], names: Collection[str]) -> None:
    """Raise ValueError for pretraining data by a name that neither the suite nor a run (`names`) knows."""
    known = dict.fromkeys([*COHORTS_OF, *COHORTS, *names])
    spelled = {letters(name) for name in known}
    for name in map(str, encoder_class.pretrained_on or ()):
        if not name.startswith(OTHER) and letters(name) not in spelled:
            message = unknown("pretraining data", name, known)
            raise ValueError(f"{encoder_class.word()}: {message}; for others write '{OTHER}{name}'")


def try_external(encoder_class: type[PretrainedEncoder]) -> PretrainedEncoder:
    """Load an encoder with its weights and try it on windows of noise. Raises ValueError in one line."""
    where = encoder_class.word()
    signals = encoder_class.signals
    if not encoder_class.licence.strip():
        raise ValueError(f"{where}: licence is empty; state that of the weights, or 'unknown'")
    encoder_class.external_files()  # raises for a missing file
    for name in encoder_class.weights:
        if disguise := impostor(encoder_class.file(name)):
            raise ValueError(f"{where}: {name}: {disguise}")
    generator = torch.Generator().manual_seed(0)
    x = torch.randn(WINDOWS, signals.samples, len(ORDER), generator=generator)  # (B, S, 12)
    step = "load() has to read the weights of its network"
    try:
        encoder = encoder_class.loaded()
        step = mismatch(encoder)
        with torch.no_grad():
            features, again, alone = (encoder.steps(encoder.embed(part)) for part in (x, x, x[:1]))  # (B, 1, K)
    except ValueError:
        raise
    except UnpicklingError as error:
        raise ValueError(f"{where}: {unreadable(error)}") from error
    except Exception as error:  # of anyone's code
        reason = reason_of(error)[-160:]
        raise ValueError(f"{where}: {step} ({type(error).__name__}: {reason})") from error
    if features.shape != (WINDOWS, 1, encoder_class.features):
        shape = (len(features), *features.shape[2:])
        raise ValueError(
            f"{where}: features {encoder_class.features}, but {WINDOWS} windows give {shape}; a row each is needed"
        )
    if not features.isfinite().all():
        raise ValueError(f"{where}: windows of noise give numbers that are not finite; check signals.unit")
    if not torch.equal(features, again):
        raise ValueError(f"{where}: the same windows give other numbers at each call; switch its dropout off")
    if not (features[:1] - alone).abs().max() <= CLOSE * features[:1].abs().max().clamp_min(1e-6):
        raise ValueError(f"{where}: a window's numbers depend on the others of its batch; use statistics that are kept")
    return encoder


def mismatch(encoder: PretrainedEncoder) -> str:
    """Say why an encoder that has its weights may take no windows: their precision, else what its signals state."""
    other = {str(weight.dtype) for weight in encoder.parameters() if weight.dtype != torch.float32}
    if other:
        return (
            f"it takes no windows in float32 with weights in {', '.join(sorted(other))}; end load() with self.float()"
        )
    signals = encoder.signals
    windows = f"windows of {len(signals.leads)} leads and {signals.samples} samples"
    return f"it takes no {windows}; correct signals: leads, rate or seconds"


def unreadable(error: UnpicklingError) -> str:
    """Say why torch.load reads no tensors: by the class beside them, or by a file of no such kind."""
    beside = re.search(r"GLOBAL ([\w.]+)", str(error))
    if beside is None:
        return "a file of weights is none of torch.save, or not whole: fetch it again, or read it by its own format"
    return (
        f"its weights hold {beside[1]} beside tensors, which torch.load does not read: save their state_dict() alone, "
        "or give it weights_only=False if you trust the file, which can run code"
    )


def segmentation_of(signals: SignalFormat, beats: Beats = "authors") -> Segmentation:
    """Say how recordings are cut for an encoder: heartbeats, or consecutive windows, a shorter recording padded."""
    raw = signals.standardise != "recording"
    if signals.heartbeats:
        return Segmentation("heartbeats", signals.samples, signals.rate, raw=raw, beats=beats)
    return Segmentation("recordings", signals.samples, signals.rate, signals.samples, raw=raw, pad=True)


@dataclass(frozen=True)
class ExternalWindows:
    """A dataset's recordings in the windows of an encoder."""

    prepared: Prepared
    """The dataset cut by `segmentation_of`."""
    leads: tuple[str, ...] = LEADS
    """The leads that there are; the others are zero."""

    def cut_for(self, windows: Windows) -> Windows:
        """Cut the recordings of some windows anew: (m, S, 12), in the order in which they first appear."""
        _, first = np.unique(windows.recording, return_index=True)  # (R,)
        table = self.prepared.recordings
        numbers = {pair: r for r, pair in enumerate(zip(table.recording, table.patient, strict=True))}
        count = self.prepared.trials_of_each(1)  # (R',) of all recordings
        recordings = []
        whose = [np.empty(0, np.int64)]
        for n in np.sort(first):
            r = numbers.get((windows.recording[n], windows.patient[n]))
            if r is not None:
                recordings.append(r)
                whose.append(np.full(count[r], n))
        rows = np.concatenate(whose)  # (m,) a window of the same recording
        signal = self.signals(recordings)  # (m, S, 12)
        return Windows(
            signal=torch.from_numpy(signal).to(windows.signal.device),
            target=windows.target[torch.from_numpy(rows).to(windows.target.device)],
            recording=windows.recording[rows],
            patient=windows.patient[rows],
        )

    def signals(self, recordings: Iterable[int]) -> Halves:
        """Read the windows (m, S, 12) of numbered recordings; heartbeats are not standardised once more."""
        if self.prepared.segmentation.kind == "heartbeats":
            nothing = self.prepared.windows[:0]  # (0, S, 12)
            windows = np.concatenate([nothing, *map(self.prepared.windows_of, recordings)])
        else:
            count = self.prepared.trials_of_each(1)  # (R',)
            start = np.cumsum(count) - count  # (R',)
            index = [np.arange(start[r], start[r] + count[r]) for r in recordings]
            windows = trials_of(self.prepared, 1).take(np.concatenate([np.empty(0, np.int64), *index]))
        return zero_missing_leads(windows, self.leads)


def external_task(task: Task, windows: ExternalWindows) -> Task:
    """Put a task into the encoder's windows; scores that choose count recordings."""
    train, validation, test = map(windows.cut_for, task.sides().values())
    return replace(task, train=train, validation=validation, test=test, unit=RECORDING, crops=None)


def missing_notes(task: Task, external: Task) -> list[str]:
    """Note each side on which recordings give the encoder no window."""
    notes = []
    for side, windows in task.sides().items():
        without = len(windows.recordings) - len(external.sides()[side].recordings)
        if without:
            remark = ": predicted by the classes' shares of the labels" if side == "test" else ""
            notes.append(f"{without} of {len(windows.recordings)} {side} recordings give no window of its own{remark}")
    return notes


def predictions_for(
    probability: Floats, external: Windows, windows: Windows, task: Task, missing: Floats | None = None
) -> Floats:
    """Spread probabilities (m, C) of the encoder's windows to the windows of a task (n, C), by recording.

    A recording that gives the encoder no window has `missing` (C,), by default the classes' shares among the labelled
    windows.
    """
    share = task.train.target.float().mean(0).cpu().numpy() if missing is None else missing  # (C,)
    names, whose = np.unique(external.recording, return_inverse=True)  # (R,), (m,)
    pooled = pooled_by(whose, probability, task.pool) if len(names) else np.empty((0, len(share)))  # (R, C)
    by_name = dict(zip(names.tolist(), pooled, strict=True))
    rows = [by_name.get(name, share) for name in windows.recording.tolist()]
    return np.stack(rows).astype(np.float32) if rows else np.empty((0, len(share)), np.float32)
