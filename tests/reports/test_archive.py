"""An archive holds what a report is made from and nothing else, is the same bytes again, and damage is noticed.

Paths of a machine shrink to their last part; texts that only look like paths stay.
"""

from __future__ import annotations

import hashlib
import json
from collections.abc import Callable, Mapping
from dataclasses import replace
from pathlib import Path
from zipfile import ZIP_DEFLATED, ZipFile

import numpy as np
import pytest

from benchmark.results.names import CARD
from benchmark.results.schema import digest
from benchmark.results.store import Failure, NoResults, Plan, Row, Store, card_bytes
from reports.archive import CONTENTS, BadCapsule, pack, portable, unpack
from reports.load import load

WriteStore = Callable[..., Path]
HOME = "/home/ann/ecg"


def contents_of(file: Path) -> dict[str, bytes]:
    with ZipFile(file) as archive:
        return {name: archive.read(name) for name in archive.namelist()}


def rewrite(file: Path, change: Mapping[str, bytes | None]) -> None:
    """Write a zip again with some of its members changed, added or (None) removed."""
    members = contents_of(file) | change
    with ZipFile(file, "w", ZIP_DEFLATED) as archive:
        for name, body in members.items():
            if body is not None:
                archive.writestr(name, body)


@pytest.fixture
def capsule(store_root: Path, tmp_path: Path) -> Path:
    """The made-up store as a capsule."""
    pack(load(store_root), tmp_path / "results.zip")
    return tmp_path / "results.zip"


def test_a_store_comes_back_as_it_was(store_root: Path, capsule: Path, tmp_path: Path) -> None:
    store, unpacked = Store(store_root), unpack(capsule, tmp_path / "unpacked")
    again, own = load(unpacked.root), load(store_root)
    assert (again.plan, again.rows, again.failures, again.damaged) == (own.plan, own.rows, own.failures, own.damaged)
    for key in load(store_root).rows:
        assert (unpacked.cells / f"{key}.npz").read_bytes() == (store.cells / f"{key}.npz").read_bytes()


def test_the_same_run_gives_the_same_bytes(write_store: WriteStore, tmp_path: Path) -> None:
    packed = [tmp_path / "a.zip", tmp_path / "b.zip"]
    digests = {pack(load(write_store(f.stem, backwards=f.stem == "b")), f) for f in packed}
    assert packed[0].read_bytes() == packed[1].read_bytes()
    assert digests == {json.loads(contents_of(packed[0])[CONTENTS])["digest"]}


def test_it_holds_rows_predictions_cards_and_nothing_else(store_root: Path, tmp_path: Path) -> None:
    store = Store(store_root)
    folder = store.pretrained / digest("pmq")
    folder.mkdir(parents=True)
    for name in (CARD, "encoder.safetensors", "checkpoint.pt"):
        (folder / name).write_bytes(card_bytes({"key": digest("pmq"), "seconds": 1.0}))
    key = store.row_keys()[0]
    store.save_row(replace(load(store_root).rows[key], key="stale"), store.predictions(key))
    pack(load(store_root), tmp_path / "results.zip")
    run, names = load(store_root), set(contents_of(tmp_path / "results.zip"))
    keys = set(run.rows)
    assert names == {
        CONTENTS, "plans/latest", f"plans/{run.plan.key}.json", f"pretrained/{digest('pmq')}/{CARD}",
        *(f"cells/{key}.{kind}" for key in keys for kind in ("json", "npz")),
        *(f"cells/{key}.error.json" for key in run.failures),
    }  # fmt: skip


def test_no_path_of_the_machine_is_packed_and_the_rows_still_vouch_for_themselves(
    write_store: WriteStore, tmp_path: Path
) -> None:
    def with_paths(row: Row) -> Row:
        return replace(row, provenance={"config": {"methods": [f"{HOME}/mine.py"]}}, notes=[f"read from {HOME}/x.dat"])

    def plan_with_paths(plan: Plan) -> Plan:
        return replace(plan, config=plan.config | {"knobs": {f"{HOME}/mine.py": {"lr": 1.0}}})

    root = write_store(alter=with_paths, alter_plan=plan_with_paths)
    store = Store(root)
    (failed,) = load(root).failures
    error = f"FileNotFoundError: no encoder in {HOME}/runs: run again"
    store.save_failure(failed, "fine-tune", error, f'Traceback:\n  File "{HOME}/mine.py", line 3, in learn\n{error}')
    pack(load(root), tmp_path / "results.zip")
    assert not [name for name, body in contents_of(tmp_path / "results.zip").items() if b"/home" in body]
    run = load(unpack(tmp_path / "results.zip", tmp_path / "unpacked").root)
    assert run.damaged == {}
    row = next(iter(run.rows.values()))
    assert row.notes == ["read from x.dat"]
    error = "FileNotFoundError: no encoder in runs: run again"
    told = f'Traceback:\n  File "mine.py", line 3, in learn\n{error}'
    assert run.failures[failed] == Failure(error, told)


