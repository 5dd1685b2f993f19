"""Probabilities -> F1, AUROC and ACC, per heartbeat and per recording. Pure.

F1 is macro over the classes in truth or prediction, AUROC macro one-vs-rest over the classes with both signs in the
truth, ACC micro (multi-label: exact match, with the per-label accuracy beside it). A score that cannot be computed is
None with its reason, never 0: a class absent from a split does not count as an AUROC of 0.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray
from sklearn.metrics import roc_auc_score

THRESHOLD = 0.5
UNITS = ("heartbeat", "recording")

Floats = NDArray[np.float32]
Ints = NDArray[np.int64]


@dataclass(frozen=True)
class Scores:
    """Metrics in [0, 1] and, for those that are None, why."""

    values: dict[str, float | None]
    undefined: dict[str, str]


def decide(probability: Floats, *, multi: bool) -> Ints:
    """Multi-hot decisions (n, C): the most probable class, or every class above the threshold."""
    if multi:
        return (probability > THRESHOLD).astype(np.int64)  # (n, C)
    decisions = np.zeros(probability.shape, dtype=np.int64)  # (n, C)
    if len(probability):
        decisions[np.arange(len(probability)), probability.argmax(axis=1)] = 1
    return decisions


def macro_f1(probability: Floats, truth: Ints, *, multi: bool) -> float | None:
    """Macro F1 over the classes in truth or prediction; None where there is no such class."""
    decisions = decide(probability, multi=multi)
    counted = truth.sum(axis=0) + decisions.sum(axis=0)  # (C,)
    present = counted > 0
    if not present.any():
        return None
    hits = (truth * decisions).sum(axis=0)  # (C,)
    return float((2 * hits[present] / counted[present]).mean())


def no_scores(reason: str, *, multi: bool) -> Scores:
    """All metrics undefined, for one reason."""
    names = ("f1", "auroc", "acc", *(("acc_per_label",) if multi else ()))
    return Scores(dict.fromkeys(names), dict.fromkeys(names, reason))


def score(probability: Floats, truth: Ints, *, multi: bool) -> Scores:
    """All metrics of (n, C) probabilities against an (n, C) multi-hot truth."""
    if not len(truth):
        return no_scores("no test window", multi=multi)
    values: dict[str, float | None] = {}
    undefined: dict[str, str] = {}
    values["f1"] = macro_f1(probability, truth, multi=multi)
    if values["f1"] is None:
        undefined["f1"] = "no class in truth or prediction"
    both = [c for c in range(truth.shape[1]) if 0 < truth[:, c].sum() < len(truth)]
    values["auroc"] = float(np.mean([roc_auc_score(truth[:, c], probability[:, c]) for c in both])) if both else None
    if not both:
        undefined["auroc"] = "no class has both signs in the test set"
    agree = decide(probability, multi=multi) == truth  # (n, C)
    values["acc"] = float(agree.all(axis=1).mean())
    if multi:
        values["acc_per_label"] = float(agree.mean())
    return Scores(values, undefined)


def per_recording(
    probability: Floats, truth: Ints, recording: Sequence[str] | NDArray[np.str_]
) -> tuple[Floats, Ints, NDArray[np.str_]]:
    """A recording's probability is the mean of its windows'; its truth is theirs. Recordings in sorted order."""
    names, first, inverse = np.unique(np.asarray(recording), return_index=True, return_inverse=True)
    if not len(names):
        return probability, truth, names
    total = np.zeros((len(names), probability.shape[1]), dtype=np.float64)  # (R, C)
    np.add.at(total, inverse, probability)
    mean = total / np.bincount(inverse)[:, None]
    return mean.astype(np.float32), truth[first], names


def score_both_units(
    probability: Floats, truth: Ints, recording: NDArray[np.str_], *, multi: bool
) -> dict[str, Scores]:
    """Scores per heartbeat and per recording."""
    pooled, pooled_truth, _ = per_recording(probability, truth, recording)
    return {
        "heartbeat": score(probability, truth, multi=multi),
        "recording": score(pooled, pooled_truth, multi=multi),
    }
