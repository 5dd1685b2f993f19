"""The tables and numbers of docs/evidence/SCALING.md: calculated, but for what check.json holds."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any

from benchmark.config.sections import EngineSection
from benchmark.data.batches import BLOCK_BYTES
from benchmark.data.heartbeats import WINDOW
from benchmark.run.estimate import disk_bytes
from benchmark.run.local import Task
from docs.evidence.scaling.cost import A100, H100, LAUNCH_SECONDS, SHARE, Update, update_of
from docs.evidence.scaling.grids import (
    BEATS,
    CELL_SECONDS,
    TEN_MILLION,
    TENTH,
    WHOLE,
    compared,
    counted_finetuning,
    counted_update,
    flop_of,
    grid_of,
    paper,
    seconds_of,
    sizes_of,
    tasks_of,
    updates_of,
)
from docs.evidence.scaling.makespan import as_local, as_slurm

TEXT = Path(__file__).with_name("text.txt")
GIGA, PETA, HOUR = 1e9, 1e15, 3600
LEADS, REPORT = 12, 768
TRIAL, PAIR = BEATS * WINDOW * LEADS * 2, 2 * WINDOW * LEADS * 2
"""Bytes in float16."""
ORDER_BYTES = 3 * 8
"""Per pair: its place in the epoch's order, pseudo-trial, patient."""
IDS_BYTES = 9 * 8
"""Per pseudo-trial: recording, patient, start in the file, and six numbers of kinship."""
RECORDINGS_A_SECOND = 531
"""Prepared by a core (docs/evidence/SPEED.md)."""
DEVICES = (1, 2, 4, 8, 16)
QUEUES = (1024, 16_384, 262_144, 1_048_576)
GRIDS: dict[str, dict[str, Any]] = {
    "Table 1 of the paper": {},
    "with Table 2, four ablations": {"ablate": ["all"]},
    "with five queue sizes": {"sweeps": {"pmq": {"queue_size": [1024, 2048, 4096, 8192, 16_384]}}},
    "with linear probes": {"evaluate": ["finetune", "linear"]},
    "Table 1, `strict`": {"protocol": "strict"},
    "Table 1, `strict`, ten seeds": {"protocol": "strict", "seeds": list(range(41, 51))},
}
"""Name -> what differs from the config `paper`."""


def page(found: Mapping[str, Any]) -> str:
    """The page; `found`: what was measured."""
    return TEXT.read_text(encoding="utf-8").format(**costs(), **corpora(), **makespans(), **measured(found))


def table(heads: Sequence[str], rows: Iterable[Sequence[object]]) -> str:
    """A table whose first column is text."""
    lines = [f"| {' | '.join(heads)} |", f"| --- |{' ---: |' * (len(heads) - 1)}"]
    return "\n".join([*lines, *(f"| {' | '.join(map(str, row))} |" for row in rows)])


def share_text(share: float, form: str = ".0%") -> str:
    """'+4.0 %'."""
    return f"{share:{form}}".replace("%", " %").replace("-", "−")


