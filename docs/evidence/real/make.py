"""Write docs/evidence/REAL.md from the report of the config `real`: python docs/evidence/real/make.py --out DIR

The report is that of `python run_benchmark.py --config real --data-root DATA`. With --batches RUNS, --resnet DIR and
--attention DIR the page's other sections are written anew: from the store of the run whose batches are within one
source, and from the reports of the runs of resnet1d and of the attention head, as their commands on the page have it.
What is not given is read from the tables beside this file.
"""

from __future__ import annotations

import argparse
import shutil
from collections.abc import Iterator, Mapping
from pathlib import Path

import numpy as np
import pandas as pd

from benchmark.results.names import AT
from reports.runs import open_run
from reports.statistics.bootstrap import score_columns
from reports.statistics.estimates import estimate

PAGE = Path("docs/evidence/REAL.md")
FIGURE = "linear-recording-differences-in-overall.png"
COLUMNS = {
    "ptb-xl": "PTB-XL superclasses",
    "ptb-xl.subdiagnostic": "PTB-XL subclasses",
    "ptb-xl.form": "PTB-XL form",
    "ptb-xl.rhythm": "PTB-XL rhythm",
    "challenge-2011": "ECG quality",
    "brugada-huca": "Brugada",
    "ludb": "LUDB rhythm",
    "cpsc2018": "CPSC2018",
    "overall": "Overall",
}
"""Dataset of a report -> heading."""
OVERALL = "overall"
WAYS = {"linear": "linear", "attention": "attention", "finetune": "fine-tuned"}
"""Evaluation -> heading."""
LEVEL = 0.05
TABLES = ("scores", "differences", "batches", "attention")
"""Beside the page."""

HEAD = """# Real recordings from seven sources

For a reader: **on real ECGs ETP, which learns from reports, PCLR and CLOCS lift a small encoder's frozen features above
those of an untrained one, and none of them comes up to features that need no pretraining. A patient memory (PMQ) and a
queue without patients (MoCo) are equivalent within two points of Overall** (PMQ − MoCo +0.4, −0.5 to 1.2, with all
labels; −0.1, −1.2 to 1.0, with a tenth; almost every patient here has one recording). With all labels boosted beat
features have an Overall of 63.7, MiniRocket 62.2, ETP 58.0, PCLR 51.2, an untrained encoder 48.9; with a tenth of the
labels ETP (50.9) is level with MiniRocket (50.2) and the boosted features (49.5).

```
python run_benchmark.py --config real --data-root /data \\
    --data chapman=/data/chapman/WFDB_ChapmanShaoxing ningbo=/data/chapman/WFDB_Ningbo
```

3,642 recordings that are openly licensed, most of them excerpts of the releases
([cards](../OWN_DATA.md#public-sources-by-a-card)): 2,273 of PTB-XL, 800 of Challenge 2011, 300 of Brugada-HUCA, 150 of
LUDB, 76 of CPSC2018 and 43 of Chapman and Ningbo. 1,785 of PTB-XL's were band-passed and z-scored by a mirror, and have
no true amplitude. Pretrained on the 1,796 of PTB-XL's training folds, Chapman and Ningbo, 1,763 patients: with hardly a
patient who has two recordings, the patients of PMQ, CLOCS and PCLR are all but recordings. Crops of 2.5 s at 100 Hz,
small encoders (16 channels, 64 features), as many encoder passes for each method as eight epochs cost PMQ, five
pretrainings per row.

PTB-XL is tested on its tenth fold (85 to 242 patients); the other sources are cross-validated in five parts, so that
each of their patients is tested (748, 294, 146 and 76) and none is pretrained on. At 10 % of the labels some 170
patients of PTB-XL are labelled, 50 of Challenge 2011, 20 of Brugada-HUCA and 10 of LUDB. Linear probe on frozen
features; the rows below PMQ are boosted beat features, MiniRocket with a ridge regression (2,520 features), and the
same encoder trained from scratch for ten epochs with all labels; with all labels also the PTB-XL benchmark's resnet1d
of 439,040 parameters, likewise (`--encoder resnet1d --methods random --gates supervised --ratios 1.0`).

What it says:

- **Reports help.** ETP is above every other row of its table but the gates, at both label shares, expected again. Its
  reports are PTB-XL's, written by the cardiologists who labelled it, in part the labels in other words; but it leads on
  Brugada-HUCA, LUDB and CPSC2018 too, whose reports it has not seen.
- **Positives from another moment** (CLOCS, and PCLR where a patient has one recording) help by 2.2 to 2.5 points,
  significant at both shares; the two are equivalent within two points of each other. Both are above PMQ at 10 % of the
  labels, and PCLR is with all of them.
- **PMQ, MoCo and BYOL** are not told apart from Random; PMQ and MoCo are equivalent. COMET is below Random with all
  labels (−2.1).
- **What needs no pretraining is better**, by 4 and 6 points with all labels. A pretraining of a few minutes on 1,800
  recordings of an encoder of this size is small; nothing here is about a foundation model.
- Differences from 2.1 points are told apart with all labels and from 2.5 with a tenth, of 28 pairs with power 80 %.
  Eleven pretrainings would tell two points at a tenth, fifteen 1.5
  ([design](../COMPARISON.md#what-a-grid-will-tell-apart)): more than two thirds of the error are of encoders.

Of the 21 pairs of methods four are not told apart with all labels and seven with a tenth. Classes without a test
recording, notes per column and all metrics are in the report that the command writes. Its capsule of 45 MB is not in
this repository: `report --capsule` packs one from a run.

![Overall minus Random's](real/differences.png)
"""


