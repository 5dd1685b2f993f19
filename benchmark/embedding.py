"""Use of a pretrained encoder outside the suite: a folder that holds all of it, signals in, embeddings out.

    encoder = load_encoder("pmq")                                   # a folder written by `export`
    encoder.encode(signals, rate=500, leads=["I", "II", ...])       # (n, K), a row per recording
    encoder.encode_windows(signals, rate=500, leads=[...])          # (N, K) a row per window, and whose it is
    make_pipeline(EcgEmbedder("pmq", rate=500, leads=[...]), StandardScaler(), LogisticRegression())

A recording gives windows as `Segmentation.cut` cuts them, stored in float16 as the cache stores them, and standardised
as `benchmark.data.corpus` does: per pseudo-trial, by one scale, or not again. Its embedding is the mean over its
windows. Batches are those of the linear probe: the same recordings in the same order give the same bits as there. In
float32 the last, incomplete batch of a call may round otherwise than the same windows in a full one (by some 1e-7); in
bf16 it does not.

The folder of an exported encoder holds all that makes its embeddings, and what is known of its making:

    encoder.safetensors    weights
    encoder.py             source of an encoder that a user wrote; to be read, never executed
    config.json            `Description`
    MODEL_CARD.md          how it was made and what it is good for
"""

from __future__ import annotations

import hashlib
import json
import warnings
from collections import Counter, deque
from collections.abc import Callable, Generator, Iterable, Iterator, Mapping, Sequence
from dataclasses import asdict, dataclass
from functools import partial
from itertools import chain
from pathlib import Path
from typing import Annotated, Any, Literal, NotRequired, Self, TypeVar, get_args

import numpy as np
import torch
from numpy.typing import NDArray
from pydantic import with_config
from pydantic.dataclasses import dataclass as validated_dataclass
from sklearn.base import BaseEstimator, TransformerMixin
from sklearn.utils.validation import check_is_fitted
from typing_extensions import TypedDict

from benchmark.config.errors import ConfigError
from benchmark.data.corpus import Scale
from benchmark.data.datasets.base import LEADS, Recording, Unusable
from benchmark.data.datasets.card_sections import NO_LEAD
from benchmark.data.datasets.wfdb_files import FASTEST, SLOWEST, checked_recording, lead_columns
from benchmark.data.heartbeats import FS, Beats, normalise_trials
from benchmark.data.prepare import CHUNK, PIPELINE_VERSION, WORTH_A_WORKER
from benchmark.data.segments import HEARTBEATS, Kind, Rate, Segmentation, zero_missing_leads
from benchmark.machine.device import pick_device
from benchmark.machine.process import shared_map
from benchmark.results.files import read_json, write_atomic
from benchmark.results.names import CARD
from benchmark.results.schema import STRICT, Count, Labels, Protocol, as_typed_dict, validated
from benchmark.training.checkpoint import SOURCE, WEIGHTS, built_encoder
from benchmark.training.finetune import EVALUATION_BATCH
from benchmark.training.probes import Floats, features
from methods.encoders import get_encoder
from methods.encoders.base import Encoder

T = TypeVar("T")
Windows = NDArray[np.float16]
"""(m, S, 12) of one recording."""
Signals = NDArray[Any] | Sequence[NDArray[Any]]
"""Recordings (n, samples, leads), or n of any length (samples, leads)."""
Leads = Sequence[str] | Mapping[str, str]
"""Names of the last axis, '-' for one that is not used; or the names that it has -> the leads, in its order."""


@dataclass(frozen=True)
class Taken:
    """How the windows of a recording are taken."""

    segmentation: Segmentation
    per_trial: int
    scale: Scale | None = None
    """Of all samples; None: as the segmentation leaves them."""
    leads: tuple[str, ...] = LEADS
    """The leads that there are; the others are zero."""


