"""The command `speed`: milliseconds and memory of the updates of a config on this machine, and the hours of its grid.

Windows are noise, in the batch sizes of the methods' recipes. Times are medians with interquartile ranges by
`torch.utils.benchmark`; memory is what an update takes at its peak beyond what is held before it.
"""

from __future__ import annotations

import sys
from argparse import Namespace
from collections.abc import Callable, Iterator

import torch
from torch.utils.benchmark import Timer

from benchmark.cli.dry_run import GIB, print_dry_run
from benchmark.cli.main import OK, config_of, folders_of, machine_of
from benchmark.config.config import Config, by_encoder
from benchmark.data.datasets.base import DatasetError
from benchmark.data.heartbeats import heartbeats
from benchmark.data.simulate import simulate
from benchmark.machine import Machine, device_facts
from benchmark.run.costs import update_of
from benchmark.screen import Console, note, print_table, step
from benchmark.training.finetune import Classifier, update

CLASSES = 5
SECONDS, QUICK_SECONDS, QUICK_BATCH = 3.0, 0.2, 16
"""Seconds that an update is repeated for; with --quick, and the largest batch then."""
HEADINGS = ("update", "batch", "ms", "IQR", "per second", "GiB")
"""`per second`: pairs of windows for methods, windows for fine-tuning."""
Update = Callable[[], object]


def speed(arguments: Namespace, console: Console) -> int:
    """Measure and print. Raises ConfigError."""
    config = config_of(arguments)
    machine = machine_of(arguments, config)
    facts = device_facts(machine.device)
    named = f"{facts['type']} {facts['name']}, {torch.get_num_threads()} threads"
    note(console, f"speed on {named}, torch {torch.__version__}, in {machine.precision}")
    seconds, most = (QUICK_SECONDS, QUICK_BATCH) if arguments.quick else (SECONDS, sys.maxsize)
    updates = list(updates_of(config, machine, most))
    rows = []
    with step(console, "measuring") as progress:
        for number, (name, batch, run) in enumerate(updates, start=1):
            rows.append(measure(name, batch, run, machine.device, seconds))
            progress(number, len(updates))
    print_table(console, HEADINGS, rows)
    names = {"signal": simulate("NORM", seed=0, seconds=10.0, fs=500.0), "heartbeats": heartbeats}
    recording = Timer("heartbeats(signal, 500.0)", globals=names).blocked_autorange(min_run_time=QUICK_SECONDS)
    note(console, f"preparation: {1 / recording.median:.0f} recordings of 10 s at 500 Hz per core-second")
    try:
        print_dry_run(console, config, folders_of(arguments), machine, arguments.results)
    except DatasetError as problem:
        note(console, f"hours of the grid are not known: {problem}")
    return OK


def updates_of(config: Config, machine: Machine, most: int) -> Iterator[tuple[str, int, Update]]:
    """Yield name, batch size (`most` at most) and function of each update: of methods and fine-tuning, per encoder."""
    for label, row in by_encoder(config).items():
        on = f" on {label}" if label else ""
        for name in config.methods:
            kind = row.method_class(name)
            if not kind.trains:
                continue
            hyperparameters = row.method_config(name)
            batch = min(hyperparameters.recipe.batch_size, most)
            method = kind(row.new_encoder(), hyperparameters).to(machine.device)
            samples = config.data.cut().samples
            yield f"{kind.name}{on}", batch, update_of(method, hyperparameters, batch, samples, machine.precision)
        batch = min(row.finetune.batch_size, most)
        yield f"fine-tuning{on}", batch, finetuning_update(row, batch, machine)


def finetuning_update(config: Config, batch: int, machine: Machine) -> Update:
    """Return a function that does one fine-tuning update of encoder and classifier per call."""
    settings, encoder = config.finetune, config.new_encoder()
    model = Classifier(encoder, CLASSES, settings).to(machine.device).train()
    optimiser = torch.optim.AdamW(model.parameters(), lr=settings.lr[0], weight_decay=settings.weight_decay)
    signal = torch.randn(batch, config.data.cut().samples, encoder.config.leads, device=machine.device)  # (B, S, L)
    target = torch.eye(CLASSES, device=machine.device)[torch.arange(batch) % CLASSES]  # (B, C)
    return lambda: update(model, optimiser, signal, target, False, machine.precision)


def measure(name: str, batch: int, run: Update, device: torch.device, seconds: float) -> list[str]:
    """Run an update over and over for some seconds, after one uncounted call, and take its peak memory on a GPU.

    Returns its row under `HEADINGS`.
    """
    run()
    gib = "–"
    if device.type == "cuda":
        torch.cuda.synchronize(device)
        before = torch.cuda.memory_allocated(device)
        torch.cuda.reset_peak_memory_stats(device)
        run()
        gib = f"{(torch.cuda.max_memory_allocated(device) - before) / GIB:.2f}"
    timer = Timer("run()", globals={"run": run}, num_threads=torch.get_num_threads())
    time = timer.blocked_autorange(min_run_time=seconds)
    return [name, str(batch), f"{1000 * time.median:.1f}", f"{1000 * time.iqr:.1f}", f"{batch / time.median:.0f}", gib]
