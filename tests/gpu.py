"""Eight minutes for a person with a GPU: `python -m tests.gpu`; `--device cpu --quick` shows how it works.

1. An update of every method on the GPU has the loss and the encoder's gradients of the CPU within LOSS and GRADIENT, in
   float32 and with random draws made on the host.
2. Milliseconds and GiB of an update of every method at the paper's size, in float32 and bf16.
3. Hours of `--config paper` here, for the numbers of recordings of the paper's datasets.

It ends with status 1 if an update differs.
"""

from __future__ import annotations

import argparse
from collections.abc import Callable
from dataclasses import fields, replace
from pathlib import Path
from typing import Any

import torch
from torch.overrides import TorchFunctionMode
from torch.utils.benchmark import Timer

from benchmark.cli.dry_run import GIB, cost_lines
from benchmark.config.load import load_config
from benchmark.machine import Machine, device_facts, pick_device, stream
from benchmark.run.costs import update_of
from benchmark.run.datasets import estimated_size
from benchmark.run.grid import make_grid
from benchmark.run.tasks import Work
from benchmark.screen import note, open_console, print_table
from methods import METHODS
from methods.base import Batch, MethodConfig, PretrainMethod
from methods.contract import refusal_of
from methods.encoders import ENCODERS
from methods.encoders.base import Encoder, EncoderConfig
from methods.encoders.dilated import Dilated, DilatedConfig
from methods.momentum import KeyQueue
from methods.parts.losses import unit_length
from tests.make import batch

LOSS, GRADIENT = 1e-4, 1e-3
"""Largest relative difference of the loss, and of the encoder's gradients by their norm."""
DRAWS = {torch.rand, torch.randn, torch.randint, torch.randperm}
CALM = {"encoder_dropout": 0.0, "latent_dropout": 0.0, "time_mask": 0.0, "frequency_mask": 0.0, "mask_spans": 0}
"""Masks and dropout, whose draws differ between devices, with the value under which they draw nothing."""
RECORDINGS = {"mimic-iv-ecg": 80_000, "ptb-xl": 21_799, "chapman": 10_646, "cpsc2018": 6_877}
"""Recordings of the paper's datasets; of MIMIC-IV-ECG about the tenth that it uses."""
SAMPLES, PATIENTS, PAIRS_OF_TRIAL = 300, 16_000, 5
"""`PATIENTS` of the paper's pretraining corpus, whose number sets the positives per query."""


HEADINGS = ("update", "batch", "ms", "IQR", "pairs per second", "GiB")


class HostDraws(TorchFunctionMode):
    """Random numbers are drawn on the CPU, wherever they are needed."""

    def __torch_function__(self, func: Any, types: Any, args: Any = (), kwargs: Any = None) -> Any:
        """Call a function of torch, a drawing one on the CPU."""
        kwargs = dict(kwargs or {})
        if func not in DRAWS:
            return func(*args, **kwargs)
        device = kwargs.pop("device", None)
        drawn = func(*args, **kwargs)
        return drawn if device is None else drawn.to(device)


def new_method(
    kind: type[PretrainMethod], hyperparameters: MethodConfig, encoder: type[Encoder], sizes: EncoderConfig
) -> PretrainMethod:
    """A method around a new encoder with fixed initial weights and, where it has a queue, a full one."""
    torch.manual_seed(stream("speed", "build"))
    method = kind(encoder(sizes), hyperparameters)
    queue = getattr(method, "queue", None)
    if isinstance(queue, KeyQueue):
        queue.keys.copy_(unit_length(torch.randn_like(queue.keys)))
        queue.patient.random_(1, PATIENTS)
        queue.recording.copy_(queue.patient)
    return method.train()


def random_batch(size: int, text_width: int | None, device: torch.device) -> Batch:
    """`size` pairs of noise windows, with patients as of the paper's corpus; the same at each call."""
    torch.manual_seed(stream("speed", "batch"))
    trial = torch.arange(size) // PAIRS_OF_TRIAL  # (B,)
    patient = torch.randint(1, PATIENTS, (size,))[trial]  # (B,)
    pairs = batch(patient.tolist(), trial.tolist(), steps=SAMPLES, text=text_width or 0)
    return Batch(*(None if part is None else part.to(device) for part in pairs))  # type: ignore[arg-type]


