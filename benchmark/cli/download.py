"""`data download`: fetch PhysioNet's open releases over a few connections, verified, and go on where it stopped.

A file is written to NAME.part and gets its name once its SHA-256 is the one in the release's SHA256SUMS.txt, so a file
that has its name is believed; `--verify` reads and compares all. `.download` is in the dataset's folder until all files
are there: a run refuses such a folder, which would read as a smaller dataset.
"""

from __future__ import annotations

import hashlib
import os
import re
import shutil
import time
from argparse import Namespace
from collections.abc import Iterator, Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from fnmatch import translate
from importlib import resources
from pathlib import Path
from urllib.parse import quote

import requests
from requests.adapters import HTTPAdapter
from urllib3.util.retry import Retry

from benchmark.cli.main import FAILED, OK
from benchmark.config.load import read_yaml
from benchmark.data.datasets import DATASETS, UNFINISHED
from benchmark.data.datasets.base import DatasetError
from benchmark.results.files import file_digest, naming
from benchmark.screen import Console, note, step

CATALOGUE = Path(str(resources.files("benchmark.cli") / "download.yaml"))
CONNECTIONS = 4
"""Beyond 8 PhysioNet slows all connections down."""
SUMS = "SHA256SUMS.txt"
SUM_LINE = re.compile(r"([0-9a-f]{64})[ \t]+\*?(?:\./)?((?!/|.*\.\.)\S.*)")
"""SHA-256, and path within the release's folder."""
CHUNK = 2**18
AT_ONCE = 4096
"""Bytes of a read, and files in the queue of the pool."""
TIMEOUT = (20, 60)
"""Seconds to connect, and without a byte."""
BUSY = (408, 425, 429, 500, 502, 503, 504)
TRIES = 6
BACKOFF, MAX_WAIT = 1.0, 60
"""Seconds before the second try, doubled for each further one; and the longest wait."""


@dataclass(frozen=True)
class Release:
    """A part of a dataset's release to download into the folder `root`."""

    name: str
    subset: str
    url: str
    subfolder: str
    """Folder of the release that becomes the dataset's folder; '' for the whole release."""
    patterns: Sequence[str]
    gigabytes: float
    root: Path

    def target(self, path: str) -> Path:
        """Return the path of a file here, given by the publisher's path."""
        return self.root / path.removeprefix(self.subfolder)


def release_of(name: str, arguments: Namespace) -> Release:
    """Find what a command line means of a dataset. Raises ConfigError or DatasetError for what there is not."""
    catalogue = read_yaml(CATALOGUE, "the catalogue")
    dataset, homes = catalogue["datasets"][name], catalogue["homes"]
    subset = arguments.subset or next(iter(dataset["subsets"]))
    home = vars(arguments)["from"] or next(iter(homes))
    for noun, word, known in (("subset", subset, dataset["subsets"]), ("home", home, homes)):
        if word not in known:
            raise DatasetError(f"{name} has no {noun} {word!r}; there are: {', '.join(known)}")
    root = dict(arguments.data).get(name) or (arguments.data_root and arguments.data_root / name)
    if root is None:
        raise DatasetError(f"no folder for {name}: use --data-root DIR or --data {name}=DIR")
    patterns = (*dataset.get("always", ()), *dataset["subsets"][subset])
    gigabytes = dataset["gigabytes"][subset]
    url = f"{homes[home]}{dataset['release']}/"
    return Release(name, subset, url, dataset.get("folder", ""), patterns, gigabytes, root)


def new_session() -> requests.Session:
    """Make a session that sends no credentials and waits longer from try to try, or as long as the server asks."""
    session = requests.Session()
    session.auth = lambda request: request  # else requests takes those of ~/.netrc
    session.headers.update({"User-Agent": "ecg-pretrain-bench (data download)", "Accept-Encoding": "identity"})
    retry = Retry(
        TRIES - 1,
        backoff_factor=BACKOFF,
        backoff_max=MAX_WAIT,
        retry_after_max=MAX_WAIT,
        status_forcelist=BUSY,
        raise_on_status=False,
    )
    for scheme in ("https://", "http://"):
        session.mount(scheme, HTTPAdapter(pool_maxsize=CONNECTIONS, max_retries=retry))
    return session


