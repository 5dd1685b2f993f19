"""One dataset from its list to its folder: what is wanted, what is there, what is fetched, and what a reader needs.

    .download/unfinished    there from the first file to the end: a run refuses such a folder
    .download/tables/       the publisher's tables, whole
    .download/NAME.sha256   the publisher's list

The tables come to their places last.

The publisher's tables are kept whole, as verified, in .download/tables; those that the reader takes are made of
them, so that a later download of more patients fetches no table again.

figshare: the API tells an article's files with size and MD5; a zip is unpacked and checked by its CRCs.

figshare publishes no SHA-256. What is compared is the MD5 that its API states at the time of the download: it tells a
damaged file, not a file that somebody has exchanged at figshare and in its API.

CPSC2018's REFERENCE.csv, which no publisher's sum covers: its labels have to be those of the verified headers.

The headers list a recording's labels in another order than REFERENCE.csv, whose first label is the one that counts. So
what a damaged or exchanged table could change here is the order alone.
"""

from __future__ import annotations

import csv
import json
import os
import re
import shutil
import time
from argparse import Namespace
from collections.abc import Callable, Collection, Iterator, Mapping, Sequence
from contextlib import AbstractContextManager, suppress
from dataclasses import dataclass, field
from fnmatch import fnmatchcase
from functools import partial
from io import StringIO
from pathlib import Path
from threading import Event
from typing import Any, NamedTuple
from urllib.parse import quote
from zipfile import BadZipFile, ZipFile, ZipInfo

from benchmark.config.command_line import FAILED, OK
from benchmark.config.errors import ConfigError, unknown
from benchmark.config.flags import parse_data
from benchmark.config.words import values_of
from benchmark.data.datasets import DATASETS
from benchmark.data.datasets.base import DatasetError, Unusable
from benchmark.data.datasets.cpsc2018 import CPSC2018, REFERENCE_COLUMNS, SNOMED
from benchmark.data.datasets.registry import OF_DOWNLOAD, UNFINISHED, find_root, is_marked, source_of
from benchmark.data.datasets.tables import path_within, read_table, whole_number
from benchmark.data.datasets.wfdb_files import diagnosis_codes
from benchmark.extras.download_catalogue import (
    MOST_CONNECTIONS,
    Catalogue,
    Extra,
    Figshare,
    Manners,
    Source,
    Subset,
    Tree,
    Wanted,
    catalogue_of,
    check_room,
    chosen,
    disk_of,
    free_bytes,
    shipped,
    shown_bytes,
)
from benchmark.extras.download_files import (
    Interrupted,
    Ledger,
    Refused,
    Unreachable,
    Web,
    fetch_all,
    folder_lock,
    pieces,
)
from benchmark.machine.processes import Stopped
from benchmark.results.files import MEBIBYTE, naming, parse_json, read_json, temporary_name, unfit_members, write_atomic
from benchmark.screen import Console, duration, error, note, step


@dataclass(frozen=True)
class Order:
    """A dataset to download."""

    name: str
    source: Source
    subset_name: str
    subset: Subset
    homes: Mapping[str, Tree | Figshare]
    """The homes to ask, in this order; all of one kind, since another kind is another form of the dataset."""
    root: Path
    """The dataset's folder."""
    manners: Manners
    patients: int | None = None
    """The first so many patients; None for all."""
    again: bool = False
    """Read and compare the files that are there, also those verified before."""

    @property
    def list_path(self) -> str:
        """Where the publisher's list of sums is kept."""
        return f"{OF_DOWNLOAD}/{re.sub(r'[^A-Za-z0-9.]+', '-', self.source.release)}.sha256"

    def documented(self) -> tuple[int, int]:
        """(recordings, bytes) as documented, with what is unpacked; those of the chosen patients in proportion."""
        subset = self.subset
        share = min(1.0, (self.patients or subset.patients) / subset.patients)
        home = next(iter(self.homes.values()))
        each = home.recording_bytes if isinstance(home, Figshare) else subset.recording_bytes
        recordings = round(subset.recordings * share)
        return recordings, recordings * each + self.source.table_bytes