def costs() -> dict[str, object]:
    """Fields of the first two sections."""
    config = paper()
    weights = sum(p.numel() for p in config.encoder_class()(config.encoder_config()).parameters())
    sizes = sizes_of(config, TENTH)
    cell_bytes = disk_bytes(config, sizes, 0, 1, 0) - disk_bytes(config, sizes, 0, 0, 0)
    cells = {(own.dataset, own.ratio): own for own in grid_of(config).cells if own.variant.name == "pmq"}
    largest, smallest = cells["ptb-xl", 0.3], cells["cpsc2018", 0.01]
    heads = ("update", "pairs", "GFLOP", "GB moved", "GB kept", "ms A100", "ms H100", "PFLOP a pretraining")
    queues = ("M", "GFLOP an update", "GB moved", "ms H100", "MB of keys")
    grids = ("grid", "pretrainings", "cells", "PFLOP pretraining", "PFLOP cells", "hours on one H100")
    return {
        "share": share_text(SHARE),
        "launch": f"{1e6 * LAUNCH_SECONDS:.0f}",
        "parameters": f"{weights:,}",
        "tenth": f"{TENTH:,}",
        "updates": table(heads, update_rows()),
        "largest_cell": f"{flop_of(largest, config, TENTH) / PETA:.1f}",
        "largest_seconds": f"{seconds_of(largest, config, TENTH, H100):.0f}",
        "smallest_cell": f"{flop_of(smallest, config, TENTH) / PETA:.2f}",
        "encoder_mb": f"{4 * weights / 1e6:.1f}",
        "cell_mb": f"{cell_bytes / 1e6:.1f}",
        "state_mb": f"{5 * 4 * weights / 1e6:.0f}",
        "grids": table(grids, map(grid_row, GRIDS, GRIDS.values())),
        "queues": table(queues, map(queue_row, QUEUES)),
    }


def update_rows() -> Iterator[tuple[object, ...]]:
    """A row per method, and one of fine-tuning."""
    config = paper()
    tasks = {own.variant.name: own for own in grid_of(config).pretrainings}
    for own in compared(config):
        yield own.title, *update_row(counted_update(own.name)), f"{flop_of(tasks[own.name], config, TENTH) / PETA:,.0f}"
    yield "fine-tuning", *update_row(counted_finetuning()), ""


def update_row(own: Update) -> tuple[object, ...]:
    """Cells of an update's row."""
    sizes = f"{own.flop / GIGA:,.0f}", f"{own.moved / GIGA:.1f}", f"{own.kept / GIGA:.1f}"
    return own.batch, *sizes, *(f"{1000 * own.seconds(gpu):.1f}" for gpu in (A100, H100))


def grid_row(name: str, further: Mapping[str, Any]) -> tuple[object, ...]:
    """A grid with its FLOP, and its hours on one H100."""
    config = paper(further)
    grid = grid_of(config)
    trained = [own for own in grid.pretrainings if own.method.trains]
    flop = [sum(flop_of(task, config, TENTH) for task in tasks) / PETA for tasks in (trained, grid.cells)]
    hours = sum(task.seconds for task in tasks_of(config, TENTH, H100)) / HOUR
    return name, len(trained), len(grid.cells), *(f"{own:,.0f}" for own in flop), f"{hours:,.1f}"


def queue_row(size: int) -> tuple[object, ...]:
    """PMQ's update with a queue of so many keys."""
    config = paper()
    (pmq,) = (own for own in compared(config) if own.name == "pmq")
    own = update_of(config, pmq, queue_size=size)
    keys = 4 * size * config.encoder_config().output / 1e6
    counted = f"{own.flop / GIGA:,.0f}", f"{own.moved / GIGA:.1f}", f"{1000 * own.seconds(H100):.1f}"
    return f"{size:,}", *counted, f"{keys:,.0f}"


def corpora() -> dict[str, object]:
    """Fields of the section on larger corpora."""
    heads = (
        "ECGs", "corpus, GB", "order and ids, GB", "ETP's reports, GB", "PMQ", "on 8 ranks", "COMET", "on 8 ranks",
        "all seven, one each on 8",
    )  # fmt: skip
    alone, shared = (counted_update("pmq", ranks).seconds(H100) for ranks in (1, 8))
    rate = counted_update("pmq").batch / alone
    return {
        "corpora": table(heads, map(corpus_row, (TENTH, WHOLE, TEN_MILLION))),
        "trial_kb": f"{TRIAL / 1000:.0f}",
        "pair_kb": f"{PAIR / 1000:.1f}",
        "pmq_1": f"{1000 * alone:.1f}",
        "pmq_8": f"{1000 * shared:.1f}",
        "pmq_gain": f"{alone / shared:.1f}",
        "comet_gain": f"{counted_update('comet').seconds(H100) / counted_update('comet', 8).seconds(H100):.1f}",
        "block_mib": f"{BLOCK_BYTES / 2**20:.0f}",
        "reads": f"{round(rate, -2):,.0f}",
        "read_mb": f"{rate * PAIR / 1e6:,.0f}",
        "prepare": f"{TEN_MILLION / RECORDINGS_A_SECOND / HOUR:.1f}",
    }


