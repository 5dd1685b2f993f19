"""The 12-lead sheet: true to scale, every lead in its place, every beat marked."""

from __future__ import annotations

import struct
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from matplotlib.axes import Axes
from matplotlib.figure import Figure

from reports.figures import twelve_lead
from reports.figures.twelve_lead import LEADS, gain_of, twelve_lead_sheet

FS = 100.0
NO_BEAT = np.empty(0, np.int64)


@pytest.fixture
def axes_of(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> Any:
    """Draw a sheet and return its axes."""
    drawn: list[Axes] = []
    save = Figure.savefig

    def keep(figure: Figure, *args: Any, **options: Any) -> None:
        drawn.extend(figure.axes)
        save(figure, *args, **options)

    monkeypatch.setattr(Figure, "savefig", keep)

    def draw(signal: np.ndarray, r_peaks: np.ndarray = NO_BEAT, title: str = "A title\nbelow") -> Axes:
        twelve_lead_sheet(signal, FS, title, r_peaks, tmp_path / "sheet.png")
        return drawn[-1]

    return draw


def steps(seconds: float = 10.0) -> np.ndarray:
    """Lead j holds 0.1 * j mV after its middle, so that its median is 0 and its place can be told."""
    signal = np.zeros((int(seconds * FS), len(LEADS)))
    signal[np.arange(0, len(signal), 3)] = 0.1 * np.arange(len(LEADS))
    return signal


def traces(axes: Axes) -> list[np.ndarray]:
    """(n, 2) in mm of each piece of a lead."""
    return [line.get_xydata() for line in axes.lines if line.get_marker() != "v" and len(line.get_xdata()) > 6]


def words(axes: Axes) -> list[str]:
    return [text.get_text() for text in axes.texts]


def test_a_millivolt_is_10_mm_and_a_second_25_mm(axes_of: Any) -> None:
    pieces = traces(axes_of(steps()))
    assert len(pieces) == 12 + 1
    for lead, piece in zip(range(12), pieces, strict=False):
        assert np.ptp(piece[:, 1]) == pytest.approx(10 * 0.1 * lead)
        assert np.ptp(piece[:, 0]) == pytest.approx(25 * (2.5 - 1 / FS))
    assert np.ptp(pieces[-1][:, 0]) == pytest.approx(25 * (10 - 1 / FS))


def test_the_page_is_as_large_as_its_millimetres(axes_of: Any, tmp_path: Path) -> None:
    axes = axes_of(steps())
    width, height = struct.unpack(">II", (tmp_path / "sheet.png").read_bytes()[16:24])
    assert width == pytest.approx(axes.get_xlim()[1] / 25.4 * twelve_lead.DPI, abs=1)
    assert height == pytest.approx(axes.get_ylim()[1] / 25.4 * twelve_lead.DPI, abs=1)


def test_leads_stand_in_four_columns_that_follow_in_time(axes_of: Any) -> None:
    axes = axes_of(steps())
    names = [text for text in words(axes) if text in LEADS]
    assert names == [*LEADS, "II"]
    place = {text.get_text(): text.get_position() for text in axes.texts}
    assert place["I"][0] == place["III"][0] < place["aVR"][0] < place["V1"][0] < place["V4"][0]
    assert place["aVR"][1] == place["V4"][1] > place["aVL"][1] > place["V6"][1]


def test_every_beat_is_marked_over_its_place(axes_of: Any) -> None:
    axes = axes_of(steps(25.0), np.array([100, 1050, 2400]))
    marks = [line for line in axes.lines if line.get_marker() == "v"][:-1]  # the last explains them
    seconds = [(line.get_xdata() - twelve_lead.LEFT) / 25 for line in marks]
    np.testing.assert_allclose(np.concatenate(seconds), [1.0, 0.5, 4.0])
    heights = [float(line.get_ydata()[0]) for line in marks]
    assert heights == sorted(heights, reverse=True)


def test_a_long_recording_is_cut_and_says_so(axes_of: Any) -> None:
    axes = axes_of(steps(95.0))
    assert len(traces(axes)) == 12 + 6
    assert any("first 60 s of 95 s" in text for text in words(axes))


@pytest.mark.parametrize("seconds", [0.1, 2.0, 6.0])
def test_a_short_recording_shows_what_there_is(axes_of: Any, seconds: float) -> None:
    axes = axes_of(steps(seconds))
    assert [text for text in words(axes) if text in LEADS] == [*LEADS, "II"]
    assert any("columns overlap in time" in text for text in words(axes))
    assert max(piece[:, 0].max() for piece in traces(axes)) <= axes.get_xlim()[1]


@pytest.mark.parametrize(("millivolts", "gain"), [(1.0, 10.0), (2.5, 10.0), (4.0, 5.0), (9.0, 2.5), (50.0, 2.5)])
def test_the_gain_is_halved_where_a_trace_would_not_fit(axes_of: Any, millivolts: float, gain: float) -> None:
    signal = np.zeros((1000, 12))
    signal[::20, 4] = millivolts
    assert gain_of(signal) == gain
    assert any(f"{gain:g} mm/mV" in text for text in words(axes_of(signal)))


def test_an_offset_is_taken_off_and_the_title_is_kept(axes_of: Any) -> None:
    axes = axes_of(steps() + 7.0)
    assert gain_of(steps()) == 10.0
    assert any("10 mm/mV" in text for text in words(axes))
    bold = [text.get_text() for text in axes.texts if text.get_fontweight() == "bold" and text.get_text() not in LEADS]
    assert bold == ["A title"]


def test_the_same_recording_gives_the_same_bytes(tmp_path: Path) -> None:
    for name in ("a.png", "b.png"):
        twelve_lead_sheet(steps(), FS, "t", NO_BEAT, tmp_path / name)
    assert (tmp_path / "a.png").read_bytes() == (tmp_path / "b.png").read_bytes()


@pytest.mark.parametrize("shape", [(0, 12), (100, 8), (12,)])
def test_what_is_no_recording_is_refused(tmp_path: Path, shape: tuple[int, ...]) -> None:
    with pytest.raises(ValueError, match="is not \\(n, 12\\)"):
        twelve_lead_sheet(np.zeros(shape), FS, "t", NO_BEAT, tmp_path / "x.png")
    assert not (tmp_path / "x.png").exists()
