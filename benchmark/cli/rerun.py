"""The verb `reproduce` as a whole: one cell of a store, or with `--sample` a share of the cells of a capsule.

A capsule holds no weights, so the encoders of the cells drawn are pretrained again, each once, before the cells are
run. Data, code, device and ranks that are not those of a cell are refused before any work; what then fails or differs
stops nothing. What is finished in `--keep FOLDER` is not run again. The line that signs it off is
benchmark.results.reruns.
"""

from __future__ import annotations

import os
from argparse import Namespace
from collections.abc import Callable, Mapping
from datetime import UTC, datetime
from functools import partial
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any

from benchmark.cli.explain import Found
from benchmark.cli.reproduce import (
    CIRCUMSTANCES,
    Again,
    cell_again,
    compared,
    data_of,
    plan_again,
    pretrain_again,
    reproduce_cell,
)
from benchmark.config import flags
from benchmark.config.command_line import FAILED, OK, version_line
from benchmark.config.errors import ConfigError
from benchmark.data.prepare import Prepared
from benchmark.results.reruns import Rerun, drawn, save_rerun
from benchmark.results.schema import NAME, SHOWN
from benchmark.results.store import NoResults, Store
from benchmark.run.grid import task_name
from benchmark.screen import Console, Cost, GridProgress, note
from benchmark.training.checkpoint import read_card
from reports.open import digest_of, portable, unpack
from reports.runs import Run, open_run


def reproduce(arguments: Namespace, console: Console) -> int:
    """Run again one cell, or with `--sample` a share of those of a capsule; OK if all is equal, to the bit.

    Raises ConfigError, DatasetError, NoResults and CorruptRow in one line for what cannot be run again.
    """
    if arguments.sample is None:
        if arguments.by is not None:
            raise ConfigError("--by signs off a sample of a capsule: `reproduce --sample 0.1 CAPSULE --by NAME`")
        return reproduce_cell(arguments, console)
    return reproduce_sample(arguments, console)


def reproduce_sample(arguments: Namespace, console: Console) -> int:
    """Run the cells drawn again, say how they differ, and write the file that signs it off."""
    capsule = capsule_of(arguments)
    flags.device_of(arguments)  # what cannot be is refused before the capsule is read
    folders = flags.place_of(arguments)
    with TemporaryDirectory(prefix="rerun-") as temporary:
        run = opened(capsule, Path(temporary) / "capsule")
        fresh = Store(arguments.keep or Path(temporary) / "again")
        if fresh.plans.exists():
            raise ConfigError(f"--keep {fresh.root} is a store of runs; name a folder for what is made again")
        if not os.access(capsule.parent, os.W_OK):
            raise ConfigError(f"{capsule.parent} cannot be written to: copy the capsule into a folder of your own")
        digest = digest_of(capsule)
        keys = drawn(digest, arguments.by, run.rows, arguments.sample)
        arguments.pretraining = True
        planned = {key: plan_again(Found(run.rows[key], None, None), run.store, arguments) for key in keys}
        note(console, f"{len(keys)} of {len(run.rows)} cells, drawn by the capsule's digest and the name:")
        for key, again in planned.items():
            note(console, f"  {key} {again.cell.describe()}")
        failed = work_off(planned, folders, fresh, console)
        found = compared_all(planned, failed, run.store, fresh)
    rerun = Rerun(capsule=digest, by=arguments.by, share=arguments.sample, cells=keys, **found)
    for key, line in (rerun.different | rerun.failed).items():
        note(console, f"{planned[key].cell.describe()}: {line}")
    note(console, f"{rerun.sentence} (encoder, scores and predictions)")
    note(console, f"wrote {save_rerun(capsule, rerun)}")
    return OK if len(rerun.equal) == len(keys) else FAILED


