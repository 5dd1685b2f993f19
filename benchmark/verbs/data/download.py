"""Implementation of `data download`: what is to come, one dataset after the other, what came."""

from __future__ import annotations

import time
from argparse import Namespace
from collections.abc import Iterator, Sequence
from functools import partial
from pathlib import Path

from benchmark.config.command_line.values import parse_data
from benchmark.config.command_line.verb import FAILED, OK
from benchmark.config.errors import ConfigError, unknown
from benchmark.config.yaml_text import values_of
from benchmark.data.download.catalogue import MOST_CONNECTIONS, Figshare, Tree, catalogue_of, shipped
from benchmark.data.download.get import NotReached, Outcome, Voice, get
from benchmark.data.download.ledger import Ledger, alone_in
from benchmark.data.download.order import Order, order_of
from benchmark.data.download.space import check_room, disk_of, free_bytes, shown_bytes
from benchmark.data.readers.base import DatasetError
from benchmark.data.readers.registry import DATASETS, UNFINISHED, source_of
from benchmark.machine.stop import Stopped
from benchmark.screen.console import Console, error, note
from benchmark.screen.progress import step
from benchmark.screen.tally import duration

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
        with alone_in(order.root), Ledger(order.root) as ledger:
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
