"""A run that ended with nothing left to do, told again at once while all that it rests on is the same.

    OUT/.kept/finished    digests of command, code, machine, data, results and tables; what was printed

Neither torch nor a reader of data is loaded to tell it. Contents decide: of the results and the tables every byte, of
the data every file's size, time and inode, as for the cache. Only what is built in is remembered: methods, encoders,
cards and tuned knobs from files go the long way. A damaged file, or none, costs time and nothing else.
"""

from __future__ import annotations

import hashlib
import json
import os
import platform
import sys
import time
from argparse import Namespace
from collections.abc import Iterable, Iterator, Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass
from importlib.metadata import PackageNotFoundError, version
from pathlib import Path
from typing import Any, NamedTuple

from benchmark.results.files.read import LARGEST_JSON, read_regular
from benchmark.results.files.together import SET
from benchmark.results.files.write import write_atomic
from benchmark.results.names import CARD, ILLUSTRATION

FINISHED = Path(".kept") / "finished"
CODE = tuple(Path(__file__).resolve().parents[3] / package for package in ("benchmark", "methods", "reports"))
LIBRARIES = (
    *("torch", "numpy", "scipy", "scikit-learn", "pandas", "wfdb", "safetensors", "pydantic", "transformers"),
    *("matplotlib", "jinja2"),
)
"""Whose versions decide what is computed and drawn; one that is not installed has none."""
ACCELERATORS = ("nvidia*", "nvhost*", "kfd", "dxg")
"""Names in /dev that tell whether `--device auto` may find another device than before."""
PROCESSOR = Path("/proc/cpuinfo")
VISIBLE = ("CUDA_VISIBLE_DEVICES", "HIP_VISIBLE_DEVICES", "ROCR_VISIBLE_DEVICES", "WORLD_SIZE")
"""Variables that decide which devices there are, and how many processes pretrain together."""
MOST_FILES = 100_000
"""Files of data beyond which a run is not remembered: looking at all of them takes too long to be done twice."""
SETTLED_NS = 2_000_000_000
"""A file changed this recently may change again under the same time."""
FROM_FILES = (".py", ".yaml", ".yml", "/", "\\", "ecgbench:")
"""In a word of a config: it names a file or code of someone else. 'w/o', of ablations, does not."""


@dataclass(frozen=True)
class Ended:
    """A run with every cell done and its report written."""

    plan: str
    """Key of its plan."""
    config: Mapping[str, Any]
    cells: Sequence[str]
    """Keys of its cells."""
    encoders: Sequence[str]
    """Keys of the pretrainings of its cells."""
    roots: Sequence[Path]
    """Folders of its data."""
    lines: Sequence[str]
    """What is printed above the tables."""
    sheets: Mapping[str, Any]
    """'plain' and 'starred': the tables for a terminal with and without colours."""
    health: Mapping[str, Any]
    """What is printed below the tables (`benchmark.verbs.report.HealthTold`)."""


@dataclass(frozen=True)
class Command:
    """A command line when it began."""

    arguments: Namespace
    asked: str
    """Its digest (`asked`): code that changes while it runs is not the code that ran."""


def told_before(command: Command) -> Ended | None:
    """The finished run of this command line if nothing that it rests on has changed, else None."""
    try:
        envelope = json.loads(read_regular(command.arguments.out / FINISHED, LARGEST_JSON))
        value = envelope["value"]
        if envelope["sha256"] != _sha256(value) or value["asked"] != command.asked:
            return None
        if any(_digest(Path(path)) != digest for path, digest in value["files"].items()):
            return None
        ended = Ended(**value["ended"] | {"roots": [Path(root) for root in value["ended"]["roots"]]})
        return ended if trees(ended.roots).digest == value["data"] else None
    except (OSError, ValueError, KeyError, TypeError, RecursionError):
        return None


