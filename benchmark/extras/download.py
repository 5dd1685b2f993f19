"""`data download`: fetch PhysioNet's open releases over a few connections, verified, and go on where it stopped.

A file is written to NAME.part and gets its name once its SHA-256 is the one in the release's SHA256SUMS.txt, so a file
that has its name is believed; `--verify` reads and compares all. `.download` is in the dataset's folder until all files
are there: a run refuses such a folder, which would read as a smaller dataset.

No publisher's sum covers CPSC2018's REFERENCE.csv: its labels have to be those of the verified headers. The headers
list them in another order than REFERENCE.csv, whose first label counts, so what a damaged or exchanged table could
change here is the order alone.
"""

from __future__ import annotations

import fcntl
import hashlib
import os
import random
import re
import shutil
from argparse import Namespace
from collections.abc import Iterable, Iterator, Mapping
from concurrent.futures import FIRST_COMPLETED, Future, ThreadPoolExecutor, wait
from contextlib import contextmanager
from dataclasses import dataclass
from fnmatch import translate
from importlib import resources
from itertools import islice
from pathlib import Path
from threading import Event
from typing import Any
from urllib.parse import quote

import requests
from requests.adapters import HTTPAdapter
from requests.auth import AuthBase
from urllib3.exceptions import HTTPError, InvalidHeader
from urllib3.util.retry import Retry

from benchmark.config.command_line import FAILED, OK
from benchmark.config.errors import ConfigError, unknown
from benchmark.config.flags import parse_data
from benchmark.config.words import values_of
from benchmark.data.datasets import DATASETS
from benchmark.data.datasets.base import DatasetError, Unusable
from benchmark.data.datasets.cpsc2018 import CPSC2018, REFERENCE_COLUMNS, SNOMED
from benchmark.data.datasets.registry import UNFINISHED, is_marked, source_of
from benchmark.data.datasets.tables import path_within, read_table, whole_number
from benchmark.data.datasets.wfdb_files import diagnosis_codes
from benchmark.machine.processes import Stopped
from benchmark.results.files import naming
from benchmark.screen import Console, error, note, step

CATALOGUE = Path(str(resources.files("benchmark.extras") / "download.yaml"))
CONNECTIONS, MOST_CONNECTIONS = 4, 8
"""Beyond the second number PhysioNet slows all connections down."""
SUMS = "SHA256SUMS.txt"
SUM_LINE = re.compile(r"([0-9a-f]{64})[ \t]+\*?(?:\./)?(\S.*)")
CHUNK = 2**18
TIMEOUT = (20, 60)
"""Seconds to connect, and without a byte."""
BUSY = (408, 425, 429, 500, 502, 503, 504)
TRIES = 6
FIRST_WAIT, LONGEST_WAIT = 1.0, 900.0
"""Seconds before the second try, doubled for each further one; and the longest wait that a server may ask for."""
STOPPED = "stopped"


@dataclass(frozen=True)
class Order:
    """A part of a dataset to download."""

    name: str
    subset: str
    home: str
    """Address of the release at one of the homes."""
    folder: str
    """The release's folder that becomes the dataset's own; '' for the root."""
    patterns: tuple[str, ...]
    gigabytes: float
    reference: str
    """Address of REFERENCE.csv; '' for none."""
    root: Path


def orders_of(arguments: Namespace) -> list[Order]:
    """The downloads that a command line asks for. Raises ConfigError or DatasetError for what there is not."""
    catalogue, paths = values_of(CATALOGUE), parse_data(arguments.data)
    if (arguments.connections or 1) > MOST_CONNECTIONS:
        raise ConfigError(
            f"--connections {arguments.connections} are more than a public home bears; use 1 to {MOST_CONNECTIONS}"
        )
    for name in paths:
        if name not in arguments.word:
            raise ConfigError(f"--data: {unknown('dataset', name, arguments.word)}, as the command line asks")
    return [_order_of(name, catalogue, paths, arguments) for name in dict.fromkeys(arguments.word)]


