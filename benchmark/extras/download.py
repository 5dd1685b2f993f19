"""One dataset from its list to its folder: what is wanted, what is there, what is fetched, and what a reader needs.

    .download/unfinished    there from the first file to the end: a run refuses such a folder
    .download/tables/       the publisher's tables, whole, as verified
    .download/NAME.sha256   the publisher's list

The tables that the reader takes are made of those kept whole, so that a later download of more patients fetches no
table again. They come to their places last.

figshare publishes no SHA-256. What is compared is the MD5 that its API states at the time of the download: it tells a
damaged file, not a file that somebody has exchanged at figshare and in its API. A zip is also checked by its CRCs.

No publisher's sum covers CPSC2018's REFERENCE.csv: its labels have to be those of the verified headers. The headers
list them in another order than REFERENCE.csv, whose first label counts, so what a damaged or exchanged table could
change here is the order alone.
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
from dataclasses import dataclass, field
from fnmatch import fnmatchcase
from io import StringIO
from itertools import chain, islice
from pathlib import Path
from threading import Event
from typing import Any
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
from benchmark.extras.download_files import Interrupted, Ledger, Refused, Unreachable, Web, fetch_all, folder_lock
from benchmark.machine.processes import Stopped
from benchmark.results.files import MEBIBYTE, naming, read_json, temporary_name, unfit_members, write_atomic
from benchmark.screen import Console, duration, error, note, step

Progress = Callable[[int, int], None]
"""Called with what is done of a step, and with all of it."""


@dataclass(frozen=True)
class Order:
    """A dataset to download."""

    name: str
    source: Source
    subset_name: str
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
    def subset(self) -> Subset:
        """The part to have."""
        return self.source.subsets[self.subset_name]

    @property
    def first_home(self) -> Tree | Figshare:
        """The preferred home."""
        return next(iter(self.homes.values()))

    @property
    def list_path(self) -> str:
        """Where the publisher's list of sums is kept."""
        return f"{OF_DOWNLOAD}/{re.sub(r'[^A-Za-z0-9.]+', '-', self.source.release)}.sha256"

    def documented(self) -> tuple[int, int]:
        """(recordings, bytes) as documented, with what is unpacked; those of the chosen patients in proportion."""
        subset, home = self.subset, self.first_home
        share = min(1.0, (self.patients or subset.patients) / subset.patients)
        each = home.recording_bytes if isinstance(home, Figshare) else subset.recording_bytes
        recordings = round(subset.recordings * share)
        return recordings, recordings * each + self.source.table_bytes


def orders_of(arguments: Namespace) -> list[Order]:
    """The downloads that a command line asks for.

    Raises ConfigError or DatasetError, before anything is done, for what there is not and for a folder that cannot
    take it.
    """
    file, connections = arguments.mirrors or shipped(), arguments.connections
    catalogue = catalogue_of(values_of(file), file)
    if connections is not None and connections > MOST_CONNECTIONS:
        raise ConfigError(f"--connections {connections} are more than a public home bears; use 1 to {MOST_CONNECTIONS}")
    paths = parse_data(arguments.data)
    for name in paths:
        if name not in arguments.word:
            raise ConfigError(f"--data: {unknown('dataset', name, arguments.word)}, as the command line asks")
    return [_order_of(name, catalogue, paths, arguments) for name in dict.fromkeys(arguments.word)]


def _order_of(name: str, catalogue: Catalogue, paths: Mapping[str, Path], arguments: Namespace) -> Order:
    if name not in catalogue.datasets:
        raise DatasetError(f"no home of {name!r} in the mirrors file, which has {', '.join(catalogue.datasets)}")
    source, manners, home = catalogue.datasets[name], catalogue.manners, vars(arguments)["from"]
    subset = next(iter(source.subsets)) if arguments.subset is None else arguments.subset
    for what, word, there in (("subset", subset, source.subsets), ("home", home, source.homes)):
        if word is not None and word not in there:
            raise DatasetError(f"{source.release} has no {what} {word!r}; there are: {', '.join(there)}")
    first = source.homes[home or next(iter(source.homes))]
    homes = {
        key: place for key, place in source.homes.items() if key == home or (not home and place.kind == first.kind)
    }
    if first.kind == "figshare" and arguments.patients is not None:
        raise DatasetError(f"{source.release} from {home} is one archive: leave out --patients, or take another --from")
    if arguments.connections is not None:
        manners = manners.model_copy(update={"connections": arguments.connections})
    root = folder_of(name, source, arguments.data_root, paths)
    return Order(name, source, subset, homes, root, manners, arguments.patients, arguments.verify)


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
        if root.relative_to(data_root).as_posix() not in (name, *source.layouts):
            raise DatasetError(
                f"{root} has {name} in another form, which a run would read: name a folder with --data {name}=DIR"
            )
    if is_marked(source_of(name)(root)):
        raise DatasetError(f"{root} holds simulated recordings: name another folder")
    return root


