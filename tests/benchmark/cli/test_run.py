"""Runs as a user meets them: nothing is done twice, and kills, errors and Ctrl-C do not change the tables.

One run of a small config is there for all tests (`finished`); those that need a store of their own run it again, from
the same prepared data.
"""

from __future__ import annotations

import json
import os
import re
import shlex
import shutil
import signal
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path
from unittest.mock import MagicMock, Mock

import pytest
import torch

from benchmark.cli import refusals
from benchmark.data.audit import Finding
from benchmark.data.simulate import SimulatedDataset
from benchmark.results.files import file_lock
from benchmark.results.store import Row, Store
from benchmark.run import tasks as tasks_module
from benchmark.run.cell import Shared, run_cell
from benchmark.run.grid import Cell, Context
from methods.pmq import PMQ
from run_benchmark import FAILED, INTERRUPTED, USAGE, main
from tests.basic import TINY
from tests.on_disk import write_dataset

torch.set_num_threads(1)

ROOT = Path(__file__).resolve().parents[3]
CONFIG = TINY.replace("chapman: 30", "chapman: 40, cpsc2018: 10").replace("epochs: 1,", "epochs: 3,")
CONFIG = CONFIG.replace("[linear]", "[finetune, linear]") + "finetune: {epochs: 1, batch_size: 64}\n"
COMMAND = ["--config", "tiny.yaml", "--device", "cpu", "--workers", "1", "--jobs", "1"]
KILL = """
import os, re, signal, sys
rename, times = os.replace, int(sys.argv[2])

def rename_or_die(source, target):
    global times
    times -= bool(re.search(sys.argv[1], str(target)))
    if times == 0:
        os.kill(os.getpid(), signal.SIGKILL)
    rename(source, target)

os.replace = rename_or_die
import run_benchmark
sys.exit(run_benchmark.main(sys.argv[3:]))
"""
"""Runs a command line, and dies before the n-th time that a file with such a name would be put in its place."""
Run = Callable[..., int]


