"""What docs/COMPARISON.md and docs/evidence/BUDGETS.md say of budgets is what the options do."""

from __future__ import annotations

import csv
import re
from typing import get_args

import pytest

from benchmark.config.config import load_config, parse_value
from benchmark.config.refuse import swept_keys
from benchmark.config.sections import Budget
from benchmark.run.estimate import Size, pairs_trained
from benchmark.run.grid import expand
from benchmark.training.pretrain import DECAY_SHARE, WARMUP_EPOCHS
from methods import METHODS
from tests.basic import BASIC
from tests.docs.pages import EVIDENCE, text_of

TEXT = text_of("COMPARISON.md", "## Budgets and budget curves")


def test_every_budget_and_cost_is_named() -> None:
    assert re.findall(r"^\| `(\w+)`", TEXT, re.MULTILINE) == list(get_args(Budget))
    for name, passes in {"BYOL": 8, "CLOCS": 6, "PCLR": 6, "ETP": 3, "COMET": 55}.items():
        assert METHODS[name.lower()].encoder_passes == passes
        assert re.search(rf"{name}[^.]*?\s{passes}\b", TEXT), name
    assert METHODS["pmq"].encoder_passes == METHODS["moco"].encoder_passes == 4
    assert (WARMUP_EPOCHS, DECAY_SHARE) == (0.25, 0.2)


def test_the_curve_of_the_example_costs_what_the_page_says() -> None:
    line, *_ = re.findall(r"--set (pretrain\.snapshots=.*)", TEXT)
    given = {key: parse_value(value) for key, _, value in (item.partition("=") for item in line.split())}
    config = load_config(BASIC, {**given, "methods": ["pmq"], "gates": [], "seeds": [41]})
    grid = expand(config, corpus="c", fingerprints={"chapman": "d"}, mode={"device": "cpu", "precision": "float32"})
    sizes = {"mimic-iv-ecg": Size(1, 2, exact=True)}
    epochs = [pairs_trained(pretraining, config, sizes) for pretraining in grid.pretrainings]
    assert sum(epochs) == pytest.approx(9.5)
    assert "9.5 epochs instead of 15.5" in TEXT


def test_the_sections_of_a_sweep_are_named_and_its_example_is_read() -> None:
    (names,) = re.findall(r"config key of (.*):", TEXT)
    assert set(re.findall(r"`(\w+)`", names)) == {key.partition(".")[0] for key in swept_keys(load_config(BASIC))}
    (example,) = re.findall(r"```yaml\nsweeps:\n(.*?)```", TEXT, re.DOTALL)
    values = {
        name: parse_value(knobs)
        for name, _, knobs in (line.strip().partition(": ") for line in example.split("\n") if line)
    }
    assert load_config(BASIC, {"sweeps": values}).sweeps["pmq"]["finetune.lr"] == [1e-4, 1e-3]


def test_the_measured_table_and_what_is_said_of_it_are_those_of_its_file() -> None:
    with open(EVIDENCE / "results" / "small-budget.csv", newline="") as file:
        lines = list(csv.DictReader(file))
    found: dict[str, list[str]] = {}
    for line in sorted(lines, key=lambda line: "linear" in line["table"]):  # fine-tuned first
        found.setdefault(line["Method"], []).append(line["Overall"])
    section = text_of("evidence/BUDGETS.md")
    rows = [[cell.strip() for cell in line.strip("|").split("|")] for line in section.splitlines() if line[:1] == "|"]
    assert {name: cells for name, *cells in rows[2:]} == found
    said = section.partition("Random has")[2].replace("\n", " ")
    for at, part in ((0, said.partition("; frozen, ")[0]), (4, said.partition("; frozen, ")[2])):
        for method, cells in found.items():
            first, last = (float(cells[at + end].partition("±")[0]) for end in (0, 3))
            given = re.search(rf"(-?\d*\.\d) to {method}", part)
            if given:
                assert float(given[1]) == pytest.approx(last - first, abs=0.051), (method, at)
