"""What is drawn of scores and pretrainings stands where the numbers say."""

from __future__ import annotations

import math
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import pytest
from matplotlib.backends.backend_agg import FigureCanvasAgg
from matplotlib.figure import Figure

from reports.figures.data import Confusion, Sweep
from reports.figures.inside import plot_confusion, plot_training
from reports.figures.scores import (
    plot_differences,
    plot_label_efficiency,
    plot_sweep,
    tick_text,
)
from reports.figures.style import MARKS
from reports.statistics.curves import BAND
from reports.statistics.table import Difference, Differences

Drawn = Callable[[], Figure]


@pytest.fixture
def drawn(monkeypatch: pytest.MonkeyPatch) -> Drawn:
    """The figure that was saved last; nothing is written."""
    saved: list[Figure] = []
    monkeypatch.setattr(Figure, "savefig", lambda figure, *_, **__: saved.append(figure))
    return lambda: saved[-1]


def band(*lines: tuple[str, float, str, float, float, int]) -> pd.DataFrame:
    return pd.DataFrame(lines, columns=list(BAND))


def test_a_sweep_has_its_points_ring_and_lines(drawn: Drawn, tmp_path: Path) -> None:
    points = band(("a", 0.01, "ptb-xl", 50.0, 2.0, 5), ("b", 0.01, "ptb-xl", 60.0, math.nan, 1))
    lines = band(("clocs", 0.01, "ptb-xl", 55.0, 1.0, 5))
    sweep = Sweep("pmq", "queue_size", 0.01, (1024, 4096), (10.0, 12.0), 4096, points.assign(position=[10, 12]), lines)
    plot_sweep(sweep, {"ptb-xl": "PTB-XL"}, {"pmq": "PMQ", "clocs": "CLOCS"}, "note", tmp_path / "x")
    (axes,) = drawn().axes
    xy = [line.get_xydata().tolist() for line in axes.lines]
    assert [[10.0, 50.0], [12.0, 60.0]] in xy
    assert [[12.0, 60.0]] in xy
    assert any(list(line.get_ydata()) == [55.0, 55.0] for line in axes.lines)
    assert [label.get_text() for label in axes.get_xticklabels()] == ["1k", "4k"]
    assert axes.get_title() == "PTB-XL"
    area = axes.collections[0].get_paths()[0].vertices
    assert (area[:, 1].min(), area[:, 1].max()) == (48, 60)
    assert drawn().get_supxlabel() == "note"


@pytest.mark.parametrize(
    ("text", "value", "shown"),
    [
        *((tick_text, value, shown) for value, shown in
          [(16384, "16k"), (1000, "1000"), (0, "0"), (0.1, "0.1"), ("own", "own")]),
    ],
)  # fmt: skip
def test_axes_are_marked_in_short_words(text: Callable[[Any], Any], value: Any, shown: Any) -> None:
    assert text(value) == shown


def test_curves_stand_at_their_ratios_in_their_deviation(drawn: Drawn, tmp_path: Path) -> None:
    found = band(
        *[(name, ratio, "ptb-xl", 100 * ratio + place, 1.0, 5) for place, name in enumerate(("moco", "pmq"))
          for ratio in (0.3, 0.01)]
    )  # fmt: skip
    plot_label_efficiency(found, {"ptb-xl": "PTB-XL"}, {"moco": "MoCo", "pmq": "PMQ"}, "note", tmp_path / "x")
    (axes,) = drawn().axes
    first, second = (container.lines[0].get_xydata() for container in axes.containers)
    assert first[:, 1].tolist() == [1, 30]
    assert second[:, 1].tolist() == [2, 31]
    assert first[:, 0].tolist() == second[:, 0].tolist() == [0.01, 0.3], "no row stands aside"
    area = axes.collections[0].get_paths()[0].vertices
    assert (area[:, 1].min(), area[:, 1].max()) == (0, 31)
    assert [label.get_text() for label in axes.get_xticklabels()] == ["1", "30"]


