"""The tables of Overall in First results are those of the files beside the page, bold what these call significant."""

from __future__ import annotations

import csv
from dataclasses import replace
from itertools import permutations

import numpy as np
import pytest
from scipy.stats import ttest_1samp

from benchmark.results.names import FEATURES, UNTRAINED
from benchmark.results.verdicts import Sealed, Verdict
from reports.record import Repeated, bins_of, repeats
from reports.statistics.estimates import EXPECTED
from reports.statistics.pooled import Pooled, pooled
from reports.statistics.reliability import Bin, binned, calibration_error, error_by_chance
from tests.docs.pages import EVIDENCE

LEVEL = 0.05
CHANCES = ("p_holm", "repeat", "p_equivalent")
TITLES = {
    "moco": "MoCo",
    "byol": "BYOL",
    "clocs": "CLOCS",
    "pclr": "PCLR",
    "comet": "COMET",
    "etp": "ETP",
    "pmq": "PMQ",
}


def lines_of(name: str) -> list[dict[str, str]]:
    with open(EVIDENCE / "results" / name, newline="") as file:
        return list(csv.DictReader(file))


def expected(config: str, ratios: list[str]) -> dict[str, list[str]]:
    """Title of each row of a table -> its cells: fine-tuned at each ratio, then frozen."""
    scores = {
        (line["evaluation"], line["variant"], line["ratio"]): (line["title"], float(line["mean_percent"]))
        for line in lines_of(f"{config}-overall.csv")
    }
    better = {
        (line["table"].partition("-")[0], line["second"], line["ratio"])
        for line in lines_of(f"{config}-differences.csv")
        if line["first"] == UNTRAINED and float(line["p_holm"]) < LEVEL and float(line["difference"]) < 0
    }
    found: dict[str, list[str]] = {}
    for evaluation in ("finetune", "linear"):
        for (own, variant, ratio), (title, mean) in scores.items():
            if own == evaluation and ratio in ratios and variant != "random-frozen":
                gate = variant == FEATURES
                cell = f"**{mean:.1f}**" if (own, variant, ratio) in better else f"{mean:.1f}"
                row = found.setdefault(f"*{title}*" if gate else title, [])
                row.append("" if gate and evaluation == "linear" else cell)
    return found


def table_of(text: str) -> dict[str, list[str]]:
    """Title -> cells of the first table whose rows are those of methods."""
    rows = [[cell.strip() for cell in line.strip("|").split("|")] for line in text.splitlines() if line[:1] == "|"]
    begin = next(at for at, row in enumerate(rows) if row[0] == "Random")
    end = next(at for at, row in enumerate(rows) if at > begin and row[0].startswith("*"))
    return {title: cells for title, *cells in rows[begin : end + 1]}


@pytest.mark.parametrize(
    ("config", "heading", "ratios"),
    [
        ("small", "## Small encoders", ["0.1", "0.01"]),
        ("small-powered", "## Twice the pretraining", ["0.1", "0.01"]),
        ("laptop", "## The paper's encoder", ["0.3", "0.1", "0.01"]),
    ],
)
def test_tables_are_those_of_the_files(config: str, heading: str, ratios: list[str]) -> None:
    page = (EVIDENCE / "FIRST_RESULTS.md").read_text()
    assert table_of(page[page.index(heading) :]) == expected(config, ratios)


def cells_of(text: str) -> list[list[str]]:
    """The cells of all lines of tables."""
    return [[cell.strip() for cell in line.strip("|").split("|")] for line in text.splitlines() if line[:1] == "|"]


def sealed_simulations(file: str = "differences", chance: str = "repeat") -> list[Sealed]:
    """The verdicts of `small` with each seed of the simulator, as they are now.

    As sealed by the first report: the file `sealed`; with chances by the variances of all pairs: its `repeat_common`.
    """
    verdicts: dict[str, list[Verdict]] = {}
    for line in lines_of(f"small-simulators-{file}.csv"):
        line = line | {"repeat": line[chance]}
        numbers = {name: float(line[name]) if line[name] else None for name in ("low", "high", *CHANCES)}
        place = (line["table"], "linear", float(line["ratio"]), line["first"], line["second"])
        verdicts.setdefault(line["simulator"], []).append(Verdict(*place, float(line["difference"]), **numbers))
    return [
        Sealed(seed, "", "recording", [41, 42, 43, 44, 45], {"ptb-xl": seed}, own) for seed, own in verdicts.items()
    ]


