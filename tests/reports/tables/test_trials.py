"""The trials of a search: the best first, the config's own setting and the failed ones among them."""

from __future__ import annotations

import csv

from reports.tables.trials import ranking, search_caption, trial_files, trial_tables
from tests.reports.searches import CLOCS, MOCO, SEARCHES


def test_a_table_has_the_trials_of_a_method_the_best_first() -> None:
    table, other = trial_tables(SEARCHES)
    assert table.header == ("Trial", "momentum", "lr", "chapman", "mean", "note")
    assert table.lines == (
        ("1", "0.9", "0.004", "60.0", "60.0", "chosen"),
        ("0", "0.99", "0.001", "50.0", "50.0", "own setting"),
        ("2", "0.999", "0.01", "–", "–", "failed: ValueError: the loss is not finite"),
    )
    assert other.lines[0][-1] == "chosen, own setting"
    assert (ranking(MOCO), ranking(CLOCS)) == ([1, 0, 2], [0, 1, 2])
    assert (table.caption, other.caption) == (search_caption(SEARCHES), "")


def test_what_the_scores_are_is_said_once() -> None:
    files = trial_files(SEARCHES)
    assert files["trials.md"].count("Macro-F1 in percent") == 1
    told = search_caption(SEARCHES)
    assert "with 10 % of the labels" in told
    assert "3 trials per method, one pretraining each (seed 42; labels 41, draws 1)." in told
    assert "1 trials failed." in told
    assert "no test result" in told
    assert "Simulated ECGs" in told


def test_the_csv_has_all_knobs_unrounded() -> None:
    lines = list(csv.DictReader(trial_files(SEARCHES)["trials.csv"].splitlines()))
    assert len(lines) == 6
    first, *_, last = lines
    assert (first["method"], first["trial"], first["chosen"], first["mean"], first["recipe.lr"]) == (
        "moco", "1", "1", "0.6", "0.004",
    )  # fmt: skip
    assert (last["method"], last["momentum"], last["own"]) == ("clocs", "", "0")
    assert lines[2]["error"] == "ValueError: the loss is not finite"
