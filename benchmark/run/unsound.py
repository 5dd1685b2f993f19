"""Results that may have been computed from damaged data are removed, so that the same grid computes them again."""

from __future__ import annotations

import shutil
from collections.abc import Mapping, Sequence
from contextlib import suppress
from pathlib import Path

from benchmark.data.damage import Span, spans_of
from benchmark.data.prepare import Prepared
from benchmark.results.files import Damaged, write_atomic
from benchmark.results.names import HEALTH_AGAIN, RECORD_FILE, WEIGHTS, WINDOWS_SHA256, counted
from benchmark.results.store import Store, read_record_file, record_bytes
from benchmark.run.grid import Grid
from benchmark.training.checkpoint import CHECKPOINT


def remove_unsound(
    grid: Grid,
    corpus: Prepared,
    columns: Mapping[str, Prepared],
    forms: Mapping[tuple[str, str], Prepared],
    store: Store,
) -> list[str]:
    """Remove what was stored of a grid while a file of its data was damaged, and the cells of encoders among that.

    Returns a line on what it has removed, if anything. forms: as of `grid.make_grid`. An unfinished pretraining loses
    its checkpoint; health is measured again.
    """
    if not any(map(spans_behind, (corpus, *columns.values(), *forms.values()))):
        return []
    spans_of_corpus = spans_behind(corpus)
    unsound = set[str]()
    removed = 0
    for pretraining in grid.pretrainings:
        folder = store.pretrained / pretraining.key
        files = (folder / WEIGHTS, folder / CHECKPOINT)
        if pretraining.reads_corpus and any(written_in(file, spans_of_corpus) for file in files):
            unsound.add(pretraining.key)
    for cell in grid.distinct_cells():
        row = store.row_file(cell.key)
        spans = spans_behind(columns[cell.dataset])
        if form := forms.get((cell.variant.method_name, cell.dataset)):
            spans += spans_behind(form)
        if row.is_file() and (any(one.key in unsound for one in cell.pretrainings) or written_in(row, spans)):
            store.remove_row(cell.key)
            removed += 1
    for key in unsound:  # after their cells, which nothing else tells where this process is killed before
        shutil.rmtree(store.pretrained / key)
    doubt_health(grid, columns, store)
    if not unsound and not removed:
        return []
    results = f"{counted(len(unsound), 'pretraining')} and {counted(removed, 'cell')}"
    return [f"computed while a prepared file was damaged, and computed again: {results}"]


def doubt_health(grid: Grid, columns: Mapping[str, Prepared], store: Store) -> None:
    """Let health that was measured on damaged windows be measured again: its record then names no windows."""
    spans = [span for column in columns.values() for span in spans_behind(column)]
    for pretraining in grid.pretrainings:
        file = store.pretrained / pretraining.key / RECORD_FILE
        if written_in(file, spans):
            with suppress(Damaged):  # that one is made again as a whole
                record = read_record_file(file) or {}
                if record.get("health"):
                    write_atomic(file, record_bytes(record | {"health_sample": {WINDOWS_SHA256: ""}, HEALTH_AGAIN: {}}))


def spans_behind(prepared: Prepared) -> list[Span]:
    """Read the times in which a file of prepared data, or of the datasets that they join, was damaged."""
    folders = [data.folder for data, _ in prepared.members] or [prepared.folder]
    return [span for folder in folders for span in spans_of(folder)]


def written_in(file: Path, spans: Sequence[Span]) -> bool:
    """Tell whether a file was written in one of some times; one that is not there was not."""
    return file.is_file() and any(since <= file.stat().st_mtime <= until for since, until in spans)