BATCHES = """
## Batches of one source, or mixed

Mixing hospitals within a batch is reported to hurt outside of them: a method may tell hospitals apart instead of
patients. Here PTB-XL's training part, Challenge 2011 and Brugada-HUCA are one corpus, with batches mixed of all three
or each within one (`pretrain.batches`), otherwise as above and with all labels:

```
python run_benchmark.py --config real --data-root /data --methods random moco clocs pclr pmq --gates none \\
    --pretrain-dataset ptb-xl challenge-2011 brugada-huca --datasets ptb-xl ludb cpsc2018 --ratios 1.0 \\
    --train-on ptb-xl.rhythm --test-on ludb --tasks default subdiagnostic form rhythm \\
    --set "sweeps.moco={{pretrain.batches: [within]}}" "sweeps.clocs={{pretrain.batches: [within]}}" \\
    "sweeps.pclr={{pretrain.batches: [within]}}" "sweeps.pmq={{pretrain.batches: [within]}}"
```

Within − mixed in points of macro AUROC, the mean of PTB-XL's four tasks (*inside*), and of LUDB, CPSC2018 and what was
learned on PTB-XL's rhythms and tested on LUDB (*outside*, sources that no encoder saw); 95 % intervals of five
pretrainings and the test patients. {told}

| | inside | outside |
| --- | --- | --- |
"""
ATTENTION = """
## Linear, under an attention head, fine-tuned

The same encoders on PTB-XL's superclasses and rhythms: the linear probe on the mean over the steps, a learned query
over the frozen steps, and all weights fine-tuned ([evaluations](../PROTOCOLS.md#evaluations)).

```
python run_benchmark.py --config real --data-root /data --datasets ptb-xl --tasks default rhythm --gates none \\
    --evaluate linear attention finetune --ratios 0.1 --subsets 1
```

Macro AUROC per recording in percent with 10 % of the labels, mean over five pretrainings with one labelled subset each.
On superclasses the head adds nothing to the mean over the steps. On rhythms it lifts the rows whose mean says least of
them (PMQ and BYOL by 9 points, MoCo 8, COMET 7, Random 4) and lowers those whose mean says most (ETP, CLOCS and PCLR by
3 to 5), as a head with some hundred labelled recordings may. Fine-tuned, all rows are within 1.8 points of each other
on superclasses, and ETP, PCLR and CLOCS lead on rhythms. In Overall of these two columns ETP and PCLR are above Random
under the linear probe, ETP alone under the head, and no row fine-tuned.

| | {heads} |
| --- |{columns}
"""


