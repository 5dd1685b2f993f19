"""Panels of the page: pretrainings, skipped recordings, coverage, failures and matrices of differences."""

from __future__ import annotations

from dataclasses import fields, replace
from pathlib import Path
from typing import Any

import pandas as pd
import pytest

from benchmark.data.prepare import Skipped, write_skipped
from benchmark.results.store import Failure
from benchmark.training import health as measured
from reports.load import load
from reports.page import interval_texts
from reports.page_panels import (
    HEADINGS,
    HEIGHT,
    WIDTH,
    SkippedRecording,
    Square,
    course,
    coverage,
    failures,
    learned,
    matrices,
    read_skipped,
    sources,
)
from reports.statistics.table import TableStatistics
from reports.tables.render import Block, Column, Line, Table

CARD: dict[str, Any] = {
    "seed": 42, "loss": [3.0, 2.0, 1.5], "updates": 120, "seconds": 61.4,
    "device": {"type": "cpu", "name": "x86_64", "threads": 2}, "precision": "float32",
    "health": [
        {"epoch": 0, "effective_rank": 6.7, "mean_cosine": 0.9, "retrieval": 0.1, "retrieval_chance": 0.02},
        {
            "epoch": 1, "effective_rank": 9.0, "mean_cosine": 0.5, "retrieval": 0.3, "retrieval_chance": 0.02,
        },
    ],
}  # fmt: skip


def test_a_pretraining_is_told_by_its_first_and_last_epoch() -> None:
    (line,) = learned({"pmq": {"key": CARD}}, {"pmq": "PMQ"})
    assert (line.title, line.key, line.seed) == ("PMQ", "key", "42")
    assert line.cost == "3 epochs, 120 updates, 61 s"
    assert line.machine == "x86_64, 2 threads, float32"
    assert line.chance == "0.02"
    assert [one.text for one in line.measures] == ["6.70 → 9.00", "0.90 → 0.50", "–", "–", "0.10 → 0.30"]
    assert not line.collapsed


def test_pretrainings_stand_once_and_an_untrained_encoder_or_an_empty_card_has_a_line() -> None:
    found = learned({"pmq": {"k": CARD}, "pmq:m=1": {"k": CARD, "l": CARD}}, {"pmq": "PMQ", "pmq:m=1": "M"})
    assert [(line.title, line.key) for line in found] == [("PMQ", "k"), ("M", "l")]
    flat = {"health": [{"epoch": 0, "effective_rank": 1.9, "mean_cosine": 0.995}]}
    untrained, empty = learned({"random": {"a": flat, "b": {}}}, {"random": "Random"})
    assert (untrained.cost, untrained.loss.text, untrained.measures[0].text) == ("not trained", "–", "1.90")
    assert untrained.collapsed == "untrained: the features hardly differ between windows"
    assert (empty.chance, empty.measures[0].points) == ("–", "")
    assert set(HEADINGS) <= {field.name for field in fields(measured.EpochHealth)}


@pytest.mark.parametrize(("rank", "cosine", "collapsed"), [(1.9, 0.5, True), (2.0, 0.99, False), (9.0, 0.995, True)])
def test_collapsed_features_are_those_that_a_run_warns_of(rank: float, cosine: float, collapsed: bool) -> None:
    last = {"epoch": 1, "effective_rank": rank, "mean_cosine": cosine}
    (line,) = learned({"pmq": {"key": CARD | {"health": [last]}}}, {"pmq": "PMQ"})
    assert line.collapsed == ("collapsed: the features hardly differ between windows" if collapsed else "")
    assert bool(measured.health_warnings("pmq", measured.read_health({"health": [last]}), "")) == collapsed


def test_a_course_runs_from_the_lowest_to_the_highest() -> None:
    drawn = course([1.0, None, 3.0, 2.0])
    assert drawn.text == "1.00 → 2.00"
    points = [tuple(map(float, point.split(","))) for point in drawn.points.split()]
    assert points == [(0, HEIGHT - 1), (WIDTH * 2 / 3, 1), (WIDTH, HEIGHT / 2)]
    assert course([-0.5, -0.5]).text == "−0.50 → −0.50"
    assert course([None]).text == "–"


RATE, LEAD = "rate under 50/min", "all-zero lead"


def skips() -> list[Skipped]:
    return [Skipped(f"r{n}", f"p{n}", (), reason) for n, reason in enumerate([f"{RATE}: 41", f"{RATE}: 44", LEAD])]


def test_the_file_of_a_run_is_read_back_and_no_other_is_taken_for_it(tmp_path: Path) -> None:
    assert read_skipped(tmp_path / "skipped.csv") == []
    write_skipped({"ptb-xl": skips()}, tmp_path / "skipped.csv")
    assert read_skipped(tmp_path / "skipped.csv")[0] == SkippedRecording("ptb-xl", "r0", "p0", f"{RATE}: 41")
    assert len(read_skipped(tmp_path / "skipped.csv")) == 3
    (tmp_path / "skipped.csv").write_text("a,b\n1,2\n")
    assert read_skipped(tmp_path / "skipped.csv") == []
    (tmp_path / "skipped.csv").write_text("dataset,recording,patient,reason\nptb-xl,r1\n")
    assert read_skipped(tmp_path / "skipped.csv") == [SkippedRecording("ptb-xl", "r1", "", "")]
    (tmp_path / "skipped.csv").write_bytes(b"\xff\x00\n")
    assert read_skipped(tmp_path / "skipped.csv") == []