def order_of(
    catalogue: Catalogue,
    name: str,
    *,
    data_root: Path | None,
    paths: Mapping[str, Path],
    subset: str | None = None,
    home: str | None = None,
    patients: int | None = None,
    connections: int | None = None,
    again: bool = False,
) -> Order:
    """The download of a dataset. Raises DatasetError for what there is not and for a folder that cannot take it."""
    if name not in catalogue.datasets:
        raise DatasetError(f"no home of {name!r} in the mirrors file, which has {', '.join(catalogue.datasets)}")
    source = catalogue.datasets[name]
    subset_name = next(iter(source.subsets)) if subset is None else subset
    if subset_name not in source.subsets:
        raise DatasetError(f"{source.release} has no subset {subset_name!r}; there are: {', '.join(source.subsets)}")
    if home is not None and home not in source.homes:
        raise DatasetError(f"{source.release} has no home {home!r}; there are: {', '.join(source.homes)}")
    kind = source.homes[home or next(iter(source.homes))].kind
    homes = {own: place for own, place in source.homes.items() if own == home or (not home and place.kind == kind)}
    if kind == "figshare" and patients is not None:
        raise DatasetError(f"{source.release} from {home} is one archive: leave out --patients, or take another --from")
    manners = catalogue.manners
    if connections is not None:
        manners = manners.model_copy(update={"connections": connections})
    return Order(
        name,
        source,
        subset_name,
        source.subsets[subset_name],
        homes,
        folder_of(name, source, data_root, paths),
        manners,
        patients,
        again,
    )


def folder_of(name: str, source: Source, data_root: Path | None, paths: Mapping[str, Path]) -> Path:
    """Where a dataset goes: the folder given for it, else the one that is found, else its name under the data root.

    Raises DatasetError for no folder, a simulated one, and one that holds the dataset in another layout.
    """
    if name in paths:
        root = paths[name]
    elif data_root is None:
        raise DatasetError(f"where shall {name} go? use --data-root DIR or --data {name}=DIR")
    else:
        try:
            root = find_root(source_of(name), data_root, paths)
        except DatasetError:
            root = data_root / name
        within = root.relative_to(data_root).as_posix()
        if within not in (name, *source.layouts):
            raise DatasetError(
                f"{root} has {name} in another form, which a run would read: name a folder with --data {name}=DIR"
            )
    if is_marked(source_of(name)(root)):
        raise DatasetError(f"{root} holds simulated recordings: name another folder")
    return root


KEPT = f"{OF_DOWNLOAD}/tables"


class Chosen(NamedTuple):
    """What is to be fetched for the chosen patients."""

    files: list[Wanted]
    patients: frozenset[str] | None
    """Their names in the tables; None for all, whose tables are not cut."""
    number: int
    """Of patients; 0 where they were not counted."""


def with_tables_kept(wanted: Sequence[Wanted], source: Source) -> tuple[list[Wanted], list[Wanted]]:
    """(tables, where they are kept whole; all other files)."""
    names = {table.file for table in source.tables}
    tables = [item._replace(path=f"{KEPT}/{item.path}") for item in wanted if item.path in names]
    lacking = names - {item.path.rpartition("/")[2] for item in tables}
    if lacking:
        raise DatasetError(f"{source.release}: the list of sums has no {', '.join(sorted(lacking))}")
    return tables, [item for item in wanted if item.path not in names]


def adopt_tables(tables: Sequence[Wanted], ledger: Ledger) -> None:
    """Keep tables that lie whole in the dataset's folder, so that they are not fetched."""
    for item in tables:
        own = item._replace(path=Path(item.path).name)
        if not ledger.holds(item) and ledger.holds(own):
            _link(ledger.root / own.path, ledger.root / item.path)
            ledger.holds(item)


