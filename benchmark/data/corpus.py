"""The corpus of a pretraining: which recordings, their report text, and the windows of every batch of an epoch.

Report text -> frozen embeddings, one per distinct report, kept beside the prepared recordings (for ETP).

`tfidf` needs no download: TF-IDF of the words, then a truncated singular value decomposition (latent semantic
analysis), fitted on the pretraining reports alone. Any other name is a folder or a hub name of a language model for
transformers, e.g. emilyalsentzer/Bio_ClinicalBERT, of which the pooled output of the first token is taken.

Assignment of windows to the batches of an epoch, reproducible from (seed, epoch) on any device.

`shuffled` draws windows at random; `trial` keeps the windows of a pseudo-trial together and shuffles the trials anew
each epoch; `trial-fixed` does so once and then only permutes inside the batches, as the PMQ authors' loader does. All
three drop an epoch's last, smaller batch (batch normalisation); a corpus smaller than a batch shrinks the batch.

`patient` puts at most one window of a patient into a batch and fills as many batches as that allows; of a patient with
more windows than batches, an epoch draws one per batch. `patient-once` takes one window of each patient. A `patient`
batch holds at most half of the patients, else the patient with the fewest windows would limit the number of batches.

The order is drawn on the CPU, so that every device type trains on the same batches.
"""

from __future__ import annotations

import hashlib
import io
import logging
import math
from bisect import bisect_left
from collections.abc import Sequence
from functools import lru_cache
from importlib.util import find_spec
from pathlib import Path
from typing import NamedTuple

import numpy as np
import torch
from numpy.typing import NDArray
from torch import Tensor

from benchmark.data.batches import MappedSignal, PairSource, Streaming, is_streamed
from benchmark.data.datasets.base import DatasetError, Entry
from benchmark.data.prepare import Prepared
from benchmark.data.splits import TaskSpec, split_of, split_or_none
from benchmark.data.task import scaled
from benchmark.data.trials import trials
from benchmark.machine.device import stream
from benchmark.results.files import seal, unseal, write_atomic
from benchmark.results.schema import digest
from methods.base import Batching

TEXT_VERSION = 1
"""Raised with any change that can move an embedding."""
TFIDF = "tfidf"
WIDTH = 768
"""Columns of a TF-IDF embedding, as many as of a BERT model; those beyond the rank of the reports are zero."""
MAX_TOKENS = 128
TEXTS_AT_A_TIME = 64

log = logging.getLogger(__name__)


def has_text(report: str) -> bool:
    """Whether a report has a letter or digit."""
    return any(character.isalnum() for character in report)


def embed_reports(reports: Sequence[str], embedder: str, *, cache: Path, device: torch.device) -> NDArray[np.float32]:
    """Embeddings of reports (R, E), cached in the folder `cache`; a damaged file there is made again, with a line.

    A language model runs on `device`. Raises DatasetError if the embedder is not available.
    """
    distinct = list(dict.fromkeys(reports))
    path = cache / f"text-{digest([embedder_identity(embedder), distinct])}.sealed"
    vectors = kept_vectors(path)  # (D, E)
    if vectors is None:
        vectors = tfidf_vectors(distinct) if embedder == TFIDF else model_vectors(distinct, embedder, device)  # (D, E)
        buffer = io.BytesIO()
        np.save(buffer, vectors, allow_pickle=False)
        write_atomic(path, seal(path.name, buffer.getvalue()))
    number = {report: index for index, report in enumerate(distinct)}
    return vectors[[number[report] for report in reports]]


def kept_vectors(path: Path) -> NDArray[np.float32] | None:
    """The embeddings (D, E) in a sealed .npy file; None if it is missing, or damaged or another's, told in a line."""
    if not path.is_file():
        return None
    body = unseal(path.name, path.read_bytes())
    if body is None:
        log.warning("%s is damaged or of other reports; it is not used, and the reports are embedded again", path)
        return None
    vectors: NDArray[np.float32] = np.load(io.BytesIO(body), allow_pickle=False)
    return vectors


@lru_cache(maxsize=8)
def embedder_identity(embedder: str) -> dict[str, str | int]:
    """What determines the embeddings besides the text, for content keys; a folder is hashed by its files' bytes.

    Raises DatasetError for a language model if transformers is not installed.
    """
    if embedder == TFIDF:
        return {"embedder": TFIDF, "version": TEXT_VERSION}
    if find_spec("transformers") is None:
        raise DatasetError(
            f"pretrain.text_embedder = {embedder!r} needs transformers: pip install 'ecg-pretrain-bench[text]', "
            f"or use {TFIDF!r}"
        )
    folder = Path(embedder)
    if not folder.is_dir():
        return {"embedder": embedder, "version": TEXT_VERSION}
    content = hashlib.sha256()
    for path in sorted(path for path in folder.iterdir() if path.is_file()):
        with open(path, "rb") as file:
            content.update(path.name.encode() + hashlib.file_digest(file, "sha256").digest())
    return {"embedder": content.hexdigest(), "version": TEXT_VERSION}


