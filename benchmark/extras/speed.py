"""The verb `speed`: what this machine takes for training steps and preparation, and for plain forms of the same.

Plain form (benchmark.extras.plain_steps) and ours take turns in one run, with equal dropout, in both precisions; a
ratio is the median over rounds, with minimum and maximum, since other load slows the forms of a round alike. Windows
are noise, recordings simulated.
"""

from __future__ import annotations

import itertools
import time
from argparse import Namespace
from collections.abc import Callable, Iterator, Mapping, Sequence
from concurrent.futures import ProcessPoolExecutor
from concurrent.futures.process import BrokenProcessPool
from dataclasses import dataclass, fields, replace
from functools import partial
from multiprocessing import get_context
from statistics import median
from typing import Any, TypeVar

import numpy as np
import torch
from numpy.typing import NDArray
from torch import Tensor
from torch.utils.flop_counter import FlopCounterMode

from benchmark.cli.arguments import config_of
from benchmark.cli.main import OK
from benchmark.cli.run import machine_of
from benchmark.config.config import Config, labels_of, sized
from benchmark.config.schema import Finetune
from benchmark.data.heartbeats import heartbeats
from benchmark.data.simulate import simulate
from benchmark.extras.plain_steps import (
    PLAIN_ENCODERS,
    PlainBYOL,
    PlainCLOCS,
    PlainCOMET,
    PlainMoCo,
    PlainPCLR,
    PlainReleased,
    is_there,
    plain_heartbeats,
)
from benchmark.machine.device import Machine, device_facts, seed_torch
from benchmark.machine.process import peak_memory_gib
from benchmark.run.estimate import synchronise
from benchmark.run.tasks import limited_threads
from benchmark.screen import Console, TableColumn, note, print_table, step
from benchmark.training.finetune import Classifier, loss_of
from benchmark.training.pretrain import make_optimiser, train_step
from methods import get_method
from methods.base import Batch, MethodConfig, PretrainMethod
from methods.encoders import ENCODERS, get_encoder, identity
from methods.encoders.base import Encoder, EncoderConfig
from methods.etp import ETP
from methods.parts.losses import unit_length
from methods.parts.momentum import KeyQueue
from methods.pmq import PMQConfig
from methods.pmq_released import PMQReleasedConfig

Measured = TypeVar("Measured")
GEMM_SIZE = {"cpu": 2048, "cuda": 8192}
"""Rows and columns of the square matrices of `gemm_flops`, by device type."""
GEMM_ROUNDS = 5
DTYPES = {"float32": torch.float32, "bf16": torch.bfloat16}


@dataclass(frozen=True)
class Ratio:
    """Ratio of the times of two jobs over rounds."""

    median: float
    lowest: float
    highest: float


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


def ratio(slow: Sequence[float], fast: Sequence[float]) -> Ratio:
    """Ratio slow / fast of two jobs of `in_turns`, paired by round."""
    each = [a / b for a, b in zip(slow, fast, strict=True)]
    return Ratio(median(each), min(each), max(each))


def in_turns(
    jobs: Mapping[str, Callable[[], object]],
    rounds: int,
    device: torch.device,
    clock: Callable[[], float] = time.perf_counter,
) -> dict[str, list[float]]:
    """Seconds of each job in each round; every round runs all jobs once, after one uncounted round.

    Other load slows the jobs of a round alike, so their ratio is more reliable than either time.
    """
    seconds: dict[str, list[float]] = {name: [] for name in jobs}
    for number in range(rounds + 1):
        for name, job in jobs.items():
            synchronise(device)
            started = clock()
            job()
            synchronise(device)
            if number > 0:
                seconds[name].append(clock() - started)
    return seconds


def gemm_flops(device: torch.device, precision: str) -> float:
    """Floating-point operations per second of one large matrix product, measured now."""
    size = GEMM_SIZE[device.type]
    a = torch.randn(size, size, device=device).to(DTYPES[precision])
    seconds = in_turns({"gemm": lambda: a @ a}, GEMM_ROUNDS, device)["gemm"]
    return float(2 * size**3 / median(seconds))


def peak_growth(begin: Callable[..., Callable[[], object]], arguments: tuple[Any, ...], device: torch.device) -> float:
    """Growth of peak memory in GiB while `begin(*arguments)()` runs in a new process, without that of `begin` itself.

    Raises BrokenProcessPool if the process is killed, e.g. out of memory.
    """
    with ProcessPoolExecutor(1, mp_context=get_context("spawn")) as pool:
        return pool.submit(_growth, begin, arguments, device, torch.get_num_threads()).result()


