"""A capsule holds what a report is made from and nothing else, is the same bytes again, and is not trusted blindly."""

from __future__ import annotations

import hashlib
import json
import os
import stat
from collections.abc import Callable, Mapping
from dataclasses import replace
from io import BytesIO
from pathlib import Path
from zipfile import ZIP_DEFLATED, ZipFile, ZipInfo

import numpy as np
import pytest

from benchmark.results.failures import Failure
from benchmark.results.keys import digest
from benchmark.results.names import CARD
from benchmark.results.plan import Plan
from benchmark.results.rows import Row
from benchmark.results.store import NoResults, Store
from reports.runs.capsule import CONTENTS, BadCapsule, pack, unpack
from reports.runs.open import every_run
from reports.runs.run import Run, open_run

WriteStore = Callable[..., Path]
HOME = "/home/ann/ecg"


def run_of(root: Path) -> Run:
    (run,) = every_run(root, Store(root))
    return run


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
    pack(run_of(store_root), tmp_path / "results.zip")
    return tmp_path / "results.zip"


def test_a_store_comes_back_as_it_was(store_root: Path, capsule: Path, tmp_path: Path) -> None:
    store, unpacked = Store(store_root), unpack(capsule, tmp_path / "unpacked")
    again, own = open_run(unpacked.root), open_run(store_root)
    assert (again.plan, again.rows, again.failures, again.damaged) == (own.plan, own.rows, own.failures, own.damaged)
    for key in open_run(store_root).rows:
        assert (unpacked.cells / f"{key}.npz").read_bytes() == (store.cells / f"{key}.npz").read_bytes()


def test_the_same_run_gives_the_same_bytes(write_store: WriteStore, tmp_path: Path) -> None:
    packed = [tmp_path / "a.zip", tmp_path / "b.zip"]
    digests = {pack(run_of(write_store(f.stem, backwards=f.stem == "b")), f) for f in packed}
    assert packed[0].read_bytes() == packed[1].read_bytes()
    assert digests == {json.loads(contents_of(packed[0])[CONTENTS])["digest"]}


def test_it_holds_rows_predictions_cards_and_nothing_else(store_root: Path, tmp_path: Path) -> None:
    store = Store(store_root)
    folder = store.pretrained / digest("pmq")
    folder.mkdir(parents=True)
    for name in (CARD, "encoder.safetensors", "checkpoint.pt"):
        (folder / name).write_text(json.dumps({"seconds": 1.0}))
    key = store.row_keys()[0]
    store.save_row(replace(run_of(store_root).rows[key], key="stale"), store.predictions(key))
    pack(run_of(store_root), tmp_path / "results.zip")
    run, names = run_of(store_root), set(contents_of(tmp_path / "results.zip"))
    keys = set(run.rows)
    assert names == {
        CONTENTS, "plans/latest", f"plans/{run.plan.key}.json", f"pretrained/{digest('pmq')}/{CARD}",
        *(f"cells/{key}.{kind}" for key in keys for kind in ("json", "npz")),
        *(f"cells/{key}.error.json" for key in run.failures),
    }  # fmt: skip


def test_contents_hold_a_digest_of_every_test_set(capsule: Path) -> None:
    test_sets = json.loads(contents_of(capsule)[CONTENTS])["test_sets"]
    assert set(test_sets) == {"ptb-xl", "chapman"}
    assert test_sets["ptb-xl"] == test_sets["chapman"]
    assert len(test_sets["ptb-xl"]) == 64


