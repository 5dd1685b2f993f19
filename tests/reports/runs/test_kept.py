"""Values kept between reports: the same bits back, and none where run, code or file are not the same."""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path

import pytest

from reports.runs import kept
from reports.runs.kept import Kept, content_of, kept_in
from reports.runs.run import open_run


def test_a_value_comes_back_to_the_bit(tmp_path: Path) -> None:
    store = Kept(tmp_path / "new", "content")
    store.put({"scores": [0.1 + 0.2, math.nan, -0.0]}, "statistics", "a")
    found = store.get("statistics", "a")["scores"]
    assert repr(found) == repr([0.1 + 0.2, math.nan, -0.0])
    assert store.get("statistics", "b") is None
    assert replace(store, content="other").get("statistics", "a") is None


@pytest.mark.parametrize("damage", [b"", b"{", b'{"value": 1}', b"[1]", b'{"sha256": "0", "value": [1, 2]}', b"\xff"])
def test_a_damaged_file_counts_as_none(tmp_path: Path, damage: bytes) -> None:
    store = Kept(tmp_path, "content")
    store.put([1, 2], "a")
    (file,) = tmp_path.iterdir()
    file.write_bytes(damage)
    assert store.get("a") is None


def test_where_nothing_can_be_written_nothing_is_kept(tmp_path: Path) -> None:
    (tmp_path / "file").touch()
    store = Kept(tmp_path / "file" / "folder", "content")
    store.put(1, "a")
    assert store.get("a") is None


def test_the_folder_stays_small(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(kept, "MOST", 3)
    store = Kept(tmp_path, "content")
    for number in range(5):
        store.put(number, str(number))
    assert len(list(tmp_path.iterdir())) == 3
    assert store.get("4") == 4


def test_the_content_is_that_of_rows_predictions_plan_and_code(
    write_store: Callable[..., Path], tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    root = write_store()
    run = open_run(root)
    contents = [content_of(run), content_of(replace(run, plan=replace(run.plan, warnings=["one"])))]
    key, row = next(iter(run.rows.items()))
    predictions = run.store.predictions(key)
    run.store.save_row(row, replace(predictions, probability=predictions.probability[:, ::-1].copy()))
    contents.append(content_of(open_run(root)))
    run.store.save_row(replace(row, notes=["one"]), predictions)
    contents.append(content_of(open_run(root)))
    contents.append(content_of(replace(run, digests={})))
    (root / "pretrained" / next(iter(run.rows.values())).pretrain_key).mkdir(parents=True)
    (root / "pretrained" / next(iter(run.rows.values())).pretrain_key / "pretraining.json").touch()
    contents.append(content_of(run))
    monkeypatch.setattr(kept, "_code", lambda: ["another"])
    contents.append(content_of(run))
    assert len(set(contents)) == len(contents)
    assert kept_in(tmp_path, run).content == contents[-1]