def _growth(
    begin: Callable[..., Callable[[], object]], arguments: tuple[Any, ...], device: torch.device, threads: int
) -> float:
    torch.set_num_threads(threads)
    job = begin(*arguments)
    before = peak_memory_gib(device)
    job()
    return peak_memory_gib(device) - before


INSTALL_NEUROKIT2 = "pip install neurokit2==0.2.13"
"""For the preparation in plain form."""
PLAIN: dict[str, type[PretrainMethod]] = {
    "moco": PlainMoCo,
    "byol": PlainBYOL,
    "clocs": PlainCLOCS,
    "pclr": PlainPCLR,
    "comet": PlainCOMET,
    "etp": ETP,
    "pmq": PlainReleased,
    "pmq-released": PlainReleased,
}
"""Plain form of each method; ETP's differs only in the encoder, PMQ's is the authors' released step."""
PATIENTS = 16_000
"""Patients of the paper's pretraining corpus; their number sets the positives per query."""
WINDOWS_PER_TRIAL = 5
CLASSES = 5


@dataclass(frozen=True)
class Setting:
    """Everything that determines a step's computation; picklable."""

    method: str
    """A method's name or file; '' for fine-tuning."""
    config: MethodConfig
    encoder: str
    """An encoder's name or file."""
    size: EncoderConfig
    samples: int
    batch: int
    precision: str
    device: str
    plain: bool = False


def training_job(setting: Setting) -> Callable[[], Tensor]:
    """A function that does one trainer update of a method per call, with a full queue."""
    device = torch.device(setting.device)
    method = build(setting).to(device)
    method.train()
    optimiser = make_optimiser(method, setting.config.recipe)
    width = getattr(setting.config, "text_width", None)
    batch = random_batch(setting.batch, setting.samples, setting.size.leads, width, device)

    def update() -> Tensor:
        return train_step(method, optimiser, batch, setting.config.recipe.lr, setting.precision)

    return update


def build(setting: Setting) -> PretrainMethod:
    """The method, or its plain form with the same knobs, around a new encoder; fixed initial weights."""
    kind, knobs = get_method(setting.method), setting.config
    if setting.plain:
        kind = PLAIN[kind.name]
        knobs = released_knobs(knobs) if kind is PlainReleased else knobs
    seed_torch("speed", "build")
    method = kind(new_encoder(setting), knobs)
    queue = getattr(method, "queue", None)
    if isinstance(queue, KeyQueue):
        queue.keys.copy_(unit_length(torch.randn_like(queue.keys)))
        queue.patient.random_(1, PATIENTS)
        queue.recording.copy_(queue.patient)
    return method


def new_encoder(setting: Setting) -> Encoder:
    """The encoder, or its plain form, without dropout."""
    kind = get_encoder(setting.encoder)
    return (PLAIN_ENCODERS[kind] if setting.plain else kind)(replace(setting.size, dropout=0.0))


def released_knobs(config: MethodConfig) -> PMQReleasedConfig:
    """The knobs of PMQ, including dropout, that its released code also has."""
    shared = {field.name for field in fields(PMQReleasedConfig)} & {field.name for field in fields(config)}
    return PMQReleasedConfig(**{name: getattr(config, name) for name in shared})


def random_batch(size: int, samples: int, leads: int, text_width: int | None, device: torch.device) -> Batch:
    """`size` pairs of noise windows, with patients drawn as from the paper's corpus."""
    seed_torch("speed", "batch")
    x1, x2 = torch.randn(2, size, samples, leads)  # (B, S, L) each
    trial = torch.arange(size) // WINDOWS_PER_TRIAL  # (B,)
    patient = torch.randint(1, PATIENTS, (size,))[trial]  # (B,)
    text = None if text_width is None else torch.randn(size, text_width)  # (B, E)
    batch = Batch(x1, x2, patient, trial, trial, text)
    return Batch(*(None if part is None else part.to(device) for part in batch))  # type: ignore[arg-type]


def finetuning_job(setting: Setting) -> Callable[[], Tensor]:
    """A function that does one fine-tuning update of encoder and classifier per call."""
    device, settings = torch.device(setting.device), Finetune()
    seed_torch("speed", "build")
    model = Classifier(new_encoder(setting), CLASSES, settings.head_hidden, settings.dropout).to(device)
    optimiser = torch.optim.AdamW(model.parameters(), lr=settings.lr, weight_decay=settings.weight_decay)
    signal = torch.randn(setting.batch, setting.samples, setting.size.leads, device=device)  # (B, S, L)
    target = torch.eye(CLASSES, device=device)[torch.arange(setting.batch, device=device) % CLASSES]  # (B, C)

    def update() -> Tensor:
        loss = loss_of(model, signal, target, False, setting.precision)
        optimiser.zero_grad(set_to_none=True)
        loss.backward()  # type: ignore[no-untyped-call]
        optimiser.step()
        return loss.detach()

    return update


