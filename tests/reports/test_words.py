"""What is said of a table is true of what was run: caption, footers, and which rows beat an untrained encoder."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

import pandas as pd
import pytest

from benchmark.results.names import LEADS
from benchmark.results.store import Plan, PlannedCell
from reports.inference import TableStatistics
from reports.load import load
from reports.results import Layout, Results, layouts
from reports.score_tables import LATEX
from reports.words import caption, footers, verdict, write_files
from tests.reports.conftest import CONFIG

READER = {"role": "method", "of": "", "hyperparameter": "", "value": None, "reads_reports": True}


def results_of(protocol: str = "strict", *ratios: float) -> tuple[Results, Layout]:
    cells = [PlannedCell("0" * 16, "pmq", "finetune", "ptb-xl", ratio, 41) for ratio in ratios or (0.3, 0.01)]
    plan = Plan(
        key="0" * 16,
        config=CONFIG | {"protocol": protocol},
        variants={"random": "Random", "pmq": "PMQ", "moco": "MoCo", "etp": "ETP", "features": "Features"},
        datasets={"ptb-xl": {"title": "PTB-XL", "simulated": False}},
        pretraining={"simulated": False},
        roles={"etp": READER},
        cells=cells,
    )
    (layout,) = layouts(plan, "finetune")
    return Results("runs", plan, {}, {}, {}, ()), layout


def differences(lines: list[tuple[float, str, float, str]], seeds: int = 5) -> pd.DataFrame:
    """(ratio, row, points above Random, 'significant', 'equivalent' or '') with intervals of ± 2 points."""
    return pd.DataFrame(
        [
            {
                "ratio": ratio, "reference": "random", "variant": variant, "difference": points / 100,
                "low_holm": points / 100 - 0.02, "high_holm": points / 100 + 0.02, "seeds": seeds,
                "significant": what == "significant", "equivalent": what == "equivalent",
            }
            for ratio, variant, points, what in lines
        ]
    )  # fmt: skip


def overall(*baselines: tuple[float, str, float, int]) -> pd.DataFrame:
    """Overall of Random and PMQ at two label shares, and of baselines: (ratio, row, percent, columns)."""
    rows = [(0.3, "random", 80.0, 9), (0.3, "pmq", 70.0, 9), (0.01, "random", 50.0, 9), (0.01, "pmq", 60.0, 9)]
    frame = pd.DataFrame([*rows, *baselines], columns=["ratio", "variant", "mean_percent", "n"])
    overall = frame.assign(metric="overall", baseline=frame["variant"].isin(["features", "minirocket"]))
    return pd.concat([overall, overall.assign(metric="f1", n=20)], ignore_index=True)


def test_a_verdict_names_first_the_rows_that_beat_the_untrained_encoder_and_where() -> None:
    lines = [
        (0.3, "pmq", 4.0, "significant"), (0.3, "moco", -3.0, "significant"), (0.3, "etp", 9.0, "significant"),
        (0.01, "pmq", 1.0, ""), (0.01, "moco", 0.1, "equivalent"), (0.01, "etp", 8.0, "significant"),
    ]  # fmt: skip
    answer, limits, first, _ = verdict(*results_of(), differences(lines), overall())
    assert answer.splitlines() == [
        "Better than the untrained encoder (Random): ETP (reads reports) at both label shares; PMQ at 30 %.",
        "Within 2 points of it: MoCo at 1 %.",
        "Not separable from it: PMQ at 1 %.",
        "Worse: MoCo at 30 %.",
    ]
    assert limits == "5 seeds; test patients: ; baselines: none. Not separable does not mean equal."
    assert first == (
        "30 % of the labels, Overall minus that of Random in points: higher: ETP (reads reports) +9.0 (7.0 to 11.0), "
        "PMQ +4.0 (2.0 to 6.0); lower: MoCo −3.0 (−5.0 to −1.0)."
    )
    none, *_ = verdict(*results_of("strict", 0.3), differences([(0.3, "pmq", 4.0, "")]), overall())
    assert none.splitlines() == [
        "Better than the untrained encoder (Random): no row.",
        "Not separable from it: PMQ with 30 % of the labels.",
    ]
    assert verdict(*results_of(), pd.DataFrame(), overall()) == []


@pytest.mark.parametrize(("protocol", "seeds"), [("paper", 8), ("strict", 1)])
def test_networks_of_one_pretraining_are_no_methods(protocol: str, seeds: int) -> None:
    """Untrained encoders differ from seed to seed under `paper` too; that counts as no pretraining."""
    lines = differences([(0.3, "pmq", 4.0, "significant")], seeds=seeds)
    _, limits, *_ = verdict(*results_of(protocol), lines, overall())
    assert "row is one pretraining; that one method is better than another does not follow." in limits


def test_a_baseline_of_fixed_features_above_every_pretrained_row_is_named_with_what_follows() -> None:
    """An untrained encoder is no pretrained row, and an Overall of fewer columns is not compared."""
    lines, results = differences([(0.3, "pmq", 4.0, "significant")]), results_of()
    scores = overall((0.3, "features", 71.26, 9), (0.01, "features", 60.0, 9), (0.3, "minirocket", 90.0, 8))
    _, limits, *_ = verdict(*results, lines, scores)
    assert limits.endswith(
        "Higher in Overall than every pretrained row: the baseline Features (71.3 at 30 %). It is a different model "
        "without pretraining: this is no comparison of encoders."
    )
    _, limits, *_ = verdict(*results, lines, overall((0.3, "features", 69.0, 9)))
    assert "Features" not in limits


def test_a_verdict_names_the_baselines_that_were_there() -> None:
    results, layout = results_of()
    there = replace(layout, variants=("pmq", "random"), baselines=frozenset({"random"}))
    _, limits, *_ = verdict(results, there, differences([(0.3, "pmq", 4.0, "")]), overall())
    assert limits.startswith("5 seeds; test patients: ; baselines: Random.")


def footers_of(results: Results, statistics: TableStatistics | None = None) -> list[str]:
    (layout,) = layouts(results.plan, "finetune")
    return footers(results, layout, "heartbeat", statistics or TableStatistics())


def test_a_caption_is_made_of_what_was_run(store_root: Path) -> None:
    results = load(store_root)
    (layout,) = layouts(results.plan, "finetune")
    text = caption(results, layout)
    assert text.startswith(
        "Macro F1, macro AUROC and ACC in percent, mean±std over seeds 41, 42. Overall: mean of the 6 "
    )
    assert text.endswith("Simulated ECGs: no ranking of methods follows.")
    assert "A config's own words." not in text


def test_footers_name_cells_data_errors_and_patients_who_were_not_scored(store_root: Path) -> None:
    results = load(store_root)
    lines = footers_of(replace(results, plan=replace(results.plan, warnings=["test recordings were trained on"])))
    assert lines[0] == "Cells: 29 of 32 finished, 1 failed, 2 not run; commit 0123456789ab."
    assert lines[1].startswith(
        "Scored per heartbeat; protocol paper, preset unified, single labels. Data: PTB-XL (simulated), Chapman (real)"
    )
    assert "Warning: test recordings were trained on." in lines
    counted = {"recordings": 100, "left_out": {"several labels": 40, "no label": 3}}
    datasets = results.plan.datasets | {"chapman": results.plan.datasets["chapman"] | counted}
    of_plan = footers_of(replace(results, plan=replace(results.plan, datasets=datasets)))
    assert "Left out of Chapman: of 100 recordings 40 with several labels and 3 with no label." in of_plan
    (rates,) = [line for line in lines if line.startswith("Learning rates chosen on validation, median: ")]
    assert "MoCo 0.001 at 30 %" in rates
    assert "MoCo 0.00035 at 1 %" in rates
    assert "Failed: PMQ (Chapman, 1 %, seed 42): RuntimeError: the loss is not finite" in lines
    assert "Test patients: PTB-XL 2, Chapman 2. Without a scored recording: PTB-XL HYP 3 of 4." in lines


def test_a_footer_names_how_signals_are_taken_where_it_is_not_as_in_the_paper(store_root: Path) -> None:
    results = load(store_root)
    paper = {"labels": "single", "rate": 250, "standardise": "recording", "pool": "mean", "leads": list(LEADS)}

    def settings(**changes: object) -> str:
        config = results.plan.config | {"data": paper | changes}
        return footers_of(replace(results, plan=replace(results.plan, config=config)))[1]

    assert footers_of(replace(results, rows={}, failures={}))[0] == "Cells: 0 of 32 finished, 32 not run."
    assert "Signals" not in settings(segmentation={"kind": "heartbeats"})
    crops = {"kind": "recordings", "seconds": 2.5, "stride": None}
    assert settings(rate=100, pool="max", leads=["I", "II"], segmentation=crops).endswith(
        ". Signals: rate 100, pool max, leads I II, crops of 2.5 s every 1.25 s."
    )
    assert settings(segmentation=crops | {"stride": 2}).startswith("Scored per window; ")


def test_limits_state_what_a_mark_means_and_the_detectable_difference(store_root: Path) -> None:
    results = load(store_root)
    column = {"ratio": 0.3, "dataset": "", "metric": "overall", "seeds": 2}
    detectable = {"detectable": 0.05, "detectable_2x": 0.04, "detectable_4x": 0.03}
    statistics = TableStatistics(pairs=pd.DataFrame([column | detectable]))
    *_, mark, last = footers_of(results, statistics)
    assert mark.startswith("≈: not separable from the best with these patients and seeds, and within 5 points")
    assert mark.endswith("over 2 seeds, which vary the evaluation of one pretraining per row.")
    assert last == "Detectable difference in Overall (power 80 %, one test, median): 5.0 points."
    strict = replace(results, plan=replace(results.plan, config=results.plan.config | {"protocol": "strict"}))
    assert footers_of(strict, statistics)[-1].endswith(
        "5.0 points; with twice the pretrainings 4.0, with four times 3.0."
    )


def test_control_characters_are_text_in_what_people_read_and_stay_in_what_programs_read(tmp_path: Path) -> None:
    write_files(tmp_path, dict.fromkeys(("a.md", "a.csv"), "Clinic\x1b[2J\u202e\n"))
    assert (tmp_path / "a.md").read_text() == "Clinic\\x1b[2J\\u202e\n"
    assert (tmp_path / "a.csv").read_text() == "Clinic\x1b[2J\u202e\n"
    assert LATEX.text("Clinic\x1b\u202e\nA") == r"Clinic\textbackslash{}x1b\textbackslash{}u202e A"
