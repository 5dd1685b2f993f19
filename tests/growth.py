"""`make growth`: seconds and MB of each stage as recordings and cells grow, and the exponent of its growth.

    python -m tests.growth --recordings 1000 4000 16000 64000 --cells 100 1000 10000

Recordings are the files of a few simulated ones, laid out by hard links in the form of MIMIC-IV-ECG; rows have made-up
scores and predictions. Each size runs in a process of its own, on one thread. Seconds are of the processor; MB are by
how much a stage raises the most that its process has held. An exponent of 1 is linear growth.
"""

from __future__ import annotations

import argparse
import os
import resource
import tempfile
import time
from collections.abc import Callable, Iterator, Sequence
from concurrent.futures import ProcessPoolExecutor
from dataclasses import dataclass, field, replace
from functools import partial
from math import log
from multiprocessing import get_context
from pathlib import Path
from typing import Any, TypeVar
from unittest.mock import patch

import numpy as np
import pandas as pd

from benchmark.config.load import load_config
from benchmark.data import prepare as preparation
from benchmark.data.column import Column
from benchmark.data.datasets.mimic_iv_ecg import MIMICIVECG
from benchmark.data.segments import Segmentation
from benchmark.data.simulate import SimulatedDataset
from benchmark.data.splits import TaskSpec, labelled_subset
from benchmark.results.store import PlannedCell, Store
from benchmark.run.grid import Cell
from benchmark.run.tasks import missing
from reports import load
from reports.build import build_report
from tests.benchmark.run.bench import grid_of
from tests.on_disk import write_dataset
from tests.reports.conftest import Scatter, plan, planned, row_of, simulated_predictions

PATIENTS, CUT, WHOLE = 8, 4000, 800_000
"""Patients whose recordings are linked; recordings up to which all are cut; recordings of MIMIC-IV-ECG."""
TABLES = "record_list.csv", "machine_measurements.csv"
T = TypeVar("T")
STRICT = TaskSpec(6, "single", "strict", validation_labels="share")


@dataclass
class Stages:
    """The stages of one size."""

    measured: dict[str, tuple[float, float]] = field(default_factory=dict)
    """Stage -> processor seconds and MB."""

    def time(self, name: str, work: Callable[[], T]) -> T:
        """Do the work of a stage and measure it."""
        before, began = most_memory(), time.process_time()
        outcome = work()
        self.measured[name] = time.process_time() - began, most_memory() - before
        return outcome


def most_memory() -> float:
    """Return the MB that this process has held at most."""
    return resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1024


