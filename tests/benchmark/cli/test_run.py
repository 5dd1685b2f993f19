"""Runs as a user meets them: nothing is done twice, and kills, errors and Ctrl-C do not change the tables.

Devices, precision and engine of a command; what cannot be meant is one line before any work.

What is said of a pretraining that went wrong: its name, and the setting that acts on it.
"""

from __future__ import annotations

import json
import os
import re
import signal
import subprocess
import sys
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path

import pytest
import torch

import run_benchmark
from benchmark.cli.arguments import config_of
from benchmark.cli.main import parse
from benchmark.cli.run import machine_of, named, warnings_of
from benchmark.config.config import Config
from benchmark.config.errors import ConfigError
from benchmark.config.load import load_config
from benchmark.data.simulate import CohortSettings
from benchmark.machine.device import Machine
from benchmark.results.files import file_lock
from benchmark.results.store import Row, Store
from benchmark.run import tasks as tasks_module
from benchmark.run.cell import run_cell
from benchmark.run.grid import Cell, Context, expand
from benchmark.run.progress import PROGRESS
from benchmark.training.health import EpochHealth
from benchmark.training.probes import EvaluationCache
from methods.pmq import PMQ
from tests.basic import BASIC
from tests.on_disk import write_dataset

torch.set_num_threads(1)

ROOT = Path(__file__).resolve().parents[3]
CONFIG = """
methods: [random, pmq]
data:
  datasets: [chapman]
  simulation: {patients: {mimic-iv-ecg: 6, chapman: 40, cpsc2018: 10}, recordings_per_patient: 2}
encoder: {hidden: 4, depth: 2, output: 8}
knobs: {pmq: {queue_size: 16}}
pretrain: {epochs: 3, recipe: {batch_size: 8}}
finetune: {epochs: 1, batch_size: 64}
evaluate: [finetune, linear]
ratios: [0.5]
seeds: [41]
gates: []
precision: float32
"""
COMMAND = ["--config", "tiny.yaml", "--device", "cpu", "--workers", "1", "--jobs", "1"]
KILL = """
import os, re, signal, sys
rename, left = os.replace, int(sys.argv[2])

def rename_or_die(source, target):
    global left
    left -= bool(re.search(sys.argv[1], str(target)))
    if left == 0:
        os.kill(os.getpid(), signal.SIGKILL)
    rename(source, target)

os.replace = rename_or_die
import run_benchmark
sys.exit(run_benchmark.main(sys.argv[3:]))
"""
"""Runs a command line, and dies before the n-th time that a file with such a name would be put in its place."""


