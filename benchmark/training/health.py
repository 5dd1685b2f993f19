"""What a pretraining works with and what it learns, epoch by epoch: the loss tells neither.

Works with: how many keys attract a query besides its own, from the query's recording and from others of the patient.
Learns: measures of the encoder's pooled features of held-out windows. Effective rank (Roy & Vetterli 2007), alignment
and uniformity (Wang & Isola 2020, Section 4.1, with alpha = 2 and t = 2), and how often the nearest window is one of
the same patient. Features that no longer differ between windows show as a low rank and a high mean cosine.
"""

from __future__ import annotations

import copy
import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any

import torch
from torch import Tensor

from benchmark.data.tasks.probe_windows import ProbeWindows
from benchmark.results.health import MEASURES, collapsed
from methods.encoders.dilated import Encoder
from methods.parts.losses import unit_length
from methods.parts.positives import Positives

CHUNK = 128
"""Windows encoded at a time."""
LEGEND = (
    "positives: keys that attract a query besides its own, of its recording + of the patient's others",
    "retrieval@1: the nearest held-out window is of the same patient; chance: if it were drawn at random",
)


@dataclass(frozen=True)
class EpochHealth:
    """An epoch's health. Epoch 0 is the untrained encoder, to read the others against.

    Positives are None where a method tells none, and before training; the others where there are no held-out windows or
    the features are not finite.
    """

    epoch: int
    positives_same_recording: float | None = None
    """Per query, besides its own key; mean over the queries of the epoch."""
    positives_other_recordings: float | None = None
    queries_with_positives: float | None = None
    """Share of the queries that have any of the two."""
    effective_rank: float | None = None
    mean_cosine: float | None = None
    alignment: float | None = None
    uniformity: float | None = None
    retrieval: float | None = None
    """Share of the held-out windows whose nearest one is of the same patient."""
    retrieval_chance: float | None = None


def count_positives(positives: Positives | None, device: torch.device) -> Tensor:
    """What a batch's queries have besides their own keys: (3,) on the device, NaN where nothing is told.

    Positives per query of the same recording, those of others, and the share of queries with any. Reads nothing back.
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

    Draws nothing at random and leaves the encoder as it was.
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
    """Features (n, K) of windows (n, S, L), in evaluation mode and float32; on the CPU, in float64."""
    probe = copy.deepcopy(encoder).eval()
    features = torch.cat([probe.pooled(chunk.float()) for chunk in torch.split(signal, CHUNK)])  # (n, K)
    return features.cpu().double()


def effective_rank(features: Tensor) -> float:
    """exp of the entropy of the singular values' shares of (n, K): from 1 to min(n, K), and 0 for zeros."""
    values = torch.linalg.svdvals(features)  # (min(n, K),)
    if not values.any():
        return 0.0
    return float(torch.special.entr(values / values.sum()).sum().exp())


def mean_cosine(features: Tensor) -> float:
    """Mean cosine of two different rows of (n, K)."""
    z = unit_length(features)  # (n, K)
    pairs = len(z) * (len(z) - 1)
    return float((z.sum(0).square().sum() - z.square().sum()) / pairs)


def alignment(features: Tensor, recording: Tensor) -> float:
    """Mean squared distance of two windows of a recording on the unit sphere, 0 to 4. (n, K), (n,)."""
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
    """Which windows compete to be a window's nearest, and which of them would be right: (n, n) bool each.

    Those of other recordings compete, where there is a patient with several. Where there is none all other windows do,
    and another one of the recording is right. recording, patient: (n,).
    """
    apart = recording if several_recordings(recording, patient) else torch.arange(len(recording))  # (n,)
    compete = apart[:, None] != apart  # (n, n)
    return compete, compete & (patient[:, None] == patient)


def retrieval(features: Tensor, compete: Tensor, right: Tensor) -> float:
    """Share of the windows that have a right one whose nearest by cosine is one; equally near windows share the hit."""
    z = unit_length(features)  # (n, K)
    cosine = (z @ z.T).masked_fill(~compete, -math.inf)  # (n, n)
    nearest = compete & (cosine == cosine.amax(1, keepdim=True))  # (n, n)
    return share_right(nearest, right)


def retrieval_chance(compete: Tensor, right: Tensor) -> float:
    """What `retrieval` would be if the nearest window were drawn at random."""
    return share_right(compete, right)


def share_right(chosen: Tensor, right: Tensor) -> float:
    """Share of the chosen windows (n, n) that are right, mean over the windows for which there is a right one."""
    asked = right.any(1)  # (n,)
    return float(((chosen & right).sum(1) / chosen.sum(1))[asked].mean())


def sample_facts(probe: ProbeWindows) -> dict[str, int | bool]:
    """What the measures of the features rest on."""
    _, right = retrieval_pairs(probe.recording, probe.patient)  # (n, n)
    return {
        "windows": len(probe.recording),
        "recordings": len(torch.unique(probe.recording)),
        "patients": len(torch.unique(probe.patient)),
        "retrieval_queries": int(right.any(1).sum()),
        "retrieval_across_recordings": several_recordings(probe.recording, probe.patient),
    }


def read_health(card: Mapping[str, Any]) -> list[EpochHealth]:
    """The epochs in the card of a pretraining; none where it was made without."""
    return [EpochHealth(**epoch) for epoch in card.get("health", [])]


def health_warnings(name: str, epochs: Sequence[EpochHealth], remedy: str) -> list[str]:
    """What is wrong with the last epoch of a pretraining, one line each; `remedy` sets a lower learning rate."""
    if not collapsed(epochs[-1].effective_rank, epochs[-1].mean_cosine):
        return []
    return [
        f"{name}: the features have collapsed, they hardly differ between windows (effective rank "
        f"{course(epochs, 'effective_rank')}, mean cosine {course(epochs, 'mean_cosine')}); use a lower learning rate "
        f"({remedy}) or fewer epochs"
    ]


def health_lines(pretrainings: Mapping[str, Sequence[EpochHealth]]) -> list[str]:
    """The last epoch of each pretraining beside its untrained encoder, as the lines of a table; none for none."""
    if not pretrainings:
        return []
    rows = [("untrained→last", "positives", "with any", *MEASURES.values(), "chance")]
    for name, epochs in pretrainings.items():
        last = epochs[-1]
        same, other, share = last.positives_same_recording, last.positives_other_recordings, last.queries_with_positives
        positives = "-" if same is None or other is None else f"{same:.2f} + {other:.2f}"
        with_any = "-" if share is None else f"{share:.0%}"
        chance = "-" if last.retrieval_chance is None else f"{last.retrieval_chance:.3f}"
        rows.append((name, positives, with_any, *(course(epochs, column) for column in MEASURES), chance))
    widths = [max(map(len, column)) for column in zip(*rows, strict=True)]
    lines = ["  ".join(cell.ljust(width) for cell, width in zip(row, widths, strict=True)).rstrip() for row in rows]
    return [*lines, *LEGEND]


def course(epochs: Sequence[EpochHealth], measure_name: str) -> str:
    """A measure before and after training, e.g. '6.70→2.30'; once where nothing was trained."""
    values = [getattr(epoch, measure_name) for epoch in dict.fromkeys((epochs[0], epochs[-1]))]
    return "→".join("-" if value is None else f"{value:.2f}" for value in values)
