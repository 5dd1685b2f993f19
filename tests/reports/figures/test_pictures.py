"""Masked inputs and similarities as they were measured, each key marked by what it is."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

import numpy as np
import pytest
from matplotlib.figure import Figure

from benchmark.results.names import ATTRACTS, KEY_KINDS, OTHER, OWN
from reports.figures.data import MaskedInput, Similarity
from reports.figures.inside import plot_masking, plot_similarity, widest_cosine

Drawn = Callable[[], Figure]


@pytest.fixture
def drawn(monkeypatch: pytest.MonkeyPatch) -> Drawn:
    """The figure that was saved last; nothing is written."""
    saved: list[Figure] = []
    monkeypatch.setattr(Figure, "savefig", lambda figure, *_, **__: saved.append(figure))
    return lambda: saved[-1]


def masked(*names: str) -> MaskedInput:
    values = np.arange(len(names) * 6, dtype=np.float32).reshape(len(names), 3, 2)
    return MaskedInput("pmq", names, values)


def test_time_runs_to_the_right_on_one_scale(drawn: Drawn, tmp_path: Path) -> None:
    shown = masked("none", "frequency", "time", "all")
    plot_masking(shown, "note", tmp_path / "x")
    *panels, _ = drawn().axes
    titles = [axes.get_title() for axes in panels]
    assert titles == ["projection", "frequency-masked", "time-masked", "as the encoder gets it"]
    for axes, values in zip(panels, shown.values, strict=True):
        np.testing.assert_array_equal(axes.images[0].get_array(), values.T)
    assert len({axes.images[0].get_clim() for axes in panels}) == 1


@pytest.mark.parametrize(("names", "shown"), [(("none", "time", "all"), 2), (("none", "all"), 2)])
def test_a_single_mask_is_shown_once(drawn: Drawn, tmp_path: Path, names: tuple[str, ...], shown: int) -> None:
    plot_masking(masked(*names), "note", tmp_path / "x")
    assert sum(bool(axes.get_title()) for axes in drawn().axes) == shown


def similar() -> Similarity:
    kind = np.array([[OWN, OTHER, ATTRACTS], [OTHER, OWN, OTHER]], np.uint8)
    spread = np.zeros((len(KEY_KINDS), 50), np.int64)
    spread[OTHER, 20:30] = 4
    spread[OWN, 34] = 2
    cosine = np.array([[0.3, -0.1, 0.2], [0.0, 0.35, 0.1]], np.float32)
    ids = np.array([1, 2])
    return Similarity("pmq", cosine, kind, ids, np.array([1, 2, 1]), np.array([False, False, True]), spread)


def test_keys_are_marked_where_they_stand(drawn: Drawn, tmp_path: Path) -> None:
    plot_similarity([similar()], {"pmq": "PMQ"}, "note", tmp_path / "x")
    matrix, spread = drawn().axes[:2]
    (cells,) = matrix.collections
    np.testing.assert_array_equal(cells.get_array(), similar().cosine)
    assert cells.get_rasterized()
    assert matrix.get_ylim() == (2, 0)
    marks = {line.get_marker(): line.get_xydata().tolist() for line in matrix.lines if len(line.get_xdata()) != 2}
    assert marks["o"] == [[2.5, 0.5]]
    assert [line.get_xydata().tolist() for line in matrix.lines if line.get_marker() == "s"] == [
        [[0.5, 0.5], [1.5, 1.5]]
    ]
    assert any(list(line.get_xdata()) == [2, 2] for line in matrix.lines)
    assert len(spread.patches) == 2
    assert [text.get_text() for text in drawn().legends[0].get_texts()] == [KEY_KINDS[OTHER], KEY_KINDS[OWN]]


def test_the_axis_of_cosines_ends_where_they_do() -> None:
    assert widest_cosine([similar()]) == pytest.approx(0.4)
