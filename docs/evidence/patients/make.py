"""Run the study of docs/evidence/PATIENTS.md and write its page: python docs/evidence/patients/make.py

The config `patients.yaml` over patients x recordings per patient of the pretraining corpus, with as many encoder passes
on every corpus, and once the rows that need no pretraining. Each run is one of the suite's own: finished ones are read,
and Ctrl-C loses nothing. `--read` runs nothing.

The law: AUROC = a - b P^-c R^-d, of P patients with R recordings each.
"""

from __future__ import annotations

import argparse
import sys
from collections.abc import Iterator
from functools import partial
from itertools import product
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
import pandas as pd
from matplotlib import rc_context
from matplotlib.figure import Figure
from numpy.typing import NDArray

from benchmark.config.command_line import OK
from reports.figures.style import SETTINGS, TWO_COLUMNS
from reports.runs import open_run
from reports.statistics.bootstrap import ScoreColumn, score_columns
from reports.statistics.estimates import estimate
from run_benchmark import main

Floats = NDArray[np.float64]
PATIENTS = (100, 300, 1000, 3000, 10_000)
RECORDINGS = (1, 4)
OF_FOUR = (300, 3000)
"""Numbers of patients that are run with four recordings each as well as with one."""
PASSES = 6 * 400 * 3
"""Epochs x recordings of the config `small`; every corpus has as many."""
METHODS = {"pmq": "PMQ", "moco": "MoCo", "pclr": "PCLR", "clocs": "CLOCS", "byol": "BYOL", "comet": "COMET"}
UNPRETRAINED = {"random": "Random", "features": "Beat features, boosted", "minirocket": "MiniRocket + ridge"}
RATIOS = (0.1, 0.01)
RESAMPLES = 1000
MOST = 1_000_000
"""Patients; further out a curve says nothing."""
COLOURS = ("#0072b2", "#d55e00")
"""Of one recording per patient and of four."""
LEVELS = {"random": ("-", "#999999"), "features": ("--", "#444444"), "minirocket": (":", "#444444")}
"""Row without pretraining -> its line and colour."""
READER = """For a reader: to be written."""
CAME = """To be written.
"""
POWERS = np.geomspace(0.02, 2.0, 25)
"""Values of c that are tried; those of d are these and zero."""

HEAD = """# How many patients does a pretraining need?

{reader}

Frozen features against the patients of the pretraining corpus and their recordings, at as many encoder passes on every
corpus. Written by `python docs/evidence/patients/make.py`; the config is `docs/evidence/patients/patients.yaml`.

Small encoders at 83 Hz, pretrained on simulated corpora of 100 to 10,000 patients with one recording each, and of 300
and 3,000 with four, {passes:,} recordings seen in all by each. Score: macro AUROC per recording on {tested} test
patients of a simulated PTB-XL, linear probe, five pretrainings per row with four labelled subsets each, with 10 %
of the labels (some 80 patients) and with 1 % (7 or 8). All corpora share seeds, labelled subsets and test patients.
Rows without pretraining have the same labelled patients: an untrained encoder (Random), boosted beat features,
MiniRocket with a ridge classifier. Intervals are at 95 %, of pretrainings and test patients.

Nothing here is about real ECGs: the simulator knows a few dozen ways in which hearts differ, and no more patients can
teach what is not in it.

## Expected before the runs were made

- At 10 % of the labels tenfold patients are worth +.005 to +.03 of AUROC for PMQ, PCLR and CLOCS, which tell patients
  apart or pair them, and at most +.01 for MoCo and BYOL. At 1 % no gain is beyond chance.
- Fourfold recordings are worth less than tenfold patients for every method.
- PMQ passes Random at 10 % of the labels with less than 1,000 patients. No method comes to the boosted features or
  MiniRocket within 10,000 patients at 10 %.
"""


class Corpus(NamedTuple):
    """One pretraining corpus: its patients, and the mean of their numbers of recordings."""

    patients: int
    recordings: int

    def name(self) -> str:
        """Name of its folder of tables."""
        return f"{self.patients}-patients-{self.recordings}-recordings"

    def settings(self) -> list[str]:
        """Its config keys, as `--set` takes them."""
        return [
            f"data.simulation.patients.mimic-iv-ecg={self.patients}",
            f"data.simulation.recordings_per_patient={self.recordings}",
            f"pretrain.epochs={PASSES / (self.patients * self.recordings)!r}",
        ]


