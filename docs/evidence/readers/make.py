"""Hold human readers against a network with the suite's statistics and write docs/evidence/READERS.md:
python docs/evidence/readers/make.py --data DIR

CODE-test (Ribeiro et al., Nature Communications 2020): 827 ECGs of as many patients, six abnormalities, read by
cardiology residents, emergency residents, medical students and two cardiologists, and by ten trainings of one network
(antonior92/automatic-ecg-diagnosis, MIT). DIR has gold_standard.csv, a table of each reader, attributes.csv and
seed_1.npy to seed_10.npy. Without --data the page is written anew from the tables beside this file.
"""

from __future__ import annotations

import argparse
from collections.abc import Iterator, Mapping
from pathlib import Path

import numpy as np
import pandas as pd
from numpy.typing import NDArray

from benchmark.results.store import BANDS, SEXES, Predictions, band_of, sex_of
from reports.statistics.bootstrap import Floats, resampled_scores, resampled_test_set
from reports.statistics.estimates import LEVEL, Estimate, estimate, holm

PAGE = Path("docs/evidence/READERS.md")
NETWORK = "The network, ten trainings"
READERS = {
    "cardiology_residents": "Cardiology residents",
    "emergency_residents": "Emergency residents",
    "medical_students": "Medical students",
    "cardiologist1": "Cardiologist 1",
    "cardiologist2": "Cardiologist 2",
}
"""File -> row."""
TRAININGS, RESAMPLES, FEWEST = 10, 1000, 50
"""The last: patients of a subgroup that is shown."""
PRINTED = {
    "Cardiology residents": (0.776, 0.917, 0.947, 0.882, 0.769, 0.882),
    "Emergency residents": (0.719, 0.852, 0.912, 0.848, 0.696, 0.946),
    "Medical students": (0.732, 0.928, 0.915, 0.750, 0.706, 0.873),
}
"""F1 of each abnormality, as printed in table 2 of Ribeiro et al. 2020."""
HEAD = """# Human readers and a network under one statistic

For a reader: **{reader}**
The statistics are those of every table of the suite; here they are tried on real predictions whose answers others have
printed.

CODE-test: {patients} ECGs of as many patients, six abnormalities, a gold standard of two cardiologists with a third
where they disagree, three groups of readers, and ten trainings of one network
([Ribeiro et al. 2020](https://doi.org/10.1038/s41467-020-15432-4)). A reader is a row like any other, with one "seed"
that is paired with each training. F1 of the network is at a probability of one half: its authors chose a threshold for
each abnormality on patients that are not published, and print a higher one. Written by
`python docs/evidence/readers/make.py --data DIR`.

F1 of the readers in each abnormality is equal to the paper's table 2 in {equal} of {printed} printed numbers, to their
three decimals. The ten trainings among themselves are told apart as methods in at most 8 % of random halves
(`tests/reports/statistics/test_real_predictions.py`).

## Macro F1 in percent

Difference from the network's mean with a 95 % interval of trainings and patients; bold: significant at 5 % after Holm's
correction over the five readers. The two cardiologists made the gold standard where they agreed, so their rows are too
high.

| | F1 | − network | p, Holm |
| --- | ---: | --- | ---: |
"""
GROUPS = """
## By subgroup

Macro F1 in percent over the abnormalities that the subgroup has; difference of each group of readers from the network.

| | patients | network | {readers} |
| --- | ---: | ---: |{columns}
"""


class Test:
    """The test set and the predictions of all rows, of some of its patients."""

    def __init__(self, folder: Path, chosen: NDArray[np.bool_] | None = None) -> None:
        truth = pd.read_csv(folder / "gold_standard.csv").to_numpy(np.int64)  # (n, C)
        chosen = np.ones(len(truth), bool) if chosen is None else chosen  # (n,)
        names = np.array([f"patient {number}" for number in np.flatnonzero(chosen)])
        network = [np.load(folder / f"seed_{number}.npy") for number in range(1, TRAININGS + 1)]
        readers = [pd.read_csv(folder / f"{file}.csv").to_numpy() for file in READERS]
        self.rows = [own[chosen].astype(np.float32) for own in (*network, *readers)]  # (n', C) each
        self.truth = truth[chosen]  # (n', C)
        first = Predictions(self.rows[0], self.truth, names, names)
        self.resampled = resampled_test_set(first, "recording", resamples=RESAMPLES)

    def scores(self) -> Floats:
        """(10 + 5, 1 + R) macro F1 of the trainings, then of the readers."""
        return np.stack([resampled_scores(self.resampled, own, multi=True, metrics=["f1"])["f1"] for own in self.rows])


def against(scores: Floats, reader: int, patients: int) -> Estimate:
    """A reader minus the network, paired by patients and, with one reading, with every training."""
    return estimate(scores[TRAININGS + reader][None] - scores[:TRAININGS], patients)


def by_class(truth: NDArray[np.int64], said: NDArray[np.float32]) -> NDArray[np.float64]:
    """(C,) F1 of each abnormality."""
    both, either = (truth * said).sum(axis=0), truth.sum(axis=0) + said.sum(axis=0)
    found: NDArray[np.float64] = 2 * both / either
    return found


