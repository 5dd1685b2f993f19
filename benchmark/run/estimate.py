"""What a grid will cost: encoder passes, seconds and disk, from dataset sizes and one measurement of this machine.

The measurement is the file that the verb `speed` writes (`Speed`), else an encoder pass that is timed on the spot.
"""

from __future__ import annotations

import json
import time
from collections.abc import Callable, Iterable, Iterator, Mapping
from contextlib import contextmanager
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any

import torch
from pydantic import TypeAdapter
from torch.utils.flop_counter import FlopCounterMode

from benchmark.config.config import Config
from benchmark.config.refuse import with_settings
from benchmark.data.batches import pairs_of
from benchmark.data.prepare import Prepared
from benchmark.data.segments import TYPICAL_SECONDS, Segmentation
from benchmark.data.splits import DatasetTask
from benchmark.machine.device import git_state, versions
from benchmark.results.files import write_atomic
from benchmark.results.names import FINETUNE, SUPERVISED, is_frozen
from benchmark.run.grid import Cell, Pretraining, spec_of, subsets_of
from benchmark.training.evaluations import CLASSICAL, EVALUATIONS, Amounts
from benchmark.training.pretrain import autocast, pairs_bought
from methods.encoders.base import Encoder
from methods.encoders.pretrained import PretrainedEncoder

TRAINING_SHARE, HELD_OUT_SHARE = 0.8, 0.1
"""Of the windows that a dataset has without further test patients: for training, and for validation and test each."""
CLASSICAL_PASSES = 2.0
"""Cost of learning without an encoder in the same unit, without measuring the features."""
ROW_BYTES = 20_000
SAMPLE_BYTES = 12 * 2
MEASURED_BATCH = 64
MEASURED_STEPS = 8
EMBEDDED_BATCHES = 3
PASSES_PER_STEP = 3.0
"""One forward pass, and a backward pass that counts as two."""


@dataclass(frozen=True)
class Size:
    """Size of a dataset."""

    recordings: int
    windows: int
    exact: bool
    """True: counted after preparation; False: estimated from the number of recordings."""
    has_folds: bool = True
    """Whether recordings have a fold, so that the dataset is not cross-validated; not known before preparation."""


def estimated_size(recordings: int, segmentation: Segmentation) -> Size:
    """Estimated size of an unprepared dataset of recordings of 10 s."""
    return Size(recordings, recordings * segmentation.windows_of_typical(), exact=False)


def exact_size(prepared: Prepared) -> Size:
    """Size of a prepared dataset."""
    has_folds = any(entry.fold is not None for entry in prepared.entries)
    return Size(len(prepared.entries), prepared.window_count, exact=True, has_folds=has_folds)


def passes(task: Pretraining | Cell, config: Config, sizes: Mapping[str, Size]) -> float:
    """Cost of a task in encoder passes over one window."""
    if isinstance(task, Pretraining):
        if not task.method.trains:
            return 1.0
        return task.method.encoder_passes * pairs_trained(task, config, sizes)
    config = with_settings(config, task.variant.settings)
    column = config.data.column(task.dataset)
    size = sizes[column.dataset]
    share = TRAINING_SHARE * (1 - further_tests(config, column.dataset))
    if task.evaluation in CLASSICAL:
        amounts = amounts_of(task, config, size, share * size.windows * task.ratio)
        return amounts.labelled * (1 + CLASSICAL_PASSES) + amounts.held_out
    evaluation = EVALUATIONS[task.evaluation]
    labelled = share * size.windows * task.ratio
    if config.data.segmentation == "recordings" and task.evaluation in (FINETUNE, SUPERVISED):
        labelled = share * size.recordings * task.ratio  # a crop of each an epoch
    amounts = amounts_of(task, config, size, labelled)
    return parts_of(config, size) * evaluation.passes(config, amounts)


def parts_of(config: Config, size: Size) -> int:
    """Parts of a dataset's cross-validation, each learned on by itself; 1 for none."""
    return 1 if size.has_folds else config.data.folds or 1


def further_tests(config: Config, dataset: str) -> float:
    """Share of a simulated dataset's patients who are tested alone (`data.simulation.test_patients`)."""
    simulation = config.data.simulation
    if simulation is None or dataset not in simulation.test_patients:
        return 0.0
    further = simulation.test_patients[dataset]
    return further / (further + simulation.sizes()[dataset])


def amounts_of(cell: Cell, config: Config, size: Size, labelled: float) -> Amounts:
    """A cell's labelled windows, and of the held-out ones those that it reads: of validation perhaps a share."""
    column = config.data.column(cell.dataset)
    further = further_tests(config, column.dataset)
    held_out = HELD_OUT_SHARE * (1 - further) * size.windows
    shared = spec_of(config, cell.evaluation, column.name).validation_labels == "share"
    validation = held_out * (min(1.0, cell.ratio) if shared else 1.0)
    return Amounts(labelled, validation, held_out + further * size.windows, probes_of(cell, config))


