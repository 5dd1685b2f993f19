"""The verb `speed`: this machine is timed against plain implementations of the same steps.

Tasks per hour of a small grid with 1, 2 and 4 workers: whole runs, each with a store of its own.

A run is timed by its files, from the plan, which is written before the first task begins, to the last row.

Time the suite's training steps and preparation against their plain forms: the values of the verb `speed`.

Plain form and ours alternate in one run, with equal dropout, in both precisions; a ratio is the median over rounds,
with minimum and maximum. Windows are noise, recordings simulated.

Training updates that `speed` times: of a method, its plain form and fine-tuning, on random windows.

Time updates on a corpus that is read from disk against the same updates on one in memory.

Two processes take turns, round after round. The one that streams begins with a cold file and, on a CPU under Linux, may
take no more memory than half of the corpus.
"""

from __future__ import annotations

import os
import sys
import tempfile
import time
from argparse import Namespace
from collections.abc import Callable, Iterator, Mapping, Sequence
from concurrent.futures.process import BrokenProcessPool
from contextlib import contextmanager
from dataclasses import dataclass, fields, replace
from functools import partial
from io import StringIO
from multiprocessing import get_context
from multiprocessing.connection import Connection
from pathlib import Path
from statistics import median

import numpy as np
import torch
from numpy.typing import NDArray
from torch import Tensor
from torch.utils.flop_counter import FlopCounterMode

from benchmark.config.command_line import OK
from benchmark.config.config import Config, load_config
from benchmark.config.flags import Place, config_of, place_of
from benchmark.config.sections import Finetune
from benchmark.config.words import labels_of, sized
from benchmark.data.batches import MappedSignal, PairSource, batches_ahead, bytes_of_batch
from benchmark.data.segments import heartbeats
from benchmark.data.simulate import simulate
from benchmark.data.trials import Trials
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
from benchmark.machine.device import device_facts, seed_torch, stream
from benchmark.machine.processes import PROCESS_STATUS, keep_freed_memory
from benchmark.machine.ranks import Machine
from benchmark.run.estimate import (
    EngineSpeed,
    Growth,
    PreparationSpeed,
    Ratio,
    Speed,
    StepSpeed,
    StreamingSpeed,
    gemm_flops,
    in_turns,
    peak_growth,
    ratio,
    synchronise,
)
from benchmark.screen import Console, note, open_console
from benchmark.training.finetune import Classifier, loss_of
from benchmark.training.health import count_positives
from benchmark.training.pretrain import compile_encoders, make_optimiser, train_step
from methods import get_method
from methods.base import Batch, MethodConfig, PretrainMethod
from methods.encoders import ENCODERS, get_encoder, identity
from methods.encoders.base import Encoder, EncoderConfig
from methods.etp import ETP
from methods.parts.losses import unit_length
from methods.parts.momentum import KeyQueue
from methods.pmq import PMQConfig
from methods.pmq_released import PMQReleasedConfig

WORKERS = (1, 2, 4)
SPEED_GRID = {
    "methods": ["random", "moco", "pmq"],
    "data.datasets": ["chapman"],
    "data.simulation.patients": {"mimic-iv-ecg": 100, "chapman": 200},
    "gates": [],
    "ratios": [0.3],
    "seeds": [41, 42, 43, 44],
    "evaluate": ["finetune"],
}
"""Of the config `demo`: six encoders, four of them untrained, and twelve fine-tunings, seconds each."""


def engine_speed(machine: Machine, workers: Sequence[int] = WORKERS) -> tuple[EngineSpeed, ...]:
    """Run the grid with each number of workers on the machine's device."""
    config = load_config("demo", SPEED_GRID)
    with tempfile.TemporaryDirectory(prefix="speed-") as folder:
        return tuple(timed(config, replace(machine, jobs=count, compiled=False), Path(folder)) for count in workers)


