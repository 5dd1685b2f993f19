"""Run the study of docs/evidence/WHEN.md and write its page and heat maps: python docs/evidence/when/make.py

The config `when` over recordings per patient x persistence of findings, every corpus with as many recordings.
Each run is one of the suite's own: finished ones are read, and Ctrl-C loses nothing. `--read` runs nothing.
"""

from __future__ import annotations

import argparse
import sys
from collections.abc import Iterator
from itertools import product
from pathlib import Path
from typing import NamedTuple

import numpy as np
import pandas as pd
import seaborn as sns
from matplotlib import rc_context
from matplotlib.figure import Figure

from benchmark.config.command_line import OK
from benchmark.extras.answers_planted import Ran, column_of
from reports.figures.style import SETTINGS, SIGNED, TWO_COLUMNS
from reports.runs import open_run
from reports.statistics.estimates import holm
from reports.statistics.table import difference_in
from run_benchmark import main

RECORDINGS_PER_PATIENT = (1, 2, 4, 8)
PERSISTENCE = (0.0, 0.5, 1.0)
CORPUS = 480
"""Recordings of the pretraining corpus, about: each patient has a random number of them with the mean asked for."""
PATIENTS = 1000
"""Patients of the labelled cohort; `gains` tells how many of them are scored."""
ROWS = {
    "PMQ": ("pmq", "random"),
    "PMQ w/o masks": ("pmq:w/o masks", "random"),
    "MoCo": ("moco", "random"),
    "PCLR": ("pclr", "random"),
    "CLOCS": ("clocs", "random"),
    "PMQ − MoCo": ("pmq", "moco"),
}
"""Name of a difference -> the rows of the config between which it is."""
LEVEL = 0.05
EXPECTED = """
## What was expected

Written on 2026-11-26, before any of these corpora was run with 1,000 test patients more and eight labelled subsets
per pretraining (the study had 70 or 88 test patients and one subset until then, and found nothing). The ten corpora
with patients who differ half as much by build (`anatomy` 0.5), for which it was written too, were not run again.

1. PMQ − MoCo is above 0 where findings stay (persistence 1), +0.005 to +0.03, and beyond chance in three or more of
   those eight corpora. Where findings change between two recordings (persistence 0) no corpus is beyond chance above 0.
2. PCLR and CLOCS, whose positives are another recording or another moment of a patient, gain +0.01 to +0.05 over Random
   where findings stay, and lose 0.02 to 0.08 where they change, some of it beyond chance.
3. With one recording per patient every row is within 0.02 of Random.
4. From two to eight recordings per patient PMQ's gain where findings stay moves by 0.015 at most.
5. Intervals reach 0.015 to either side (median) for PMQ − MoCo, and 0.02 for the gains over Random.

Written on 2026-11-26 too, when each row had ten pretrainings and the intervals of PCLR and CLOCS reached 0.017 and
0.018: with fourteen all six medians are 0.0155 at most, and no difference changes its sign.

What came, with sixteen pretrainings per row and differences moderated by all pairs of a corpus: of 1 the sign, beyond
chance in one of the four corpora where findings stay (+0.016) and, unexpected, in one where they change, where PMQ is
below MoCo (−0.021). 2 came: PCLR gains 0.012 to 0.025 where findings stay and loses 0.041 to 0.047 where they change,
CLOCS gains 0.009 to 0.020 and loses 0.024 to 0.030. 3, 4 and 5 came; the gains' intervals reach 0.011 to 0.014
in the median, 53 of all 60 intervals 0.015 at most, the widest 0.018. With fourteen pretrainings the widths came (0.012
to 0.015), and one difference of sixty changed its sign, PMQ's with one recording per patient, from −0.001 to +0.002.
Two more pretrainings were added since PCLR's median was still 0.0152; each step was decided by widths alone. Beyond
chance are 18 differences with ten pretrainings, all of which stay so, 27 with fourteen and 29 with sixteen. With five,
and the variance of each pair alone, the intervals were 0.020 and 0.015 to 0.032, and four differences beyond chance.
"""
HEAD = """# When does a patient memory pay?

For a reader: it depends on whether a patient's findings stay. **Where they do, methods that pull his recordings
together gain** (PCLR 0.012 to 0.025 over an untrained encoder, CLOCS 0.009 to 0.020), **where they change they lose**
(PCLR 0.034 to 0.059, CLOCS 0.011 to 0.039, PMQ 0.008 to 0.035), PCLR and CLOCS beyond chance in eight of ten corpora
each. The patient memory of PMQ against MoCo's queue without patients goes the same way with four recordings per patient
(+0.016 where findings stay, −0.021 where they change, both beyond chance), and is within 0.014 of it elsewhere.

Gain of frozen features over those of the same untrained encoder, and of PMQ over MoCo, on simulated corpora that differ
in how many recordings a patient has and in whether his findings stay over them (`persistence`). Written by
`python docs/evidence/when/make.py`; the config is `benchmark/config/configs/when.yaml`.

Each corpus has about {corpus} recordings, so more recordings per patient are fewer patients. With one recording per
patient persistence has no meaning and is run once. Score: macro AUROC per recording on {low} to {high} test patients of
a simulated PTB-XL, with 10 % of the labels (some 80 patients), linear probe, sixteen pretrainings per row with eight
labelled subsets each. Bold, and a star in the figure: beyond chance at 5 % by Holm's correction over the {cells}
corpora of a panel. Intervals are of seeds and test patients.

The labelled cohort is drawn with the same persistence as the corpus. So the corpora of one persistence share test
patients, labelled subsets and the scores of Random, three cohorts in all: a column of one sign in the figure is one
observation of Random, not many of the methods. PMQ − MoCo does not rest on Random.

Nothing here is about real ECGs: how long findings stay there, the simulator does not know.
"""


