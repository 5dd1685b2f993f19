"""A results archive gives the report of the store that it was packed from, and what is none is one line."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

import pytest

from benchmark.results.store import NoResults
from reports import load
from reports.archive import pack, unpack


def test_an_archive_is_the_run_it_was_packed_from_and_always_the_same_bytes(
    write_store: Callable[..., Path], tmp_path: Path
) -> None:
    results = load(write_store())
    pack(results, tmp_path / "a.zip")
    pack(results, tmp_path / "b.zip")
    assert (tmp_path / "a.zip").read_bytes() == (tmp_path / "b.zip").read_bytes()
    again = load(tmp_path / "a.zip")
    assert (again.plan, again.rows, again.failures) == (results.plan, results.rows, results.failures)
    assert again.pretrainings == results.pretrainings
    key = next(iter(results.rows))
    assert (again.predictions(key).probability == results.predictions(key).probability).all()


def test_what_is_no_archive_is_one_line(write_store: Callable[..., Path], tmp_path: Path) -> None:
    pack(load(write_store()), tmp_path / "a.zip")
    whole = (tmp_path / "a.zip").read_bytes()
    for content in (b"", b"text", whole[: len(whole) // 2]):
        (tmp_path / "a.zip").write_bytes(content)
        with pytest.raises(NoResults, match=r"a.zip is no results archive .*; pack it again with `report --archive`"):
            unpack(tmp_path / "a.zip", tmp_path / "out")