def _order_of(name: str, catalogue: Mapping[str, Any], paths: Mapping[str, Path], arguments: Namespace) -> Order:
    dataset, homes = catalogue["datasets"][name], catalogue["homes"]
    subset = next(iter(dataset["subsets"])) if arguments.subset is None else arguments.subset
    home = next(iter(homes)) if vars(arguments)["from"] is None else vars(arguments)["from"]
    for what, word, known in (("subset", subset, dataset["subsets"]), ("home", home, homes)):
        if word not in known:
            raise DatasetError(f"{name} has no {what} {word!r}; there are: {', '.join(known)}")
    if name not in paths and arguments.data_root is None:
        raise DatasetError(f"where shall {name} go? use --data-root DIR or --data {name}=DIR")
    root = paths[name] if name in paths else arguments.data_root / name
    if is_marked(source_of(name)(root)):
        raise DatasetError(f"{root} holds simulated recordings: name another folder")
    return Order(
        name=name,
        subset=subset,
        home=f"{homes[home]}{dataset['release']}/",
        folder=dataset.get("folder", ""),
        patterns=(*dataset.get("always", ()), *dataset["subsets"][subset]),
        gigabytes=dataset["gigabytes"][subset],
        reference=dataset.get("reference", ""),
        root=root,
    )


class _NoLogin(AuthBase):
    """Sends no credentials, not even those of ~/.netrc; everything taken here is open."""

    def __call__(self, request: requests.PreparedRequest) -> requests.PreparedRequest:
        return request


def new_session() -> requests.Session:
    """A session without credentials that takes bytes as they are published."""
    session = requests.Session()
    session.auth = _NoLogin()
    session.headers.update({"User-Agent": "ecg-pretrain-bench (data download)", "Accept-Encoding": "identity"})
    for scheme in ("http://", "https://"):
        session.mount(scheme, HTTPAdapter(pool_maxsize=MOST_CONNECTIONS, max_retries=0))
    return session


class _Again(Exception):
    """A request failed in a way that a later one may not. `after`: seconds that the server asked to wait."""

    def __init__(self, reason: str, after: float = 0.0) -> None:
        super().__init__(reason)
        self.after = after


def fetch(session: requests.Session, url: str, target: Path, digest: str, stop: Event, tries: int = TRIES) -> str:
    """Download a file and compare it with its SHA-256, '' for none; returns '' or why it is not there."""
    part = target.with_name(f"{target.name}.part")
    reason = ""
    with naming(target):
        part.parent.mkdir(parents=True, exist_ok=True)
        for attempt in range(1, tries + 1):
            try:
                received = _receive(session, url, part, stop)
                if digest in ("", received):
                    os.replace(part, target)
                    return ""
                raise _Again(f"its SHA-256 is {received[:12]}..., the published one {digest[:12]}...")
            except _Again as problem:
                reason = str(problem)
                pause = max(problem.after, FIRST_WAIT * 2.0 ** (attempt - 1) * random.uniform(0.5, 1.5))
                if pause > LONGEST_WAIT or attempt == tries or stop.wait(pause):
                    break
            except requests.RequestException as problem:
                return f"{problem}"
    return STOPPED if stop.is_set() else reason


def _receive(session: requests.Session, url: str, part: Path, stop: Event) -> str:
    """Write the file at an address to `part`; returns its SHA-256. Raises _Again, or RequestException for a refusal."""
    content = hashlib.sha256()
    try:
        with session.get(url, stream=True, timeout=TIMEOUT) as response, open(part, "wb") as file:
            if response.status_code in BUSY:
                raise _Again(f"{response.status_code} {response.reason}", _retry_after(response))
            if response.status_code != 200:
                raise requests.RequestException(f"{response.status_code} {response.reason}")
            for piece in response.iter_content(CHUNK):
                if stop.is_set():
                    raise _Again(STOPPED)
                content.update(piece)
                file.write(piece)
    except (requests.ConnectionError, requests.Timeout, requests.exceptions.ChunkedEncodingError, HTTPError) as problem:
        raise _Again(f"connection lost: {problem}") from None
    return content.hexdigest()


def _retry_after(response: requests.Response) -> float:
    """Seconds of Retry-After; 0 where it is not stated or no time."""
    try:
        return max(0.0, Retry().parse_retry_after(response.headers.get("Retry-After", "0")))
    except InvalidHeader:
        return 0.0