class Arm(NamedTuple):
    """One corpus."""

    recordings: int
    persistence: float

    def name(self) -> str:
        """Name of its folder of tables."""
        return f"{self.recordings}-recordings-persistence-{self.persistence:g}"

    def settings(self) -> list[str]:
        """Its config keys, as `--set` takes them."""
        return [
            f"data.simulation.patients.mimic-iv-ecg={CORPUS // self.recordings}",
            f"data.simulation.patients.ptb-xl={PATIENTS}",
            f"data.simulation.recordings_per_patient={self.recordings}",
            f"data.simulation.persistence={self.persistence}",
        ]


def arms() -> Iterator[Arm]:
    """All corpora."""
    for recordings, persistence in product(RECORDINGS_PER_PATIENT, PERSISTENCE):
        if recordings > 1 or persistence == 1:
            yield Arm(recordings, persistence)


def run(arm: Arm, work: Path) -> None:
    """Run what is missing of a corpus. Exits where the run does not end well."""
    own = work / arm.name()
    places = ["--results", str(own / "runs"), "--out", str(own / "out"), "--cache", str(work / "cache")]
    status = main(["run", "--config", "when", "--set", *arm.settings(), *places])
    if status != OK:
        sys.exit(status)


def gains(work: Path) -> pd.DataFrame:
    """One line per finished corpus and row: test patients; gain, low, high, p of the row minus Random."""
    lines = []
    for arm in arms():
        if not (work / arm.name() / "runs").is_dir():
            continue
        column = column_of(Ran(open_run(work / arm.name() / "runs"), (), 0.0))
        for name, (row, other) in ROWS.items():
            found = difference_in(column, row, other)
            gain = {"row": name, "gain": found.mean, "low": found.low, "high": found.high, "p": found.p}
            lines.append(arm._asdict() | {"patients": column.patients} | gain)
    return pd.DataFrame(lines)


def with_holm(found: pd.DataFrame) -> pd.DataFrame:
    """The lines with `sure`: beyond chance by Holm's correction over the corpora of a row."""
    adjusted = found.groupby("row")["p"].transform(lambda p: holm(p.to_numpy()))
    return found.assign(sure=adjusted < LEVEL)


def page(found: pd.DataFrame) -> Iterator[str]:
    """The page: for each row a table of recordings per patient x persistence."""
    tested = sorted(found["patients"].unique())
    yield HEAD.format(corpus=CORPUS, low=tested[0], high=tested[-1], cells=len(list(arms())))
    yield "\n![Gain over Random](when/gains.png)\n"
    yield "\n## What it says\n\n"
    yield from (f"- {line}\n" for line in said(found))
    yield EXPECTED
    for row in ROWS:
        yield f"\n## {row}\n\n| recordings per patient | {' | '.join(map(named, PERSISTENCE))} |\n"
        yield f"| --- |{' --- |' * len(PERSISTENCE)}\n"
        for recordings in RECORDINGS_PER_PATIENT:
            shown = [entry(found, row, Arm(recordings, persistence)) for persistence in PERSISTENCE]
            yield f"| {recordings} | {' | '.join(shown)} |\n"


