"""The store: whole rows or none, damage noticed, merging by copying; plans, records and failures."""

from __future__ import annotations

import errno
import hashlib
import json
import math
import os
import re
import shutil
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from benchmark.results.files import (
    Damaged,
    content_digest,
    digest,
    flat,
    read_digested_json,
    write_atomic,
)
from benchmark.results.names import ERROR, RECORD_FILE
from benchmark.results.store import (
    Failure,
    NoResults,
    Plan,
    PlannedCell,
    Predictions,
    Row,
    Store,
    labels_of,
    read_record_file,
    record_bytes,
)

ROW = Row(
    key="0123456789abcdef",
    pretrain_key="fedcba9876543210",
    variant="pmq",
    method="pmq",
    evaluation="finetune",
    dataset="ptb-xl",
    ratio=0.1,
    seed=41,
    pretrain_seed=42,
    protocol="paper",
    labels="single",
    scores={"heartbeat": {"f1": 1 / 3, "auroc": None, "acc": 0.5}},
    undefined={"heartbeat": {"auroc": "no class has both signs in the test set"}},
    notes=["no labelled window of class HYP"],
    counts={"test_windows": 2},
    coverage={"NORM": {"patients": 2, "unscored": {"p9": "too short"}}},
    training={"best_epoch": 3, "validation_f1": [0.1, 0.2, 0.3], "seconds": 1.25},
    provenance={"config": {"ratios": [0.1]}, "device": {"type": "cpu", "threads": 1}},
)
PREDICTIONS = Predictions(
    probability=np.array([[0.25, 0.75], [1.0, 0.0]], dtype=np.float32),
    truth=np.array([[0, 1], [0, 1]], dtype=np.int64),
    recording=np.array(["r1", "r2"]),
    patient=np.array(["p1", "p1"]),
)
OTHERS = replace(PREDICTIONS, probability=PREDICTIONS.probability[::-1])
FACTS: dict[str, Any] = {"recordings": 3, "patients": 2}
PTB_XL: dict[str, Any] = {"title": "PTB-XL", **FACTS}
CELL = PlannedCell(ROW.key, "pmq", "finetune", "ptb-xl", 0.1, 41)
PLAN = Plan(
    key=digest("one"),
    config={"protocol": "paper", "data": {"labels": "single"}},
    variants={"random": "Random", "pmq": "PMQ"},
    datasets={"ptb-xl": PTB_XL},
    pretraining={"name": "mimic-iv-ecg", **FACTS},
    cells=[CELL],
)


@pytest.fixture
def store(tmp_path: Path) -> Store:
    """A store with one finished cell and its plan."""
    store = Store(tmp_path / "runs")
    store.save_row(ROW, PREDICTIONS)
    store.save_plan(PLAN)
    return store


@contextmanager
def refused(kind: type[Exception], *parts: object) -> Iterator[None]:
    """Expect an error of a kind within, in one line that has the parts in their order."""
    with pytest.raises(kind, match=".*".join(re.escape(str(part)) for part in parts)) as caught:
        yield
    assert "\n" not in str(caught.value)


def test_a_row_comes_back_as_it_was_also_from_a_store_that_was_copied(store: Store, tmp_path: Path) -> None:
    files = {path.relative_to(store.root).as_posix() for path in store.root.rglob("*") if path.is_file()}
    assert files == {f"cells/{ROW.key}.json", f"cells/{ROW.key}.npz", "plans/latest", f"plans/{PLAN.key}.json"}
    second = Store(tmp_path / "elsewhere")
    second.save_row(replace(ROW, key="2" * 16, seed=42), PREDICTIONS)
    second.save_plan(replace(PLAN, key="3" * 16))
    shutil.copytree(second.root, store.root, dirs_exist_ok=True)
    assert store.load_row("2" * 16) == replace(ROW, key="2" * 16, seed=42)
    assert (store.load_plan().key, store.load_plan(PLAN.key)) == ("3" * 16, PLAN)
    assert store.load_row(ROW.key) == ROW
    for name, value in store.predictions(ROW.key).arrays().items():
        np.testing.assert_array_equal(value, getattr(PREDICTIONS, name), strict=True)


def test_predictions_on_validation_lie_beside_those_of_the_test_windows(store: Store) -> None:
    store.save_row(ROW, PREDICTIONS, OTHERS)
    for prefix, expected in (("", PREDICTIONS), ("validation_", OTHERS)):
        arrays = store.predictions(ROW.key, prefix).arrays()  # type: ignore[arg-type]
        assert arrays.keys() == expected.arrays().keys()
        for name, value in expected.arrays().items():
            np.testing.assert_array_equal(arrays[name], value, strict=True)


def test_reading_creates_nothing(tmp_path: Path) -> None:
    store = Store(tmp_path / "runs")
    assert (store.load_row("x"), store.record("x"), store.failures(["x"])) == (None, None, {})
    with refused(NoResults, "no results in", "start a run with"):
        store.load_plan()
    with refused(NoResults, "no plan abc in"):
        store.load_plan("abc")
    assert list(tmp_path.iterdir()) == []


