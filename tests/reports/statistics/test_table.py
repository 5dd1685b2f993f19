"""Intervals, pairs, ties, components and differences of a table, and how they reach it."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from io import StringIO
from pathlib import Path

import numpy as np
import pandas as pd
import pytest

from benchmark.results.names import OVERALL
from benchmark.results.store import Predictions
from reports.build import build_report
from reports.load import load
from reports.results import layouts
from reports.statistics.bootstrap import Floats, ScoreColumn
from reports.statistics.estimates import bounded, common_variance, holm
from reports.statistics.table import (
    FINE_TUNING,
    INTERVAL,
    PAIR,
    PATIENTS,
    PATIENTS_OF_ONE_RUN,
    PLACE,
    PRETRAINING,
    SUBSET,
    Difference,
    TableStatistics,
    components,
    differences,
    in_one_panel,
    intervals,
    joined,
    nested_variances,
    pairwise,
    seeds_error,
    sources,
    statistics_of,
    ties,
)
from reports.tables.table import make_table

OF_TABLE_PATIENTS, SEEDS = 400, (41, 42, 43, 44)


def predictions(right: float, seed: int, patients: int = OF_TABLE_PATIENTS) -> Predictions:
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


def test_what_cannot_be_told_from_the_best_is_a_tie(root: Path) -> None:
    run = load(root)
    (layout,) = layouts(run.plan, "finetune")
    first = statistics_of(run, layout, "heartbeat")
    acc = {variant for ratio, dataset, metric, variant in first.tied if (dataset, metric) == ("ptb-xl", "acc")}
    assert len(acc) == 1
    assert acc < {"one", "other"}
    assert any(line.startswith("≈: not significantly different from the best") for line in first.words)
    assert any("95 %, from 2000 resamples of the test patients" in line for line in first.details)
    assert first.frames.keys() == {"intervals", "pairwise", "components"}
    tied = frozenset((0.3, "ptb-xl", "f1", v) for v in ("one", "other", "poor"))
    lines = make_table(run, layout, "heartbeat", replace(first, tied=tied)).blocks[0].lines
    assert [score.best or score.tie for score in (line.scores[0] for line in lines)] == [True, True, True]
    assert not any(line.scores[0].best and line.scores[0].tie for line in lines), "what is bold is no tie"
    assert not any(score.tie for line in lines for score in line.scores[1:])


@pytest.mark.parametrize(("protocol", "shared"), [("paper", True), ("strict", False)])
def test_gates_are_in_no_family_and_components_name_a_shared_subset(root: Path, protocol: str, shared: bool) -> None:
    run = load(root)
    config = {**run.plan.config, "protocol": protocol}
    run = replace(run, plan=replace(run.plan, config=config, roles={"poor": role("gate")}))
    (layout,) = layouts(run.plan, "finetune")
    frames = statistics_of(run, layout, "heartbeat").frames
    assert frames["components"]["remark"].str.endswith("one labelled subset").any() == shared
    assert set(frames["pairwise"]["first"]) | set(frames["pairwise"]["second"]) == {"one", "other"}


def test_one_file_holds_the_lines_of_all_tables_by_name(root: Path, tmp_path: Path) -> None:
    build_report(load(root), tmp_path / "out", unit="both")
    pairs = pd.read_csv(tmp_path / "out" / "pairwise.csv")
    assert set(pairs["table"]) == {"finetune-heartbeat", "finetune-recording"}
    assert set(zip(pairs["first"], pairs["second"], strict=True)) == {
        ("one", "other"), ("one", "poor"), ("other", "poor"),
    }  # fmt: skip
    assert pd.read_csv(StringIO(joined({}, "pairwise"))).empty


def test_cells_tested_on_other_patients_are_a_problem_and_no_statistic(
    write_predictions: Callable[..., Path], tmp_path: Path
) -> None:
    found = {("one", "ptb-xl", 0.3, 41): predictions(0.9, 41), ("other", "ptb-xl", 0.3, 41): predictions(0.9, 41, 350)}
    report = build_report(load(write_predictions(found)), tmp_path / "out")
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
    run = load(write_predictions(found))
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
        pd.DataFrame({"ratio": [0.3, 0.1], "low": [np.nan] * 2, "high": [0.95, np.nan], "remark": ["one seed", ""]}),
        pd.DataFrame({"ratio": [0.1], "low": [0.25], "high": [np.nan], "remark": [""]}),
    ]
    statistics = {name: TableStatistics(frames={"x": frame}) for name, frame in zip("ab", frames, strict=True)}
    lines = ["table,ratio,low,high,remark", "a,0.3,,0.95,one seed", "a,0.1,,,", "b,0.1,0.25,,"]
    assert joined(statistics, "x").splitlines() == lines


@pytest.fixture(scope="module")
def f1(simulate_columns: Callable[..., list[ScoreColumn]], scatter: Callable[..., object]) -> ScoreColumn:
    """Three methods, the first far ahead of two equal ones."""
    generator = np.random.default_rng(5)
    design = {"methods": 3, "seeds": 4, "patients": 150, "scatter": scatter(), "advantage": 1.0}
    return simulate_columns(generator, resamples=300, **design)[0]


def test_holm_by_hand() -> None:
    p = np.array([0.01, 0.04, np.nan, 0.03, 0.5])
    assert holm(p)[[0, 1, 3, 4]] == pytest.approx([0.04, 0.09, 0.09, 0.5])
    assert np.isnan(holm(p)[2])
    assert holm(np.array([0.6, 0.7])).tolist() == [1.0, 1.0]
    assert holm(np.array([])).tolist() == []


def test_pairs_are_all_pairs_in_order_and_antisymmetric(f1: ScoreColumn) -> None:
    pairs = pairwise([f1])
    assert pairs.columns.tolist() == PAIR
    assert list(zip(pairs["first"], pairs["second"], strict=True)) == [("m0", "m1"), ("m0", "m2"), ("m1", "m2")]
    turned = pairwise([replace(f1, variants=f1.variants[::-1], scores=f1.scores[::-1])])
    assert turned["difference"].tolist() == pytest.approx((-pairs["difference"])[::-1].tolist())
    assert turned["p"].tolist() == pytest.approx(pairs["p"][::-1].tolist())
    ahead = 1 - pairs["probability_of_improvement"][::-1]
    assert turned["probability_of_improvement"].tolist() == pytest.approx(ahead.tolist())


def test_a_clear_difference_is_found_and_its_numbers_agree(f1: ScoreColumn) -> None:
    pairs = pairwise([f1])
    first, equal = pairs.iloc[0], pairs.iloc[2]
    means = intervals([f1]).set_index("variant")["mean"]
    assert first["difference"] == pytest.approx(means["m0"] - means["m1"])
    assert first["p"] <= first["p_holm"] < 0.01
    assert 0 < first["low"] < first["difference"] < first["high"]
    assert first["probability_of_improvement"] > 0.99
    assert first["remark"] == ""
    share = first["p"] / first["p_holm"]
    assert share == pytest.approx(1 / 3, rel=0.51)  # first or second of three
    own = [seeds_error(f1.scores[one] - f1.scores[other])[0] for one, other in ((0, 1), (0, 2), (1, 2))]
    prior = bounded(common_variance(np.array(own), 4), 4, 3)
    assert first["freedom"] == 3 + prior.freedom == 6
    assert first["seeds_se"] ** 2 == pytest.approx((3 * own[0] ** 2 + 3 * prior.variance) / 6)
    assert equal["p_holm"] > 0.05
    one, other = np.array([[9.0, 1.0, 2.0], [9.0, 3.0, 4.0]]), np.array([[0.0, 1.0, 3.0], [0.0, 2.0, 3.0]])
    column = replace(f1, variants=f1.variants[:2], scores=np.stack([one, other]), seeds=f1.seeds[:2])
    assert pairwise([column])["probability_of_improvement"].tolist() == [(0.5 + 0 + 1 + 1) / 4], "of the resamples"


def test_intervals_stay_within_the_scores() -> None:
    high = np.clip(np.random.default_rng(0).normal(0.99, 0.02, size=(3, 201)), 0, 1)
    scores, encoders = np.stack([high, 1 - high]), np.array([["e"] * 3] * 2)
    column = ScoreColumn("recording", 0.3, "a", "acc", ("m0", "m1"), (1, 2, 3), 20, encoders, scores)
    found = intervals([column])
    assert found.columns.tolist() == INTERVAL
    assert found["remark"].tolist() == ["", ""]
    assert (found["high"][0], found["low"][1]) == (1.0, 0.0)
    assert 0.9 < found["low"][0] < found["mean"][0]
    assert found["mean"][1] < found["high"][1] < 0.1


def test_only_seeds_that_both_have_are_paired(f1: ScoreColumn) -> None:
    scores = f1.scores.copy()
    scores[1, 3] = np.nan
    first = pairwise([replace(f1, scores=scores)]).iloc[0]
    assert first["seeds"] == 3
    assert first["difference"] == pytest.approx((scores[0, :3, 0] - scores[1, :3, 0]).mean())
    assert first["remark"] == "over the 3 of 4 seeds that both have"


@pytest.mark.parametrize(("p", "tie"), [(0.05, True), (0.0499, False)])
def test_a_tie_is_what_is_not_significantly_behind_the_best(f1: ScoreColumn, p: float, tie: bool) -> None:
    marked = ties(intervals([f1]), pairwise([f1]).assign(p_holm=p)).set_index("variant")
    assert marked["best"].to_dict() == {"m0": True, "m1": False, "m2": False}
    assert marked["tie"].to_dict() == {"m0": False, "m1": tie, "m2": tie}
    lower = replace(f1, metric="brier")
    marked = ties(intervals([lower]), pairwise([lower])).set_index("variant")
    assert marked["best"].to_dict() == (marked["mean"] == marked["mean"].min()).to_dict(), "the lowest is the best"
    alone = replace(f1, variants=("m0",), scores=f1.scores[:1])
    assert not ties(intervals([alone]), pairwise([alone]))[["best", "tie"]].any().any()
    assert intervals([]).columns.tolist() == INTERVAL
    assert pairwise([]).columns.tolist() == PAIR
    assert len(ties(intervals([]), pairwise([]))) == 0


def test_what_cannot_be_compared_ties_and_what_has_no_score_does_not(f1: ScoreColumn) -> None:
    scores = f1.scores.copy()
    scores[0, 2:] = np.nan
    scores[1, :2] = np.nan
    scores[2] = np.nan
    column = replace(f1, scores=scores)
    assert set(pairwise([column])["remark"]) == {"no seed has a score"}
    marked = ties(intervals([column]), pairwise([column])).set_index("variant")
    assert marked["tie"].to_dict() == {"m0": False, "m1": True, "m2": False}
    assert marked["best"].to_dict() == {"m0": True, "m1": False, "m2": False}


def test_families_are_the_columns(f1: ScoreColumn) -> None:
    """A second column with a tiny p leaves the first one's adjusted p as they were."""
    other = replace(f1, dataset="chapman")
    both, own = pairwise([f1, other]), pairwise([f1])
    pd.testing.assert_frame_equal(both[both["dataset"] == f1.dataset], own)
    assert both.groupby(PLACE).size().tolist() == [3, 3]


