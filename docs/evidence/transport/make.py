"""Write docs/evidence/TRANSPORT.md from a run: python docs/evidence/transport/make.py --results DIR

The run is that of the command on the page. Scores are computed anew from its stored predictions, inside on the classes
that both datasets have, so that inside and outside are of the same classes. Without --results the page is written anew
from the tables beside this file.
"""

from __future__ import annotations

import argparse
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import NamedTuple

import numpy as np
import pandas as pd
from numpy.typing import NDArray
from scipy.stats import kendalltau, rankdata
from sklearn.linear_model import LogisticRegression

from benchmark.data.transport import concept_of, ends_of
from benchmark.results.metrics import Lines, ece, per_recording
from benchmark.results.names import AT
from benchmark.results.store import Predictions
from reports.runs import Run, open_run

Floats = NDArray[np.float64]
PAGE = Path("docs/evidence/TRANSPORT.md")
BASE = "random"
RESAMPLES, SEED = 1000, 1
RECALIBRATING, DRAWS = 20, 20
"""Patients of the tested dataset on whom probabilities are recalibrated, and how often they are drawn."""
CLIP = 1e-6
INTERVAL = (2.5, 97.5)

HEAD = """# Does what is learned on one hospital's ECGs hold at another?

For a reader: **the order of the methods survives where the classes are rhythms (PTB-XL and LUDB, both ways), and ETP
gains over an untrained encoder outside in six of seven directions, half to one and a half times as much as inside.**
Where the classes are conduction, beats and ST segments (PTB-XL and CPSC2018, 63 recordings) only ETP gains, and the
order of the others does not survive. On Ningbo's 24 recordings nothing but ETP's gain is beyond chance.

A probe is learned on the frozen features of one source and tested on another, on the classes that both have
([how](../PROTOCOLS.md#learned-on-one-dataset-tested-on-another)); encoders are pretrained as those of
[Real recordings](REAL.md), on PTB-XL alone, and saw neither side's test patients.

```
python run_benchmark.py --config real --set data.pretrain=ptb-xl --ratios 1.0 --gates random \\
    --tasks default rhythm all --datasets ptb-xl ludb cpsc2018 ningbo ptb-xl.rhythm@ludb ludb@ptb-xl.rhythm \\
    ptb-xl.all@cpsc2018 cpsc2018@ptb-xl.all ptb-xl.all@ningbo.all ptb-xl.rhythm@ningbo.all ningbo.all@ptb-xl.all \\
    --data-root /data
```

Macro AUROC per recording in percent, all labels, mean over five pretrainings; inside on the recordings of the first
source's test part that have one of the classes, outside on all such recordings of the second. Gains over Random in
points with 95 % intervals of 1,000 resamples of seeds and of patients on both sides; bold: without zero, not corrected
for the number of comparisons. Calibration error: the expected one of a class, over 15 bins, outside, mean over the
classes; recalibrated: after Platt's scaling on 20 patients of the second source, on the others, mean over 20 draws.
Twenty patients are few for rare classes: recalibration can make the error larger. Outside / inside: the ratio of the
two gains, of rows whose interval of the gain inside lies above zero. Written by
`python docs/evidence/transport/make.py --results runs`.

The other ordered pairs of sources are not scored: Challenge 2011 and Brugada-HUCA share no class with any other source,
LUDB and CPSC2018 one with each other; Chapman's excerpt has ten recordings, six of them with a class of PTB-XL's; and
Ningbo has seven recordings with a rhythm of LUDB's and twelve with a class of CPSC2018's, too few to learn or test on.

Of PTB-XL's 957 recordings without codes of their own a block or infarction stands for its subclass, which adds second
and third degree AV blocks to the first.

## Every direction

Rows whose interval of the gain over Random lies above zero, and Kendall's tau of the order of the seven methods inside
and outside.

"""


class Scored(NamedTuple):
    """Recordings of a test part under the rows and seeds of a column."""

    probability: Floats
    """(V, S, R, K) of rows, seeds, recordings and shared classes."""
    truth: NDArray[np.bool_]
    """(R, K)."""
    patient: NDArray[np.int64]
    """(R,) number of each recording's patient."""


def scored(run: Run, column: str, labels: Mapping[str, int], rows: list[str], ratio: float) -> Scored:
    """The stored predictions of a column on those recordings that have one of the labels: class name -> place here."""
    names = [label for label, _ in sorted(labels.items(), key=lambda pair: pair[1])]
    places = [run.plan.datasets[column]["classes"].index(name) for name in names]
    seeds = sorted({cell.seed for cell in run.plan.cells})
    found = []
    for row in rows:
        for seed in seeds:
            (key,) = {
                cell.key for cell in run.plan.cells
                if (cell.variant, cell.dataset, cell.ratio, cell.seed, cell.subset) == (row, column, ratio, seed, 0)
            }  # fmt: skip
            found.append(run.store.predictions(key))
    pooled = [per_recording(own.probability, own.truth, own.recording, "mean") for own in found]
    truth = pooled[0][1][:, places] > 0  # (R, K)
    there = truth.any(axis=1)  # (R,)
    probability = np.stack([own[0][:, places][there] for own in pooled])  # (V * S, R, K)
    return Scored(
        probability.reshape(len(rows), len(seeds), *probability.shape[1:]).astype(float),
        truth[there],
        patients_of(found[0])[there],
    )


