"""What `speed` prints, and the hours of a grid that follow from it."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from io import StringIO

import pytest
import torch

from benchmark.config.config import Config
from benchmark.config.load import load_config
from benchmark.run.estimate import Size, cell_seconds, passes
from benchmark.run.machine import Machine
from benchmark.screen.console import open_console
from benchmark.verbs.run.dry_run import unkeyed_grid
from benchmark.verbs.speed.record import EngineSpeed, Speed, StreamingSpeed
from benchmark.verbs.speed.report import grid_seconds, hours_line, print_speed
from benchmark.verbs.speed.timing import Ratio
from tests.basic import BASIC

MACHINE = Machine(torch.device("cpu"), "float32", jobs=2)
SMALL = {"encoder.hidden": 4, "encoder.depth": 2, "encoder.output": 6}


@pytest.fixture(scope="module")
def config() -> Config:
    return load_config(BASIC, SMALL | {"methods": ["random", "pmq"], "seeds": [1, 2]})


def shown(speed: Speed) -> str:
    out = StringIO()
    print_speed(open_console(out, width=140), speed)
    return out.getvalue()


def test_the_table_says_what_was_measured_and_how_noisily(known_speed: Callable[..., Speed]) -> None:
    text = shown(known_speed(pmq=2.0))
    assert "speed (tiny) on cpu x, 1 threads" in text
    line = next(line for line in text.splitlines() if line.startswith("pmq "))
    assert line.split() == ["pmq", "4", "2", "2000.0", "4000.0", "2.00", "[1.50-3.00]", "-", "-", "0", "0.50", "-"]
    assert "  equal seconds: --set pretrain.budget=seconds pretrain.pair_milliseconds.pmq=500" in text.splitlines()
    assert "50 recordings per core-second, plain 12, ratio 4.00 [3.00-5.00]" in text


def test_streaming_and_workers_have_lines_where_they_were_measured(known_speed: Callable[..., Speed]) -> None:
    speed = known_speed(pmq=2.0)
    assert "read from disk" not in shown(speed)
    assert "tasks per hour" not in shown(speed)
    seconds = {"memory": 0.2, "disk": 0.25}
    streaming = StreamingSpeed(1.0, 0.5, 256, seconds, Ratio(0.8, 0.7, 0.9), Ratio(0.95, 0.9, 1.0))
    engine = (EngineSpeed(1, 10, 36.0), EngineSpeed(2, 10, 20.0))
    lines = shown(replace(speed, streaming=streaming, engine=engine)).splitlines()
    limited = "  a corpus of 1.00 GiB read from disk, a process that may take 0.50 GiB more: an update of 256 pairs, "
    assert f"{limited}memory 200.0 ms, disk 250.0 ms" in lines
    assert "    memory / disk 0.80 [0.70-0.90], of processor time 0.95 [0.90-1.00]" in lines
    assert "  a small grid, tasks per hour: 1 worker 1000, 2 workers 1800" in lines
    free = shown(replace(speed, streaming=replace(streaming, limit_gib=None)))
    assert "  a corpus of 1.00 GiB read from disk: an update of 256 pairs, " in free


def test_compiled_updates_have_lines_of_their_own_and_count_where_a_run_compiles(
    config: Config, known_speed: Callable[..., Speed]
) -> None:
    speed = known_speed(pmq=2.0, clocs=1.0)
    pmq, clocs = speed.steps
    seconds = pmq.seconds | {"compiled float32": 1.0}
    speed = replace(speed, steps=(replace(pmq, seconds=seconds, compiled={"float32": Ratio(4.0, 3.0, 5.0)}), clocs))
    _, line = (line for line in shown(speed).splitlines() if line.startswith("pmq "))
    assert line.split() == ["pmq", "4", "4", "1000.0", "4000.0", "4.00", "[3.00-5.00]", "-", "-"]
    assert len([line for line in shown(speed).splitlines() if line.startswith("clocs ")]) == 1
    sizes = {name: Size(10, 80, exact=False) for name in (config.data.pretrain, *config.data.datasets)}
    (task,) = (task for task in unkeyed_grid(config, MACHINE).pretrainings if task.method.name == "pmq")
    plain, _ = grid_seconds(config, [task], sizes, speed, jobs=1)
    compiled, _ = grid_seconds(config.model_copy(update={"compile": True}), [task], sizes, speed, jobs=1)
    assert compiled == pytest.approx(plain / 2)


def test_hours_follow_from_windows_epochs_and_the_time_of_an_update(
    config: Config, known_speed: Callable[..., Speed]
) -> None:
    sizes = {name: Size(10, 80, exact=False) for name in (config.data.pretrain, *config.data.datasets)}
    grid = unkeyed_grid(config, MACHINE)
    pretraining, cells = grid_seconds(config, grid.cells, sizes, known_speed(pmq=2.0), jobs=2)
    assert pretraining == 0
    assert cells == pytest.approx(sum(cell_seconds(cell, config, sizes, a_pass=1.0) for cell in grid.cells) / 2)
    (pmq,) = (task for task in grid.pretrainings if task.method.name == "pmq")
    pretraining, _ = grid_seconds(config, [pmq], sizes, known_speed(pmq=2.0), jobs=2)
    assert pretraining == pytest.approx(config.pretrain.epochs * 40 * 2.0 / 4)
    pretraining, _ = grid_seconds(config, [pmq], sizes, known_speed(), jobs=2)  # not measured: from its encoder passes
    assert pretraining == pytest.approx(passes(pmq, config, sizes))
    assert hours_line(config, [pmq], sizes, known_speed(pmq=2.0), 2).startswith(
        "the grid of basic at this speed: pretraining"
    )


def test_rows_on_a_further_encoder_take_as_much_longer_as_its_fine_tuning(
    config: Config, known_speed: Callable[..., Speed]
) -> None:
    speed = known_speed(pmq=2.0)
    backbones = tuple(
        replace(speed.finetuning, name=name, batch=batch, seconds={f"ours {speed.precision}": seconds})
        for name, batch, seconds in (("dilated", 4, 2.0), ("resnet1d", 2, 3.0))
    )
    both = config.model_copy(update={"encoders": [{"name": "resnet1d", "output": 8}]})
    sizes = {name: Size(10, 80, exact=False) for name in (config.data.pretrain, *config.data.datasets)}
    tasks = {task.variant.name: task for task in unkeyed_grid(both, MACHINE).pretrainings}
    known = replace(speed, backbones=backbones)
    first, further = (grid_seconds(both, [tasks[name]], sizes, known, 1)[0] for name in ("pmq", "pmq+resnet1d"))
    assert further == pytest.approx(3 * first)
    assert grid_seconds(both, [tasks["pmq+resnet1d"]], sizes, speed, 1)[0] == first
