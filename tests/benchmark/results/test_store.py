"""The store: whole rows or none, damage noticed, merging by copying, plans.

Stored predictions: which ids, labels and probabilities are read, at their bounds.

The plan as others may have written it: sections that may be absent, entries that may not, and bounds.

Cards of pretrainings: whole ones are read; altered ones and those of another key are refused, each in one line.

A failure from an exception: its text, its line, and the traceback where there is one.

Sex and age bands from words and years.

The file of groups: written once, read back, and a damaged one counts as none.
"""

from __future__ import annotations

import hashlib
import json
import math
import os
import re
import shutil
from collections.abc import Callable
from contextlib import suppress
from dataclasses import asdict, replace
from io import BytesIO
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from benchmark.results.files import npz_bytes, write_atomic
from benchmark.results.names import CARD, ERROR
from benchmark.results.schema import checked, digest
from benchmark.results.store import (
    BadCard,
    CorruptRow,
    Failure,
    NoResults,
    Plan,
    PlannedCell,
    Predictions,
    Row,
    Store,
    band_of,
    card_bytes,
    check_plan,
    groups_of,
    labels_of,
    people_file,
    read_card_file,
    read_people,
    read_predictions,
    save_people,
    sex_of,
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
PLAN = Plan(
    key="plan-one",
    config={"protocol": "paper", "data": {"labels": "single"}},
    variants={"random": "Random", "pmq": "PMQ"},
    datasets={"ptb-xl": {"title": "PTB-XL", "recordings": 3, "patients": 2}},
    pretraining={"name": "mimic-iv-ecg", "recordings": 3, "patients": 2},
    cells=[PlannedCell(ROW.key, "pmq", "finetune", "ptb-xl", 0.1, 41)],
)


@pytest.fixture
def store(tmp_path: Path) -> Store:
    """A store with one finished cell."""
    store = Store(tmp_path / "runs")
    store.save_row(ROW, PREDICTIONS)
    return store


def forge_row(store: Store, change: dict[str, Any]) -> None:
    """Change values of the stored row, with digests that match."""
    body = asdict(ROW) | change
    arrays = (store.cells / f"{ROW.key}.npz").read_bytes()
    sums = {
        "row_sha256": hashlib.sha256(json.dumps(body, sort_keys=True).encode()).hexdigest(),
        "predictions_sha256": hashlib.sha256(arrays).hexdigest(),
    }
    (store.cells / f"{ROW.key}.json").write_text(json.dumps({"row": body, **sums}))


def files(folder: Path) -> set[str]:
    return {path.relative_to(folder).as_posix() for path in folder.rglob("*") if path.is_file()}


def test_a_row_and_its_predictions_come_back_as_they_were(store: Store) -> None:
    assert store.load_row(ROW.key) == ROW
    loaded = store.predictions(ROW.key)
    for name in ("probability", "truth", "recording", "patient"):
        value, expected = getattr(loaded, name), getattr(PREDICTIONS, name)
        assert value.dtype == expected.dtype
        np.testing.assert_array_equal(value, expected)
    assert files(store.root) == {f"cells/{ROW.key}.json", f"cells/{ROW.key}.npz"}


@pytest.mark.parametrize("name", ["json", "npz"])
@pytest.mark.parametrize("kept", [0, 1, 100, -1])
def test_a_truncated_file_is_noticed_and_named(store: Store, name: str, kept: int) -> None:
    file = store.cells / f"{ROW.key}.{name}"
    file.write_bytes(file.read_bytes()[:kept])
    with pytest.raises(CorruptRow, match=ROW.key):
        store.load_row(ROW.key)


@pytest.mark.parametrize(
    ("old", "new"), [('"f1": 0.333', '"f1": 0.933'), ('"seed": 41', '"seed": 42'), ('"format": 2', '"format": 1')]
)
def test_an_altered_row_is_noticed(store: Store, old: str, new: str) -> None:
    file = store.cells / f"{ROW.key}.json"
    text = file.read_text()
    assert old in text
    file.write_text(text.replace(old, new))
    with pytest.raises(CorruptRow, match="does not match its digest"):
        store.load_row(ROW.key)


def test_the_order_in_which_json_is_written_does_not_matter(store: Store) -> None:
    file = store.cells / f"{ROW.key}.json"
    envelope = json.loads(file.read_bytes())
    file.write_text(json.dumps({**envelope, "row": dict(reversed(envelope["row"].items()))}))
    assert store.load_row(ROW.key) == ROW


@pytest.mark.parametrize("content", ["[]", "{}", '{"row": 3}', "null", '"text"'])
def test_other_json_in_a_rows_place_is_noticed(store: Store, content: str) -> None:
    (store.cells / f"{ROW.key}.json").write_text(content)
    with pytest.raises(CorruptRow, match=ROW.key):
        store.load_row(ROW.key)


def test_predictions_of_another_cell_or_none_are_noticed(store: Store) -> None:
    other = replace(PREDICTIONS, probability=PREDICTIONS.probability[::-1])
    store.save_row(replace(ROW, key="other"), other)
    shutil.copy(store.cells / "other.npz", store.cells / f"{ROW.key}.npz")
    with pytest.raises(CorruptRow, match="predictions do not match"):
        store.load_row(ROW.key)
    (store.cells / f"{ROW.key}.npz").unlink()
    with pytest.raises(CorruptRow, match="npz"):
        store.load_row(ROW.key)


def test_a_row_of_another_format_is_left_out_with_its_format(store: Store) -> None:
    store.save_row(replace(ROW, format=99), PREDICTIONS)
    with pytest.raises(CorruptRow, match="row format 99"):
        store.load_row(ROW.key)


@pytest.mark.parametrize(
    ("change", "problem"),
    [
        ({"key": "other"}, f"this is no row of key {ROW.key}"),
        ({"pretrain_key": "../../outside"}, "pretrain_key: '../../outside' is no key"),
        ({"dataset": "../../outside"}, "dataset: '../../outside' is no name"),
        ({"variant": "x" * 50_000}, "variant: string should have at most 20000 characters"),
        ({"evaluation": "other"}, "evaluation: unknown 'other', there are finetune, linear, linear-fix"),
        ({"ratio": 0}, "ratio: input should be greater than 0, got 0"),
        ({"ratio": 2}, "ratio: input should be less than or equal to 1, got 2"),
        ({"seed": True}, "seed: input should be a valid integer, got True"),
        ({"seed": 2**70}, "an integer beyond 64 bits"),
        ({"protocol": ["paper"]}, "protocol: input should be a valid string"),
        ({"scores": {"heartbeat": {"f1": 1.5}}}, "scores.heartbeat.f1: input should be less than or equal to 1"),
        ({"scores": {"heartbeat": {"f1": float("nan")}}}, "scores.heartbeat.f1: input should be"),
        ({"scores": {"heart": {"f1": 0.5}}}, "unknown 'heart', there are heartbeat, recording"),
        ({"scores": {"heartbeat": {"../f1": 0.5}}}, "'../f1' is no name"),
        ({"counts": {"test_windows": -1}}, "counts.test_windows: input should be greater than or equal to 0"),
        ({"coverage": {"NORM": {"patients": 2}}}, "coverage.NORM.unscored: field required"),
        ({"training": {"seconds": "long"}}, "training.seconds: input should be a valid number"),
        ({"provenance": {"device": "cpu"}}, "provenance.device: input should be a valid dictionary"),
        ({"provenance": {"config": json.loads("[" * 90 + "]" * 90)}}, "nested deeper than 50 levels"),
        ({"more": 1}, "row format 2, this version reads 2"),
    ],
)
def test_a_value_that_no_row_has_is_named_although_the_digest_is_right(
    store: Store, change: dict[str, Any], problem: str
) -> None:
    forge_row(store, change)
    with pytest.raises(CorruptRow, match=re.escape(problem)) as caught:
        store.load_row(ROW.key)
    assert "\n" not in str(caught.value)


def test_text_in_a_row_loses_the_characters_that_do_something(store: Store) -> None:
    forge_row(store, {"notes": ["a\x1b[2Jb\u202ec\ud800"], "training": {"seconds": 1, "m\x9b": "\x07"}})
    row = store.load_row(ROW.key)
    assert row is not None
    assert row.notes == ["a?[2Jb?c?"]
    assert row.training == {"seconds": 1, "m?": "?"}


FORGED = {
    "of another dtype": {"probability": PREDICTIONS.probability.astype(np.float64)},
    "of another shape": {"truth": PREDICTIONS.truth[:1]},
    "flat": {"probability": np.array([0.5, 0.5], np.float32), "truth": np.array([0, 1])},
    "negative": {"probability": -PREDICTIONS.probability},
    "above one": {"probability": 2 * PREDICTIONS.probability},
    "not a number": {"probability": np.nan * PREDICTIONS.probability},
    "a label of two": {"truth": 2 * PREDICTIONS.truth},
    "ids that are numbers": {"patient": np.array([1, 2])},
    "long ids": {"patient": np.array(["p" * 1000, "q"])},
    "ids that are no text": {"patient": np.array([2**31 - 1, 1], np.uint32).view("<U1")},
    "of another byte order": {"patient": np.array(["p", "q"], ">U1")},
    "objects": {"recording": np.array([{}, None])},
    "a further array": {"more": np.zeros(1)},
}


@pytest.mark.parametrize("what", FORGED)
def test_predictions_that_are_none_are_refused_in_one_line(store: Store, what: str) -> None:
    buffer = BytesIO()
    np.savez(buffer, **vars(PREDICTIONS) | FORGED[what])
    (store.cells / f"{ROW.key}.npz").write_bytes(buffer.getvalue())
    with pytest.raises(CorruptRow, match=ROW.key) as caught:
        store.predictions(ROW.key)
    assert "\n" not in str(caught.value)


def test_rows_are_listed_without_failures(store: Store) -> None:
    store.save_failure("failed", "pmq finetune", "no luck")
    (store.cells / "damaged.json").write_text("{")
    assert store.row_keys() == [ROW.key, "damaged"]
    assert Store(store.root / "nowhere").row_keys() == []


def test_reading_creates_nothing(tmp_path: Path) -> None:
    store = Store(tmp_path / "runs")
    assert store.load_row("x") is None
    assert store.failures(["x"]) == {}
    with pytest.raises(NoResults, match="start a run with"):
        store.load_plan()
    with pytest.raises(NoResults, match="no plan abc in"):
        store.load_plan("abc")
    assert list(tmp_path.iterdir()) == []


def test_a_crash_before_the_rename_leaves_the_old_row(store: Store, monkeypatch: pytest.MonkeyPatch) -> None:
    def crash(source: Path, target: Path) -> None:
        raise OSError("power cut")

    monkeypatch.setattr(os, "replace", crash)
    with pytest.raises(OSError, match="power cut"):
        store.save_row(replace(ROW, seed=99), PREDICTIONS)
    assert store.load_row(ROW.key) == ROW


def test_a_crash_between_predictions_and_row_is_a_damaged_row_not_a_wrong_one(
    store: Store, monkeypatch: pytest.MonkeyPatch
) -> None:
    rename = os.replace

    def crash(source: Path, target: Path) -> None:
        if Path(target).suffix == ".json":
            raise OSError("power cut")
        rename(source, target)

    monkeypatch.setattr(os, "replace", crash)
    with pytest.raises(OSError, match="power cut"):
        store.save_row(ROW, replace(PREDICTIONS, probability=PREDICTIONS.probability[::-1]))
    with pytest.raises(CorruptRow, match="predictions do not match"):
        store.load_row(ROW.key)


def test_a_failed_write_leaves_no_temporary_file(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    def full(descriptor: int) -> None:
        raise OSError("no space left on device")

    monkeypatch.setattr(os, "fsync", full)
    with pytest.raises(OSError, match="no space left"):
        write_atomic(tmp_path / "file", b"content")
    assert list(tmp_path.iterdir()) == []


def test_a_write_makes_its_folder_and_leaves_the_file_alone(tmp_path: Path) -> None:
    for content in (b"first", b"second"):
        write_atomic(tmp_path / "a" / "b" / "file", content)
        assert files(tmp_path) == {"a/b/file"}
        assert (tmp_path / "a" / "b" / "file").read_bytes() == content


def test_a_failure_is_kept_with_its_traceback_until_the_cell_succeeds(store: Store) -> None:
    file = store.save_failure(ROW.key, "pmq finetune", "RuntimeError: no luck", "Traceback: here")
    assert file == store.failure_file(ROW.key) == store.cells / f"{ROW.key}.error.json"
    store.save_failure("other", "moco finetune", "ValueError: none either")
    assert store.failures([ROW.key]) == {ROW.key: Failure("RuntimeError: no luck", "Traceback: here")}
    store.save_row(ROW, PREDICTIONS)
    assert store.failures([ROW.key, "other"]) == {"other": Failure("ValueError: none either")}


def test_a_pretraining_leaves_its_failure_where_its_weights_would_be(store: Store) -> None:
    file = store.save_pretraining_failure("fedcba9876543210", "pmq pretrain seed 42", "ValueError: x", "Traceback")
    assert file == store.pretrained / "fedcba9876543210" / ERROR
    assert store.failures(["fedcba9876543210"]) == {"fedcba9876543210": Failure("ValueError: x", "Traceback")}


def test_a_failure_of_before_tracebacks_were_kept_is_read(store: Store) -> None:
    (store.cells / "old.error.json").write_text('{"key": "old", "what": "pmq", "error": "ValueError: old"}')
    assert store.failures(["old"]) == {"old": Failure("ValueError: old")}


@pytest.mark.parametrize("content", ["{", "[]", "3", '{"error": 3}', "[" * 10**5, ""])
def test_a_damaged_failure_is_a_failure_that_says_so(store: Store, content: str) -> None:
    (store.cells / "bad.error.json").write_text(content)
    assert store.failures(["bad"])["bad"].line.startswith("bad.error.json is damaged: ")


@pytest.mark.parametrize("content", [b"", b"../../etc/passwd", b"\xff\xfe", b"x" * 10**6])
def test_a_damaged_latest_is_one_line(tmp_path: Path, content: bytes) -> None:
    store = Store(tmp_path)
    store.save_plan(PLAN)
    (store.plans / "latest").write_bytes(content)
    with pytest.raises(NoResults, match=r"latest is damaged: .* the same run command writes it again"):
        store.load_plan()


def test_a_plan_under_another_key_is_refused(tmp_path: Path) -> None:
    store = Store(tmp_path)
    store.save_plan(PLAN)
    (store.plans / "plan-two.json").write_bytes((store.plans / "plan-one.json").read_bytes())
    with pytest.raises(NoResults, match="this is the plan plan-one, not plan-two"):
        store.load_plan("plan-two")


def test_what_is_no_regular_file_is_damaged_and_never_waited_for(store: Store) -> None:
    store.save_plan(PLAN)
    for file in (store.cells / f"{ROW.key}.npz", store.plans / "plan-one.json"):
        file.unlink()
        os.mkfifo(file)
    with pytest.raises(CorruptRow, match="not a regular file"):
        store.load_row(ROW.key)
    with pytest.raises(NoResults, match="plan-one"):
        store.load_plan()


def test_stores_merge_by_copying(store: Store, tmp_path: Path) -> None:
    second = Store(tmp_path / "elsewhere")
    second.save_row(replace(ROW, key="second", seed=42), PREDICTIONS)
    second.save_plan(PLAN)
    shutil.copytree(second.root, store.root, dirs_exist_ok=True)
    assert store.load_row(ROW.key) == ROW
    assert store.load_row("second") == replace(ROW, key="second", seed=42)
    assert store.load_plan() == PLAN


def test_the_latest_plan_is_the_one_saved_last(tmp_path: Path) -> None:
    store = Store(tmp_path)
    store.save_plan(PLAN)
    store.save_plan(replace(PLAN, key="plan-two", cells=[]))
    assert store.load_plan().key == "plan-two"
    assert store.load_plan("plan-one") == PLAN
    store.save_plan(PLAN)
    assert store.load_plan() == PLAN


def test_a_store_has_a_folder_for_each_kind(tmp_path: Path) -> None:
    store = Store(tmp_path)
    assert [own.name for own in (store.cells, store.plans, store.pretrained)] == ["cells", "plans", "pretrained"]
    assert {own.parent for own in (store.cells, store.plans, store.pretrained)} == {tmp_path}


def test_plans_are_listed_with_the_latest_first(tmp_path: Path) -> None:
    store = Store(tmp_path)
    for key in ("a", "c", "b", "c"):
        store.save_plan(replace(PLAN, key=key))
    assert store.plan_keys() == ["c", "a", "b"]


CONTENT = {
    "evaluation": "finetune",
    "pretrain": ROW.pretrain_key,
    "data": "dd",
    "task": {"version": 1, "labels": "single", "protocol": "paper", "per_trial": 6},
}
DATA = {"name": "ptb-xl", "fingerprint": "dd", "simulated": True}
KEYED = replace(
    ROW,
    key=digest([CONTENT, ROW.ratio, ROW.seed]),
    provenance=ROW.provenance | {"key_content": CONTENT, "data": DATA},
)


def test_a_row_with_the_content_of_its_key_is_read(store: Store) -> None:
    store.save_row(KEYED, PREDICTIONS)
    assert store.load_row(KEYED.key) == KEYED


def test_a_row_whose_key_holds_no_task_is_of_its_labels_and_protocol(store: Store) -> None:
    content = {name: value for name, value in CONTENT.items() if name != "task"}
    key = digest([content, ROW.ratio, ROW.seed])
    row = replace(KEYED, key=key, provenance=KEYED.provenance | {"key_content": content})
    store.save_row(row, PREDICTIONS)
    assert store.load_row(key) == row


@pytest.mark.parametrize(
    ("change", "problem"),
    [
        ({"seed": 42}, "what the row says of its key does not give the key"),
        ({"provenance": KEYED.provenance | {"key_content": CONTENT | {"data": "ee"}}}, "does not give the key"),
        ({"provenance": KEYED.provenance | {"data": {"fingerprint": "ee"}}}, "the row's data is not that of its key"),
        ({"pretrain_key": "another"}, "the row's pretrain is not that of its key"),
        ({"evaluation": "linear"}, "the row's evaluation is not that of its key"),
        ({"dataset": "chapman"}, "the row's dataset is not that of its key"),
        ({"ratio": 0.3}, "what the row says of its key does not give the key"),
        ({"protocol": "strict"}, "the row's protocol is not that of its key"),
        ({"labels": "multi"}, "the row's labels is not that of its key"),
    ],
)
@pytest.mark.attack("rows and cards of another cell under valid digests")
def test_a_row_that_is_not_of_its_key_is_refused(store: Store, change: dict[str, Any], problem: str) -> None:
    store.save_row(replace(KEYED, **change), PREDICTIONS)
    with pytest.raises(CorruptRow, match=problem):
        store.load_row(KEYED.key)


@pytest.mark.attack("rows and cards of another cell under valid digests")
@pytest.mark.parametrize(
    ("name", "value"),
    [("dataset", "chapman"), ("method", "moco"), ("ratio", 0.3), ("seed", 42), ("evaluation", "linear")],
)
def test_a_row_is_refused_in_the_place_of_another_cell(store: Store, name: str, value: Any) -> None:
    place = {field: getattr(ROW, field) for field in ("dataset", "method", "ratio", "seed", "evaluation")}
    assert store.load_row(ROW.key, place) == ROW
    with pytest.raises(CorruptRow, match=f"{ROW.key}.json: the row's {name} is .*, not '?{value}'? as planned"):
        store.load_row(ROW.key, place | {name: value})


@pytest.mark.attack("rows and cards of another cell under valid digests")
@pytest.mark.parametrize("change", [{"method": "moco"}, {"seed": 1}])
def test_a_card_that_is_not_of_its_key_is_refused(store: Store, change: dict[str, Any]) -> None:
    content = {"method": "pmq", "seed": 42}
    key = digest(content)
    file = store.pretrained / key / CARD
    write_atomic(file, card_bytes({"key": key, "key_content": content} | content))
    assert store.card(key) is not None
    write_atomic(file, card_bytes({"key": key, "key_content": content} | content | change))
    with pytest.raises(BadCard, match=f"the card's {next(iter(change))} is not that of its key"):
        store.card(key)


def test_what_a_row_says_of_its_data_is_under_its_digest(store: Store) -> None:
    store.save_row(KEYED, PREDICTIONS)
    file = store.cells / f"{KEYED.key}.json"
    file.write_text(file.read_text().replace('"simulated": true', '"simulated": false'))
    with pytest.raises(CorruptRow, match="the row does not match its digest"):
        store.load_row(KEYED.key)


@pytest.mark.parametrize(
    ("plan", "problem"),
    [
        (replace(PLAN, config=PLAN.config | {"protocol": "other"}), "config.protocol: unknown 'other'"),
        (replace(PLAN, config={}), "protocol"),
        (replace(PLAN, datasets={"../../x": PLAN.datasets["ptb-xl"]}), "'../../x' is no name"),
        (replace(PLAN, datasets={"ptb-xl": {"title": "PTB-XL", "recordings": -1, "patients": 2}}), "recordings"),
        (replace(PLAN, roles={"pmq": {"role": "king", "of": "", "knob": "", "value": 0}}), "unknown 'king'"),
        (replace(PLAN, roles={"pmq": {"role": "sweep", "of": "../x", "knob": "k", "value": 0}}), "'../x' is no name"),
        (replace(PLAN, config=PLAN.config | {"more": float("inf")}), "not JSON compliant"),
        (replace(PLAN, warnings=[3]), "warnings.0: input should be a valid string"),
        (replace(PLAN, variants={}), "a cell of 'pmq' on 'ptb-xl', which the plan does not list"),
        (replace(PLAN, datasets={}), "a cell of 'pmq' on 'ptb-xl', which the plan does not list"),
        (replace(PLAN, cells=[replace(PLAN.cells[0], key="../x")]), "'../x' is no key"),
        (replace(PLAN, cells=[replace(PLAN.cells[0], ratio=30.0)]), "ratio: input should be less than or equal to 1"),
        (
            replace(PLAN, cells=[replace(PLAN.cells[0], evaluation="few-shot", ratio=2.5)]),
            "2.5 is no number of patients",
        ),
    ],
)
def test_a_plan_that_cannot_be_used_is_refused_by_what_is_wrong(tmp_path: Path, plan: Plan, problem: str) -> None:
    store = Store(tmp_path)
    store.save_plan(plan)
    with pytest.raises(NoResults, match=problem):
        store.load_plan()


def test_a_card_is_read_where_it_is_whole(store: Store) -> None:
    assert store.card(ROW.pretrain_key) is None
    file = store.pretrained / ROW.pretrain_key / CARD
    write_atomic(file, card_bytes({"key": ROW.pretrain_key, "seconds": 1.5}))
    card = store.card(ROW.pretrain_key)
    assert card is not None
    assert card["seconds"] == 1.5
    file.write_text("{")
    with pytest.raises(BadCard, match=str(file)):
        store.card(ROW.pretrain_key)


@pytest.mark.parametrize(
    "content", ["", '{"key": "plan-one"', "[" * 10**5, "\xff", "[]", '{"cells": []}', '{"cells": [{"wrong": 1}]}']
)
def test_a_damaged_plan_is_one_line_with_the_remedy(tmp_path: Path, content: str) -> None:
    store = Store(tmp_path)
    store.save_plan(PLAN)
    (store.plans / "plan-one.json").write_text(content)
    with pytest.raises(NoResults, match=r"is damaged .* the same run command writes it again") as caught:
        store.load_plan()
    assert "\n" not in str(caught.value)


def test_a_digest_depends_on_content_alone() -> None:
    assert digest({"b": 1, "a": [1.5, "x"]}) == digest({"a": (1.5, "x"), "b": 1})
    assert digest({"a": 1}) != digest({"a": 1.0})
    assert digest([0.1]) != digest([0.1 + 1e-16 * 2])
    with pytest.raises(ValueError, match="not JSON compliant"):
        digest(float("nan"))


def test_keys_stay_the_same_so_that_old_stores_can_be_merged() -> None:
    assert digest({"b": 1, "a": [1.5, "x", None, True]}) == "a1fbfff801eadd5b"


def test_a_row_is_plain_json_that_other_tools_read(store: Store) -> None:
    body = json.loads((store.cells / f"{ROW.key}.json").read_text())
    assert body["row"]["scores"]["heartbeat"] == {"f1": 1 / 3, "auroc": None, "acc": 0.5}


TWO = Predictions(
    probability=np.array([[0.0, 1.0], [1.0, 0.0]], dtype=np.float32),
    truth=np.array([[0, 1], [1, 0]], dtype=np.int64),
    recording=np.array(["r1", "r2"]),
    patient=np.array(["p1", "p1"]),
)


def read(predictions: Predictions) -> Predictions:
    return read_predictions(npz_bytes(vars(predictions)))


def test_an_id_has_at_most_250_characters() -> None:
    longest = np.array(["p" * 250, "q"])
    assert read(replace(TWO, patient=longest)).patient.tolist() == longest.tolist()
    with pytest.raises(ValueError, match="recording has ids of more than 250 characters"):
        read(replace(TWO, recording=np.array(["p" * 251, "q"])))


@pytest.mark.parametrize("code", [0xD7FF, 0xE000, 0x10FFFF])
def test_an_id_may_hold_any_character(code: int) -> None:
    assert read(replace(TWO, patient=np.array([chr(code), "q"]))).patient.tolist() == [chr(code), "q"]


@pytest.mark.parametrize("code", [0xD800, 0xDFFF, 0x110000])
def test_an_id_of_what_is_no_character_is_refused(code: int) -> None:
    ids = np.array([code, ord("q")], np.uint32).view("<U1")
    with pytest.raises(ValueError, match="patient has an id that is no text"):
        read(replace(TWO, patient=ids))


@pytest.mark.parametrize(
    ("change", "problem"),
    [
        ({"probability": TWO.probability[:, :0], "truth": TWO.truth[:, :0]}, r"the shape \(2, 0\)"),
        ({"probability": TWO.probability[0], "truth": TWO.truth[0]}, r"the shape \(2,\)"),
        ({"probability": TWO.probability + np.float32([0, 1e-3])}, r"outside \[0, 1\]"),
        ({"probability": TWO.probability - np.float32([0, 1e-3])}, r"outside \[0, 1\]"),
        ({"truth": -TWO.truth}, "a label is neither 0 nor 1"),
        ({"recording": TWO.recording[:1]}, r"recording is <U2 \(1,\), not str_ \(2,\)"),
        ({"truth": TWO.truth.astype(np.int32)}, "truth is int32"),
    ],
)
def test_what_is_wrong_with_an_array_is_said(change: dict[str, np.ndarray], problem: str) -> None:
    with pytest.raises(ValueError, match=problem):
        read(replace(TWO, **change))


def test_no_window_is_no_error() -> None:
    none = Predictions(*(values[:0] for values in vars(TWO).values()))
    assert read(none).probability.shape == (0, 2)


FACTS: dict[str, Any] = {"recordings": 3, "patients": 2}
PLAN_PLAN: dict[str, Any] = {
    "key": "plan-one",
    "config": {"protocol": "paper", "data": {"labels": "single"}},
    "variants": {"pmq": "PMQ"},
    "datasets": {"ptb-xl": {"title": "PTB-XL", **FACTS}},
    "pretraining": {"name": "mimic-iv-ecg", **FACTS},
}
ROLE: dict[str, Any] = {"role": "sweep", "of": "pmq", "knob": "momentum", "value": 0.9}


def test_a_plan_needs_no_more_than_its_required_entries() -> None:
    plan = checked(Plan, PLAN_PLAN)
    assert (plan.roles, plan.warnings, plan.cells) == ({}, [], [])
    config = {"protocol": "paper", "data": {"labels": "multi"}, "pretrain": {}, "more": {}}
    elsewhere = {"pretrained_on": "MIMIC", "saw": {}, "licence": "MIT", "signals": "12 leads", "unserved": {}}
    for role in (ROLE, ROLE | {"elsewhere": elsewhere}):
        assert checked(Plan, PLAN_PLAN | {"config": config, "roles": {"pmq": role}}).roles == {"pmq": role}


def test_an_entry_that_no_plan_has_is_refused() -> None:
    with pytest.raises(ValueError, match="more: "):
        checked(Plan, PLAN_PLAN | {"more": 1})


@pytest.mark.parametrize(
    ("own", "tasks", "labels"),
    [
        ("single", [{}, {}], "single"),
        ("single", [{"task": "form"}, {}], "single and multi"),
        ("single", [{"task": "form"}], "multi"),
        ("multi", [{}, {"task": "form"}], "multi"),
        ("single", [], "single"),
    ],
)
def test_columns_of_a_named_task_have_several_labels(own: str, tasks: list[dict[str, str]], labels: str) -> None:
    datasets = {f"d{number}": {"title": "D", **FACTS, **task} for number, task in enumerate(tasks)}
    config = {"protocol": "paper", "data": {"labels": own}}
    assert labels_of(checked(Plan, PLAN_PLAN | {"config": config, "datasets": datasets})) == labels


@pytest.mark.parametrize(
    ("change", "missing"),
    [
        ({"config": {"data": {"labels": "single"}}}, "config.protocol"),
        ({"config": {"protocol": "paper"}}, "config.data"),
        ({"config": {"protocol": "paper", "data": {}}}, "config.data.labels"),
        ({"datasets": {"ptb-xl": FACTS}}, "datasets.ptb-xl.title"),
        ({"datasets": {"ptb-xl": {"title": "PTB-XL", "patients": 2}}}, "datasets.ptb-xl.recordings"),
        ({"datasets": {"ptb-xl": {"title": "PTB-XL", "recordings": 3}}}, "datasets.ptb-xl.patients"),
        ({"pretraining": FACTS}, "pretraining.name"),
        *(
            ({"roles": {"pmq": {name: value for name, value in ROLE.items() if name != entry}}}, f"roles.pmq.{entry}")
            for entry in ROLE
        ),
    ],
)
def test_a_required_entry_that_is_missing_is_named(change: dict[str, Any], missing: str) -> None:
    with pytest.raises(ValueError, match=f"^{missing}: field required$"):
        checked(Plan, PLAN_PLAN | change)


def test_a_dataset_has_at_most_a_thousand_classes() -> None:
    def with_classes(count: int) -> dict[str, Any]:
        classes = [f"c{number}" for number in range(count)]
        return PLAN_PLAN | {"datasets": {"ptb-xl": {"title": "PTB-XL", **FACTS, "classes": classes}}}

    assert len(checked(Plan, with_classes(1000)).datasets["ptb-xl"]["classes"]) == 1000
    with pytest.raises(ValueError, match=r"^datasets\.ptb-xl\.classes: list should have at most 1000 items"):
        checked(Plan, with_classes(1001))


def test_a_cell_is_of_a_listed_row_and_a_listed_dataset() -> None:
    cell = PlannedCell("a", "pmq", "finetune", "ptb-xl", 0.1, 41)
    plan = replace(checked(Plan, PLAN_PLAN), cells=[cell])
    check_plan(plan, "plan-one")
    for other in (replace(cell, variant="moco"), replace(cell, dataset="chapman")):
        with pytest.raises(ValueError, match="which the plan does not list"):
            check_plan(replace(plan, cells=[cell, other]), "plan-one")


CARDS_CONTENT = {"method": "pmq", "seed": 41}
KEY = digest(CARDS_CONTENT)


def write(folder: Path, **facts: Any) -> Path:
    file = folder / KEY / CARD
    write_atomic(file, card_bytes({"key": KEY, "key_content": CARDS_CONTENT, "seconds": 1.5} | facts))
    return file


def test_a_whole_card_is_read_as_it_was_written(tmp_path: Path) -> None:
    card = read_card_file(write(tmp_path))
    assert (card["key"], card["seconds"]) == (KEY, 1.5)
    assert list(card) == ["key", "key_content", "seconds", "card_sha256"]
    assert card_bytes(card) == (tmp_path / KEY / CARD).read_bytes()


def test_the_order_of_a_card_s_entries_is_no_part_of_its_digest(tmp_path: Path) -> None:
    file = write(tmp_path)
    card = json.loads(file.read_bytes())
    file.write_text(json.dumps(dict(reversed(card.items()))))
    assert read_card_file(file) == card


@pytest.mark.attack("cards edited, swapped or damaged")
def test_a_flipped_bit_in_any_byte_is_noticed(tmp_path: Path) -> None:
    file = write(tmp_path)
    content = file.read_bytes()
    for position in range(len(content)):
        flipped = bytearray(content)
        flipped[position] ^= 1
        file.write_bytes(flipped)
        with pytest.raises(BadCard, match=str(file)):
            read_card_file(file)


@pytest.mark.attack("cards edited, swapped or damaged")
@pytest.mark.parametrize(
    ("change", "problem"),
    [
        (lambda card: json.dumps(card | {"seconds": 0.1}), "the card does not match its digest"),
        (lambda card: card_bytes(card | {"key": "another"}).decode(), "this is the card of another"),
        (lambda card: card_bytes(card | {"key_content": {}}).decode(), "what the card says of its key"),
        (lambda card: card_bytes(card | {"key_content": {"x": math.nan}}).decode(), "has no digest"),
        (lambda card: card_bytes(card | {"key_content": [1]}).decode(), "key_content: input should be a valid dict"),
        (lambda card: card_bytes(card | {"key_content": {"file": 3}}).decode(), "file: input should be a valid dict"),
        (lambda card: card_bytes(card | {"key": "x\n\x1b[2J"}).decode(), "this is the card of x"),
        (lambda card: "[]", "this is no card"),
        (lambda card: json.dumps({"key": KEY, "seconds": 1.5}), "the card does not match its digest"),
        (lambda card: "", "Expecting value"),
    ],
)
def test_an_edited_card_is_one_line_with_the_file(
    tmp_path: Path, change: Callable[[dict[str, Any]], str], problem: str
) -> None:
    file = write(tmp_path)
    file.write_text(change(json.loads(file.read_bytes())))
    with pytest.raises(BadCard, match=problem) as caught:
        read_card_file(file)
    assert str(caught.value).startswith(f"{file}: ")
    assert "\n" not in str(caught.value)


def test_an_exception_that_was_raised_has_a_traceback() -> None:
    try:
        raise ValueError("no keys\nnone at all")
    except ValueError as error:
        failure = Failure.of(error)
    assert failure.error == "ValueError: no keys\nnone at all"
    assert failure.line == "ValueError: no keys"
    assert failure.traceback.startswith("Traceback (most recent call last):")
    assert "test_an_exception_that_was_raised" in failure.traceback


def test_one_that_was_only_made_has_none() -> None:
    assert Failure.of(RuntimeError("killed")) == Failure("RuntimeError: killed")
    assert Failure("").line == "no error text"


def test_bands_of_years_and_words_for_a_sex() -> None:
    bands = {0: "under 40", 39.9: "under 40", 40: "40 to 59", 60: "60 to 79", 80: "80 and over", 300: "80 and over"}
    assert {years: band_of(years) for years in bands} == bands
    assert {sex_of(text) for text in ("Female", "F", "w", "woman")} == {"women"}
    assert {sex_of(text) for text in (" male ", "M", "m", "man")} == {"men"}
    assert {band_of(None), band_of(float("nan")), band_of(-1), sex_of(""), sex_of("Unknown")} == {""}


GROUPS = {"r1": ("women", "40 to 59"), "r2": ("", "under 40"), "r3": ("men", "")}


def test_groups_come_back_and_hold_no_age(tmp_path: Path) -> None:
    people = {"r1": ("Female", 57.0), "r2": ("", 12.0), "r3": ("m", None), "r4": ("?", None)}
    save_people(tmp_path, "f00d", groups_of(people))
    assert read_people(tmp_path, "f00d") == GROUPS
    assert json.loads(people_file(tmp_path, "f00d").read_text())["groups"]["r1"] == ["women", "40 to 59"]


def test_an_equal_file_is_left_alone_and_nothing_known_writes_none(tmp_path: Path) -> None:
    save_people(tmp_path, "none", {})
    assert not (tmp_path / "people").exists()
    save_people(tmp_path, "f00d", GROUPS)
    before = people_file(tmp_path, "f00d").stat().st_ino
    save_people(tmp_path, "f00d", GROUPS)
    assert people_file(tmp_path, "f00d").stat().st_ino == before


@pytest.mark.attack("sexes and age bands of a store, edited or damaged")
def test_no_byte_of_a_file_of_groups_can_be_changed_unseen(tmp_path: Path) -> None:
    save_people(tmp_path, "f00d", GROUPS)
    file = people_file(tmp_path, "f00d")
    whole = file.read_bytes()
    for place in range(len(whole)):
        file.write_bytes(whole[:place] + bytes([whole[place] ^ 1]) + whole[place + 1 :])
        with suppress(CorruptRow):
            assert read_people(tmp_path, "f00d") == GROUPS  # a changed space of the layout
    save_people(tmp_path, "f00d", GROUPS)
    assert file.read_bytes() == whole
    assert read_people(tmp_path, "../f00d") == {}
    file.rename(people_file(tmp_path, "d00f"))
    with pytest.raises(CorruptRow, match="of the data f00d"):
        read_people(tmp_path, "d00f")


@pytest.mark.attack("plans of a store, edited or damaged")
def test_no_digit_of_a_plan_can_be_changed_unseen(tmp_path: Path) -> None:
    store = Store(tmp_path)
    store.save_plan(PLAN)
    (file,) = store.plans.glob("*.json")
    whole = file.read_text()
    for place in (found.start() for found in re.finditer(r"[0-9]", whole)):
        file.write_text(whole[:place] + str((int(whole[place]) + 1) % 10) + whole[place + 1 :])
        with pytest.raises(NoResults, match="the same run command writes it again"):
            store.load_plan(PLAN.key)
    store.save_plan(PLAN)
    assert file.read_text() == whole