@pytest.mark.parametrize(("file", "without"), [("pooled", 0), ("pooled-five", 2)])
def test_all_simulations_together_are_those_of_each(file: str, without: int) -> None:
    """Seeds 3 to 7 are those for which a difference was expected beforehand."""
    found = {(own.ratio, own.first, own.second): own for own in pooled(sealed_simulations()[without:])}
    lines = lines_of(f"small-simulators-{file}.csv")
    assert len(lines) == len(found) == 56
    for line in lines:
        own = found[float(line["ratio"]), line["first"], line["second"]]
        assert own == Pooled(line["table"], "linear", own.ratio, own.first, own.second, int(line["runs"]), *(
            pytest.approx(float(line[name]), abs=2e-6) for name in list(line)[6:]
        ))  # fmt: skip


def test_the_table_of_seven_simulations_is_that_of_the_files() -> None:
    shares = ("0.1", "0.01")
    means: dict[str, dict[str, list[float]]] = {}
    for line in lines_of("small-simulators-overall.csv"):
        means.setdefault(line["title"], {}).setdefault(line["ratio"], []).append(float(line["mean_percent"]))
    alone = [
        (line["second"], line["ratio"])
        for line in lines_of("small-simulators-differences.csv")
        if line["first"] == UNTRAINED and float(line["p_holm"]) < LEVEL and float(line["difference"]) < 0
    ]
    expected: dict[str, list[str]] = {
        "Random": [cell for share in shares for cell in (f"{np.mean(means['Random'][share]):.1f}", "", "")]
    }
    together = {(own["ratio"], own["first"], own["second"]): own for own in lines_of("small-simulators-pooled.csv")}
    for name, title in TITLES.items():
        for share in shares:
            line = together[share, *sorted((name, UNTRAINED))]
            side = 100 if line["first"] == name else -100
            low, high = sorted(side * float(line[end]) for end in ("low", "high"))
            text = f"{side * float(line['difference']):+.1f} ({low:.1f} to {high:.1f})"
            cell = f"**{text}**" if float(line["p_holm"]) < LEVEL else text
            count = str(alone.count((name, share)))
            expected.setdefault(title, []).extend([f"{np.mean(means[title][share]):.1f}", cell, count])
    page = (EVIDENCE / "FIRST_RESULTS.md").read_text().partition("## The config small, with seven")[2]
    assert {title: cells for title, *cells in cells_of(page)[2:10]} == expected


def test_tuned_against_tuned_is_of_the_files() -> None:
    section = (EVIDENCE / "TUNING.md").read_text().partition("## Tuned against tuned, over")[2]
    tuned, own = lines_of("small-simulators-tuned.csv"), lines_of("small-simulators-differences.csv")
    titles, found = TITLES | {UNTRAINED: "Random"}, dict[str, list[str]]()
    for first, second in (("pmq", "moco"), ("pmq", UNTRAINED), ("moco", UNTRAINED)):
        cells: list[str] = []
        for ratio in ("0.1", "0.01"):
            (line,) = of_pair(tuned, ratio, first, second)
            side = 100 if line["first"] == first else -100
            low, high = sorted(side * float(line[end]) for end in ("low", "high"))
            assert float(line["p_holm"]) < LEVEL
            cells.append(f"**{side * float(line['difference']):+.1f} ({low:.1f} to {high:.1f})**")
            five = [line for line in of_pair(own, ratio, first, second) if int(line["simulator"]) <= 5]
            points = [100 * float(line["difference"]) * (1 if line["first"] == first else -1) for line in five]
            interval = ttest_1samp(points, 0).confidence_interval()
            cells.append(f"{np.mean(points):+.1f} ({interval.low:.1f} to {interval.high:.1f})")
        found[f"{titles[first]} − {titles[second]}"] = cells
    assert {name: cells for name, *cells in cells_of(section)[2:]} == found


def of_pair(lines: list[dict[str, str]], ratio: str, first: str, second: str) -> list[dict[str, str]]:
    """The lines of two rows at a label ratio."""
    return [line for line in lines if line["ratio"] == ratio and {line["first"], line["second"]} == {first, second}]


def better_than_random(lines: list[dict[str, str]]) -> dict[str, str]:
    """'finetune 0.1' -> its cell: rows significantly above Random, bold where expected again, else with the chance."""
    titles = {line["variant"]: line["title"] for line in lines_of("small-overall.csv")}
    found: dict[str, list[tuple[float, str]]] = {}
    for line in lines:
        points, title = -100 * float(line["difference"]), titles[line["second"]]
        if line["first"] == UNTRAINED and float(line["p_holm"]) < LEVEL and points > 0:
            chance, what = float(line["repeat"]), f"{title} +{points:.1f}"
            text = f"**{what}**" if chance >= EXPECTED else f"{what} ({int(100 * chance)} %)"
            found.setdefault(f"{line['table'].partition('-')[0]} {line['ratio']}", []).append((-points, text))
    return {place: ", ".join(text for _, text in sorted(own)) for place, own in found.items()}