def measured(folder: Path) -> tuple[pd.DataFrame, pd.DataFrame]:
    """Lines of rows: F1 and difference; lines of subgroups: patients, F1, differences."""
    test = Test(folder)
    scores, patients = test.scores(), len(test.truth)
    found = [against(scores, number, patients) for number in range(len(READERS))]
    adjusted = holm(np.array([own.p for own in found]))
    lines: list[dict[str, object]] = [{"row": NETWORK, "f1": scores[:TRAININGS, 0].mean(), "patients": patients}]
    for number, (title, own) in enumerate(zip(READERS.values(), found, strict=True)):
        line = {"row": title, "f1": scores[TRAININGS + number, 0], "patients": patients, "p_holm": adjusted[number]}
        lines.append(line | {"difference": own.mean, "low": own.low, "high": own.high})
        if title in PRINTED:
            equal = np.round(by_class(test.truth, test.rows[TRAININGS + number]), 3) == PRINTED[title]
            lines[-1] |= {"equal": int(equal.sum())}
    people = pd.read_csv(folder / "attributes.csv")
    groups = {"sex": people["sex"].astype(str).map(sex_of), "age": people["age"].map(band_of)}
    parts = []
    for kind, values in groups.items():
        for name in (group for group in (*SEXES, *BANDS) if group in set(values)):
            own = (values == name).to_numpy()
            if own.sum() >= FEWEST:
                part = Test(folder, own).scores()
                line = {
                    "group": f"{kind} {name}" if kind == "age" else name,
                    "patients": int(own.sum()),
                    "network": part[:TRAININGS, 0].mean(),
                }
                for number, title in enumerate(PRINTED):
                    gain = against(part, number, int(own.sum()))
                    line |= {title: gain.mean, f"{title} low": gain.low, f"{title} high": gain.high}
                parts.append(line)
    return pd.DataFrame(lines), pd.DataFrame(parts)


def signed(mean: float, low: float, high: float) -> str:
    """'+1.2 (0.3 to 2.1)' in points."""
    return f"{100 * mean:+.1f} ({100 * low:.1f} to {100 * high:.1f})".replace("-", "−")


def reader_of(lines: pd.DataFrame) -> str:
    """The finding in a sentence."""
    groups = lines[lines["equal"].notna()]
    sure = groups[groups["p_holm"] < LEVEL]
    above, below = (sure[sign * sure["difference"] > 0]["row"].tolist() for sign in (1, -1))
    told = [
        f"{' and '.join(rows).lower()} are {side} it" for rows, side in ((above, "above"), (below, "below")) if rows
    ]
    network = 100 * lines["f1"].iloc[0]
    found = " and ".join(told) + " beyond chance" if told else "no group of readers is told apart from it"
    return f"ten trainings of the network have a macro F1 of {network:.1f} on average; {found}."


def page(lines: pd.DataFrame, parts: pd.DataFrame) -> Iterator[str]:
    """The page: rows, then subgroups."""
    printed = sum(len(own) for own in PRINTED.values())
    facts = {"patients": lines["patients"].iloc[0], "equal": int(lines["equal"].sum()), "printed": printed}
    yield HEAD.format(reader=reader_of(lines), **facts)
    for line in lines.to_dict("records"):
        yield f"| {line['row']} | {100 * line['f1']:.1f} | {gain_of(line)} |\n"
    yield GROUPS.format(readers=" | ".join(PRINTED), columns=" --- |" * len(PRINTED))
    for part in parts.to_dict("records"):
        gains = [signed(part[title], part[f"{title} low"], part[f"{title} high"]) for title in PRINTED]
        yield f"| {part['group']} | {part['patients']} | {100 * part['network']:.1f} | {' | '.join(gains)} |\n"


def gain_of(line: Mapping[str, float]) -> str:
    """'**+1.2 (0.3 to 2.1)** | 0.020', bold beyond chance; nothing of the network."""
    if np.isnan(line["difference"]):
        return " | "
    gain = signed(line["difference"], line["low"], line["high"])
    p = "<0.001" if line["p_holm"] < 0.001 else f"{line['p_holm']:.3f}"
    return f"{f'**{gain}**' if line['p_holm'] < LEVEL else gain} | {p}"


def study() -> None:
    """Measure and write."""
    asked = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    asked.add_argument("--data", type=Path, help="folder of the predictions and readings of CODE-test")
    found = asked.parse_args()
    folder = PAGE.parent / "readers"
    if found.data:
        lines, parts = measured(found.data)
        lines.to_csv(folder / "rows.csv", index=False)
        parts.to_csv(folder / "subgroups.csv", index=False)
    tables = (pd.read_csv(folder / f"{name}.csv", float_precision="round_trip") for name in ("rows", "subgroups"))
    PAGE.write_text("".join(page(*tables)), encoding="utf-8")


if __name__ == "__main__":
    study()