def first_patients(files: Sequence[Wanted], source: Source, root: Path, number: int | None) -> Chosen:
    """The files of the first patients, in the order of the first table, else of the recordings' names.

    All files for no number. A patient counts who has a recording among the files.
    """
    if number is None:
        return Chosen(list(files), None, 0)
    offered = {item.record for item in files} - {""}
    if not source.tables:
        by_name = sorted(offered, key=lambda record: record.rpartition("/")[2])[:number]
        kept, patients = set(by_name), frozenset(Path(record).name for record in by_name)
    else:
        table = source.tables[0]
        of_patient: dict[str, list[str]] = {}
        for cells in _rows(root / KEPT / table.file, (table.patient, *table.records)):
            own = [record for record in cells[1:] if record in offered]
            if own and cells[0] and (cells[0] in of_patient or len(of_patient) < number):
                of_patient.setdefault(cells[0], []).extend(own)
        kept, patients = {record for own in of_patient.values() for record in own}, frozenset(of_patient)
    return Chosen([item for item in files if not item.record or item.record in kept], patients, len(patients))


def place_tables(source: Source, root: Path, patients: Collection[str] | None) -> None:
    """Put the tables where the reader finds them: whole, or cut to the rows of the patients."""
    for table in source.tables:
        if patients is None:
            _link(root / KEPT / table.file, root / table.file)
        else:
            cut_table(root / KEPT / table.file, root / table.file, table.patient, patients)


def cut_table(whole: Path, path: Path, column: str, kept: Collection[str]) -> int:
    """Write a table with those rows alone whose cell in a column is one of `kept`; returns their number."""
    out, count = StringIO(), 0
    writer = csv.writer(out, lineterminator="\n")
    with open(whole, encoding="utf-8-sig", newline="") as file:
        reader = csv.reader(file)
        header = next(reader, [])
        place = _place(whole, header, column)
        writer.writerow(header)
        for cells in reader:
            if len(cells) == len(header) and cells[place].strip() in kept:
                writer.writerow(cells)
                count += 1
    write_atomic(path, out.getvalue().encode())
    return count


def _rows(path: Path, columns: Sequence[str]) -> Iterator[list[str]]:
    with open(path, encoding="utf-8-sig", newline="") as file:
        reader = csv.reader(file)
        header = next(reader, [])
        places = [_place(path, header, column) for column in columns]
        for cells in reader:
            if len(cells) == len(header):
                yield [cells[place].strip() for place in places]


def _place(path: Path, header: Sequence[str], column: str) -> int:
    if column not in header:
        raise DatasetError(f"{path} has no column {column}, by which patients are chosen")
    return header.index(column)


def _link(whole: Path, path: Path) -> None:
    """Make `path` the same file as `whole`; a copy where the file system has no links."""
    if path.exists() and path.samefile(whole):
        return
    temporary = temporary_name(path)
    with naming(path):
        path.parent.mkdir(parents=True, exist_ok=True)
        try:
            os.link(whole, temporary)
        except OSError:
            write_atomic(path, whole.read_bytes())
            return
        try:
            os.replace(temporary, path)
        finally:
            with suppress(OSError):
                temporary.unlink()


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
                for piece in pieces(response, Event(), web.manners):
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


MOST_DIFFERENT = 0.01
"""Share of the recordings whose labels may differ: 81 of 81 recordings that were compared agree."""


def place_reference(fetched: Path, root: Path, records: Sequence[str]) -> str:
    """Put the rows of the recordings into the dataset's folder; returns how far they agree with the headers.

    Raises DatasetError for a table that cannot be read or does not agree.
    """
    rows = read_table(CPSC2018(root), fetched, REFERENCE_COLUMNS).rows
    stated = {name: frozenset(map(_class_of, filter(None, labels))) for name, *labels in rows}
    names = {Path(record).name: root / record for record in records}
    agree = sum(stated.get(name) == _of_header(record) for name, record in names.items())
    said = f"its labels are those of the headers in {agree} of {len(names)} recordings"
    if len(names) - agree > MOST_DIFFERENT * len(names):
        raise DatasetError(f"{fetched.name} is not used: {said}")
    cut_table(fetched, root / "REFERENCE.csv", REFERENCE_COLUMNS[0], names.keys())
    return said


def _class_of(number: str) -> str:
    """A class by its number from 1; the number itself where there is no such class."""
    index = int(whole_number(number) or 0)
    return CPSC2018.classes[index - 1] if 1 <= index <= len(CPSC2018.classes) else number