def batches_of(results: Path) -> pd.DataFrame:
    """Within minus mixed of each method in AUROC, inside and outside, from the store of that run."""
    run = open_run(results)
    cells = [cell for cell in run.plan.cells if cell.evaluation == "linear"]
    columns = score_columns(run, cells, "recording", metrics=["auroc"])
    lines = []
    for method in ("moco", "clocs", "pclr", "pmq"):
        line: dict[str, object] = {"row": run.plan.variants[method]}
        for side in ("inside", "outside"):
            own = [column for column in columns if column.dataset and of_side(column.dataset) == side]
            gains = [
                column.scores[column.variants.index(f"{method}:pretrain.batches=within")]
                - column.scores[column.variants.index(method)]
                for column in own
            ]
            found = estimate(np.mean(gains, axis=0), min(column.patients for column in own))
            line |= {side: found.mean, f"{side} low": found.low, f"{side} high": found.high, f"{side} p": found.p}
        lines.append(line)
    return pd.DataFrame(lines)


def of_side(dataset: str) -> str:
    """Whether a column is of a source that was pretrained on."""
    return "inside" if dataset.startswith("ptb-xl") and AT not in dataset else "outside"


def of_batches(found: pd.DataFrame) -> Iterator[str]:
    """The section on batches within one source."""
    sure = int((found[["inside p", "outside p"]] < LEVEL).to_numpy().sum())
    told = "None of the eight differences has p below 5 %." if not sure else f"{sure} of eight have p below 5 %."
    yield BATCHES.format(told=told)
    for line in found.to_dict("records"):
        shown = [
            f"{100 * line[side]:+.1f} ({100 * line[f'{side} low']:.1f} to {100 * line[f'{side} high']:.1f})"
            for side in ("inside", "outside")
        ]
        yield f"| {line['row']} | {' | '.join(shown)} |\n".replace("-", "−")


def attention_of(out: Path) -> pd.DataFrame:
    """Row, dataset, evaluation -> AUROC in percent."""
    found = pd.read_csv(out / "results.csv")
    found = found[(found["metric"] == "auroc") & found["dataset"].notna()]
    return found[["evaluation", "ratio", "variant", "title", "dataset", "mean_percent", "std_percent"]]


def of_attention(found: pd.DataFrame) -> Iterator[str]:
    """The section on ways to judge an encoder."""
    places = [(dataset, way) for dataset in ("ptb-xl", "ptb-xl.rhythm") for way in WAYS]
    heads = [f"{COLUMNS[dataset].removeprefix('PTB-XL ')}, {WAYS[way]}" for dataset, way in places]
    yield ATTENTION.format(heads=" | ".join(heads), columns=" ---: |" * len(places))
    titles = dict(zip(found["variant"], found["title"], strict=True))
    wide = found.set_index(["variant", "dataset", "evaluation"])["mean_percent"]
    for row, title in titles.items():
        yield f"| {title} | {' | '.join(f'{wide[row, dataset, way]:.1f}' for dataset, way in places)} |\n"


def scores_of(out: Path, resnet: Path | None) -> pd.DataFrame:
    """Ratio, row, dataset -> AUROC in percent, mean and deviation over seeds; and Overall, the mean of all metrics.

    resnet: a further report, of which the row trained from scratch is taken.
    """
    found = pd.read_csv(out / "results.csv")
    if resnet:
        other = pd.read_csv(resnet / "results.csv")
        other = other[other["variant"] == "supervised"]
        found = pd.concat([found, other.assign(variant="supervised-resnet1d", title="Supervised, resnet1d")])
    found = found[found["metric"].isin(["auroc", OVERALL])].copy()
    found["dataset"] = found["dataset"].fillna(OVERALL)
    kept = ["ratio", "variant", "title", "dataset", "metric", "mean_percent", "std_percent", "n"]
    return found[kept].reset_index(drop=True)