def test_an_id_that_is_a_path_is_refused(store_root: Path, tmp_path: Path) -> None:
    store, run = Store(store_root), load(store_root)
    key, row = next(iter(run.rows.items()))
    store.save_row(row, replace(store.predictions(key), recording=np.array(["r1", f"{HOME}/r2"])))
    with pytest.raises(BadCapsule, match=rf"{key}: the id '{HOME}/r2' is a path .* give recordings relative ids"):
        pack(load(store_root), tmp_path / "results.zip")
    assert not (tmp_path / "results.zip").exists()


def test_damaged_rows_stay_out(store_root: Path, tmp_path: Path) -> None:
    victim = Store(store_root).row_keys()[0]
    (store_root / "cells" / f"{victim}.json").write_text("{")
    pack(load(store_root), tmp_path / "results.zip")
    assert not [name for name in contents_of(tmp_path / "results.zip") if victim in name]


@pytest.mark.parametrize("content", [b"", b"PK\x03\x04", b"no zip at all" * 100, 0.5, 0.99])
def test_what_is_no_zip_or_cut_off_is_one_line(capsule: Path, content: bytes | float) -> None:
    whole = capsule.read_bytes()
    capsule.write_bytes(content if isinstance(content, bytes) else whole[: int(content * len(whole))])
    assert_refused(capsule, "it cannot be read")


def test_a_flipped_byte_is_noticed_or_changes_nothing(capsule: Path, tmp_path: Path) -> None:
    content, whole = capsule.read_bytes(), contents_of(capsule)
    refused = 0
    for number, place in enumerate(range(100, len(content), 3001)):
        capsule.write_bytes(content[:place] + bytes([content[place] ^ 1]) + content[place + 1 :])
        try:
            store = unpack(capsule, tmp_path / str(number))
        except BadCapsule:
            refused += 1
        else:
            files = [path for path in store.root.rglob("*") if path.is_file()]
            assert {f.relative_to(store.root).as_posix(): f.read_bytes() for f in files}.items() <= whole.items()
    assert refused > 5


@pytest.mark.parametrize(
    ("change", "problem"),
    [
        ({CONTENTS: None}, "it cannot be read"),
        ({CONTENTS: b"[]"}, "it cannot be read"),
        ({CONTENTS: b"{"}, "it cannot be read"),
        ({CONTENTS: b'{"format": 99}'}, "its format is 99, this version reads 1"),
        ({"plans/latest": b"other"}, "plans/latest does not match its digest"),
        ({"plans/latest": None}, "its files are not those of its contents"),
        ({"cells/extra.json": b"{}"}, "its files are not those of its contents"),
    ],
)
def test_an_altered_capsule_is_one_line(capsule: Path, change: dict[str, bytes | None], problem: str) -> None:
    rewrite(capsule, change)
    assert_refused(capsule, problem)


def test_a_capsule_writes_nothing_outside_its_folder(capsule: Path, tmp_path: Path) -> None:
    contents = json.loads(contents_of(capsule)[CONTENTS])
    contents["files"]["../outside"] = hashlib.sha256(b"x").hexdigest()
    contents["digest"] = hashlib.sha256(json.dumps(contents["files"], sort_keys=True).encode()).hexdigest()
    rewrite(capsule, {"../outside": b"x", CONTENTS: json.dumps(contents).encode()})
    unpack(capsule, tmp_path / "a" / "unpacked")
    assert [file.parent.name for file in tmp_path.rglob("outside")] == ["unpacked"]


def test_a_capsule_that_states_too_many_bytes_is_not_unpacked(capsule: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("reports.archive.LARGEST", 1000)
    assert_refused(capsule, "more than 1000 bytes")


def assert_refused(file: Path, problem: str) -> None:
    with pytest.raises(BadCapsule) as caught:
        unpack(file, file.parent / "unpacked")
    message = str(caught.value)
    assert message.startswith(f"{file} is no whole results capsule: ")
    assert problem in message
    assert message.endswith("copy it anew, or pack it with --capsule")
    assert "\n" not in message
    assert isinstance(caught.value, NoResults)


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("/home/ann/mine.py", "mine.py"),
        ("/Users/Ann Smith/my method.py", "my method.py"),
        ("~/methods/mine.py", "mine.py"),
        ("file:///home/ann/model", "model"),
        ("C:\\data\\ecg", "ecg"),
        ("no encoder in /home/ann/runs/pretrained/abc: it is missing", "no encoder in abc: it is missing"),
        ("[Errno 2] No such file: '/Users/Ann Smith/x y.npz'", "[Errno 2] No such file: 'x y.npz'"),
        ('  File "/home/ann/a.py", line 3', '  File "a.py", line 3'),
    ],
)
def test_an_absolute_path_shrinks_to_its_last_part(text: str, expected: str) -> None:
    assert portable(text) == expected
    assert portable(expected) == expected


@pytest.mark.parametrize(
    "text",
    ["./mine.py", "files/p10", "https://a.org/b/c", "heart rate below 50/min", "and/or/maybe", "/part", "1 / 2", ""],
)
def test_other_texts_stay(text: str) -> None:
    assert portable(text) == text


def test_keys_and_nested_values_are_reached_and_numbers_are_not() -> None:
    value = {"/home/ann/mine.py": {"lr": 1e-3, "methods": ["/home/ann/mine.py", None, True]}}
    assert portable(value) == {"mine.py": {"lr": 1e-3, "methods": ["mine.py", None, True]}}
