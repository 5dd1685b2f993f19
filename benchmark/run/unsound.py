"""Results that may have been computed from damaged data are removed, so that the same grid computes them again."""

from __future__ import annotations

import shutil
from collections.abc import Mapping, Sequence
from contextlib import suppress
from pathlib import Path
from typing import NamedTuple

from benchmark.data.damage import Span, spans_of
from benchmark.data.prepare import Prepared
from benchmark.results.files import Damaged, write_atomic
from benchmark.results.names import CARD, WINDOWS_SHA256
from benchmark.results.store import Store, card_bytes
from benchmark.run.grid import Grid
from benchmark.training.checkpoint import CHECKPOINT, WEIGHTS, read_card


class Unsound(NamedTuple):
    """Numbers of the results that were removed."""

    pretrainings: int
    cells: int


def remove_unsound(
    grid: Grid,
    corpus: Prepared,
    columns: Mapping[str, Prepared],
    forms: Mapping[tuple[str, str], Prepared],
    store: Store,
) -> Unsound:
    """Remove what was stored of a grid while a file of its data was damaged, and the cells of encoders among that.

    forms: as of `grid.make_grid`. An unfinished pretraining loses its checkpoint; health is measured again.
    """
    folders = {one.key: store.pretrained / one.key for one in grid.pretrainings if one.method.trains}
    unsound = {key: folder for key, folder in folders.items() if weights_written_in(folder, spans_behind(corpus))}
    removed = 0
    for cell in grid.distinct_cells():
        row, form = store.row_file(cell.key), forms.get((cell.variant.method_name, cell.dataset))
        spans = spans_behind(columns[cell.dataset]) + (spans_behind(form) if form else [])
        if written_in(row, spans) or (cell.pretrain_key in unsound and row.is_file()):
            store.remove_row(cell.key)
            removed += 1
    for folder in unsound.values():  # after their cells, which nothing else tells where this process is killed before
        shutil.rmtree(folder)
    held_out = [span for column in columns.values() for span in spans_behind(column)]
    for pretraining in grid.pretrainings:
        folder = store.pretrained / pretraining.key
        if written_in(folder / CARD, held_out):
            forget_health_sample(folder)
    return Unsound(len(unsound), removed)


def forget_health_sample(folder: Path) -> None:
    """Let the card of a pretraining name no windows that its health was measured on, so that it is measured again."""
    with suppress(Damaged):  # that one is made again as a whole
        card = read_card(folder) or {}
        if card.get("health"):
            write_atomic(folder / CARD, card_bytes(card | {"health_sample": {WINDOWS_SHA256: ""}}))


def spans_behind(prepared: Prepared) -> list[Span]:
    """Read the times in which a file of prepared data, or of the datasets that they join, was damaged."""
    folders = [data.folder for data, _ in prepared.members] or [prepared.folder]
    return [span for folder in folders for span in spans_of(folder)]


def weights_written_in(folder: Path, spans: Sequence[Span]) -> bool:
    """Tell whether the weights of a pretraining, finished or not, were written in one of some times."""
    return written_in(folder / WEIGHTS, spans) or written_in(folder / CHECKPOINT, spans)


def written_in(file: Path, spans: Sequence[Span]) -> bool:
    """Tell whether a file was written in one of some times; one that is not there was not."""
    return file.is_file() and any(since <= file.stat().st_mtime <= until for since, until in spans)