KEPT = f"{OF_DOWNLOAD}/tables"


def with_tables_kept(wanted: Sequence[Wanted], source: Source) -> tuple[list[Wanted], list[Wanted]]:
    """(tables, where they are kept whole; all other files)."""
    names = {table.file for table in source.tables}
    tables = [item._replace(path=f"{KEPT}/{item.path}") for item in wanted if item.path in names]
    lacking = names - {Path(item.path).name for item in tables}
    if lacking:
        raise DatasetError(f"{source.release}: the list of sums has no {', '.join(sorted(lacking))}")
    return tables, [item for item in wanted if item.path not in names]


def adopt_tables(tables: Sequence[Wanted], ledger: Ledger) -> None:
    """Keep tables that lie whole in the dataset's folder, so that they are not fetched."""
    for item in tables:
        placed = item._replace(path=Path(item.path).name)
        if not ledger.holds(item) and ledger.holds(placed):
            _link(ledger.root / placed.path, ledger.root / item.path)
            ledger.holds(item)


def first_patients(
    files: Sequence[Wanted], source: Source, root: Path, number: int
) -> tuple[list[Wanted], frozenset[str]]:
    """(their files and those of no recording, their names in the tables) of the first patients.

    In the order of the first table, else of the recordings' names. A patient counts who has a recording among the
    files.
    """
    offered = {item.record for item in files} - {""}
    of_patient: dict[str, list[str]] = {}
    if source.tables:
        table = source.tables[0]
        for _, (patient, *records) in islice(_rows(root / KEPT / table.file, (table.patient, *table.records)), 1, None):
            there = [record for record in records if record in offered]
            if there and patient and (patient in of_patient or len(of_patient) < number):
                of_patient.setdefault(patient, []).extend(there)
    else:
        for record in sorted(offered, key=lambda record: Path(record).name)[:number]:
            of_patient.setdefault(Path(record).name, []).append(record)
    chosen_records = {"", *chain.from_iterable(of_patient.values())}
    return [item for item in files if item.record in chosen_records], frozenset(of_patient)


def place_tables(source: Source, root: Path, patients: Collection[str] | None) -> None:
    """Put the tables where the reader finds them: whole, or cut to the rows of the patients."""
    for table in source.tables:
        if patients is None:
            _link(root / KEPT / table.file, root / table.file)
        else:
            cut_table(root / KEPT / table.file, root / table.file, table.patient, patients)


def cut_table(whole: Path, path: Path, column: str, chosen_cells: Collection[str]) -> None:
    """Write a table with the header and those rows alone whose cell in a column is one of the chosen."""
    out = StringIO()
    writer, rows = csv.writer(out, lineterminator="\n"), _rows(whole, [column])
    writer.writerow(next(rows)[0])
    writer.writerows(cells for cells, (cell,) in rows if cell in chosen_cells)
    write_atomic(path, out.getvalue().encode())


def _rows(path: Path, columns: Sequence[str]) -> Iterator[tuple[list[str], list[str]]]:
    """(all cells, those of the columns) of the header and of each row that is as long."""
    with open(path, encoding="utf-8-sig", newline="") as file:
        reader = csv.reader(file)
        header = next(reader, [])
        for column in columns:
            if column not in header:
                raise DatasetError(f"{path} has no column {column}, by which patients are chosen")
        places = [header.index(column) for column in columns]
        for cells in chain([header], reader):
            if len(cells) == len(header):
                yield cells, [cells[place].strip() for place in places]


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
        else:
            os.replace(temporary, path)


MD5 = re.compile(r"[0-9a-f]{32}")
LARGEST_ANSWER = MEBIBYTE
LARGEST_UNPACKED = 65_536 * MEBIBYTE
UNPACKED, UNPACKING = f"{OF_DOWNLOAD}/unpacked.json", f"{OF_DOWNLOAD}/unpacking"


