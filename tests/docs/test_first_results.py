"""The tables of Overall in First results are those of the files beside the page, bold what these call significant."""

from __future__ import annotations

import csv
from pathlib import Path

import pytest

from benchmark.results.names import FEATURES, UNTRAINED

DOCS = Path(__file__).parents[2] / "docs"
LEVEL = 0.05


def lines_of(name: str) -> list[dict[str, str]]:
    with open(DOCS / "results" / name, newline="") as file:
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
        ("laptop", "## The paper's encoder", ["0.3", "0.1", "0.01"]),
    ],
)
def test_tables_are_those_of_the_files(config: str, heading: str, ratios: list[str]) -> None:
    page = (DOCS / "FIRST_RESULTS.md").read_text()
    assert table_of(page[page.index(heading) :]) == expected(config, ratios)


@pytest.mark.parametrize(
    ("table", "unchanged", "word"),
    [("pmq-ablations", "pmq", "w/o "), ("pmq-queue-size", "pmq:queue_size=1024", "M = ")],
)
def test_differences_from_pmq_are_those_of_the_file_and_none_is_significant(
    table: str, unchanged: str, word: str
) -> None:
    page = (DOCS / "FIRST_RESULTS.md").read_text().partition("### Parts of PMQ")[2].partition("\n## ")[0]
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
