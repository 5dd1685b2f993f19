"""Records of submitted jobs: written, read, forgotten; what cannot be read is left out."""

from __future__ import annotations

import os
from pathlib import Path

from benchmark.run.engines.slurm.ledger import forget, record, records


def test_records_are_written_read_and_forgotten(tmp_path: Path) -> None:
    record(tmp_path, "3", ["a", "b"], "two cells")
    record(tmp_path, "4", ["c"], "a pretraining")
    assert records(tmp_path) == {"3": ["a", "b"], "4": ["c"]}
    forget(tmp_path, ["3", "5"])
    assert records(tmp_path) == {"4": ["c"]}


def test_a_record_that_cannot_be_read_is_left_out(tmp_path: Path) -> None:
    record(tmp_path, "3", ["a"], "a cell")
    os.mkfifo(tmp_path / "4.json")
    (tmp_path / "5.json").write_text("[" * 100_000)
    (tmp_path / "6.json").write_text('{"keys": 3}')
    (tmp_path / "7.json").write_text("[]")
    assert records(tmp_path) == {"3": ["a"]}