def tfidf_vectors(texts: Sequence[str]) -> NDArray[np.float32]:
    """TF-IDF and truncated SVD, fitted on the texts themselves: (D, WIDTH) with rows of unit length."""
    from sklearn.decomposition import TruncatedSVD
    from sklearn.feature_extraction.text import TfidfVectorizer
    from sklearn.preprocessing import normalize

    # Single letters are kept: 'r' and 'S' are waves.
    weights = TfidfVectorizer(sublinear_tf=True, token_pattern=r"\w+").fit_transform(texts)  # (D, words)
    components = min(WIDTH, *weights.shape)
    reduced = normalize(TruncatedSVD(components, random_state=0).fit_transform(weights))  # (D, components)
    return np.pad(reduced, ((0, 0), (0, WIDTH - components))).astype(np.float32)


def model_vectors(texts: Sequence[str], name: str, device: torch.device) -> NDArray[np.float32]:
    """Pooled outputs of a frozen language model, of at most 128 tokens of each text: (D, E).

    Raises DatasetError where the model cannot be loaded or has no pooled output.
    """
    from transformers import AutoModel, AutoTokenizer

    try:
        tokenizer = AutoTokenizer.from_pretrained(name)
        model = AutoModel.from_pretrained(name).to(device).eval()
    except (OSError, ValueError) as error:
        reason = str(error).strip().splitlines()[0]
        raise DatasetError(f"pretrain.text_embedder = {name!r}: {reason}; give a folder or a hub name") from error
    vectors = []
    for start in range(0, len(texts), TEXTS_AT_A_TIME):
        chunk = list(texts[start : start + TEXTS_AT_A_TIME])
        tokens = tokenizer(chunk, padding=True, truncation=True, max_length=MAX_TOKENS, return_tensors="pt")
        with torch.inference_mode():
            pooled = getattr(model(**tokens.to(device)), "pooler_output", None)  # (D, E)
        if pooled is None:
            raise DatasetError(f"pretrain.text_embedder = {name!r} has no pooled output; use a BERT model")
        vectors.append(pooled.float().cpu().numpy())
    return np.concatenate(vectors)


FIRST_PATIENT = 1
"""Number of the first patient, as by the PMQ authors: their queue marks its empty slots with patient 0."""


def corpus_trials(prepared: Prepared, spec: TaskSpec) -> NDArray[np.int64]:
    """Numbers of the pseudo-trials to pretrain on: all of a corpus without labels, else those of its training part."""
    recording = trials(prepared, spec.per_trial).recording  # (T,)
    if not prepared.classes:
        return np.arange(len(recording))
    return np.flatnonzero(np.isin(recording, split_of(prepared, spec).train))


def pretrained_entries(prepared: Prepared, spec: TaskSpec) -> list[Entry]:
    """The recordings that are pretrained on, as in `corpus_trials`, without making the pseudo-trials."""
    whole = np.flatnonzero(prepared.trials_of_each(spec.per_trial))  # (R',)
    if prepared.classes:
        whole = np.intersect1d(whole, split_or_none(prepared, spec)[0].train)
    return [prepared.entries[r] for r in whole]


def pretraining_source(
    prepared: Prepared,
    spec: TaskSpec,
    device: torch.device,
    text_embedder: str | None = None,
    streaming: Streaming = "auto",
) -> PairSource:
    """The pretraining corpus on the device; with an embedder, the recordings that have a report, and its embedding.

    streaming: whether its signal stays on disk; by default if it does not fit into memory. Raises DatasetError if no
    recording is usable.
    """
    chosen, per_trial = corpus_trials(prepared, spec), spec.per_trial  # (T,)
    if not len(chosen):
        raise DatasetError(
            f"{prepared.title}: no recording to pretrain on has the {per_trial} {prepared.segmentation.word}s of a "
            "pseudo-trial"
        )
    all_trials = trials(prepared, per_trial)
    text, without_text = None, 0
    if text_embedder is not None:
        every = np.unique(all_trials.recording[chosen])  # (R,)
        told = np.array([r for r in every if has_text(prepared.entries[r].report)], np.int64)  # (R',)
        if not len(told):
            raise DatasetError(
                f"{prepared.title}: no recording has a report; leave out the methods that learn from text"
            )
        chosen, without_text = chosen[np.isin(all_trials.recording[chosen], told)], len(every) - len(told)
        reports = [prepared.entries[r].report for r in told]
        vectors = embed_reports(reports, text_embedder, cache=prepared.folder, device=device)  # (R', E)
        text = torch.from_numpy(vectors[np.searchsorted(told, all_trials.recording[chosen])]).to(device)  # (T, E)
    all_trials = scaled(all_trials, prepared, spec, np.unique(all_trials.recording[chosen]))
    mapped = MappedSignal(all_trials, chosen, device)  # (T, P, S, L)
    streamed = is_streamed(streaming, 2 * math.prod(mapped.shape), device)
    return PairSource(
        signal=mapped if streamed else torch.from_numpy(all_trials.take(chosen)).view(mapped.shape).to(device),
        recording=torch.from_numpy(all_trials.recording[chosen]).to(device),
        patient=torch.from_numpy(all_trials.patient[chosen] + FIRST_PATIENT).to(device),
        text=text,
        recordings_without_text=without_text,
        anywhere=prepared.segmentation.anywhere,
        scale=all_trials.scale,
    )