@pytest.mark.parametrize("name", ["json", "npz"])
def test_a_file_that_is_not_what_was_written_is_named(store: Store, name: str) -> None:
    file = store.cells / f"{ROW.key}.{name}"
    whole = file.read_bytes()
    store.save_row(replace(ROW, key="f" * 16), OTHERS)
    other = (store.cells / ("f" * 16 + ".npz")).read_bytes()
    others = [b"[]", b"{}", b'{"row": 3}', b"null", b'"text"', other]
    for content in (b"", whole[:1], whole[:100], whole[:-1], *others):
        file.write_bytes(content)
        with refused(Damaged, f"{ROW.key}.{name}: ", "computes the cell again"):
            store.load_row(ROW.key)
    file.unlink()
    if name == "npz":
        with refused(Damaged, ROW.key):
            store.load_row(ROW.key)
        with refused(Damaged, f"{ROW.key}.npz: "):
            store.predictions(ROW.key)


def test_an_altered_value_of_a_row_is_noticed(store: Store) -> None:
    file = store.cells / f"{ROW.key}.json"
    whole = file.read_text()
    for old, new in (("0.333", "0.933"), ('"seed": 41', '"seed": 42')):
        assert old in whole
        file.write_text(whole.replace(old, new))
        with refused(Damaged, "its content does not match its digest"):
            store.load_row(ROW.key)


@pytest.mark.parametrize(
    ("change", "problem"),
    [
        ({"key": "f" * 16}, "this is the row of ffff"),
        ({"key": "../x"}, "key: string should match pattern"),
        ({"pretrain_key": "../../x"}, "pretrain_key: string should match pattern"),
        ({"ratio": 2.0}, "ratio: input should be less than or equal to 1, got 2.0"),
        ({"evaluation": "other"}, "evaluation: string should match pattern"),
        ({"scores": {"heartbeat": {"f1": 1.5}}}, "scores.heartbeat.f1: input should be less than or equal to 1"),
        ({"more": 1}, "more: unexpected keyword argument"),
        ({"format": 1}, "format: input should be 2, got 1"),
    ],
)
def test_a_row_that_this_version_cannot_read_is_refused_by_its_first_wrong_value(
    store: Store, change: dict[str, Any], problem: str
) -> None:
    file = store.cells / f"{ROW.key}.json"
    envelope = json.loads(file.read_bytes())
    envelope["row"] |= change
    envelope["row_sha256"] = hashlib.sha256(json.dumps(envelope["row"], sort_keys=True).encode()).hexdigest()
    file.write_text(json.dumps(envelope))
    with refused(Damaged, f"{ROW.key}.json: ", problem):
        store.load_row(ROW.key)


def test_a_crash_leaves_the_old_row_or_a_damaged_one_but_no_wrong_one(
    store: Store, monkeypatch: pytest.MonkeyPatch
) -> None:
    rename, before = os.replace, {file.name for file in store.cells.iterdir()}

    def crash(source: Path, target: Path) -> None:
        if Path(target).suffix == last:
            raise OSError("power cut")
        rename(source, target)

    monkeypatch.setattr(os, "replace", crash)
    for last in (".npz", ".json"):
        with pytest.raises(OSError, match="power cut"):
            store.save_row(replace(ROW, seed=99), OTHERS)
        if last == ".npz":
            assert store.load_row(ROW.key) == ROW
    with refused(Damaged, f"{ROW.key}.npz: ", "does not match its digest"):
        store.load_row(ROW.key)
    assert {file.name for file in store.cells.iterdir()} == before


def test_a_failure_is_stored_with_its_traceback_until_the_cell_succeeds(store: Store) -> None:
    failure, other = Failure("RuntimeError: no luck", "Traceback: here"), Failure("ValueError: none either")
    assert store.save_failure(ROW.key, "pmq finetune", failure) == store.failure_file(ROW.key)
    store.save_failure("other", "moco finetune", other)
    file = store.save_failure(ROW.pretrain_key, "pmq pretrain seed 42", failure, pretraining=True)
    assert file == store.pretrained / ROW.pretrain_key / ERROR
    assert read_digested_json(file) == {"key": ROW.pretrain_key, "what": "pmq pretrain seed 42", **vars(failure)}
    expected = {ROW.key: failure, ROW.pretrain_key: failure, "other": other}
    assert store.failures(expected) == expected
    store.save_row(ROW, PREDICTIONS)
    assert store.failures([ROW.key, "other"]) == {"other": other}
    store.failure_file("other").write_bytes(b"{}")
    assert store.failures(["other"])["other"].line.startswith(f"{store.failure_file('other')}: its content does not")


