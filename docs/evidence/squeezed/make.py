"""Run the study of docs/evidence/SQUEEZED.md and write its page: python docs/evidence/squeezed/make.py

The config `squeezed`: PMQ and MoCo with one part changed per row. The run is one of the suite's own, and Ctrl-C loses
nothing. `--read` runs nothing.
"""

from __future__ import annotations

import argparse
import sys
from collections.abc import Iterator
from pathlib import Path

import numpy as np
import pandas as pd
from scipy.stats import ttest_ind_from_stats

from benchmark.config.command_line import OK
from benchmark.extras.answers_planted import Ran, column_of
from reports.runs import Run, open_run
from reports.statistics.estimates import holm
from reports.statistics.table import difference_in
from run_benchmark import main

TABLES = {"linear": "frozen", "finetune": "fine-tuned"}
MEASURES = {"cosine": ("mean cosine", ".2f"), "rank": ("effective rank", ".1f")}
"""Column of a health measure -> what it is called, and its form."""
LEVEL = 0.05
HEAD = """# Why are the frozen features of PMQ and MoCo squeezed?

For a reader: a low effective rank of frozen features is no fault that costs a score here. What spreads the features of
MoCo, heads without batch normalisation, does not raise its frozen score and puts its fine-tuned one below Random;
without masks its features lie in fewer directions and score higher. **The masks cost both methods two to three points
of frozen AUROC at this budget, four times the epochs are worth four to PMQ**, and only with these is PMQ above Random.

Frozen, the features of PMQ and MoCo lie in few directions: a high mean cosine between windows, a low effective rank.
Here one part of each is changed per row: masks, the heads and their batch normalisation, momentum, temperature, budget.
One row changes two, momentum and masks. PMQ's heads have no setting without batch normalisation.
Written by `python docs/evidence/squeezed/make.py`; the config is `benchmark/config/configs/squeezed.yaml`.

Small encoders at 83 Hz, about 480 simulated recordings of 160 patients to pretrain on, macro AUROC per recording on
{patients} test patients of a simulated PTB-XL, with 10 % of the labels, {pretrainings} pretrainings per row, frozen
with eight labelled subsets each and fine-tuned on one. Effective rank (of 64) and mean cosine are mean±std over the
pretrainings; an untrained encoder stands in the first row. What is said of them goes beyond that spread: Welch's test
at 5 %, by Holm's correction over the changes of a method. Differences are from the method's own first row, except where
it says Random, with 95 % intervals of seeds and test patients, as a table's
([Reading](../READING.md#what-is-beyond-chance)). Bold: beyond chance at 5 % by Holm's correction over all changed rows
of a column.
"""
EXPECTED = """
## Expected with more patients and labelled subsets

Written on 2026-11-26, before the study was run again with 1,000 more test patients and eight labelled subsets per
pretraining for the frozen features. In AUROC:

1. MoCo's heads without batch normalisation still spread its features (a rank above 12) and lower its frozen score by
   0.01 to 0.035, beyond chance.
2. Frozen PMQ gains 0.002 to 0.02 without masks, not beyond chance; so does MoCo.
3. Every other change moves a frozen score by 0.015 at most, none of them beyond chance; 32 instead of eight epochs
   lower PMQ's.
4. Fine-tuned, with one labelled subset per pretraining as before, nothing is beyond chance.
5. Intervals of frozen differences reach 0.015 to either side (median).

Of these 5 came, and 4 of the changes: over Random, MoCo's heads without batch normalisation are beyond chance. Of 1 the
spread came and the loss did not. 2 and 3 were wrong: masks, PMQ's temperature and
budgets move frozen scores beyond chance, and 32 epochs raise PMQ's. With 70 test patients and one labelled subset per
pretraining, as the study first was, no change was beyond chance and the widest interval reached 0.051 to either side.
"""


def lines_of(run: Run) -> pd.DataFrame:
    """One line per row of the config: test patients, health over its pretrainings, differences in both tables."""
    columns = {name: column_of(Ran(run, (), 0.0), table) for table, name in TABLES.items()}
    rows = list(dict.fromkeys(cell.variant for cell in run.plan.cells))
    lines = []
    for row in rows:
        cards = list(run.cards[row].values())
        line: dict[str, object] = {"row": row, "patients": columns["frozen"].patients, "pretrainings": len(cards)}
        for name, measure in {"rank": "effective_rank", "cosine": "mean_cosine"}.items():
            values = [card["health"][-1][measure] for card in cards]  # type: ignore[index]
            line |= {name: float(np.mean(values)), f"{name} std": float(np.std(values, ddof=1))}
        own = row.partition(":")[0]
        for name, column in columns.items():
            against = {"": own, " over random": "random"}
            for kind, other in against.items():
                if row != other:
                    found = difference_in(column, row, other)
                    line |= {f"{name}{kind}": found.mean, f"{name}{kind} low": found.low}
                    line |= {f"{name}{kind} high": found.high, f"{name}{kind} p": found.p}
        lines.append(line)
    return with_holm(pd.DataFrame(lines))


def with_holm(found: pd.DataFrame) -> pd.DataFrame:
    """The lines with a column `... sure` per difference: beyond chance by Holm's correction over the column."""
    for name in [column.removesuffix(" p") for column in found.columns if column.endswith(" p")]:
        there = found[f"{name} p"].notna()
        adjusted = pd.Series(holm(found.loc[there, f"{name} p"].to_numpy()), index=found.index[there])
        found[f"{name} sure"] = (adjusted < LEVEL).reindex(found.index, fill_value=False)
    return found


