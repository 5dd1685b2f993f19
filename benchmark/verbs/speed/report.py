"""Output of `speed`: a table of the measurements and the estimated hours of the grid."""

from __future__ import annotations

from collections.abc import Iterable, Mapping

from benchmark.config.config import Config
from benchmark.run.estimate import PASSES_PER_STEP, Size, cell_seconds, pairs_trained, passes
from benchmark.run.grid.cells import Cell, Pretraining
from benchmark.screen.console import Console, note
from benchmark.screen.tables import print_table
from benchmark.screen.tally import duration
from benchmark.verbs.speed.record import (
    INSTALL_NEUROKIT2,
    EngineSpeed,
    Growth,
    PreparationSpeed,
    Speed,
    StepSpeed,
    StreamingSpeed,
)
from benchmark.verbs.speed.timing import Ratio
from methods.encoders import DEFAULT

GIGA = 1e9
NONE = "-"


def print_speed(console: Console, speed: Speed) -> None:
    """Print all measurements."""
    device, gemm = speed.device, ", ".join(f"{name} {flops / GIGA:.0f}" for name, flops in speed.gemm.items())
    note(console, f"speed ({speed.effort}) on {device['type']} {device['name']}, {device['threads']} threads")
    note(console, f"  a large matrix product: {gemm} GFLOP/s")
    rounds = f"medians of {speed.rounds} rounds in which all forms take turns"
    note(console, f"  {rounds}; ratios are plain / ours [lowest-highest]")
    print_steps(console, speed)
    if "plain float32" not in speed.finetuning.seconds:
        name = speed.encoder.get("name", DEFAULT)
        note(console, f"  the encoder {name} has no plain form to be measured against")
    print_backbones(console, speed)
    for line in (
        growth_line("PMQ update by queue", speed.queue_growth, [growth.queue for growth in speed.queue_growth]),
        growth_line("PMQ update by batch", speed.batch_growth, [growth.batch for growth in speed.batch_growth]),
        preparation_line(speed.preparation),
        budget_line(speed),
        *(streaming_lines(speed.streaming) if speed.streaming else ()),
        *(engine_line(speed.engine),) * bool(speed.engine),
    ):
        note(console, line)


def print_steps(console: Console, speed: Speed) -> None:
    """Print a row per method (per pair of windows) and one for fine-tuning (per window), then the compiled updates."""
    best = speed.precision
    heads = ("batch", f"{best}/s", f"ms {best}", "plain ms", "float32", "bf16", "best", "GFLOP/s", "GiB", "plain GiB")
    columns = [("", "update", "label"), *(("", head, "right") for head in heads)]
    print_table(console, columns, [[[step.name, *step_cells(step, best)] for step in (*speed.steps, speed.finetuning)]])
    note(console, f"  plain ms in float32; ratios with both sides in float32, in bf16, and plain float32 / ours {best}")
    note(console, "  GFLOP/s as executed by convolutions and matrix products; GiB an update takes in float32")
    compiled = [step for step in speed.steps if step.compiled]
    if compiled:
        note(console, "  the same against ours through torch.compile (--compile)")
        rows = [[step.name, *timing_cells(step, "compiled", step.compiled, best)] for step in compiled]
        print_table(console, columns[: len(rows[0])], [rows])


def print_backbones(console: Console, speed: Speed) -> None:
    """Print a row per encoder: fine-tuning of windows as long as the config's."""
    best = speed.precision
    if not speed.backbones:
        return
    note(console, f"  fine-tuning by encoder, windows of {speed.samples} samples; ms: an update")
    columns = [
        ("", "encoder", "label"),
        *(("", head, "right") for head in ("batch", f"{best}/s", f"ms {best}", "GFLOP")),
    ]
    rows = [
        [step.name, *timing_cells(step, "ours", {}, best)[:3], f"{step.flop['ours'] / GIGA:.1f}"]
        for step in speed.backbones
    ]
    print_table(console, columns, [rows])


def step_cells(step: StepSpeed, precision: str) -> list[str]:
    """Cells of a method's row after its name."""
    return [
        *timing_cells(step, "ours", step.ratios, precision),
        f"{step.flop['ours'] / step.seconds[f'ours {precision}'] / GIGA:.0f}",
        *(gib_text(step.gib.get(side)) for side in ("ours", "plain")),
    ]