TOGETHER = f"{PRETRAINING} + {SUBSET} + {FINE_TUNING}"


def drawn(runs: int, sd: dict[str, float], encoders: int = 1) -> tuple[Floats, np.ndarray]:
    """(S, 1+R) scores of many runs with known deviations per source, and the (S,) encoders they started from."""
    generator = np.random.default_rng(1)
    group = np.arange(runs) * encoders // runs
    point = sd["pretraining"] * generator.normal(size=encoders)[group] + sd["run"] * generator.normal(size=runs)
    noise = sd["patients"] * generator.normal(size=2000) + sd["alone"] * generator.normal(size=(runs, 2000))
    point += sd["alone"] * generator.normal(size=runs)
    return np.column_stack([point, point[:, None] + noise]), group.astype(str)


@pytest.mark.parametrize(
    ("groups", "between", "within"),
    [
        ({"a": (1, 3), "b": (5, 9)}, 10, 5),  # mean square within (2 + 8) / 2, between 25; (25 - 5) / 2
        ({"a": (1, 3), "b": (3, 1)}, 0, 2),
        ({"a": (1, 3), "b": (5, 7, 9)}, (30 - 10 / 3) / 2.4, 10 / 3),  # a group counts for 5 - 13 / 5 runs
    ],
)
def test_analysis_of_variance_by_hand(groups: dict[str, tuple[float, ...]], between: float, within: float) -> None:
    names = np.array([name for name, scores in groups.items() for _ in scores])
    found = nested_variances(np.array([score for scores in groups.values() for score in scores], float), names)
    assert found == (pytest.approx(between), pytest.approx(within))