def remember(command: Command, ended: Ended, data: Trees) -> None:
    """Keep a finished run for `told_before`, where it can be kept and rests on nothing but what is built in.

    data: of its folders, before they were read. Nothing is kept where code or data have changed since.
    """
    if any(mark in word.replace("w/o", "") for word in words_in(ended.config) for mark in FROM_FILES):
        return
    arguments, now = command.arguments, time.time_ns()
    if not data.digest or now - data.newest_ns < SETTLED_NS or trees(ended.roots) != data:
        return
    if asked(arguments) != command.asked:
        return
    with suppress(OSError):
        files = {str(path): _digest(path) for path in files_of(arguments.results, arguments.out, ended)}
        value = {
            "asked": command.asked,
            "data": data.digest,
            "files": files,
            "ended": vars(ended) | {"roots": [str(root) for root in ended.roots]},
        }
        value = json.loads(json.dumps(value))
        write_atomic(arguments.out / FINISHED, json.dumps({"sha256": _sha256(value), "value": value}).encode())


def asked(arguments: Namespace) -> str:
    """Digest of a command line, the config file that it names, the code, the libraries and the machine."""
    given = {name: str(value) for name, value in vars(arguments).items()}
    devices = sorted(path.name for pattern in ACCELERATORS for path in Path("/dev").glob(pattern))
    machine = [platform.node(), processor(), devices, [os.environ.get(name) for name in VISIBLE]]
    versions = [sys.version, *map(_version, LIBRARIES)]
    return _sha256([given, os.getcwd(), _digest(Path(arguments.config)), machine, versions, list(code())])


def processor() -> list[str]:
    """What the system says of the processor: it decides what `precision: auto` is."""
    try:
        first, *_ = PROCESSOR.read_text().split("\n\n")
    except OSError:
        return [platform.machine(), platform.processor()]
    return [line for line in first.splitlines() if line.startswith(("model name", "flags", "Features"))]


def code() -> Iterator[str]:
    """Digests of the files of our packages."""
    for package in CODE:
        for folder, inner, names in os.walk(package):
            inner[:] = sorted(name for name in inner if name != "__pycache__")
            yield from (_digest(Path(folder) / name) for name in sorted(names))


def files_of(results: Path, out: Path, ended: Ended) -> Iterator[Path]:
    """The files of a finished run in the store, and of its report."""
    yield from (results / "plans" / "latest", results / "plans" / f"{ended.plan}.json")
    yield from (results / "cells" / f"{key}.{kind}" for key in ended.cells for kind in ("json", "npz"))
    yield from (results / "pretrained" / key / name for key in ended.encoders for name in (CARD, ILLUSTRATION))
    yield from (out / SET, out / "skipped.csv")
    yield from (out / name for name in json.loads((out / SET).read_bytes()))


class Trees(NamedTuple):
    """All files in some folders."""

    digest: str
    """Of the path, size, time and inode of each; '' with more than `MOST_FILES`."""
    newest_ns: int


def trees(roots: Iterable[Path]) -> Trees:
    """The files in some folders; links are followed."""
    found: list[list[Any]] = []
    for root in roots:
        for folder, inner, names in os.walk(root, followlinks=True):
            inner.sort()
            for name in sorted(names):
                try:
                    status = os.stat(os.path.join(folder, name))
                    found.append([folder, name, status.st_size, status.st_mtime_ns, status.st_ino])
                except OSError:  # a link to nothing
                    found.append([folder, name, 0, 0, 0])
            if len(found) > MOST_FILES:
                return Trees("", 0)
    return Trees(_sha256(found), max((changed for *_, changed, _ in found), default=0))


def words_in(value: Any) -> Iterator[str]:
    """Every text in a nested value, keys included."""
    if isinstance(value, Mapping):
        for key, own in value.items():
            yield from (str(key), *words_in(own))
    elif isinstance(value, list | tuple):
        for own in value:
            yield from words_in(own)
    elif isinstance(value, str):
        yield value


def _version(library: str) -> str:
    try:
        return version(library)
    except PackageNotFoundError:
        return ""


def _digest(file: Path) -> str:
    try:
        return hashlib.sha256(file.read_bytes()).hexdigest()
    except OSError:
        return ""


def _sha256(value: Any) -> str:
    return hashlib.sha256(json.dumps(value, sort_keys=True).encode()).hexdigest()
