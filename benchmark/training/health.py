"""Health of a pretraining, measured on held-out windows after every epoch.

Measures of the pooled features of held-out windows: effective rank (Roy & Vetterli 2007), alignment and uniformity
(Wang & Isola 2020, Section 4.1, alpha = 2, t = 2), and retrieval, the share of nearest windows of the same patient.
Collapse shows as a low rank and a high mean cosine.
"""

from __future__ import annotations

import copy
import math
from typing import Any

import torch
from torch import Tensor

from benchmark.data.task import ProbeWindows
from benchmark.results.metrics import area_under_curve
from benchmark.results.names import MEASURES
from methods.encoders.base import Encoder
from methods.parts.losses import unit_length

FIELDS = (
    "epoch",
    *MEASURES,  # retrieval: share of the held-out windows whose nearest window is of the same patient
    "retrieval_chance",
    "positives",  # of a query in the epoch's last batch, its own pair included, for methods with patients; the mean
    "beyond_pair",  # share of these queries with a positive beside their own pair
)
"""Health after an epoch; epoch 0 is the untrained encoder."""


def measure(
    epoch: int, encoder: Encoder, probe: ProbeWindows | None, positives: Tensor | None = None
) -> dict[str, Any]:
    """Measure health (`FIELDS`) after an epoch. No random draws; the encoder is not changed.

    positives: (B,) of each query. Measures are None without held-out windows or with non-finite features.
    """
    health: dict[str, Any] = dict.fromkeys(FIELDS) | {"epoch": epoch}
    if positives is not None:
        health["positives"] = float(positives.double().mean())
        health["beyond_pair"] = float((positives > 1).double().mean())
    if probe is None or not len(probe.recording):
        return health
    features = pooled_features(encoder, probe.signal)  # (n, K)
    if features.isfinite().all():
        candidates, correct = retrieval_pairs(probe.recording, probe.patient)  # (n, n), (n, n)
        z = unit_length(features)  # (n, K)
        health |= {
            "effective_rank": effective_rank(features),
            "mean_cosine": mean_cosine(z),
            "alignment": alignment(z, probe.recording),
            "uniformity": uniformity(z),
            "retrieval": hit_rate(nearest(z @ z.T, candidates), correct),
            "retrieval_chance": hit_rate(candidates, correct),
        }
    return health


@torch.no_grad()
def pooled_features(encoder: Encoder, signal: Tensor) -> Tensor:
    """Compute features (n, K) of windows (n, S, L) in evaluation mode in float32, returned on the CPU in float64."""
    probe = copy.deepcopy(encoder).eval()
    chunks = [probe.pooled(chunk.float()) for chunk in torch.split(signal, 128)]
    return torch.cat(chunks).cpu().double()  # (n, K)


def effective_rank(features: Tensor) -> float:
    """Compute exp(entropy) of the normalised singular values of (n, K): 1 to min(n, K); 0 for all-zero features."""
    values = torch.linalg.svdvals(features)  # (min(n, K),)
    if not values.any():
        return 0.0
    entropy = torch.special.entr(values / values.sum()).sum()
    return float(entropy.exp())


def mean_cosine(z: Tensor) -> float:
    """Compute the mean cosine over pairs of different rows of (n, K), of length 1."""
    different = z.sum(0).square().sum() - z.square().sum()
    return float(different / (len(z) * (len(z) - 1)))


def alignment(z: Tensor, recording: Tensor) -> float:
    """Compute the mean squared distance of window pairs of a recording on the unit sphere, 0 to 4. (n, K), (n,)."""
    same_recording = recording[:, None] == recording  # (n, n)
    first, second = same_recording.triu(1).nonzero(as_tuple=True)  # (pairs,), (pairs,)
    squares = (z[first] - z[second]).square().sum(1)  # (pairs,)
    return float(squares.mean())


def uniformity(z: Tensor) -> float:
    """Compute log(mean of exp(-2 d^2)) over all pairs of rows (n, K) of unit length: 0 to -8, 0 for equal rows."""
    squares = torch.pdist(z).square()  # (n (n - 1) / 2,)
    return float((-2 * squares).logsumexp(0)) - math.log(len(squares))


