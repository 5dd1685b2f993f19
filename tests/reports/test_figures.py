"""Figures: which a run has data for, what they show, and that the same run gives the same bytes."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import replace
from itertools import combinations, product
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import pytest
from matplotlib import style as style_sheet
from matplotlib.colors import to_rgb
from matplotlib.figure import Figure
from matplotlib.lines import Line2D
from matplotlib.text import Text
from matplotlib.transforms import Bbox

from benchmark.results.names import AUGMENTED, CLASSICAL_TITLES, FROZEN, SUPERVISED
from benchmark.results.store import Plan
from methods import METHODS
from reports import figures, load
from reports.comparison import RowComparison
from reports.figures import (
    MEASURE_LABELS,
    SETTINGS,
    draw_differences,
    draw_figures,
    draw_identifiability,
    draw_label_efficiency,
    draw_methods,
    draw_training,
    style_of,
)
from reports.looks import looks_of
from reports.sweeps import budget_panels, draw_sweeps, draw_swept
from tests.reports.conftest import write_record

pytestmark = pytest.mark.draws
RETRIEVED = ["variant", "dataset", "metric", "mean", "low", "high"]
DIFFERENCES = ["ratio", "reference", "variant", "difference", "low", "high", "low_holm", "high_holm", "significant"]
DEFAULT_ROWS = ("moco", "byol", "clocs", "pclr", "comet", "etp", "pmq")
SWEEP = {"role": "sweep", "of": "pmq", "hyperparameter": "queue_size"}


def with_sweep(plan: Plan) -> Plan:
    roles = {"moco": SWEEP | {"value": 1024}, "pmq:w/o mask_t": SWEEP | {"value": 256}}
    return replace(plan, roles=roles)


def comparison(
    rows: Sequence[str], shares: Sequence[float], datasets: Sequence[str], baseline: str = ""
) -> RowComparison:
    """Rows of which each is 5 points better than the one before it, the first being the reference."""
    differences, intervals = [], []
    for share, (number, row) in product(shares, enumerate(rows)):
        middle = 0.05 * number - 0.1
        ends = (middle - 0.04, middle + 0.04)
        differences.append((share, rows[0], row, middle, *ends, *ends, number > 3))
        intervals += [("f1", share, dataset, row, 0.4 + middle / 2, 0.3, 0.8) for dataset in datasets]
    frame = pd.DataFrame(differences, columns=DIFFERENCES)
    scores = pd.DataFrame(intervals, columns=["metric", "ratio", "dataset", "variant", "mean", "low", "high"])
    among = frame[~frame["variant"].isin([rows[0], rows[-1]])].assign(reference=rows[-1])
    return RowComparison(frame[frame["variant"] != rows[0]], scores, frame[frame["variant"] == baseline], among)


def test_every_kind_of_figure_is_drawn_once(write_store: Callable[..., Path], tmp_path: Path) -> None:
    root = write_store(complete=True, alter_plan=with_sweep)
    for variant in ("random", "pmq"):
        health = [{"epoch": epoch, "effective_rank": 3.0 + epoch, "retrieval": 0.1 * epoch} for epoch in range(3)]
        write_record(root, variant, seed=42, loss=[3.0, 2.0], health=health)
    compared = comparison(["random", "moco", "pmq"], [0.3, 0.01], ["ptb-xl", "chapman"])
    of_tables = {
        ("finetune", "heartbeat"): compared,
        ("linear", "heartbeat"): RowComparison(*(one[:0] for one in compared)),
    }
    where = [("ptb-xl", "recall@1"), ("ptb-xl", "recall@5"), ("chapman", "recall@1"), ("", "overall")]
    points = pd.DataFrame([("pmq", *one, 0.6, 0.5, 0.9) for one in where], columns=RETRIEVED)
    of_run = load(root), of_tables, points
    intervals = pd.DataFrame(columns=["table", "metric"], dtype=str)
    drawn, again = (
        [
            *draw_figures(of_run[0], tmp_path / name, *of_run[1:]),
            *draw_swept(of_run[0], tmp_path / name, of_tables, intervals),
        ]
        for name in "ab"
    )
    names = [figure.png.stem for figure in drawn]
    assert names == [
        "finetune-heartbeat-differences", "finetune-heartbeat-methods", "finetune-heartbeat-label-efficiency",
        "identifiability", "training", "finetune-heartbeat-pmq-queue-size",
    ]  # fmt: skip
    assert [figure.question for figure in drawn] == ["against", "among"] + 4 * [""]
    assert "per heartbeat, seeds 41, 42. Lines: 95 % intervals, adjusted by Holm" in drawn[0].caption
    for one, other in zip(drawn, again, strict=True):
        for suffix in (".png", ".pdf"):
            assert one.png.with_suffix(suffix).read_bytes() == other.png.with_suffix(suffix).read_bytes()


def test_a_row_has_one_look_in_all_runs_that_no_other_built_in_row_has() -> None:
    looks = looks_of(["ours", "pmq", "theirs"])
    assert looks["ours"] == looks_of(["ours"])["ours"]
    assert len(set(looks.values())) == len(looks)
    assert METHODS.keys() | {FROZEN, SUPERVISED, AUGMENTED, *CLASSICAL_TITLES} <= looks.keys()
    assert {look.marker for look in looks.values()} <= set(Line2D.filled_markers)


def test_eight_hues_differ_in_grey() -> None:
    hues = [looks_of([])[name].hue for name in (*DEFAULT_ROWS, "random")]
    red, green, blue = np.array([to_rgb(hue) for hue in hues]).T ** 2.2
    lightness = 116 * np.cbrt(0.2126 * red + 0.7152 * green + 0.0722 * blue) - 16
    assert len(set(hues)) == 8
    assert np.diff(np.sort(lightness)).min() > 6


@pytest.mark.parametrize(("rows", "shares", "datasets"), [(3, 1, 1), (12, 4, 1), (3, 1, 9), (12, 4, 9)])
def test_no_text_leaves_a_figure_or_lies_on_another(
    store_root: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, rows: int, shares: int, datasets: int
) -> None:
    ratios = [1.0, 0.3, 0.1, 0.005][:shares]
    variants = {name: f"{name.upper()} with a long title" for name in [*looks_of([])][:rows]}
    titles = {f"set{number}": {"title": f"Dataset {number}", "simulated": True} for number in range(datasets)}
    swept = {f"pmq:{size}": SWEEP | {"value": size} for size in (256, 1024, 4096, 16384)}
    plan = load(store_root).plan
    plan = replace(plan, variants=variants | dict.fromkeys(swept, "PMQ"), datasets=titles, roles=swept)
    style = style_of(plan)
    compared = comparison([*variants], ratios, [*titles], "byol")
    scores = comparison([*plan.variants], ratios[-1:], [*titles]).intervals.rename(columns={"mean": "value"})
    points = scores[scores["variant"].isin(variants)].rename(columns={"value": "mean"})
    ends = points.add_suffix("_overall")[["mean_overall", "low_overall", "high_overall"]]
    epochs = product(variants, ("a", "b"), range(1, 4), [*MEASURE_LABELS])
    curves = [(row, key, epoch, measure, 3.0 - epoch) for row, key, epoch, measure in epochs]
    boxes: dict[Text, Bbox] = {}
    draw = Text.draw

    def watched(text: Text, renderer: Any, *arguments: Any, **named: Any) -> None:
        if text.get_visible() and text.get_text().strip():
            boxes[text] = text.get_window_extent(renderer)
        draw(text, renderer, *arguments, **named)

    def look_at(canvas: Figure, stem: Path, *_: Any) -> figures.Figure:
        boxes.clear()
        monkeypatch.setattr(Text, "draw", watched)
        canvas.savefig(tmp_path / f"{stem.name}.png", dpi=canvas.dpi)
        monkeypatch.setattr(Text, "draw", draw)
        assert canvas.get_figwidth() in (3.5, 7.0)
        for text, box in boxes.items():
            assert min(box.x0, box.y0) >= 0, text
            assert (box.max <= canvas.bbox.max).all(), text
        for (one, first), (other, second) in combinations(boxes.items(), 2):
            overlap = Bbox.intersection(first, second)
            assert overlap is None or min(overlap.width, overlap.height) < 0.5, (stem.name, one, other)
        return figures.Figure(stem, "")

    monkeypatch.setattr("reports.figures.save", look_at)
    monkeypatch.setattr("reports.sweeps.save", look_at)
    over_updates = [
        {"ratio": share, "method": row, "updates": 40 * times, "mean": 0.5, "low": 0.4, "high": 0.6}
        for share, row, times in product(ratios, variants, (1, 4, 16))
    ]
    levels = pd.DataFrame([{"ratio": share, "variant": "random", "metric": "overall", "mean": 0.3} for share in ratios])
    with style_sheet.context(SETTINGS):
        list(draw_differences(compared, style, tmp_path / "differences", ""))
        list(draw_methods(compared, style, tmp_path / "methods", ""))
        draw_label_efficiency(compared.intervals, style, tmp_path / "label-efficiency", "")
        list(draw_sweeps(scores, style, tmp_path / "sweep", ""))
        look_at(budget_panels(pd.DataFrame(over_updates), levels, style), tmp_path / "budget")
        draw_identifiability(points.join(ends), style, tmp_path / "identifiability")
        frame = pd.DataFrame(curves, columns=["variant", "key", "epoch", "measure", "value"])
        draw_training(frame, style, tmp_path / "training")
    assert len(list(tmp_path.glob("*.png"))) == 5 + 2 * (shares + (shares > 1))
