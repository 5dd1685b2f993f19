"""Run the study of docs/evidence/PATIENTS.md and write its page: python docs/evidence/patients/make.py

The config `patients.yaml` over patients x recordings per patient of the pretraining corpus, with as many encoder passes
on every corpus, for four methods with three times as many, and once the rows that need no pretraining. Each run is one
of the suite's own: finished ones are read, and Ctrl-C loses nothing. `--read` runs none.
"""

from __future__ import annotations

import argparse
import sys
from collections.abc import Iterator, Mapping, Sequence
from itertools import product
from pathlib import Path
from typing import NamedTuple

import numpy as np
import pandas as pd
from matplotlib import rc_context
from matplotlib.axes import Axes
from matplotlib.figure import Figure
from numpy.typing import NDArray

from benchmark.config.command_line import OK
from reports.figures.style import SETTINGS, TWO_COLUMNS
from reports.runs import open_run
from reports.statistics.bootstrap import ScoreColumn, score_columns
from reports.statistics.estimates import CommonVariance, Estimate, bounded, common_variance, estimate, holm
from reports.statistics.table import seeds_error
from run_benchmark import main

Floats = NDArray[np.float64]
PASSES = 6 * 400 * 3
"""Epochs x recordings of the config `small`; a budget of one."""
GROWN = 3
"""The larger budget."""
METHODS = {"pmq": "PMQ", "moco": "MoCo", "pclr": "PCLR", "clocs": "CLOCS", "byol": "BYOL", "comet": "COMET"}
UNPRETRAINED = {"random": "Random", "features": "Beat features, boosted", "minirocket": "MiniRocket + ridge"}
RATIOS = (0.1, 0.01)
RESAMPLES = 1000
LEVEL = 0.05
LEVELS = {"random": ("-", "#999999"), "features": ("--", "#444444"), "minirocket": (":", "#444444")}
"""Row without pretraining -> its line and colour."""
SERIES = (
    (1, 1, "o-", "one recording each", 1.0),
    (4, 1, "s-", "four recordings each", 1.25),
    (1, GROWN, "^-", f"one each, budget x {GROWN}", 0.8),
    (4, GROWN, "D-", f"four each, budget x {GROWN}", 1.5),
)
"""Recordings, budget, mark, title, and a factor of the patients so that intervals do not cover each other."""
READER = """For a reader: on simulated corpora and at these brief budgets more patients make no better frozen features,
and a law that is fitted to them sees no gain beyond chance in 100,000. **Three times the encoder passes on 2,500
patients are worth 0.03 to 0.04 of AUROC to PMQ, PCLR and CLOCS; tenfold patients at the same passes are worth nothing,
or less.** Four recordings of each patient in place of one lift PCLR by as much as the passes do. No pretraining comes
up to MiniRocket."""
CAME = """
- **Tenfold patients with one recording raise no row beyond chance.** PMQ falls at 10 % of the labels by 0.022 (0.010 to
  0.033), BYOL at 1 %, both beyond chance. At as many updates more patients are fewer looks at each: 100 patients are
  seen 72 times, 10,000 less than once. CLOCS is above Random with 100 patients alone.
- **Four recordings in place of one** put PCLR, whose positives are other recordings of a patient, 0.035 above Random
  at 10 %, where it is at Random with one; the gain of 0.037 (0.017 to 0.057) is beyond chance.
- **With four recordings each, tenfold patients** cost PMQ and CLOCS some 0.025 at the small budget (not beyond chance).
  At three budgets the loss is gone or smaller (MoCo still loses 0.017, beyond chance), and at 1 % of the labels PCLR
  and CLOCS have gains of 0.056 and 0.045, not beyond chance.
- **Three budgets for one** on 2,500 patients: PMQ +0.037, PCLR +0.030, CLOCS +0.041 at 10 %, PCLR +0.052 and CLOCS
  +0.060 at 1 %, beyond chance; MoCo +0.013 and +0.015, not.
- **No break-even with MiniRocket**: at 10 % the best row has 0.904 (PCLR, 2,500 x 4 at three budgets), MiniRocket 0.952
  and the boosted features 0.970; at 1 % they have 0.767 (the same row), 0.782 and 0.748, so that the boosted features
  are passed there, within the interval of PCLR.
- **Of what was expected first** that no row comes to the boosted features or MiniRocket at 10 % is right, as is at most
  +.01 for MoCo and BYOL. PMQ, PCLR and CLOCS do not gain from patients, PMQ does not pass Random at the small budget,
  and PCLR and CLOCS have more of recordings than of patients. **Of what was expected of the second corpora** the small
  budget moves PMQ and CLOCS by more than 0.02; at the large one no tenfold gain at 10 % is beyond chance and two are
  below zero, where 0.00 to +0.03 was expected; the gains of budget came, PMQ's larger than expected; the rest came.

![The law over patients with four recordings each](patients/law.png)

- **A law a - b P^-c R^-d** of P patients with R recordings was fitted to the six corpora of the small budget and to the
  five of three budgets, to each pretraining by itself. So few corpora do not determine its exponents (a fit takes the
  best of 0.1 to 1.5); what it says of patients they do. From 10,000 to 100,000 patients with four recordings, which is
  extrapolated, the AUROC at 10 % of the labels changes by -0.012 (PMQ, -0.022 to -0.002) to -0.002 (PCLR, CLOCS) at the
  small budget, and by -0.005 (PMQ, -0.009 to -0.001) to +0.002 (PCLR, -0.001 to 0.004) at three. At 1 % and three
  budgets the curves of PCLR and CLOCS rise, by 0.006 (-0.003 to 0.014) and 0.007 (-0.001 to 0.016).
- **No break-even in 100,000 patients**, by the law: at 10 % its highest score there is 0.899 (0.876 to 0.922; PCLR,
  three budgets), below MiniRocket; at 1 % 0.757 (0.706 to 0.807), above the boosted features and below MiniRocket.
- **At three budgets and one recording each** tenfold patients are worth -0.007 to +0.005 at 10 %, and +0.013 and +0.015
  to PCLR and CLOCS at 1 %, none beyond chance: as expected. That the law's interval from 10,000 to 100,000 patients
  covers zero is wrong for PMQ and MoCo at 10 %, which fall.

Not tried: budgets beyond three (what was expected of nine was not run, nor 100 patients with four recordings at three),
larger encoders, more than one seed of the simulator.
"""
HEAD = """# Do more patients make better features?

{reader}

Frozen features against the patients of the pretraining corpus and their recordings, at as many encoder passes on every
corpus, and at three times as many. Written by `python docs/evidence/patients/make.py`; the config is
`docs/evidence/patients/patients.yaml`.

Small encoders at 83 Hz, pretrained on simulated corpora of 100, 1,000 and 10,000 patients with one recording each, of
1,000 with four, {passes:,} recordings seen in all by each; of 250 and 2,500 with four, at that budget and at three
times as many recordings seen; of 100, 1,000 and 10,000 with one at three times. Score: macro AUROC per recording on
{tested} test patients of a simulated PTB-XL, linear probe, five pretrainings per row with four labelled subsets each,
with 10 % of the labels (some 80 patients) and with 1 % (7 or 8). All corpora share seeds, labelled subsets and test
patients. Rows without pretraining have the same labelled patients: an untrained encoder (Random), boosted beat
features, MiniRocket with a ridge classifier. Intervals are at 95 %, of pretrainings and test patients; those of
differences have the variance over pretrainings moderated by those of a column's methods
([Reading](../READING.md#what-is-beyond-chance)). Bold: beyond chance at 5 % by Holm's correction over the methods of a
column.

Nothing here is about real ECGs: the simulator knows a few dozen ways in which hearts differ, and no more patients can
teach what is not in it.

## Expected before the runs were made

- At 10 % of the labels tenfold patients are worth +.005 to +.03 of AUROC for PMQ, PCLR and CLOCS, which tell patients
  apart or pair them, and at most +.01 for MoCo and BYOL. At 1 % no gain is beyond chance.
- Fourfold recordings are worth less than tenfold patients for every method.
- PMQ passes Random at 10 % of the labels with less than 1,000 patients. No method comes to the boosted features or
  MiniRocket within 10,000 patients at 10 %.

Written on 2026-11-26, before the corpora of 250 and 2,500 patients with four recordings each were pretrained on, with
these {passes:,} recordings seen and with three times as many, by PMQ, MoCo, PCLR and CLOCS:

- At the small budget tenfold patients move no method beyond chance at 10 % of the labels, and none by more than 0.02.
- At the large budget tenfold patients are worth 0.00 to +0.03 at 10 %, most for PCLR, for PCLR beyond chance; at 1 %
  nothing is.
- Three budgets for one on 2,500 patients raise PCLR and CLOCS by 0.01 to 0.04, PMQ by 0.00 to 0.03, MoCo by less than
  0.015 to either side, at 10 %.
- No break-even: at 10 % no row comes to 0.92.
- Median interval: 0.02 to either side at 10 %.

Written on 2026-11-27, before PMQ, MoCo, PCLR and CLOCS were pretrained at three budgets on 100, 1,000 and 10,000
patients with one recording each and on 100 with four, and PMQ and PCLR at nine budgets on 250 and 2,500 patients with
four:

- At three budgets and 10 % of the labels tenfold patients with one recording each are worth -0.02 to +0.02 for every
  method, beyond chance for none.
- A law a - b P^-c R^-d of three budgets has an interval of its gain from 10,000 to 100,000 patients that covers zero
  for every method.
- At nine budgets tenfold patients of four recordings are worth 0.00 to +0.04 at 10 % for PCLR and -0.01 to +0.03 for
  PMQ, and nine budgets are 0.00 to +0.03 above three on 2,500 patients. MiniRocket is not reached at 10 %; at 1 % PCLR
  passes it.
"""