def retrieval_pairs(recording: Tensor, patient: Tensor) -> tuple[Tensor, Tensor]:
    """Tell the candidates for a window's nearest, and the correct ones among them: (n, n) bool each.

    Candidates are windows of other recordings, correct those of the patient. If no patient has several recordings, all
    other windows are candidates. recording, patient: (n,).
    """
    same_patient = patient[:, None] == patient  # (n, n)
    candidates = recording[:, None] != recording  # (n, n)
    if not (candidates & same_patient).any():
        candidates = ~torch.eye(len(patient), dtype=torch.bool)  # (n, n)
    return candidates, candidates & same_patient


def nearest(cosine: Tensor, candidates: Tensor, count: int = 1) -> Tensor:
    """Tell the `count` candidates with the highest cosines (n, m) of each row, more where they tie: (n, m) bool."""
    cosine = cosine.masked_fill(~candidates, -math.inf)  # (n, m)
    return candidates & (cosine >= cosine.topk(count).values[:, -1:])  # (n, m)


def hits(chosen: Tensor, correct: Tensor, draws: int = 1) -> Tensor:
    """Compute for each row of (n, m) the probability that a draw of so many of the chosen holds a correct one: (n,)."""
    count = chosen.sum(1)  # (n,)
    right = (chosen & correct).sum(1)  # (n,)
    probability = torch.zeros(len(chosen))  # (n,)
    for draw in range(draws):
        hit_now = (right / (count - draw)).clamp(max=1)  # (n,)
        probability = probability + (1 - probability) * hit_now  # (n,)
    return probability


def hit_rate(chosen: Tensor, correct: Tensor) -> float:
    """Compute the share of the chosen windows (n, n) that are correct, mean over windows with a correct candidate."""
    rates = hits(chosen, correct)  # (n,)
    return float(rates[correct.any(1)].mean())


RANKS = (1, 5)
QUERIES = 256
"""Recordings whose cosines with all others are in memory at a time."""


def patient_hits(features: Tensor, patient: Tensor) -> Tensor:
    """Tell whether the nearest, and the nearest five, of all other recordings hold one of the patient: (R, 5).

    The third column is the AUROC of the cosine between recordings of the patient and others, which does not depend on
    their number as recall does; the last two are what chance gives to recall. Of equally near ones as many are drawn as
    fit. NaN where the patient has no other recording. features: (R, K), a line per recording; patient: (R,).
    """
    z = unit_length(features.double())  # (R, K)
    everyone = torch.arange(len(patient))  # (R,)
    ranks = [min(rank, len(patient) - 1) for rank in RANKS]
    probability = torch.full((len(patient), 2 * len(RANKS) + 1), math.nan)  # (R, 5)
    queries = everyone[patient.bincount()[patient] > 1]  # (Q,)
    for query in torch.split(queries, QUERIES) if len(queries) else ():
        candidates = query[:, None] != everyone  # (q, R)
        correct = candidates & (patient[query][:, None] == patient)  # (q, R)
        cosine = z[query] @ z.T  # (q, R)
        columns = [hits(nearest(cosine, candidates, rank), correct, rank) for rank in ranks]  # of (q,)
        columns.append(auroc_of_cosines(cosine, candidates, correct))
        columns += [hits(candidates, correct, rank) for rank in ranks]
        probability[query] = torch.stack(columns, dim=1)
    return probability


def auroc_of_cosines(cosine: Tensor, candidates: Tensor, correct: Tensor) -> Tensor:
    """Compute for each row of (n, m) the AUROC of its cosines, by which correct candidates are told from others: (n,).

    1/2 where every candidate is correct.
    """
    areas = []
    for scores, allowed, signs in zip(cosine, candidates, correct, strict=True):
        sign = signs[allowed].long().numpy()  # (c,)
        is_defined = 0 < sign.sum() < len(sign)
        areas.append(area_under_curve(sign, scores[allowed].numpy()) if is_defined else 0.5)
    return torch.tensor(areas)