def fetch(session: requests.Session, url: str, target: Path, digest: str = "") -> str:
    """Download a file and compare it with its SHA-256, '' for none; return '' or why it is not there.

    A body that breaks off or is wrong is fetched again.
    """
    part = target.with_name(f"{target.name}.part")
    reason = ""
    part.parent.mkdir(parents=True, exist_ok=True)
    for attempt in range(TRIES):
        time.sleep(min(MAX_WAIT, BACKOFF * 2**attempt) if attempt else 0)
        content = hashlib.sha256()
        try:
            with session.get(url, stream=True, timeout=TIMEOUT) as response, open(part, "wb") as file:
                if not response.ok:
                    return f"{response.status_code} {response.reason}"
                for piece in response.iter_content(CHUNK):
                    content.update(piece)
                    file.write(piece)
        except requests.RequestException as error:
            reason = f"connection lost: {error}"
            continue
        if digest in ("", content.hexdigest()):
            os.replace(part, target)
            return ""
        reason = f"its SHA-256 is {content.hexdigest()[:12]}..., the published one {digest[:12]}..."
    return reason


def fetch_all(
    session: requests.Session, release: Release, files: Sequence[tuple[str, str]]
) -> Iterator[tuple[str, str]]:
    """Download files, several at a time; yield (path, '' or why it is not there) of each. Raises OSError."""

    def task(file: tuple[str, str]) -> tuple[str, str]:
        path, digest = file
        return path, fetch(session, f"{release.url}{quote(path)}", release.target(path), digest)

    with ThreadPoolExecutor(CONNECTIONS) as pool:
        try:
            for start in range(0, len(files), AT_ONCE):
                yield from pool.map(task, files[start : start + AT_ONCE])
        finally:
            pool.shutdown(cancel_futures=True)


def listed_files(session: requests.Session, release: Release) -> list[tuple[str, str]]:
    """List (publisher's path, SHA-256) of the files of a release. Raises DatasetError without a list of sums."""
    sums = release.root / UNFINISHED / SUMS
    files = list[tuple[str, str]]()
    if not sums.exists() and (failure := fetch(session, f"{release.url}{SUMS}", sums)):
        raise DatasetError(f"{release.name}: no list of files; {release.url}: {failure}")
    wanted = re.compile("|".join(map(translate, release.patterns)))
    for line in sums.read_text(encoding="utf-8", errors="replace").splitlines():
        match = SUM_LINE.fullmatch(line.rstrip())
        if match is None:
            sums.unlink()
            raise DatasetError(f"{sums} is no list of SHA-256 sums of files in a folder: {line[:80]!r}")
        if match[2].startswith(release.subfolder) and wanted.match(match[2]):
            files.append((match[2], match[1]))
    return files


def is_right(path: Path, digest: str) -> bool:
    """Tell whether a file is there, and has its SHA-256, '' for any."""
    return path.is_file() and (not digest or file_digest(path) == digest)


def download(arguments: Namespace, console: Console) -> int:
    """Download datasets (`data download`); return the exit status. One dataset at a time."""
    releases = [release_of(name, arguments) for name in dict.fromkeys(arguments.word)]
    for release in releases:
        dataset = DATASETS[release.name]
        note(console, f"{release.name}, {release.subset}: about {release.gigabytes:g} GB from {release.url}")
        note(console, f"  folder   {release.root}\n  licence  {dataset.licence}\n  cite     {dataset.cite}")
    if arguments.dry_run:
        note(console, "dry run: nothing was fetched or written")
        return OK
    complete = [download_release(release, arguments.verify, console) for release in releases]
    return OK if all(complete) else FAILED


def download_release(release: Release, verify: bool, console: Console) -> bool:
    """Download what is missing of a release, with `verify` what is wrong too; return whether all of it is there.

    Raises DatasetError without a list of sums and for a disk without room, and OSError.
    """
    marker = release.root / UNFINISHED
    failures = list[str]()
    with naming(release.root), new_session() as session:
        marker.mkdir(parents=True, exist_ok=True)
        files = listed_files(session, release)
        missing = [file for file in files if not is_right(release.target(file[0]), file[1] if verify else "")]
        needed = release.gigabytes * len(missing) / max(len(files), 1)
        free = shutil.disk_usage(release.root).free / 1e9
        note(console, f"{release.name}: {len(files):,} files, {len(missing):,} to fetch, about {needed:.1f} GB")
        if free < needed:
            raise DatasetError(f"{release.name} takes {needed:.1f} GB more, {release.root} has room for {free:.1f} GB")
        with step(console, "  files") as progress:
            for done, (path, failure) in enumerate(fetch_all(session, release, missing), start=1):
                if failure:
                    failures.append(f"{path} ({failure})")
                progress(done, len(missing))
    if not failures:
        shutil.rmtree(marker)
        return True
    for failure in failures[:5]:
        note(console, f"  missing: {failure}")
    note(console, f"  {len(failures):,} files are missing: the same command tries these again")
    return False