def timed(config: Config, machine: Machine, folder: Path) -> EngineSpeed:
    """A run of the grid in a folder, whose data are shared by the runs. Raises RuntimeError if a task fails."""
    from benchmark.cli.run import GridRequest, run_grid  # here, because the verb `run` reads speed's record

    own = folder / str(machine.jobs)
    place = Place(None, {}, folder / "cache", simulated=folder / "simulated")
    quiet = open_console(StringIO())
    if run_grid(GridRequest(config, place, machine, own / "runs", own / "out"), quiet) != OK:
        raise RuntimeError("a task of the small grid has failed")
    begun = min(path.stat().st_mtime for path in (own / "runs" / "plans").glob("*.json"))
    cells = [path.stat().st_mtime for path in (own / "runs" / "cells").glob("*.json")]
    encoders = sum(path.is_dir() for path in (own / "runs" / "pretrained").iterdir())
    return EngineSpeed(machine.jobs, len(cells) + encoders, max(cells) - begun)


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
    compiled: bool = False
    """Compile the method's encoders with torch.compile."""


def training_job(setting: Setting) -> Callable[[], Tensor]:
    """A function that does one trainer update of a method per call, with a full queue."""
    device = torch.device(setting.device)
    method = build(setting).to(device)
    method.train()
    if setting.compiled:
        compile_encoders(method)
    optimiser = make_optimiser(method, setting.config.recipe)
    width = getattr(setting.config, "text_width", None)
    batch = random_batch(setting.batch, setting.samples, setting.size.leads, width, device)

    def update() -> Tensor:
        if not setting.plain:
            count_positives(method.positives(batch), device)
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


PER_TRIAL, LEADS = 10, 12
UPDATES = 8
"""Of a round, whose windows are a block."""
TILE = 64
"""Pseudo-trials of noise, which the file repeats."""
LIMIT_SHARE, LEAST_LIMIT = 0.5, 64 * 2**20
"""Of the corpus, and at least in bytes: what the streaming process may take beyond what its first update took."""
MEMORY, DISK = "memory", "disk"


@dataclass(frozen=True)
class Corpus:
    """A file of pseudo-trials of noise; picklable."""

    file: Path
    trials: int
    samples: int
    """S, of a window."""

    @property
    def bytes(self) -> int:
        """Of the file."""
        return self.trials * PER_TRIAL * self.samples * LEADS * 2


