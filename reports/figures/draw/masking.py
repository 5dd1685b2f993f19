"""One window's embedded input as it is, under each mask alone, and under all of them (PMQ, "Data Augmentations")."""

from __future__ import annotations

from pathlib import Path

import numpy as np

from reports.figures.draw.style import SIGNED, TWO_COLUMNS, new_figure, save, small_print, styled, words_height
from reports.figures.illustrations import MaskedInput

HEIGHT = 2.1
TITLES = {"none": "projection", "all": "as the encoder gets it"}
LONE_MASK = 3
"""Pictures of an input with a single mask: its last two are of the same kind."""
CLIP = 0.995
"""Share of the values that the colours tell apart; the few beyond look alike."""


def plot_masking(shown: MaskedInput, note: str, stem: Path) -> tuple[Path, Path]:
    """Draw time to the right and channels upwards, in the colours of one scale. note: the small print."""
    names = shown.names[:2] if len(shown.names) == LONE_MASK else shown.names
    reach = float(np.quantile(np.abs(shown.values), CLIP)) or 1.0
    with styled():
        figure = new_figure(TWO_COLUMNS, HEIGHT + words_height({}, note, TWO_COLUMNS))
        grid = figure.subplots(1, len(names), squeeze=False, sharey=True)[0]
        for axes, name in zip(grid, names, strict=True):
            values = shown.values[shown.names.index(name)]  # (S, D)
            image = axes.imshow(
                values.T, cmap=SIGNED, vmin=-reach, vmax=reach, aspect="auto", origin="lower", interpolation="nearest"
            )
            axes.set_title(TITLES.get(name, f"{name}-masked"))
            axes.set_xlabel("sample")
        grid[0].set_ylabel("channel")
        figure.colorbar(image, ax=list(grid), pad=0.01, aspect=30)
        small_print(figure, note)
        return save(figure, stem)
