"""Files of a figure: both kinds, embedded fonts, the same bytes; marks that stay with their method."""

from __future__ import annotations

from pathlib import Path

import matplotlib as mpl
import pytest
from matplotlib.backends.backend_agg import FigureCanvasAgg

from reports.figures.style import MARKS, OTHERS, legend, marks, new_figure, save, small_print, styled, words_height


def draw(stem: Path) -> tuple[Path, Path]:
    with styled():
        figure = new_figure(3.5, 2.0)
        figure.subplots().plot([1, 2, 3])
        legend(figure, {"pmq": "PMQ", "moco": "MoCo"})
        small_print(figure, "Simulated ECGs: no ranking of methods follows. " * 4)
        return save(figure, stem)


def test_a_figure_is_written_as_png_and_pdf_in_the_same_bytes(tmp_path: Path) -> None:
    first, second = draw(tmp_path / "a" / "name.of-it"), draw(tmp_path / "b" / "name.of-it")
    assert [file.name for file in first] == ["name.of-it.png", "name.of-it.pdf"]
    assert [file.read_bytes() for file in first] == [file.read_bytes() for file in second]
    png, pdf = (file.read_bytes() for file in first)
    assert int.from_bytes(png[16:20]) == 700  # 3.5 inches at 200 dpi
    assert b"/CIDFontType2" in pdf
    assert b"/Type3" not in pdf
    assert b"CreationDate" not in pdf


def test_the_settings_of_the_process_stay_as_they_are(tmp_path: Path) -> None:
    before = dict(mpl.rcParams)
    draw(tmp_path / "figure")
    assert dict(mpl.rcParams) == before


def test_small_print_stays_on_the_page(tmp_path: Path) -> None:
    with styled():
        figure = new_figure(3.5, 2.0)
        small_print(figure, "MMMMM WWWWW percent, " * 12)
        renderer = FigureCanvasAgg(figure).get_renderer()
        extent = figure._supxlabel.get_window_extent(renderer)
    assert extent.x1 < 1.2 * figure.bbox.x1  # of the widest letters there are


@pytest.mark.parametrize("titles", [{"pmq": "PMQ"}, {name: "PMQ (released code)" for name in MARKS}])
def test_a_legend_stays_on_the_page(titles: dict[str, str]) -> None:
    with styled():
        figure = new_figure(3.5, 4.0)
        legend(figure, titles)
        extent = figure.legends[0].get_window_extent(FigureCanvasAgg(figure).get_renderer())
    assert extent.width < figure.bbox.width


def test_the_height_of_words_grows_with_their_lines() -> None:
    one = words_height({}, "A short note.", 3.5)
    assert words_height({}, "A short note. " * 20, 3.5) == pytest.approx(4 * one, rel=0.3)
    assert words_height({"pmq": "PMQ", "moco": "MoCo"}, "A short note.", 3.5) == pytest.approx(2 * one)
    assert words_height(dict.fromkeys(MARKS, "PMQ (released code)"), "", 3.5) > 5 * one


def test_a_method_has_one_mark_in_every_store() -> None:
    assert marks(["random", "pmq"])["pmq"] == marks(["pmq", "mine", "byol"])["pmq"] == MARKS["pmq"]
    both = marks(["random", "simclr", "mine", "random+s4", "simclr+s4", "mine+s4"])
    for row in ("random", "simclr", "mine"):
        assert both[f"{row}+s4"][:2] == both[row][:2]
        assert both[f"{row}+s4"].dash != both[row].dash
        assert both[f"{row}+s4"].fill != both[row].fill
    strangers = [f"own{number}" for number in range(len(OTHERS) + 2)]
    assert list(marks(strangers).values()) == [*OTHERS, *OTHERS[:2]]
    assert len({(mark.shape, mark.colour) for mark in (*MARKS.values(), *OTHERS)}) == len(MARKS) + len(OTHERS)
    first = (*MARKS.values(), *OTHERS[:3])
    assert len({mark.shape for mark in first}) == len(first)
