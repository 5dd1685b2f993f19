"""One dataset from its list to its folder: what is wanted, what is there, what is fetched, and what a reader needs.

    .download/unfinished    there from the first file to the end: a run refuses such a folder
    .download/tables/       the publisher's tables, whole
    .download/NAME.sha256   the publisher's list

The tables come to their places last.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from contextlib import AbstractContextManager
from dataclasses import dataclass, field
from pathlib import Path
from urllib.parse import quote

from benchmark.data.download.catalogue import Extra, Figshare, Tree
from benchmark.data.download.figshare import files_of, is_unpacked, unpack
from benchmark.data.download.labels import place_reference
from benchmark.data.download.ledger import Ledger
from benchmark.data.download.order import Order
from benchmark.data.download.patients import KEPT, adopt_tables, first_patients, place_tables, with_tables_kept
from benchmark.data.download.pool import fetch_all
from benchmark.data.download.space import check_room, shown_bytes
from benchmark.data.download.sums import Wanted, chosen
from benchmark.data.download.web import Refused, Unreachable
from benchmark.data.readers.errors import DatasetError
from benchmark.data.readers.registry import UNFINISHED
from benchmark.results.files.write import naming

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
