"""Write docs/evidence/REAL.md from the report of the config `real`: python docs/evidence/real/make.py --out DIR

The report is that of `python run_benchmark.py --config real --data-root DATA`; without --out the page is written anew
from the tables beside this file.
"""

from __future__ import annotations

import argparse
import shutil
from collections.abc import Iterator, Mapping
from pathlib import Path

import pandas as pd

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
LEVEL = 0.05

HEAD = """# Real recordings from seven sources

For a reader: **on real ECGs only ETP, which learns from reports, and with all labels PCLR lift a small encoder's frozen
features above those of an untrained one, and none of them comes up to features that need no pretraining.** With all
labels boosted beat features have an Overall of 63.7, MiniRocket 62.2, ETP 58.0, PCLR 51.2, an untrained encoder 48.9;
with a tenth of the labels ETP (50.9) is level with MiniRocket (50.2) and the boosted features (49.5). PMQ is within 1.3
points of MoCo (+0.4, −0.6 to 1.3, and −0.1, −1.3 to 1.1).

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
same encoder trained from scratch for ten epochs with all labels.

What it says:

- **Reports help.** ETP is above every other pretraining at 100 % of the labels, and above all but CLOCS at 10 %,
  expected again. Its reports are PTB-XL's, written by the cardiologists who labelled it, in part the labels in other
  words; but it leads on Brugada-HUCA, LUDB and CPSC2018 too, whose reports it has not seen.
- **PCLR** is above Random with all labels (+2.3, 1.7 to 2.9), CLOCS as far but less surely (+2.2, 0.9 to 3.5). COMET is
  below it (−2.1). PMQ, MoCo and BYOL are within two points of it.
- **What needs no pretraining is better**, by 4 and 6 points with all labels. A pretraining of a few minutes on 1,800
  recordings of an encoder of this size is small; nothing here is about a foundation model.
- What would tell more apart is encoders: a difference from Random in Overall has an interval of ±0.6 to ±1.4 points
  with all labels and ±1.0 to ±2.4 with a tenth, more of it of the five pretrainings than of the patients.

Not told apart: 10 of the 21 pairs of methods. Classes without a test recording, notes per column and all metrics are in
the report that the command writes.

![Overall minus Random's](real/differences.png)
"""


def scores_of(out: Path) -> pd.DataFrame:
    """Ratio, row, dataset -> AUROC in percent, mean and deviation over seeds; and Overall, the mean of all metrics."""
    found = pd.read_csv(out / "results.csv")
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


def page(scores: pd.DataFrame, differences: pd.DataFrame) -> Iterator[str]:
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


def study() -> None:
    """Read and write."""
    asked = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    asked.add_argument("--out", type=Path, help="folder of the report of the config real")
    found = asked.parse_args()
    folder = PAGE.parent / "real"
    if found.out:
        scores_of(found.out).to_csv(folder / "scores.csv", index=False)
        differences_of(found.out).to_csv(folder / "differences.csv", index=False)
        shutil.copy(found.out / "figures" / FIGURE, folder / "differences.png")
    tables = (pd.read_csv(folder / f"{name}.csv", float_precision="round_trip") for name in ("scores", "differences"))
    PAGE.write_text("".join(page(*tables)), encoding="utf-8")


if __name__ == "__main__":
    study()