def corpora() -> Iterator[Corpus]:
    """All corpora, those of one recording per patient first."""
    yield from (Corpus(patients, 1) for patients in PATIENTS)
    yield from (Corpus(patients, RECORDINGS[-1]) for patients in OF_FOUR)


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
    for corpus in corpora():
        print(f"== {corpus.name()}", flush=True)
        run(work, corpus.name(), "--set", *corpus.settings())


def columns_of(store: Path) -> Iterator[ScoreColumn]:
    """AUROC of each table and label ratio of a finished run."""
    opened = open_run(store)
    for evaluation in dict.fromkeys(cell.evaluation for cell in opened.plan.cells):
        cells = [cell for cell in opened.plan.cells if cell.evaluation == evaluation]
        for column in score_columns(opened, cells, "recording", metrics=["auroc"], resamples=RESAMPLES):
            if column.dataset:
                yield column


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
    for corpus in corpora():
        for column in columns_of(work / corpus.name() / "runs"):
            assert column.patients == found[column.ratio].patients, "corpora share their test patients"
            rows = ((variant, corpus) for variant in column.variants)
            found[column.ratio].pretrained.update(zip(rows, column.scores, strict=True))
    return found


class Law(NamedTuple):
    """a - b P^-c R^-d, each number with a leading axis of draws: (N,)."""

    a: Floats
    b: Floats
    c: Floats
    d: Floats

    def at(self, patients: float, recordings: float) -> Floats:
        """The curve's value."""
        value: Floats = self.a - self.b * patients**-self.c * recordings**-self.d  # (N,)
        return value

    def reaches(self, level: Floats, recordings: float) -> Floats:
        """The number of patients at which a rising curve comes to a level; infinite where it does not, (N,)."""
        with np.errstate(all="ignore"):
            found = (self.b * recordings**-self.d / (self.a - level)) ** (1 / self.c)
        return np.where((self.b > 0) & (self.a > level), found, np.inf)  # (N,)


def fitted(patients: Floats, recordings: Floats, scores: Floats) -> Law:
    """The law by least squares through K corpora: over a grid of c and d, with a and b of a line for each.

    patients, recordings: (K,). scores: (N, K), each line a draw that is fitted alone.
    """
    c, d = (grid.ravel() for grid in np.meshgrid(POWERS, [0.0, *POWERS], indexing="ij"))  # (G,), (G,)
    x = patients[:, None] ** -c * recordings[:, None] ** -d  # (K, G)
    centred = x - x.mean(axis=0)  # (K, G)
    moment = (scores - scores.mean(axis=1, keepdims=True)) @ centred  # (N, G)
    spread = (centred**2).sum(axis=0)  # (G,)
    best = (moment**2 / spread).argmax(axis=1)  # (N,) least residual
    slope = moment[np.arange(len(best)), best] / spread[best]  # (N,)
    return Law(scores.mean(axis=1) - slope * x.mean(axis=0)[best], -slope, c[best], d[best])


def draws(scores: Floats, generator: np.random.Generator) -> Floats:
    """Means of K scores as other pretrainings and test patients would have them: (K, S, 1+R) -> (1+R, K).

    The first is what was found. Pretrainings enter as Student's t of S - 1 degrees of freedom with their covariance
    among corpora, test patients by resamples.
    """
    _, seeds, count = scores.shape
    mean = scores[..., 0].mean(axis=1)  # (K,)
    apart = scores[..., 0] - mean[:, None]  # (K, S)
    normal = generator.standard_normal((seeds, count)) / np.sqrt(seeds * (seeds - 1))  # (S, 1+R)
    normal /= np.sqrt(generator.chisquare(seeds - 1, count) / (seeds - 1))
    normal[:, 0] = 0.0
    found: Floats = (scores.mean(axis=1) + apart @ normal).T  # (1+R, K)
    return found


def slope(sizes: Floats, scores: Floats) -> Floats:
    """Least squares' gain per unit of `sizes` (K, 2), of patients and of recordings: (K, S, 1+R) -> (2, S, 1+R)."""
    weights = np.linalg.pinv(sizes - sizes.mean(axis=0))  # (2, K)
    gains: Floats = np.tensordot(weights, scores, axes=1)  # (2, S, 1+R)
    return gains