def capsule_of(arguments: Namespace) -> Path:
    """The capsule that is named. Raises ConfigError for several, and for a name that cannot sign."""
    file, *more = arguments.word
    if more:
        raise ConfigError(f"`reproduce --sample` takes one capsule, not also {more[0]!r}")
    if arguments.by is None:
        raise ConfigError("--sample needs --by NAME, who signs it off")
    if not NAME.fullmatch(arguments.by):
        raise ConfigError(f"--by {arguments.by[:SHOWN]!r} is no name: up to 100 letters, digits, blanks and _ . + -")
    return Path(file).expanduser()


def opened(capsule: Path, folder: Path) -> Run:
    """The run of a capsule, unpacked to a new folder. Raises ConfigError for no capsule, or a damaged one."""
    try:
        run = open_run(unpack(capsule, folder).root, source=capsule)
    except NoResults as error:
        raise ConfigError(str(error)) from None
    if run.damaged or not run.rows:
        why = next(iter(run.damaged.values()), "it holds no finished cell").replace(f"{folder}/", "")
        raise ConfigError(f"{capsule}: {why}")
    return run


def work_off(planned: Mapping[str, Again], place: flags.Folders, fresh: Store, console: Console) -> dict[str, str]:
    """Make what the fresh store lacks of encoders, each once, and then of cells; cell -> why it failed.

    Raises ConfigError and DatasetError, before any of it, for data that are not those of the cells.
    """
    known: dict[str, Prepared] = {}
    folders = {key: data_of(again, place, console, known) for key, again in planned.items()}
    cells = {key: again for key, again in planned.items() if fresh.load_row(key) is None}
    encoders = {again.cell.pretrain_key: again for again in cells.values() if again.cell.pretraining}
    encoders = {key: again for key, again in encoders.items() if read_card(fresh.pretrained / key) is None}
    costs = {encoder_name(again): expected(again.card, "pretraining") for again in encoders.values()}
    costs |= {own.cell.describe(): expected(own.row.training, "cell") for own in cells.values()}
    failed: dict[str, str] = {}
    with GridProgress(console, costs) as progress:

        def attempt(key: str, name: str, work: Callable[[], None]) -> None:
            progress.started(name)
            try:
                work()
                progress.finished(name)
            except ConfigError as error:
                failed[key] = str(portable(str(error)))
                progress.failed(name, failed[key])

        for key, again in encoders.items():
            on_step = partial(progress.inner, encoder_name(again))
            attempt(key, encoder_name(again), partial(pretrain_again, again, fresh, folders[again.row.key], on_step))
        for key, again in cells.items():
            if again.cell.pretrain_key in failed:
                failed[key] = failed[again.cell.pretrain_key]
                progress.failed(again.cell.describe(), "its encoder is not there")
            else:
                attempt(key, again.cell.describe(), partial(cell_again, again, fresh, folders[key]))
    return {key: why for key, why in failed.items() if key in planned}


def expected(stored: Mapping[str, Any], kind: str) -> Cost:
    """What a task took then; one second where it is not told, is less or no number, since others have written it."""
    return Cost(max(1.0, stored.get("seconds") or 1.0), kind)  # in this order 1.0 stands for NaN


def encoder_name(again: Again) -> str:
    """Name of the pretraining of a cell in the progress display."""
    assert again.cell.pretraining is not None
    return task_name(again.cell.pretraining)


def compared_all(planned: Mapping[str, Again], failed: dict[str, str], store: Store, fresh: Store) -> dict[str, Any]:
    """What a `Rerun` says of the cells, and of when and where they were run."""
    equal, different, made = [], {}, []
    for key, again in planned.items():
        if key in failed:
            continue
        verdict = compared(again.row, store, fresh, pretrained=True)
        if verdict.equal:
            equal.append(key)
        else:
            different[key] = verdict.short
        row = fresh.load_row(key)
        assert row is not None, "it has not failed"
        facts = {name: row.provenance.get(name) for name in CIRCUMSTANCES}
        made += [facts] if facts not in made else []
    now, suite = f"{datetime.now(UTC):%Y-%m-%d %H:%M:%S}", version_line()
    return {"equal": equal, "different": different, "failed": failed, "made": made, "date": now, "suite": suite}
