"""A results capsule: one zip with all inputs of a report, for publication. No signals, no weights.

    contents.json                 format, description, digest of each file, of all files and of each test set
    plans/KEY.json, plans/latest  the run
    cells/KEY.json, KEY.npz       its rows and their predictions; KEY.error.json: error of a failed cell
    pretrained/KEY/pretraining.json    how each encoder was trained
    tuned/KEY.json                the searches that its knobs are from
    people/KEY.json               sex and age band of the test recordings, where the store has them

Recordings and patients keep the ids of the dataset's own tables: these link a prediction to its recording and fall
under the dataset's licence. Absolute paths are shortened to their last part. The same run gives the same bytes.
"""

from __future__ import annotations

import hashlib
import json
import re
import zlib
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import asdict
from io import BytesIO
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any
from zipfile import ZIP_DEFLATED, ZIP_STORED, BadZipFile, ZipFile, ZipInfo

from benchmark.results.cards import BadCard, card_bytes, vouched
from benchmark.results.files.read import LARGEST_JSON, MEBIBYTE, SHOWN, parse_json, require_regular, unfit_members
from benchmark.results.files.write import write_atomic
from benchmark.results.keys import KEY
from benchmark.results.names import CARD
from benchmark.results.people.stored import PEOPLE, people_bytes, read_people
from benchmark.results.plain_text import harmless
from benchmark.results.rows import LARGEST_PREDICTIONS, Row, read_predictions, row_bytes
from benchmark.results.store import NoResults, Store
from benchmark.results.tuned import TUNED
from reports.runs.compatible import tested_on
from reports.runs.run import Run, fingerprints_of
from reports.runs.scrub_paths import portable

FORMAT = 1
CONTENTS = "contents.json"
WHAT = "Results of an ECG pretraining benchmark: rows and test-set predictions, by the datasets' own ids; no signals."
MEMBER = re.compile(
    rf"plans/latest|plans/{KEY.pattern}\.json|cells/{KEY.pattern}(\.npz|\.json|\.error\.json)"
    rf"|pretrained/{KEY.pattern}/{re.escape(CARD)}|{TUNED}/{KEY.pattern}\.json|{PEOPLE}/{KEY.pattern}\.json"
)
MOST_MEMBERS = 200_000
LARGEST = 8192 * MEBIBYTE
"""Bytes of a capsule, packed and unpacked."""
MOST_EXPANSION = 100
"""Unpacked bytes per packed byte; plans and rows, which are text, have 10."""
FILE_MODE = 0o644 << 16


class BadCapsule(NoResults):
    """A capsule cannot be written or read; the message is one line with the file, the error and the remedy."""


def pack(run: Run, file: Path) -> str:
    """Write a run's finished cells, failures and cards as a capsule; returns the digest of its contents.

    Damaged rows are left out. Raises BadCapsule where an id is an absolute path.
    """
    _refuse_paths(run)
    members = dict(sorted(_members(run)))
    files = {name: hashlib.sha256(body).hexdigest() for name, body in members.items()}
    contents = {
        "format": FORMAT,
        "what": WHAT,
        "digest": _digest(files),
        "test_sets": tested_on(run),
        "files": files,
    }
    buffer = BytesIO()
    with ZipFile(buffer, "w") as archive:
        for name, body in {CONTENTS: _json(contents), **members}.items():
            entry = ZipInfo(name)  # dated 1980, so that the same contents are the same bytes
            entry.external_attr, entry.create_system = FILE_MODE, 3
            archive.writestr(entry, body, ZIP_STORED if name.endswith(".npz") else ZIP_DEFLATED)
    write_atomic(file, buffer.getvalue())
    return str(contents["digest"])


def unpack(file: Path, folder: Path) -> Store:
    """Check every file of a capsule, its digest first, extract to a new folder, return its store. Raises BadCapsule."""
    folder.parent.mkdir(parents=True, exist_ok=True)
    with TemporaryDirectory(dir=folder.parent) as scratch:
        unpacked = Path(scratch) / "unpacked"
        try:
            require_regular(file, file.stat(), LARGEST)
            with ZipFile(file) as archive:
                problem = unfit_members(archive.infolist(), most=MOST_MEMBERS, limit=LARGEST) or _extract(
                    archive, file.stat().st_size, unpacked
                )
        except (BadZipFile, OSError, EOFError, zlib.error, LookupError, ValueError, TypeError, RuntimeError) as error:
            problem = f"it cannot be read ({' '.join(harmless(str(error)).split())})"
        if problem:
            raise BadCapsule(f"{file} is no whole results capsule: {problem}; copy it anew, or pack it with --capsule")
        unpacked.rename(folder)
    return Store(folder)