def _of_header(record: Path) -> frozenset[str] | None:
    """The classes of a recording's header; None where it cannot be read."""
    try:
        codes = diagnosis_codes(record)
    except Unusable:
        return None
    return frozenset(SNOMED.get(code, code) for code in codes) & frozenset(CPSC2018.classes)


TRIES_OF_AN_EXTRA = 3
"""A file that the dataset can do without is not waited for."""
CHECKED_AT_A_TIME = 50


class NotReached(Exception):
    """No home gives what a download begins with; the message names each with its reason."""


@dataclass(frozen=True)
class Voice:
    """How a download is told."""

    say: Callable[[str], None]
    """One line."""
    pieces: Callable[[str], AbstractContextManager[Callable[[int, int], None]]]
    """Progress of a step in pieces."""
    bytes: Callable[[str], AbstractContextManager[Callable[[int, int], None]]]
    """Progress of a step in bytes."""


@dataclass
class Outcome:
    """What a download came to."""

    files: int = 0
    """Files that were wanted."""
    fetched: int = 0
    received: int = 0
    """Bytes."""
    failed: dict[str, str] = field(default_factory=dict)
    """Files that no home gave, with the reason."""


def get(order: Order, ledger: Ledger, voice: Voice) -> Outcome:
    """Download a dataset; what is there and right is not fetched. Raises DatasetError, NotReached or OSError."""
    outcome = Outcome()
    if isinstance(home := next(iter(order.homes.values())), Figshare):
        files = [item for item in listed_by_api(order, home) if not _is_there_unpacked(order, home, item)]
        patients = None
    else:
        tables, others = with_tables_kept(wanted_of(order, ledger, voice), order.source)
        adopt_tables(tables, ledger)
        _have(order, tables, ledger, voice, outcome, "tables")
        if outcome.failed:
            return outcome
        files, patients, count = first_patients(others, order.source, order.root, order.patients)
        if order.patients and count < order.patients:
            voice.say(f"  there are {count} patients, fewer than the {order.patients} asked for")
    _have(order, files, ledger, voice, outcome, "files")
    if outcome.failed:
        return outcome
    if isinstance(home, Figshare):
        _unpack(order, home, files, voice)
    else:
        place_tables(order.source, order.root, patients)
    for extra in order.source.extras:
        voice.say(f"  {_with_extra(order, extra, files, ledger)}")
    (order.root / UNFINISHED).unlink(missing_ok=True)
    return outcome


def wanted_of(order: Order, ledger: Ledger, voice: Voice) -> list[Wanted]:
    """The files of the subset by the publisher's list, which is fetched if it is not kept.

    Raises NotReached, or DatasetError for a list that is refused; such a list is not kept.
    """
    place = order.root / order.list_path
    known = Wanted("", order.list_path, "", 0)
    reasons = []
    for name, home in order.homes.items():
        assert isinstance(home, Tree)
        if ledger.knows(known):
            break
        size = order.source.size_of(home.sums)
        item = known._replace(url=quote(home.sums), size=size)
        with voice.bytes("  list of files") as told:
            result = fetch_all([item], home.url, ledger, order.manners, told)
        reasons += [f"{name}: {reason}" for _, reason in result.refused]
        reasons += [f"{name}: {result.unreachable}"] if result.unreachable else []
    else:
        if not ledger.knows(known):
            raise NotReached(f"{order.source.release}: no list of files; {'; '.join(reasons)}")
    try:
        return chosen(place, order.source, order.subset)
    except DatasetError:
        place.unlink()
        raise


def listed_by_api(order: Order, home: Figshare) -> list[Wanted]:
    """The files of a figshare home. Raises NotReached."""
    try:
        return files_of(home, order.manners)
    except (Refused, Unreachable) as problem:
        raise NotReached(f"{order.source.release}: no list of files; {home.api}: {problem}") from None


def _is_there_unpacked(order: Order, home: Figshare, item: Wanted) -> bool:
    return Path(item.path).name in home.unpack and is_unpacked(order.root, item)