def test_no_path_of_the_machine_is_packed_and_the_rows_still_vouch_for_themselves(
    write_store: WriteStore, tmp_path: Path
) -> None:
    def with_paths(row: Row) -> Row:
        return replace(row, provenance={"config": {"methods": [f"{HOME}/mine.py"]}}, notes=[f"read from {HOME}/x.dat"])

    def plan_with_paths(plan: Plan) -> Plan:
        return replace(plan, config=plan.config | {"knobs": {f"{HOME}/mine.py": {"lr": 1.0}}})

    root = write_store(alter=with_paths, alter_plan=plan_with_paths)
    store = Store(root)
    (failed,) = run_of(root).failures
    error = f"FileNotFoundError: no encoder in {HOME}/runs: run again"
    store.save_failure(failed, "fine-tune", error, f'Traceback:\n  File "{HOME}/mine.py", line 3, in learn\n{error}')
    pack(run_of(root), tmp_path / "results.zip")
    assert not [name for name, body in contents_of(tmp_path / "results.zip").items() if b"/home" in body]
    run = run_of(unpack(tmp_path / "results.zip", tmp_path / "unpacked").root)
    assert run.damaged == {}
    row = next(iter(run.rows.values()))
    assert row.notes == ["read from x.dat"]
    error = "FileNotFoundError: no encoder in runs: run again"
    told = f'Traceback:\n  File "mine.py", line 3, in learn\n{error}'
    assert run.failures[failed] == Failure(error, told)


def test_an_id_that_is_a_path_is_refused(store_root: Path, tmp_path: Path) -> None:
    store, run = Store(store_root), run_of(store_root)
    key, row = next(iter(run.rows.items()))
    store.save_row(row, replace(store.predictions(key), recording=np.array(["r1", f"{HOME}/r2"])))
    with pytest.raises(BadCapsule, match=rf"{key}: the id '{HOME}/r2' is a path .* give recordings relative ids"):
        pack(run_of(store_root), tmp_path / "results.zip")
    assert not (tmp_path / "results.zip").exists()


def test_damaged_rows_stay_out(store_root: Path, tmp_path: Path) -> None:
    victim = Store(store_root).row_keys()[0]
    (store_root / "cells" / f"{victim}.json").write_text("{")
    pack(run_of(store_root), tmp_path / "results.zip")
    assert not [name for name in contents_of(tmp_path / "results.zip") if victim in name]


@pytest.mark.parametrize("content", [b"", b"PK\x03\x04", b"no zip at all" * 100])
def test_what_is_no_zip_is_one_line(tmp_path: Path, content: bytes) -> None:
    (tmp_path / "bad.zip").write_bytes(content)
    assert_refused(tmp_path / "bad.zip", "it cannot be read")


@pytest.mark.parametrize("kept", [0.5, 0.99])
def test_a_truncated_capsule_is_one_line(capsule: Path, kept: float) -> None:
    content = capsule.read_bytes()
    capsule.write_bytes(content[: int(kept * len(content))])
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


@pytest.mark.parametrize("name", ["../outside", "/tmp/outside", "cells/../../outside", "signals/r1.dat"])
def test_a_strange_name_is_refused_before_anything_is_written(capsule: Path, tmp_path: Path, name: str) -> None:
    contents = json.loads(contents_of(capsule)[CONTENTS])
    contents["files"][name] = "0"
    rewrite(capsule, {name: b"", CONTENTS: json.dumps(contents).encode()})
    assert_refused(capsule, "which no capsule does")
    assert not (tmp_path / "unpacked").exists()


def forged(file: Path, name: str, body: bytes) -> None:
    """Replace or add a member, with contents that vouch for it."""
    contents = json.loads(contents_of(file)[CONTENTS])
    contents["files"][name] = hashlib.sha256(body).hexdigest()
    contents["digest"] = hashlib.sha256(json.dumps(contents["files"], sort_keys=True).encode()).hexdigest()
    rewrite(file, {name: body, CONTENTS: json.dumps(contents).encode()})