def patients_of(own: Predictions) -> NDArray[np.int64]:
    """(R,) number of the patient of each recording, in the order of `per_recording`."""
    names, first = np.unique(own.recording, return_index=True)
    order = per_recording(own.probability, own.truth, own.recording, "mean")[2]
    patient = dict(zip(names.tolist(), own.patient[first].tolist(), strict=True))
    return np.unique([patient[name] for name in order], return_inverse=True)[1].astype(np.int64)


def auroc(probability: Floats, truth: NDArray[np.bool_]) -> Floats:
    """(V, S) macro AUROC of (V, S, R, K), over the classes that have recordings of both kinds."""
    ranks = rankdata(probability, axis=2)  # (V, S, R, K)
    positive = truth.sum(axis=0)  # (K,)
    negative = len(truth) - positive  # (K,)
    both = (positive > 0) & (negative > 0)  # (K,)
    summed = (ranks * truth).sum(axis=2)[..., both]  # (V, S, K')
    positive, negative = positive[both], negative[both]
    found: Floats = ((summed - positive * (positive + 1) / 2) / (positive * negative)).mean(axis=-1)
    return found


def resampled(own: Scored, random: np.random.Generator) -> tuple[Floats, NDArray[np.bool_]]:
    """Probabilities and truth with patients drawn with replacement."""
    count = own.patient.max() + 1
    times = np.bincount(random.integers(count, size=count), minlength=count)[own.patient]  # (R,)
    index = np.repeat(np.arange(len(own.patient)), times)
    return own.probability[:, :, index], own.truth[index]


def calibration_error(probability: Floats, truth: NDArray[np.bool_]) -> float:
    """Expected calibration error of (R, K), the mean over the classes that have recordings of both kinds."""
    return float(ece(Lines(probability, truth.astype(np.int64), multi=True)))


def recalibrated(probability: Floats, truth: NDArray[np.bool_], known: NDArray[np.bool_]) -> Floats:
    """Probabilities (R', K) of the other recordings after Platt's scaling of each class on the known ones (R,).

    A class of one kind among the known stays as it is.
    """
    score = np.log(np.clip(probability, CLIP, 1 - CLIP) / np.clip(1 - probability, CLIP, 1))  # (R, K)
    found = probability[~known].copy()  # (R', K)
    for label in range(truth.shape[1]):
        own = truth[known, label]
        if own.any() and not own.all():
            fit = LogisticRegression(C=1.0).fit(score[known, label, None], own)
            found[:, label] = fit.predict_proba(score[~known, label, None])[:, 1]
    return found


def calibrations(own: Scored) -> tuple[Floats, Floats]:
    """(V,) calibration error of the recordings of patients who are not among some, before and after these recalibrate.

    Means over seeds and draws of `RECALIBRATING` patients.
    """
    random = np.random.default_rng(SEED)
    before, after = np.zeros((2, len(own.probability)))  # (V,)
    for _ in range(DRAWS):
        known = np.isin(own.patient, random.permutation(own.patient.max() + 1)[:RECALIBRATING])  # (R,)
        for row, of_seeds in enumerate(own.probability):
            for each in of_seeds:  # (R, K)
                before[row] += calibration_error(each[~known], own.truth[~known])
                after[row] += calibration_error(recalibrated(each, own.truth, known), own.truth[~known])
    count = DRAWS * own.probability.shape[1]
    return before / count, after / count