FINETUNING = "fine-tuning"
GROWTH_ROUNDS = 3
MOST_PAIRS = {"comet": 64}
"""Maximum batch of methods whose plain form exceeds 24 GiB at 256 pairs."""
BACKBONE_WINDOWS = 32
"""Maximum batch of the encoders beside each other."""
RECORDING_SECONDS, RECORDING_FS = 10.0, 500.0
RECORDING_DIAGNOSES = ("NORM", "LBBB", "MI-ANT", "LVH")


@dataclass(frozen=True)
class Effort:
    """Sizes of a measurement."""

    name: str
    rounds: int
    batch: int
    queue: int
    """Maximum queue size in the comparison of methods."""
    recordings: int
    growth_batch: int
    """Pairs per batch in the measurement over queue sizes."""
    queues: tuple[int, ...]
    batches: tuple[int, ...]
    memory: bool
    """Measure memory, in one process per value (seconds each to start)."""


QUICK = Effort("quick", 3, 16, 1024, 4, 8, (1024, 4096, 16384), (4, 8, 16), False)
FULL = Effort("full", 7, 256, 16384, 16, 32, (1024, 4096, 16384, 65536, 262144, 1048576), (32, 64, 128, 256), True)


def measure_speed(
    config: Config, machine: Machine, effort: Effort, on_part: Callable[[int, int], None] = lambda done, total: None
) -> Speed:
    """Measure the methods, encoder and windows of a config in float32 and in the machine's precision.

    `on_part(done, total)` is called after each method and each of the five other measurements.
    """
    precisions = list(dict.fromkeys(["float32", machine.precision]))
    base = base_setting(config, machine.device, effort)
    settings = list(method_settings(config, base, effort))
    parts = itertools.count(1)

    def measured(value: Measured) -> Measured:
        on_part(next(parts), len(settings) + 5)
        return value

    steps = [measured(step_speed(own, precisions, effort)) for own in settings]
    with limited_threads(1 if machine.device.type == "cpu" else torch.get_num_threads()):
        finetuning = measured(step_speed(base, precisions, effort))
        backbones = measured(
            [step_speed(own, precisions, effort, name=label) for label, own in backbones_of(config, base).items()]
        )
    pmq = replace(base, method="pmq", precision=machine.precision)
    return Speed(
        effort=effort.name,
        rounds=effort.rounds,
        precision=machine.precision,
        device=device_facts(machine.device),
        encoder=identity(get_encoder(base.encoder), base.size),
        samples=base.samples,
        steps=tuple(steps),
        finetuning=finetuning,
        queue_growth=measured(tuple(growth(replace(pmq, batch=effort.growth_batch), size) for size in effort.queues)),
        batch_growth=measured(tuple(growth(replace(pmq, batch=size), effort.queue) for size in effort.batches)),
        preparation=measured(preparation_speed(effort)),
        gemm={precision: gemm_flops(machine.device, precision) for precision in precisions},
        backbones=tuple(backbones),
    )


def base_setting(config: Config, device: torch.device, effort: Effort) -> Setting:
    """Setting of fine-tuning with the encoder and windows of a config."""
    name, size, samples = config.encoder["name"], config.encoder_config(), config.data.cut().samples
    return Setting("", MethodConfig(), name, size, samples, effort.batch, "float32", str(device))


def backbones_of(config: Config, base: Setting) -> dict[str, Setting]:
    """Label -> setting of fine-tuning: the config's encoders, and the suite's others that take its windows."""
    sections = [config.encoder, *config.encoders]
    encoders = {
        label: (section["name"], *sized(section)) for label, section in zip(labels_of(sections), sections, strict=True)
    }
    kinds = {kind for _, kind, _ in encoders.values()}
    encoders |= {name: (name, kind, kind.Config()) for name, kind in ENCODERS.items() if kind not in kinds}  # type: ignore[call-arg]
    batch = min(base.batch, BACKBONE_WINDOWS)
    return {
        label: replace(base, encoder=name, size=size, batch=batch)
        for label, (name, _, size) in encoders.items()
        if size.takes(base.samples)
    }