class Corpus(NamedTuple):
    """One pretraining corpus: its patients, the mean of their numbers of recordings, and its budgets of `PASSES`."""

    patients: int
    recordings: int
    budget: int = 1

    def name(self) -> str:
        """Name of its folder of tables."""
        budget = f"-{self.budget}-budgets" if self.budget > 1 else ""
        return f"{self.patients}-patients-{self.recordings}-recordings{budget}"

    def title(self) -> str:
        """Head of its column."""
        return f"{self.patients:,} x {self.recordings}{f', budget x {self.budget}' if self.budget > 1 else ''}"

    def settings(self) -> list[str]:
        """Its config keys, as `--set` takes them."""
        return [
            f"data.simulation.patients.mimic-iv-ecg={self.patients}",
            f"data.simulation.recordings_per_patient={self.recordings}",
            f"pretrain.epochs={self.budget * PASSES / (self.patients * self.recordings)!r}",
        ]


CORPORA = (Corpus(100, 1), Corpus(1000, 1), Corpus(10_000, 1), Corpus(1000, 4))
GROWING = (Corpus(250, 4), Corpus(2500, 4), Corpus(250, 4, GROWN), Corpus(2500, 4, GROWN))
GROWING_METHODS = ("pmq", "moco", "pclr", "clocs")
LONGER = (Corpus(100, 1, GROWN), Corpus(1000, 1, GROWN), Corpus(10_000, 1, GROWN))
RUNS = ((CORPORA, ()), (GROWING, GROWING_METHODS), (LONGER, GROWING_METHODS))
"""Corpora and the methods pretrained on them; () for those of the config."""
STUDIED = tuple(corpus for corpora, _ in RUNS for corpus in corpora)