def listed(sums: Path, order: Order) -> Iterator[tuple[str, str]]:
    """(publisher's path, SHA-256) of the wanted files of a release. Raises DatasetError for what is no list of sums."""
    wanted = re.compile("|".join(map(translate, order.patterns)))
    with open(sums, encoding="utf-8", errors="replace") as lines:
        for line in lines:
            match = SUM_LINE.fullmatch(line.rstrip())
            try:
                path = path_within(match[2]) if match else ""
            except Unusable as problem:
                raise DatasetError(f"{sums}: {problem}") from None
            if match is None:
                raise DatasetError(f"{sums} is no list of SHA-256 sums: {line[:80]!r}")
            if path.startswith(order.folder) and wanted.match(path):
                yield path, match[1]


def is_right(path: Path, digest: str, *, verify: bool) -> bool:
    """Whether a file is there; with `verify`, and has its SHA-256."""
    if not verify or not path.is_file():
        return path.is_file()
    with open(path, "rb") as file:
        return hashlib.file_digest(file, "sha256").hexdigest() == digest


def fetch_all(
    session: requests.Session, order: Order, files: Iterable[tuple[str, str]], connections: int
) -> Iterator[tuple[str, str]]:
    """Download files, several at a time; yields (path, '' or why it is not there) of each as it ends.

    Raises OSError, e.g. of a full disk.
    """
    stop = Event()

    def task(path: str, digest: str) -> tuple[str, str]:
        url, target = f"{order.home}{quote(path)}", order.root / path.removeprefix(order.folder)
        return path, fetch(session, url, target, digest, stop)

    with ThreadPoolExecutor(connections) as pool:
        tasks = (pool.submit(task, path, digest) for path, digest in files)
        running: set[Future[tuple[str, str]]] = set(islice(tasks, 2 * connections))
        try:
            while running:
                done, running = wait(running, return_when=FIRST_COMPLETED)
                for ended in done:
                    yield ended.result()
                running |= set(islice(tasks, len(done)))
        finally:
            stop.set()
            pool.shutdown(cancel_futures=True)


