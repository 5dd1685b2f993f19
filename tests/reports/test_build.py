"""From a results folder to files: what is written, the same bytes from the same rows, and the command line."""

from __future__ import annotations

import json
import os
import subprocess
import sys
import time
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from dataclasses import replace
from pathlib import Path

import pytest

from benchmark.results.store import Plan, Store
from reports.__main__ import main
from reports.build import build_report
from reports.figures import choose
from reports.figures.data import Figures
from reports.runs import FOLDER, Run, open_run
from reports.statistics import bootstrap

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


def test_writes_all_files(store_root: Path, tmp_path: Path) -> None:
    report = build_report(open_run(store_root), tmp_path / "out")
    assert [table.name for table in report.tables] == ["finetune-heartbeat", "linear-heartbeat"]
    assert [file.name for file in report.files] == [*FILES, *FIGURES]
    assert sorted(file.name for file in (tmp_path / "out").iterdir()) == sorted([*FILES, "figures", ".kept"])
    assert sorted(file.name for file in (tmp_path / "out" / "figures").iterdir()) == sorted(FIGURES)
    assert report.problems == ()
    assert len((tmp_path / "out" / "cells.csv").read_text().splitlines()) == 1 + 33


def files_of(out: Path) -> dict[str, bytes]:
    """All files of a report but the values kept for the next one."""
    return {
        str(file.relative_to(out)): file.read_bytes()
        for file in out.rglob("*.*")
        if file.is_file() and FOLDER not in file.parts
    }