def lay_out(folder: Path, files: Path, count: int) -> Path:
    """Lay out a folder of MIMIC-IV-ECG with so many recordings, five a patient, by links to the files of a few."""
    drawn = [pd.read_csv(files / table, dtype=str, keep_default_na=False) for table in TABLES]
    paths = drawn[0]["path"].tolist()
    rows = []
    for number in range(count):
        study, patient, path = str(40_000_000 + number), str(10_000_000 + number // 5), paths[number % len(paths)]
        record = folder / f"files/p{1000 + number // 1000}/p{patient}/s{study}/{study}"
        record.parent.mkdir(parents=True)
        header = (files / f"{path}.hea").read_text()
        record.with_suffix(".hea").write_text(header.replace(Path(path).name, study))
        os.link(files / f"{path}.dat", record.with_suffix(".dat"))
        rows.append((study, patient, str(record.relative_to(folder))))
    table = pd.DataFrame(rows, columns=["study_id", "subject_id", "path"])
    for name, columns in zip(TABLES, drawn, strict=True):
        reports = columns.filter(like="report_").iloc[np.arange(count) % len(columns)].reset_index(drop=True)
        pd.concat([table, reports], axis=1).to_csv(folder / name, index=False)
    return folder


def once_per_signal(function: Callable[..., Any]) -> Callable[..., Any]:
    """Return a function that does its work once for each array that it is given."""
    known: dict[int, Any] = {}

    def remembered(*arguments: Any, **settings: Any) -> Any:
        signal = next(id(argument) for argument in arguments if isinstance(argument, np.ndarray))
        if signal not in known:
            outcome = function(*arguments, **settings)
            known[signal] = list(outcome) if isinstance(outcome, Iterator) else outcome
        return known[signal]

    return remembered


class ReadOnce(MIMICIVECG):
    """The dataset, whose linked files are read once."""

    def __init__(self, root: Path) -> None:
        super().__init__(root)
        self.known: dict[int, Any] = {}

    def read(self, entry: Any) -> Any:
        """Read a recording, or return what its file's other name has given."""
        file = (self.root / entry.path).with_suffix(".dat").stat().st_ino
        if file not in self.known:
            self.known[file] = super().read(entry)
        return self.known[file]


def of_recordings(files: Path, folder: Path, count: int) -> dict[str, tuple[float, float]]:
    """Measure what grows with recordings."""
    stages, root, cache = Stages(), lay_out(folder / str(count), files, count), folder / f"cache-{count}"
    stages.time("listing", MIMICIVECG(root).listing)
    prepare = partial(preparation.prepare, workers=1, segmentation=load_config("demo").data.cut())
    with patch.object(Segmentation, "cut", once_per_signal(Segmentation.cut)):
        names = ("signal_digest", "outline_of", "signal_doubts")
        once = {name: once_per_signal(getattr(preparation, name)) for name in names}
        with patch.multiple(preparation, **once):
            prepared = stages.time("preparation but reading and cutting", lambda: prepare(ReadOnce(root), cache))
    stages.time("looking whether files changed", lambda: prepare(MIMICIVECG(root), cache))
    stages.time("opening prepared data", lambda: preparation.load_prepared(prepared.folder))
    if count <= CUT:
        stages.time("preparation", lambda: prepare(MIMICIVECG(root), folder / f"cut-{count}"))
    cohort = SimulatedDataset("chapman", count, recordings_per_patient=1)
    labelled = preparation.unprepared(cohort, cohort.listing().entries)
    column = Column(labelled, STRICT)
    train = stages.time("strict split", lambda: column.split.train)
    trial, target = np.arange(len(train)), column.target[train]
    patient = trial // 2
    stages.time("all labels, strict", lambda: labelled_subset(trial, patient, target, 1.0, STRICT, seed=1))
    return stages.measured


def of_cells(folder: Path, count: int) -> dict[str, tuple[float, float]]:
    """Measure what grows with cells: six a seed, of two rows on three datasets."""
    stages, store, template = Stages(), Store(folder / f"store-{count}"), plan()
    rows = {"methods": ["random", "pmq"], "baselines": [], "evaluate": ["linear"], "ratios": [0.1], "subsets": 1}
    config = load_config("demo", rows | {"seeds": list(range(41, 41 + max(2, round(count / 6))))})
    grid = stages.time("planning", lambda: grid_of(config))
    stages.time("looking what is missing", lambda: missing(grid, store))
    draw = np.random.default_rng(1)
    outputs = simulated_predictions(draw, methods=1, seeds=1, patients=100, scatter=Scatter(), windows=6)[0, 0]

    def save(cell: Cell) -> PlannedCell:
        planned_cell = PlannedCell(cell.key, cell.variant.name, "linear", cell.dataset, cell.ratio, cell.seed)
        names = {name: getattr(planned_cell, name) for name in ("key", "variant", "dataset", "ratio", "seed")}
        row = replace(row_of(planned()[0]), evaluation="linear", pretrain_key="", **names)
        moved = np.clip(outputs.probability + 0.05 * draw.random(outputs.probability.shape, np.float32), 0, 1)
        store.save_row(row, replace(outputs, probability=moved))
        return planned_cell

    cells = stages.time("writing rows", lambda: [save(cell) for cell in grid.cells])
    stages.time("looking what is missing of finished", lambda: missing(grid, store))
    datasets = {}
    for name in config.data.datasets:
        datasets[name] = template.datasets["ptb-xl"] | {"title": name, "classes": list("ABCD")}
    variants = {name: name for name in rows["methods"]}
    store.save_plan(replace(template, cells=cells, datasets=datasets, variants=variants))
    results = stages.time("loading rows", lambda: load(store.root))
    with patch("reports.figures.draw_figures", lambda *arguments: []):
        stages.time("report without figures", lambda: build_report(results, folder / f"out-{count}"))
    return stages.measured


def print_table(sizes: Sequence[int], measured: Sequence[dict[str, tuple[float, float]]], whole: int | None) -> None:
    """Print a line per stage: seconds at each size, the exponent between the last two, MB, and seconds at `whole`."""
    heads = ["seconds at", *(f"{size:,}" for size in sizes), "exponent", "MB at the largest"]
    heads += [f"at {whole:,}"] if whole else []
    print("| " + " | ".join(heads) + " |\n| --- |" + " ---: |" * (len(heads) - 1))
    for stage in dict.fromkeys(name for one in measured for name in one):
        seconds = [one[stage][0] if stage in one else None for one in measured]
        points = [(size, value) for size, value in zip(sizes, seconds, strict=True) if value]
        exponent = float("nan")
        if len(points) > 1:
            (before, least), (size, most) = points[-2:]
            exponent = log(most / least) / log(size / before)
        megabytes = [one[stage][1] for one in measured if stage in one][-1]
        line = [stage, *("" if value is None else f"{value:.3g}" for value in seconds)]
        line += [f"{exponent:.2f}", f"{megabytes:.0f}"]
        if whole:
            line.append(f"{points[-1][1] * (whole / points[-1][0]) ** max(1.0, exponent):.3g}")
        print("| " + " | ".join(line) + " |")


def main() -> None:
    """Measure all sizes and print both tables."""
    parser = argparse.ArgumentParser(description="Measure how the stages of a run grow.")
    parser.add_argument("--recordings", nargs="*", type=int, default=[1000, 4000, 16_000, 64_000])
    parser.add_argument("--cells", nargs="*", type=int, default=[100, 1000, 10_000])
    parser.add_argument("--folder", type=Path, help="where files are laid out; by default a temporary folder")
    arguments = parser.parse_args()
    with tempfile.TemporaryDirectory(dir=arguments.folder) as name:
        folder = Path(name)
        (folder / "files").mkdir()
        write_dataset(SimulatedDataset("mimic-iv-ecg", PATIENTS), folder / "files")
        fresh = partial(ProcessPoolExecutor, 1, get_context("spawn"), max_tasks_per_child=1)
        with fresh() as processes:
            if arguments.recordings:
                of_each = processes.map(partial(of_recordings, folder / "files", folder), arguments.recordings)
                print_table(arguments.recordings, list(of_each), WHOLE)
            if arguments.cells:
                print_table(arguments.cells, list(processes.map(partial(of_cells, folder), arguments.cells)), None)


if __name__ == "__main__":
    main()