def windows_of(recording: Recording, how: Taken) -> Windows:
    """Windows (m, S, 12) of a recording, m a multiple of `per_trial`. Raises Unusable if it gives none."""
    cut, per_trial = how.segmentation, how.per_trial
    kept = cut.cut(recording.signal, recording.fs).astype(np.float16)  # (n, S, 12), or samples (n, 1, 12)
    count = int(cut.trials_in(np.array(len(kept)), per_trial))
    if not count:
        raise Unusable(f"fewer than {per_trial} {cut.word}s: {int(cut.trials_in(np.array(len(kept)), 1))}")
    if cut.joined_scale:
        windows = normalise_trials(kept, per_trial).astype(np.float16)  # (n // P, P * S, 12)
    else:
        length, step = per_trial * cut.samples, cut.step(per_trial)
        samples = kept.reshape(-1, len(LEADS))  # (n, 12)
        windows = np.stack([samples[first : first + length] for first in range(0, count * step, step)])
    scaled = windows if how.scale is None else how.scale.applied(windows)
    return zero_missing_leads(scaled, how.leads).reshape(-1, cut.samples, len(LEADS))  # (m, S, 12)


def cut_all(
    read: Callable[[T], Recording], items: Sequence[T], how: Taken, workers: int = 1
) -> Generator[Windows | str, None, None]:
    """The windows of each item's recording, in order, or the reason why it has none.

    Up to `workers` processes share them, and then `read` and the items are pickled; few are cut in this process.
    """
    chunks = [items[start : start + CHUNK] for start in range(0, len(items), CHUNK)]
    work = partial(_cut_chunk, read, how)
    for chunk in shared_map(work, chunks, min(workers, len(items) // WORTH_A_WORKER)):
        yield from chunk


def _cut_chunk(read: Callable[[T], Recording], how: Taken, items: Sequence[T]) -> list[Windows | str]:
    found: list[Windows | str] = []
    for item in items:
        try:
            found.append(windows_of(read(item), how))
        except Unusable as reason:
            found.append(str(reason))
    return found


def columns_of(leads: Leads, present: Sequence[str] = LEADS) -> list[int]:
    """Column of each of the 12 leads among the names given, in any order and case; beyond the last for a lead that is
    neither given nor `present` for the encoder.

    Raises ConfigError if one is missing or there twice; the line names those that are not known.
    """
    if isinstance(leads, str):
        raise ConfigError(f"leads {leads!r} is one text; give a list of names, e.g. {list(LEADS)}")
    names = [str(lead).strip() for lead in (leads.values() if isinstance(leads, Mapping) else leads)]
    given, known = {name.lower() for name in names}, {lead.lower() for lead in LEADS}
    absent = [lead for lead in LEADS if lead not in present and lead.lower() not in given]
    try:
        return lead_columns([*names, *absent])
    except Unusable as reason:
        strange = [name for name in names if name.lower() not in known and name != NO_LEAD]
        told = f"; not known: {', '.join(strange)}" if strange else ""
        whose = "the 12 are" if len(present) == len(LEADS) else "the encoder needs"
        raise ConfigError(f"leads: {reason}{told}; {whose} {' '.join(present)}, in any order") from None


def flat_leads(windows: Windows, leads: Sequence[str]) -> str:
    """'V1, V2': those of the leads that are constant in all windows (m, S, 12) of a recording, beside zeros that pad;
    '' for none."""
    samples = windows.reshape(-1, len(LEADS))  # (m * S, 12)
    low, high = samples.min(axis=0), samples.max(axis=0)  # (12,), (12,)
    level = np.where(high > -low, high, low)  # (12,)
    flat = ((samples == level) | (samples == 0)).all(axis=0)  # (12,)
    return ", ".join(lead for lead, is_flat in zip(LEADS, flat, strict=True) if is_flat and lead in leads)


def check_signals(signals: Signals, rate: float, leads: Leads) -> None:
    """Raise ConfigError, in one line, unless these are recordings of these leads at a possible rate."""
    if not SLOWEST <= rate <= FASTEST:
        raise ConfigError(f"rate {rate:g} is not a sampling rate in Hz from {SLOWEST} to {FASTEST}")
    if isinstance(signals, np.ndarray) and signals.ndim == 2:
        raise ConfigError(
            f"signals of shape {signals.shape} are one recording: give signals[None], (1, samples, leads)"
        )
    for number, signal in enumerate(signals):
        shape, kind = np.shape(signal), np.asarray(signal).dtype.kind
        if len(shape) != 2 or kind not in "fiu":
            raise ConfigError(f"recording {number} is {np.asarray(signal).dtype} {shape}, not numbers (samples, leads)")
        if shape[1] != len(leads):
            raise ConfigError(f"recording {number} is of shape {shape}, and {len(leads)} leads are named")
        if isinstance(signals, np.ndarray) and signals.dtype.kind != "O":
            return  # the others are alike


def recording_of(signal: NDArray[Any], rate: float, columns: Sequence[int]) -> Recording:
    """A recording from numbers (samples, leads), as the readers make one of a file; a column beyond the last is zero.

    Raises Unusable.
    """
    numbers = np.asarray(signal, np.float64)
    beyond = max(columns) + 1 - numbers.shape[1]
    if beyond > 0:
        numbers = np.pad(numbers, ((0, 0), (0, beyond)))
    return checked_recording(numbers[:, columns], float(rate))


FORMAT = 1
CONFIG, MODEL_CARD = "config.json", "MODEL_CARD.md"
STANDARDISATION = "z-score per recording and lead, then per pseudo-trial and lead"
ONCE = "z-score per recording and lead"
ONE_SCALE = "mean and deviation of the pretraining corpus, over all leads"
UNSCALED = "none: millivolts"
STANDARDISATIONS = (STANDARDISATION, ONCE, ONE_SCALE, UNSCALED)
RATES = get_args(Rate)


@with_config(STRICT)
class Cut(TypedDict):
    """How a recording is cut."""

    kind: Kind
    samples: Count
    """Of a window."""
    per_trial: Count
    """Consecutive windows standardised together; those left over at a recording's end are dropped."""
    stride: NotRequired[Count]
    """Samples from crop to crop of a recording that is kept whole."""
    pad: NotRequired[bool]
    """Whether a recording shorter than a window is lengthened by zeros."""
    beats: NotRequired[Beats]
    """How heartbeats are found; by default as PMQ's authors do."""
    scale: NotRequired[list[float]]
    """Mean and deviation of the pretraining corpus, mV, by which every sample is standardised."""
    present: NotRequired[list[str]]
    """The leads that its tests had, if not all; the others are zero."""


@with_config(STRICT)
class TaskRules(TypedDict):
    """The task that the scores in the model card are of; it determines the sides of a dataset."""

    labels: Labels
    protocol: Protocol


@validated_dataclass(frozen=True, config=STRICT)
class Description:
    """Content of config.json."""

    name: str
    """Of the row in the tables, e.g. 'pmq'; 'released' of a published checkpoint."""
    title: str
    encoder: dict[str, Any]
    """Name and sizes, and the digest of its source if a user wrote it (`methods.encoders.identity`)."""
    sha256: str
    """Of the weights."""
    cut: Annotated[dict[str, Any], as_typed_dict(Cut)]
    precision: Literal["float32", "bf16"]
    """In which the linear probe saw its embeddings."""
    task: Annotated[dict[str, Any], as_typed_dict(TaskRules)]
    pretraining: dict[str, Any]
    """Key, method, seed, data and budget; empty if none of it is known."""
    leads: list[str]
    """Order in which the encoder reads them."""
    rate: int = FS
    """Hz, of a window."""
    standardisation: str = STANDARDISATION
    pipeline: int = PIPELINE_VERSION
    """Version of the preparation of windows."""
    format: int = FORMAT

    @property
    def segmentation(self) -> Segmentation:
        """How recordings are cut into windows."""
        cut, raw = self.cut, self.standardisation in (ONE_SCALE, UNSCALED)
        return Segmentation(
            cut["kind"],
            cut["samples"],
            self.rate,
            cut.get("stride", 0),
            raw=raw,
            pad=cut.get("pad", False),
            beats=cut.get("beats", HEARTBEATS.beats),
        )

    @property
    def taken(self) -> Taken:
        """All that makes the windows of a recording."""
        scale = Scale(*self.cut["scale"]) if "scale" in self.cut else None
        return Taken(self.segmentation, self.per_trial, scale, tuple(self.cut.get("present", LEADS)))

    @property
    def rules(self) -> dict[str, Any]:
        """Config key -> value of the task's rules."""
        return {"data.labels": self.task["labels"], "protocol": self.task["protocol"]}

    @property
    def per_trial(self) -> int:
        """Windows of a pseudo-trial."""
        return int(self.cut["per_trial"])


def standardisation_of(segmentation: Segmentation, *, scaled: bool) -> str:
    """How the windows of a segmentation are standardised, by one scale or not."""
    if segmentation.raw:
        return ONE_SCALE if scaled else UNSCALED
    return STANDARDISATION if segmentation.joined_scale else ONCE


def save_folder(
    folder: Path, description: Description, weights: bytes, card: str, *, source: bytes | None = None
) -> list[Path]:
    """Write an encoder's folder, config.json last; returns its files. Raises OSError."""
    contents = {WEIGHTS: weights, **({SOURCE: source} if source else {}), MODEL_CARD: card.encode()}
    contents[CONFIG] = json.dumps(asdict(description), indent=1).encode()
    for name, content in contents.items():
        write_atomic(folder / name, content)
    if source is None:
        (folder / SOURCE).unlink(missing_ok=True)  # of an encoder that was here before
    return [folder / name for name in contents]


def read_description(folder: Path) -> Description:
    """The description in a folder. Raises ConfigError, in one line, if it is no exported encoder that can be used."""
    file = folder / CONFIG
    if not file.is_file():
        store = (folder / CARD).is_file()
        remedy = (
            f"`export {folder.name} --to FOLDER` makes one of it" if store else "`export NAME --to FOLDER` makes one"
        )
        what = "a pretraining of a results store" if store else "no exported encoder"
        raise ConfigError(f"{folder} is {what}: {CONFIG} is not there; {remedy}")
    try:
        values = read_json(file)
        if not isinstance(values, dict) or values.get("format") != FORMAT:
            raise ValueError(f"this version reads format {FORMAT}")
        description = validated(Description, values)
    except (OSError, ValueError) as error:
        raise ConfigError(f"{file}: {error}; export the encoder again") from None
    wrong = _differs(description)
    if wrong:
        raise ConfigError(f"{file}: {wrong}; use the version of the suite that exported it, or export it again")
    return description


def _differs(description: Description) -> str:
    """How the windows of an encoder differ from those that this version cuts; '' if they are the same."""
    if description.pipeline != PIPELINE_VERSION:
        return f"its windows were cut by version {description.pipeline} of the preparation, here is {PIPELINE_VERSION}"
    if description.rate not in RATES or description.standardisation not in STANDARDISATIONS:
        return f"its windows are at {description.rate} Hz and {description.standardisation}, which is not known here"
    return "" if tuple(description.leads) == LEADS else f"it reads the leads {' '.join(description.leads)}"


def read_encoder(folder: Path, description: Description, code: str | Path | None = None) -> Encoder:
    """The encoder in a folder, in evaluation mode.

    code: the file that defines it, if a user wrote it; the copy in the folder may be anyone's and is not executed.
    Raises ConfigError, in one line, if the weights are not those of the description or the code is another.
    """
    try:
        weights = (folder / WEIGHTS).read_bytes()
    except OSError as error:
        raise ConfigError(f"{folder / WEIGHTS}: {error.strerror}; export the encoder again") from None
    if hashlib.sha256(weights).hexdigest() != description.sha256:
        raise ConfigError(f"{folder / WEIGHTS}: the file does not match the digest in {CONFIG}; export it again")
    return encoder_of(description.encoder, weights, folder, code).eval()


def encoder_of(stored: dict[str, Any], weights: bytes, folder: Path, code: str | Path | None) -> Encoder:
    """The encoder of a name and sizes with these weights, which lie in a folder. Raises ConfigError in one line."""
    name = stored["name"]
    if "source" not in stored and code is not None:
        raise ConfigError(f"--code {code} is for an encoder from a file; this is {name!r} of the suite: leave it out")
    if "source" in stored and code is None:
        raise ConfigError(
            f"the encoder {name!r} in {folder} is from a file of its author: read {folder / SOURCE}, then name it "
            "with --code FILE (in Python: code=FILE)"
        )
    try:
        return built_encoder(get_encoder(str(code) if "source" in stored else name), stored, weights)
    except (TypeError, ValueError, RuntimeError) as error:
        raise ConfigError(f"{folder}: {' '.join(str(error).split())}") from None


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
        self, signals: Signals, rate: float, leads: Leads, *, unusable: Unusables = "nan"
    ) -> NDArray[np.float32]:
        """Embeddings (n, K) of recordings, the mean over each one's windows.

        signals: (n, samples, leads), or a list of arrays (samples, leads) of any length; in any unit where every lead
        is standardised, else in mV (`description.standardisation`). rate: Hz. leads: names of the last axis, in any
        order and case, or a map of its names to leads in its order; others than the 12 (and '-') are not used, and
        those that the encoder's tests had not may be absent. unusable: what becomes of a recording that gives no window
        (NaN samples, too short, no heartbeat, too slow a heart): a row of NaN and one warning that names it ('nan'),
        or an error ('raise'). A warning names the recordings with a flat lead, which is zero for the encoder.

        Raises ConfigError (a ValueError), in one line, for a missing lead, a wrong shape or rate.
        """
        cuts = self._cuts(signals, rate, leads)
        found = list(self.embeddings(cuts))
        report(cuts, unusable, NAN_ROWS)
        return np.stack([mean_of(own, self.width) for own in found]) if found else np.empty((0, self.width), np.float32)

    def encode_windows(
        self, signals: Signals, rate: float, leads: Leads, *, unusable: Unusables = "nan"
    ) -> tuple[NDArray[np.float32], NDArray[np.int64]]:
        """Embeddings (N, K) of all windows, recording after recording, and (N,) the number of each one's recording.

        Arguments and errors as for `encode`; an unusable recording has no windows.
        """
        cuts = self._cuts(signals, rate, leads)
        found = list(self.embeddings(cuts))
        report(cuts, unusable)
        return joined(found, (self.width,))  # (N, K), (N,)

    def windows(
        self, signals: Signals, rate: float, leads: Leads, *, unusable: Unusables = "nan"
    ) -> tuple[NDArray[np.float32], NDArray[np.int64]]:
        """Windows (N, S, 12) as the encoder reads them, and (N,) the recording's number of each."""
        cuts = self._cuts(signals, rate, leads)
        found = list(cuts)
        report(cuts, unusable)
        return joined(found, (self.description.segmentation.samples, len(LEADS)))  # (N, S, 12), (N,)

    def _cuts(self, signals: Signals, rate: float, leads: Leads) -> Noted:
        """The windows of each recording. Raises ConfigError like `columns_of` and `check_signals`."""
        taken = self.description.taken
        columns = columns_of(leads, taken.leads)
        check_signals(signals, rate, leads)
        cuts = cut_all(lambda number: recording_of(signals[number], rate, columns), range(len(signals)), taken)
        return Noted(cuts, taken.leads)

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
                found = features(
                    self.encoder, torch.from_numpy(block[:whole]).to(self.device), self.precision
                )  # (b, K)
                ready, unread = np.concatenate([ready, found]), [block[whole:]]
                held -= whole
            while waiting and (isinstance(waiting[0], str) or waiting[0] <= len(ready)):
                next_one = waiting.popleft()
                if isinstance(next_one, str):
                    yield next_one
                else:
                    yield ready[:next_one]
                    ready = ready[next_one:]


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


def joined(
    found: Sequence[NDArray[Any] | str], shape: tuple[int, ...]
) -> tuple[NDArray[np.float32], NDArray[np.int64]]:
    """The rows (m, *shape) of all recordings together, (N, *shape), and the number of each one's recording (N,)."""
    rows = [np.empty((0, *shape), np.float32) if isinstance(own, str) else own for own in found]
    together = np.concatenate([np.empty((0, *shape), np.float32), *rows]).astype(np.float32, copy=False)
    return together, np.repeat(np.arange(len(rows)), [len(own) for own in rows])


class Noted:
    """The windows of recordings, passed on in order; beside them, what a user has to know of each."""

    def __init__(self, cuts: Iterable[Windows | str], leads: Sequence[str]) -> None:
        self.cuts, self.leads = cuts, leads
        self.reasons: list[str] = []
        """Of each recording so far: why it has no window, '' where it has one."""
        self.flat: list[str] = []
        """Of each recording so far: its flat leads, '' for none."""

    def __iter__(self) -> Iterator[Windows | str]:
        for cut in self.cuts:
            self.reasons.append(cut if isinstance(cut, str) else "")
            self.flat.append("" if isinstance(cut, str) else flat_leads(cut, self.leads))
            yield cut


def unusable_line(reasons: Sequence[str]) -> str:
    """'3 of 100 recordings have no embedding: 2 NaN samples, 1 too short'; '' if all have one. '' is no reason."""
    kinds = Counter(reason.partition(":")[0] for reason in reasons if reason).most_common()
    told = ", ".join(f"{count} {kind}" for kind, count in kinds)
    return f"{sum(map(bool, reasons))} of {len(reasons)} recordings have no embedding: {told}" if kinds else ""


def flat_line(flat: Sequence[str], names: Sequence[object]) -> str:
    """'1 of 9 recordings has a flat lead, ...: 4 (V1)'; '' for none. `flat`: the flat leads of each, '' for none."""
    where = [f"{name} ({leads})" for name, leads in zip(names, flat, strict=True) if leads]
    if not where:
        return ""
    has = "recordings has" if len(where) == 1 else "recordings have"
    return f"{len(where)} of {len(flat)} {has} a flat lead, which says nothing to the encoder: {some(where)}; {CHECK}"


def some(words: Sequence[str]) -> str:
    """The first of some words, and how many more there are."""
    return ", ".join(words[:LISTED]) + (f" and {len(words) - LISTED} more" if len(words) > LISTED else "")


LISTED = 5
"""Recordings that a warning names."""
CHECK = "see whether the lead was recorded, and leave the recording out if not"
NAN_ROWS = (
    "; their rows are NaN: leave them out by np.isfinite(embeddings).all(axis=1), or in a pipeline put SimpleImputer() "
    "after EcgEmbedder"
)


def report(cuts: Noted, unusable: Unusables, remedy: str = "") -> None:
    """Warn the caller's caller of recordings without windows and with flat leads, or raise ConfigError for the first
    without; `remedy`: what a user can do."""
    if unusable not in ("nan", "raise"):
        raise ConfigError(f"unusable={unusable!r} is not known; there are 'nan' and 'raise'")
    wrong = [f"recording {number}: {reason}" for number, reason in enumerate(cuts.reasons) if reason]
    if wrong and unusable == "raise":
        raise ConfigError(f"{wrong[0]}; unusable='nan' gives it a row of NaN")
    if wrong:
        warnings.warn(f"{unusable_line(cuts.reasons)} ({some(wrong)}){remedy}", stacklevel=3)
    if flat := flat_line(cuts.flat, [f"recording {number}" for number in range(len(cuts.flat))]):
        warnings.warn(flat, stacklevel=3)


class EcgEmbedder(TransformerMixin, BaseEstimator):  # type: ignore[misc]
    """Recordings -> embeddings (n, K), as `SavedEncoder.encode`.

    A fitted one holds the encoder's weights: a pickle of it needs the suite and not the folder.
    """

    def __init__(
        self,
        folder: str | Path | None = None,
        rate: float | None = None,
        leads: Leads | None = None,
        *,
        unusable: Unusables = "nan",
        device: str = "cpu",
        precision: str | None = None,
        code: str | Path | None = None,
    ) -> None:
        """Parameters as of `load_encoder` and `encode`; folder, rate (Hz) and leads have to be given before `fit`.

        unusable: 'nan' for rows of NaN and a warning, so that one recording does not end a cross-validation; an
        imputer after it fills them for classifiers that refuse NaN. Or 'raise'.
        """
        self.folder = folder
        self.rate = rate
        self.leads = leads
        self.unusable = unusable
        self.device = device
        self.precision = precision
        self.code = code

    def fit(self, X: Signals, y: Any = None) -> Self:
        """Load the encoder; X is checked and y not looked at. Raises ConfigError (a ValueError) in one line."""
        for name in ("folder", "rate", "leads"):
            if getattr(self, name) is None:
                raise ConfigError(f"EcgEmbedder: give {name}=, e.g. EcgEmbedder('pmq', rate=500, leads=['I', ...])")
        encoder = load_encoder(self.folder or "", device=self.device, precision=self.precision, code=self.code)
        columns_of(self.leads or (), encoder.description.taken.leads)
        check_signals(X, self.rate or 0.0, self.leads or ())
        self.encoder_ = encoder
        return self

    def transform(self, X: Signals) -> NDArray[np.float32]:
        """Embeddings (n, K). Raises NotFittedError before `fit`, ConfigError (a ValueError) like `encode`."""
        check_is_fitted(self)
        return self.encoder_.encode(X, self.rate or 0.0, self.leads or (), unusable=self.unusable)

    def get_feature_names_out(self, input_features: Any = None) -> NDArray[np.object_]:
        """Names (K,) of the columns, 'e0', 'e1', ...; those of X, if given, are not looked at."""
        check_is_fitted(self)
        return np.array(self.encoder_.feature_names, dtype=object)

    def __sklearn_tags__(self) -> Any:
        tags = super().__sklearn_tags__()
        tags.input_tags.two_d_array = False
        tags.input_tags.three_d_array = True
        tags.input_tags.allow_nan = True
        tags.transformer_tags.preserves_dtype = ["float32"]
        return tags