def new_trainable(name: str, device: torch.device, *, small: bool, calm: bool) -> tuple[PretrainMethod, MethodConfig]:
    """Make a method on the first encoder that it can train, in its paper's settings; calm: without random masks."""
    kind = METHODS[name]
    encoder = next(encoder for encoder in ENCODERS.values() if not refusal_of(kind, encoder))
    known = {field.name for field in fields(kind.Config)}
    changes = (
        {hyperparameter: value for hyperparameter, value in CALM.items() if hyperparameter in known} if calm else {}
    ) | ({"queue_size": 64} if small and "queue_size" in known else {})
    hyperparameters = replace(kind.Config(), **changes)
    sizes: Any = encoder.Config.small() if small else encoder.Config()  # type: ignore[call-arg]
    sizes = DilatedConfig(hidden=8, depth=3, output=16) if small and encoder is Dilated else sizes
    return new_method(kind, hyperparameters, encoder, sizes).to(device), hyperparameters


def differences(name: str, device: torch.device, size: int, *, small: bool) -> tuple[float, float]:
    """Relative differences of the loss and of the encoder's gradients of an update on the device and on the CPU."""
    losses, gradients = [], []
    for where in (torch.device("cpu"), device):
        method, hyperparameters = new_trainable(name, where, small=small, calm=True)
        pairs = random_batch(size, getattr(hyperparameters, "text_width", None), where)
        torch.manual_seed(0)
        loss = torch.zeros((), device=where)
        with HostDraws():
            for term in method.loss_terms(pairs):
                term.backward()
                loss = loss + term.detach()
        losses.append(loss.cpu())
        gradients.append(torch.cat([p.grad.cpu().flatten() for p in method.encoder.parameters() if p.grad is not None]))
    difference = (losses[1] - losses[0]).abs() / losses[0].abs().clamp_min(1e-6)
    return float(difference), float((gradients[1] - gradients[0]).norm() / gradients[0].norm().clamp_min(1e-12))


def measure(name: str, batch: int, run: Callable[[], object], device: torch.device, seconds: float) -> list[str]:
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


def hours_of_paper(machine: Machine) -> list[str]:
    """Lines on the hours of the paper's grid."""
    config = load_config("paper")
    sizes = {name: estimated_size(count, config.data.cut()) for name, count in RECORDINGS.items()}
    grid = make_grid(config, {}, machine)
    work = Work(grid, grid.pretrainings, grid.distinct_cells())
    return list(cost_lines(config, Path("runs"), machine, sizes, work))


def main() -> int:
    """Run the three parts; returns the exit status."""
    parser = argparse.ArgumentParser(description="Check and time every method on a GPU.")
    parser.add_argument("--device", default="cuda")
    parser.add_argument(
        "--quick", action="store_true", help="small encoders and batches, float32 alone, without the hours"
    )
    arguments = parser.parse_args()
    device, console = pick_device(arguments.device), open_console()
    facts = device_facts(device)
    note(console, f"{facts['type']} {facts['name']}, torch {torch.__version__}")
    torch.backends.cudnn.allow_tf32 = False
    pairs, failed, names = (4 if arguments.quick else 32), 0, [name for name, kind in METHODS.items() if kind.trains]
    for name in names:
        loss, gradient = differences(name, device, pairs, small=arguments.quick)
        is_equal = loss <= LOSS and gradient <= GRADIENT
        failed += not is_equal
        note(console, f"{'equal ' if is_equal else 'DIFFER'} {name:14} loss {loss:.1e}, gradients {gradient:.1e}")
    torch.backends.cudnn.allow_tf32 = True
    for precision in ("float32",) if arguments.quick else ("float32", "bf16"):
        rows = []
        for name in names:
            method, hyperparameters = new_trainable(name, device, small=arguments.quick, calm=False)
            size = 4 if arguments.quick else hyperparameters.recipe.batch_size
            update = update_of(method, hyperparameters, size, SAMPLES, precision)
            rows.append(measure(name, size, update, device, 0.05 if arguments.quick else 3.0))
        note(console, precision)
        print_table(console, HEADINGS, rows)
    if not arguments.quick:
        for line in hours_of_paper(Machine(device, "bf16" if device.type == "cuda" else "float32")):
            note(console, line)
    note(console, f"{len(names) - failed} of {len(names)} methods have the update of the CPU")
    return 1 if failed else 0


if __name__ == "__main__":
    raise SystemExit(main())
