"""Results as Python code holds them: what they return is what the report writes."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from pathlib import Path

import matplotlib.pyplot as plt
import numpy as np
import pandas as pd
import pytest

from reports import load
from reports.build import build_report
from tests.reports.conftest import Scatter, simulated_predictions


@pytest.fixture
def store(write_predictions: Callable[..., Path]) -> Path:
    """Two methods and Random on 60 patients and four seeds."""
    names = {0: "pmq", 1: "moco", 2: "random"}
    made = simulated_predictions(
        np.random.default_rng(1), methods=3, seeds=4, patients=60, scatter=Scatter(), advantage=1.0
    )
    runs = {(names[method], "ptb-xl", 0.1, 41 + seed): test for (method, seed), test in made.items()}
    return write_predictions(runs, protocol="strict")


def test_frames_are_those_that_the_report_writes(store: Path, tmp_path: Path) -> None:
    results = load(store)
    build_report(results, tmp_path)
    for name, frame in (("pairwise", results.pairs()), ("intervals", results.intervals())):
        written = pd.read_csv(tmp_path / f"{name}.csv", keep_default_na=False, na_values=[""], dtype={"dataset": str})
        of_table = written[written["table"] == results.tables[0]].fillna({"dataset": ""}).reset_index(drop=True)
        columns = [column for column in of_table if column in frame]
        assert len(columns) > 8
        pd.testing.assert_frame_equal(of_table[columns], frame[columns], check_dtype=False, rtol=1e-4, atol=1e-6)


def test_texts_are_those_that_the_report_writes(store: Path, tmp_path: Path) -> None:
    results = load(store)
    build_report(results, tmp_path)
    assert results.to_markdown() in (tmp_path / "results.md").read_text()
    assert results.to_latex() in (tmp_path / "results.tex").read_text()
    assert results.verdict()[0].startswith("Better than the untrained encoder (RANDOM) in mean AUROC")


@pytest.mark.draws
def test_a_figure_is_drawn_on_the_axes_of_the_caller(store: Path) -> None:
    _, axes = plt.subplots()
    assert load(store).figure(ax=axes) is axes
    assert [label.get_text() for label in axes.get_yticklabels()] == ["PMQ", "MOCO"]
    plt.close("all")


@pytest.mark.draws
def test_a_report_leaves_the_backend_of_pyplot_as_it_is(store: Path, tmp_path: Path) -> None:
    plt.switch_backend("svg")
    load(store).save(tmp_path)
    assert plt.get_backend() == "svg"


def test_names_are_escaped_in_a_notebook(store_root: Path) -> None:
    html = load(store_root)._repr_html_()
    assert "w/o mask_t &amp; 5 % | *" in html


@pytest.mark.draws
@pytest.mark.parametrize(("call", "words"), [("pairs", "no table 'finetune'"), ("figure", "no label share 0.5")])
def test_what_is_not_there_is_named_in_one_line(store: Path, call: str, words: str) -> None:
    results = load(store)
    with pytest.raises(ValueError, match=words) as raised:
        results.pairs("finetune") if call == "pairs" else results.figure(ratio=0.5)
    assert "\n" not in str(raised.value)


BEST, NONE, LAST = ("pmq", 2.0), ("pmq", 0.0), ("features", 2.0)
"""Row of an invented store that recognises the classes better, and by how much."""


@pytest.mark.parametrize(
    ("better", "against_random", "against_baseline"),
    [
        (BEST, "by more than 1 point: PMQ with", "(FEATURES): PMQ with"),
        (NONE, "by more than 1 point: none", "(FEATURES): none"),
        (LAST, "by more than 1 point: none", "(FEATURES): none; worse than it: PMQ and MOCO"),
    ],
)
def test_a_verdict_answers_against_the_untrained_encoder_as_against_a_baseline(
    better: tuple[str, float], against_random: str, against_baseline: str, write_predictions: Callable[..., Path]
) -> None:
    row, advantage = better
    names = [row, *(name for name in ("pmq", "moco", "features", "random") if name != row)]
    made = simulated_predictions(
        np.random.default_rng(4), methods=4, seeds=5, patients=80, scatter=Scatter(), advantage=advantage
    )
    runs = {(names[method], "ptb-xl", 0.1, 41 + seed): test for (method, seed), test in made.items()}
    results = load(write_predictions(runs, protocol="strict"))
    roles = {"features": {"role": "baseline"}, "random": {"role": "baseline"}}
    untrained, baselines, *_ = replace(results, plan=replace(results.plan, roles=roles)).verdict()
    assert against_random in untrained
    assert against_baseline in baselines
