"""Stored tunings: what was written is read, and a damaged or altered file is refused in one line."""

from __future__ import annotations

import json
from dataclasses import asdict
from pathlib import Path
from typing import Any

import pytest

from benchmark.results.schema import digest
from benchmark.results.store import NoResults
from benchmark.results.tuned import Space, Trial, Tuning, best_of, load_tuning, save_tuning
from tests.damage import forged

CONTENT = {"method": "pmq"}
TRIALS = [Trial({"lr": 0.1}, {"chapman": 0.5}, 0.5), Trial({"lr": 0.2}, {}, None, "ValueError: x")]
SPACES: dict[str, Space] = {"lr": {"scale": "log", "values": [0.01, 1.0]}}
TUNING = Tuning(digest(CONTENT), CONTENT, "pmq", "PMQ", 0.1, 41, 42, 1, {"chapman": "f"}, True, SPACES, TRIALS, 0)


def altered(path: Path, **changes: Any) -> None:
    forged(path, lambda text: json.dumps(json.loads(text) | changes))


def test_a_tuning_is_read_as_it_was_written(tmp_path: Path) -> None:
    assert load_tuning(tmp_path, TUNING.key) is None
    assert save_tuning(tmp_path, TUNING) == tmp_path / "tuned" / f"{TUNING.key}.json"
    assert load_tuning(tmp_path, TUNING.key) == TUNING


@pytest.mark.parametrize(
    ("changes", "why"),
    [
        ({"content": {"method": "moco"}}, "does not give its key"),
        ({"best": 1}, "trial 1 is not the best"),
        ({"ratio": 30.0}, "ratio"),
        ({"trials": []}, "trial 0 is not the best"),
        ({"trials": 3}, "not iterable"),
        ({"more": 1}, "more"),
        ({"spaces": {}}, "other knobs than the spaces"),
        ({"spaces": {"lr": {"scale": "linear", "values": [1]}}}, "scale"),
        ({"spaces": {"lr": {"scale": "log", "values": [0.01, 1.0], "base": 10}}}, r"spaces\.lr\.base"),
        ({"trials": [asdict(TRIALS[0]), asdict(Trial({"batch": 8}, {}, None))]}, "other knobs than the spaces"),
        ({"trials": [{"knobs": {"lr": "fast"}, "scores": {}, "mean": 0.1}]}, "knobs.lr"),
    ],
)
def test_an_altered_file_is_refused(tmp_path: Path, changes: dict[str, Any], why: str) -> None:
    path = save_tuning(tmp_path, TUNING)
    altered(path, **changes)
    with pytest.raises(NoResults, match=why):
        load_tuning(tmp_path, TUNING.key)


def test_a_changed_digit_is_refused(tmp_path: Path) -> None:
    path = save_tuning(tmp_path, TUNING)
    path.write_text(path.read_text().replace("0.5", "0.6"))
    with pytest.raises(NoResults, match=r"does not match its digest\); the same `tune` command writes it again"):
        load_tuning(tmp_path, TUNING.key)


def test_the_best_is_the_earliest_of_equal_trials_and_never_a_failed_one() -> None:
    means = [None, 0.0, 0.5, 0.5]
    assert best_of([Trial({}, {}, mean) for mean in means]) == 2
    assert best_of([Trial({}, {}, mean) for mean in means[:2]]) == 1
    assert best_of([Trial({}, {}, None)]) is None
