"""Health of a pretraining, measured on held-out windows after every epoch, and arrays that illustrate it.

Positives: keys besides its own that attract a query, from its recording and from the patient's others. Measures of the
pooled features of held-out windows: effective rank (Roy & Vetterli 2007), alignment and uniformity (Wang & Isola 2020,
Section 4.1, alpha = 2, t = 2), and retrieval, the share of nearest windows of the same patient. Collapse shows as a low
rank and a high mean cosine.

Arrays that illustrate a finished pretraining, stored beside its weights; `reports` draws them.

The masked embedded input of one window, and the cosines of a batch's queries with the keys of batch and queue, by the
key's patient (PMQ, Fig. 1). The batch is the next of the training, with its masks and dropout. Computed on a copy of
the method.
"""

from __future__ import annotations

import copy
import hashlib
import math
from collections.abc import Mapping, Sequence
from copy import deepcopy
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

import numpy as np
import torch
from numpy.typing import NDArray
from torch import Tensor

from benchmark.data.batches import PairSource, make_batch
from benchmark.data.corpus import batches_of, shape_of
from benchmark.data.task import ProbeWindows
from benchmark.machine.device import seed_torch
from benchmark.results.files import npz_bytes, write_atomic
from benchmark.results.names import (
    ATTRACTS,
    ILLUSTRATION,
    KEY_KINDS,
    MEASURES,
    OTHER,
    OWN,
    SAME,
    UNTRAINED_EPOCH,
    WINDOWS_SHA256,
    collapsed,
)
from methods.base import Batch, MethodConfig, PretrainMethod
from methods.encoders.base import Encoder
from methods.parts.knobs import Positives
from methods.parts.losses import unit_length
from methods.parts.masks import Mask, Masks
from methods.parts.momentum import EMPTY, KeyQueue

CHUNK = 128
"""Windows encoded at a time."""
COLUMNS = ("untrained→last", "positives", "with any", *MEASURES.values(), "chance")
LEGEND = (
    "positives: keys that attract a query besides its own, of its recording + of the patient's others",
    "retrieval@1: the nearest held-out window is of the same patient; chance: if it were drawn at random",
)


@dataclass(frozen=True)
class EpochHealth:
    """Health after an epoch; epoch 0 is the untrained encoder.

    Positives are None at epoch 0 and for methods without; the features' measures are None without held-out windows or
    with non-finite features.
    """

    epoch: int
    positives_same_recording: float | None = None
    """Per query, without its own key; mean over the epoch's queries."""
    positives_other_recordings: float | None = None
    queries_with_positives: float | None = None
    """Share of the queries with any of the two."""
    effective_rank: float | None = None
    mean_cosine: float | None = None
    alignment: float | None = None
    uniformity: float | None = None
    retrieval: float | None = None
    """Share of the held-out windows whose nearest window is of the same patient."""
    retrieval_chance: float | None = None


def count_positives(positives: Positives | None, device: torch.device) -> Tensor:
    """Positives of a batch's queries without their own keys: (3,) on the device, NaN without positives.

    Mean per query from the same recording, from others, and the share of queries with any. No device synchronisation.
    """
    if positives is None:
        return torch.full((3,), math.nan, device=device)
    others = positives.attracts.clone().fill_diagonal_(False)  # (N, C)
    recording = positives.recording[: len(others)]  # (N,) of the queries
    total = others.sum(1)  # (N,)
    same = (others & (recording[:, None] == positives.recording)).sum(1)  # (N,)
    return torch.stack([same, total - same, total > 0]).float().mean(1)  # (3,)


def measure(epoch: int, encoder: Encoder, probe: ProbeWindows | None, positives: Tensor | None = None) -> EpochHealth:
    """Health after an epoch; positives (3,) is the mean of `count_positives` over its batches.

    No random draws; the encoder is not changed.
    """
    told = [math.nan] * 3 if positives is None else positives.tolist()
    health = EpochHealth(epoch, *(None if math.isnan(count) else count for count in told))
    if probe is None or not len(probe.recording):
        return health
    features = pooled_features(encoder, probe.signal)  # (n, K)
    if not features.isfinite().all():
        return health
    compete, right = retrieval_pairs(probe.recording, probe.patient)  # (n, n), (n, n)
    return replace(
        health,
        effective_rank=effective_rank(features),
        mean_cosine=mean_cosine(features),
        alignment=alignment(features, probe.recording),
        uniformity=uniformity(features),
        retrieval=retrieval(features, compete, right),
        retrieval_chance=retrieval_chance(compete, right),
    )


@torch.no_grad()
def pooled_features(encoder: Encoder, signal: Tensor) -> Tensor:
    """Features (n, K) of windows (n, S, L), computed in evaluation mode in float32, returned on the CPU in float64."""
    probe = copy.deepcopy(encoder).eval()
    features = torch.cat([probe.pooled(chunk.float()) for chunk in torch.split(signal, CHUNK)])  # (n, K)
    return features.cpu().double()


def effective_rank(features: Tensor) -> float:
    """exp of the entropy of the normalised singular values of (n, K): 1 to min(n, K); 0 for all-zero features."""
    values = torch.linalg.svdvals(features)  # (min(n, K),)
    if not values.any():
        return 0.0
    return float(torch.special.entr(values / values.sum()).sum().exp())


def mean_cosine(features: Tensor) -> float:
    """Mean cosine over pairs of different rows of (n, K)."""
    z = unit_length(features)  # (n, K)
    pairs = len(z) * (len(z) - 1)
    return float((z.sum(0).square().sum() - z.square().sum()) / pairs)


