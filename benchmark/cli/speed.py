"""The command `speed`: milliseconds and memory of the updates of a config on this machine, and the hours of its grid.

Windows are noise, in the batch sizes of the methods' recipes. Times are medians with interquartile ranges by
`torch.utils.benchmark`; memory is what an update takes at its peak beyond what is held before it.
"""

from __future__ import annotations

import sys
from argparse import Namespace
from collections.abc import Callable, Iterator
from functools import partial
from typing import NamedTuple

import torch
from torch.utils.benchmark import Timer

from benchmark.cli.arguments import config_of, folders_of, machine_of
from benchmark.cli.dry_run import GIB, cost_lines, sizes_of, work_of
from benchmark.cli.main import OK
from benchmark.config.config import Config, by_encoder
from benchmark.data.datasets.base import DatasetError
from benchmark.data.heartbeats import heartbeats
from benchmark.data.simulate import simulate
from benchmark.machine.device import Machine, device_facts, seed_torch
from benchmark.screen import Console, note, print_table, step
from benchmark.training.finetune import Classifier, loss_of
from benchmark.training.pretrain import make_optimiser, train_step
from methods.base import Batch, MethodConfig, PretrainMethod
from methods.encoders.base import Encoder, EncoderConfig
from methods.momentum import KeyQueue
from methods.parts.losses import unit_length

PATIENTS, WINDOWS_PER_TRIAL, CLASSES = 16_000, 5, 5
"""Patients of the paper's pretraining corpus, whose number sets the positives per query; classes of fine-tuning."""
SECONDS, QUICK_SECONDS, QUICK_BATCH = 3.0, 0.2, 16
"""Seconds that an update is repeated for; with --quick, and the largest batch then."""
Update = Callable[[], object]


class Timing(NamedTuple):
    """How long an update takes."""

    name: str
    batch: int
    milliseconds: float
    """Median."""
    spread: float
    """Interquartile range, milliseconds."""
    gib: float | None
    """Peak memory beyond what is held before the update; None on a CPU, where it is not measured."""


def speed(arguments: Namespace, console: Console) -> int:
    """Measure and print. Raises ConfigError."""
    config = config_of(arguments)
    machine = machine_of(arguments, config)
    facts = device_facts(machine.device)
    named = f"{facts['type']} {facts['name']}, {torch.get_num_threads()} threads"
    note(console, f"speed on {named}, torch {torch.__version__}, in {machine.precision}")
    seconds, most = (QUICK_SECONDS, QUICK_BATCH) if arguments.quick else (SECONDS, sys.maxsize)
    jobs, timings = list(jobs_of(config, machine, most)), []
    with step(console, "measuring") as progress:
        for number, (name, batch, make) in enumerate(jobs, start=1):
            timings.append(measure(name, batch, make(), machine.device, seconds))
            progress(number, len(jobs))
    print_timings(console, timings)
    note(console, f"preparation: {1 / seconds_of_recording():.0f} recordings of 10 s at 500 Hz per core-second")
    folders = folders_of(arguments)
    try:
        sizes, prepared = sizes_of(config, folders)
    except DatasetError as problem:
        note(console, f"hours of the grid are not known: {problem}")
        return OK
    work = work_of(config, folders, arguments.results, machine, prepared, None)
    for line in cost_lines(config, arguments.results, machine, sizes, work):
        note(console, line)
    return OK


def jobs_of(config: Config, machine: Machine, most: int) -> Iterator[tuple[str, int, Callable[[], Update]]]:
    """Yield name, batch size (`most` at most) and maker of the updates of methods and fine-tuning, on each encoder."""
    samples = config.data.cut().samples
    for label, row in by_encoder(config).items():
        on = f" on {label}" if label else ""
        for name in config.methods:
            batch = min(row.method_config(name).recipe.batch_size, most)
            if (kind := row.method_class(name)).trains:
                yield f"{kind.name}{on}", batch, partial(pretraining_of, row, name, samples, batch, machine)
        batch = min(row.finetune.batch_size, most)
        yield f"fine-tuning{on}", batch, partial(finetuning_update, row, samples, batch, machine)


def pretraining_of(config: Config, name: str, samples: int, batch: int, machine: Machine) -> Update:
    """Return the update of a method of a config, on the machine's device."""
    knobs = config.method_config(name)
    method = new_method(config.method_class(name), knobs, config.encoder_class(), config.encoder_config())
    return pretraining_update(method.to(machine.device), knobs, samples, batch, machine.precision)