def streaming_speed(setting: Setting, mebibytes: int, rounds: int) -> StreamingSpeed:
    """Measure with a corpus of so many MiB, in the folder for temporary files; setting: of a method."""
    each = PER_TRIAL * setting.samples * LEADS * 2
    least = setting.batch * (UPDATES * (rounds + 1) + 2) * 2 // PER_TRIAL + 1
    with tempfile.TemporaryDirectory(prefix="speed-") as folder:
        corpus = Corpus(Path(folder) / "corpus.f16", max(mebibytes * 2**20 // each, least), setting.samples)
        write(corpus)
        limited = setting.device == "cpu" and sys.platform.startswith("linux")
        limit = max(int(LIMIT_SHARE * corpus.bytes), LEAST_LIMIT) if limited else None
        sides = {MEMORY: side(corpus, setting, False, None), DISK: side(corpus, setting, True, limit)}
        wall: dict[str, list[float]] = {name: [] for name in sides}
        cpu: dict[str, list[float]] = {name: [] for name in sides}
        with sides[MEMORY] as memory, sides[DISK] as disk:
            for number in range(rounds + 1):
                for name, run in ((MEMORY, memory), (DISK, disk)):
                    taken = run()
                    if number > 0:
                        wall[name].append(taken[0])
                        cpu[name].append(taken[1])
    return StreamingSpeed(
        gib=corpus.bytes / 2**30,
        limit_gib=None if limit is None else limit / 2**30,
        batch=setting.batch,
        seconds={name: median(times) / UPDATES for name, times in wall.items()},
        ratio=ratio(wall[MEMORY], wall[DISK]),
        cpu_ratio=ratio(cpu[MEMORY], cpu[DISK]),
    )


def write(corpus: Corpus) -> None:
    """Write the file and let the system forget it, so that it is read from the disk."""
    tile = np.random.default_rng(0).standard_normal((TILE * PER_TRIAL * corpus.samples, LEADS), np.float32)
    content = tile.astype(np.float16).tobytes()
    with open(corpus.file, "wb") as file:
        for written in range(0, corpus.bytes, len(content)):
            file.write(content[: corpus.bytes - written])
        file.flush()
        os.fsync(file.fileno())
        if hasattr(os, "posix_fadvise"):
            os.posix_fadvise(file.fileno(), 0, 0, os.POSIX_FADV_DONTNEED)


@contextmanager
def side(
    corpus: Corpus, setting: Setting, streamed: bool, limit: int | None
) -> Iterator[Callable[[], tuple[float, float]]]:
    """A process that makes updates; within, a function that does a round in it: wall and CPU seconds.

    Raises EOFError if the process ends, e.g. for want of memory.
    """
    context = get_context("spawn")
    ours, theirs = context.Pipe()
    arguments = (theirs, corpus, setting, streamed, limit, torch.get_num_threads())
    process = context.Process(target=serve, args=arguments, daemon=True)
    process.start()
    theirs.close()

    def run() -> tuple[float, float]:
        ours.send(True)
        found: tuple[float, float] = ours.recv()
        return found

    try:
        ours.recv()  # it is ready
        yield run
    finally:
        ours.close()
        process.join(1)
        process.terminate()


def serve(
    connection: Connection, corpus: Corpus, setting: Setting, streamed: bool, limit: int | None, threads: int
) -> None:
    """Do a round for each message until the other end is closed."""
    torch.set_num_threads(threads)
    keep_freed_memory()
    with updates(corpus, setting, streamed) as update:
        update()
        if limit is not None:
            limit_data(limit)
        connection.send(True)
        while True:
            try:
                connection.recv()
            except EOFError:
                return
            synchronise(torch.device(setting.device))
            wall, cpu = time.perf_counter(), time.process_time()
            for _ in range(UPDATES):
                update()
            synchronise(torch.device(setting.device))
            connection.send((time.perf_counter() - wall, time.process_time() - cpu))


def limit_data(further: int) -> None:
    """Refuse this process more memory than it has and so many bytes; file maps do not count (Linux)."""
    import resource

    lines = (line.split() for line in PROCESS_STATUS.read_text().splitlines())
    used = next(1024 * int(words[1]) for words in lines if words[0] == "VmData:")
    resource.setrlimit(resource.RLIMIT_DATA, (used + further, resource.RLIM_INFINITY))


@contextmanager
def updates(corpus: Corpus, setting: Setting, streamed: bool) -> Iterator[Callable[[], object]]:
    """Within, a function that makes the next update of an epoch, its batch included."""
    device = torch.device(setting.device)
    source, method = source_of(corpus, device, streamed), build(setting).to(device)
    method.train()
    optimiser, pairing = make_optimiser(method, setting.config.recipe), setting.config.pairing
    pairs = torch.randperm(source.pairs, generator=torch.Generator().manual_seed(0))
    pairs = pairs[: len(pairs) // setting.batch * setting.batch].view(-1, setting.batch).to(device)  # (n, B)
    block = UPDATES * bytes_of_batch(corpus.samples, LEADS, setting.batch, pairing)
    steps = iter(range(len(pairs)))
    with batches_ahead(source, pairs, pairing, lambda step: stream("speed", step), block_bytes=block) as batch_at:

        def update() -> object:
            step = next(steps)
            seed_torch("speed", step)
            batch = batch_at(step)
            count_positives(method.positives(batch), device)
            return train_step(method, optimiser, batch, setting.config.recipe.lr, setting.precision)

        yield update


def source_of(corpus: Corpus, device: torch.device, streamed: bool) -> PairSource:
    """The corpus on disk or, as a run holds it, in memory; two recordings of one pseudo-trial to a patient."""
    every = np.arange(corpus.trials)
    samples = np.memmap(corpus.file, np.float16, "r", shape=(corpus.trials * PER_TRIAL * corpus.samples, LEADS))
    trials = Trials(samples, every * PER_TRIAL * corpus.samples, corpus.samples, every, every, PER_TRIAL, ())
    mapped = MappedSignal(trials, every, device)
    signal = mapped if streamed else torch.from_numpy(trials.take(every)).view(mapped.shape).to(device)
    return PairSource(signal, torch.from_numpy(every + 1).to(device), torch.from_numpy(every // 2 + 1).to(device))


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
    corpus: int = 0
    """MiB of the corpus that is streamed; 0: it is not measured."""
    engine: bool = False
    """Run small grids with several numbers of workers."""


QUICK = Effort("quick", 3, 16, 1024, 4, 8, (1024, 4096, 16384), (4, 8, 16), False, 128)
FULL = Effort(
    "full", 7, 256, 16384, 16, 32, (1024, 4096, 16384, 65536, 262144, 1048576), (32, 64, 128, 256), True, 1024, True
)


def measure_speed(
    config: Config, machine: Machine, effort: Effort, on_part: Callable[[int, int], None] | None = None
) -> Speed:
    """Measure the methods, encoder and windows of a config in float32 and in the machine's precision.

    `on_part(done, total)` is called after each method and each of the seven other measurements.
    """
    precisions = list(dict.fromkeys(["float32", machine.precision]))
    base = base_setting(config, machine.device, effort)
    settings = list(method_settings(config, base, effort))
    tell = on_part or (lambda done, total: None)
    parts = len(settings) + 7
    steps = []
    for done, setting in enumerate(settings, start=1):
        steps.append(step_speed(setting, precisions, effort, compiled=machine.compiled))
        tell(done, parts)
    with threads(machine.cell_threads()):
        finetuning = step_speed(base, precisions, effort)
        tell(parts - 6, parts)
        backbones = [
            backbone_speed(label, own, precisions, effort) for label, own in backbones_of(config, base).items()
        ]
    tell(parts - 5, parts)
    pmq = replace(base, method="pmq", config=PMQConfig(queue_size=effort.queue), precision=machine.precision)
    queues = [growth(replace(pmq, batch=effort.growth_batch), queue=size) for size in effort.queues]
    tell(parts - 4, parts)
    batches = [growth(replace(pmq, batch=size), queue=effort.queue) for size in effort.batches]
    tell(parts - 3, parts)
    preparation = preparation_speed(effort)
    tell(parts - 2, parts)
    streamed = (
        streaming_speed(replace(pmq, batch=effort.batch), effort.corpus, effort.rounds) if effort.corpus else None
    )
    tell(parts - 1, parts)
    engine = engine_speed(machine) if effort.engine else ()
    tell(parts, parts)
    return Speed(
        effort=effort.name,
        rounds=effort.rounds,
        precision=machine.precision,
        device=device_facts(machine.device),
        encoder=identity(get_encoder(base.encoder), base.size),
        samples=base.samples,
        gemm={precision: gemm_flops(machine.device, precision) for precision in precisions},
        steps=tuple(steps),
        finetuning=finetuning,
        queue_growth=tuple(queues),
        batch_growth=tuple(batches),
        preparation=preparation,
        backbones=tuple(backbones),
        streaming=streamed,
        engine=engine,
    )


@contextmanager
def threads(number: int) -> Iterator[None]:
    """Set torch's number of threads within the context."""
    before = torch.get_num_threads()
    torch.set_num_threads(number)
    try:
        yield
    finally:
        torch.set_num_threads(before)


def base_setting(config: Config, device: torch.device, effort: Effort) -> Setting:
    """Setting of fine-tuning with the encoder and windows of a config."""
    name, size, samples = config.encoder["name"], config.encoder_config(), config.data.cut().samples
    return Setting("", MethodConfig(), name, size, samples, effort.batch, "float32", str(device))


def backbones_of(config: Config, base: Setting) -> dict[str, Setting]:
    """Label -> setting of fine-tuning: the config's encoders, and the suite's others that take its windows."""
    sections = [config.encoder, *config.encoders]
    sized_as = {label: sized(section) for label, section in zip(labels_of(sections), sections, strict=True)}
    named = {kind for kind, _ in sized_as.values()}
    sized_as |= {name: (kind, kind.Config()) for name, kind in ENCODERS.items() if kind not in named}  # type: ignore[call-arg]
    names = {kind: section["name"] for (kind, _), section in zip(sized_as.values(), sections, strict=False)}
    return {
        label: replace(base, encoder=names.get(kind, kind.name), size=size, batch=min(base.batch, BACKBONE_WINDOWS))
        for label, (kind, size) in sized_as.items()
        if not size.unfit(base.samples)
    }


def backbone_speed(label: str, setting: Setting, precisions: Sequence[str], effort: Effort) -> StepSpeed:
    """Time an update of fine-tuning of one encoder."""
    forms = {f"ours {precision}": replace(setting, precision=precision) for precision in precisions}
    jobs = {form: finetuning_job(of) for form, of in forms.items()}
    seconds = in_turns(jobs, effort.rounds, torch.device(setting.device))
    found = {form: median(times) for form, times in seconds.items()}
    return StepSpeed(label, setting.batch, found, {}, {}, {"ours": executed(jobs["ours float32"])}, {})


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


def step_speed(setting: Setting, precisions: Sequence[str], effort: Effort, *, compiled: bool = False) -> StepSpeed:
    """Time an update of a method or of fine-tuning, its plain form if it has one, and the compiled form, in turns."""
    name = get_method(setting.method).name if setting.method else FINETUNING
    sides = {"ours": setting}
    if get_encoder(setting.encoder) in PLAIN_ENCODERS and (name in PLAIN or not setting.method):
        sides = {"plain": replace(setting, plain=True), **sides}
    timed = {**sides, "compiled": replace(setting, compiled=True)} if compiled else sides
    forms = {
        f"{side} {precision}": replace(of, precision=precision)
        for side, of in timed.items()
        for precision in precisions
    }
    jobs = {form: job_of(of) for form, of in forms.items()}
    seconds = in_turns(jobs, effort.rounds, torch.device(setting.device))
    return StepSpeed(
        name=name,
        batch=setting.batch,
        seconds={form: median(times) for form, times in seconds.items()},
        ratios=dict(ratios_of(seconds, precisions, "ours")),
        compiled=dict(ratios_of(seconds, precisions, "compiled")),
        flop={side: executed(jobs[f"{side} float32"]) for side in sides},
        gib={side: step_memory(forms[f"{side} float32"]) for side in sides if effort.memory},
    )


def ratios_of(
    seconds: Mapping[str, Sequence[float]], precisions: Sequence[str], side: str
) -> Iterator[tuple[str, Ratio]]:
    """Plain / side in each precision, and 'best': plain float32 / side in the last; incomplete pairs are left out."""
    pairs = {precision: (f"plain {precision}", f"{side} {precision}") for precision in precisions}
    pairs["best"] = ("plain float32", f"{side} {precisions[-1]}")
    for what, (slow, fast) in pairs.items():
        if slow in seconds and fast in seconds:
            yield what, ratio(seconds[slow], seconds[fast])


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
    jobs = {name: partial(each_of, form, signals) for name, form in forms.items()}
    seconds = in_turns(jobs, effort.rounds, torch.device("cpu"), clock=time.process_time)
    each = {name: median(times) / len(signals) for name, times in seconds.items()}
    if "plain" not in seconds:
        return PreparationSpeed(None, each["ours"], None)
    return PreparationSpeed(each["plain"], each["ours"], ratio(seconds["plain"], seconds["ours"]))


def each_of(form: Callable[[NDArray[np.float32], float], object], signals: Sequence[NDArray[np.float32]]) -> None:
    """Prepare each recording in turn."""
    for signal in signals:
        form(signal, RECORDING_FS)


def speed(arguments: Namespace, console: Console) -> int:
    """Measure, print and write speed.json, which --dry-run reads."""
    from benchmark.cli.dry_run import sizes_of, unkeyed_grid
    from benchmark.cli.run import machine_of
    from benchmark.run.estimate import SPEED_FILE, hours_line, print_speed, save_speed
    from benchmark.screen import step  # here, because --help has no use for it and torch loads slowly

    config = config_of(arguments)
    machine = machine_of(arguments, config)
    sizes, _ = sizes_of(config, place_of(arguments), console)
    with step(console, "measuring") as progress:
        found = measure_speed(config, machine, QUICK if arguments.quick else FULL, progress)
    print_speed(console, found)
    file = arguments.out / SPEED_FILE
    save_speed(found, file)
    grid = unkeyed_grid(config, machine)
    note(console, hours_line(config, [*grid.pretrainings, *grid.cells], sizes, found, machine.jobs))
    note(console, f"wrote {file}")
    return OK
