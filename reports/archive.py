"""A results archive: one zip with all inputs of a report, for publication. No signals, no weights.

    contents.json                 format, description, digest of each file and of all files
    plans/KEY.json, plans/latest  the run
    cells/KEY.json, KEY.npz       its rows and their predictions; KEY.error.json: error of a failed cell
    pretrained/KEY/pretraining.json    how each encoder was trained

Recordings and patients keep the ids of the dataset's own tables: these link a prediction to its recording and fall
under the dataset's licence. Absolute paths are shortened to their last part. The same run gives the same bytes.
"""

from __future__ import annotations

import hashlib
import json
import re
import zlib
from collections.abc import Iterator, Mapping
from dataclasses import asdict
from io import BytesIO
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any
from zipfile import ZIP_DEFLATED, ZIP_STORED, BadZipFile, ZipFile, ZipInfo

from benchmark.results.files import MEBIBYTE, digested_json, unfit_members, write_atomic
from benchmark.results.names import CARD
from benchmark.results.store import BadCard, NoResults, Row, Store, card_bytes, row_bytes
from reports.results import Results

PART = r"[^\s/\\'\"<>|:;,()\[\]{}]+"
ROOT = r"(?:file://)?(?:~[\w.-]*|[A-Za-z]:)?"
START = rf"(?<![\w.:/\\~-]){ROOT}"
QUOTED = re.compile(rf"(?<=['\"]){ROOT}(?:[/\\][^/\\'\"\n]+){{2,}}[/\\]?(?=['\"])")
"""Between quotes, as in Python's errors, a path may contain spaces."""
BARE = re.compile(rf"{START}(?:[/\\]{PART}){{2,}}[/\\]?")
WHOLE = re.compile(rf"{START}(?:[/\\][^/\\\n]+){{2,}}[/\\]?")


def portable(value: Any) -> Any:
    """A JSON-like value with every absolute path in its texts and keys shortened to its last part.

    '/home/ann/mine.py' becomes 'mine.py', '~/data/ecg' 'ecg'; '/part' alone, URLs and relative paths are kept.
    """
    if isinstance(value, dict):
        return {portable(key): portable(own) for key, own in value.items()}
    if isinstance(value, list | tuple):
        return [portable(own) for own in value]
    if not isinstance(value, str):
        return value
    if WHOLE.fullmatch(value):
        return _last(value)
    for pattern in (QUOTED, BARE):
        value = pattern.sub(lambda found: _last(found[0]), value)
    return value


def _last(path: str) -> str:
    return re.split(r"[/\\]", path.rstrip("/\\"))[-1]


FORMAT = 1
CONTENTS = "contents.json"
WHAT = "Results of an ECG pretraining benchmark: rows and test-set predictions, by the datasets' own ids; no signals."
LARGEST = 8192 * MEBIBYTE
"""Bytes of a capsule, unpacked."""
FILE_MODE = 0o644 << 16


class BadCapsule(NoResults):
    """A capsule cannot be written or read; the message is one line with the file, the error and the remedy."""


def pack(run: Results, file: Path) -> str:
    """Write a run's finished cells, failures and cards as a capsule; returns the digest of its contents.

    Damaged rows are left out. Raises BadCapsule where an id is an absolute path.
    """
    _refuse_paths(run)
    members = dict(sorted(_members(run)))
    files = {name: hashlib.sha256(body).hexdigest() for name, body in members.items()}
    sha256 = _digest(files)
    contents = {"format": FORMAT, "what": WHAT, "digest": sha256, "files": files}
    buffer = BytesIO()
    with ZipFile(buffer, "w") as archive:
        for name, body in {CONTENTS: _json(contents), **members}.items():
            entry = ZipInfo(name)  # dated 1980, so that the same contents are the same bytes
            entry.external_attr, entry.create_system = FILE_MODE, 3
            archive.writestr(entry, body, ZIP_STORED if name.endswith(".npz") else ZIP_DEFLATED)
    write_atomic(file, buffer.getvalue())
    return sha256


def unpack(file: Path, folder: Path) -> Store:
    """Check every file of a capsule, its digest first, extract to a new folder, return its store. Raises BadCapsule."""
    folder.parent.mkdir(parents=True, exist_ok=True)
    with TemporaryDirectory(dir=folder.parent) as scratch:
        unpacked = Path(scratch) / "unpacked"
        try:
            with ZipFile(file) as archive:
                problem = unfit_members(archive.infolist(), LARGEST) or _extract(archive, unpacked)
        except (BadZipFile, OSError, EOFError, zlib.error, LookupError, ValueError, TypeError, RuntimeError) as error:
            problem = f"it cannot be read ({' '.join(str(error).split())})"
        if problem:
            raise BadCapsule(f"{file} is no whole results capsule: {problem}; copy it anew, or pack it with --capsule")
        unpacked.rename(folder)
    return Store(folder)


def _extract(archive: ZipFile, folder: Path) -> str:
    """Write the members of a zip to a new folder, each checked; the error, '' for none."""
    contents = json.loads(archive.read(CONTENTS))
    if contents["format"] != FORMAT:
        return f"its format is {contents['format']!r}, this version reads {FORMAT}"
    files = contents["files"]
    if sorted(archive.namelist()) != sorted([CONTENTS, *files]):
        return "its files are not those of its contents"
    if _digest(files) != contents["digest"]:
        return "its contents do not match their digest"
    for name, sha256 in files.items():
        if hashlib.sha256(archive.read(name)).hexdigest() != sha256:
            return f"{name} does not match its digest"
        archive.extract(name, folder)
    return ""


def _digest(files: Mapping[str, str]) -> str:
    return hashlib.sha256(json.dumps(files, sort_keys=True).encode()).hexdigest()


def _members(run: Results) -> Iterator[tuple[str, bytes]]:
    """Name and content of every file."""
    yield f"plans/{run.plan.key}.json", digested_json(portable(asdict(run.plan)))
    yield "plans/latest", run.plan.key.encode()
    for key, row in run.rows.items():
        predictions = (run.store_of(key).cells / f"{key}.npz").read_bytes()
        yield f"cells/{key}.npz", predictions
        yield f"cells/{key}.json", row_bytes(Row(**portable(asdict(row))), predictions)
    for key, failure in run.failures.items():
        yield f"cells/{key}.error.json", _json({"key": key, **portable(asdict(failure))})
    for key, cell in {row.pretrain_key: cell for cell, row in run.rows.items() if row.pretrain_key}.items():
        try:
            card = portable(run.store_of(cell).card(key))
        except BadCard:  # named by the run's `unreadable_records`
            continue
        if card:
            yield f"pretrained/{key}/{CARD}", card_bytes(card)


def _refuse_paths(run: Results) -> None:
    """Raise BadCapsule where an id of a recording or patient is an absolute path: an id cannot be shortened."""
    checked: set[str] = set()
    for key in run.rows:
        found = run.predictions(key)
        ids = {*found.recording.tolist(), *found.patient.tolist()} - checked
        paths = sorted(name for name in ids if portable(name) != name)
        if paths:
            raise BadCapsule(f"cell {key}: the id {paths[0]!r} is a path of this machine; give recordings relative ids")
        checked |= ids


def _json(value: Any) -> bytes:
    return json.dumps(value, indent=1).encode()
