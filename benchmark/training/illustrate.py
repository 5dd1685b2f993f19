"""Arrays that illustrate a finished pretraining, stored beside its weights; `reports` draws them.

The masked embedded input of one window, and the cosines of a batch's queries with the keys of batch and queue, by the
key's patient (PMQ, Fig. 1). The batch is the next of the training, with its masks and dropout. Computed on a copy of
the method.
"""

from __future__ import annotations

import hashlib
from copy import deepcopy
from pathlib import Path
from typing import Any

import numpy as np
import torch
from numpy.typing import NDArray
from torch import Tensor

from benchmark.data.corpus.pairs import PairSource, make_batch
from benchmark.data.corpus.sampling import epoch_batches, epoch_shape
from benchmark.machine.seeds import seed_torch
from benchmark.results.files.arrays import npz_bytes
from benchmark.results.files.write import write_atomic
from benchmark.results.names import ATTRACTS, ILLUSTRATION, KEY_KINDS, OTHER, OWN, SAME
from methods.base import Batch, MethodConfig, PretrainMethod
from methods.parts.masks import Mask, Masks
from methods.parts.queue import EMPTY, KeyQueue

QUERIES = 24
"""Maximum queries shown."""
QUEUED_EACH, QUEUED_OTHERS = 3, 24
"""Maximum queue keys shown: per shown patient, and of others."""
BINS = 50
"""Histogram bins of the cosine, from -1 to 1."""

Arrays = dict[str, NDArray[Any]]


def illustrate(method: PretrainMethod, config: MethodConfig, source: PairSource, *, epochs: int, seed: int) -> Arrays:
    """Arrays of `masked_input` and `similarity` for a method after `epochs` epochs; empty if it has neither."""
    shape = epoch_shape(source.patient_of_pair, config.batching, config.recipe.batch_size)
    trial, patient = source.trial_of_pair, source.patient_of_pair  # (N,), (N,)
    pairs = epoch_batches(trial, patient, shape, batching=config.batching, seed=seed, epoch=epochs)[0]  # (B,)
    seed_torch("illustrate", seed)
    batch = make_batch(source, pairs.to(source.signal.device), config.pairing)
    probe = deepcopy(method).train()
    with torch.no_grad():
        return masked_input(probe, batch.x1[:1]) | similarity(probe, batch)


def write_illustration(folder: Path, arrays: Arrays) -> str | None:
    """Write the arrays to a pretraining's folder and return the file's SHA-256; no file and None for none."""
    if not arrays:
        (folder / ILLUSTRATION).unlink(missing_ok=True)
        return None
    body = npz_bytes(arrays)
    write_atomic(folder / ILLUSTRATION, body)
    return hashlib.sha256(body).hexdigest()


def masked_input(method: PretrainMethod, window: Tensor) -> Arrays:
    """Embedded input unmasked, under each mask alone, and under all: `masked` (P, S, D), names (P,).

    window: (1, S, L). Empty if the method masks nothing.
    """
    if method.mask is None:
        return {}
    steps: dict[str, Mask] = dict(method.mask.steps) if isinstance(method.mask, Masks) else {}
    masks: dict[str, Mask] = steps | {"all": method.mask}
    embedded: Tensor = method.encoder.embed(window)  # (1, S, D)
    shown = [embedded, *(mask(embedded) for mask in masks.values())]
    return {
        "masked": torch.cat(shown).cpu().numpy().astype(np.float16),  # (P, S, D)
        "masked_names": np.array(["none", *masks]),
    }


def similarity(method: PretrainMethod, batch: Batch) -> Arrays:
    """Cosines of selected queries with batch and queue keys, and histograms over all queries and keys.

    `cosine` and `kind` (index into `KEY_KINDS`) (Q, C); `query_patient` (Q,); `key_patient` and `key_queued` (C,);
    `spread` (KEY_KINDS, BINS), counts. Empty for methods without queries or without a queue.
    """
    queue = getattr(method, "queue", None)
    pair = method.query_and_key(batch)
    positives = method.positives(batch)
    if pair is None or positives is None or not isinstance(queue, KeyQueue):
        return {}
    query, key = pair  # (B, K), (B, K)
    there = queue.patient != EMPTY  # (M,)
    cosine = (query.float() @ torch.cat([key, queue.keys[there]]).float().T).clamp(-1, 1)  # (B, B + M')
    patient = torch.cat([batch.patient, queue.patient[there]])  # (B + M',)
    attracts = torch.zeros(len(query), len(query) + len(there), dtype=torch.bool, device=patient.device)  # (B, B + M)
    attracts[:, : positives.attracts.shape[1]] = positives.attracts
    attracts = torch.cat([attracts[:, : len(query)], attracts[:, len(query) :][:, there]], 1)  # (B, B + M')
    kind = kinds(attracts, batch.patient, patient)  # (B, B + M')
    rows, columns = chosen(batch.patient.cpu(), patient.cpu(), age(queue)[there].cpu())  # (Q,), (C,)
    spread = [torch.histc(cosine[kind == number].cpu(), BINS, -1, 1) for number in range(len(KEY_KINDS))]
    return {
        "cosine": cosine.cpu()[rows][:, columns].numpy(),  # (Q, C)
        "kind": kind.cpu()[rows][:, columns].numpy(),  # (Q, C)
        "query_patient": batch.patient.cpu()[rows].numpy(),  # (Q,)
        "key_patient": patient.cpu()[columns].numpy(),  # (C,)
        "key_queued": (columns >= len(query)).numpy(),  # (C,)
        "spread": torch.stack(spread).numpy().astype(np.int64),  # (KEY_KINDS, BINS)
    }


def kinds(attracts: Tensor, query_patient: Tensor, key_patient: Tensor) -> Tensor:
    """Kind of each key for each query, (B, C) uint8, from attracts (B, C) and patients (B,), (C,)."""
    kind = torch.where(query_patient[:, None] == key_patient, SAME, OTHER)  # (B, C)
    kind = torch.where(attracts, ATTRACTS, kind)  # (B, C)
    return kind.fill_diagonal_(OWN).to(torch.uint8)


def age(queue: KeyQueue) -> Tensor:
    """Number of keys enqueued after that of each slot, (M,)."""
    size = len(queue.patient)
    return (queue.pointer - 1 - torch.arange(size, device=queue.patient.device)) % max(size, 1)


def chosen(query_patient: Tensor, key_patient: Tensor, queued_age: Tensor) -> tuple[Tensor, Tensor]:
    """Indices of the queries and keys to show: (Q,), (C,).

    query_patient (B,), key_patient (B + M'), age of the queued keys (M',). Queries of the patients with the most keys,
    grouped by patient; their own keys in the same order; then the newest queued keys of each of these patients, and the
    newest of others.
    """
    keys = (query_patient[:, None] == key_patient).sum(1)  # (B,)
    order = sorted(range(len(keys)), key=lambda row: (-int(keys[row]), int(query_patient[row])))[:QUERIES]
    patients = list(dict.fromkeys(query_patient[order].tolist()))
    newest = (len(query_patient) + queued_age.argsort(stable=True)).tolist()  # columns of queued keys
    of = {column: int(key_patient[column]) for column in newest}
    queued = [[column for column in newest if of[column] == patient][:QUEUED_EACH] for patient in patients]
    others = [column for column in newest if of[column] not in patients][:QUEUED_OTHERS]
    return torch.tensor(order), torch.tensor([*order, *(column for own in queued for column in own), *others])