def method_settings(config: Config, base: Setting, effort: Effort) -> Iterator[Setting]:
    """Settings of the compared methods that train, with the config's knobs, limited to the effort's sizes."""
    for name in config.methods:
        kind, knobs = config.method_class(name), config.method_config(name)
        if not kind.trains:
            continue
        batch = min(effort.batch, MOST_PAIRS.get(kind.name, effort.batch))
        queue = getattr(knobs, "queue_size", 0)
        if queue:
            # The plain queue needs a multiple of the batch size.
            knobs = replace(knobs, queue_size=max(min(queue, effort.queue) // batch, 1) * batch)  # type: ignore[call-arg]
        yield replace(base, method=name, config=knobs, batch=batch)


def job_of(setting: Setting) -> Callable[[], object]:
    """A function that does one update per call."""
    return training_job(setting) if setting.method else finetuning_job(setting)


def step_speed(setting: Setting, precisions: Sequence[str], effort: Effort, *, name: str = "") -> StepSpeed:
    """Time an update of a method or of fine-tuning, and its plain form if it has one, in turns.

    name: that of an encoder, which is timed without its plain form, and without its memory.
    """
    alone, name = bool(name), name or (get_method(setting.method).name if setting.method else FINETUNING)
    sides = {"ours": setting}
    if not alone and get_encoder(setting.encoder) in PLAIN_ENCODERS and (name in PLAIN or not setting.method):
        sides = {"plain": replace(setting, plain=True), **sides}
    jobs = {
        f"{side} {precision}": job_of(replace(own, precision=precision))
        for side, own in sides.items()
        for precision in precisions
    }
    seconds = in_turns(jobs, effort.rounds, torch.device(setting.device))
    return StepSpeed(
        name=name,
        batch=setting.batch,
        seconds={form: median(times) for form, times in seconds.items()},
        ratios=ratios_of(seconds, precisions),
        flop={side: executed(jobs[f"{side} float32"]) for side in sides},
        gib={side: step_memory(own) for side, own in sides.items() if effort.memory and not alone},
    )


def ratios_of(seconds: Mapping[str, Sequence[float]], precisions: Sequence[str]) -> dict[str, Ratio]:
    """Plain / ours in each precision, and 'best': plain float32 / ours in the last; incomplete pairs are left out."""
    pairs = {precision: (f"plain {precision}", f"ours {precision}") for precision in precisions}
    pairs["best"] = "plain float32", f"ours {precisions[-1]}"
    return {
        what: ratio(seconds[slow], seconds[fast])
        for what, (slow, fast) in pairs.items()
        if slow in seconds and fast in seconds
    }


def executed(job: Callable[[], object]) -> float:
    """Floating-point operations of one call, including those on padding."""
    with FlopCounterMode(display=False) as counter:
        job()
    return float(counter.get_total_flops())


def step_memory(setting: Setting) -> float | None:
    """Memory growth of the first update, GiB; None if its process was killed."""
    try:
        return peak_growth(job_of, (setting,), torch.device(setting.device))
    except BrokenProcessPool:
        return None


def growth(setting: Setting, queue: int) -> Growth:
    """Median seconds of a PMQ update with a queue of `queue` keys."""
    job = training_job(replace(setting, config=PMQConfig(queue_size=queue)))
    seconds = in_turns({"update": job}, GROWTH_ROUNDS, torch.device(setting.device))["update"]
    return Growth(setting.batch, queue, median(seconds))


def preparation_speed(effort: Effort) -> PreparationSpeed:
    """Heartbeat preparation of simulated recordings, ours and (with neurokit2) plain, in turns, in core-seconds."""
    signals = [
        simulate(diagnosis, seed=number, seconds=RECORDING_SECONDS, fs=RECORDING_FS)
        for number in range(effort.recordings // len(RECORDING_DIAGNOSES))
        for diagnosis in RECORDING_DIAGNOSES
    ]
    forms: dict[str, Callable[[NDArray[np.float32], float], object]] = {"ours": heartbeats}
    if is_there():
        forms = {"plain": plain_heartbeats, **forms}

    def each_of(form: Callable[[NDArray[np.float32], float], object]) -> None:
        for signal in signals:
            form(signal, RECORDING_FS)

    jobs = {name: partial(each_of, form) for name, form in forms.items()}
    seconds = in_turns(jobs, effort.rounds, torch.device("cpu"), clock=time.process_time)
    each = {name: median(times) / len(signals) for name, times in seconds.items()}
    return PreparationSpeed(
        each.get("plain"), each["ours"], ratio(seconds["plain"], seconds["ours"]) if "plain" in seconds else None
    )


GIGA = 1e9
NONE = "-"


def print_speed(console: Console, speed: Speed) -> None:
    """Print all measurements."""
    device, gemm = speed.device, ", ".join(f"{name} {flops / GIGA:.0f}" for name, flops in speed.gemm.items())
    facts = [f"{device['type']} {device['name']}", device.get("instructions"), f"{device['threads']} threads"]
    note(console, f"speed ({speed.effort}) on {', '.join(filter(None, facts))}")
    note(console, f"  a large matrix product: {gemm} GFLOP/s")
    rounds = f"medians of {speed.rounds} rounds in which all forms take turns"
    note(console, f"  {rounds}; ratios are plain / ours [lowest-highest]")
    print_steps(console, speed)
    if "plain float32" not in speed.finetuning.seconds:
        note(console, f"  the encoder {speed.encoder['name']} has no plain form to be measured against")
    if speed.backbones:
        note(console, f"  fine-tuning by encoder, windows of {speed.samples} samples; ms: an update")
        heads = ("encoder", "batch", f"{speed.precision}/s", f"ms {speed.precision}", "GFLOP")
        rows = [
            [*timing_cells(step, {}, speed.precision)[:4], f"{step.flop['ours'] / GIGA:.1f}"]
            for step in speed.backbones
        ]
        print_table(console, columns_of(heads), [rows])
    for what, by_size in (
        ("queue", {growth.queue: growth for growth in speed.queue_growth}),
        ("batch", {growth.batch: growth for growth in speed.batch_growth}),
    ):
        sizes = ", ".join(f"{size} {growth.seconds:.3f} s" for size, growth in by_size.items())
        note(console, f"  PMQ update by {what}: {sizes}")
    note(console, preparation_line(speed.preparation))


def columns_of(heads: Sequence[str]) -> list[TableColumn]:
    """Columns with these headings: a label, then numbers."""
    return [("", head, "right" if number else "label") for number, head in enumerate(heads)]


def print_steps(console: Console, speed: Speed) -> None:
    """Print a row per method (per pair of windows) and one for fine-tuning (per window)."""
    best = speed.precision
    timed = ("update", "batch", f"{best}/s", f"ms {best}", "plain ms", "float32", "bf16", "best")
    rows = [
        [
            *timing_cells(step, step.ratios, best),
            f"{step.flop['ours'] / step.seconds[f'ours {best}'] / GIGA:.0f}",
            *(NONE if (gib := step.gib.get(side)) is None else f"{gib:.2f}" for side in ("ours", "plain")),
        ]
        for step in (*speed.steps, speed.finetuning)
    ]
    print_table(console, columns_of((*timed, "GFLOP/s", "GiB", "plain GiB")), [rows])
    note(console, f"  plain ms in float32; ratios with both sides in float32, in bf16, and plain float32 / ours {best}")
    note(console, "  GFLOP/s as executed by convolutions and matrix products; GiB an update takes in float32")


def timing_cells(step: StepSpeed, ratios: Mapping[str, Ratio], precision: str) -> list[str]:
    """Name, times of our form and its ratios to the plain form."""
    seconds, plain = step.seconds[f"ours {precision}"], step.seconds.get("plain float32")
    return [
        step.name,
        str(step.batch),
        f"{step.batch / seconds:.0f}",
        f"{1000 * seconds:.1f}",
        NONE if plain is None else f"{1000 * plain:.1f}",
        *(ratio_text(ratios.get(what)) for what in ("float32", "bf16", "best")),
    ]


def ratio_text(ratio: Ratio | None) -> str:
    """'2.71 [2.60-2.83]'."""
    return NONE if ratio is None else f"{ratio.median:.2f} [{ratio.lowest:.2f}-{ratio.highest:.2f}]"


def preparation_line(preparation: PreparationSpeed) -> str:
    """Recordings per core-second, ours and plain, or how to install neurokit2."""
    ours = f"  preparation: {1 / preparation.ours:.0f} recordings per core-second"
    if preparation.plain is None:
        return f"{ours}; its plain form needs neurokit2: {INSTALL_NEUROKIT2}"
    return f"{ours}, plain {1 / preparation.plain:.0f}, ratio {ratio_text(preparation.ratio)}"


def speed(arguments: Namespace, console: Console) -> int:
    """Measure and print."""
    config = config_of(arguments)
    machine = machine_of(arguments, config)
    with step(console, "measuring") as progress:
        found = measure_speed(config, machine, QUICK if arguments.quick else FULL, progress)
    print_speed(console, found)
    return OK
