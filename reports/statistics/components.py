"""Variance components of a score: test patients, pretraining, labelled subset, fine-tuning (random effects, moments).

The score of run s on the test set is mu + P + r_s + i_s: P the effect of the test patients common to all runs, r_s that
of the run, i_s the interaction of patients and run. Resamples of the patients give var(P) (the covariance of two runs)
and var(i) (the rest of a run's own variance); the variance over runs minus var(i) gives var(r). With several
pretrainings and several runs of one, one-way analysis of variance splits var(r) into pretraining and the rest. Sources
that the runs do not vary, or vary only together, get a remark.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass

import numpy as np
import pandas as pd
from numpy.typing import NDArray

from reports.statistics.columns import ScoreColumn
from reports.statistics.interval import patient_variances
from reports.statistics.pairwise import PLACE
from reports.statistics.test_set import Floats

PATIENTS = "test patients"
PATIENTS_OF_ONE_RUN = "test patients, in one run alone"
PRETRAINING, SUBSET, FINE_TUNING = "pretraining", "labelled subset", "fine-tuning"


@dataclass(frozen=True)
class Component:
    """One source of variance, as its standard deviation in a single run's score."""

    source: str
    sd: float
    """In [0, 1]; NaN where it cannot be estimated, with the reason in `remark`."""
    remark: str = ""


def components(columns: Sequence[ScoreColumn], *, strict: bool) -> pd.DataFrame:
    """One line per source of variance of each variant and column: place, variant, source, sd in [0, 1], remark.

    strict: each seed draws its own labelled subset; otherwise all runs share one. Overall and variants without a score
    are left out.
    """
    lines: list[dict[str, object]] = []
    for column in columns:
        for variant, scores, encoders in zip(column.variants, column.scores, column.encoders, strict=True):
            there = np.isfinite(scores[:, 0])  # (S,)
            if not column.dataset or not there.any():
                continue
            for part in sources(scores[there], column.patients, encoders[there], strict=strict):
                where = {name: getattr(column, name) for name in PLACE} | {"variant": variant}
                lines.append(where | {"source": part.source, "sd": part.sd, "remark": part.remark})
    return pd.DataFrame(lines, columns=[*PLACE, "variant", "source", "sd", "remark"])


def sources(scores: Floats, patients: int, encoders: NDArray[np.str_], *, strict: bool) -> Iterator[Component]:
    """The components of (S, 1+R) scores in [0, 1]; encoders: (S,) keys of the runs' pretrained encoders."""
    defined = scores[:, 1:][:, np.isfinite(scores[:, 1:]).all(axis=0)]  # (S, R)
    if patients < 2 or defined.shape[1] < 2:
        yield _not_estimated(PATIENTS, "one test patient" if patients < 2 else "undefined in the resamples")
        return
    shared, alone = patient_variances(defined, patients)
    yield Component(PATIENTS, float(np.sqrt(shared)))
    if len(scores) == 1:
        pretrained = [PRETRAINING] if encoders[0] else []
        yield from (_not_estimated(source, "one seed") for source in (*pretrained, SUBSET, FINE_TUNING))
        return
    yield Component(PATIENTS_OF_ONE_RUN, float(np.sqrt(alone)))
    yield from _of_runs(scores[:, 0], encoders, alone, strict=strict)


def _of_runs(scores: Floats, encoders: NDArray[np.str_], alone: float, *, strict: bool) -> Iterator[Component]:
    """The components of the run; `alone` is var(i)."""
    varied = [SUBSET, FINE_TUNING] if strict else [FINE_TUNING]
    count = len(np.unique(encoders))
    if 1 < count < len(scores):
        between, within = nested_variances(scores, encoders)
        yield Component(PRETRAINING, float(np.sqrt(between)))
        yield _together(varied, within - alone)
    else:
        varied = varied if count == 1 else [PRETRAINING, *varied]
        yield _together(varied, float(scores.var(ddof=1)) - alone)
    if count == 1 and encoders[0]:
        yield _not_estimated(PRETRAINING, "one pretraining")
    if not strict:
        yield _not_estimated(SUBSET, "one labelled subset")


def _together(varied: Sequence[str], variance: float) -> Component:
    remark = "cannot be told apart here: each seed changes all of them" if len(varied) > 1 else ""
    return Component(" + ".join(varied), float(np.sqrt(max(0.0, variance))), remark)


def _not_estimated(source: str, reason: str) -> Component:
    return Component(source, np.nan, f"cannot be estimated here: {reason}")


def nested_variances(scores: Floats, group: NDArray[np.str_]) -> tuple[float, float]:
    """Variance between (at least 0) and within groups of (S,) scores, by one-way analysis of variance.

    Needs at least two groups, and fewer groups than scores.
    """
    names, inverse, sizes = np.unique(group, return_inverse=True, return_counts=True)
    means = np.bincount(inverse, weights=scores) / sizes  # (G,)
    within = float(((scores - means[inverse]) ** 2).sum()) / (len(scores) - len(names))
    between = float((sizes * (means - scores.mean()) ** 2).sum()) / (len(names) - 1)
    typical = (len(scores) - (sizes**2).sum() / len(scores)) / (len(names) - 1)
    return max(0.0, (between - within) / float(typical)), within