def points(found: dict[float, Scores]) -> pd.DataFrame:
    """One line per label ratio, row and corpus: AUROC and its interval; a row without pretraining has corpus 0 x 0."""
    lines = []
    for ratio, own in found.items():
        rows = own.pretrained | {(name, Corpus(0, 0)): scores for name, scores in own.unpretrained.items()}
        for (row, corpus), scores in rows.items():
            shown = estimate(scores, own.patients)
            place = {"ratio": ratio, "row": row, **corpus._asdict(), "tested": own.patients}
            lines.append(place | {"auroc": shown.mean, "low": shown.low, "high": shown.high})
    return pd.DataFrame(lines)


def laws(found: dict[float, Scores]) -> pd.DataFrame:
    """One line per label ratio, method and quantity: its value and 95 % interval."""
    lines: list[dict[str, Any]] = []
    sizes = np.array(list(corpora()), dtype=float)  # (K, 2)
    decades = np.log(sizes) / np.log([10, 4])  # (K, 2)
    for (ratio, own), method in product(found.items(), METHODS):
        line = partial(dict, ratio=ratio, row=method)
        scores = np.stack([own.pretrained[method, corpus] for corpus in corpora()])  # (K, S, 1+R)
        for name, gain in zip(("tenfold patients", "fourfold recordings"), slope(decades, scores), strict=True):
            shown = estimate(gain, own.patients)
            lines.append(line(what=name, value=shown.mean, low=shown.low, high=shown.high))
        unpretrained = np.stack([own.unpretrained[name] for name in UNPRETRAINED])  # (3, S, 1+R)
        drawn = draws(np.concatenate([scores, unpretrained]), np.random.default_rng(0))  # (1+R, K+3)
        law = fitted(*sizes.T, drawn[:, : len(sizes)])
        quantities = law._asdict() | {
            f"{name} at {recordings}": law.reaches(drawn[:, len(sizes) + place], recordings)
            for (place, name), recordings in product(enumerate(UNPRETRAINED), RECORDINGS)
        }
        for name, values in quantities.items():
            low, high = np.quantile(values[1:], (0.025, 0.975), method="nearest")
            lines.append(line(what=name, value=values[0], low=low, high=high))
    return pd.DataFrame(lines)


def page(scores: pd.DataFrame, found: pd.DataFrame) -> Iterator[str]:
    """The page, from what `points` and `laws` found."""
    (tested,) = scores["tested"].unique()
    yield HEAD.format(reader=READER, passes=PASSES, tested=tested)
    yield "\n![Frozen features over patients](patients/curves.png)\n"
    yield f"\n## What came\n\n{CAME}"
    for ratio in RATIOS:
        own = found[found["ratio"] == ratio]
        yield f"\n## With {ratio:.0%} of the labels\n".replace("%", " %")
        yield "\nGain in AUROC. Bold: the interval excludes zero.\n\n| | tenfold patients | fourfold recordings |\n"
        yield "| --- | --- | --- |\n"
        for method, title in METHODS.items():
            shown = [gain_of(line_of(own, method, what)) for what in ("tenfold patients", "fourfold recordings")]
            yield f"| {title} | {' | '.join(shown)} |\n"
        yield "\nThe law AUROC = a - b P^-c R^-d of P patients with R recordings, by least squares.\n\n"
        yield "| | a | b | c | d |\n| --- | --- | --- | --- | --- |\n"
        for method, title in METHODS.items():
            shown = [number_of(line_of(own, method, what)) for what in "abcd"]
            yield f"| {title} | {' | '.join(shown)} |\n"
        yield (
            "\nBreak-even: patients at which the law comes to a row without pretraining, with one recording each and "
            "with four. *Italic*: extrapolated\nbeyond the corpora that were run.\n\n"
        )
        places = [*product(UNPRETRAINED, RECORDINGS)]
        yield "| | " + " | ".join(f"{UNPRETRAINED[name]}, {recordings}" for name, recordings in places) + " |\n"
        yield "| --- |" + " --- |" * len(places) + "\n"
        for method, title in METHODS.items():
            shown = [patients_of(line_of(own, method, f"{name} at {recordings}")) for name, recordings in places]
            yield f"| {title} | {' | '.join(shown)} |\n"
    yield "\nScores of every corpus: [points](patients/points.csv); the laws and gains: [laws](patients/laws.csv).\n"


def line_of(found: pd.DataFrame, row: str, what: str) -> pd.Series:
    """The line of a method's quantity at one label ratio."""
    (place,) = found.index[(found["row"] == row) & (found["what"] == what)]
    return found.loc[place]


def gain_of(line: pd.Series) -> str:
    """'+0.012 (0.001 to 0.023)', bold where the interval excludes zero."""
    text = f"{line.value:+.3f} ({line.low:+.3f} to {line.high:+.3f})".replace("-", "−")
    return f"**{text}**" if line.low > 0 or line.high < 0 else text