def test_a_second_report_resamples_and_draws_nothing(
    store_root: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    def refuse(*_: object, **__: object) -> None:
        raise AssertionError("worked out again")

    first = build_report(open_run(store_root), tmp_path)
    written = files_of(tmp_path)
    with monkeypatch.context() as patched:
        patched.setattr(bootstrap, "resampled_scores", refuse)
        patched.setattr(choose, "write_figures", refuse)
        assert build_report(open_run(store_root), tmp_path) == first
    assert files_of(tmp_path) == written
    for file in (*(tmp_path / FOLDER).iterdir(), *(tmp_path / "figures").iterdir()):
        file.write_bytes(b"damaged")
    assert build_report(open_run(store_root), tmp_path) == first
    assert files_of(tmp_path) == written


def test_a_row_that_changed_is_in_the_next_report(write_store: Callable[..., Path], tmp_path: Path) -> None:
    build_report(open_run(write_store()), tmp_path / "out")
    build_report(open_run(write_store(complete=True)), tmp_path / "out")
    build_report(open_run(write_store("again", complete=True)), tmp_path / "fresh")
    assert files_of(tmp_path / "out") == files_of(tmp_path / "fresh")


@pytest.mark.parametrize(
    ("protocol", "unit", "units"),
    [
        ("paper", None, {"heartbeat"}),
        ("strict", None, {"recording"}),
        ("paper", "recording", {"recording"}),
        ("strict", "both", {"heartbeat", "recording"}),
    ],
)
def test_score_unit_follows_the_protocol_unless_asked(
    write_store: Callable[..., Path], tmp_path: Path, protocol: str, unit: str | None, units: set[str]
) -> None:
    def under_protocol(plan: Plan) -> Plan:
        return replace(plan, config=plan.config | {"protocol": protocol})

    report = build_report(open_run(write_store(alter_plan=under_protocol)), tmp_path / "out", unit=unit)
    assert {table.unit for table in report.tables} == units


@pytest.mark.attack("full disks and read-only places")
def test_a_full_disk_leaves_the_old_files_together(
    write_store: Callable[..., Path], disk: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Every file of the old report or every file of the new one: the disk fills up with the page."""
    monkeypatch.setattr("reports.figures.choose.write_figures", lambda *given: Figures((), ()))
    run, out = open_run(write_store("one", complete=True)), disk / "out"
    build_report(run, out)
    before = files_of(out)
    (disk / "ballast").write_bytes(bytes(max(0, os.statvfs(disk).f_bavail * os.statvfs(disk).f_bsize - 40_000)))
    with pytest.raises(OSError, match="No space left on device") as caught:
        build_report(open_run(write_store("two")), out)
    assert caught.value.filename == str(out)
    assert files_of(out) == before


@pytest.mark.attack("a report killed while it is written")
def test_new_tables_never_stand_beside_an_old_page(
    store_root: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("reports.figures.choose.write_figures", lambda *given: Figures((), ()))
    build_report(open_run(store_root), tmp_path)
    rename, moved = os.replace, []

    def killed_on_the_way(source: Path, target: Path) -> None:
        if len(moved) == 3:
            raise KeyboardInterrupt
        moved.append(target)
        rename(source, target)

    monkeypatch.setattr(os, "replace", killed_on_the_way)
    with pytest.raises(KeyboardInterrupt):
        build_report(open_run(store_root), tmp_path)
    assert len(moved) == 3
    assert not (tmp_path / "report.html").exists()


@pytest.mark.attack("full disks and read-only places")
def test_tables_come_without_files_where_nothing_can_be_written(store_root: Path, disk: Path) -> None:
    subprocess.run(["mount", "-o", "remount,ro", disk], check=True)
    report = build_report(open_run(store_root), disk / "out")
    assert [table.name for table in report.tables] == ["finetune-heartbeat", "linear-heartbeat"]
    assert report.files == ()
    assert report.problems == (f"every file: {disk / 'out'} cannot be written to (Read-only file system)",)


def write_figure_of_run(run: Run, folder: Path, *_: object) -> Figures:
    """In place of the figures: one named and filled by the run; other reports have time to come between."""
    file = folder / "figures" / f"{run.source.name}.png"
    file.parent.mkdir(parents=True)
    file.write_bytes(b"\x89PNG\r\n\x1a\n" + bytes(16) + run.source.name.encode())
    time.sleep(0.2)
    return Figures((file,), ())


@pytest.mark.attack("two reports into one folder")
def test_two_reports_at_once_leave_one_of_them_whole(
    write_store: Callable[..., Path], tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(choose, "write_figures", write_figure_of_run)
    runs = [open_run(write_store("one", complete=True)), open_run(write_store("two"))]
    alone = []
    for run in runs:
        build_report(run, tmp_path / run.source.name / "alone")
        alone.append(files_of(tmp_path / run.source.name / "alone"))
    for _ in range(3):
        with ThreadPoolExecutor() as pool:
            list(pool.map(lambda run: build_report(run, tmp_path / "out"), runs))
        assert files_of(tmp_path / "out") in alone


def test_figures_of_an_earlier_report_go_and_those_of_the_user_stay(
    write_store: Callable[..., Path], tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(choose, "write_figures", write_figure_of_run)
    build_report(open_run(write_store("one", complete=True)), tmp_path / "out")
    (tmp_path / "out" / "figures" / "mine.png").write_bytes(b"the user's")
    build_report(open_run(write_store("two")), tmp_path / "out")
    build_report(open_run(write_store("two")), tmp_path / "out")  # draws nothing
    assert {file.name for file in (tmp_path / "out" / "figures").iterdir()} == {"two.png", "mine.png"}


def test_tables_of_latex_lie_across_the_page_where_asked(
    store_root: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setattr(choose, "write_figures", lambda *given: Figures((), ()))
    for flags, environment in (([], "table*"), (["--latex-landscape"], "sidewaystable*")):
        main(["--results", str(store_root), "--out", str(tmp_path / "out"), *flags])
        text = (tmp_path / "out" / "results.tex").read_text()
        assert f"\\begin{{{environment}}}" in text
    capsys.readouterr()


def test_an_unknown_unit_is_refused(store_root: Path, tmp_path: Path) -> None:
    with pytest.raises(ValueError, match="score unit 'beat' is not known: choose heartbeat, recording or both"):
        build_report(open_run(store_root), tmp_path / "out", unit="beat")


def test_a_resumed_run_gives_the_same_bytes(write_store: Callable[..., Path], tmp_path: Path) -> None:
    """The second store was filled in two goes and in another order, and took other times."""
    write_store("resumed", backwards=True)
    resumed = write_store(
        "resumed",
        backwards=True,
        complete=True,
        alter=lambda row: replace(row, training=row.training | {"seconds": 99.0}),
    )
    build_report(open_run(write_store("whole", complete=True)), tmp_path / "a")
    build_report(open_run(resumed), tmp_path / "b")
    for name in set(FILES) - {"report.html"}:  # which tells what each cell took
        assert (tmp_path / "a" / name).read_bytes() == (tmp_path / "b" / name).read_bytes()


def test_a_plan_without_rows_gives_dashes(store_root: Path, tmp_path: Path) -> None:
    for file in (store_root / "cells").iterdir():
        file.unlink()
    report = build_report(open_run(store_root), tmp_path / "out")
    assert {score.printed for block in report.tables[0].blocks for line in block.lines for score in line.scores} == {
        "–"
    }
    assert "Cells: 0 of 32 finished, 32 not run." in (tmp_path / "out" / "results.md").read_text()
    assert (tmp_path / "out" / "cells.csv").read_text() == "key,variant,evaluation,dataset,ratio,seed\n"


def test_damaged_rows_are_named_on_stderr(store_root: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    key = json.loads((store_root / "plans" / "plan-of-the-test.json").read_text())["cells"][0]["key"]
    (store_root / "cells" / f"{key}.json").write_text("{")
    assert main(["--results", str(store_root), "--out", str(tmp_path / "out")]) == 0
    shown = capsys.readouterr()
    failed, left_out = shown.err.splitlines()
    page = tmp_path / "out" / "report.html"
    assert failed == f"failed: PMQ (Chapman, 1 %, seed 42): RuntimeError: the loss is not finite; traceback in {page}"
    assert left_out.startswith("left out: ")
    assert f"{key}.json" in shown.err
    figures = [f"figures/{name}" for name in FIGURES]
    assert shown.out.split() == [str(tmp_path / "out" / name) for name in (*FILES, *figures)]


def test_an_empty_folder_ends_with_one_line(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["--results", str(tmp_path / "nothing"), "--out", str(tmp_path / "out")]) == 1
    shown = capsys.readouterr()
    assert shown.out == ""
    assert len(shown.err.splitlines()) == 1
    assert not (tmp_path / "out").exists()


def test_reports_need_neither_torch_nor_rich() -> None:
    forbidden = "{'torch', 'rich', 'wfdb'}"
    code = f"import sys, reports.__main__, reports.tables.render\nsys.exit(bool({forbidden} & set(sys.modules)))"
    root = Path(__file__).resolve().parents[2]
    assert subprocess.run([sys.executable, "-c", code], cwd=root, check=False).returncode == 0


def test_a_run_is_read_once(store_root: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Each row and each card, whatever tables, figures and pages are made of them."""
    read: list[str] = []
    for name in ("load_sealed", "card"):
        first = getattr(Store, name)

        def counting(
            self: Store, key: str, *place: object, of: str = name, call: Callable[..., object] = first
        ) -> object:
            read.append(f"{of} {key}")
            return call(self, key, *place)

        monkeypatch.setattr(Store, name, counting)
    assert main(["--results", str(store_root), "--out", str(tmp_path / "out"), "--unit", "both"]) == 0
    assert len(read) == len(set(read)) > 36
