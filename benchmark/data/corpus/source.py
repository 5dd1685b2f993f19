"""Prepared recordings -> the corpus of a pretraining: all of one without labels, else its training part."""

from __future__ import annotations

import math

import numpy as np
import torch
from numpy.typing import NDArray

from benchmark.data.corpus.mapped import MappedSignal, Streaming, is_streamed
from benchmark.data.corpus.pairs import PairSource
from benchmark.data.corpus.text import embed_reports, has_text
from benchmark.data.prepared.load import Prepared
from benchmark.data.prepared.trials import trials
from benchmark.data.readers.base import DatasetError, Entry
from benchmark.data.tasks.spec import TaskSpec
from benchmark.data.tasks.split import (
    split_of,
    split_or_none,
)
from benchmark.data.tasks.windows import scaled

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