def number_of(line: pd.Series) -> str:
    """'0.812 (0.790 to 0.840)' of a parameter."""
    return f"{line.value:.3g} ({line.low:.3g} to {line.high:.3g})".replace("-", "−")


def patients_of(line: pd.Series) -> str:
    """'400 (120 to *20,000*)' of a break-even; 'not reached' where the curve stays below."""
    if np.isinf(line.value):
        return "not reached" if np.isinf(line.low) else f"not reached (from {count_of(line.low)})"
    return f"{count_of(line.value)} ({count_of(line.low)} to {count_of(line.high)})"


def count_of(patients: float) -> str:
    """A number of patients to two digits, in italics beyond the corpora that were run."""
    if np.isinf(patients):
        return "never"
    if patients < PATIENTS[0]:
        return f"below {PATIENTS[0]}"
    if patients > MOST:
        return f"*above {MOST:,}*"
    rounded = f"{float(f'{patients:.2g}'):,.0f}"
    return f"*{rounded}*" if patients > PATIENTS[-1] else rounded


def draw(scores: pd.DataFrame, found: pd.DataFrame, file: Path) -> None:
    """A panel per label ratio and method: AUROC over patients, the law, and the rows without pretraining."""
    over = np.geomspace(PATIENTS[0], 3 * PATIENTS[-1], 60)
    with rc_context(SETTINGS):
        figure = Figure(figsize=(TWO_COLUMNS, 3.6), layout="constrained")
        panels = figure.subplots(len(RATIOS), len(METHODS), sharex=True, sharey="row")
        for (line, ratio), (column, method) in product(enumerate(RATIOS), enumerate(METHODS)):
            axes, own = panels[line, column], scores[scores["ratio"] == ratio]
            for name, (dash, colour) in LEVELS.items():
                level = own[own["row"] == name].iloc[0]
                axes.axhline(level.auroc, color=colour, linestyle=dash, linewidth=1, label=UNPRETRAINED[name])
            law = [line_of(found[found["ratio"] == ratio], method, what).value for what in "abcd"]
            for recordings, colour in zip(RECORDINGS, COLOURS, strict=True):
                seen = own[(own["row"] == method) & (own["recordings"] == recordings)]
                errors = (seen["auroc"] - seen["low"], seen["high"] - seen["auroc"])
                axes.errorbar(seen["patients"], seen["auroc"], errors, color=colour, fmt="o", markersize=3, linewidth=1)
                curve = Law(*(np.array([value]) for value in law))
                values = np.array([curve.at(patients, recordings)[0] for patients in over])
                inside = over <= seen["patients"].max()
                label = "1 recording" if recordings == 1 else f"{recordings} recordings"
                axes.plot(over[inside], values[inside], color=colour, linewidth=1, label=label)
                axes.plot(over[~inside], values[~inside], color=colour, linewidth=1, linestyle=":")
            axes.set_xscale("log")
            axes.set_title(METHODS[method] if line == 0 else "")
            axes.set_ylabel(f"AUROC, {ratio:.0%} of the labels".replace("%", " %") if column == 0 else "")
            axes.set_xlabel("patients" if line == len(RATIOS) - 1 else "")
        handles, labels = panels[0, 0].get_legend_handles_labels()
        figure.legend(handles, labels, loc="outside lower center", ncols=len(labels), frameon=False)
        figure.savefig(file, dpi=200)


def study() -> None:
    """Run, read, write."""
    asked = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    asked.add_argument("--work", type=Path, default=Path("runs/patients"), help="store of the study (runs/patients)")
    asked.add_argument(
        "--page",
        type=Path,
        default=Path("docs/evidence/PATIENTS.md"),
        help="page that is written (docs/evidence/PATIENTS.md)",
    )
    asked.add_argument("--read", action="store_true", help="run nothing; write the page of what is there")
    given = asked.parse_args()
    if not given.read:
        run_all(given.work)
    found = read(given.work)
    tables = {"points": points(found), "laws": laws(found)}
    folder = given.page.parent / "patients"
    folder.mkdir(parents=True, exist_ok=True)
    for name, table in tables.items():
        table.to_csv(folder / f"{name}.csv", index=False)
    draw(tables["points"], tables["laws"], folder / "curves.png")
    given.page.write_text("".join(page(tables["points"], tables["laws"])))


if __name__ == "__main__":
    study()