def test_what_the_halves_and_all_seeds_found_is_in_the_files() -> None:
    halves = lines_of("small-halves.csv")
    files = [[line for line in halves if line["seeds"] == seeds] for seeds in ("41 to 45", "46 to 50")]
    page = (EVIDENCE / "FIRST_RESULTS.md").read_text().partition("**Do two halves agree?**")[2]
    rows = [[cell.strip() for cell in line.strip("|").split("|")] for line in page.splitlines() if line[:1] == "|"][2:6]
    names = {"fine-tuned, 10 %": "finetune 0.1", "fine-tuned, 1 %": "finetune 0.01"}
    names |= {"linear probe, 10 %": "linear 0.1", "linear probe, 1 %": "linear 0.01"}
    for number, lines in enumerate([*files, lines_of("small-differences.csv")], start=1):
        assert {names[row[0]]: row[number] for row in rows} == better_than_random(lines)


@pytest.mark.parametrize(
    ("seeds", "expected_again"), [("41 to 45", (16, 16, 19, 13, 13.4)), ("46 to 50", (12, 11, 20, 18, 15.8))]
)
def test_the_halves_find_what_they_expect_of_each_other(
    seeds: str, expected_again: tuple[int, int, int, int, float]
) -> None:
    """Significant in one half: expected again and found, the others and found, and how many of these were stated."""
    place = ("table", "ratio", "first", "second")
    lines = lines_of("small-halves.csv")
    other = {tuple(line[name] for name in place): line for line in lines if line["seeds"] != seeds}
    found: dict[bool, list[bool]] = {True: [], False: []}
    stated = 0.0
    for line in lines:
        if line["seeds"] == seeds and float(line["p_holm"]) < LEVEL:
            again = other[tuple(line[name] for name in place)]
            significant, alike = (
                float(again["p_holm"]) < LEVEL,
                float(again["difference"]) * float(line["difference"]) > 0,
            )
            assert alike or not significant
            found[float(line["repeat"]) >= EXPECTED].append(significant)
            stated += float(line["repeat"]) if float(line["repeat"]) < EXPECTED else 0.0
    counts = (len(found[True]), sum(found[True]), len(found[False]), sum(found[False]), round(stated, 1))
    assert counts == expected_again


@pytest.mark.parametrize(
    ("table", "unchanged", "word"),
    [("pmq-ablations", "pmq", "w/o "), ("pmq-queue-size", "pmq:queue_size=1024", "M = ")],
)
def test_differences_from_pmq_are_those_of_the_file_and_none_is_significant(
    table: str, unchanged: str, word: str
) -> None:
    page = (EVIDENCE / "FIRST_RESULTS.md").read_text().partition("### Parts of PMQ")[2].partition("\n## ")[0]
    rows = [[cell.strip() for cell in line.strip("|").split("|")] for line in page.splitlines() if line[:1] == "|"]
    given = {cells[0].replace(",", ""): [cell for cell in cells[1:] if cell] for cells in rows if cells[0][:4] == word}
    found: dict[str, list[str]] = {}
    for line in lines_of("small-ablations.csv"):
        if line["table"].endswith(table) and unchanged in (line["first"], line["second"]):
            assert float(line["p_holm"]) >= LEVEL
            sign = -1 if line["first"] == unchanged else 1
            mean, *ends = (100 * sign * float(line[name]) for name in ("difference", "low", "high"))
            name = (line["second"] if sign < 0 else line["first"]).partition(":")[2].replace("queue_size=", "M = ")
            low, high = sorted(round(end, 1) + 0.0 for end in ends)
            found.setdefault(name, []).append(f"{round(mean, 1) + 0.0:+.1f} ({low:.1f} to {high:.1f})")
    assert {name: cells for name, cells in given.items() if name in found} == found
    assert len(found) == 4


def assert_bins_in(page: str, bins: list[Bin]) -> None:
    """Each bin is a line of a table of the page."""
    for own in bins:
        low, high = (f"{100 * end:.1f}" for end in own.interval)
        cells = [f"{100 * own.low:.0f} to {100 * own.high:.0f} %", own.count, f"{100 * own.stated:.1f} %", own.found]
        assert f"| {' | '.join(map(str, cells))} | {100 * own.share:.1f} % | {low} to {high} % |" in page