def _extract(archive: ZipFile, packed: int, folder: Path) -> str:
    """Write the members of a zip of `packed` bytes to a new folder, each checked; the error, '' for none."""
    contents = parse_json(archive.read(CONTENTS))
    problem = _problem(contents, archive.infolist(), packed)
    if problem:
        return problem
    for name, digest in contents["files"].items():
        body = archive.read(name)
        if hashlib.sha256(body).hexdigest() != digest:
            return f"{name} does not match its digest"
        if name.endswith(".npz"):
            try:
                read_predictions(body)
            except ValueError as error:
                return f"{name}: {error}"
        path = folder / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_bytes(body)
    return ""


def _problem(contents: Mapping[str, Any], entries: Sequence[ZipInfo], packed: int) -> str:
    """The error in the contents of a zip of `packed` bytes that has these members; '' for none."""
    if contents["format"] != FORMAT:
        return f"its format is {repr(contents['format'])[:SHOWN]}, this version reads {FORMAT}"
    files, names = contents["files"], [entry.filename for entry in entries]
    large = [entry.filename for entry in entries if entry.file_size > _limit(entry.filename)]
    if large:
        return f"{large[0]} is larger than a file of its kind"
    if sum(entry.file_size for entry in entries) > MOST_EXPANSION * packed:
        return f"it would unpack to more than {MOST_EXPANSION} times its size"
    strange = [name for name in files if not MEMBER.fullmatch(name)]
    if strange:
        return f"it holds {strange[0][:SHOWN]!r}, which no capsule does"
    if sorted(names) != sorted([CONTENTS, *files]):
        return "its files are not those of its contents"
    return "" if _digest(files) == contents["digest"] else "its contents do not match their digest"


def _limit(name: str) -> int:
    return LARGEST_PREDICTIONS if name.endswith(".npz") else LARGEST_JSON


def _digest(files: Mapping[str, str]) -> str:
    return hashlib.sha256(json.dumps(files, sort_keys=True).encode()).hexdigest()


def _members(run: Run) -> Iterator[tuple[str, bytes]]:
    """Name and content of every file."""
    yield f"plans/{run.plan.key}.json", _json(portable(asdict(run.plan)))
    yield "plans/latest", run.plan.key.encode()
    for key, row in run.rows.items():
        predictions = (run.store.cells / f"{key}.npz").read_bytes()
        yield f"cells/{key}.npz", predictions
        yield f"cells/{key}.json", row_bytes(Row(**portable(asdict(row))), predictions)
    for key, failure in run.failures.items():
        yield f"cells/{key}.error.json", _json({"key": key, **portable(asdict(failure))})
    for key in {row.pretrain_key for row in run.rows.values() if row.pretrain_key}:
        try:
            card = portable(run.store.card(key))
        except BadCard:  # named by the run's `left_out`
            continue
        if card:
            yield f"pretrained/{key}/{CARD}", card_bytes(card) if vouched(card) else _json(card)
    for tuning in run.searches:
        body = portable(asdict(tuning))
        if body["content"] == tuning.content:  # else a path is part of its key
            yield f"{TUNED}/{tuning.key}.json", _json(body)
    yield from _people(run)


def _people(run: Run) -> Iterator[tuple[str, bytes]]:
    """The groups of the recordings that a row was tested on; of no others."""
    for fingerprint in fingerprints_of(run):
        known = read_people(run.store.root, fingerprint)
        if not known:
            continue
        rows = [
            key for key, row in run.rows.items() if row.provenance.get("data", {}).get("fingerprint") == fingerprint
        ]
        recordings = {name for key in rows for name in run.store.predictions(key).recording.tolist()}
        if own := {recording: known[recording] for recording in sorted(recordings & known.keys())}:
            yield f"{PEOPLE}/{fingerprint}.json", people_bytes(own)


def _refuse_paths(run: Run) -> None:
    """Raise BadCapsule where an id of a recording or patient is an absolute path: an id cannot be shortened."""
    checked: set[str] = set()
    for key in run.rows:
        found = run.store.predictions(key)
        ids = {*found.recording.tolist(), *found.patient.tolist()} - checked
        paths = sorted(name for name in ids if portable(name) != name)
        if paths:
            raise BadCapsule(f"cell {key}: the id {paths[0]!r} is a path of this machine; give recordings relative ids")
        checked |= ids


def _json(value: Any) -> bytes:
    return json.dumps(value, indent=1).encode()