def run(work: Path, name: str, *options: str) -> None:
    """Run what is missing of the config under these options. Exits where the run does not end well."""
    own = work / name
    places = ["--results", str(own / "runs"), "--out", str(own / "out"), "--cache", str(work / "cache")]
    status = main(["run", "--config", str(Path(__file__).with_name("patients.yaml")), *options, *places])
    if status != OK:
        sys.exit(status)


def run_all(work: Path) -> None:
    """Rows without pretraining, then every corpus."""
    run(work, "unpretrained", "--methods", "random", "--gates", "features", "minirocket")
    for corpora, methods in RUNS:
        for corpus in corpora:
            print(f"== {corpus.name()}", flush=True)
            chosen = ["--methods", *methods] if methods else []
            run(work, corpus.name(), *chosen, "--set", *corpus.settings())


def columns_of(store: Path) -> Iterator[ScoreColumn]:
    """AUROC of each table and label ratio of a finished run."""
    opened = open_run(store)
    for evaluation in dict.fromkeys(cell.evaluation for cell in opened.plan.cells):
        cells = [cell for cell in opened.plan.cells if cell.evaluation == evaluation]
        for column in score_columns(opened, cells, "recording", metrics=["auroc"], resamples=RESAMPLES):
            if column.dataset:
                yield column