def _have(order: Order, files: Sequence[Wanted], ledger: Ledger, voice: Voice, outcome: Outcome, what: str) -> None:
    """Have files: those that are not there and right are fetched from one home after the other."""
    if not files:
        return
    with voice.pieces(f"  {what} looked at") as told:
        missing = []
        for number, item in enumerate(files, 1):
            missing += [] if ledger.holds(item, again=order.again) else [item]
            if number % CHECKED_AT_A_TIME == 0 and number < len(files):
                told(number, len(files))
    size = sum(item.size for item in missing)
    about = f"{len(missing):,} to fetch, about {shown_bytes(size)}" if missing else "nothing to fetch"
    voice.say(f"  {what}: {len(files):,}, of them {len(files) - len(missing):,} there and right; {about}")
    outcome.files += len(files)
    if not missing:
        return
    check_room(order.root, size, order.source.release)
    _mark(order.root)
    left, reasons = missing, dict[str, str]()
    for name, home in order.homes.items():
        base = home.url if isinstance(home, Tree) else home.api
        with voice.bytes(f"  {what} from {name}") as told:
            result = fetch_all(left, base, ledger, order.manners, told)
            if result.received and not result.left and not result.refused:
                told(result.received, result.received)
        outcome.fetched += len(result.fetched)
        outcome.received += result.received
        reasons |= {item.path: f"{name}: {reason}" for item, reason in result.refused}
        reasons |= {item.path: f"{name}: {result.unreachable}" for item in result.left}
        left = [*(item for item, _ in result.refused), *result.left]
        if not left:
            return
        voice.say(f"  {name} did not give {len(left):,} {what}: {_common(left, reasons)}")
    outcome.failed |= {item.path: reasons[item.path] for item in left}


def _common(left: Sequence[Wanted], reasons: Mapping[str, str]) -> str:
    """An example of what did not come, with its reason."""
    return f"{left[0].path}, {reasons[left[0].path].partition(': ')[2]}"


def _mark(root: Path) -> None:
    mark = root / UNFINISHED
    with naming(mark):
        mark.touch()


def _unpack(order: Order, home: Figshare, files: Sequence[Wanted], voice: Voice) -> None:
    for item in files:
        if pattern := home.unpack.get(Path(item.path).name):
            _mark(order.root)
            with voice.pieces(f"  unpacking {Path(item.path).name}") as told:
                unpack(order.root, item, pattern, told)


def _with_extra(order: Order, extra: Extra, files: Sequence[Wanted], ledger: Ledger) -> str:
    """Fetch and check a file without a published sum; returns one line on it. The dataset can do without."""
    own = order.root / extra.file
    kept = Wanted(extra.url, f"{KEPT}/{extra.file}", "", 1000)
    if own.exists() and not ledger.knows(kept):
        return f"{extra.file}: yours is left as it is"
    if not ledger.knows(kept):
        manners = order.manners.model_copy(update={"tries": min(TRIES_OF_AN_EXTRA, order.manners.tries)})
        result = fetch_all([kept], "", ledger, manners)
        if not result.fetched:
            reason = result.unreachable or result.refused[0][1]
            return f"{extra.file} is not there ({extra.url}: {reason}); put it into {order.root} if you have it"
    records = sorted({item.record for item in files} - {""})
    try:
        return f"{extra.file}: {place_reference(order.root / kept.path, order.root, records)}"
    except DatasetError as problem:
        (order.root / kept.path).unlink()
        return f"{problem}; {extra.url}"


SHOWN_FAILURES = 5


def orders_of(arguments: Namespace) -> list[Order]:
    """The downloads that a command line asks for. Raises ConfigError or DatasetError before anything is done."""
    file = arguments.mirrors or shipped()
    catalogue = catalogue_of(values_of(file), file)
    connections = arguments.connections
    if connections is not None and connections > MOST_CONNECTIONS:
        raise ConfigError(f"--connections {connections} are more than a public home bears; use 1 to {MOST_CONNECTIONS}")
    paths = parse_data(arguments.data)
    for name in paths:
        if name not in arguments.word:
            raise ConfigError(f"--data: {unknown('dataset', name, arguments.word)}, as the command line asks")
    return [
        order_of(
            catalogue,
            name,
            data_root=arguments.data_root,
            paths=paths,
            subset=arguments.subset,
            home=vars(arguments)["from"],
            patients=arguments.patients,
            connections=connections,
            again=arguments.verify,
        )
        for name in dict.fromkeys(arguments.word)
    ]


