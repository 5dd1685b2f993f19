"""Files of a folder that belong together: put in place as one set, by one process at a time.

FOLDER/.kept/lock    held by the process that makes a set; the operating system frees it when the process ends
FOLDER/.kept/set     SHA-256 of each file of the last set: what the next set lacks is removed, if nobody changed it
"""

from __future__ import annotations

import fcntl
import hashlib
import json
import os
from collections.abc import Iterator, Mapping, Sequence
from contextlib import ExitStack, contextmanager, suppress
from pathlib import Path

from benchmark.results.files.read import LARGEST_JSON, read_regular
from benchmark.results.files.write import write_atomic

LOCK, SET = Path(".kept") / "lock", Path(".kept") / "set"


@contextmanager
def alone_in(folder: Path) -> Iterator[None]:
    """Context that one process at a time is in for a folder; the others wait. Where nothing can be locked, all are."""
    with ExitStack() as stack:
        with suppress(OSError):
            (folder / LOCK).parent.mkdir(parents=True, exist_ok=True)
            fcntl.flock(stack.enter_context(open(folder / LOCK, "ab")), fcntl.LOCK_EX)
        yield


def publish(staged: Path, folder: Path, names: Sequence[Path], *, last: Path, stay: Sequence[Path] = ()) -> None:
    """Move the set of `names` from one folder to another; the old `last` goes first, the new one comes last.

    Files of the set before that are neither moved nor in `stay` are removed, unless they have changed since.
    """
    before = _last_set(folder)
    after = {str(name): _digest(staged / name) for name in names} | {str(name): _digest(folder / name) for name in stay}
    _write_set(folder, before | after)  # where the process ends on the way, the next set still knows both
    (folder / last).unlink(missing_ok=True)
    for name in sorted(names, key=lambda name: name == last):
        (folder / name).parent.mkdir(exist_ok=True)
        os.replace(staged / name, folder / name)
    for gone in before.keys() - after.keys():
        with suppress(OSError, ValueError):  # a name that no file can have
            if _digest(folder / gone) == before[gone]:
                (folder / gone).unlink()
    _write_set(folder, after)


def _digest(file: Path) -> str:
    return hashlib.sha256(file.read_bytes()).hexdigest()


def _last_set(folder: Path) -> dict[str, str]:
    """Name -> digest of the last set's files, of those that lie within the folder; {} if it is not known."""
    try:
        found = json.loads(read_regular(folder / SET, LARGEST_JSON))
        within = {name for name in found if not Path(name).is_absolute() and ".." not in Path(name).parts}
        return {name: str(found[name]) for name in within}
    except (OSError, ValueError, TypeError, RecursionError):
        return {}


def _write_set(folder: Path, files: Mapping[str, str]) -> None:
    with suppress(OSError):
        write_atomic(folder / SET, json.dumps(files).encode())