def test_recordings_are_listed_only_where_they_are_those_the_plan_counted(store_root: Path) -> None:
    plan = load(store_root).plan
    own = [SkippedRecording("ptb-xl", skip.recording, skip.patient, skip.reason) for skip in skips()]
    corpus, ptb_xl, chapman = sources(plan, own)
    assert (corpus.title, corpus.kind, corpus.skipped) == ("MIMIC-IV-ECG", "simulated", 0)
    assert (ptb_xl.skipped, ptb_xl.reasons, ptb_xl.listed) == (3, ((RATE, 2), (LEAD, 1)), tuple(own))
    assert (chapman.kind, chapman.skipped, chapman.listed) == ("real", 0, ())
    assert list(sources(plan, own[1:]))[1].listed == ()
    both = plan.datasets["ptb-xl"] | {"name": "ptb-xl", "skipped": 4}
    (source,) = sources(replace(plan, pretraining=both, datasets={"ptb-xl": both}), [])
    assert source.reasons == (("reason not recorded", 4),)


def test_coverage_counts_the_patients_of_each_class_once(store_root: Path) -> None:
    lines = [(line.dataset, line.label, line.patients, line.unscored) for line in coverage(load(store_root))]
    assert lines == [("PTB-XL", "HYP", 4, 3), ("PTB-XL", "NORM", 20, 0), ("Chapman", "SB", 40, 0)]
    (hypertrophy, *_) = coverage(load(store_root))
    assert hypertrophy.reasons == "too short: 2, heart rate below 50/min: 1"


def test_cells_that_ended_in_one_error_stand_together(store_root: Path) -> None:
    run = load(store_root)
    first, second, *_ = run.plan.cells
    run = replace(run, damaged={cell.key: f"{cell.key}.json: cut off" for cell in (first, second)})
    damaged, failed = failures(run)
    assert (damaged.state, len(damaged.cells), damaged.error) == ("damaged", 2, "KEY.json: cut off")
    assert (failed.state, failed.error) == ("failed", "RuntimeError: the loss is not finite")
    assert failed.traceback.startswith("Traceback")
    assert failed.cells[0].startswith("PMQ, Chapman, 1 %, seed 42, finetune (")
    (long,) = failures(replace(run, damaged={}, failures={first.key: Failure("an error", "x" * 10_000 + "\nthe end")}))
    assert (long.error, len(long.traceback), long.traceback[-7:]) == ("an error", 8000, "the end")


PLACE = {"ratio": 0.1, "dataset": "", "metric": "overall"}


def pair(first: str, second: str, difference: float, p: float, **more: Any) -> dict[str, Any]:
    return PLACE | {"first": first, "second": second, "difference": difference, "p_holm": p} | {
        "low": difference - 0.01, "high": difference + 0.01, "p_equivalent": 0.5,
    } | more  # fmt: skip


@pytest.fixture
def table() -> Table:
    lines = tuple(Line(name, name.upper(), ()) for name in ("a", "b", "c", "gate"))
    columns = (Column("x", "f1", "X", "F1"), Column("", "overall", "", "Overall"))
    return Table("t", "finetune", "heartbeat", "T", "", columns, (Block(0.1, "10 % of the labels", lines),), (), ())


def test_each_pair_stands_above_and_below_the_diagonal(table: Table) -> None:
    pairs = [
        pair("a", "b", -0.0312, 0.0004),
        pair("a", "c", 0.02, 0.0499),
        pair("b", "c", 0.0001, 1.0, p_equivalent=0.01),
    ]
    (matrix,) = matrices(table, pd.DataFrame(pairs))
    assert (matrix.title, matrix.overall, matrix.rows) == ("Overall, 10 % of the labels", True, ("A", "B", "C"))
    same = Square(kind="same")
    assert matrix.squares == (
        (same, Square("−3.1", "behind", "−4.1 to −2.1 at 95 %"), Square("+2.0", "ahead", "+1.0 to +3.0 at 95 %")),
        (Square("<0.001", "told"), same, Square("0.0", "alike", "−1.0 to +1.0 at 95 %")),
        (Square("0.050", "told"), Square("1.00"), same),
    )


def test_a_pair_without_a_difference_is_a_dash(table: Table) -> None:
    nan = float("nan")
    pairs = [pair("a", "b", nan, nan), pair("a", "c", 0.02, nan, low=nan, high=nan)]
    (matrix,) = matrices(table, pd.DataFrame(pairs))
    assert [square.text for square in matrix.squares[0]] == ["", "–", "+2.0"]
    assert [square.kind for square in matrix.squares[0]] == ["same", "", ""]
    assert matrix.squares[0][2].hint == "interval not estimable"
    assert [row[0].text for row in matrix.squares[1:]] == ["–", "–"]


def test_matrices_are_of_the_rows_of_a_ratio_and_overall_comes_first(table: Table) -> None:
    nan = float("nan")
    pairs = [pair("a", "b", 0.1, 0.5, dataset="x", metric="f1"), pair("a", "b", 0.1, 0.5), pair("a", "far", nan, nan)]
    found = list(matrices(table, pd.DataFrame(pairs)))
    assert [matrix.title for matrix in found] == ["Overall, 10 % of the labels", "X F1, 10 % of the labels"]
    assert found[0].rows == ("A", "B")


def test_intervals_are_told_where_they_are_known() -> None:
    lines = [PLACE | {"variant": "a", "low": 0.549, "high": 0.572}, PLACE | {"variant": "b", "low": float("nan")}]
    statistics = TableStatistics(frames={"intervals": pd.DataFrame(lines)})
    assert interval_texts(statistics) == {(0.1, "", "overall", "a"): "54.9 to 57.2 at 95 %"}
    assert interval_texts(None) == interval_texts(TableStatistics()) == {}
