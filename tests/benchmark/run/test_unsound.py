"""Results that were stored while a file of their data was damaged are computed again; those before and after stay."""

from __future__ import annotations

import time
from dataclasses import replace
from pathlib import Path

import pytest

from benchmark.data.damage import spans_file
from benchmark.results.files import digested_json, write_atomic
from benchmark.run.unsound import remove_unsound
from benchmark.training.checkpoint import CHECKPOINT, WEIGHTS, read_record
from tests.benchmark.run.bench import Bench

NOTHING: tuple[str, list[str]] = ("", [])


def damage(bench: Bench, name: str, folder: Path, since: float, until: float) -> None:
    """Let a dataset of a grid be one that was damaged in a time."""
    bench.prepared = bench.prepared | {name: replace(bench.prepared[name], folder=folder)}
    write_atomic(spans_file(folder), digested_json({"spans": [[since, until]]}))


def removed(bench: Bench) -> tuple[str, list[str]]:
    """Remove what is unsound; returns how much, and the rows whose pretraining is gone."""
    corpus = bench.prepared[bench.config.data.pretrain]
    lines = remove_unsound(bench.grid, corpus, bench.prepared, {}, bench.store)
    results = "".join(lines).rpartition(": ")[2]
    missing = bench.missing()
    assert results.partition(" and ")[2].startswith(str(len(missing.cells) or ""))
    return results, [pretraining.variant.name for pretraining in missing.pretrainings]


@pytest.mark.parametrize(
    ("name", "expected"),
    [
        ("mimic-iv-ecg", ("1 pretraining and 2 cells", ["pmq"])),
        ("chapman", ("0 pretrainings and 4 cells", [])),
        ("ptb-xl", NOTHING),
    ],
    ids=["of the corpus", "of a column", "of neither"],
)
def test_results_of_the_time_in_which_a_file_was_damaged_are_removed(
    finished: Bench, tmp_path: Path, name: str, expected: tuple[str, list[str]]
) -> None:
    now = time.time()
    damage(finished, name, tmp_path / "before", 0.0, now - 3600)
    assert removed(finished) == NOTHING
    damage(finished, name, tmp_path / "after", now + 3600, now + 7200)
    assert removed(finished) == NOTHING
    damage(finished, name, tmp_path / "meanwhile", now - 3600, now + 3600)
    assert removed(finished) == expected


def test_what_damage_reached_of_a_pretraining_is_made_again(finished: Bench, tmp_path: Path) -> None:
    folders = {one.variant.name: finished.store.pretrained / one.key for one in finished.grid.pretrainings}
    (folders["pmq"] / WEIGHTS).rename(folders["pmq"] / CHECKPOINT)
    for name in ("mimic-iv-ecg", "chapman"):
        damage(finished, name, tmp_path / name, 0.0, time.time() + 3600)
    assert removed(finished) == ("1 pretraining and 4 cells", ["pmq"])
    assert not folders["pmq"].exists()
    record = read_record(folders["random"])
    assert record is not None
    assert record["health_sample"] == {"windows_sha256": ""}
