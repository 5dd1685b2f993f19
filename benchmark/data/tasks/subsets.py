"""Labelled subsets beside those of the protocols: a share of the recordings as FIX draws it, patients per class."""

from __future__ import annotations

import numpy as np
import torch
from numpy.typing import NDArray

from benchmark.data.prepared.load import Prepared
from benchmark.data.tasks.spec import TaskSpec
from benchmark.data.tasks.split import SPLIT_SEED, LabelledSubset, absent_classes, split_or_none, target_matrix
from benchmark.data.tasks.task import Sides


def drawn_by_recording(sides: Sides, ratio: float, seed: int) -> LabelledSubset:
    """All windows of the first int(R * ratio) of the R training recordings, at least one, the same for all seeds.

    The recordings, in the order of the dataset, are permuted by torch's `randperm` with seed 42 (FIX).
    """
    recording = sides.trials.recording[sides.train]  # (N,)
    every = np.unique(recording)  # (R,)
    permuted = torch.randperm(len(every), generator=torch.Generator().manual_seed(SPLIT_SEED)).numpy()  # (R,)
    chosen = every[permuted[: max(1, int(len(every) * ratio))]]
    return _whole(sides, np.isin(recording, chosen))


def drawn_per_class(sides: Sides, shots: float, seed: int) -> LabelledSubset:
    """All windows of patients such that each class has at least `shots` patients; few more in all.

    Patients in an order of the seed are taken in rounds, in each of which every class, the rarest first, gets a further
    patient unless those taken for other classes are enough; so the patients of fewer shots are among those of more. A
    class with fewer patients than `shots` is the subset's problem.
    """
    recording = sides.trials.recording[sides.train]  # (N,)
    patients, of_trial = np.unique(sides.trials.patient[sides.train], return_inverse=True)  # (P,), (N,)
    has = np.zeros((len(patients), sides.target.shape[1]), bool)  # (P, C)
    np.logical_or.at(has, of_trial, sides.target[recording] > 0)
    counts, names = has.sum(axis=0), sides.prepared.classes  # (C,)
    few = [f"{name} {count}" for name, count in zip(names, counts, strict=True) if count < shots]
    if few:
        problem = f"too few training patients for {shots:g} per class: {', '.join(few)}"
        return LabelledSubset(np.empty(0, np.int64), (), problem)
    order = np.random.default_rng(seed).permutation(len(patients))  # (P,)
    chosen = np.zeros(len(patients), bool)  # (P,)
    for enough in range(1, int(shots) + 1):
        for label in np.argsort(counts, kind="stable"):
            if has[chosen, label].sum() < enough:
                chosen[next(p for p in order if has[p, label] and not chosen[p])] = True
    return _whole(sides, chosen[of_trial])


def _whole(sides: Sides, labelled: NDArray[np.bool_]) -> LabelledSubset:
    """All windows of the labelled ones of the training pseudo-trials (N,)."""
    trial, per_trial = sides.train[labelled], sides.spec.per_trial  # (n,)
    windows = (trial[:, None] * per_trial + np.arange(per_trial)).ravel()  # (n * per_trial,)
    target = sides.target[sides.trials.recording[trial]]  # (n, C)
    return LabelledSubset(windows, absent_classes(target, sides.prepared.classes))


def patients_per_class(prepared: Prepared, spec: TaskSpec) -> dict[str, int]:
    """Class -> number of training patients with a recording of it that is long enough to be used."""
    long_enough = np.flatnonzero(np.diff(prepared.first_window) >= spec.per_trial)  # (R',)
    train = np.intersect1d(long_enough, split_or_none(prepared, spec)[0].train)
    counted = prepared.first_label_counts
    target = target_matrix(prepared.entries, len(prepared.classes), spec, first_label_counts=counted)  # (R, C)
    having = [{prepared.entries[r].patient for r in train if target[r, label]} for label in range(target.shape[1])]
    return {name: len(patients) for name, patients in zip(prepared.classes, having, strict=True)}
