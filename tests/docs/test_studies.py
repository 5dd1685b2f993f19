"""Pages of docs/evidence that a script writes are what it writes from the tables beside them."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pandas as pd
import pytest
import torch
from sklearn.metrics import roc_auc_score

from benchmark.config.config import load_config
from docs.evidence.beats import make as beats
from docs.evidence.design import make as design
from docs.evidence.patients import make as patients
from docs.evidence.readers import make as readers
from docs.evidence.real import make as real
from docs.evidence.squeezed import make as squeezed
from docs.evidence.transport import make as transport
from docs.evidence.waves import make as waves
from docs.evidence.when import make as when
from tests.docs.pages import EVIDENCE
from tests.reports.nested import TESTED, experiment


def table(name: str) -> pd.DataFrame:
    """A table beside a page, to the last bit of its numbers."""
    return pd.read_csv(EVIDENCE / name, float_precision="round_trip")


def squeezed_rows(changed: dict[str, dict[str, float]]) -> pd.DataFrame:
    """The table of the page with features as of each method itself, but for other values in some rows."""
    rows = table("squeezed/rows.csv").set_index("row", drop=False)
    for method in ("moco", "pmq"):
        changes = rows.index.str.startswith(f"{method}:")
        for column in ("cosine", "cosine std", "rank", "rank std"):
            rows.loc[changes, column] = rows.loc[method, column]
    for row, values in changed.items():
        for column, value in values.items():
            rows.loc[row, column] = value
    return rows.reset_index(drop=True)


def test_when_is_what_its_script_writes_from_its_table() -> None:
    found = table("when/gains.csv")
    assert "".join(when.page(found)) == (EVIDENCE / "WHEN.md").read_text(encoding="utf-8")
    own = found.drop(columns="sure")
    assert when.with_holm(own)["sure"].equals(found["sure"])
    assert {*zip(found["recordings"], found["persistence"], strict=True)} == set(when.arms())
    assert list(found["row"].unique()) == list(when.ROWS)


def test_when_is_of_the_config_and_says_how_many_patients_are_tested() -> None:
    found, config = table("when/gains.csv"), load_config("when")
    assert config.data.simulation is not None
    assert config.data.simulation.test_patients["ptb-xl"] > 0.8 * found["patients"].max()
    assert (config.subsets, len(config.seeds)) == (8, 16)
    low, high = found["patients"].min(), found["patients"].max()
    assert f"on {low} to {high} test patients" in "".join(when.page(found))


def test_squeezed_is_what_its_script_writes_from_its_table() -> None:
    found = table("squeezed/rows.csv")
    assert "".join(squeezed.page(found)) == (EVIDENCE / "SQUEEZED.md").read_text(encoding="utf-8")
    own = found[[column for column in found if not column.endswith(" sure")]]
    for column in found.columns[found.columns.str.endswith(" sure")]:
        assert squeezed.with_holm(own.copy())[column].equals(found[column])
    config = load_config("squeezed")
    assert config.data.simulation is not None
    assert config.data.simulation.patients["ptb-xl"] == 1000
    assert set(found["pretrainings"]) == {len(config.seeds)}


def said(changed: dict[str, dict[str, float]]) -> str:
    return "\n".join(squeezed.sentences(squeezed_rows(changed)))


def test_a_change_within_the_spread_over_pretrainings_is_not_named() -> None:
    assert said({}).count("mean cosine moved by no change; effective rank moved by no change") == 2
    lower = {"cosine": 0.5, "cosine std": 0.05}
    assert "mean cosine lower with `w/o predictor` (0.50); effective rank moved by no change" in said(
        {"pmq:w/o predictor": lower}
    )
    assert "w/o predictor" not in said({"pmq:w/o predictor": lower | {"cosine std": 0.9}})


@pytest.mark.parametrize(("rank", "spreads"), [(14.0, True), (9.6, False), (4.0, False)])
def test_what_spreads_features_lowers_their_cosine_and_raises_their_rank(rank: float, spreads: bool) -> None:
    text = said({"pmq:w/o predictor": {"cosine": 0.3, "cosine std": 0.05, "rank": rank, "rank std": 0.5}})
    assert ("So `w/o predictor` spreads PMQ's features" in text) == spreads
    assert ("So no change spreads PMQ's features" in text) != spreads


def test_the_table_of_predictions_is_that_of_its_lines() -> None:
    page = (EVIDENCE.parent / "COMPARISON.md").read_text(encoding="utf-8")
    assert "\n".join(design.table(table("design/widths.csv"))) in page
    assert list(design.table(pd.DataFrame({"ratio": [0.1], "grid": ["a"], "predicted": [1.19], "came": [1.0]}))) == [
        "| a | 1 | 1.2 (1.2 to 1.2) | 1.0 (1.0 to 1.0) | 100 % |"
    ]


def test_a_part_of_a_run_has_the_chosen_seeds_and_subsets_and_the_whole_predicts_it() -> None:
    columns = experiment(3, seeds=5, subsets=3, patients=TESTED, rows=4)
    whole = design.part(columns, range(5), range(3))
    assert np.allclose(whole.scores, columns[-1].scores)
    some = design.part(columns, [0, 2], [1])
    assert columns[0].runs is not None
    assert np.array_equal(some.scores, columns[0].runs[:, [0, 2], 1])
    assert some.seeds == (0, 2)
    lines = pd.DataFrame(design.widths({1: columns, 2: experiment(4, seeds=5, subsets=3, patients=TESTED, rows=4)}))
    assert lines.groupby(["run", "grid"]).size()[1].to_dict() == {
        design.FOUR: 5, design.THREE: 10, design.ONE_SUBSET: 3, design.THREE_SUBSETS: 1,
        design.OTHER: 1, design.ALL_OTHERS: 1,
    }  # fmt: skip
    assert lines["came"].where(lines["grid"] == design.OTHER).dropna().tolist() == pytest.approx(
        [design.half_width(own[-1]) for own in (columns, experiment(4, seeds=5, subsets=3, patients=TESTED, rows=4))]
    )


def test_patients_is_what_its_script_writes_from_its_tables() -> None:
    points, gains = table("patients/points.csv"), table("patients/gains.csv")
    assert "".join(patients.page(points, gains)) == (EVIDENCE / "PATIENTS.md").read_text(encoding="utf-8")
    assert patients.with_holm(gains.drop(columns="sure"))["sure"].equals(gains["sure"])
    seen = points.loc[points["patients"] > 0, ["patients", "recordings", "budget"]].drop_duplicates()
    assert {*seen.itertuples(index=False, name=None)} == {*patients.STUDIED}
    assert {*table("patients/law.csv")["row"]} == {*patients.GROWING_METHODS}


def test_a_gain_is_of_the_same_seeds_and_patients() -> None:
    shape = (2, 3)
    levels = {own: float(own.patients * own.recordings * own.budget) for own in patients.STUDIED}
    own = patients.Scores(
        10, {("pmq", corpus): np.full(shape, level) for corpus, level in levels.items()}, {"random": np.ones(shape)}
    )
    found = {what: float(scores[0, 0]) for what, scores in patients.contrasts(own, "pmq").items()}
    assert {what: gain for what, gain in found.items() if what not in patients.LAW_GAINS} == {
        "100 x 1": 99.0, "1,000 x 1": 999.0, "10,000 x 1": 9999.0, "1,000 x 4": 3999.0,
        "tenfold patients": 4950.0, "four recordings for one": 3000.0,
        "250 x 4": 999.0, "2,500 x 4": 9999.0, "250 x 4, budget x 3": 2999.0, "2,500 x 4, budget x 3": 29999.0,
        "tenfold patients of four": 9000.0, "tenfold patients of four, budget x 3": 27000.0,
        "budget x 3, 2,500 patients": 20000.0, "both: 2,500 patients at budget x 3 for 250": 29000.0,
        "100 x 1, budget x 3": 299.0, "1,000 x 1, budget x 3": 2999.0, "10,000 x 1, budget x 3": 29999.0,
        "tenfold patients, budget x 3": 14850.0,
    }  # fmt: skip


@pytest.mark.parametrize(("a", "b", "c", "d"), [(0.9, 1.0, 0.5, 0.3), (0.8, -0.5, 1.0, 0.0)])
def test_the_law_that_scores_follow_is_read_beyond_them(a: float, b: float, c: float, d: float) -> None:
    """Of each budget alone, rising and falling, with and without an effect of recordings."""

    def score(count: int, recordings: int) -> float:
        return a - b * count**-c * recordings**-d

    of = {own: np.full((2, 3), score(own.patients, own.recordings) / own.budget) for own in patients.STUDIED}
    for budget in patients.LAW_BUDGETS:
        (found,) = patients.law(of, budget, [(100_000, 4)])
        assert found == pytest.approx(np.full((2, 3), score(100_000, 4) / budget))


def test_beats_are_what_their_script_writes_of_its_tables_and_finds_on_ludb(shared_ecgs: Path) -> None:
    """On the first eight recordings as well, where they are there."""
    sums, rhythms = table("beats/leads.csv"), table("beats/rhythms.csv")
    assert "".join(beats.page(sums, rhythms, 150)) == (EVIDENCE / "BEATS.md").read_text(encoding="utf-8")
    bounds = beats.qrs_bounds(shared_ecgs / "ludb" / "data" / "1", "II")  # (n, 2)
    assert len(bounds) == 6
    assert beats.counted(bounds.mean(axis=1).round().astype(int), bounds) == {"complexes": 6, "found": 6, "false": 0}
    late = bounds[:, 1].astype(int) + beats.TOLERANCE + 1
    assert beats.counted(late, bounds) == {
        "complexes": 6,
        "found": 0,
        "false": 5,
    }  # the last lies beyond the last bound


def test_real_and_transport_are_what_their_scripts_write_of_their_tables() -> None:
    pages = {
        "REAL.md": real.page(*(table(f"real/{name}.csv") for name in real.TABLES)),
        "WAVES.md": waves.page(table("waves/rows.csv")),
        "TRANSPORT.md": transport.page(table("transport/rows.csv"), table("transport/orders.csv")),
    }
    for name, parts in pages.items():
        assert "".join(parts) == (EVIDENCE / name).read_text(encoding="utf-8")


def test_an_auroc_is_scikit_learn_s_and_a_resample_keeps_a_patient_whole() -> None:
    random = np.random.default_rng(0)
    probability = random.random((2, 3, 60, 2)).round(1)  # (V, S, R, K), with ties
    truth = random.random((60, 2)) < 0.3  # (R, K)
    found = transport.auroc(probability, truth)
    expected = [[roc_auc_score(truth, probability[row, seed]) for seed in range(3)] for row in range(2)]
    np.testing.assert_allclose(found, expected)
    numbered = np.broadcast_to(np.arange(60.0)[:, None], (2, 3, 60, 2))
    drawn, labels = transport.resampled(transport.Scored(numbered, truth, np.arange(60) // 2), random)
    counts = np.bincount(drawn[0, 0, :, 0].astype(int), minlength=60)  # (R,)
    np.testing.assert_array_equal(counts[::2], counts[1::2])
    assert counts.sum() == len(labels) == 60
    np.testing.assert_array_equal(labels, truth[drawn[0, 0, :, 0].astype(int)])


def test_readers_is_what_its_script_writes_from_its_tables() -> None:
    tables = (table(f"readers/{name}.csv") for name in ("rows", "subgroups"))
    assert "".join(readers.page(*tables)) == (EVIDENCE / "READERS.md").read_text(encoding="utf-8")


def test_waves_are_runs_of_steps_and_a_bound_is_found_once() -> None:
    seconds = (np.arange(100) + 0.5) / 100  # (T,)
    wave = np.zeros(100, int)
    wave[10:20], wave[40:50], wave[70], wave[80:95] = 1, 2, 1, 3
    found = waves.bounds_in(np.eye(4)[wave], seconds)
    assert {bound: own.round(2).tolist() for bound, own in found.items()} == {
        ("P", "onset"): [0.1], ("P", "end"): [0.2], ("QRS", "onset"): [0.4], ("QRS", "end"): [0.5],
        ("T", "onset"): [0.8], ("T", "end"): [0.95],
    }  # fmt: skip
    true, said = np.array([1.0, 2.0]), np.array([0.1, 0.98, 1.05, 2.2, 9.0])
    number, hits, far = waves.matched(true, said, 1.0, 2.0)
    assert (number, hits, far) == (2, 1, [pytest.approx(0.02)]), "one beside it, those outside do not count"


def test_steps_of_a_recording_are_those_of_the_window_in_whose_middle_they_lie() -> None:
    signal = np.arange(1000.0)[:, None].repeat(12, axis=1)
    features, each = waves.encoded(signal, 250, torch.nn.Identity())
    assert each == 1
    np.testing.assert_array_equal(features, signal)
