"""`data download`: fetch PhysioNet's open releases over a few connections, verified, and go on where it stopped.

A file is written to NAME.part and gets its name once its SHA-256 is the one in the release's SHA256SUMS.txt, so a file
that has its name is believed; `--verify` reads and compares all. `.download` is in the dataset's folder until all files
are there: a run refuses such a folder, which would read as a smaller dataset.
"""

from __future__ import annotations

import fcntl
import hashlib
import os
import re
import shutil
from argparse import Namespace
from collections.abc import Iterable, Iterator
from concurrent.futures import FIRST_COMPLETED, Future, ThreadPoolExecutor, wait
from contextlib import contextmanager
from dataclasses import dataclass
from fnmatch import translate
from importlib import resources
from itertools import islice
from pathlib import Path, PurePosixPath
from threading import Event
from urllib.parse import quote

import requests
from requests.adapters import HTTPAdapter
from urllib3.util.retry import Retry

from benchmark.cli.arguments import parse_data
from benchmark.cli.main import FAILED, OK
from benchmark.config.errors import ConfigError, unknown
from benchmark.config.load import read_yaml
from benchmark.data.datasets import DATASETS, UNFINISHED
from benchmark.data.datasets.base import DatasetError
from benchmark.results.files import naming
from benchmark.screen import Console, note, step

CATALOGUE = Path(str(resources.files("benchmark.extras") / "download.yaml"))
CONNECTIONS, MAX_CONNECTIONS = 4, 8
"""Beyond the second number PhysioNet slows all connections down."""
SUMS = "SHA256SUMS.txt"
SUM_LINE = re.compile(r"([0-9a-f]{64})[ \t]+\*?(?:\./)?(\S.*)")
CHUNK = 2**18
TIMEOUT = (20, 60)
"""Seconds to connect, and without a byte."""
BUSY = (408, 425, 429, 500, 502, 503, 504)
TRIES = 6
BACKOFF, MAX_WAIT = 1.0, 60
"""Seconds before the second try, doubled for each further one; and the longest wait."""


@dataclass(frozen=True)
class Request:
    """A part of a dataset to download."""

    name: str
    subset: str
    home: str
    """Address of the release at one of the homes."""
    folder: str
    """The release's folder that becomes the dataset's folder; '' for the root."""
    patterns: tuple[str, ...]
    gigabytes: float
    root: Path


def requests_of(arguments: Namespace) -> list[Request]:
    """The downloads that a command line asks for. Raises ConfigError or DatasetError for what there is not."""
    paths = parse_data(arguments.data)
    if (arguments.connections or 1) > MAX_CONNECTIONS:
        raise ConfigError(
            f"--connections {arguments.connections} are more than a public home bears; use 1 to {MAX_CONNECTIONS}"
        )
    for name in paths:
        if name not in arguments.word:
            raise ConfigError(f"--data: {unknown('dataset', name, arguments.word)}, as the command line asks")
    return [_request_of(name, paths.get(name), arguments) for name in dict.fromkeys(arguments.word)]


def _request_of(name: str, root: Path | None, arguments: Namespace) -> Request:
    catalogue = read_yaml(CATALOGUE)
    dataset, homes = catalogue["datasets"][name], catalogue["homes"]
    subset = next(iter(dataset["subsets"])) if arguments.subset is None else arguments.subset
    home = next(iter(homes)) if vars(arguments)["from"] is None else vars(arguments)["from"]
    for what, word, known in (("subset", subset, dataset["subsets"]), ("home", home, homes)):
        if word not in known:
            raise DatasetError(f"{name} has no {what} {word!r}; there are: {', '.join(known)}")
    if root is None and arguments.data_root is None:
        raise DatasetError(f"where shall {name} go? use --data-root DIR or --data {name}=DIR")
    return Request(
        name=name,
        subset=subset,
        home=f"{homes[home]}{dataset['release']}/",
        folder=dataset.get("folder", ""),
        patterns=(*dataset.get("always", ()), *dataset["subsets"][subset]),
        gigabytes=dataset["gigabytes"][subset],
        root=root or arguments.data_root / name,
    )


def new_session() -> requests.Session:
    """A session that sends no credentials and waits longer from try to try, or as long as the server asks."""
    session = requests.Session()
    session.auth = lambda request: request  # else requests takes those of ~/.netrc
    session.headers.update({"User-Agent": "ecg-pretrain-bench (data download)", "Accept-Encoding": "identity"})
    retry = Retry(
        TRIES - 1,
        backoff_factor=BACKOFF,
        backoff_jitter=BACKOFF,
        backoff_max=MAX_WAIT,
        retry_after_max=MAX_WAIT,
        status_forcelist=BUSY,
        raise_on_status=False,
    )
    for scheme in ("http://", "https://"):
        session.mount(scheme, HTTPAdapter(pool_maxsize=MAX_CONNECTIONS, max_retries=retry))
    return session


def fetch(session: requests.Session, url: str, target: Path, digest: str, stop: Event) -> str:
    """Download a file and compare it with its SHA-256, '' for none; returns '' or why it is not there.

    A body that breaks off or is wrong is fetched again; `stop` ends it between two pieces.
    """
    part, reason = target.with_name(f"{target.name}.part"), ""
    with naming(target):
        part.parent.mkdir(parents=True, exist_ok=True)
        for attempt in range(TRIES):
            if stop.wait(min(MAX_WAIT, BACKOFF * 2**attempt) if attempt else 0):
                break
            content = hashlib.sha256()
            try:
                with session.get(url, stream=True, timeout=TIMEOUT) as response, open(part, "wb") as file:
                    if not response.ok:
                        return f"{response.status_code} {response.reason}"
                    for piece in response.iter_content(CHUNK):
                        if stop.is_set():
                            return "stopped"
                        content.update(piece)
                        file.write(piece)
            except (requests.exceptions.ChunkedEncodingError, requests.ConnectionError) as error:
                reason = f"connection lost: {error}"
                continue
            except requests.RequestException as error:
                return str(error)
            if digest in ("", content.hexdigest()):
                os.replace(part, target)
                return ""
            reason = f"its SHA-256 is {content.hexdigest()[:12]}..., the published one {digest[:12]}..."
    return reason