@pytest.mark.parametrize(
    ("patients", "resamples", "reason"),
    [(1, 10, "one test patient"), (2, 1, "undefined in the resamples"), (1, 1, "one test patient"), (2, 2, "")],
)
def test_without_resamples_of_patients_nothing_is_estimated(patients: int, resamples: int, reason: str) -> None:
    scores = np.random.default_rng(0).normal(size=(3, 11))
    scores[:, 1 + resamples :] = np.nan
    first, *others = sources(scores, patients, np.array(["a"] * 3), [FINE_TUNING])
    assert (first.source, first.remark) == (PATIENTS, f"cannot be estimated here: {reason}" if reason else "")
    assert np.isnan(first.sd) == bool(reason) == (not others)


def test_planted_deviations_are_found() -> None:
    planted = {"patients": 0.02, "alone": 0.01, "pretraining": 0.05, "run": 0.03}
    scores, encoders = drawn(900, planted, encoders=300)
    parts = sources(scores, 10**6, encoders, [FINE_TUNING])
    found = {part.source: part.sd for part in parts if np.isfinite(part.sd)}
    assert found == {
        PATIENTS: pytest.approx(0.02, rel=0.1),
        PATIENTS_OF_ONE_RUN: pytest.approx(0.01, rel=0.1),
        PRETRAINING: pytest.approx(0.05, rel=0.1),
        FINE_TUNING: pytest.approx(0.03, rel=0.1),
    }