def test_a_zip_bomb_is_refused_before_it_is_unpacked(capsule: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    forged(capsule, "cells/bomb.json", b" " * 30_000_000)
    read: list[str] = []
    monkeypatch.setattr(ZipFile, "read", _noting(read))
    assert_refused(capsule, "it would unpack to more than 100 times its size")
    assert read == [CONTENTS]


def _noting(read: list[str]) -> Callable[[ZipFile, str], bytes]:
    own = ZipFile.read

    def reading(archive: ZipFile, name: str) -> bytes:
        read.append(name)
        return own(archive, name)

    return reading


@pytest.mark.parametrize(
    ("name", "value", "problem"),
    [
        ("MOST_MEMBERS", 10, "members, more than 10"),
        ("LARGEST", 1000, "larger than 1000 bytes"),
        ("LARGEST_JSON", 1000, "is larger than a file of its kind"),
        ("LARGEST_PREDICTIONS", 100, "is larger than a file of its kind"),
    ],
)
def test_its_size_and_members_are_bounded(
    capsule: Path, monkeypatch: pytest.MonkeyPatch, name: str, value: int, problem: str
) -> None:
    monkeypatch.setattr(f"reports.runs.capsule.{name}", value)
    assert_refused(capsule, problem)


def test_members_of_one_name_are_refused(capsule: Path) -> None:
    with ZipFile(capsule, "a") as archive, pytest.warns(UserWarning, match="Duplicate name"):
        archive.writestr("plans/latest", b"other")
    assert_refused(capsule, "it holds 'plans/latest' twice")


def test_a_link_is_refused(capsule: Path) -> None:
    link = ZipInfo("cells/link.json")
    link.external_attr = (stat.S_IFLNK | 0o777) << 16
    with ZipFile(capsule, "a") as archive:
        archive.writestr(link, "/etc/passwd")
    assert_refused(capsule, "'cells/link.json' is no plain file")


def npz(**arrays: np.ndarray) -> bytes:
    buffer = BytesIO()
    np.savez_compressed(buffer, **arrays)
    return buffer.getvalue()


def with_header(shape: str) -> bytes:
    """Four arrays of which one states more than it holds."""
    buffer, array = BytesIO(), BytesIO()
    np.save(array, np.zeros((2, 3), np.float32))
    with ZipFile(buffer, "w") as archive:
        archive.writestr("probability.npy", array.getvalue().replace(b"(2, 3), }          ", f"{shape}, }}".encode()))
    return buffer.getvalue()


@pytest.mark.parametrize(
    ("body", "problem"),
    [
        (npz(probability=np.array([{}], object)), "an array of object"),
        (npz(probability=np.zeros(1)), "arrays probability, not probability, truth, recording, patient"),
        (npz(probability=np.zeros(2 * 10**5)), "it would unpack to 1,600,128 bytes, more than 1 MiB"),
        (npz(**{f"a{number}": np.zeros(1) for number in range(101)}), "it has 101 members, more than 100"),
        (with_header("(2, 300000000000)"), "an array of float32 (2, 300000000000) in"),
        (b"no zip", "no readable .npz file"),
    ],
)
def test_predictions_are_checked_before_they_are_used(
    capsule: Path, monkeypatch: pytest.MonkeyPatch, body: bytes, problem: str
) -> None:
    monkeypatch.setattr("benchmark.results.rows.LARGEST_PREDICTIONS", 2**20)
    key = next(name for name in contents_of(capsule) if name.endswith(".npz"))
    forged(capsule, key, body)
    assert_refused(capsule, problem)


def test_a_folder_or_pipe_is_no_capsule(tmp_path: Path) -> None:
    os.mkfifo(tmp_path / "pipe.zip")
    assert_refused(tmp_path / "pipe.zip", "not a regular file")


def assert_refused(file: Path, problem: str) -> None:
    with pytest.raises(BadCapsule) as caught:
        unpack(file, file.parent / "unpacked")
    message = str(caught.value)
    assert message.startswith(f"{file} is no whole results capsule: ")
    assert problem in message
    assert message.endswith("copy it anew, or pack it with --capsule")
    assert "\n" not in message
    assert isinstance(caught.value, NoResults)