def listed(sums: Path, request: Request) -> Iterator[tuple[str, str]]:
    """(publisher's path, SHA-256) of the wanted files of a release. Raises DatasetError for what is no list of sums."""
    wanted = re.compile("|".join(map(translate, request.patterns)))
    for line in sums.read_text(encoding="utf-8", errors="replace").splitlines():
        match = SUM_LINE.fullmatch(line.rstrip())
        if match is None or match[2].startswith("/") or ".." in PurePosixPath(match[2]).parts:
            raise DatasetError(f"{sums} is no list of SHA-256 sums of files in a folder: {line[:80]!r}")
        if match[2].startswith(request.folder) and wanted.match(match[2]):
            yield match[2], match[1]


def is_right(path: Path, digest: str, *, verify: bool) -> bool:
    """Whether a file is there; with `verify`, and has its SHA-256."""
    if not verify or not path.is_file():
        return path.is_file()
    with open(path, "rb") as file:
        return hashlib.file_digest(file, "sha256").hexdigest() == digest


def fetch_all(
    session: requests.Session, request: Request, files: Iterable[tuple[str, str]], connections: int
) -> Iterator[tuple[str, str]]:
    """Download files, several at a time; yields (path, '' or why it is not there) of each as it ends.

    Raises OSError, e.g. of a full disk.
    """
    stop = Event()

    def task(path: str, digest: str) -> tuple[str, str]:
        url, target = f"{request.home}{quote(path)}", request.root / path.removeprefix(request.folder)
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
    """Mark a folder as unfinished and keep other processes out. Raises DatasetError if one downloads into it."""
    with naming(root):
        (root / UNFINISHED).mkdir(parents=True, exist_ok=True)
    with open(root / UNFINISHED / "lock", "a") as file:
        try:
            fcntl.flock(file, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except BlockingIOError:
            raise DatasetError(f"another process downloads into {root}: let it end, or stop it") from None
        yield


def download(arguments: Namespace, console: Console) -> int:
    """`data download`; returns the exit status. One dataset at a time."""
    wanted = requests_of(arguments)
    for request in wanted:
        dataset = DATASETS[request.name]
        note(console, f"{request.name}, {request.subset}: about {request.gigabytes:g} GB from {request.home}")
        note(console, f"  where    {request.root}")
        note(console, f"  licence  {dataset.licence}")
        note(console, f"  cite     {dataset.cite}")
    if arguments.dry_run:
        note(console, "dry run: nothing was fetched or written")
        return OK
    connections = arguments.connections or CONNECTIONS
    return OK if all([_download(request, connections, arguments.verify, console) for request in wanted]) else FAILED


def _download(request: Request, connections: int, verify: bool, console: Console) -> bool:
    """Download one dataset; returns whether all of it is there.

    Raises DatasetError without a list of files and for a disk without room, and OSError.
    """
    note(console, f"{request.name}:")
    marker, started = request.root / UNFINISHED, (request.root / UNFINISHED).exists()
    failures = {}
    with folder_lock(request.root), new_session() as session:
        try:
            missing = _missing(session, request, verify, console)
        except DatasetError:
            if not started:  # nothing was fetched: what was there before is as it was
                shutil.rmtree(marker)
            raise
        with step(console, "  files") as progress:
            for done, (path, failure) in enumerate(fetch_all(session, request, missing, connections), start=1):
                if failure:
                    failures[path] = failure
                progress(done, len(missing))
    if not failures:
        shutil.rmtree(marker)
        return True
    for path, reason in islice(failures.items(), 5):
        note(console, f"  missing: {path} ({reason})")
    note(console, f"  {len(failures):,} files are missing: the same command tries these again; until then a run")
    note(console, f"  refuses {request.root}, unless you remove {UNFINISHED} in it")
    return False


def _missing(session: requests.Session, request: Request, verify: bool, console: Console) -> list[tuple[str, str]]:
    """The files of a release to be fetched. Raises DatasetError without a list of them and for a disk without room."""
    sums = request.root / UNFINISHED / SUMS
    if not sums.exists() and (failure := fetch(session, f"{request.home}{SUMS}", sums, "", Event())):
        raise DatasetError(f"{request.name}: no list of files; {request.home}: {failure}")
    try:
        wanted = list(listed(sums, request))
        if not wanted:
            raise DatasetError(f"{sums} lists nothing of {request.name}: {', '.join(request.patterns)[:200]}")
    except DatasetError:
        sums.unlink()
        raise
    missing = [
        (path, digest)
        for path, digest in wanted
        if not is_right(request.root / path.removeprefix(request.folder), digest, verify=verify)
    ]
    needed, free = request.gigabytes * len(missing) / len(wanted), shutil.disk_usage(request.root).free / 1e9
    note(console, f"  {len(wanted):,} files, {len(missing):,} to fetch, about {needed:.1f} GB")
    if free < needed:
        raise DatasetError(
            f"{request.name} takes {needed:.1f} GB more and {request.root} has room for {free:.1f} GB: free space or "
            "name another folder"
        )
    return missing