class EpochShape(NamedTuple):
    """Number and size of an epoch's batches."""

    updates: int
    batch_size: int


def epoch_shape(patient: Tensor, batching: Batching, batch_size: int) -> EpochShape:
    """Updates and batch size of an epoch over the windows of the given patients (N,).

    Raises ValueError for patient batching with fewer than two patients.
    """
    if batching not in ("patient", "patient-once"):
        return EpochShape(max(1, len(patient) // batch_size), min(batch_size, len(patient)))
    windows = torch.unique(patient, return_counts=True)[1]  # (P,) of each patient
    if len(windows) < 2:
        raise ValueError(f"batching {batching!r} needs two patients, the corpus has {len(windows)}; use 'shuffled'")
    if batching == "patient-once":
        size = min(batch_size, len(windows))
        return EpochShape(len(windows) // size, size)
    size = min(batch_size, max(2, len(windows) // 2))
    return EpochShape(full_batches(windows, size), size)


def shape_of(source: PairSource, batching: Batching, batch_size: int) -> EpochShape:
    """Updates and batch size of an epoch of a corpus. Raises ValueError as `epoch_shape`."""
    return epoch_shape(source.patient_of_pair, batching, batch_size)


def batches_of(source: PairSource, shape: EpochShape, *, batching: Batching, seed: int, epoch: int) -> Tensor:
    """Pair indices of an epoch's batches (n, B) of a corpus."""
    trial, patient = source.trial_of_pair, source.patient_of_pair  # (N,), (N,)
    return epoch_batches(trial, patient, shape, batching=batching, seed=seed, epoch=epoch)


def full_batches(windows: Tensor, size: int) -> int:
    """Largest number of full batches of `size` different patients; windows: (P,) number of each patient's.

    n batches can be filled if sum(min(windows, n)) >= n * size.
    """
    enough = range(1, int(windows.sum()) // size + 1)
    return bisect_left(enough, True, key=lambda n: int(windows.clamp(max=n).sum()) < n * size)


def epoch_batches(
    trial: Tensor, patient: Tensor, shape: EpochShape, *, batching: Batching, seed: int, epoch: int
) -> Tensor:
    """Window indices of an epoch's batches (n, B); trial, patient: (N,) ids of the windows."""
    if batching == "shuffled":
        order = torch.randperm(len(trial), generator=_generator("shuffled", seed, epoch))
        return _cut(order, shape)
    if batching == "trial":
        return _cut(_grouped_order(trial, _generator("trial", seed, epoch)), shape)
    if batching == "trial-fixed":
        fixed = _cut(_grouped_order(trial, _generator("trial", seed, 0)), shape)
        return _permute_inside(fixed, _generator("inside", seed, epoch))
    generator = _generator("patient", seed, epoch)
    most = shape.updates if batching == "patient" else 1
    order = _first_of_each(patient, _grouped_order(patient, generator), most)
    # Round robin: a patient's windows are consecutive, so no batch gets two of them.
    dealt = order[: shape.updates * shape.batch_size].view(shape.batch_size, shape.updates).T  # (n, B)
    return dealt[torch.randperm(shape.updates, generator=generator)]


def _generator(*parts: int | str) -> torch.Generator:
    generator = torch.Generator()
    generator.manual_seed(stream(*parts))
    return generator


def _cut(order: Tensor, shape: EpochShape) -> Tensor:
    """Consecutive windows as batches (n, B)."""
    return order[: shape.updates * shape.batch_size].view(shape.updates, shape.batch_size)


def _grouped_order(group: Tensor, generator: torch.Generator) -> Tensor:
    """Windows ordered by shuffled group, shuffled inside each group: (N,)."""
    groups, inverse = torch.unique(group, return_inverse=True)
    rank = torch.randperm(len(groups), generator=generator)[inverse]  # (N,)
    shuffle = torch.randperm(len(group), generator=generator)  # (N,)
    return shuffle[torch.argsort(rank[shuffle], stable=True)]


def _first_of_each(group: Tensor, order: Tensor, most: int) -> Tensor:
    """The first `most` windows of each group in an order in which a group's windows follow each other."""
    _, run, count = torch.unique_consecutive(group[order], return_inverse=True, return_counts=True)
    within = torch.arange(len(order)) - (count.cumsum(0) - count)[run]  # (N,)
    return order[within < most]


def _permute_inside(batches: Tensor, generator: torch.Generator) -> Tensor:
    inside = torch.rand(batches.shape, generator=generator).argsort(dim=1)  # (n, B)
    return batches.gather(1, inside)
