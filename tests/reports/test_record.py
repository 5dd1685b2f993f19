"""The record of verdicts: sealed once, refused where it is damaged or no repeat, and counted right."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from math import sqrt
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import pytest

from benchmark.results.store import NoResults
from benchmark.results.verdicts import Sealed, Verdict, read_verdicts, verdicts_file
from reports.record import OTHER, SAME, calibration_text, halves_of, record_of, refuse, repeats, seal
from reports.runs import Run, evaluations_of, layouts, open_run
from reports.statistics.reliability import binned, calibration_error, error_by_chance, wilson
from reports.statistics.table import statistics_of
from reports.tables.table import table_name
from run_benchmark import main

RunFolder = Callable[..., Path]
UNIT = "heartbeat"
PAIR = Verdict("linear-recording", "linear", 0.1, "random", "pmq", -0.05, -0.07, -0.03, 0.001, 0.9, 1.0)
RUN = Sealed("a", "", "recording", [41, 42], {"corpus": "c", "ptb-xl": "p"}, [PAIR])
NAMES = ("A", "B")


@pytest.fixture(scope="module")
def predictions(simulate_predictions: Callable[..., Any], scatter: Any) -> Any:
    """(row, seed) -> predictions: row 0 is far better than 1 and 2; eight seeds on one test set."""
    design = {"methods": 3, "seeds": 8, "patients": 150, "windows": 1, "advantage": 2.0, "scatter": scatter(seed=0.1)}
    return simulate_predictions(np.random.default_rng(3), **design)


@pytest.fixture
def run_folder(predictions: Any, write_predictions: Callable[..., Path]) -> RunFolder:
    """Write a store of some of the seeds."""

    def write(name: str, seeds: list[int]) -> Path:
        rows = ("pmq", "moco", "random")
        own = {(rows[row], "ptb-xl", 0.3, seed): found for (row, seed), found in predictions.items() if seed in seeds}
        return write_predictions(own, name=name)

    return write


def sealed_by_report(run: Run) -> list[str]:
    """What a report does with the verdicts, without its files."""
    own = [layout for evaluation in evaluations_of(run.plan) for layout in layouts(run.plan, evaluation)]
    return seal(run, {table_name(layout, UNIT): statistics_of(run, layout, UNIT) for layout in own})


def test_a_finished_run_is_sealed_once_and_an_unfinished_one_is_not(run_folder: RunFolder) -> None:
    root = run_folder("runs", [0, 1, 2])
    run = open_run(root)
    some = dict(list(run.rows.items())[1:])
    assert sealed_by_report(replace(run, rows=some)) == []
    assert not (root / "verdicts").exists()
    assert sealed_by_report(run) == []
    file = verdicts_file(root, run.plan.key)
    before = file.read_bytes()
    found = read_verdicts(root, run.plan.key)
    assert found is not None
    assert (found.seeds, found.unit) == ([0, 1, 2], UNIT)
    (told, _, same) = found.verdicts
    assert (told.first, told.second) == ("pmq", "moco")
    assert told.difference > 0
    assert told.repeat is not None
    assert same.repeat is None
    assert sealed_by_report(run) == []
    assert file.read_bytes() == before


def test_a_seal_that_was_changed_is_refused_and_stays(run_folder: RunFolder) -> None:
    root = run_folder("runs", [0, 1, 2])
    run = open_run(root)
    sealed_by_report(run)
    file = verdicts_file(root, run.plan.key)
    damaged = file.read_bytes().replace(b'"difference": 0.', b'"difference": 0.9')
    file.write_bytes(damaged)
    (line,) = sealed_by_report(run)
    assert line.startswith(f"{file} is no seal of verdicts (its content does not match its digest): it is neither used")
    assert file.read_bytes() == damaged
    with pytest.raises(NoResults, match="does not match its digest"):
        record_of([str(root), str(root)])


def test_what_is_no_repeat_is_refused(run_folder: RunFolder) -> None:
    roots = [run_folder(name, seeds) for name, seeds in (("a", [0, 1, 2]), ("b", [2, 3, 4]), ("c", [5, 6]))]
    with pytest.raises(NoResults, match="a has no sealed verdicts"):
        record_of([str(root) for root in roots])
    for root in roots:
        sealed_by_report(open_run(root))
    with pytest.raises(
        NoResults, match="are not independent: seeds 2 are in both, on the same data of mimic-iv-ecg, ptb"
    ):
        record_of([str(root) for root in roots[:2]])
    with pytest.raises(NoResults, match="have 3 and 2 seeds: a stated chance is of a repeat with as many"):
        record_of([str(roots[0]), str(roots[2])])
    refuse(NAMES, RUN, replace(RUN, data={"corpus": "d", "ptb-xl": "q"}))  # the same seeds on other data
    other = replace(RUN, seeds=[43, 44], verdicts=[replace(PAIR, ratio=0.01)])
    with pytest.raises(NoResults, match="A and B have no pair of rows in common"):
        refuse(NAMES, RUN, other)


def test_found_again_is_significant_in_the_same_direction() -> None:
    swapped = replace(PAIR, first="pmq", second="random", difference=0.04, low=0.01, high=0.07)
    cases = [
        (PAIR, True),
        (swapped, True),
        (replace(PAIR, difference=0.05), False),
        (replace(PAIR, p_holm=0.06), False),
        (replace(PAIR, p_holm=None), False),
    ]
    for verdict, expected in cases:
        (own,) = repeats(NAMES, RUN, replace(RUN, seeds=[43, 44], verdicts=[verdict]))
        assert (own.found, own.chance, own.data) == (expected, 0.9, SAME)
    (own,) = repeats(NAMES, RUN, replace(RUN, verdicts=[swapped], data={"corpus": "c", "ptb-xl": "q"}))
    assert (own.data, own.again.difference, own.again.low, own.again.high) == (OTHER, -0.04, -0.07, -0.01)
    assert list(repeats(NAMES, replace(RUN, verdicts=[replace(PAIR, p_holm=0.2, repeat=None)]), RUN)) == []


def test_the_numbers_of_a_record_made_by_hand() -> None:
    bins = binned([0.55] * 4 + [0.95] * 9 + [1.0], [True, False] * 2 + [True] * 8 + [False] * 2)
    assert [(own.low, own.high, own.count, own.found) for own in bins] == [(0.5, 0.6, 4, 2), (0.9, 1.0, 10, 8)]
    assert [own.stated for own in bins] == pytest.approx([0.55, 0.955])
    assert calibration_error(bins) == pytest.approx((4 * 0.05 + 10 * 0.155) / 14)
    assert bins[1].interval == pytest.approx((0.4901625, 0.9433178), abs=1e-6)  # 8 of 10
    assert wilson(0, 10) == pytest.approx((0, 0.2775328), abs=1e-6)
    assert wilson(10, 10)[1] == pytest.approx(1)
    spread = sqrt(2 / np.pi) * (sqrt(4 * 0.55 * 0.45) + sqrt(9 * 0.95 * 0.05)) / 14
    assert error_by_chance(bins) == pytest.approx(spread)
    assert [own.low for own in binned([0.3, 0.29], [True, True])] == [0.2, 0.3]
    assert np.isnan(calibration_error([]))


def test_the_sentence_says_whether_it_is_calibrated_or_by_how_much_not() -> None:
    (found,) = repeats(NAMES, RUN, replace(RUN, seeds=[43, 44]))
    missed = replace(found, again=replace(PAIR, p_holm=1.0))
    assert calibration_text([found] * 9 + [missed]).startswith(
        "Calibrated within 5 points. 10 comparisons, 90.0 % stated"
    )
    said = calibration_text([found, missed])
    assert said.startswith("Not calibrated, by 40.0 points: stated chances are too high on the whole. 2 comparisons")


def test_every_division_of_the_seeds_is_a_repeat(run_folder: RunFolder) -> None:
    run = open_run(run_folder("runs", [0, 1, 2, 3]))
    found = halves_of(run)
    assert found.halves == 3
    assert {own.data for own in found.comparisons} == {SAME}
    said = {(own.earlier.partition("seeds ")[2], own.later.partition("seeds ")[2]) for own in found.comparisons}
    halves = ["0, 1)", "0, 2)", "0, 3)", "1, 2)", "1, 3)", "2, 3)"]
    assert said
    assert said <= set(zip(halves, reversed(halves), strict=True))
    assert ("pmq", "random") in {(own.stated.first, own.stated.second) for own in found.comparisons}
    assert halves_of(run, most=2).halves == 2
    with pytest.raises(NoResults, match="has 3 seeds: halves need an even number, at least 4"):
        halves_of(replace(run, plan=replace(run.plan, cells=[cell for cell in run.plan.cells if cell.seed < 3])))


def test_the_command_writes_the_record_of_two_runs(
    run_folder: RunFolder, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    roots, out = [str(run_folder("a", [0, 1, 2, 3])), str(run_folder("b", [4, 5, 6, 7]))], tmp_path / "out"
    for root in roots:
        assert main(["report", "--results", root, "--out", str(tmp_path / "of")]) == 0
    capsys.readouterr()
    assert main(["report", "--record", *roots, "--out", str(out)]) == 0
    shown = capsys.readouterr().out
    files = ("record.csv", "record.md", "figures/reliability.png", "figures/reliability.pdf")
    assert [line for line in shown.splitlines() if line.startswith("wrote")] == [
        f"wrote {out / name}" for name in files
    ]
    assert all((out / name).is_file() for name in files)
    lines = pd.read_csv(out / "record.csv")
    assert len(lines) == 4  # both rows below the best one, both ways
    assert lines["found"].tolist() == [1] * 4
    assert "| 90 to 100 %" in (out / "record.md").read_text()
    assert main(["report", "--record", roots[0], roots[0], "--out", str(out)]) == 1
    assert capsys.readouterr().err.count("\n") == 1
    assert main(["report", "--record", *roots, "--unit", "recording"]) == 2
    assert "--record takes neither --compare" in capsys.readouterr().err