def said(found: pd.DataFrame) -> Iterator[str]:
    """What the intervals allow to say, one line for each difference."""
    for name, own in found.groupby("row", sort=False):
        sure, half = own[own["sure"]], (own["high"] - own["low"]) / 2
        above, below = int((sure["gain"] > 0).sum()), int((sure["gain"] < 0).sum())
        stays = own[own["persistence"] == 1]["gain"]
        text = (
            f"**{name}**: of {len(own)} corpora {above} beyond chance above 0, {below} below; intervals reach "
            f"{half.median():.3f} to either side (median). "
            f"Where findings stay {stays.min():+.3f} to {stays.max():+.3f}."
        )
        yield text.replace("-", "−")


def named(persistence: float) -> str:
    """Heading of a column."""
    return f"persistence {persistence:g}"


def entry(found: pd.DataFrame, row: str, arm: Arm) -> str:
    """'+0.012 (0.001 to 0.023)' of one corpus; '' where it was not run."""
    own = of_arm(found, row, arm)
    if own is None:
        return ""
    text = f"{own.gain:+.3f} ({own.low:+.3f} to {own.high:+.3f})".replace("-", "−")
    return f"**{text}**" if own.sure else text


def of_arm(found: pd.DataFrame, row: str, arm: Arm) -> pd.Series | None:
    """The line of a row on a corpus."""
    same = found[(found["row"] == row) & (found[list(Arm._fields)] == list(arm)).all(axis=1)]
    return None if same.empty else same.iloc[0]


def draw(found: pd.DataFrame, file: Path) -> None:
    """Heat maps of the gain, one for each row of the table; a star where it is beyond chance."""
    most = float(np.abs(found["gain"]).max())
    with rc_context(SETTINGS):
        figure = Figure(figsize=(TWO_COLUMNS, 1.9), layout="constrained")
        panels = figure.subplots(1, len(ROWS), sharey=True)
        for axes, row in zip(panels, ROWS, strict=True):
            shown = [[of_arm(found, row, Arm(r, p)) for p in PERSISTENCE] for r in RECORDINGS_PER_PATIENT]
            values = [[np.nan if own is None else own.gain for own in line] for line in shown]
            words = [
                ["" if own is None else f"{own.gain:+.2f}{'*' if own.sure else ''}" for own in line] for line in shown
            ]
            heat = {"vmin": -most, "vmax": most, "cmap": SIGNED, "cbar": False, "linewidths": 0.5}
            sns.heatmap(np.array(values), annot=np.array(words), fmt="", ax=axes, annot_kws={"size": 6}, **heat)
            axes.set_xticklabels([f"{p:g}" for p in PERSISTENCE])
            axes.set_yticklabels([str(r) for r in RECORDINGS_PER_PATIENT], rotation=0)
            axes.set_title(row)
            axes.set_xlabel("persistence")
        panels[0].set_ylabel("recordings per patient")
        figure.savefig(file, dpi=200)


def study() -> None:
    """Run, read, write."""
    asked = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    asked.add_argument("--work", type=Path, default=Path("runs/when"), help="store of the study (runs/when)")
    asked.add_argument(
        "--page", type=Path, default=Path("docs/evidence/WHEN.md"), help="page that is written (docs/evidence/WHEN.md)"
    )
    asked.add_argument("--read", action="store_true", help="run nothing; write the page of what is there")
    found = asked.parse_args()
    for arm in () if found.read else arms():
        print(f"== {arm.name()}", flush=True)
        run(arm, found.work)
    lines = with_holm(gains(found.work))
    picture = found.page.parent / "when" / "gains.png"
    picture.parent.mkdir(parents=True, exist_ok=True)
    draw(lines, picture)
    found.page.write_text("".join(page(lines)))
    lines.to_csv(picture.with_suffix(".csv"), index=False)


if __name__ == "__main__":
    study()