def test_a_failure_has_the_traceback_of_an_error_that_was_raised_here_or_in_a_worker() -> None:
    from_worker = ValueError("no luck")
    from_worker.__cause__ = RuntimeError("as it was there")
    with pytest.raises(ValueError, match="no luck") as caught:
        raise ValueError("no luck\nin two lines")
    assert Failure.from_error(ValueError("no luck")) == Failure("ValueError: no luck")
    assert "as it was there" in Failure.from_error(from_worker).traceback
    assert Failure.from_error(caught.value).traceback.startswith("Traceback")
    assert Failure.from_error(caught.value).line == "ValueError: no luck"
    assert Failure.from_error(OSError(errno.EMFILE, "Too many open files")).line.startswith(
        "OSError: [Errno 24] Too many open files; raise the limit"
    )
    assert Failure.from_error(RuntimeError("\n  Some tensors share memory\n  a, b")).line == (
        "RuntimeError: Some tensors share memory"
    )


def test_plans_are_listed_with_the_one_saved_last_in_front(tmp_path: Path) -> None:
    store = Store(tmp_path)
    a, b, c = "a" * 16, "b" * 16, "c" * 16
    for key in (a, c, b, c):
        store.save_plan(replace(PLAN, key=key))
    assert store.plan_keys() == [c, a, b]
    assert store.load_plan().key == c
    shutil.copy(store.plans / f"{a}.json", store.plans / f"{b}.json")
    with refused(Damaged, f"this is the plan {a}, not {b}"):
        store.load_plan(b)
    plans, damage = store.load_plans()
    assert [plan.key for plan in plans] == [c, a]
    assert [line.partition(":")[0] for line in damage] == [str(store.plans / f"{b}.json")]
    for content in (b"", b"../plans/" + a.encode(), b"d", b"\xff"):
        (store.plans / "latest").write_bytes(content)
        with refused(Damaged, f"{store.plans / 'latest'}: ", "its run command writes it again"):
            store.load_plan()


def test_a_damaged_plan_is_one_line_with_the_remedy(store: Store) -> None:
    changed = (store.plans / f"{PLAN.key}.json").read_bytes().replace(b'"seed": 41', b'"seed": 42')
    for content in (b"", b'{"key": "0123"', b"\xff", b"[]", b'{"cells": [{"wrong": 1}]}', changed):
        (store.plans / f"{PLAN.key}.json").write_bytes(content)
        for read in (store.load_plan, store.load_plans):
            with refused(Damaged, f"{PLAN.key}.json: ", "its run command writes it again"):
                read()


RECORD_CONTENT = {"method": "pmq", "seed": 41}
KEY = digest(RECORD_CONTENT)
WHOLE_RECORD = {"key": KEY, "key_content": RECORD_CONTENT, **RECORD_CONTENT, "seconds": 1.5}


@pytest.fixture
def record_file(store: Store) -> Path:
    """The file of a pretraining's record in the store."""
    file = store.pretrained / KEY / RECORD_FILE
    write_atomic(file, record_bytes(WHOLE_RECORD))
    return file


def test_an_edited_record_is_one_line_with_the_file(store: Store, record_file: Path) -> None:
    other = record_bytes(WHOLE_RECORD | {"key": "another"}).decode()
    edited = record_bytes(WHOLE_RECORD).decode().replace("1.5", "0.1")
    assert (store.record(KEY), store.record("none")) == (WHOLE_RECORD, None)
    assert json.loads(record_file.read_bytes())["record_sha256"] == content_digest(WHOLE_RECORD)
    assert record_file.relative_to(store.root).parts == ("pretrained", KEY, "pretraining.json")
    assert read_record_file(store.root / RECORD_FILE) is None
    for content, problem in (
        (edited, "does not match its digest"),
        (other, "the record of another"),
        ("", "it is no JSON"),
    ):
        record_file.write_text(content)
        with refused(Damaged, f"{record_file}: ", problem):
            store.record(KEY)


def test_a_digest_is_of_the_canonical_json() -> None:
    assert digest({"b": "x", "a": [1, 2.5, None]}) == digest({"a": (1, 2.5, None), "b": "x"})
    assert digest({"a": 1}) != digest({"a": 1.0})
    with pytest.raises(ValueError, match="not JSON compliant"):
        digest(math.nan)


def test_nested_values_have_dotted_names() -> None:
    values = {"a": {"b": 1, "c": {"d": [2, 3]}}, "f": None}
    assert flat(values, "data.") == {"data.a.b": 1, "data.a.c.d": [2, 3], "data.f": None}


def test_columns_of_a_named_task_have_several_labels() -> None:
    datasets = {"one": PTB_XL | {"task": "form"}, "other": PTB_XL}
    assert labels_of(replace(PLAN, datasets=datasets)) == "single and multi"
    pooled = PLAN.config | {"data": PLAN.config["data"] | {"pool": "max"}}
    assert (PLAN.pool, replace(PLAN, config=pooled).pool, ROW.subset, CELL.subset) == ("mean", "max", 0, 0)
