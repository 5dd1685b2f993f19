"""Ranks are those that no significant difference rules out, and runs are paired by seed where they can be.

A submission is named by its file alone, and what it was tested on is read from its predictions.
"""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np

from benchmark.results.files import npz_bytes
from benchmark.results.store import Store
from reports.leaderboard import LONGEST_NAME, digests_of, name_of, ranks_of, replace_rows, slots, unique


def test_a_shared_seed_has_the_place_of_the_first_submission() -> None:
    for seeds, places in (
        ({41, 42, 43}, {41: 0, 42: 1, 43: 2}),
        ({42, 43, 44}, {42: 1, 43: 2, 44: 0}),
        ({1, 2, 3, 4}, {1: 0, 2: 1, 3: 2, 4: 3}),
        ({43}, {43: 2}),
    ):
        assert slots(seeds, (41, 42, 43)) == places


def test_ranks_are_those_that_no_significant_difference_rules_out(
    simulate_columns: Callable[..., list[Any]], scatter: Callable[..., Any]
) -> None:
    design = {"methods": 3, "seeds": 4, "patients": 150, "resamples": 200}
    ahead, *_ = simulate_columns(np.random.default_rng(3), **design, scatter=scatter(run=0.2), advantage=3.0)
    ranks, pairs, apart = ranks_of([ahead])
    assert (ranks, pairs, apart) == ({"m0": (1, 1), "m1": (2, 3), "m2": (2, 3)}, 3, 2)
    turned = replace_rows(ahead, ["m2", "m0"])
    assert np.array_equal(turned.scores[1], ahead.scores[0])
    assert ranks_of([turned])[0] == {"m0": (1, 1), "m2": (2, 2)}
    assert ranks_of([replace_rows(ahead, ["m0"])]) == ({}, 0, 0)
    equal, *_ = simulate_columns(np.random.default_rng(3), **design, scatter=scatter())
    assert ranks_of([equal]) == ({}, 3, 0)


def test_a_submission_is_named_by_its_file_alone_and_equal_names_are_numbered() -> None:
    names = {
        "capsules/alice.zip": "alice",
        "/home/ann/runs": "runs",
        "/home/ann/runs@0123": "runs@0123",
        "runs@all": "runs",
        "x\u202ey.zip": "x?y",
        f"{'a' * 100}.zip": "a" * LONGEST_NAME,
    }
    assert {source: name_of(source) for source in names} == names
    assert unique(["a", "b", "a", "a"]) == ["a", "b", "a (2)", "a (3)"]


def test_windows_and_labels_have_digests_of_their_own(tmp_path: Path) -> None:
    store = Store(tmp_path)
    store.cells.mkdir()
    truth, probability = np.eye(2, dtype=np.int64), np.eye(2, dtype=np.float32)
    ids = {"recording": np.array(["r1", "r2"]), "patient": np.array(["p1", "p2"])}
    longer = {name: found.astype("<U30") for name, found in ids.items()}
    cells = {
        "a": {"probability": probability, "truth": truth, **ids},
        "same": {"probability": probability[::-1], "truth": truth, **longer},
        "labels": {"probability": probability, "truth": truth[::-1].copy(), **ids},
        "windows": {"probability": probability, "truth": truth, **ids, "recording": np.array(["r1", "r3"])},
        "joined": {"probability": probability, "truth": truth, **ids, "recording": np.array(["r1\nr2", ""])},
    }
    for key, arrays in cells.items():
        (store.cells / f"{key}.npz").write_bytes(npz_bytes(arrays))
    found = {key: digests_of(store, key) for key in cells}
    assert found["a"][:2] == found["same"][:2]
    assert found["a"].content != found["same"].content
    assert (found["a"].windows, found["a"].labels != found["labels"].labels) == (found["labels"].windows, True)
    assert len({found[key].windows for key in ("a", "windows", "joined")}) == 3