def test_fine_tunings_on_one_subset_tell_their_seed_from_the_labelled_patients() -> None:
    random, (encoders, subsets, repeats) = np.random.default_rng(6), (300, 3, 4)
    sizes = {PRETRAINING: (encoders, 1, 1), SUBSET: (encoders, subsets, 1), FINE_TUNING: (encoders, subsets, repeats)}
    planted = {PRETRAINING: 0.05, SUBSET: 0.02, FINE_TUNING: 0.03}
    scores = sum(random.normal(0, planted[source], size) for source, size in sizes.items())  # (S, L, F)
    resampled = np.repeat(np.reshape(scores, (-1, 1)), 3, axis=1)  # (S * L * F, 1+R)
    names = np.repeat([f"e{number}" for number in range(encoders)], subsets * repeats)
    parts = {part.source: part.sd for part in sources(resampled, 500, names, [SUBSET, FINE_TUNING], repeats)}
    assert {source: parts[source] for source in planted} == pytest.approx(planted, rel=0.1)
    one = {part.source: part.remark for part in sources(resampled[:4], 500, names[:4], [SUBSET, FINE_TUNING], repeats)}
    assert one[FINE_TUNING] == ""
    assert "one seed" in one[PRETRAINING]
    assert "one seed" in one[SUBSET]


