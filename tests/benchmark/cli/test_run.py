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
from dataclasses import replace
from pathlib import Path

import pytest
import torch

import run_benchmark
from benchmark.cli import VERBS
from benchmark.cli import run as machine_module
from benchmark.cli.run import engine_of, machine_of, named, warnings_of
from benchmark.config.command_line import parse
from benchmark.config.config import Config, load_config
from benchmark.config.errors import ConfigError
from benchmark.config.flags import config_of
from benchmark.machine.device import Machine
from benchmark.results.store import Row, Store
from benchmark.run import cell as cell_module
from benchmark.run.cell import CellJob, run_cell
from benchmark.run.grid import expand, pretrain_content
from benchmark.run.local import Local
from benchmark.training.health import EpochHealth
from benchmark.training.probes import EvaluationCache
from methods.pmq import PMQ
from tests.basic import BASIC

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
COMMAND = ["--config", "tiny.yaml", "--device", "cpu", "--workers", "1", "--jobs-per-device", "1"]
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
    """A folder with the config, in which simulated and prepared data stay from test to test."""
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
    assert "Finished cells: 1 in both, 1 equal to the bit, 3 only in A, 0 only in B" in capsys.readouterr().out
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
    assert "| PMQ " in (tmp_path / "out" / "costs.md").read_text()
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


def test_minirocket_is_priced_run_and_in_the_table(
    argv: list[str], tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    own = [*argv, "--methods", "random", "--gates", "minirocket", "full-labels", "--set", "minirocket.features=168"]
    assert run_benchmark.main([*own, "--dry-run"]) == 0
    assert "minirocket: 1 in " in capsys.readouterr().out
    assert run_benchmark.main(own) == 0
    assert table(tmp_path).count("| *MiniRocket, ridge* |") == 4  # two tables, a block of half and of all labels each
    (half, whole) = sorted((row for row in rows(tmp_path / "runs") if row.variant == "minirocket"), key=str)
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
    def interrupt(job: CellJob, known: EvaluationCache) -> None:
        if job.cell.evaluation == "linear":
            signal.raise_signal(signal.SIGINT)
        run_cell(job, known)

    before = signal.signal(signal.SIGINT, signal.default_int_handler)  # a shell's background jobs ignore it
    try:
        with monkeypatch.context() as patch:
            patch.setattr(cell_module, "run_cell", interrupt)
            assert run_benchmark.main(argv) == run_benchmark.INTERRUPTED == 130
    finally:
        signal.signal(signal.SIGINT, before)
    shown = capsys.readouterr()
    assert shown.err == "error: stopped; what is finished is saved, and the same command goes on from there\n"
    assert len(rows(tmp_path / "runs")) == 1
    assert run_benchmark.main(argv) == 0
    assert "1 done, 3 to do" in capsys.readouterr().out
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
        if path.suffix in (".json", ".safetensors") and path.parent.name not in ("plans", "claims")
    ]
    assert {path: before[path] for path in kept} == {path: path.stat().st_mtime_ns for path in kept}


def test_all_data_are_looked_for_before_any_are_prepared(
    argv: list[str], workplace: Path, tmp_path: Path, expected: str
) -> None:
    (corpus,) = (workplace / "data" / "simulated").glob("*/mimic-iv-ecg")
    places = ["--cache", str(tmp_path / "cache"), "--data", f"mimic-iv-ecg={corpus}"]  # and no place of chapman
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


CPU = "--device cpu --precision float32"


def opened(words: str) -> tuple[Machine, object]:
    _, arguments = parse(VERBS, words.split())
    config = config_of(arguments)
    machine = machine_of(arguments, config)
    return machine, engine_of(arguments, config, machine)


def two_devices(monkeypatch: pytest.MonkeyPatch, visible: str = "") -> None:
    monkeypatch.setattr(torch.cuda, "device_count", lambda: 2)
    monkeypatch.setattr(torch.cuda, "is_available", lambda: True)
    monkeypatch.setattr(torch.cuda, "is_bf16_supported", lambda including_emulation: True)
    monkeypatch.setenv("CUDA_VISIBLE_DEVICES", visible)


@pytest.mark.parametrize("words", ["--devices 0 1", "--devices 0,1"])
def test_each_device_has_its_own_jobs(words: str, monkeypatch: pytest.MonkeyPatch) -> None:
    two_devices(monkeypatch)
    machine, engine = opened(f"{words} --jobs-per-device 3")
    assert (machine.device.type, machine.jobs, machine.devices, machine.mode()["precision"]) == ("cuda", 6, 2, "bf16")
    assert engine == Local(6, ("0", "1"))
    assert (machine.concurrent(7), machine.concurrent_on_a_device(2), machine.concurrent(1)) == (
        2,
        1,
        1,
    )


def test_devices_count_among_those_that_are_visible(monkeypatch: pytest.MonkeyPatch) -> None:
    two_devices(monkeypatch, visible="4,7")
    assert opened("--devices 1")[1] == Local(1, ("7",))


def test_a_job_has_the_device_of_its_cluster_and_not_of_this_host(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(torch.cuda, "is_available", lambda: False)
    _, arguments = parse(VERBS, ["--engine", "slurm", "--set", "engine.gpus=1", "--precision", "bf16"])
    machine = machine_of(arguments, config_of(arguments))
    assert machine.mode() == {"device": "cuda", "precision": "bf16"}


@pytest.mark.parametrize("precision", ["bf16", "float32"])
def test_the_precision_of_jobs_on_cpus_is_not_picked_by_the_cpu_of_this_host(
    precision: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(machine_module, "pick_precision", lambda name, device: precision if name == "auto" else name)
    arguments = parse(VERBS, ["--engine", "slurm"])[1]
    if precision == "float32":
        assert machine_of(arguments, config_of(arguments)).precision == "float32"
        return
    with pytest.raises(ConfigError, match=r"^--precision auto is bf16 by this host's CPU, and the nodes may have"):
        machine_of(arguments, config_of(arguments))
    arguments = parse(VERBS, ["--engine", "slurm", "--precision", "bf16"])[1]
    assert machine_of(arguments, config_of(arguments)).precision == "bf16"


def test_where_tasks_run_is_in_no_key_and_in_no_stored_config() -> None:
    here, there = (config_of_words(f"{CPU} {words}") for words in ("", "--engine slurm --set engine.minutes=30"))
    assert there.engine.minutes == 30
    assert here.model_dump(mode="json") == there.model_dump(mode="json")
    assert "engine" not in there.model_dump()
    assert here.model_dump_json() == there.model_dump_json()
    method = here.method_class("pmq")
    contents = [
        pretrain_content(config, method, config.method_config("pmq"), 1, "data", {"device": "cpu"})
        for config in (here, there)
    ]
    assert contents[0] == contents[1]


def config_of_words(words: str) -> Config:
    return config_of(parse(VERBS, words.split())[1])


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
