"""The paper's scores and a store's stand beside each other, on the line of their row."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest
from matplotlib.figure import Figure

from reports.figures.draw.score_pairs import APART
from reports.paper.figure import paper_and_store
from reports.paper.printed import Measured, Place
from reports.paper.replication import Beside


def pair(variant: str, ratio: float, paper: float, ours: float, std: float | None = 1.0) -> Beside:
    return Beside(Place(variant, ratio, "chapman", "f1"), Measured(paper, 0.5, 5), Measured(ours, std, 5))


def test_paper_and_store_stand_on_the_line_of_their_row(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    drawn: list[Figure] = []
    save = Figure.savefig
    monkeypatch.setattr(Figure, "savefig", lambda figure, *a, **k: (drawn.append(figure), save(figure, *a, **k))[1])
    pairs = [pair("random", 0.3, 86.6, 80.0), pair("pmq", 0.3, 86.8, 88.0, None), pair("pmq", 0.01, 82.9, 84.0)]
    files = paper_and_store(pairs, tmp_path / "beside", simulated=True)
    assert [file.name for file in files] == ["beside.png", "beside.pdf"]
    assert [file.read_bytes()[:4] for file in files] == [b"\x89PNG", b"%PDF"]
    upper, lower = drawn[0].axes
    assert [upper.get_title(), lower.get_title()] == ["Chapman, 30 %", "Chapman, 1 %"]
    assert [label.get_text() for label in upper.get_yticklabels()] == ["Random", "PMQ"]
    points = {container.get_label(): container.lines[0].get_xydata() for container in upper.containers}
    np.testing.assert_allclose(points["paper"], [[86.6, -APART], [86.8, 1 - APART]])
    np.testing.assert_allclose(points["store"], [[80.0, APART], [88.0, 1 + APART]])
    assert "simulated ECGs" in " ".join(drawn[0].get_supxlabel().split())
    assert len(drawn[0].legends[0].get_texts()) == 2