def timing_cells(step: StepSpeed, side: str, ratios: Mapping[str, Ratio], precision: str) -> list[str]:
    """Times of a side ('ours' or 'compiled') and its ratios to the plain form."""
    seconds, plain = step.seconds[f"{side} {precision}"], step.seconds.get("plain float32")
    return [
        str(step.batch),
        f"{step.batch / seconds:.0f}",
        f"{1000 * seconds:.1f}",
        NONE if plain is None else f"{1000 * plain:.1f}",
        *(ratio_text(ratios.get(what)) for what in ("float32", "bf16", "best")),
    ]


def ratio_text(ratio: Ratio | None) -> str:
    """'2.71 [2.60-2.83]'."""
    return NONE if ratio is None else f"{ratio.median:.2f} [{ratio.lowest:.2f}-{ratio.highest:.2f}]"


def gib_text(gib: float | None) -> str:
    """'0.52'."""
    return NONE if gib is None else f"{gib:.2f}"


def growth_line(what: str, growths: Iterable[Growth], sizes: Iterable[int]) -> str:
    """'PMQ update by queue: 1024 0.10 s, 16384 0.12 s'."""
    return f"  {what}: " + ", ".join(f"{n} {growth.seconds:.3f} s" for growth, n in zip(growths, sizes, strict=True))


def budget_line(speed: Speed) -> str:
    """What `pretrain.budget=seconds` takes of the measured methods."""
    each = (
        f"pretrain.pair_milliseconds.{step.name}={1000 * step.per_window(speed.precision):.3g}" for step in speed.steps
    )
    return f"  equal seconds: --set pretrain.budget=seconds {' '.join(each)}"


def preparation_line(preparation: PreparationSpeed) -> str:
    """Recordings per core-second, ours and plain, or how to install neurokit2."""
    ours = f"  preparation: {1 / preparation.ours:.0f} recordings per core-second"
    if preparation.plain is None:
        return f"{ours}; its plain form needs neurokit2: {INSTALL_NEUROKIT2}"
    return f"{ours}, plain {1 / preparation.plain:.0f}, ratio {ratio_text(preparation.ratio)}"


def streaming_lines(streaming: StreamingSpeed) -> tuple[str, str]:
    """What was streamed under which limit, and the speed against that of a corpus in memory."""
    limit = f", a process that may take {streaming.limit_gib:.2f} GiB more" if streaming.limit_gib else ""
    each = ", ".join(f"{name} {1000 * seconds:.1f} ms" for name, seconds in streaming.seconds.items())
    return (
        f"  a corpus of {streaming.gib:.2f} GiB read from disk{limit}: an update of {streaming.batch} pairs, {each}",
        f"    memory / disk {ratio_text(streaming.ratio)}, of processor time {ratio_text(streaming.cpu_ratio)}",
    )


def engine_line(engine: Iterable[EngineSpeed]) -> str:
    """'a small grid, tasks per hour: 1 worker 900, 2 workers 1500'."""
    each = [
        f"{own.workers} worker{'' if own.workers == 1 else 's'} {3600 * own.tasks / own.seconds:.0f}" for own in engine
    ]
    return f"  a small grid, tasks per hour: {', '.join(each)}"


def hours_line(
    config: Config, tasks: Iterable[Pretraining | Cell], sizes: Mapping[str, Size], speed: Speed, jobs: int
) -> str:
    """'the grid of paper: pretraining 3 h 20 min, cells 2 h 1 min, together 5 h 21 min'."""
    pretraining, cells = grid_seconds(config, tasks, sizes, speed, jobs)
    parts = f"pretraining {duration(pretraining)}, cells {duration(cells)}, together {duration(pretraining + cells)}"
    return f"the grid of {config.name} at this speed: {parts}"


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
            spent = pairs * step.per_window(speed.precision, compiled=config.compile)
        pretraining += spent * relative(speed, task.variant.encoder)
    return pretraining, cells


def relative(speed: Speed, encoder: str) -> float:
    """Seconds of a fine-tuning update with an encoder per second of one with the first; 1 if it was not measured."""
    seconds = {step.name: step.per_window(speed.precision) for step in speed.backbones}
    return seconds[encoder] / next(iter(seconds.values())) if encoder in seconds else 1.0