@pytest.fixture(scope="module")
def finished(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A folder with the config, prepared data, and the store and tables of a finished run, which tests leave alone."""
    folder = tmp_path_factory.mktemp("workplace")
    (folder / "tiny.yaml").write_text(CONFIG)
    with pytest.MonkeyPatch.context() as patch:
        patch.chdir(folder)
        assert main(COMMAND) == 0
    return folder


@pytest.fixture
def run(finished: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Run:
    """Run the config with further flags, into a store and tables of its own."""
    monkeypatch.chdir(finished)
    return lambda *flags: main([*command_in(tmp_path), *flags])


def command_in(folder: Path) -> list[str]:
    return [*COMMAND, "--results", str(folder / "runs"), "--out", str(folder / "out")]


def table(folder: Path) -> str:
    return (folder / "out" / "results.md").read_text()


def rows_of(root: Path) -> list[Row]:
    store = Store(root)
    keys = sorted(file.stem for file in store.cells.glob("*.npz"))
    return [row for row in map(store.load_row, keys) if row]


def stamps(root: Path) -> dict[Path, int]:
    """When each finished row and encoder was written."""
    files = [*root.glob("cells/*.json"), *root.glob("pretrained/*/*.safetensors")]
    return {path: path.stat().st_mtime_ns for path in files}


def test_a_second_run_reports_again_only_what_has_changed(
    finished: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.chdir(finished)
    before, expected, page, made_again = stamps(finished / "runs"), table(finished), Path("out/report.html"), []
    for file, *flags in ([""], ["out/results.tex"], ["", "--scores", "auprc"], [""]):
        written = page.stat().st_mtime_ns
        if file:
            Path(file).unlink()
        assert main([*COMMAND, *flags]) == 0
        shown = capsys.readouterr().out
        assert "4 cells on 2 encoders: 4 done, 0 to do\n" in shown
        assert "PMQ" in shown.partition("0 to do")[2]
        made_again.append(page.stat().st_mtime_ns != written)
    assert made_again == [False, True, True, True]
    assert (stamps(finished / "runs"), table(finished)) == (before, expected)
    assert not list(finished.rglob("*.tmp"))


def test_a_cell_is_computed_again_by_the_start_of_its_key(
    run: Run, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    rows = {(row.variant, row.evaluation): row for row in rows_of(Path("runs"))}
    row = rows["pmq", "linear"]
    assert run("--only", row.key[:8]) == 0
    assert [one.key for one in rows_of(tmp_path / "runs")] == [row.key]
    assert [path.name for path in (tmp_path / "runs" / "pretrained").iterdir()] == [row.pretrain_key]
    capsys.readouterr()
    assert main(["explain", row.key[:8], "--results", str(tmp_path / "runs")]) == 0
    commands = capsys.readouterr().out.splitlines()[-2:]
    assert commands[0].startswith("  python run_benchmark.py run --config tiny.yaml --device cpu --workers 1 --jobs 1 ")
    assert commands[0].endswith(f" --only {row.key[:8]} --only {row.key} --results again")
    assert main(["report", "--compare", "runs", str(tmp_path / "runs"), "--out", str(tmp_path / "compared")]) == 0
    assert "Cells: 1 in both, 1 identical to the bit, 3 only in A, 0 only in B" in capsys.readouterr().out
    assert run("--only", "fffffff") == USAGE
    refused = capsys.readouterr().err
    assert refused.startswith(
        "error: --only fffffff: no cell or pretraining of this grid has a key that begins so, and "
    )


def test_only_with_a_key_of_another_run_prints_the_command_line_of_that_run(
    run: Run, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    key = rows_of(Path("runs"))[0].key
    assert run("--results", "runs", "--seeds", "43", "--only", key) == USAGE
    line = capsys.readouterr().err
    assert "the run that has it: python run_benchmark.py run --config tiny.yaml --device cpu " in line
    assert line.endswith(f" --only {key}\n")
    assert run(*shlex.split(line.partition(" run_benchmark.py run ")[2])) == 0
    assert [one.key for one in rows_of(tmp_path / "runs")] == [key]


def test_a_method_that_fails_fails_its_own_cells(
    run: Run, finished: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    with monkeypatch.context() as patch:
        patch.setattr(PMQ, "forward", lambda self, batch: json.loads("no keys today"))
        assert run() == FAILED
    assert capsys.readouterr().err == "error: 3 tasks failed; the same command tries again\n"
    assert {row.variant for row in rows_of(tmp_path / "runs")} == {"random"}
    assert "its pretraining failed: JSONDecodeError" in table(tmp_path)
    assert run() == 0
    assert table(tmp_path) == table(finished)


def test_results_of_a_corpus_that_was_damaged_unnoticed_are_computed_again(
    run: Run, finished: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    cache = shutil.copytree(finished / "cache", tmp_path / "cache")
    check = ["data", "check", "--config", "tiny.yaml", "--cache", str(cache), "--workers", "1"]
    main(check)
    (file,) = cache.glob("*/trials-10.f16")  # of the corpus
    state = file.stat()
    file.write_bytes(bytes(state.st_size))
    os.utime(file, ns=(state.st_atime_ns, state.st_mtime_ns))
    assert run("--cache", str(cache)) == 0
    assert table(tmp_path) != table(finished)
    capsys.readouterr()
    main(check)
    assert (
        f"MIMIC-IV-ECG: the prepared file {file} does not match its digest: it is made again\n"
        in capsys.readouterr().out
    )
    assert run("--cache", str(cache)) == 0
    shown = capsys.readouterr().out
    assert "computed while a prepared file was damaged, and computed again: 1 pretraining and 2 cells\n" in shown
    assert "4 cells on 2 encoders: 2 done, 2 to do\n" in shown
    assert table(tmp_path) == table(finished)


def test_after_ctrl_c_the_same_command_goes_on(
    run: Run, finished: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    def interrupt(cell: Cell, context: Context, cache: Shared) -> None:
        if cell.evaluation == "linear":
            signal.raise_signal(signal.SIGINT)
        run_cell(cell, context, cache)

    before = signal.signal(signal.SIGINT, signal.default_int_handler)  # a shell's background jobs ignore it
    try:
        with monkeypatch.context() as patch:
            patch.setattr(tasks_module, "run_cell", interrupt)
            assert run() == INTERRUPTED
    finally:
        signal.signal(signal.SIGINT, before)
    shown = capsys.readouterr()
    assert shown.err == "error: stopped; what is finished is saved, and the same command goes on from there\n"
    assert run() == 0
    assert "2 done, 2 to do" in capsys.readouterr().out  # what runs may end within the grace
    assert table(tmp_path) == table(finished)


def test_a_report_that_fails_names_the_command_that_writes_it(
    run: Run, finished: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    shutil.copytree(finished / "runs", tmp_path / "runs")
    with monkeypatch.context() as patch:
        patch.setattr("benchmark.cli.report.show_report", Mock(side_effect=KeyError("A")))
        assert run("--scores", "auprc") == FAILED
    shown = capsys.readouterr().err
    assert shown.startswith("error: the report failed, KeyError: 'A'; all results are kept in ")
    assert shown.count("\n") == 1
    assert main(shlex.split(shown.split("`")[1].partition(".py ")[2])) == 0
    assert (tmp_path / "out" / "report.html").is_file()


def test_a_refused_second_command_writes_nothing(run: Run, tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    lock = Store(tmp_path / "runs").lock
    with file_lock(lock):
        for words in ([], ["--only", "fffffff"]):
            assert run(*words) == USAGE
            assert "works on " in capsys.readouterr().err
    assert [path for path in tmp_path.rglob("*") if path.is_file()] == [lock]


@pytest.mark.slow
def test_a_run_whose_reader_has_gone_goes_on_to_the_same_table(finished: Path, tmp_path: Path) -> None:
    words = [sys.executable, str(ROOT / "run_benchmark.py"), *command_in(tmp_path), "--jobs", "2"]
    reader, writer = os.pipe()
    os.close(reader)
    with open(writer, "wb") as nobody:
        assert subprocess.run(words, cwd=finished, stdout=nobody, stderr=nobody, check=False).returncode == 0
    assert len(rows_of(tmp_path / "runs")) == 4
    assert table(tmp_path) == table(finished)


@pytest.mark.slow
@pytest.mark.parametrize(("file", "time_of_death"), [("checkpoint.pt", 2), ("cells/.*json", 3)])
def test_a_killed_run_goes_on_to_the_same_bytes(
    file: str, time_of_death: int, run: Run, finished: Path, tmp_path: Path
) -> None:
    killed = subprocess.run(
        [sys.executable, "-c", KILL, file, str(time_of_death), *command_in(tmp_path)],
        env={**os.environ, "PYTHONPATH": str(ROOT), "OMP_NUM_THREADS": "1"},
        capture_output=True,
        check=False,
    )
    assert killed.returncode == -signal.SIGKILL
    before = stamps(tmp_path / "runs")
    assert run() == 0
    assert table(tmp_path) == table(finished)
    assert stamps(tmp_path / "runs").items() >= before.items()


@pytest.mark.slow
def test_a_larger_grid_computes_only_what_is_new(
    run: Run, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    whole = ["--seeds", "41", "42", "--datasets", "chapman", "cpsc2018", "--ratios", "0.5", "0.3"]
    whole += ["--set", "data.simulation.patients.cpsc2018=60"]
    before: dict[Path, int] = {}
    for done, cells, flags in ((0, 4, whole[-2:]), (4, 16, [*whole[:6], *whole[-2:]]), (16, 32, whole)):
        assert run(*flags) == 0
        shown = capsys.readouterr().out
        assert re.search(rf"\b{cells} cells on \d+ encoders: {done} done, {cells - done} to do", shown), shown
        now = stamps(tmp_path / "runs")
        assert now.items() >= before.items(), "what was there is not computed again"
        before = now
    grown = table(tmp_path)
    assert run(*whole, "--results", str(tmp_path / "fresh"), "--out", str(tmp_path / "at-once")) == 0
    assert (tmp_path / "at-once" / "results.md").read_text() == grown
    (tmp_path / "elsewhere").mkdir()
    (tmp_path / "runs").rename(tmp_path / "elsewhere" / "runs")
    monkeypatch.chdir(tmp_path / "elsewhere")
    assert main(["report"]) == 0
    assert table(tmp_path / "elsewhere") == grown


def test_data_are_judged_before_any_pretraining(run: Run, tmp_path: Path) -> None:
    write_dataset(SimulatedDataset("mimic-iv-ecg", 2), tmp_path / "mimic")
    places = ["--cache", str(tmp_path / "cache"), "--data", f"mimic-iv-ecg={tmp_path / 'mimic'}"]  # none of chapman
    assert run(*places) == USAGE
    assert not (tmp_path / "cache").exists()
    assert run("--datasets", "cpsc2018") == USAGE, "it is too small"
    assert not (tmp_path / "runs" / "pretrained").exists()


REFUSED = {
    "the package of a flag": (["--tensorboard"], "needs packages: pip install 'tensorboard>=2.18', or leave"),
    "the package of a baseline": (["--baselines", "random", "minirocket"], "'aeon>=1.5', or --baselines random"),
    "the package of an engine": (["--engine", "tcp://127.0.0.1:1"], "'distributed>=2024.12', or --engine local"),
    "the package of a text embedder": (
        ["--methods", "etp", "--set", "pretrain.text_embedder=bert"],
        "'transformers>=4.40'",
    ),
    "folders of datasets": (["--data-root", "nowhere"], "nowhere/mimic"),
    "a dataset without its tables": (["--data", "chapman=cache", "mimic-iv-ecg=cache"], "error: Chapman: "),
    "a file in the place of a folder": (["--out", "tiny.yaml/out"], "tiny.yaml is no folder that you may write to"),
    "a key of no cell": (["--only", "fffffff"], "--only fffffff"),
    "a device that is not there": (["--device", "cuda:99"], "cuda:99"),
    "a dataset that is too small": (["--datasets", "cpsc2018"], "cannot be scored"),
    "a store in use": (["--results", "locked"], "works on locked"),
    "an engine that does not answer": (["--engine", "tcp://127.0.0.1:1"], "no Dask scheduler answers"),
    "workers of several threads": (["--engine", "tcp://127.0.0.1:1"], "start the workers with --nthreads 1"),
    "a leak": (["--seeds", "43"], "one patient on both sides"),
}
"""Refused thing -> flags, and words of the error."""
WITHOUT_GRID = ("the package of a text embedder", "a key of no cell", "a device that is not there")
"""Cases in which a dry run has no grid to count."""


@pytest.mark.parametrize("case", REFUSED)
def test_a_dry_run_refuses_what_the_run_refuses_before_any_work(
    case: str, run: Run, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    flags, words = REFUSED[case]
    monkeypatch.setattr("benchmark.cli.hours.timed_cells", lambda *cell: (1.0, 0.5))  # MiniRocket is compiled first
    if "package" in case:
        monkeypatch.setattr(refusals, "find_spec", lambda name: None)
    if case == "a leak":
        leak = Finding(("chapman",), "leak", "one patient on both sides")
        monkeypatch.setattr("benchmark.run.datasets.audit_of", lambda *data: [leak])
    if case == "an engine that does not answer":
        monkeypatch.setattr("benchmark.run.dask_engine.PATIENCE_SECONDS", 1.0)
    if case == "workers of several threads":
        client = MagicMock()
        client.__enter__.return_value.nthreads.return_value = {"tcp://127.0.0.1:2": 2}
        monkeypatch.setattr("benchmark.run.dask_engine.connect", lambda name: client)
    with file_lock(Store(Path("locked")).lock):
        refused = []
        for further in ([], ["--dry-run"]):
            assert run(*flags, "--precision", "float32", *further) == USAGE
            shown = capsys.readouterr()
            refused.append(shown.err)
    assert words in refused[0]
    assert refused[1].startswith(refused[0])
    assert ("to do: " in shown.out) == (case not in WITHOUT_GRID)
    assert not list(tmp_path.rglob("cells/*"))


def test_all_that_is_missing_is_named_at_once(
    run: Run, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setattr(refusals, "find_spec", lambda name: None)
    assert run("--tensorboard", "--baselines", "minirocket", "--data-root", "nowhere") == USAGE
    lines = capsys.readouterr().err.splitlines()
    assert [line.split()[1] for line in lines] == ["--tensorboard", "the", "MIMIC-IV-ECG:", "Chapman:"]