def page(found: pd.DataFrame) -> Iterator[str]:
    """The page: what the tables say, then a table per method."""
    (patients,), (pretrainings,) = found["patients"].unique(), found["pretrainings"].unique()
    yield HEAD.format(patients=patients, pretrainings=pretrainings)
    yield "\n## What it says\n\n" + "".join(f"- {sentence}\n" for sentence in sentences(found))
    yield EXPECTED
    head = "rank | mean cosine | frozen | frozen over Random | fine-tuned | fine-tuned over Random"
    for method, title in (("moco", "MoCo"), ("pmq", "PMQ")):
        yield f"\n## {title}\n\n| row | {head} |\n| --- | --- | --- | --- | --- | --- | --- |\n"
        own = found["row"].map(lambda row: row == "random" or row.partition(":")[0] == method)  # noqa: B023
        for _, line in found[own].iterrows():
            columns = ("frozen", "frozen over random", "fine-tuned", "fine-tuned over random")
            shown = " | ".join(entry(line, name) for name in columns)
            health = f"{line['rank']:.1f}±{line['rank std']:.1f} | {line['cosine']:.2f}±{line['cosine std']:.2f}"
            yield f"| {line['row']} | {health} | {shown} |\n"


def sentences(found: pd.DataFrame) -> Iterator[str]:
    """What moves the features of each method, and what of the differences is beyond chance."""
    untrained = found[found["row"] == "random"].iloc[0]
    yield (
        f"The features of an untrained encoder have a mean cosine of {untrained['cosine']:.2f} and an effective rank "
        f"of {untrained['rank']:.1f}."
    )
    for method, title in (("moco", "MoCo"), ("pmq", "PMQ")):
        own = found[found["row"] == method].iloc[0]
        health = f"a mean cosine of {own['cosine']:.2f} and an effective rank of {own['rank']:.1f}"
        told = "; ".join(moves(found, method))
        yield f"{title}'s features have {health}. Beyond the spread over pretrainings: {told}."
        spreads = moved(found, method, "cosine", -1).intersection(moved(found, method, "rank", 1))
        for _, line in found.loc[spreads].iterrows():
            yield (
                f"So `{change_of(line)}` spreads {title}'s features. Its score moves by {entry(line, 'frozen')} frozen "
                f"and by {entry(line, 'fine-tuned')} fine-tuned."
            )
        if spreads.empty:
            yield f"So no change spreads {title}'s features by both measures."
    for name, against in (("", "of a change from its method's own row"), (" over random", "of a row from Random")):
        for table in TABLES.values():
            told = found.loc[found[f"{table}{name} sure"], "row"]
            half = (found[f"{table}{name} high"] - found[f"{table}{name} low"]) / 2
            which = f"{len(told)} beyond chance: {', '.join(told)}" if len(told) else "none beyond chance"
            number = found[f"{table}{name}"].notna().sum()
            yield (
                f"{table.capitalize()}, {number} differences {against}: {which}; intervals reach "
                f"{half.median():.3f} to either side (median), the widest {half.max():.3f}."
            )


def moves(found: pd.DataFrame, method: str) -> Iterator[str]:
    """'mean cosine lower with `x` (0.29), higher with `y` (0.96)' for each measure."""
    for measure, (name, form) in MEASURES.items():
        told = []
        for word, sign in (("lower", -1), ("higher", 1)):
            lines = found.loc[moved(found, method, measure, sign)].sort_values(measure, ascending=sign < 0)
            changes = [f"`{change_of(line)}` ({line[measure]:{form}})" for _, line in lines.iterrows()]
            told += [f"{word} with {', '.join(changes)}"] if changes else []
        yield f"{name} {', '.join(told) or 'moved by no change'}"


def moved(found: pd.DataFrame, method: str, measure: str, sign: int) -> pd.Index[int]:
    """Index of the changes of a method that lower (-1) or raise (1) a measure beyond its spread over pretrainings."""
    own = found[found["row"] == method].iloc[0]
    changed = found[found["row"].str.startswith(f"{method}:")]
    columns = [measure, f"{measure} std", "pretrainings"]
    p = ttest_ind_from_stats(*changed[columns].to_numpy().T, *own[columns], equal_var=False).pvalue  # (changes,)
    return changed.index[(holm(p) < LEVEL) & (np.sign(changed[measure] - own[measure]) == sign)]


def change_of(line: pd.Series) -> str:
    """The change of a row, without its method."""
    return str(line["row"].partition(":")[2])


def entry(line: pd.Series, name: str) -> str:
    """'+0.012 (+0.001 to +0.023)', bold beyond chance; '' where a row is not compared."""
    if name not in line or pd.isna(line[name]):
        return ""
    text = f"{line[name]:+.3f} ({line[f'{name} low']:+.3f} to {line[f'{name} high']:+.3f})".replace("-", "−")
    return f"**{text}**" if line[f"{name} sure"] else text


def study() -> None:
    """Run, read, write."""
    asked = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    asked.add_argument("--work", type=Path, default=Path("runs/squeezed"), help="store of the study (runs/squeezed)")
    asked.add_argument(
        "--page", type=Path, default=Path("docs/evidence/SQUEEZED.md"), help="page (docs/evidence/SQUEEZED.md)"
    )
    asked.add_argument("--read", action="store_true", help="run nothing; write the page of what is there")
    found = asked.parse_args()
    places = [
        "--results",
        str(found.work / "runs"),
        "--out",
        str(found.work / "out"),
        "--cache",
        str(found.work / "cache"),
    ]
    if not found.read and (status := main(["run", "--config", "squeezed", *places])) != OK:
        sys.exit(status)
    run = open_run(found.work / "runs")
    lines = lines_of(run)
    found.page.write_text("".join(page(lines)))
    found.page.parent.joinpath("squeezed").mkdir(exist_ok=True)
    lines.to_csv(found.page.parent / "squeezed" / "rows.csv", index=False)


if __name__ == "__main__":
    study()
