"""Run a cell again as `asked` says, on the data and with the threads that its row tells.

The data are found as a run finds them, and refused if they are not the row's (fingerprint). The encoder is a copy of
the stored one, or pretrained again. Nothing is written into the store.
"""

from __future__ import annotations

import shutil
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any

import torch
from threadpoolctl import threadpool_limits

from benchmark.config.command_line.values import Place
from benchmark.config.errors import ConfigError
from benchmark.data.prepared.load import Prepared
from benchmark.data.tasks.relabelled import of_task
from benchmark.machine.ranks import lead
from benchmark.results.failures import End
from benchmark.results.store import Store
from benchmark.run.cell import CellJob, run_together
from benchmark.run.data.datasets import open_data, prepare_data
from benchmark.run.pretraining import PretrainingJob, in_step, run_to_end
from benchmark.screen.console import Console
from benchmark.screen.progress import step
from benchmark.training.weights import CHECKPOINT
from benchmark.verbs.reproduce.asked import FINGERPRINT, Asked, precision_of, ranks_in

MOST_THREADS = 4096


@contextmanager
def run_again(asked: Asked, store: Store, place: Place, console: Console) -> Iterator[Store]:
    """Run the cell; yields the fresh store with its row, and with its encoder if it has one.

    Raises ConfigError with the error of a cell or pretraining that fails, DatasetError for data that are not there.
    """
    with TemporaryDirectory(prefix="reproduce-") as temporary:
        fresh = Store(asked.keep or Path(temporary))
        prepared = data_of(asked, place, console)
        folders = {name: data.folder for name, data in prepared.items()}
        if asked.cell.pretraining:
            encoder_for(asked, store, fresh, folders, console)
        job = CellJob(
            asked.cell,
            asked.config,
            folders[asked.config.data.column(asked.cell.dataset).dataset],
            fresh.root,
            str(asked.device),
            precision_of(asked.row),
            dict(asked.row.provenance.get("corpus", {})),
        )
        with computing_on(threads_of(asked.row.provenance.get("device"))):
            (end,) = run_together([job])
        refuse_failed(end, asked.cell.describe())
        yield fresh


def data_of(asked: Asked, place: Place, console: Console) -> dict[str, Prepared]:
    """The prepared datasets that are needed, by name; raises ConfigError where they are not those of the row."""
    config, told = asked.config, asked.row.provenance
    column = config.data.column(asked.cell.dataset)
    trains = asked.pretraining and asked.cell.pretraining is not None and asked.cell.pretraining.method.trains
    names = dict.fromkeys([column.dataset, *([config.data.pretrain] if trains else [])])
    prepared = {name: prepare_data(open_data(config, name, place, console), config, place, console) for name in names}
    wanted = [(of_task(prepared[column.dataset], column), told["data"][FINGERPRINT], column.dataset)]
    if trains:
        corpus = told.get("corpus", {}).get(FINGERPRINT, "not told")
        wanted.append((prepared[config.data.pretrain], corpus, config.data.pretrain))
    for data, fingerprint, name in wanted:
        if data.fingerprint != fingerprint:
            raise ConfigError(
                f"{data.title}: the data here have the fingerprint {data.fingerprint}, those of the row {fingerprint}; "
                f"name the folder of the same recordings, --data {name}=DIR"
            )
    return prepared


def encoder_for(asked: Asked, store: Store, fresh: Store, folders: Mapping[str, Path], console: Console) -> None:
    """Put the cell's encoder into the fresh store: a copy of the stored one, or pretrained again."""
    task = asked.cell.pretraining
    assert task is not None
    folder = fresh.pretrained / task.key
    if not asked.pretraining:
        shutil.copytree(store.pretrained / task.key, folder, ignore=shutil.ignore_patterns(CHECKPOINT))
        return
    config, column = asked.config, asked.config.data.column(asked.cell.dataset)
    data = config.data.model_copy(update={"datasets": [column.dataset], "task": [column.task]})
    own = config.model_copy(update={"data": data})  # health is measured on this column's windows alone
    precision = str(asked.card.get("precision") or precision_of(asked.row))
    ranks, threads = ranks_in(task.content), threads_of(asked.card.get("device"))
    job = PretrainingJob(task, own, folders, folder, str(asked.device), precision, config.compile, ranks)
    if ranks > 1:
        lead(in_step_on, threads, job)
    with step(console, f"pretraining {task.variant.name} seed {task.seed}") as progress, computing_on(threads):
        end = run_to_end(job, lambda done, total, text: progress(done, total))
    refuse_failed(end, f"the pretraining of {task.variant.name}")


def in_step_on(threads: int, job: PretrainingJob) -> None:
    """What the other processes do of a pretraining of several."""
    with computing_on(threads):
        in_step(job)


def threads_of(device: Mapping[str, Any] | None) -> int:
    """Threads of a stored device; of an older one that does not tell, those of this process.

    Raises ConfigError for a number that no machine has.
    """
    threads = int((device or {}).get("threads") or torch.get_num_threads())
    if threads > MOST_THREADS:
        raise ConfigError(f"its row or card tells of {threads} threads, more than any machine has")
    return threads


@contextmanager
def computing_on(threads: int) -> Iterator[None]:
    """Within, all libraries compute on so many threads."""
    before = torch.get_num_threads()
    torch.set_num_threads(threads)
    try:
        with threadpool_limits(threads):
            yield
    finally:
        torch.set_num_threads(before)


def refuse_failed(end: End, what: str) -> None:
    """Raise ConfigError with the error of a task that failed."""
    if end.failure is not None:
        raise ConfigError(f"{what} failed when it was run again: {end.failure.line}")