def lines_of(run: Run, name: str, ratio: float) -> tuple[list[dict[str, object]], dict[str, object]]:
    """Per row: gain over Random inside and outside with intervals; and Kendall's tau of the methods' order.

    A row whose interval of the gain inside lies above zero also has the ratio of the two.
    """
    columns, classes = ends_of(name), run.plan.datasets[name]["classes"]
    inside = {
        label: classes.index(concept)
        for label in run.plan.datasets[columns.learned.name]["classes"]
        if (concept := concept_of(columns.learned, label)) in classes
    }
    rows = list(dict.fromkeys(cell.variant for cell in run.plan.cells if cell.dataset == name))
    sides = [
        scored(run, columns.learned.name, inside, rows, ratio),
        scored(run, name, {label: place for place, label in enumerate(classes)}, rows, ratio),
    ]
    base = rows.index(BASE)
    methods = [number for number in range(len(rows)) if number != base]
    point = [auroc(own.probability, own.truth).mean(axis=1) for own in sides]  # (V,) each
    random, draws, taus = np.random.default_rng(SEED), [], []
    for _ in range(RESAMPLES):
        seeds = random.integers(sides[0].probability.shape[1], size=sides[0].probability.shape[1])
        found = [auroc(*resampled(own, random))[:, seeds].mean(axis=1) for own in sides]  # (V,) each
        draws.append([own - own[base] for own in found])
        taus.append(kendalltau(found[0][methods], found[1][methods]).statistic)
    gains = np.array(draws)  # (RESAMPLES, 2, V)
    low, high = np.percentile(gains, INTERVAL, axis=0)  # (2, V) each
    before, after = calibrations(sides[1])  # (V,) each
    lines: list[dict[str, object]] = []
    for number, row in enumerate(rows):
        line: dict[str, object] = {"transport": name, "row": run.plan.variants[row]}
        line |= {"calibration error": before[number], "recalibrated": after[number]}
        for side, what in enumerate(("inside", "outside")):
            line |= {what: point[side][number], f"{what} gain": point[side][number] - point[side][base]}
            line |= {f"{what} low": low[side, number], f"{what} high": high[side, number]}
        line |= dict.fromkeys(("ratio", "ratio low", "ratio high"), np.nan)
        if low[0, number] > 0:
            ends = np.percentile(gains[:, 1, number] / gains[:, 0, number], INTERVAL)
            line |= {"ratio": line["outside gain"] / line["inside gain"], "ratio low": ends[0], "ratio high": ends[1]}
        lines.append(line)
    tau = kendalltau(point[0][methods], point[1][methods]).statistic
    order = {"transport": name, "classes": "; ".join(classes), "tau": tau}
    order |= dict(zip(("low", "high"), np.nanpercentile(taus, INTERVAL), strict=True))
    return lines, order | {"inside recordings": len(sides[0].truth), "outside recordings": len(sides[1].truth)}


def page(rows: pd.DataFrame, orders: pd.DataFrame) -> Iterator[str]:
    """The page: a table of all transports, then a section for each."""
    yield HEAD
    yield "| learned | tested | recordings inside, outside | above Random inside | above Random outside | tau |\n"
    yield "| --- | --- | ---: | --- | --- | --- |\n"
    for order in orders.itertuples():
        own = rows[rows["transport"] == order.transport]
        above = [", ".join(own.loc[own[f"{side} low"] > 0, "row"]) for side in ("inside", "outside")]
        ends = " | ".join(f"`{end}`" for end in order.transport.split(AT))
        yield f"| {ends} | {order[6]}, {order[7]} | {' | '.join(above)} | {tau_of(order)} |\n"
    for order in orders.itertuples():
        own = rows[rows["transport"] == order.transport]
        learned, tested = order.transport.split(AT)
        yield f"\n## Learned on `{learned}`, tested on `{tested}`\n\nClasses: {order.classes}. "
        yield f"{order[6]} recordings inside, {order[7]} outside. Order of the methods inside and outside: "
        yield f"Kendall's tau {tau_of(order)}.\n\n"
        yield "| | inside | gain over Random | outside | gain over Random | outside / inside | calibration error "
        yield "| recalibrated |\n| --- | ---: | --- | ---: | --- | --- | ---: | ---: |\n"
        for _, line in own.iterrows():
            sides = [(f"{100 * line[side]:.1f}", gain(line, side)) for side in ("inside", "outside")]
            errors = [f"{100 * line[what]:.1f}" for what in ("calibration error", "recalibrated")]
            ratio = f"{line['ratio']:.2f} ({line['ratio low']:.2f} to {line['ratio high']:.2f})".replace("-", "−")
            shown = [*(text for side in sides for text in side), "" if np.isnan(line["ratio"]) else ratio, *errors]
            yield f"| {line['row']} | {' | '.join(shown)} |\n"


def tau_of(order: NamedTuple) -> str:
    """'+0.81 (+0.14 to +1.00)'."""
    return f"{order.tau:+.2f} ({order.low:+.2f} to {order.high:+.2f})".replace("-", "−")  # type: ignore[attr-defined]


def gain(line: pd.Series, side: str) -> str:
    """'+1.2 (0.3 to 2.1)' in points; '' of Random."""
    if line["row"] == "Random":
        return ""
    low, high = 100 * line[f"{side} low"], 100 * line[f"{side} high"]
    text = f"{100 * line[f'{side} gain']:+.1f} ({low:.1f} to {high:.1f})".replace("-", "−")
    return f"**{text}**" if low > 0 or high < 0 else text


def study() -> None:
    """Read and write."""
    asked = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    asked.add_argument("--results", type=Path, help="store of the run")
    asked.add_argument("--ratio", type=float, default=1.0, help="label ratio (1.0)")
    found = asked.parse_args()
    folder = PAGE.parent / "transport"
    if found.results:
        run = open_run(found.results)
        each = [lines_of(run, name, found.ratio) for name in run.plan.datasets if AT in name]
        pd.DataFrame([line for lines, _ in each for line in lines]).to_csv(folder / "rows.csv", index=False)
        pd.DataFrame([order for _, order in each]).to_csv(folder / "orders.csv", index=False)
    tables = (pd.read_csv(folder / f"{name}.csv", float_precision="round_trip") for name in ("rows", "orders"))
    PAGE.write_text("".join(page(*tables)), encoding="utf-8")


if __name__ == "__main__":
    study()
