"""Write docs/evidence/REAL.md from the report of the config `real`: python docs/evidence/real/make.py --out DIR

The report is that of `python run_benchmark.py --config real --data-root DATA`; without --out the page is written anew
from the tables beside this file.
"""

from __future__ import annotations

import argparse
import shutil
from collections.abc import Iterator
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
ROWS = {
    "random": "Random",
    "moco": "MoCo",
    "byol": "BYOL",
    "clocs": "CLOCS",
    "pclr": "PCLR",
    "comet": "COMET",
    "etp": "ETP",
    "pmq": "PMQ",
    "features": "Beat features, boosted",
    "minirocket": "MiniRocket, ridge",
    "supervised": "Supervised",
}
"""Row of a report -> heading."""
OVERALL = "overall"
LEVEL = 0.05


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


def table(scores: pd.DataFrame, ratio: float) -> Iterator[str]:
    """AUROC of every row and column at a label ratio, in percent, and Overall; the best of a column bold."""
    own = scores[(scores["ratio"] == ratio)]
    wide = own.pivot(index="variant", columns="dataset", values="mean_percent")
    yield f"\n| | {' | '.join(COLUMNS.values())} |\n| --- |{' ---: |' * len(COLUMNS)}\n"
    for row, title in ROWS.items():
        if row in wide.index:
            best = wide.max()
            values = [(wide.loc[row, name], best[name]) for name in COLUMNS]
            shown = [f"**{value:.1f}**" if value == most else f"{value:.1f}" for value, most in values]
            yield f"| {title} | {' | '.join(shown)} |\n"


def over_random(differences: pd.DataFrame, ratio: float) -> Iterator[str]:
    """Overall of every row minus Random's, in points; bold where significant after Holm's correction."""
    own = differences[(differences["ratio"] == ratio) & (differences["metric"] == OVERALL)]
    for row, title in ROWS.items():
        pair = own[
            ((own["first"] == row) & (own["second"] == "random"))
            | ((own["second"] == row) & (own["first"] == "random"))
        ]
        if len(pair):
            one = pair.iloc[0]
            sign = 1 if one["first"] == row else -1
            low, high = sorted((sign * one["low"], sign * one["high"]))
            text = f"{100 * sign * one['difference']:+.1f} ({100 * low:.1f} to {100 * high:.1f})".replace("-", "−")
            yield f"| {title} | {f'**{text}**' if one['p_holm'] < LEVEL else text} | {one['p_holm']:.3f} |\n"


def page(head: str, scores: pd.DataFrame, differences: pd.DataFrame) -> Iterator[str]:
    """The page: what was found, then the tables."""
    yield head
    for ratio in sorted(scores["ratio"].unique(), reverse=True):
        yield f"\n## {100 * ratio:g} % of the labels\n"
        yield "\nMacro AUROC per recording in percent, mean over five pretrainings.\n"
        yield from table(scores, ratio)
        yield "\nOverall (mean of F1, AUROC and ACC of all columns) minus Random's in points, with 95 % intervals:\n\n"
        yield "| | difference | p, Holm |\n| --- | --- | ---: |\n"
        yield from over_random(differences, ratio)


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
    head = (folder / "head.md").read_text(encoding="utf-8")
    tables = (pd.read_csv(folder / f"{name}.csv", float_precision="round_trip") for name in ("scores", "differences"))
    PAGE.write_text("".join(page(head, *tables)), encoding="utf-8")


if __name__ == "__main__":
    study()