def corpus_row(ecgs: int) -> tuple[object, ...]:
    """A corpus: its bytes, and the hours of pretrainings on it."""
    config = paper()
    tasks = {own.variant.name: own for own in grid_of(config).pretrainings}
    ids = (ecgs * BEATS // 2 * ORDER_BYTES + ecgs * IDS_BYTES) / GIGA
    hours = [
        f"{updates_of(tasks[name], config, ecgs) * counted_update(name, ranks).seconds(H100) / HOUR:,.1f}"
        for name in ("pmq", "comet")
        for ranks in (1, 8)
    ]
    whole = [task for task in tasks_of(config, ecgs, H100) if task.is_pretraining]
    size = f"{ecgs * TRIAL / GIGA:,.0f}", f"{ids:.2g}", f"{4 * REPORT * ecgs / GIGA:.2g}"
    return f"{ecgs:,}", *size, *hours, f"{as_local(whole, 8).seconds / HOUR:,.1f}"


def makespans() -> dict[str, object]:
    """Fields of the section on N devices."""
    tasks = tasks_of(paper(), TENTH, H100)
    longest_first = sorted(tasks, key=lambda task: -task.seconds if task.is_pretraining else 0.0)
    heads = ("H100s", "`local`, hours", "busy", "`slurm`, hours", "all work / N, hours")
    return {
        "cell_seconds": f"{CELL_SECONDS:.0f}",
        "makespans": table(heads, (makespan_row(tasks, count) for count in DEVICES)),
        "chain": f"{as_local(tasks, 1).chain_seconds / HOUR:.2f}",
        "longest_first": f"{as_local(longest_first, 4).seconds / HOUR:.2f}",
    }


def makespan_row(tasks: Sequence[Task[None]], count: int) -> tuple[object, ...]:
    """The makespans on so many devices."""
    local, slurm = as_local(tasks, count), as_slurm(tasks, count, EngineSection(name="slurm", gpus=1))
    even = sum(task.seconds for task in tasks) / count
    hours = [f"{seconds / HOUR:.2f}" for seconds in (local.seconds, slurm.seconds, even)]
    return count, hours[0], share_text(local.busy), *hours[1:]


def measured(found: Mapping[str, Any]) -> dict[str, object]:
    """Fields of the section on what was predicted and measured."""
    naps, grid = found["naps"], found["grid"]
    heads = ("devices", "start of a job", "predicted", "measured", "error")
    napped = ((own["devices"], f"{own['job_seconds']:.1f}", *beside(own)) for own in naps["lines"])
    further = ("CPUs", "tasks one by one", *heads[1:], "share of a core", "by the clock", "`--dry-run`")
    return {
        "naps": table(heads, napped),
        "cores": grid["cores"],
        "load": " to ".join(f"{load:.0f}" for load in sorted(grid["load"])),
        "grid": table(further, map(grid_line, grid["lines"])),
    }


def grid_line(own: Mapping[str, float]) -> tuple[object, ...]:
    """A round of the small grid."""
    before = own["devices"], f"{own['one_by_one']:.0f}", f"{own['job_seconds']:.1f}"
    return *before, *beside(own), share_text(own["share"]), f"{own['clock']:.0f}", f"{own['guessed']:.0f}"


def beside(own: Mapping[str, float]) -> tuple[str, str, str]:
    """Predicted, measured, error."""
    error = share_text(own["predicted"] / own["measured"] - 1, "+.1%")
    return f"{own['predicted']:.1f}", f"{own['measured']:.1f}", error
