"""What curves are drawn from: macro F1 over seeds.

A band is the mean over seeds ± one standard deviation (ddof = 1), as in the tables. Overall is the mean over the
datasets of each seed, then over seeds.
"""

from __future__ import annotations

import pandas as pd

from benchmark.results.names import OVERALL

METRIC = "f1"
BAND = ("variant", "ratio", "dataset", "mean", "std", "seeds")


def bands(frame: pd.DataFrame, evaluation: str, unit: str) -> pd.DataFrame:
    """Mean and deviation over seeds of macro F1, in percent, with the columns `BAND`.

    frame: `Run.tidy`. Seeds without a score are left out; a single seed's deviation is NaN. Overall is over the seeds
    with a score on every dataset that any row has one on, and is left out for a single dataset.
    """
    own = (frame["evaluation"] == evaluation) & (frame["unit"] == unit) & (frame["metric"] == METRIC)
    scored = frame[own & frame["value"].notna()]
    scored = scored.assign(value=100 * scored["value"])
    by_dataset = scored.groupby(["variant", "ratio", "dataset"], sort=False)["value"].agg(["mean", "std", "count"])
    datasets = scored["dataset"].nunique()
    by_seed = scored.groupby(["variant", "ratio", "seed"], sort=False)["value"].agg(["mean", "count"])
    whole = by_seed.loc[by_seed["count"] == datasets, "mean"]
    overall = whole.groupby(["variant", "ratio"], sort=False).agg(["mean", "std", "count"])
    parts = [by_dataset.reset_index()]
    if datasets > 1:
        parts.append(overall.reset_index().assign(dataset=OVERALL))
    return pd.concat(parts, ignore_index=True).rename(columns={"count": "seeds"})[list(BAND)]