def repeats_among(runs: list[Sealed]) -> list[Repeated]:
    """Of every run once as the earlier and once as the later of each two."""
    return [own for one, other in permutations(runs, 2) for own in repeats((one.plan, other.plan), one, other)]


def by_chance(repeated: list[Repeated]) -> tuple[list[bool], list[bool], float]:
    """Whether each that was expected again was found, whether each other was, and how many others were stated."""
    sure, others = ([own.found for own in repeated if (own.chance >= EXPECTED) == high] for high in (True, False))
    return sure, others, sum(own.chance for own in repeated if own.chance < EXPECTED)


def test_the_record_of_the_simulations_is_that_of_the_file() -> None:
    page = (EVIDENCE / "RECORD.md").read_text()
    text = page.replace("\n", " ")
    for file, chance in (("sealed", "repeat"), ("sealed", "repeat_common"), ("differences", "repeat")):
        runs = sealed_simulations(file, chance)
        found = repeats_among(runs)
        bins = bins_of(found)
        assert_bins_in(page, bins)
        assert f"calibration error is {100 * calibration_error(bins):.1f} points" in text
    sure, others, stated = by_chance(found)
    assert f"Of {len(sure)} differences that were expected again {sum(sure)} were found again on other data" in text
    assert f"of {len(others)} with a lower chance {sum(others)}, where {stated:.0f} were stated" in text
    small = [own for own in found if "etp" not in (own.stated.first, own.stated.second)]
    assert f"Of the {len(small)} that are not of ETP {sum(own.found for own in small)} were found again" in text
    together = {(own.ratio, own.first, own.second): own for own in pooled(runs)}
    told = [own for run in runs for own in run.verdicts if own.p_holm is not None and own.p_holm < LEVEL]
    alike = [together[own.ratio, *sorted((own.first, own.second))] for own in told]
    sides = [1 if one.first == other.first else -1 for one, other in zip(told, alike, strict=True)]
    signs = all(a.difference * b.difference * side > 0 for a, b, side in zip(told, alike, sides, strict=True))
    assert signs == (f"All {len(told)} verdicts have the sign that the seven runs have together" in text)
    assert f"and {sum(own.p_holm < LEVEL for own in alike)} are significant there too" in text


def test_the_record_of_chances_sealed_before_is_that_of_the_file() -> None:
    page = (EVIDENCE / "RECORD.md").read_text().replace("\n", " ")
    runs = sealed_simulations("further")
    found = repeats_among(runs)
    bins = bins_of(found)
    assert_bins_in((EVIDENCE / "RECORD.md").read_text(), bins)
    assert f"calibration error is {100 * calibration_error(bins):.1f} points: calibrated within 5." in page
    sure, others, stated = by_chance(found)
    assert f"{sum(sure)} of {len(sure)} that expected a difference again, and {sum(others)} of {len(others)}" in page
    assert f"lower ones, where {stated:.0f} were stated" in page
    assert f"too high by {100 * (stated - sum(others)) / len(others):.1f} points" in page


SHARES = (0.175, 0.1, 0.01)
"""Of the labels, in the runs with eight pretrainings; the first was run later, on the stored encoders."""


def test_what_eight_pretrainings_tell_apart_is_in_the_file() -> None:
    lines = [line for line in lines_of("small-simulators-eight.csv") if line["simulator"] != "1"]
    cells = {share: [f"{100 * share:g} %"] for share in SHARES}
    for share in SHARES:
        runs = [
            [line for line in lines if (line["simulator"], float(line["ratio"])) == (seed, share)]
            for seed in ("8", "9", "10")
        ]
        reach = [100 * np.median([float(line["detectable"]) for line in run]) for run in runs]
        halves = [50 * np.median([float(line["high"]) - float(line["low"]) for line in run]) for run in runs]
        told = [sum(float(line["p_holm"]) < LEVEL for line in run) for run in runs]
        cells[share] += [", ".join(f"{value:.1f}" for value in values) for values in (reach, halves)]
        cells[share].append(", ".join(map(str, told)))
    text = (EVIDENCE / "FIRST_RESULTS.md").read_text().partition("### Eight pretrainings")[2].partition("\n## ")[0]
    rows = [[cell.strip() for cell in line.strip("|").split("|")] for line in text.splitlines() if "% |" in line]
    assert [[share, *found] for share, _, *found in rows] == list(cells.values())