def files_of(home: Figshare, manners: Manners) -> list[Wanted]:
    """The files of a home's articles. Raises Refused or Unreachable, also for an answer that does not list them."""
    wanted = []
    with Web(manners, Event()) as web:
        for article, names in home.articles.items():
            stated = {str(file.get("name")): file for file in _answer(web, f"{home.api}{article}")}
            for name in names:
                if name not in stated:
                    raise Refused(f"article {article} has no {name}")
                wanted.append(_wanted(home, name, stated[name]))
    return wanted


def _answer(web: Web, url: str) -> list[dict[str, Any]]:
    """The files that the API lists of an article."""
    failures = 0
    while True:
        content = b""
        try:
            with web.get(url) as response:
                for piece in web.pieces(response):
                    content += piece
                    if len(content) > LARGEST_ANSWER:
                        raise Refused(f"{url} answers with more than {LARGEST_ANSWER} bytes")
            return [file for file in json.loads(content)["files"] if isinstance(file, dict)]
        except Interrupted as problem:
            failures += 1
            web.pause(failures, problem)
        except (ValueError, KeyError, TypeError):
            raise Refused(f"{url} does not answer with an article's files") from None


def _wanted(home: Figshare, name: str, file: dict[str, Any]) -> Wanted:
    url, digest, size = str(file.get("download_url")), str(file.get("computed_md5")), file.get("size")
    secure = url.startswith("https://") or not home.api.startswith("https:")
    if not (secure and "://" in url and MD5.fullmatch(digest) and isinstance(size, int) and size >= 0):
        raise Refused(f"the API states no address, MD5 or size of {name}")
    return Wanted(url, f"{OF_DOWNLOAD}/{name}" if name in home.unpack else name, digest, size, "md5")


def is_unpacked(root: Path, item: Wanted) -> bool:
    """Whether the members of a zip are there as they were unpacked, by number and size."""
    match _noted(root).get(Path(item.path).name):
        case {"md5": item.digest, "files": dict(files)}:
            return all(_size(root / name) == size for name, size in files.items())
    return False


def unpack(root: Path, item: Wanted, pattern: str, progress: Progress) -> None:
    """Unpack the members of a verified zip into the folder and remove the zip.

    Raises DatasetError for a zip with paths that leave the folder, and OSError of the disk.
    """
    archive, temporary = root / item.path, root / UNPACKING
    shutil.rmtree(temporary, ignore_errors=True)
    try:
        with ZipFile(archive) as content:
            members = _members(content, pattern)
            check_room(root, sum(member.file_size for member in members), "unpacking")
            for number, member in enumerate(members, 1):
                place = temporary / member.filename
                with naming(root / member.filename):
                    place.parent.mkdir(parents=True, exist_ok=True)
                    with content.open(member) as packed, open(place, "wb") as file:
                        shutil.copyfileobj(packed, file)
                progress(number, len(members))
    except (BadZipFile, NotImplementedError, Unusable) as error:
        raise DatasetError(f"{archive} cannot be unpacked: {error}") from None
    sizes = {member.filename: member.file_size for member in members}
    for name in sizes:
        (root / name).parent.mkdir(parents=True, exist_ok=True)
        os.replace(temporary / name, root / name)
    noted = {**_noted(root), archive.name: {"md5": item.digest, "files": sizes}}
    write_atomic(root / UNPACKED, json.dumps(noted).encode())
    shutil.rmtree(temporary, ignore_errors=True)
    archive.unlink()


def _members(content: ZipFile, pattern: str) -> list[ZipInfo]:
    """The members that match a pattern. Raises Unusable where there is none or one is no plain file within."""
    members = [entry for entry in content.infolist() if fnmatchcase(entry.filename, pattern)]
    for entry in members:
        path_within(entry.filename)
    problem = unfit_members(members, LARGEST_UNPACKED) if members else f"no {pattern} in it"
    if problem:
        raise Unusable(problem)
    return members


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
    agreement = f"its labels are those of the headers in {agree} of {len(names)} recordings"
    if len(names) - agree > MOST_DIFFERENT * len(names):
        raise DatasetError(f"{fetched.name} is not used: {agreement}")
    cut_table(fetched, root / "REFERENCE.csv", REFERENCE_COLUMNS[0], names.keys())
    return agreement