def probes_of(cell: Cell, config: Config) -> int:
    """Cells of one evaluation that read the features of one frozen encoder on a dataset; 1 where it is trained on."""
    if not is_frozen(cell.evaluation):
        return 1
    seeds = 1 if config.protocol == "strict" else len(config.seeds)
    return seeds * sum(subsets_of(config, cell.evaluation, ratio) for ratio in config.ratios)


def classes_of(column: DatasetTask, config: Config) -> int:
    """Number of classes of a column of the table."""
    return len(column.named.classes if column.named else config.data.about(column.dataset).classes)


def pairs_trained(task: Pretraining, config: Config, sizes: Mapping[str, Size]) -> float:
    """Pairs of windows that a pretraining goes through."""
    own, size = with_settings(config, task.variant.settings).pretrain, sizes[config.data.pretrain]
    there = size.windows / 2
    if config.data.segmentation == "recordings":
        there = size.recordings * pairs_of(config.task_spec(config.pretrain).per_trial)
    return pairs_bought(own.epochs * there, own.pair_costs(task.method))


def cell_seconds(cell: Cell, config: Config, sizes: Mapping[str, Size], a_pass: float) -> float:
    """Seconds of a cell, from those of an encoder pass over one window, where it has an encoder."""
    if cell.evaluation not in CLASSICAL:
        return passes(cell, config, sizes) * a_pass
    column = config.data.column(cell.dataset)
    size = sizes[column.dataset]
    training = TRAINING_SHARE * (1 - further_tests(config, column.dataset)) * size.windows
    amounts = amounts_of(cell, config, size, training * cell.ratio)
    return parts_of(config, size) * CLASSICAL[cell.evaluation].seconds(config, amounts, classes_of(column, config))


def multiplications(encoder: Encoder, samples: int) -> float:
    """Multiplications in convolutions and matrix products of `pooled` on one window of `samples` time steps.

    The encoder is put into evaluation. Fourier transforms are not counted.
    """
    with torch.no_grad(), FlopCounterMode(display=False) as counter:
        encoder.eval().pooled(torch.zeros(1, samples, encoder.config.leads))
    return float(counter.get_total_flops()) / 2  # the counter counts a multiplication and an addition


@contextmanager
def torch_threads(number: int) -> Iterator[None]:
    """Set torch's number of threads within the context."""
    before = torch.get_num_threads()
    torch.set_num_threads(number)
    try:
        yield
    finally:
        torch.set_num_threads(before)


def synchronise(device: torch.device) -> None:
    """Wait for all queued work of the device."""
    if device.type == "cuda":
        torch.cuda.synchronize(device)


def fastest(job: Callable[[], object], rounds: int, device: torch.device) -> float:
    """Seconds of the fastest of some calls of a job."""
    seconds = []
    for _ in range(rounds):
        started = time.perf_counter()
        job()
        synchronise(device)
        seconds.append(time.perf_counter() - started)
    return min(seconds)


def seconds_per_pass(
    encoder: Encoder,
    samples: int,
    device: torch.device,
    precision: str,
    *,
    threads: int,
    batch: int = MEASURED_BATCH,
    steps: int = MEASURED_STEPS,
) -> float:
    """Seconds per encoder pass over one window, from the fastest of a few training steps on `threads` threads."""

    def train() -> None:
        with autocast(device, precision):
            pooled = encoder.pooled(x)  # (B, K)
        pooled.float().square().mean().backward()  # type: ignore[no-untyped-call]

    with torch_threads(threads):
        encoder = encoder.to(device)
        x = torch.randn(batch, samples, encoder.config.leads, device=device)  # (B, S, L)
        return fastest(train, steps, device) / batch / PASSES_PER_STEP


def seconds_per_window(encoder: PretrainedEncoder, device: torch.device) -> float:
    """Seconds in which weights from elsewhere embed a window, from the fastest of a few batches."""
    encoder = encoder.to(device).eval()
    shape = MEASURED_BATCH, encoder.signals.samples, encoder.config.leads
    x = torch.randn(shape, generator=torch.Generator()).to(device)  # (B, S, L)
    with torch.no_grad():
        return fastest(lambda: encoder.pooled(x), EMBEDDED_BATCHES, device) / MEASURED_BATCH


def disk_bytes(config: Config, sizes: Mapping[str, Size], pretrainings: int, cells: int, parameters: int) -> int:
    """Bytes of prepared windows and pseudo-trials, encoders, one checkpoint, rows and predictions."""
    cut = config.data.cut()
    if cut.kind == "recordings":
        prepared = sum(size.recordings * TYPICAL_SECONDS * cut.rate * SAMPLE_BYTES for size in sizes.values())
    else:
        prepared = sum((1 + cut.joined_scale) * size.windows * cut.samples * SAMPLE_BYTES for size in sizes.values())
    tested = []
    for name in config.data.datasets:
        further = further_tests(config, name)
        tested.append((further + HELD_OUT_SHARE * (1 - further)) * sizes[name].windows)
    return int(prepared + 4 * parameters * (pretrainings + 4) + cells * (ROW_BYTES + 40 * max(tested)))