def alignment(features: Tensor, recording: Tensor) -> float:
    """Mean squared distance of window pairs of a recording on the unit sphere, 0 to 4. (n, K), (n,)."""
    z = unit_length(features)  # (n, K)
    first, second = (recording[:, None] == recording).triu(1).nonzero(as_tuple=True)  # (pairs,), (pairs,)
    return float((z[first] - z[second]).square().sum(1).mean())


def uniformity(features: Tensor) -> float:
    """log of the mean of exp(-2 d^2) over all pairs of rows of (n, K) on the unit sphere: 0 to -8, 0 for equal rows."""
    squares = torch.pdist(unit_length(features)).square()  # (n (n - 1) / 2,)
    return float((-2 * squares).logsumexp(0)) - math.log(len(squares))


def several_recordings(recording: Tensor, patient: Tensor) -> bool:
    """Whether any patient has windows of more than one recording; recording, patient: (n,)."""
    return bool(((patient[:, None] == patient) & (recording[:, None] != recording)).any())


def retrieval_pairs(recording: Tensor, patient: Tensor) -> tuple[Tensor, Tensor]:
    """Candidates for a window's nearest, and the correct ones among them: (n, n) bool each.

    Candidates are windows of other recordings, correct those of the patient. If no patient has several recordings, all
    other windows are candidates. recording, patient: (n,).
    """
    apart = recording if several_recordings(recording, patient) else torch.arange(len(recording))  # (n,)
    compete = apart[:, None] != apart  # (n, n)
    return compete, compete & (patient[:, None] == patient)


def retrieval(features: Tensor, compete: Tensor, right: Tensor) -> float:
    """Share of windows whose nearest candidate by cosine is correct, among those with a correct one; ties share."""
    z = unit_length(features)  # (n, K)
    cosine = (z @ z.T).masked_fill(~compete, -math.inf)  # (n, n)
    nearest = compete & (cosine == cosine.amax(1, keepdim=True))  # (n, n)
    return share_right(nearest, right)


def retrieval_chance(compete: Tensor, right: Tensor) -> float:
    """Expected `retrieval` of a random candidate."""
    return share_right(compete, right)


def share_right(chosen: Tensor, right: Tensor) -> float:
    """Share of the chosen windows (n, n) that are correct, mean over windows with a correct candidate."""
    asked = right.any(1)  # (n,)
    return float(((chosen & right).sum(1) / chosen.sum(1))[asked].mean())


def sample_facts(probe: ProbeWindows) -> dict[str, int | bool | str]:
    """Sizes of the held-out sample, and a digest of its windows: health of other windows is not comparable."""
    _, right = retrieval_pairs(probe.recording, probe.patient)  # (n, n)
    return {
        WINDOWS_SHA256: hashlib.sha256(probe.signal.cpu().numpy().tobytes()).hexdigest(),
        "windows": len(probe.recording),
        "recordings": len(torch.unique(probe.recording)),
        "patients": len(torch.unique(probe.patient)),
        "retrieval_queries": int(right.any(1).sum()),
        "retrieval_across_recordings": several_recordings(probe.recording, probe.patient),
    }


def read_health(card: Mapping[str, Any]) -> list[EpochHealth]:
    """Health of each epoch from a pretraining's card."""
    return [EpochHealth(**epoch) for epoch in card.get("health", [])]


def health_warnings(name: str, epochs: Sequence[EpochHealth], remedy: str) -> list[str]:
    """Warnings about the last epoch, one line each; `remedy`: the setting of a lower learning rate.

    No setting of the training can help an untrained encoder.
    """
    if not collapsed(epochs[-1].effective_rank, epochs[-1].mean_cosine):
        return []
    measured = f"effective rank {course(epochs, 'effective_rank')}, mean cosine {course(epochs, 'mean_cosine')}"
    if epochs[-1].epoch == UNTRAINED_EPOCH:
        return [f"{name}: the untrained encoder's features hardly differ between windows ({measured})"]
    return [
        f"{name}: the features have collapsed, they hardly differ between windows ({measured}); use a lower learning "
        f"rate ({remedy}) or fewer epochs"
    ]


def health_rows(pretrainings: Mapping[str, Sequence[EpochHealth]]) -> list[list[str]]:
    """The rows of a table with `COLUMNS`: untrained and last epoch of each pretraining."""
    rows = []
    for name, epochs in pretrainings.items():
        last = epochs[-1]
        same, other, share = last.positives_same_recording, last.positives_other_recordings, last.queries_with_positives
        positives = "-" if same is None or other is None else f"{same:.2f} + {other:.2f}"
        with_any = "-" if share is None else f"{share:.0%}"
        chance = "-" if last.retrieval_chance is None else f"{last.retrieval_chance:.3f}"
        rows.append([name, positives, with_any, *(course(epochs, column) for column in MEASURES), chance])
    return rows


def course(epochs: Sequence[EpochHealth], measure_name: str) -> str:
    """A measure before and after training, e.g. '6.70→2.30'; one value if untrained."""
    values = [getattr(epoch, measure_name) for epoch in dict.fromkeys((epochs[0], epochs[-1]))]
    return "→".join("-" if value is None else f"{value:.2f}" for value in values)


QUERIES = 24
"""Maximum queries shown."""
QUEUED_EACH, QUEUED_OTHERS = 3, 24
"""Maximum queue keys shown: per shown patient, and of others."""
BINS = 50
"""Histogram bins of the cosine, from -1 to 1."""

Arrays = dict[str, NDArray[Any]]


def illustrate(method: PretrainMethod, config: MethodConfig, source: PairSource, *, epochs: int, seed: int) -> Arrays:
    """Arrays of `masked_input` and `similarity` for a method after `epochs` epochs; empty if it has neither."""
    shape = shape_of(source, config.batching, config.recipe.batch_size)
    pairs = batches_of(source, shape, batching=config.batching, seed=seed, epoch=epochs)[0]  # (B,)
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