def new_method(
    kind: type[PretrainMethod], knobs: MethodConfig, encoder: type[Encoder], sizes: EncoderConfig
) -> PretrainMethod:
    """Make a method around a new encoder with fixed initial weights and, where it has a queue, a full one."""
    seed_torch("speed", "build")
    method = kind(encoder(sizes), knobs)
    queue = getattr(method, "queue", None)
    if isinstance(queue, KeyQueue):
        queue.keys.copy_(unit_length(torch.randn_like(queue.keys)))
        queue.patient.random_(1, PATIENTS)
        queue.recording.copy_(queue.patient)
    return method.train()


def random_batch(size: int, samples: int, leads: int, text_width: int | None, device: torch.device) -> Batch:
    """Draw `size` pairs of noise windows, with patients as of the paper's corpus; the same at each call."""
    seed_torch("speed", "batch")
    x1, x2 = torch.randn(2, size, samples, leads)  # (B, S, L) each
    trial = torch.arange(size) // WINDOWS_PER_TRIAL  # (B,)
    patient = torch.randint(1, PATIENTS, (size,))[trial]  # (B,)
    text = None if text_width is None else torch.randn(size, text_width)  # (B, E)
    batch = Batch(x1, x2, patient, trial, trial, text)
    return Batch(*(None if part is None else part.to(device) for part in batch))  # type: ignore[arg-type]


def pretraining_update(method: PretrainMethod, knobs: MethodConfig, samples: int, batch: int, precision: str) -> Update:
    """Return a function that does one trainer update of a method per call."""
    device = next(method.parameters()).device
    optimiser = make_optimiser(method, knobs.recipe)
    leads, width = method.exported().config.leads, getattr(knobs, "text_width", None)
    pairs = random_batch(batch, samples, leads, width, device)
    return lambda: train_step(method, optimiser, pairs, knobs.recipe.lr, precision)


def finetuning_update(config: Config, samples: int, batch: int, machine: Machine) -> Update:
    """Return a function that does one fine-tuning update of encoder and classifier per call."""
    settings, encoder = config.finetune, config.encoder_class()(config.encoder_config())
    model = Classifier(encoder, CLASSES, settings.head_hidden, settings.dropout).to(machine.device).train()
    optimiser = torch.optim.AdamW(model.parameters(), lr=settings.lr, weight_decay=settings.weight_decay)
    signal = torch.randn(batch, samples, encoder.config.leads, device=machine.device)  # (B, S, L)
    target = torch.eye(CLASSES, device=machine.device)[torch.arange(batch) % CLASSES]  # (B, C)

    def update() -> None:
        loss = loss_of(model, signal, target, False, machine.precision)
        optimiser.zero_grad(set_to_none=True)
        loss.backward()  # type: ignore[no-untyped-call]
        optimiser.step()

    return update


def measure(name: str, batch: int, job: Update, device: torch.device, seconds: float) -> Timing:
    """Time a job over and over for some seconds, after one uncounted call, and take its peak memory on a GPU."""
    job()
    gib = None
    if device.type == "cuda":
        torch.cuda.synchronize(device)
        before = torch.cuda.memory_allocated(device)
        torch.cuda.reset_peak_memory_stats(device)
        job()
        gib = (torch.cuda.max_memory_allocated(device) - before) / GIB
    timer = Timer("job()", globals={"job": job}, num_threads=torch.get_num_threads())
    measured = timer.blocked_autorange(min_run_time=seconds)
    return Timing(name, batch, 1000 * measured.median, 1000 * measured.iqr, gib)


def print_timings(console: Console, timings: list[Timing]) -> None:
    """Print a row per update; pairs of windows for methods, windows for fine-tuning."""
    rows = [
        [name, str(batch), f"{ms:.1f}", f"{iqr:.1f}", f"{1000 * batch / ms:.0f}", "–" if gib is None else f"{gib:.2f}"]
        for name, batch, ms, iqr, gib in timings
    ]
    print_table(console, ["update", "batch", "ms", "IQR", "per second", "GiB"], rows)


def seconds_of_recording() -> float:
    """Time the preparation of heartbeats of a simulated recording, seconds of one core."""
    signals = [simulate(name, seed=0, seconds=10.0, fs=500.0) for name in ("NORM", "LBBB", "MI-ANT", "LVH")]
    names = {"signals": signals, "heartbeats": heartbeats}
    timer = Timer("for signal in signals: heartbeats(signal, 500.0)", globals=names)
    return timer.blocked_autorange(min_run_time=QUICK_SECONDS).median / len(signals)