@contextmanager
def folder_lock(root: Path) -> Iterator[None]:
    """Within, no other process downloads into the folder. Raises DatasetError if one does."""
    with naming(root):
        (root / UNFINISHED).mkdir(parents=True, exist_ok=True)
    with open(root / UNFINISHED / "lock", "a") as file:
        try:
            fcntl.flock(file, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except BlockingIOError:
            raise DatasetError(f"another process downloads into {root}: let it end, or stop it") from None
        except OSError:
            pass  # a file system without locks
        yield


MOST_DIFFERENT = 0.01
"""Share of the recordings whose labels may differ: 81 of 81 recordings that were compared agree."""


def place_reference(fetched: Path, root: Path) -> str:
    """Put REFERENCE.csv into the dataset's folder if its labels are those of the headers; returns how far they agree.

    Raises DatasetError for a table that cannot be read or does not agree.
    """
    rows = read_table(CPSC2018(root), fetched, REFERENCE_COLUMNS).rows
    stated = {name: frozenset(map(_class_of, filter(None, labels))) for name, *labels in rows}
    records = [header.with_suffix("") for header in root.glob("g*/A*.hea")]
    agree = sum(stated.get(record.name) == _of_header(record) for record in records)
    agreement = f"its labels are those of the headers in {agree} of {len(records)} recordings"
    if len(records) - agree > MOST_DIFFERENT * len(records):
        raise DatasetError(f"REFERENCE.csv is not used: {agreement}")
    os.replace(fetched, root / "REFERENCE.csv")
    return f"REFERENCE.csv: {agreement}"


def _class_of(number: str) -> str:
    """A class by its number from 1; the number itself where there is no such class."""
    return dict(enumerate(CPSC2018.classes, 1)).get(int(whole_number(number) or 0), number)


def _of_header(record: Path) -> frozenset[str] | None:
    """The classes of a recording's header; None where it cannot be read."""
    try:
        return frozenset(SNOMED.get(code, code) for code in diagnosis_codes(record)) & frozenset(CPSC2018.classes)
    except Unusable:
        return None


def _with_reference(session: requests.Session, order: Order) -> str:
    """Fetch and check REFERENCE.csv; returns one line on it. The dataset can do without."""
    if (order.root / "REFERENCE.csv").exists():
        return "REFERENCE.csv: the one that is there is left as it is"
    fetched = order.root / UNFINISHED / "REFERENCE.csv"
    if failure := fetch(session, order.reference, fetched, "", Event(), tries=2):
        return f"REFERENCE.csv is not there ({order.reference}: {failure}); put it into {order.root} if you have it"
    try:
        return place_reference(fetched, order.root)
    except DatasetError as problem:
        return f"{problem}; {order.reference}"


SHOWN_FAILURES = 5


def download(arguments: Namespace, console: Console) -> int:
    """`data download`; returns the exit status. One dataset at a time."""
    orders = orders_of(arguments)
    for order in orders:
        dataset = DATASETS[order.name]
        note(console, f"{order.name}, {order.subset}: about {order.gigabytes:g} GB from {order.home}")
        note(console, f"  where    {order.root}")
        note(console, f"  licence  {dataset.licence}")
        note(console, f"  cite     {dataset.cite}")
    if arguments.dry_run:
        note(console, "dry run: nothing was fetched or written")
        return OK
    connections = arguments.connections or CONNECTIONS
    return OK if all([_download(order, connections, arguments.verify, console) for order in orders]) else FAILED


def _download(order: Order, connections: int, verify: bool, console: Console) -> bool:
    """Download one dataset; returns whether all of it is there and its reader finds recordings."""
    note(console, f"{order.name}:")
    marked = (order.root / UNFINISHED).exists()
    try:
        with folder_lock(order.root), new_session() as session:
            failures = _get(session, order, connections, verify, console)
            if order.reference and not failures:
                note(console, f"  {_with_reference(session, order)}")
    except Stopped as stop:
        stop.saved = f"{order.root} keeps the files that came"
        raise
    except DatasetError:
        if not marked:  # nothing was fetched: what was there before is as it was
            shutil.rmtree(order.root / UNFINISHED, ignore_errors=True)
        raise
    for path, reason in islice(failures.items(), SHOWN_FAILURES):
        note(console, f"  missing: {path} ({reason})")
    if failures:
        note(console, f"  {len(failures):,} files are missing: the same command tries these again; until then a run")
        note(console, f"  refuses {order.root}, unless you remove {UNFINISHED} in it")
        return False
    shutil.rmtree(order.root / UNFINISHED)
    return _is_readable(order, console)


def _get(session: requests.Session, order: Order, connections: int, verify: bool, console: Console) -> dict[str, str]:
    """Fetch what is missing; returns the files that did not come, each with the reason.

    Raises DatasetError without a list of files and for a disk without room, and OSError.
    """
    sums = order.root / UNFINISHED / SUMS
    if not sums.exists() and (failure := fetch(session, f"{order.home}{SUMS}", sums, "", Event())):
        raise DatasetError(f"{order.name}: no list of files; {order.home}: {failure}")
    try:
        wanted = dict(listed(sums, order))
    except DatasetError:
        sums.unlink()
        raise
    if not wanted:
        raise DatasetError(f"{sums} lists nothing of {order.name}: looked for {', '.join(order.patterns)[:200]}")
    missing = [
        (path, digest)
        for path, digest in wanted.items()
        if not is_right(order.root / path.removeprefix(order.folder), digest, verify=verify)
    ]
    needed, free = order.gigabytes * len(missing) / len(wanted), shutil.disk_usage(order.root).free / 1e9
    note(console, f"  {len(wanted):,} files, {len(missing):,} to fetch, about {needed:.1f} GB")
    if free < needed:
        raise DatasetError(
            f"{order.name} takes {needed:.1f} GB more and {order.root} has room for {free:.1f} GB: free space or name "
            "another folder"
        )
    failures = {}
    with step(console, "  files") as progress:
        for done, (path, failure) in enumerate(fetch_all(session, order, missing, connections), start=1):
            if failure:
                failures[path] = failure
            progress(done, len(missing))
    return failures


def _is_readable(order: Order, console: Console) -> bool:
    """Whether the dataset's reader finds recordings in the folder; says how many."""
    try:
        listing = source_of(order.name)(order.root).listing()
    except DatasetError as problem:
        error(str(problem))
        return False
    skipped = f", {len(listing.skipped):,} rows that are skipped" if listing.skipped else ""
    note(console, f"  its reader finds {len(listing.entries):,} recordings{skipped}: {listing.form}")
    return bool(listing.entries)