def _class_of(number: str) -> str:
    """A class by its number from 1; the number itself where there is no such class."""
    return dict(enumerate(CPSC2018.classes, 1)).get(int(whole_number(number) or 0), number)


def _of_header(record: Path) -> frozenset[str] | None:
    """The classes of a recording's header; None where it cannot be read."""
    try:
        return frozenset(SNOMED.get(code, code) for code in diagnosis_codes(record)) & frozenset(CPSC2018.classes)
    except Unusable:
        return None


TRIES_OF_AN_EXTRA = 3
"""A file that the dataset can do without is not waited for."""
CHECKED_AT_A_TIME = 50


class NotReached(Exception):
    """No home gives what a download begins with; the message names each with its reason."""


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


def get(order: Order, ledger: Ledger, console: Console) -> Outcome:
    """Download a dataset; what is there and right is not fetched. Raises DatasetError, NotReached or OSError."""
    outcome, patients, home, root = Outcome(), None, order.first_home, order.root
    if isinstance(home, Figshare):
        try:
            files = files_of(home, order.manners)
        except (Refused, Unreachable) as problem:
            raise NotReached(f"{order.source.release}: no list of files; {home.api}: {problem}") from None
        files = [item for item in files if Path(item.path).name not in home.unpack or not is_unpacked(root, item)]
    else:
        tables, files = with_tables_kept(wanted_of(order, ledger, console), order.source)
        adopt_tables(tables, ledger)
        _have(order, tables, ledger, console, outcome, "tables")
        if outcome.failed:
            return outcome
        if order.patients is not None:
            files, patients = first_patients(files, order.source, root, order.patients)
            if len(patients) < order.patients:
                note(console, f"  there are {len(patients)} patients, fewer than the {order.patients} asked for")
    _have(order, files, ledger, console, outcome, "files")
    if outcome.failed:
        return outcome
    if isinstance(home, Figshare):
        for item in files:
            name = Path(item.path).name
            if name in home.unpack:
                _mark(root)
                with step(console, f"  unpacking {name}") as progress:
                    unpack(root, item, home.unpack[name], progress)
    else:
        place_tables(order.source, root, patients)
    for extra in order.source.extras:
        note(console, f"  {_with_extra(order, extra, files, ledger)}")
    (root / UNFINISHED).unlink(missing_ok=True)
    return outcome


def wanted_of(order: Order, ledger: Ledger, console: Console) -> list[Wanted]:
    """The files of the subset by the publisher's list, which is fetched if it is not kept.

    Raises NotReached, or DatasetError for a list that is refused; such a list is not kept.
    """
    sums = Wanted("", order.list_path, "", 0)
    reasons = []
    for name, home in order.homes.items():
        if ledger.knows(sums) or isinstance(home, Figshare):
            break
        item = sums._replace(url=quote(home.sums), size=order.source.size_of(home.sums))
        with step(console, "  list of files", shown_bytes) as progress:
            _, failed = fetch_all([item], home.url, ledger, order.manners, progress)
        reasons += [f"{name}: {reason}" for reason in failed.values()]
    if not ledger.knows(sums):
        raise NotReached(f"{order.source.release}: no list of files; {'; '.join(reasons)}")
    place = order.root / order.list_path
    try:
        return chosen(place, order.source, order.subset)
    except DatasetError:
        place.unlink()
        raise


def _have(order: Order, files: Sequence[Wanted], ledger: Ledger, console: Console, outcome: Outcome, what: str) -> None:
    """Have files: those that are not there and right are fetched from one home after the other."""
    if not files:
        return
    missing = []
    with step(console, f"  {what} looked at") as progress:
        for number, item in enumerate(files, 1):
            if not ledger.holds(item, again=order.again):
                missing.append(item)
            if number % CHECKED_AT_A_TIME == 0 and number < len(files):
                progress(number, len(files))
    size = sum(item.size for item in missing)
    about = f"{len(missing):,} to fetch, about {shown_bytes(size)}" if missing else "nothing to fetch"
    note(console, f"  {what}: {len(files):,}, of them {len(files) - len(missing):,} there and right; {about}")
    outcome.files += len(files)
    if not missing:
        return
    check_room(order.root, size, order.source.release)
    _mark(order.root)
    reasons: dict[str, str] = {}
    for name, home in order.homes.items():
        base = home.url if isinstance(home, Tree) else home.api
        with step(console, f"  {what} from {name}", shown_bytes) as progress:
            received, failed = fetch_all(missing, base, ledger, order.manners, progress)
            if received and not failed:
                progress(received, received)
        outcome.fetched += len(missing) - len(failed)
        outcome.received += received
        if not failed:
            return
        missing = list(failed)
        reasons = {item.path: f"{name}: {reason}" for item, reason in failed.items()}
        example, reason = next(iter(failed.items()))
        note(console, f"  {name} did not give {len(missing):,} {what}: {example.path}, {reason}")
    outcome.failed |= reasons


