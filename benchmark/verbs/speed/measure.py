"""Time the suite's training steps and preparation against their plain forms: the values of the verb `speed`.

Plain form and ours alternate in one run, with equal dropout, in both precisions; a ratio is the median over rounds,
with minimum and maximum. Windows are noise, recordings simulated.
"""

from __future__ import annotations

import time
from collections.abc import Callable, Iterator, Mapping, Sequence
from concurrent.futures.process import BrokenProcessPool
from contextlib import contextmanager
from dataclasses import dataclass, replace
from functools import partial
from statistics import median

import numpy as np
import torch
from numpy.typing import NDArray
from torch.utils.flop_counter import FlopCounterMode

from benchmark.config.config import Config
from benchmark.config.encoder import labels_of, sized
from benchmark.data.prepared.beats import heartbeats
from benchmark.data.simulate import simulate
from benchmark.machine.device import device_facts
from benchmark.run.machine import Machine
from benchmark.verbs.speed.engine import engine_speed
from benchmark.verbs.speed.plain.network import PLAIN_ENCODERS
from benchmark.verbs.speed.plain.preparation import is_there, plain_heartbeats
from benchmark.verbs.speed.record import Growth, PreparationSpeed, Speed, StepSpeed
from benchmark.verbs.speed.steps import PLAIN, Setting, finetuning_job, training_job
from benchmark.verbs.speed.streaming import streaming_speed
from benchmark.verbs.speed.timing import Ratio, gemm_flops, in_turns, peak_growth, ratio
from methods import get_method
from methods.base import MethodConfig
from methods.encoders import DEFAULT, ENCODERS, get_encoder, identity
from methods.pmq import PMQConfig

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
    name, size, samples = config.encoder.get("name", DEFAULT), config.encoder_config(), config.data.cut().samples
    return Setting("", MethodConfig(), name, size, samples, effort.batch, "float32", str(device))


def backbones_of(config: Config, base: Setting) -> dict[str, Setting]:
    """Label -> setting of fine-tuning: the config's encoders, and the suite's others that take its windows."""
    sections = [config.encoder, *config.encoders]
    sized_as = {label: sized(section) for label, section in zip(labels_of(sections), sections, strict=True)}
    named = {kind for kind, _ in sized_as.values()}
    sized_as |= {name: (kind, kind.Config()) for name, kind in ENCODERS.items() if kind not in named}  # type: ignore[call-arg]
    names = {
        kind: section.get("name", DEFAULT) for (kind, _), section in zip(sized_as.values(), sections, strict=False)
    }
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
