"""figshare: the API tells an article's files with size and MD5; a zip is unpacked and checked by its CRCs.

figshare publishes no SHA-256. What is compared is the MD5 that its API states at the time of the download: it tells a
damaged file, not a file that somebody has exchanged at figshare and in its API.
"""

from __future__ import annotations

import json
import os
import re
import shutil
from collections.abc import Callable, Iterator
from fnmatch import fnmatchcase
from pathlib import Path
from threading import Event
from typing import Any
from zipfile import BadZipFile, ZipFile, ZipInfo

from benchmark.data.download.catalogue import Figshare, Manners
from benchmark.data.download.space import check_room
from benchmark.data.download.sums import Wanted
from benchmark.data.download.web import Interrupted, Refused, Web, pieces
from benchmark.data.readers.errors import DatasetError, Unusable
from benchmark.data.readers.files.tables import path_within
from benchmark.data.readers.registry import OF_DOWNLOAD
from benchmark.results.files.read import MEBIBYTE, parse_json, read_json, unfit_members
from benchmark.results.files.write import naming, write_atomic

MD5 = re.compile(r"[0-9a-f]{32}")
LARGEST_ANSWER = MEBIBYTE
MOST_MEMBERS, LARGEST_UNPACKED = 100_000, 65_536 * MEBIBYTE
UNPACKED, UNPACKING = f"{OF_DOWNLOAD}/unpacked.json", f"{OF_DOWNLOAD}/unpacking"


def files_of(home: Figshare, manners: Manners) -> list[Wanted]:
    """The files of a home's articles. Raises Refused or Unreachable, also for an answer that does not list them."""
    found = []
    with Web(manners, Event()) as web:
        for article, names in home.articles.items():
            stated = {str(file.get("name")): file for file in _answer(web, f"{home.api}{article}")}
            for name in names:
                if name not in stated:
                    raise Refused(f"article {article} has no {name}")
                found.append(_wanted(home, name, stated[name]))
    return found


def _answer(web: Web, url: str) -> list[dict[str, Any]]:
    """The files that the API lists of an article."""
    tries = web.tries()
    while True:
        try:
            with web.get(url) as response:
                content = b""
                for piece in pieces(response, Event()):
                    content += piece
                    if len(content) > LARGEST_ANSWER:
                        raise Refused(f"{url} answers with more than {LARGEST_ANSWER} bytes")
            value = parse_json(content)
            return [file for file in value["files"] if isinstance(file, dict)]
        except Interrupted as problem:
            tries = web.pause(tries, problem)
        except (ValueError, KeyError, TypeError):
            raise Refused(f"{url} does not answer with an article's files") from None


def _wanted(home: Figshare, name: str, file: dict[str, Any]) -> Wanted:
    url, digest, size = str(file.get("download_url")), str(file.get("computed_md5")), file.get("size")
    secure = url.startswith("https://") or not home.api.startswith("https:")
    if not (secure and "://" in url and MD5.fullmatch(digest) and isinstance(size, int) and size >= 0):
        raise Refused(f"the API states no address, MD5 or size of {name}")
    path = f"{OF_DOWNLOAD}/{name}" if name in home.unpack else name
    return Wanted(url, path, digest, size, "md5")


def is_unpacked(root: Path, item: Wanted) -> bool:
    """Whether the members of a zip are there as they were unpacked, by number and size."""
    noted = _noted(root).get(Path(item.path).name)
    if not isinstance(noted, dict) or noted.get("md5") != item.digest or not isinstance(noted.get("files"), dict):
        return False
    return all(_size(root / name) == size for name, size in noted["files"].items())


def unpack(root: Path, item: Wanted, pattern: str, told: Callable[[int, int], None]) -> int:
    """Unpack the members of a verified zip into the folder and remove the zip; returns their number.

    Raises DatasetError for a zip with paths that leave the folder, and OSError of the disk.
    """
    archive, temporary = root / item.path, root / UNPACKING
    shutil.rmtree(temporary, ignore_errors=True)
    try:
        with ZipFile(archive) as content:
            members = list(_members(content, pattern, archive))
            check_room(root, sum(member.file_size for member in members), "unpacking")
            for number, member in enumerate(members, 1):
                place = temporary / member.filename
                with naming(root / member.filename):
                    place.parent.mkdir(parents=True, exist_ok=True)
                    with content.open(member) as packed, open(place, "wb") as file:
                        shutil.copyfileobj(packed, file)
                told(number, len(members))
    except (BadZipFile, NotImplementedError) as error:
        raise DatasetError(f"{archive} cannot be unpacked: {error}") from None
    for member in members:
        (root / member.filename).parent.mkdir(parents=True, exist_ok=True)
        os.replace(temporary / member.filename, root / member.filename)
    sizes = {member.filename: member.file_size for member in members}
    noted = {**_noted(root), archive.name: {"md5": item.digest, "files": sizes}}
    write_atomic(root / UNPACKED, json.dumps(noted).encode())
    shutil.rmtree(temporary, ignore_errors=True)
    archive.unlink()
    return len(members)


def _members(content: ZipFile, pattern: str, archive: Path) -> Iterator[ZipInfo]:
    """The members that match a pattern. Raises DatasetError where there is none or one is no plain file within."""
    members = [entry for entry in content.infolist() if fnmatchcase(entry.filename, pattern)]
    problem = unfit_members(members, most=MOST_MEMBERS, limit=LARGEST_UNPACKED) if members else f"no {pattern} in it"
    try:
        for entry in members:
            path_within(entry.filename)
    except Unusable as reason:
        problem = str(reason)
    if problem:
        raise DatasetError(f"{archive} cannot be unpacked: {problem}")
    yield from members


def _noted(root: Path) -> dict[str, Any]:
    try:
        noted = read_json(root / UNPACKED)
    except (OSError, ValueError):
        return {}
    return noted if isinstance(noted, dict) else {}


def _size(path: Path) -> int:
    try:
        return path.stat().st_size
    except OSError:
        return -1