@pytest.mark.parametrize(
    ("encoders", "strict", "estimated", "reasons"),
    [
        (1, False, FINE_TUNING, {PRETRAINING: "one pretraining", SUBSET: "one labelled subset"}),
        (5, False, f"{PRETRAINING} + {FINE_TUNING}", {SUBSET: "one labelled subset"}),
        (5, True, TOGETHER, {}),
        (1, True, f"{SUBSET} + {FINE_TUNING}", {PRETRAINING: "one pretraining"}),
    ],
)
def test_what_seeds_do_not_vary_is_said(encoders: int, strict: bool, estimated: str, reasons: dict[str, str]) -> None:
    planted = {"patients": 0.02, "alone": 0.01, "pretraining": 0.0, "run": 0.03}
    scores, names = drawn(5, planted, encoders)
    varied = [SUBSET, FINE_TUNING] if strict else [FINE_TUNING]
    parts = {part.source: part for part in sources(scores, 500, names, varied)}
    assert set(parts) == {PATIENTS, PATIENTS_OF_ONE_RUN, estimated, *reasons}
    assert np.isfinite(parts[estimated].sd)
    for source, reason in reasons.items():
        assert np.isnan(parts[source].sd)
        assert parts[source].remark == f"cannot be estimated here: {reason}"
    assert ("cannot be told apart" in parts[estimated].remark) == ("+" in estimated)


def test_one_seed_says_so_and_a_row_without_encoder_has_no_pretraining() -> None:
    scores, _ = drawn(1, {"patients": 0.02, "alone": 0.0, "pretraining": 0.0, "run": 0.0})
    parts = {part.source: part.remark for part in sources(scores, 500, np.array([""]), [FINE_TUNING])}
    assert parts == {PATIENTS: "", **dict.fromkeys((SUBSET, FINE_TUNING), "cannot be estimated here: one seed")}


def test_the_frame_has_no_overall_and_no_variant_without_scores(
    simulate_columns: Callable[..., list[ScoreColumn]], scatter: Callable[..., object]
) -> None:
    design = {"methods": 2, "seeds": 3, "patients": 60, "scatter": scatter()}
    f1 = simulate_columns(np.random.default_rng(2), resamples=50, **design)[0]
    scores = f1.scores.copy()
    scores[1] = np.nan
    scores[0, 0] = np.nan  # of one seed alone
    frame = components(
        [replace(f1, scores=scores), replace(f1, dataset="", metric=OVERALL)], strict=False, frozen=False
    )
    assert set(frame["variant"]) == {"m0"}
    assert set(frame["metric"]) == {"f1"}
    assert frame["sd"].notna().tolist() == [True, True, True, False, False]
    assert frame["source"].tolist() == [PATIENTS, PATIENTS_OF_ONE_RUN, FINE_TUNING, PRETRAINING, SUBSET]


DIFFERENCES_PAIR = ("ratio", "metric", "first", "second", "difference", "low", "high", "p_holm", "p_equivalent")
SCORE = ("ratio", "metric", "variant", "mean")


def statistics(pairs: list[tuple[object, ...]], scores: list[tuple[object, ...]]) -> TableStatistics:
    frames = {
        "pairwise": pd.DataFrame([(*pair, 0.5) for pair in pairs], columns=list(DIFFERENCES_PAIR)),
        "intervals": pd.DataFrame(scores, columns=list(SCORE)),
    }
    return TableStatistics(frames=frames)