def differences_of(out: Path) -> pd.DataFrame:
    """Differences of the rows in AUROC and Overall, with their tests."""
    found = pd.read_csv(out / "pairwise.csv")
    found = found[found["metric"].isin(["auroc", OVERALL])]
    kept = ["ratio", "dataset", "metric", "first", "second", "difference", "low", "high", "p_holm", "p_equivalent"]
    return found[kept].reset_index(drop=True)


def table(scores: pd.DataFrame, titles: Mapping[str, str], ratio: float) -> Iterator[str]:
    """AUROC of every row and column at a label ratio, in percent, and Overall; the best of a column bold."""
    wide = scores[scores["ratio"] == ratio].pivot(index="variant", columns="dataset", values="mean_percent")
    best = wide.max()
    yield f"\n| | {' | '.join(COLUMNS.values())} |\n| --- |{' ---: |' * len(COLUMNS)}\n"
    for row in [row for row in titles if row in wide.index]:
        values = [(wide.loc[row, name], best[name]) for name in COLUMNS]
        shown = [f"**{value:.1f}**" if value == most else f"{value:.1f}" for value, most in values]
        yield f"| {titles[row]} | {' | '.join(shown)} |\n"


def over_random(differences: pd.DataFrame, titles: Mapping[str, str], ratio: float) -> Iterator[str]:
    """Overall of every row minus Random's, in points; bold where significant after Holm's correction."""
    own = differences[(differences["ratio"] == ratio) & (differences["metric"] == OVERALL)]
    for one in own[own["first"] == "random"].itertuples():
        text = f"{-100 * one.difference:+.1f} ({-100 * one.high:.1f} to {-100 * one.low:.1f})".replace("-", "−")
        yield f"| {titles[one.second]} | {f'**{text}**' if one.p_holm < LEVEL else text} | {one.p_holm:.3f} |\n"


def page(
    scores: pd.DataFrame, differences: pd.DataFrame, batches: pd.DataFrame, attention: pd.DataFrame
) -> Iterator[str]:
    """The page: what was found, then the tables."""
    yield HEAD
    titles = dict(zip(scores["variant"], scores["title"], strict=True))
    for ratio in sorted(scores["ratio"].unique(), reverse=True):
        yield f"\n## {100 * ratio:g} % of the labels\n"
        yield "\nMacro AUROC per recording in percent, mean over five pretrainings.\n"
        yield from table(scores, titles, ratio)
        yield "\nOverall (mean of F1, AUROC and ACC of all columns) minus Random's in points, with 95 % intervals:\n\n"
        yield "| | difference | p, Holm |\n| --- | --- | ---: |\n"
        yield from over_random(differences, titles, ratio)
    yield from of_batches(batches)
    yield from of_attention(attention)


def study() -> None:
    """Read and write."""
    asked = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    asked.add_argument("--out", type=Path, help="folder of the report of the config real")
    asked.add_argument("--batches", type=Path, help="store of the run with batches within one source")
    asked.add_argument("--attention", type=Path, help="report of the run under an attention head")
    asked.add_argument("--resnet", type=Path, help="report of the run of resnet1d")
    found = asked.parse_args()
    folder = PAGE.parent / "real"
    if found.batches:
        batches_of(found.batches).to_csv(folder / "batches.csv", index=False)
    if found.attention:
        attention_of(found.attention).to_csv(folder / "attention.csv", index=False)
    if found.out:
        scores_of(found.out, found.resnet).to_csv(folder / "scores.csv", index=False)
        differences_of(found.out).to_csv(folder / "differences.csv", index=False)
        shutil.copy(found.out / "figures" / FIGURE, folder / "differences.png")
    tables = (pd.read_csv(folder / f"{name}.csv", float_precision="round_trip") for name in TABLES)
    PAGE.write_text("".join(page(*tables)), encoding="utf-8")


if __name__ == "__main__":
    study()
