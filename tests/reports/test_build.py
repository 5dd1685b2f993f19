"""From a results folder to files: what is written, the same bytes from the same rows, and the command line."""

from __future__ import annotations

import json
import subprocess
import sys
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path

import pytest

from benchmark.results.store import Store
from reports.build import build_report
from reports.figures import choose
from reports.figures.data import Figures
from reports.load import load
from reports.results import Results

FILES = [
    *("results.md", "results.tex", "results.csv", "cells.csv"),
    *("intervals.csv", "pairwise.csv", "components.csv"),
    *("scores.md", "scores.tex", "classes.md", "classes.tex", "classes.csv"),
    "report.html",
]
FIGURES = [
    f"{figure}.{kind}"
    for figure in (
        "finetune-heartbeat-differences-in-overall",
        "finetune-heartbeat-label-efficiency",
        "linear-heartbeat-differences-in-overall",
        "finetune-heartbeat-confusion-ptb-xl",
        "finetune-heartbeat-classes-ptb-xl",
        "finetune-heartbeat-confusion-chapman",
        "finetune-heartbeat-classes-chapman",
    )
    for kind in ("png", "pdf")
]


def files_of(out: Path) -> dict[str, bytes]:
    """All files of a report."""
    return {str(file.relative_to(out)): file.read_bytes() for file in out.rglob("*.*") if file.is_file()}


def figure_of_run(run: Results, folder: Path, *_: object) -> Figures:
    """In place of the figures: one named after the run, of its rows."""
    file = folder / "figures" / f"{Path(run.name.partition('@')[0]).name}.png"
    file.parent.mkdir(parents=True, exist_ok=True)
    file.write_bytes(
        b"\x89PNG\r\n\x1a\n" + bytes(16) + f"{Path(run.name.partition('@')[0]).name}: {len(run.rows)}".encode()
    )
    return Figures((file,), ())


def draw_by(monkeypatch: pytest.MonkeyPatch, write_figures: Callable[..., object]) -> None:
    monkeypatch.setattr(sys.modules[choose.__name__], "write_figures", write_figures)


@pytest.fixture
def drawn_quickly(monkeypatch: pytest.MonkeyPatch) -> None:
    """One small figure instead of all."""
    draw_by(monkeypatch, figure_of_run)


@pytest.mark.draws
def test_all_files_are_written_from_one_reading(
    store_root: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    read: list[str] = []
    out = tmp_path / "out"
    with monkeypatch.context() as patched:
        for name in ("load_row", "card"):

            def counting(
                self: Store,
                key: str,
                *place: object,
                of: str = name,
                call: Callable[..., object] = getattr(Store, name),  # noqa: B008
            ) -> object:
                read.append(f"{of} {key}")
                return call(self, key, *place)

            patched.setattr(Store, name, counting)
        first = build_report(load(store_root), out)
    assert len(read) == len(set(read)) > 36
    assert [table.name for table in first.tables] == ["finetune-heartbeat", "linear-heartbeat"]
    assert [file.name for file in first.files] == [*FILES, *FIGURES]
    assert first.problems == ()
    written = files_of(out)
    assert set(written) == {*FILES, *(f"figures/{name}" for name in FIGURES)}
    assert len(written["cells.csv"].splitlines()) == 1 + 33
    assert b"\\begin{table*}" in written["results.tex"]


@pytest.mark.usefixtures("drawn_quickly")
def test_a_run_that_was_resumed_gives_the_bytes_of_one_that_was_not(
    write_store: Callable[..., Path], tmp_path: Path
) -> None:
    """It was reported when it was open, filled in another order, and took other times, which the page tells."""
    build_report(load(write_store("a", complete=True)), tmp_path / "whole")
    out = tmp_path / "resumed"
    build_report(load(write_store("b", backwards=True)), out)
    before = files_of(out)
    longer = {"seconds": 99.0}
    resumed = write_store(
        "b", backwards=True, complete=True, alter=lambda row: replace(row, training=row.training | longer)
    )
    build_report(load(resumed), out)
    whole, after = files_of(tmp_path / "whole"), files_of(out)
    assert {name: after[name] for name in FILES[:-1]} == {name: whole[name] for name in FILES[:-1]}
    assert not [name for name in ("report.html", "figures/b.png") if after[name] == before[name]]


@pytest.mark.usefixtures("drawn_quickly")
@pytest.mark.parametrize(
    ("protocol", "unit", "units"),
    [
        ("strict", None, ["recording"]),
        ("paper", "recording", ["recording"]),
        ("strict", "both", ["heartbeat", "recording"]),
    ],
)
def test_the_score_unit_is_that_of_the_protocol_where_none_is_chosen(
    write_store: Callable[..., Path], tmp_path: Path, protocol: str, unit: str | None, units: list[str]
) -> None:
    root = write_store(alter_plan=lambda plan: replace(plan, config=plan.config | {"protocol": protocol}))
    report = build_report(load(root), tmp_path / "out", unit=unit)
    assert sorted({table.unit for table in report.tables}) == units
    with pytest.raises(ValueError, match="score unit 'beat' is not known: choose heartbeat, recording or both"):
        build_report(load(root), tmp_path / "out", unit="beat")


def test_tables_come_without_files_where_nothing_can_be_written(store_root: Path, disk: Path) -> None:
    subprocess.run(["mount", "-o", "remount,ro", disk], check=True)
    report = build_report(load(store_root), disk / "out")
    assert [table.name for table in report.tables] == ["finetune-heartbeat", "linear-heartbeat"]
    assert report.files == ()
    assert report.problems == (f"every file: {disk / 'out'} cannot be written to (Read-only file system)",)


@pytest.mark.usefixtures("drawn_quickly")
def test_a_plan_without_rows_gives_dashes(store_root: Path, tmp_path: Path) -> None:
    for file in (store_root / "cells").iterdir():
        file.unlink()
    report = build_report(load(store_root), tmp_path / "out")
    assert {score.printed for block in report.tables[0].blocks for line in block.lines for score in line.scores} == {
        "–"
    }
    assert "Cells: 0 of 32 finished, 32 not run." in (tmp_path / "out" / "results.md").read_text()
    assert (tmp_path / "out" / "cells.csv").read_text() == "variant,evaluation,dataset,ratio,seed,subset,key\n"


@pytest.mark.usefixtures("drawn_quickly")
def test_a_report_names_its_files_what_failed_and_what_is_damaged(store_root: Path, tmp_path: Path) -> None:
    key = json.loads((store_root / "plans" / "plan-of-the-test.json").read_text())["cells"][0]["key"]
    (store_root / "cells" / f"{key}.json").write_text("{")
    out = tmp_path / "out"
    report = build_report(load(store_root), out, landscape=True)
    ((failed, _),) = report.failures
    assert failed == "PMQ (Chapman, 1 %, seed 42): RuntimeError: the loss is not finite"
    assert [f"{key}.json" in problem for problem in report.problems] == [True]
    assert report.files == tuple(out / name for name in (*FILES, "figures/runs.png"))
    assert "\\begin{sidewaystable*}" in (out / "results.tex").read_text()


def test_reports_need_neither_torch_nor_rich() -> None:
    forbidden = "{'torch', 'rich', 'wfdb'}"
    code = f"import sys, reports.build\nsys.exit(bool({forbidden} & set(sys.modules)))"
    root = Path(__file__).resolve().parents[2]
    assert subprocess.run([sys.executable, "-c", code], cwd=root, check=False).returncode == 0