def test_each_row_is_held_against_the_untrained_encoder_whatever_its_place_in_the_pair() -> None:
    found = statistics(
        [
            (0.3, "overall", "random", "pmq", -0.02, -0.03, -0.01, 0.01),
            (0.3, "overall", "moco", "random", 0.01, -0.01, 0.03, 0.4),
            (0.3, "overall", "moco", "pmq", -0.01, -0.02, 0.0, 0.3),
            (0.3, "f1", "random", "pmq", -0.5, -0.6, -0.4, 0.01),
            (0.1, "overall", "random", "pmq", float("nan"), float("nan"), float("nan"), float("nan")),
        ],
        [(0.3, "overall", name, score) for name, score in (("random", 0.5), ("pmq", 0.52), ("moco", 0.51))],
    )
    (own,) = differences(found)
    assert (own.ratio, own.reference) == (0.3, "random")
    assert own.rows == (
        Difference("pmq", 2.0, 1.0, 3.0, told=True),
        Difference("moco", 1.0, -1.0, 3.0, told=False),
    )


@pytest.mark.parametrize(
    ("scores", "reference"),
    [
        ({("moco", 0.3): 0.5, ("moco", 0.1): 0.5, ("pmq", 0.3): 0.49, ("pmq", 0.1): 0.49}, "moco"),
        ({("moco", 0.3): 0.5, ("moco", 0.1): 0.5, ("pmq", 0.3): 0.6}, "pmq"),  # more ratios make no row better
        ({("pmq", 0.3): 0.5, ("moco", 0.3): 0.5}, "pmq"),  # the first of equally good ones
    ],
)
def test_without_an_untrained_encoder_the_best_row_is_the_reference(
    scores: dict[tuple[str, float], float], reference: str
) -> None:
    ratios = dict.fromkeys(ratio for _, ratio in scores)
    pairs: list[tuple[object, ...]] = [(ratio, "overall", "moco", "pmq", 0.01, 0.0, 0.02, 0.2) for ratio in ratios]
    found = differences(statistics(pairs, [(ratio, "overall", name, own) for (name, ratio), own in scores.items()]))
    assert [(own.ratio, own.reference) for own in found] == [(ratio, reference) for ratio in ratios]
    assert {own.rows[0].mean for own in found} == {1.0 if reference == "pmq" else -1.0}
    assert differences(None) == differences(TableStatistics()) == []
    assert differences(statistics([], [(0.3, "overall", "pmq", 0.5)])) == []


def test_changes_of_a_method_are_held_against_the_method_as_it_is() -> None:
    found = statistics(
        [(0.1, "overall", "pmq:w/o queue", "pmq", -0.03, -0.04, -0.02, 0.01)],
        [(0.1, "overall", name, score) for name, score in (("pmq:w/o queue", 0.6), ("pmq", 0.5))],
    )
    assert [(own.reference, own.rows[0].mean) for own in differences(found, "pmq")] == [("pmq", -3.0)]
    assert [own.reference for own in differences(found, "moco")] == ["pmq:w/o queue"], "the method has no score"


def test_a_row_on_a_further_encoder_is_held_against_the_untrained_one_of_its_kind() -> None:
    names = ("random", "pmq", "random+s4", "pmq+s4", "pmq+vit1d")
    found = statistics(
        [
            (0.3, "overall", "random", "pmq", -0.02, -0.03, -0.01, 0.01),
            (0.3, "overall", "random", "random+s4", -0.2, -0.3, -0.1, 0.01),
            (0.3, "overall", "random", "pmq+s4", -0.25, -0.3, -0.2, 0.01),
            (0.3, "overall", "pmq+s4", "random+s4", 0.05, 0.04, 0.06, 0.2),
            (0.3, "overall", "random", "pmq+vit1d", 0.1, 0.0, 0.2, 0.3),
        ],
        [(0.3, "overall", name, 0.5) for name in names],
    )
    first, second = differences(found)
    assert (first.reference, [row.variant for row in first.rows]) == ("random", ["pmq", "pmq+vit1d"])
    assert (second.reference, second.rows) == (
        "random+s4",
        (Difference("pmq+s4", 5.0, 4.0, 6.0, told=False),),
    )
    (panel,) = in_one_panel([first, second])
    assert (panel.reference, panel.rows) == ("random", (*first.rows, *second.rows))