def _mark(root: Path) -> None:
    with naming(root / UNFINISHED):
        (root / UNFINISHED).touch()


def _with_extra(order: Order, extra: Extra, files: Sequence[Wanted], ledger: Ledger) -> str:
    """Fetch and check a file without a published sum; returns one line on it. The dataset can do without."""
    kept = Wanted(extra.url, f"{KEPT}/{extra.file}", "", 1000)
    if not ledger.knows(kept):
        if (order.root / extra.file).exists():
            return f"{extra.file}: yours is left as it is"
        manners = order.manners.model_copy(update={"tries": min(TRIES_OF_AN_EXTRA, order.manners.tries)})
        _, failed = fetch_all([kept], "", ledger, manners)
        if failed:
            return f"{extra.file} is not there ({extra.url}: {failed[kept]}); put it into {order.root} if you have it"
    records = sorted({item.record for item in files} - {""})
    try:
        return f"{extra.file}: {place_reference(order.root / kept.path, order.root, records)}"
    except DatasetError as problem:
        (order.root / kept.path).unlink()
        return f"{problem}; {extra.url}"


SHOWN_FAILURES = 5


def download(arguments: Namespace, console: Console) -> int:
    """`data download`; returns the exit status. One dataset, and one home, at a time."""
    orders = orders_of(arguments)
    for order in orders:
        for line in announced(order):
            note(console, line)
    if arguments.dry_run:
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
    (recordings, size), home, dataset = order.documented(), order.first_home, DATASETS[order.name]
    here = Ledger(order.root).bytes_here()
    files = recordings * (1 if isinstance(home, Figshare) else 2)
    part = f"the first {order.patients:,} patients of: " if order.patients else ""
    places = [f"{name} {place.url if isinstance(place, Tree) else place.api}" for name, place in order.homes.items()]
    yield f"{order.source.release}, {order.subset_name}: {part}{order.subset.what}"
    yield f"  where    {order.root} ({shown_bytes(free_bytes(order.root))} free)"
    yield (
        f"  size     about {shown_bytes(size)}, {recordings:,} recordings in {files:,} files, as documented; "
        f"{shown_bytes(here)} are there and verified"
    )
    yield f"  from     {', else '.join(places)}"
    yield f"  checked  {'MD5 of the API' if isinstance(home, Figshare) else f'SHA-256 of {home.sums}'}"
    yield f"  licence  {dataset.licence}"
    yield f"  cite     {dataset.cite}"


def _download(order: Order, console: Console) -> bool:
    """Download one dataset; returns whether all of it is there and its reader finds recordings."""
    began = time.monotonic()
    note(console, f"{order.source.release}:")
    try:
        with folder_lock(order.root), Ledger(order.root) as ledger:
            outcome = get(order, ledger, console)
    except NotReached as problem:
        error(str(problem))
        return False
    except Stopped as stop:
        stop.saved = f"{order.root} keeps what came, also of single files"
        raise
    for line in summed_up(order, outcome, time.monotonic() - began):
        note(console, line)
    return not outcome.failed and _is_readable(order, console)


def summed_up(order: Order, outcome: Outcome, seconds: float) -> Iterator[str]:
    """What a download came to."""
    yield (
        f"  {outcome.files - len(outcome.failed):,} of {outcome.files:,} files there and right, "
        f"{outcome.fetched:,} fetched, {shown_bytes(outcome.received)} in {duration(seconds)}"
    )
    for path, reason in islice(outcome.failed.items(), SHOWN_FAILURES):
        yield f"  missing: {path} ({reason})"
    if len(outcome.failed) > SHOWN_FAILURES:
        yield f"  and {len(outcome.failed) - SHOWN_FAILURES:,} more"
    if outcome.failed:
        yield (
            f"  the same command tries these again; until then a run refuses {order.root}, "
            f"unless you remove {Path(UNFINISHED)} in it"
        )


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