def test_the_record_of_eight_pretrainings_is_that_of_the_file() -> None:
    page = (EVIDENCE / "RECORD.md").read_text()
    text = page.partition("## Eight pretrainings")[2].replace("\n", " ")
    runs = sealed_simulations("eight")
    found = repeats_among(
        [replace(run, verdicts=[own for own in run.verdicts if own.ratio in SHARES[1:]]) for run in runs]
    )
    bins = bins_of(found)
    assert_bins_in(page, bins)
    assert f"calibration error is {100 * calibration_error(bins):.1f} points: calibrated within 5." in text
    sure, others, stated = by_chance(found)
    assert f"Of {len(sure)} that were expected again {sum(sure)} were found, and of {len(others)}" in text
    assert f"with a lower chance {sum(others)}, where {stated:.0f} were stated" in text


def test_the_record_of_the_halves_is_that_of_the_file() -> None:
    place = ("table", "ratio", "first", "second")
    lines = lines_of("small-halves.csv")
    there = {(line["seeds"], *(line[name] for name in place)): line for line in lines}
    stated, found = [], []
    for line in lines:
        if float(line["p_holm"]) < LEVEL:
            other = "46 to 50" if line["seeds"] == "41 to 45" else "41 to 45"
            again = there[(other, *(line[name] for name in place))]
            alike = float(again["difference"]) * float(line["difference"]) > 0
            stated.append(float(line["repeat"]))
            found.append(float(again["p_holm"]) < LEVEL and alike)
    bins, page = binned(stated, found), (EVIDENCE / "RECORD.md").read_text()
    assert_bins_in(page, bins)
    text = page.replace("\n", " ")
    assert f"is {100 * calibration_error(bins):.1f} points: not within the 5 points" in text
    assert f"Right chances would miss by {100 * error_by_chance(bins):.1f} points with {len(stated)}" in text
    stated_share, found_share = (100 * sum(own) / len(own) for own in (stated, found))
    assert f"Stated {stated_share:.1f} %, found again {found_share:.1f} %." in page


def test_the_parts_of_pmq_on_further_patients_are_those_of_the_file() -> None:
    page = (
        (EVIDENCE / "FIRST_RESULTS.md")
        .read_text()
        .partition("## PMQ against MoCo, and parts")[2]
        .partition("\n### ")[0]
    )
    rows = [[cell.strip() for cell in line.strip("|").split("|")] for line in page.splitlines() if line[:3] == "| P"]
    rows += [[cell.strip() for cell in line.strip("|").split("|")] for line in page.splitlines() if line[:3] == "| w"]
    lines = {(line["first"], line["second"], line["ratio"]): line for line in lines_of("small-powered-parts.csv")}
    assert len(rows) == 5
    for name, ten, p_ten, one, p_one in rows:
        first, second = ("moco", "pmq") if name.startswith("PMQ") else ("pmq", "pmq:" + name.partition(" −")[0])
        for ratio, cell, p in (("0.1", ten, p_ten), ("0.01", one, p_one)):
            line = lines[first, second, ratio]
            mean, low, high = (-100 * float(line[end]) for end in ("difference", "high", "low"))
            assert cell == f"{mean:+.1f} ({low:.1f} to {high:.1f})"
            assert float(p.partition(",")[0]) == pytest.approx(float(line["p_holm"]), abs=0.006)


def test_the_parts_of_pmq_over_five_simulations_are_those_of_the_files() -> None:
    section = (
        (EVIDENCE / "FIRST_RESULTS.md").read_text().partition("### What the parts of PMQ")[2].partition("\n## ")[0]
    )
    lines = [line for file in ("parts", "keys") for line in lines_of(f"small-simulators-{file}.csv")]
    found: dict[str, list[str]] = {}
    for ratio in ("0.1", "0.01"):
        for line in lines:
            if line["first"] == "pmq" and line["ratio"] == ratio:
                mean, low, high = (-100 * float(line[end]) for end in ("difference", "high", "low"))
                text = f"{mean:+.1f} ({low:.1f} to {high:.1f})"
                shown = f"**{text}**" if float(line["p_holm"]) < LEVEL else text
                p = float(line["p_equivalent"])
                equivalent = f"{p:.3f}".removeprefix("0") if p >= 0.0005 else "<.001"
                found.setdefault(line["second"].removeprefix("pmq:"), []).extend([shown, equivalent])
    assert {name: cells for name, *cells in cells_of(section)[2:]} == found
    assert len(found) == 7