@pytest.fixture(scope="module")
def workplace(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A folder with the config, in which prepared data stay from test to test."""
    folder = tmp_path_factory.mktemp("workplace")
    (folder / "tiny.yaml").write_text(CONFIG)
    return folder


@pytest.fixture
def argv(workplace: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> list[str]:
    """A run of the small config, with a store and tables of its own."""
    monkeypatch.chdir(workplace)
    places = ["--results", str(tmp_path / "runs"), "--out", str(tmp_path / "out")]
    return [*COMMAND, *places]


@pytest.fixture(scope="module")
def expected(workplace: Path, tmp_path_factory: pytest.TempPathFactory) -> str:
    """The results.md of a run that nothing disturbs."""
    folder = tmp_path_factory.mktemp("undisturbed")
    with pytest.MonkeyPatch.context() as patch:
        patch.chdir(workplace)
        assert run_benchmark.main([*COMMAND, "--results", str(folder / "runs"), "--out", str(folder / "out")]) == 0
    return (folder / "out" / "results.md").read_text()


def test_a_cell_is_made_again_from_the_start_of_its_key_and_compared(
    argv: list[str], tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    assert run_benchmark.main(argv) == 0
    rows = {(row.variant, row.evaluation): row for row in rows_of(tmp_path / "runs")}
    row, again = rows["pmq", "linear"], str(tmp_path / "again")
    only = [*COMMAND, "--results", again, "--out", str(tmp_path / "out-again"), "--only"]
    assert run_benchmark.main([*only, row.key[:8]]) == 0
    assert [own.key for own in rows_of(tmp_path / "again")] == [row.key]
    assert [path.name for path in (tmp_path / "again" / "pretrained").iterdir()] == [row.pretrain_key]
    capsys.readouterr()
    assert run_benchmark.main(["report", "--compare", argv[-3], again, "--out", str(tmp_path / "compared")]) == 0
    assert "Cells: 1 in both, 1 identical to the bit, 3 only in A, 0 only in B" in capsys.readouterr().out
    assert run_benchmark.main([*only, row.pretrain_key]) == 0
    assert {own.evaluation for own in rows_of(tmp_path / "again")} == {"finetune", "linear"}
    assert run_benchmark.main([*only, "fffffff"]) == 2
    refused = capsys.readouterr().err
    assert refused == "error: --only fffffff: no cell or pretraining of this grid has a key that begins so\n"


def rows_of(root: Path) -> list[Row]:
    store = Store(root)
    return [row for row in map(store.load_row, store.row_keys()) if row]


def table(tmp_path: Path) -> str:
    return (tmp_path / "out" / "results.md").read_text()


def rows(store: Path) -> list[Row]:
    """Rows without the seconds they took, and without the state of the code, which an editor may change meanwhile."""
    read = [Store(store).load_row(key) for key in sorted(path.stem for path in (store / "cells").glob("*.npz"))]
    found = [row for row in read if row is not None]
    never = {"seconds": 0.0}
    return [replace(row, training=row.training | never, provenance=row.provenance | {"git": None}) for row in found]


def stamps(folder: Path) -> dict[Path, int]:
    return {path: path.stat().st_mtime_ns for path in folder.rglob("*") if path.is_file()}


def test_a_second_run_does_nothing_and_says_so(
    argv: list[str], expected: str, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    assert run_benchmark.main(argv) == 0
    assert "4 cells on 2 encoders: 0 done, 4 to do" in capsys.readouterr().out
    assert table(tmp_path) == expected
    assert len(rows(tmp_path / "runs")) == 4
    before = stamps(tmp_path / "runs" / "cells") | stamps(tmp_path / "runs" / "pretrained")
    assert run_benchmark.main(argv) == 0
    shown = capsys.readouterr().out
    assert "4 done, 0 to do" in shown
    assert "nothing to do: every cell is in the store" in shown
    assert stamps(tmp_path / "runs" / "cells") | stamps(tmp_path / "runs" / "pretrained") == before
    assert table(tmp_path) == expected
    assert not list(tmp_path.rglob("*.tmp"))


def test_a_report_is_made_again_where_a_row_a_flag_or_one_of_its_files_has_changed(
    argv: list[str], expected: str, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    assert run_benchmark.main(argv) == 0
    page, written = tmp_path / "out" / "report.html", []
    row = next((tmp_path / "runs" / "cells").glob("*.json"))
    changes: list[tuple[Callable[[], object], list[str]]] = [
        (lambda: None, []),
        ((tmp_path / "out" / "results.tex").unlink, []),
        (row.touch, []),
        (lambda: None, ["--scores", "auprc"]),
    ]
    for change, flags in changes:
        before = page.stat().st_mtime_ns
        change()
        assert run_benchmark.main([*argv, *flags]) == 0
        assert "PMQ" in capsys.readouterr().out.partition("in the store")[2]
        written.append(page.stat().st_mtime_ns != before)
    assert written == [False, True, True, True]


def test_minirocket_is_planned_run_and_in_the_table(
    argv: list[str], tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    own = [*argv, "--methods", "random", "--gates", "minirocket", "full-labels", "--set", "minirocket.features=168"]
    assert run_benchmark.main([*own, "--dry-run"]) == 0
    assert "without 2 cells of baselines that have no encoder" in capsys.readouterr().out
    assert run_benchmark.main(own) == 0
    assert table(tmp_path).count("| *MiniRocket, ridge* |") == 4  # two tables, a block of half and of all labels each
    own = (row for row in rows(tmp_path / "runs") if row.variant == "minirocket")
    half, whole = sorted(own, key=lambda row: row.ratio)
    assert half.training["penalty"] in Config(name="", caption="", methods=["random"]).minirocket.penalties
    assert (half.pretrain_key, half.ratio, whole.ratio) == ("", 0.5, 1.0)
    assert half.scores["recording"]["auroc"] is not None


def test_a_method_that_fails_fails_its_own_cells(
    argv: list[str], expected: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    with monkeypatch.context() as patch:
        patch.setattr(PMQ, "forward", lambda self, batch: json.loads("no keys today"))
        assert run_benchmark.main(argv) == run_benchmark.FAILED
    shown = capsys.readouterr()
    assert shown.err == "error: 3 tasks failed; the same command tries them again\n"
    assert {row.variant for row in rows(tmp_path / "runs")} == {"random"}
    assert "its pretraining failed: JSONDecodeError" in table(tmp_path)
    assert run_benchmark.main(argv) == 0
    assert table(tmp_path) == expected


def test_ctrl_c_says_what_to_do_and_the_same_command_goes_on(
    argv: list[str], expected: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    def interrupt(cell: Cell, context: Context, known: EvaluationCache) -> None:
        if cell.evaluation == "linear":
            signal.raise_signal(signal.SIGINT)
        run_cell(cell, context, known)

    before = signal.signal(signal.SIGINT, signal.default_int_handler)  # a shell's background jobs ignore it
    try:
        with monkeypatch.context() as patch:
            patch.setattr(tasks_module, "run_cell", interrupt)
            assert run_benchmark.main(argv) == run_benchmark.INTERRUPTED == 130
    finally:
        signal.signal(signal.SIGINT, before)
    shown = capsys.readouterr()
    assert shown.err == "error: stopped; what is finished is saved, and the same command goes on from there\n"
    assert len(rows(tmp_path / "runs")) == 2  # what runs may end within the grace
    assert run_benchmark.main(argv) == 0
    assert "2 done, 2 to do" in capsys.readouterr().out
    assert table(tmp_path) == expected


@pytest.mark.slow
def test_a_grid_grows_by_what_is_new_and_its_store_moves(
    argv: list[str], tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    whole = ["--seeds", "41", "42", "--datasets", "chapman", "cpsc2018", "--ratios", "0.5", "0.3"]
    steps = {
        (0, 4): ["--seeds", "41"],
        (4, 16): whole[:6],
        (16, 32): whole,
    }
    enough = ["--set", "data.simulation.patients.cpsc2018=60"]
    before: dict[Path, int] = {}
    for (done, cells), words in steps.items():
        assert run_benchmark.main([*argv, *words, *enough]) == 0
        shown = capsys.readouterr().out
        assert re.search(rf"\b{cells} cells on \d+ encoders: {done} done, {cells - done} to do", shown), shown
        now = stamps(tmp_path / "runs" / "cells") | stamps(tmp_path / "runs" / "pretrained")
        # The card of an untrained encoder has the health on this run's windows, which another column alters.
        kept = {path: time for path, time in before.items() if path.name != "pretraining.json"}
        assert {path: now.get(path) for path in kept} == kept, "what was there is not computed again"
        before = now
    grown = table(tmp_path)
    fresh = ["--results", str(tmp_path / "fresh"), "--out", str(tmp_path / "at-once")]
    assert run_benchmark.main([*argv, *fresh, *whole, *enough]) == 0
    assert (tmp_path / "at-once" / "results.md").read_text() == grown
    (tmp_path / "elsewhere").mkdir()
    (tmp_path / "runs").rename(tmp_path / "elsewhere" / "runs")
    monkeypatch.chdir(tmp_path / "elsewhere")
    assert run_benchmark.main(["report"]) == 0
    assert Path("out", "results.md").read_text() == grown


@pytest.mark.slow
@pytest.mark.parametrize(("file", "time_of_death"), [("checkpoint.pt", 2), ("cells/.*json", 3)])
def test_a_killed_run_goes_on_to_the_same_bytes(
    file: str, time_of_death: int, argv: list[str], expected: str, workplace: Path, tmp_path: Path
) -> None:
    killed = subprocess.run(
        [sys.executable, "-c", KILL, file, str(time_of_death), *argv],
        cwd=workplace,
        env={**os.environ, "PYTHONPATH": str(ROOT), "OMP_NUM_THREADS": "1"},
        capture_output=True,
        check=False,
    )
    assert killed.returncode == -signal.SIGKILL
    before = stamps(tmp_path / "runs")
    assert run_benchmark.main(argv) == 0
    assert table(tmp_path) == expected
    kept = [
        path
        for path in before
        if path.suffix in (".json", ".safetensors") and path.parent.name != "plans" and path.name != PROGRESS
    ]
    assert {path: before[path] for path in kept} == {path: path.stat().st_mtime_ns for path in kept}


def test_all_data_are_looked_for_before_any_are_prepared(argv: list[str], tmp_path: Path) -> None:
    write_dataset("mimic-iv-ecg", tmp_path / "mimic", CohortSettings(2))
    places = ["--cache", str(tmp_path / "cache"), "--data", f"mimic-iv-ecg={tmp_path / 'mimic'}"]  # none of chapman
    assert run_benchmark.main([*argv, *places]) == 2
    assert not (tmp_path / "cache").exists()


def test_a_dataset_that_is_too_small_is_refused_before_pretraining(argv: list[str], tmp_path: Path) -> None:
    assert run_benchmark.main([*argv, "--datasets", "cpsc2018"]) == 2
    assert not (tmp_path / "runs" / "pretrained").exists()


@pytest.mark.slow
def test_several_encoders_are_rows_beside_each_other_and_share_the_results_of_each(
    argv: list[str], tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    assert run_benchmark.main(argv) == 0
    further = ["--set", "encoders=[{name: resnet1d, output: 8}]"]
    assert run_benchmark.main([*argv, *further]) == 0
    assert "8 cells on 4 encoders: 4 done, 4 to do" in " ".join(capsys.readouterr().out.split())
    assert {row.variant for row in rows(tmp_path / "runs")} == {"random", "pmq", "random+resnet1d", "pmq+resnet1d"}
    for title in ("PMQ on dilated", "PMQ on resnet1d", "Random on resnet1d"):
        assert title in table(tmp_path)
    costs = (tmp_path / "out" / "costs.csv").read_text()
    assert "PMQ on resnet1d" in costs
    alone = [*argv, "--encoder", "resnet1d", "--set", "encoder.output=8"]
    assert run_benchmark.main(alone) == 0
    assert "4 done, 0 to do" in capsys.readouterr().out
    assert not [name for name in ("dilated", "resnet1d") if f" on {name}" in table(tmp_path)]


@pytest.mark.slow
def test_a_run_around_an_encoder_from_a_file_needs_nothing_else(
    argv: list[str], encoder_text: str, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    file = tmp_path / "mine.py"
    file.write_text(encoder_text)
    assert run_benchmark.main([*argv, "--encoder", str(file)]) == 0
    assert {row.variant for row in rows(tmp_path / "runs")} == {"random", "pmq"}
    moved = tmp_path / "elsewhere.py"
    file.rename(moved)
    capsys.readouterr()
    assert run_benchmark.main([*argv, "--encoder", str(moved), "--evaluate", "linear"]) == 0
    assert "2 done, 0 to do" in capsys.readouterr().out
    assert run_benchmark.main([*argv, "--encoder", str(moved), "--seeds", "42"]) == 0  # pmq's weights are there
    assert len(rows(tmp_path / "runs")) == 8


def machine_for(words: str) -> Machine:
    _, arguments = parse(words.split())
    return machine_of(arguments, config_of(arguments))


def two_devices(monkeypatch: pytest.MonkeyPatch, visible: str = "") -> None:
    monkeypatch.setattr(torch.cuda, "device_count", lambda: 2)
    monkeypatch.setattr(torch.cuda, "is_available", lambda: True)
    monkeypatch.setattr(torch.cuda, "is_bf16_supported", lambda including_emulation: True)
    monkeypatch.setenv("CUDA_VISIBLE_DEVICES", visible)


@pytest.mark.parametrize(
    ("words", "visible", "jobs", "devices"),
    [
        ("--devices 0 1", "", 2, ("0", "1")),
        ("--devices 0 1 --jobs 6", "", 6, ("0", "1")),
        ("--devices 1", "4,7", 1, ("7",)),
        ("", "", 1, ()),
    ],
)
def test_devices_count_among_those_that_are_visible_and_each_has_a_task(
    words: str, visible: str, jobs: int, devices: tuple[str, ...], monkeypatch: pytest.MonkeyPatch
) -> None:
    two_devices(monkeypatch, visible)
    machine = machine_for(words)
    assert (machine.jobs, machine.devices, machine.mode()) == (jobs, devices, {"device": "cuda", "precision": "bf16"})


@pytest.mark.parametrize(
    ("words", "message"),
    [
        ("--devices 0", "--devices '0' is not there: torch sees no CUDA device: leave it out"),
        ("--devices 0 --device cpu", "--devices 0 and --device cpu: name the devices once"),
        (
            "--engine tcp://there:8786 --devices 0",
            "--devices is of --engine local: start a worker for each GPU, with its CUDA_VISIBLE_DEVICES",
        ),
        (
            "--engine scheduler.json --device cuda",
            "--engine scheduler.json: say what the workers compute on and in: --device cpu or cuda, and --precision "
            "float32 or bf16",
        ),
    ],
)
def test_what_cannot_be_meant_is_refused(words: str, message: str, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(torch.cuda, "device_count", lambda: 0)
    monkeypatch.setattr(torch.cuda, "is_available", lambda: False)
    with pytest.raises(ConfigError) as error:
        machine_for(words)
    assert str(error.value) == message


@pytest.mark.parametrize("words", ["--devices 2", "--devices one"])
def test_a_device_that_is_not_there_is_refused_by_name(words: str, monkeypatch: pytest.MonkeyPatch) -> None:
    two_devices(monkeypatch)
    with pytest.raises(ConfigError, match=r"^--devices '\w+' is not there: torch sees 2 CUDA devices$"):
        machine_for(words)


def test_a_device_named_twice_is_refused(monkeypatch: pytest.MonkeyPatch) -> None:
    two_devices(monkeypatch)
    with pytest.raises(ConfigError, match=r"^--devices 0 0 names a device twice; several tasks on one: --jobs"):
        machine_for("--devices 0 0")


def test_workers_elsewhere_may_have_what_this_host_has_not(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(torch.cuda, "is_available", lambda: False)
    machine = machine_for("--engine tcp://there:8786 --device cuda --precision bf16")
    assert (machine.mode(), machine.jobs, machine.threads()) == ({"device": "cuda", "precision": "bf16"}, None, None)
    assert machine_for("--device cpu --jobs 1000").threads() == 1


def test_an_unknown_engine_is_refused(capsys: pytest.CaptureFixture[str]) -> None:
    assert run_benchmark.main(["--engine", "slrum"]) == 2
    assert "'slrum'" in capsys.readouterr().err


def test_a_second_command_on_a_store_is_refused_and_told_who_works_there(
    argv: list[str], tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    with file_lock(tmp_path / "runs" / ".lock"):
        assert run_benchmark.main(argv) == 2
    expected = f"{os.getpid()} works on {tmp_path / 'runs'} (see `status`): wait for its end, or name another folder"
    assert expected in capsys.readouterr().err
    assert rows(tmp_path / "runs") == []


@pytest.mark.parametrize(("preset", "rate"), [("unified", "0.0001"), ("paper", "1e-05")])
def test_a_collapse_is_told_with_the_recipe_that_acts(preset: str, rate: str) -> None:
    overrides = {"methods": ["clocs"], "gates": [], "pretrain.preset": preset}
    mode = {"device": "cpu", "precision": "float32"}
    grid = expand(load_config(BASIC, overrides), corpus="corpus", fingerprints={"chapman": "data"}, mode=mode)
    assert list(named(grid)) == ["clocs seed 42"]
    collapsed = [EpochHealth(0), EpochHealth(1, effective_rank=1.0, mean_cosine=1.0)]
    (line,) = warnings_of(grid, {"clocs seed 42": collapsed})
    assert line.startswith("clocs seed 42: the features have collapsed")
    assert f"(--set methods.clocs.recipe.lr={rate})" in line