def print_downloads(orders: Sequence[Order], *, dry_run: bool, console: Console) -> int:
    """Run `data download`; returns the exit status. One dataset, and one home, at a time."""
    for order in orders:
        for line in announced(order):
            note(console, line)
    if dry_run:
        note(console, "dry run: nothing was fetched or written")
        return OK
    disks: dict[int, int] = {}
    for order in orders:  # those on one disk share its room
        disk, missing = disk_of(order.root), order.documented()[1] - Ledger(order.root).bytes_here()
        disks[disk] = disks.get(disk, 0) + max(0, missing)
        check_room(order.root, disks[disk], order.source.release)
    return OK if all([_download(order, console) for order in orders]) else FAILED


def announced(order: Order) -> Iterator[str]:
    """What a download is about to do: how much, from where, to where, under which licence."""
    recordings, size = order.documented()
    home = next(iter(order.homes.values()))
    here = Ledger(order.root).bytes_here()
    files = recordings * (1 if isinstance(home, Figshare) else 2)
    part = f"the first {order.patients:,} patients of: " if order.patients else ""
    yield f"{order.source.release}, {order.subset_name}: {part}{order.subset.what}"
    yield f"  where    {order.root} ({shown_bytes(free_bytes(order.root))} free)"
    yield (
        f"  size     about {shown_bytes(size)}, {recordings:,} recordings in {files:,} files, as documented; "
        f"{shown_bytes(here)} are there and verified"
    )
    yield f"  from     {', else '.join(_address(name, home) for name, home in order.homes.items())}"
    yield f"  checked  {'MD5 of the API' if isinstance(home, Figshare) else f'SHA-256 of {home.sums}'}"
    yield f"  licence  {DATASETS[order.name].licence}"
    yield f"  cite     {DATASETS[order.name].cite}"


def _address(name: str, home: Tree | Figshare) -> str:
    return f"{name} {home.url if isinstance(home, Tree) else home.api}"


def _download(order: Order, console: Console) -> bool:
    """Download one dataset; returns whether all of it is there and its reader finds recordings."""
    began = time.monotonic()
    voice = Voice(partial(note, console), partial(step, console), lambda what: step(console, what, shown=shown_bytes))
    note(console, f"{order.source.release}:")
    try:
        with folder_lock(order.root), Ledger(order.root) as ledger:
            outcome = get(order, ledger, voice)
    except NotReached as problem:
        error(str(problem))
        return False
    except Stopped as stop:
        stop.saved = f"{order.root} keeps what came, also of single files"
        raise
    for line in told(order, outcome, time.monotonic() - began):
        note(console, line)
    return not outcome.failed and _is_found(order, console)


def told(order: Order, outcome: Outcome, seconds: float) -> Iterator[str]:
    """What a download came to."""
    there = outcome.files - len(outcome.failed)
    yield (
        f"  {there:,} of {outcome.files:,} files there and right, {outcome.fetched:,} fetched, "
        f"{shown_bytes(outcome.received)} in {duration(seconds)}"
    )
    for path, reason in list(outcome.failed.items())[:SHOWN_FAILURES]:
        yield f"  missing: {path} ({reason})"
    if len(outcome.failed) > SHOWN_FAILURES:
        yield f"  and {len(outcome.failed) - SHOWN_FAILURES:,} more"
    if outcome.failed:
        yield (
            f"  the same command tries these again; until then a run refuses {order.root}, "
            f"unless you remove {Path(UNFINISHED)} in it"
        )


def _is_found(order: Order, console: Console) -> bool:
    """Whether the dataset's reader finds recordings in the folder; says how many."""
    try:
        listing = source_of(order.name)(order.root).listing()
    except DatasetError as problem:
        error(str(problem))
        return False
    skipped = f", {len(listing.skipped):,} rows that are skipped" if listing.skipped else ""
    note(console, f"  its reader finds {len(listing.entries):,} recordings{skipped}: {listing.form}")
    return bool(listing.entries)


def download(arguments: Namespace, console: Console) -> int:
    """`data download`."""
    return print_downloads(orders_of(arguments), dry_run=arguments.dry_run, console=console)