@dataclass(frozen=True)
class Ratio:
    """Ratio of the times of two jobs over rounds."""

    median: float
    lowest: float
    highest: float


SPEED_FILE = "speed.json"
"""Name of the file under --out."""


@dataclass(frozen=True)
class StepSpeed:
    """Timing of a training update, ours and plain."""

    name: str
    batch: int
    seconds: dict[str, float]
    """'ours' or 'plain', a space, and the precision -> median time of an update."""
    ratios: dict[str, Ratio]
    """'float32', 'bf16' (both sides), 'best' (plain in float32, ours in its fastest precision)."""
    flop: dict[str, float]
    """'ours', 'plain' -> floating-point operations per update in convolutions and matrix products."""
    gib: dict[str, float | None]
    """'ours', 'plain' -> memory growth of an update in float32, GiB; empty if not measured, None if the process was
    killed."""

    def per_window(self, precision: str) -> float:
        """Seconds per pair of windows, per window in fine-tuning."""
        return self.seconds[f"ours {precision}"] / self.batch


@dataclass(frozen=True)
class Growth:
    """Seconds of a PMQ update at a batch and queue size."""

    batch: int
    queue: int
    seconds: float


@dataclass(frozen=True)
class PreparationSpeed:
    """Heartbeat preparation of one 10 s recording at 500 Hz, in core-seconds."""

    plain: float | None
    """None, like `ratio`, if neurokit2 is not installed."""
    ours: float
    ratio: Ratio | None


@dataclass(frozen=True)
class Speed:
    """All measurements of one `speed` run."""

    effort: str
    rounds: int
    precision: str
    """The precision a run uses on this machine."""
    device: dict[str, Any]
    encoder: dict[str, Any]
    """Name and sizes, as by `methods.encoders.identity`."""
    samples: int
    """Per window."""
    gemm: dict[str, float]
    """Precision -> floating-point operations per second of a large matrix product."""
    steps: tuple[StepSpeed, ...]
    finetuning: StepSpeed
    queue_growth: tuple[Growth, ...]
    batch_growth: tuple[Growth, ...]
    preparation: PreparationSpeed
    backbones: tuple[StepSpeed, ...] = ()
    """Fine-tuning of each encoder of the suite that takes the windows, and of those of the config."""

    def step(self, method: str) -> StepSpeed | None:
        """A method's update; None if not measured."""
        return next((step for step in self.steps if step.name == method), None)

    def misfit(self, encoder: Mapping[str, Any], samples: int, device: Mapping[str, Any], precision: str) -> str:
        """Names of the properties that differ from the measured ones; '' for none."""
        asked = {"device": dict(device), "precision": precision, "encoder": dict(encoder), "windows": samples}
        found = {"device": self.device, "precision": self.precision, "encoder": self.encoder, "windows": self.samples}
        return " and ".join(what for what in asked if asked[what] != found[what])


def save_speed(speed: Speed, path: Path) -> None:
    """Write all values and the software versions as JSON."""
    body = asdict(speed) | {"versions": versions(), "git": git_state()}
    write_atomic(path, json.dumps(body, indent=1).encode())


def load_speed(path: Path) -> Speed | None:
    """The values of `save_speed`; None if the file is missing or damaged."""
    try:
        return TypeAdapter(Speed).validate_json(path.read_bytes())
    except (OSError, ValueError):
        return None


def grid_seconds(
    config: Config, tasks: Iterable[Pretraining | Cell], sizes: Mapping[str, Size], speed: Speed, jobs: int
) -> tuple[float, float]:
    """Seconds of the pretrainings, and of the cells at `jobs` concurrent ones.

    An ablation or sweep is assumed as fast as its method; an unmeasured method is estimated from its encoder passes,
    and a row on a further encoder from the ratio of the encoders' fine-tuning.
    """
    a_pass = speed.finetuning.per_window(speed.precision) / PASSES_PER_STEP
    pretraining = cells = 0.0
    for task in tasks:
        if isinstance(task, Cell):
            cells += cell_seconds(task, config, sizes, a_pass * relative(speed, task.variant.encoder)) / jobs
            continue
        step = speed.step(task.method.name)
        if step is None or not task.method.trains:
            spent = passes(task, config, sizes) * a_pass
        else:
            pairs = pairs_trained(task, config, sizes)
            spent = pairs * step.per_window(speed.precision)
        pretraining += spent * relative(speed, task.variant.encoder)
    return pretraining, cells


def relative(speed: Speed, encoder: str) -> float:
    """Seconds of a fine-tuning update with an encoder per second of one with the first; 1 if it was not measured."""
    seconds = {step.name: step.per_window(speed.precision) for step in speed.backbones}
    return seconds[encoder] / next(iter(seconds.values())) if encoder in seconds else 1.0
