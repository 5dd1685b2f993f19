"""What a report worked out, kept in its folder and used again while everything that it rests on is the same.

    OUT/.kept/KEY.json    a value with its digest; KEY is a hash of the run's content, of this code and of the libraries

Never the truth: a damaged file counts as none, any file may be deleted, and where nothing can be written nothing is
kept. Capsules and merged stores leave the folder out.
"""

from __future__ import annotations

import hashlib
import json
from contextlib import suppress
from dataclasses import asdict, dataclass
from functools import cache
from importlib.metadata import version
from pathlib import Path
from typing import Any

from benchmark import results
from benchmark.results.files.write import write_atomic
from benchmark.results.keys import digest
from benchmark.results.names import CARD, ILLUSTRATION
from benchmark.results.tuned import tuning_file
from reports.runs.run import Run

FOLDER = ".kept"
MOST = 64
"""Files in the folder; the oldest are deleted."""
PACKAGES = Path(__file__).resolve().parents[1], Path(str(results.__file__)).resolve().parent
"""Code that decides what a report holds: reports and benchmark.results."""
LIBRARIES = ("matplotlib", "numpy", "pandas", "scipy")


@dataclass(frozen=True)
class Kept:
    """The values kept for one run in one output folder."""

    folder: Path
    content: str
    """Digest of the run's content and of the code (`content_of`)."""

    def get(self, *what: str) -> Any:
        """The value kept under these names; None where there is none or it is damaged."""
        try:
            envelope = json.loads(self._file(what).read_bytes())
            value = envelope["value"]
            return value if envelope["sha256"] == _sha256(value) else None
        except (OSError, ValueError, KeyError, TypeError, RecursionError):
            return None

    def put(self, value: Any, *what: str) -> None:
        """Keep a value of JSON's types (NaN included) under these names, if the folder can be written."""
        with suppress(OSError):
            write_atomic(self._file(what), json.dumps({"sha256": _sha256(value), "value": value}).encode())
            files = sorted(self.folder.glob("*.json"), key=lambda file: file.stat().st_mtime_ns)
            for file in files[:-MOST]:
                file.unlink(missing_ok=True)

    def _file(self, what: tuple[str, ...]) -> Path:
        return self.folder / f"{digest([self.content, *what])}.json"


def kept_in(out: Path, run: Run) -> Kept:
    """The values kept for a run in an output folder, which need not exist."""
    return Kept(out / FOLDER, content_of(run))


def content_of(run: Run) -> str:
    """Digest of all that a report of the run rests on: plan, rows, predictions, failures, encoders, searches, code."""
    cells, pretrained = run.store.cells, run.store.pretrained
    encoders = sorted({row.pretrain_key for row in run.rows.values() if row.pretrain_key})
    unknown = [key for key in run.rows if key not in run.digests]
    files = [cells / f"{key}.{kind}" for key in unknown for kind in ("json", "npz")]
    files += [pretrained / key / name for key in encoders for name in (CARD, ILLUSTRATION)]
    files += [tuning_file(run.store.root, key) for key in run.plan.tunings]
    known = [
        asdict(run.plan),
        dict(run.digests),
        [asdict(failure) for failure in run.failures.values()],
        dict(run.damaged),
    ]
    return _sha256([known, list(run.failures), [file_digest(file) for file in files], _code()])


def file_digest(file: Path) -> str:
    """SHA-256 of a file's content; '' where it cannot be read."""
    try:
        return hashlib.sha256(file.read_bytes()).hexdigest()
    except OSError:
        return ""


@cache
def _code() -> list[str]:
    """Digests of the source files, and the libraries' versions."""
    sources = [file_digest(file) for package in PACKAGES for file in sorted(package.rglob("*.py"))]
    return [*sources, *map(version, LIBRARIES)]


def _sha256(value: Any) -> str:
    return hashlib.sha256(json.dumps(value, sort_keys=True).encode()).hexdigest()