def test_a_row_is_drawn_over_its_epochs_in_the_band_of_its_pretrainings(drawn: Drawn, tmp_path: Path) -> None:
    lines = [
        *[("pmq", key, epoch, "loss", value) for key, value in (("a", 2.0), ("b", 4.0)) for epoch in (1, 2)],
        *[("pmq", "a", epoch, "effective_rank", 5.0) for epoch in (0, 1, 2)],
        ("random", "r", 0, "effective_rank", 4.0),
        ("comet", "c", 1, "loss", 7.0),
    ]
    found = pd.DataFrame(lines, columns=["variant", "key", "epoch", "measure", "value"])
    plot_training(found, {"random": "Random", "pmq": "PMQ", "comet": "COMET"}, "note", tmp_path / "x")
    loss, lone, rank = drawn().axes
    assert lone.get_title() == "COMET (1 epoch)"
    assert (lone.lines[0].get_xydata().tolist(), lone.lines[0].get_marker()) == ([[1, 7]], MARKS["comet"].shape)
    assert (loss.get_title(), loss.get_ylabel()) == ("PMQ", "loss")
    assert (rank.get_title(), rank.get_ylabel()) == ("effective rank", "")
    assert loss.lines[0].get_xydata().tolist() == [[1, 3], [2, 3]]
    area = loss.collections[0].get_paths()[0].vertices
    assert (area[:, 1].min(), area[:, 1].max()) == (2, 4)
    assert rank.lines[0].get_xydata().tolist() == [[0, 4]]
    assert [line.get_color() for line in rank.lines] == [MARKS["random"].colour, MARKS["pmq"].colour]


def test_matrices_hold_shares_of_the_true_class(drawn: Drawn, tmp_path: Path) -> None:
    found = [Confusion(name, 5, np.array([[3, 1], [0, 0]])) for name in ("moco", "pmq")]
    plot_confusion(found, ["SB", "SR"], {"moco": "MoCo", "pmq": "PMQ"}, "note", tmp_path / "x")
    first, second, scale = drawn().axes
    assert scale.get_ylabel() == "% of the true class"
    assert (first.get_title(), second.get_title()) == ("MoCo", "PMQ")
    assert [text.get_text() for text in first.texts] == ["75", "25", "–", "–"]
    assert [label.get_text() for label in first.get_xticklabels()] == ["SB", "SR"]


@pytest.mark.parametrize("number", [1, 2, 3, 11])
def test_matrices_are_about_square_and_their_words_apart(drawn: Drawn, tmp_path: Path, number: int) -> None:
    titles = {str(place): f"row {place}" for place in range(number)}
    found = [Confusion(name, 1, np.eye(5, dtype=int)) for name in titles]
    plot_confusion(found, ["NORM", "MI", "STTC", "CD", "HYP"], titles, "note", tmp_path / "x")
    figure = drawn()
    renderer = FigureCanvasAgg(figure).get_renderer()
    panels = figure.axes[:number]
    for axes in panels:
        box = axes.get_window_extent()
        assert box.height == pytest.approx(box.width, rel=0.15)
    heads = [axes.title.get_window_extent(renderer).y1 for axes in panels]
    feet = [axes.xaxis.get_tightbbox(renderer).y0 for axes in panels]
    assert max(heads) < figure.bbox.y1
    assert all(foot > head for foot, head in zip(feet, heads[5:], strict=False))


def test_differences_have_a_mark_an_interval_and_a_line_at_zero(drawn: Drawn, tmp_path: Path) -> None:
    rows = (
        Difference("pmq", 2.0, 1.0, 3.0, told=True),
        Difference("moco", -1.0, math.nan, math.nan, told=False),
    )
    found = [Differences(ratio, "random", rows) for ratio in (0.3, 0.01)]
    plot_differences(found, {"moco": "MoCo", "pmq": "PMQ"}, "Random", "note", tmp_path / "x")
    first, second = drawn().axes
    assert [axes.get_title() for axes in (first, second)] == ["30 % of the labels", "1 % of the labels"]
    assert [label.get_text() for label in first.get_yticklabels()] == ["MoCo", "PMQ"]
    assert first.get_xlabel() == "points from Random"
    xy = [line.get_xydata().tolist() for line in first.lines]
    assert [[1.0, 1.0], [3.0, 1.0]] in xy
    assert not [line for line in xy if any(math.isnan(x) for x, _ in line)]
    filled = {line.get_markerfacecolor() for line in first.lines if line.get_xydata().tolist() == [[2.0, 1.0]]}
    hollow = {line.get_markerfacecolor() for line in first.lines if line.get_xydata().tolist() == [[-1.0, 0.0]]}
    assert (filled, hollow) == ({MARKS["pmq"].colour}, {"white"})
