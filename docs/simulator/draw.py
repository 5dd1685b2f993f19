"""Draw the sheets of docs/SIMULATOR.md, one per diagnosis: python docs/simulator/draw.py [FOLDER]

All show one patient, with typical severity and little noise, so that two sheets differ by the finding alone. The files
are shrunk to ten colours, to keep the repository small.
"""

from __future__ import annotations

import sys
from collections.abc import Iterable
from dataclasses import replace
from pathlib import Path

import numpy as np
from PIL import Image

from benchmark.data.simulate import DIAGNOSES, record
from benchmark.data.simulate.patient import draw_anatomy
from reports.figures.twelve_lead import twelve_lead_sheet

PATIENT, ANATOMY, NOISE = 1, 0.5, 0.4
FS = 500
WIDTH = 1160
"""Pixels."""
PALETTE = ("#ffffff", "#fbe9e9", "#f4cdcd", "#e9a5a5", "#b9a0a0", "#806c6c", "#404040", "#000000", "#0072b2", "#8fbfdd")
"""Paper, its grid, the trace and its edges, the marks."""


def draw(folder: Path, names: Iterable[str] = tuple(DIAGNOSES)) -> None:
    """Write one PNG per diagnosis."""
    folder.mkdir(parents=True, exist_ok=True)
    for name in names:
        rng = np.random.default_rng(PATIENT)
        patient = draw_anatomy(rng, woman=False, spread=ANATOMY)
        typical = replace(patient, severity=dict.fromkeys(DIAGNOSES, 1.0))
        recorded = record(typical, (name,), rng, fs=FS, noise=NOISE)
        peaks = np.rint(recorded.beats.time * FS).astype(np.int64)
        pr = "no PR" if recorded.pr is None else f"PR {1000 * recorded.pr:.0f} ms"
        facts = f"{recorded.rate:.0f}/min, {pr}, QRS {1000 * recorded.qrs:.0f} ms, QT {1000 * recorded.qt:.0f} ms"
        title = f"{name}: {DIAGNOSES[name]}\nsimulated; {facts}, QRS axis {recorded.axes['QRS']:.0f}°"
        twelve_lead_sheet(recorded.signal, FS, title, peaks, folder / f"{name}.png")
        shrink(folder / f"{name}.png")


def shrink(path: Path) -> None:
    """Make a sheet small enough for a repository, in place."""
    with Image.open(path) as sheet:
        height = round(sheet.height * WIDTH / sheet.width)
        small = sheet.convert("RGB").resize((WIDTH, height), Image.Resampling.LANCZOS)
    colours = Image.new("P", (1, 1))
    colours.putpalette(bytes.fromhex("".join(colour[1:] for colour in PALETTE)))
    small.quantize(palette=colours, dither=Image.Dither.NONE).save(path, optimize=True)


if __name__ == "__main__":
    draw(Path(sys.argv[1]) if len(sys.argv) > 1 else Path(__file__).parent)