TENFOLD, FOURFOLD = "tenfold patients", "four recordings for one"
GAINS = (
    "tenfold patients of four",
    f"tenfold patients of four, budget x {GROWN}",
    f"budget x {GROWN}, 2,500 patients",
    f"both: 2,500 patients at budget x {GROWN} for 250",
)
"""Differences between the corpora of `GROWING`."""
LONGER_GAIN = f"tenfold patients, budget x {GROWN}"
LAW_BUDGETS = (1, GROWN)
FARTHEST = 10_000
"""Patients of the largest corpus; beyond it the law is extrapolated."""
LAW_GAINS = {
    f"{what}{f', budget x {budget}' if budget > 1 else ''}": (budget, few, many)
    for budget in LAW_BUDGETS
    for what, few, many in (
        ("fitted, 1,000 to 10,000", FARTHEST // 10, FARTHEST),
        ("extrapolated, 10,000 to 100,000", FARTHEST, 10 * FARTHEST),
    )
}
"""Name -> budget, and the patients, of four recordings each, between which the law is read."""
EXPONENTS = np.arange(0.1, 1.55, 0.1)
"""Of patients; of recordings 0 as well."""


class Scores(NamedTuple):
    """AUROC at one label ratio, of rows x corpora that share seeds, labelled subsets and test patients."""

    patients: int
    """Tested."""
    pretrained: dict[tuple[str, Corpus], Floats]
    """Row and corpus -> (S, 1+R): the test set, then resamples of its patients."""
    unpretrained: dict[str, Floats]


def read(work: Path) -> dict[float, Scores]:
    """The scores of all runs by label ratio."""
    first = {column.ratio: column.patients for column in columns_of(work / "unpretrained" / "runs")}
    found = {ratio: Scores(patients, {}, {}) for ratio, patients in first.items()}
    for column in columns_of(work / "unpretrained" / "runs"):
        found[column.ratio].unpretrained.update(zip(column.variants, column.scores, strict=True))
    for corpus in STUDIED:
        for column in columns_of(work / corpus.name() / "runs"):
            assert column.patients == found[column.ratio].patients, "corpora share their test patients"
            rows = ((variant, corpus) for variant in column.variants)
            found[column.ratio].pretrained.update(zip(rows, column.scores, strict=True))
    return found


def scores_of(own: Scores, method: str) -> dict[Corpus, Floats]:
    """Corpus -> the scores (S, 1+R) of a method that was pretrained on it."""
    return {corpus: own.pretrained[method, corpus] for corpus in STUDIED if (method, corpus) in own.pretrained}


def contrasts(own: Scores, method: str) -> dict[str, Floats]:
    """Name of a column of the page -> differences of a method, (S, 1+R)."""
    of = scores_of(own, method)
    found = {corpus.title(): of[corpus] - own.unpretrained["random"] for corpus in of}
    found[TENFOLD] = (of[Corpus(10_000, 1)] - of[Corpus(100, 1)]) / 2
    found[FOURFOLD] = of[Corpus(1000, 4)] - of[Corpus(1000, 1)]
    if method in GROWING_METHODS:
        few, many, few_longer, many_longer = (of[corpus] for corpus in GROWING)
        found |= {GAINS[0]: many - few, GAINS[1]: many_longer - few_longer}
        found |= {GAINS[2]: many_longer - many, GAINS[3]: many_longer - few}
        found[LONGER_GAIN] = (of[Corpus(10_000, 1, GROWN)] - of[Corpus(100, 1, GROWN)]) / 2
        for what, (budget, fewer, more) in LAW_GAINS.items():
            before, after = law(of, budget, [(fewer, 4), (more, 4)])
            found[what] = after - before
    return found


def law(of: Mapping[Corpus, Floats], budget: int, places: Sequence[tuple[int, int]]) -> Floats:
    """The law a - b P^-c R^-d of a budget at places of P patients with R recordings: (places, S, 1+R).

    of: the scores (S, 1+R) of each corpus. Each pretraining and each resample of the test patients has a fit of its
    own: least squares in a and b, which may have either sign, under the best of the exponents c and d.
    """
    corpora = [corpus for corpus in of if corpus.budget == budget]
    scores = np.stack([of[corpus] for corpus in corpora])  # (n, S, 1+R)
    flat = scores.reshape(len(corpora), -1)  # (n, M)
    centred = flat - flat.mean(0)  # (n, M)
    known = np.array([(corpus.patients, corpus.recordings) for corpus in corpora], float)  # (n, 2)
    wanted = np.array(places, float)  # (places, 2)
    least, read = np.full(flat.shape[1], np.inf), np.empty((len(places), flat.shape[1]))  # (M,), (places, M)
    for exponents in product(EXPONENTS, (0.0, *EXPONENTS)):
        fall = np.prod(known ** -np.array(exponents), axis=1)  # (n,)
        x = fall - fall.mean()  # (n,)
        slope = x @ centred / (x @ x)  # (M,) -b
        left = ((centred - x[:, None] * slope) ** 2).sum(0)  # (M,)
        at = np.prod(wanted ** -np.array(exponents), axis=1) - fall.mean()  # (places,)
        better = left < least
        least[better] = left[better]
        read[:, better] = flat.mean(0)[better] + at[:, None] * slope[better]
    return read.reshape(len(places), *scores.shape[1:])


def curves(found: dict[float, Scores]) -> pd.DataFrame:
    """The law over patients with four recordings each: one line per label ratio, row, budget and number of patients."""
    lines = []
    patients = np.unique(np.geomspace(100, 10 * FARTHEST, 25).round().astype(int)).tolist()
    for (ratio, own), method, budget in product(found.items(), GROWING_METHODS, LAW_BUDGETS):
        of = scores_of(own, method)
        for count, scores in zip(patients, law(of, budget, [(count, 4) for count in patients]), strict=True):
            shown = estimate(scores, own.patients)
            place = {"ratio": ratio, "row": method, "budget": budget, "patients": count}
            lines.append(place | {"auroc": shown.mean, "low": shown.low, "high": shown.high})
    return pd.DataFrame(lines)


def points(found: dict[float, Scores]) -> pd.DataFrame:
    """One line per label ratio, row and corpus: AUROC and its interval; a row without pretraining has no patients."""
    lines = []
    for ratio, own in found.items():
        rows = own.pretrained | {(name, Corpus(0, 0)): scores for name, scores in own.unpretrained.items()}
        for (row, corpus), scores in rows.items():
            shown = estimate(scores, own.patients)
            place = {"ratio": ratio, "row": row, **corpus._asdict(), "tested": own.patients}
            lines.append(place | {"auroc": shown.mean, "low": shown.low, "high": shown.high})
    return pd.DataFrame(lines)


def gains(found: dict[float, Scores]) -> pd.DataFrame:
    """One line per label ratio, column and method: the difference, its interval and p, and `sure` after Holm."""
    lines = []
    for ratio, own in found.items():
        of = {method: contrasts(own, method) for method in METHODS}
        common = {what: common_of([found[what] for found in of.values() if what in found]) for what in of["pmq"]}
        for method, differences in of.items():
            for what, scores in differences.items():
                shown: Estimate = estimate(scores, own.patients, common[what])
                place = {"ratio": ratio, "what": what, "row": method}
                lines.append(place | {"gain": shown.mean, "low": shown.low, "high": shown.high, "p": shown.p})
    return with_holm(pd.DataFrame(lines))


def common_of(differences: list[Floats]) -> CommonVariance:
    """What moderates the differences of a column's methods, each (S, 1+R): as pairs of these rows and one more."""
    errors = np.array([seeds_error(scores)[0] for scores in differences])
    seeds = len(differences[0])
    return bounded(common_variance(errors, seeds), seeds, len(differences) + 1)


def with_holm(found: pd.DataFrame) -> pd.DataFrame:
    """The lines with `sure`: beyond chance by Holm's correction over the methods of a column."""
    adjusted = found.groupby(["ratio", "what"])["p"].transform(lambda p: holm(p.to_numpy()))
    return found.assign(sure=adjusted < LEVEL)


def page(scores: pd.DataFrame, found: pd.DataFrame) -> Iterator[str]:
    """The page, from what `points` and `gains` found."""
    (tested,) = scores["tested"].unique()
    yield HEAD.format(reader=READER, passes=PASSES, tested=tested)
    yield "\n## What came\n\n![Frozen features over patients](patients/curves.png)\n" + CAME
    for ratio in RATIOS:
        share = f"{100 * ratio:g} % of the labels"
        own = found[found["ratio"] == ratio]
        for title, columns, rows in (
            (f"AUROC minus that of Random, {share}", [corpus.title() for corpus in CORPORA], METHODS),
            (f"Gain in AUROC, {share}", [TENFOLD, FOURFOLD], METHODS),
            (f"Four recordings each, minus Random, {share}", [corpus.title() for corpus in GROWING], GROWING_METHODS),
            (f"Gain of patients and of budget, {share}", GAINS, GROWING_METHODS),
            (f"Longer, minus Random, {share}", [corpus.title() for corpus in LONGER], GROWING_METHODS),
            (f"Gain of patients, longer, {share}", [LONGER_GAIN], GROWING_METHODS),
            (f"Gain by the law, four recordings each, {share}", [*LAW_GAINS], GROWING_METHODS),
        ):
            yield f"\n## {title}\n\n| | {' | '.join(columns)} |\n| --- |{' --- |' * len(columns)}\n"
            for method in rows:
                yield f"| {METHODS[method]} | {' | '.join(entry(own, method, what) for what in columns)} |\n"
        levels = scores[(scores["ratio"] == ratio) & scores["row"].isin([*UNPRETRAINED])]
        named = ", ".join(f"{UNPRETRAINED[line.row]} {line.auroc:.3f}" for line in levels.itertuples())
        yield f"\nRows without pretraining: {named}.\n"
    yield "\n[Scores](patients/points.csv) and [differences](patients/gains.csv).\n"


def entry(found: pd.DataFrame, method: str, what: str) -> str:
    """'+0.012 (0.001 to 0.023)', bold where it is beyond chance."""
    (line,) = found[(found["row"] == method) & (found["what"] == what)].itertuples()
    text = f"{line.gain:+.3f} ({line.low:+.3f} to {line.high:+.3f})".replace("-", "−")
    return f"**{text}**" if line.sure else text


def label(axes: Axes, line: int, column: int, method: str) -> None:
    """The words at a panel of a line of one label ratio and a column of one method."""
    axes.set_xscale("log")
    axes.set_title(METHODS[method] if line == 0 else "")
    axes.set_ylabel(f"AUROC at {100 * RATIOS[line]:g} %" if column == 0 else "")
    axes.set_xlabel("patients" if line == len(RATIOS) - 1 else "")


def draw(scores: pd.DataFrame, file: Path) -> None:
    """A panel per label ratio and method: AUROC over patients, beside the rows without pretraining."""
    with rc_context(SETTINGS):
        figure = Figure(figsize=(TWO_COLUMNS, 3.6), layout="constrained")
        panels = figure.subplots(len(RATIOS), len(METHODS), sharex=True, sharey="row")
        for (line, ratio), (column, method) in product(enumerate(RATIOS), enumerate(METHODS)):
            axes, own = panels[line, column], scores[scores["ratio"] == ratio]
            for row, (dash, colour) in LEVELS.items():
                (level,) = own.loc[own["row"] == row, "auroc"]
                axes.axhline(level, color=colour, linestyle=dash, linewidth=1, label=UNPRETRAINED[row])
            for recordings, budget, mark, title, beside in SERIES:
                there = (own["recordings"] == recordings) & (own["budget"] == budget)
                seen = own[(own["row"] == method) & there].sort_values("patients")
                count, mean, low, high = seen[["patients", "auroc", "low", "high"]].to_numpy().T
                look = {"markersize": 3, "linewidth": 1, "label": title}
                axes.errorbar(beside * count, mean, (mean - low, high - mean), fmt=mark, **look)
            label(axes, line, column, method)
        handles, labels = panels[0, 0].get_legend_handles_labels()
        figure.legend(handles, labels, loc="outside lower center", ncols=3, frameon=False)
        figure.savefig(file, dpi=200)


def draw_law(scores: pd.DataFrame, fitted: pd.DataFrame, file: Path) -> None:
    """A panel per label ratio and method: the law of each budget over patients with four recordings, and the points."""
    with rc_context(SETTINGS):
        figure = Figure(figsize=(TWO_COLUMNS, 3.4), layout="constrained")
        panels = figure.subplots(len(RATIOS), len(GROWING_METHODS), sharex=True, sharey="row")
        for (line, ratio), (column, method) in product(enumerate(RATIOS), enumerate(GROWING_METHODS)):
            axes = panels[line, column]
            for budget, colour in zip(LAW_BUDGETS, ("#0072b2", "#d55e00"), strict=True):
                own = fitted[(fitted[["ratio", "row", "budget"]] == [ratio, method, budget]).all(axis=1)]
                within, beyond = own[own["patients"] <= FARTHEST], own[own["patients"] >= FARTHEST]
                axes.fill_between(own["patients"], own["low"], own["high"], color=colour, alpha=0.15, linewidth=0)
                axes.plot(within["patients"], within["auroc"], color=colour, label=f"law, four each, budget x {budget}")
                axes.plot(beyond["patients"], beyond["auroc"], "--", color=colour, label="its extrapolation")
                seen = scores[(scores[["ratio", "row", "budget"]] == [ratio, method, budget]).all(axis=1)]
                for recordings, mark, each in ((1, "o", "one each"), (4, "s", "four each")):
                    there = seen[seen["recordings"] == recordings]
                    look = {"color": colour, "markersize": 3, "linestyle": "", "label": f"{each}, measured"}
                    axes.plot(there["patients"], there["auroc"], mark, **look)
            label(axes, line, column, method)
        handles, labels = panels[0, 0].get_legend_handles_labels()
        figure.legend(handles, labels, loc="outside lower center", ncols=4, frameon=False)
        figure.savefig(file, dpi=200)


def study() -> None:
    """Run, read, write."""
    asked = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    asked.add_argument("--work", type=Path, default=Path("runs/patients"), help="store of the study (runs/patients)")
    asked.add_argument("--page", type=Path, default=Path("docs/evidence/PATIENTS.md"), help="page that is written")
    asked.add_argument("--read", action="store_true", help="run nothing; write the page of what is there")
    given = asked.parse_args()
    if not given.read:
        run_all(given.work)
    found = read(given.work)
    scores, differences = points(found), gains(found)
    folder = given.page.parent / "patients"
    scores.to_csv(folder / "points.csv", index=False)
    differences.to_csv(folder / "gains.csv", index=False)
    draw(scores, folder / "curves.png")
    fitted = curves(found)
    fitted.to_csv(folder / "law.csv", index=False)
    draw_law(scores, fitted, folder / "law.png")
    given.page.write_text("".join(page(scores, differences)))


if __name__ == "__main__":
    study()
