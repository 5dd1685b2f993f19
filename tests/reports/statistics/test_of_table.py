"""What statistics say of a table reaches it: ties are marked, gates are in no family, and every line can be traced."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from io import StringIO
from pathlib import Path

import numpy as np
import pandas as pd
import pytest

from benchmark.results.rows import Predictions
from reports.build import build_report
from reports.runs.kept import FOLDER, kept_in
from reports.runs.planned_tables import layouts
from reports.runs.run import open_run
from reports.statistics.of_table import TableStatistics, joined, statistics_of
from reports.tables.table import make_table

PATIENTS, SEEDS = 400, (41, 42, 43, 44)


def predictions(right: float, seed: int, patients: int = PATIENTS) -> Predictions:
    """Two classes, one window per patient, of which a share is decided rightly; which ones the seed draws."""
    truth = np.arange(patients) % 2
    random = np.random.default_rng([seed, round(100 * right)])
    decided = np.where(random.random(patients) < right, truth, 1 - truth)
    probability = np.full((patients, 2), 0.2, np.float32)
    probability[np.arange(patients), decided] = 0.8
    names = np.array([f"p{number}" for number in range(patients)])
    return Predictions(probability, np.eye(2, dtype=np.int64)[truth], names, names)


@pytest.fixture
def root(write_predictions: Callable[..., Path]) -> Path:
    """Two rows that are as good as each other, and one that is not."""
    rights = {"one": 0.9, "other": 0.89, "poor": 0.5}
    found = {
        (variant, "ptb-xl", 0.3, seed): predictions(right, seed) for variant, right in rights.items() for seed in SEEDS
    }
    return write_predictions(found)


def test_what_cannot_be_told_from_the_best_is_a_tie_and_what_can_is_none(root: Path) -> None:
    run = open_run(root)
    (layout,) = layouts(run.plan, "finetune")
    statistics = statistics_of(run, layout, "heartbeat")
    acc = {variant for ratio, dataset, metric, variant in statistics.tied if (dataset, metric) == ("ptb-xl", "acc")}
    assert len(acc) == 1
    assert acc < {"one", "other"}
    assert any(line.startswith("≈: not significantly different from the best") for line in statistics.words)


def test_statistics_that_were_kept_are_the_same_to_the_bit(root: Path, tmp_path: Path) -> None:
    run = open_run(root)
    (layout,) = layouts(run.plan, "finetune")
    first, again = (statistics_of(run, layout, "heartbeat", kept_in(tmp_path, run)) for _ in range(2))
    assert (tmp_path / FOLDER).is_dir()
    assert replace(first, frames={}) == replace(again, frames={})
    assert first.frames.keys() == again.frames.keys() == {"intervals", "pairwise", "components"}
    for name, frame in first.frames.items():
        pd.testing.assert_frame_equal(again.frames[name], frame, check_exact=True)


def test_the_intervals_are_from_two_thousand_resamples(root: Path) -> None:
    run = open_run(root)
    (layout,) = layouts(run.plan, "finetune")
    details = statistics_of(run, layout, "heartbeat").details
    assert any("95 %, from 2000 resamples of the test patients" in line for line in details)


@pytest.mark.parametrize(("protocol", "shared"), [("paper", True), ("strict", False)])
def test_components_say_one_labelled_subset_where_the_protocol_shares_it(
    root: Path, protocol: str, shared: bool
) -> None:
    run = open_run(root)
    run = replace(run, plan=replace(run.plan, config={**run.plan.config, "protocol": protocol}))
    (layout,) = layouts(run.plan, "finetune")
    remarks = statistics_of(run, layout, "heartbeat").frames["components"]["remark"]
    assert remarks.str.endswith("one labelled subset").any() == shared


def test_ties_are_marked_in_the_table_but_not_on_what_is_bold(root: Path) -> None:
    run = open_run(root)
    (layout,) = layouts(run.plan, "finetune")
    statistics = statistics_of(run, layout, "heartbeat")
    everything = replace(statistics, tied=frozenset((0.3, "ptb-xl", "f1", v) for v in ("one", "other", "poor")))
    table = make_table(run, layout, "heartbeat", everything)
    f1 = {line.variant: line.scores[0] for line in table.blocks[0].lines}
    assert [score.best or score.tie for score in f1.values()] == [True, True, True]
    assert not any(score.best and score.tie for score in f1.values())
    assert not any(score.tie for line in table.blocks[0].lines for score in line.scores[1:])


def test_overall_is_judged_on_the_columns_of_its_own_table(root: Path) -> None:
    run = open_run(root)
    (layout,) = layouts(run.plan, "finetune")
    frame = statistics_of(run, replace(layout, metrics=("f1",)), "heartbeat").frames["intervals"]
    assert set(frame["metric"]) == {"f1", "overall"}
    f1, overall = (frame[frame["metric"] == metric]["mean"].to_numpy() for metric in ("f1", "overall"))
    np.testing.assert_array_equal(overall, f1)  # one dataset


def test_gates_are_in_no_family(root: Path) -> None:
    run = open_run(root)
    plan = replace(run.plan, roles={"poor": {"role": "gate", "of": "", "knob": "", "value": None}})
    run = replace(run, plan=plan)
    (layout,) = layouts(plan, "finetune")
    pairs = statistics_of(run, layout, "heartbeat").frames["pairwise"]
    assert set(pairs["first"]) | set(pairs["second"]) == {"one", "other"}


def test_one_file_holds_the_lines_of_all_tables_by_name(root: Path, tmp_path: Path) -> None:
    build_report(open_run(root), tmp_path / "out", unit="both")
    pairs = pd.read_csv(tmp_path / "out" / "pairwise.csv")
    assert set(pairs["table"]) == {"finetune-heartbeat", "finetune-recording"}
    assert set(zip(pairs["first"], pairs["second"], strict=True)) == {
        ("one", "other"), ("one", "poor"), ("other", "poor"),
    }  # fmt: skip
    assert pd.read_csv(StringIO(joined({}, "pairwise"))).empty


def test_in_the_file_of_all_tables_a_column_stays_that_some_lines_have_no_value_of() -> None:
    frames = [
        pd.DataFrame({"first": ["pmq", "moco"], "repeat": [0.95, np.nan], "remark": [np.nan, np.nan]}),
        pd.DataFrame({"first": ["byol"], "repeat": [np.nan], "remark": ["one seed"]}),
    ]
    tables = {name: TableStatistics(frames={"pairwise": own}) for name, own in zip("ab", frames, strict=True)}
    lines = ["table,first,repeat,remark", "a,pmq,0.95,", "a,moco,,", "b,byol,,one seed"]
    assert joined(tables, "pairwise").splitlines() == lines


def test_cells_tested_on_other_patients_are_a_problem_and_no_statistic(
    write_predictions: Callable[..., Path], tmp_path: Path
) -> None:
    found = {("one", "ptb-xl", 0.3, 41): predictions(0.9, 41), ("other", "ptb-xl", 0.3, 41): predictions(0.9, 41, 350)}
    report = build_report(open_run(write_predictions(found)), tmp_path / "out")
    assert [problem for problem in report.problems if "tested on different windows of ptb-xl" in problem]
    assert len(report.tables) == 1


def role(kind: str, of: str = "", knob: str = "") -> dict[str, object]:
    return {"role": kind, "of": of, "knob": knob, "value": None}


def test_a_table_and_its_statistics_have_the_same_rows_ratios_and_columns(
    write_predictions: Callable[..., Path],
) -> None:
    """The comparison with a gate that alone has a third ratio, ablations at one ratio, and a sweep at another."""
    ratios = {"one": (0.3, 0.01), "other": (0.3, 0.01), "gate": (1.0, 0.3, 0.01), "one:w/o": (0.3,), "one:k=2": (0.01,)}
    found = {
        (variant, dataset, ratio, seed): predictions(0.9, seed, 40)
        for variant, own in ratios.items()
        for dataset in ("ptb-xl", "chapman")
        for ratio in own
        for seed in (41, 42)
    }
    run = open_run(write_predictions(found))
    roles = {"gate": role("gate"), "one:w/o": role("ablation", "one"), "one:k=2": role("sweep", "one", "k")}
    run = replace(run, plan=replace(run.plan, roles=roles))
    main, ablations, sweep = layouts(run.plan, "finetune")
    assert [layout.ratios for layout in (main, ablations, sweep)] == [(0.3, 0.01, 1.0), (0.3,), (0.01,)]
    for layout in (main, ablations, sweep):
        table, known = make_table(run, layout, "heartbeat"), statistics_of(run, layout, "heartbeat")
        shown = {
            (block.ratio, column.dataset, column.metric, line.variant): score
            for block in table.blocks
            for line in block.lines
            for column, score in zip(table.columns, line.scores, strict=True)
            if not line.gate
        }
        frame = known.frames["intervals"][["ratio", "dataset", "metric", "variant"]]
        assert set(frame.itertuples(index=False, name=None)) == set(shown)
        assert {key for score in shown.values() for key in score.keys} == {cell.key for cell in layout.competing}
        assert {line.variant for block in table.blocks for line in block.lines if line.gate} == set(layout.gates)


@pytest.mark.filterwarnings("error")
def test_a_column_without_a_value_in_one_table_keeps_its_place_and_warns_of_nothing() -> None:
    frames = [
        pd.DataFrame({"ratio": [0.3], "low": [float("nan")], "seeds": [1], "remark": ["one seed"]}),
        pd.DataFrame({"ratio": [0.1], "low": [0.25], "seeds": [2], "remark": [""]}),
    ]
    statistics = {name: TableStatistics(frames={"x": frame}) for name, frame in zip("ab", frames, strict=True)}
    assert joined(statistics, "x") == "table,ratio,low,seeds,remark\na,0.3,,1,one seed\nb,0.1,0.25,2,\n"
