"""WFDB records: leads, units and rate stand in their headers."""

from __future__ import annotations

from pathlib import Path

from benchmark.data.readers.base import Unusable
from benchmark.data.readers.cards.card import Signals
from benchmark.data.readers.cards.forms.stored import Stored
from benchmark.data.readers.files.wfdb_record import read_samples, signal_files


def read(path: Path, signals: Signals) -> Stored:
    """A record named by its header. Raises Unusable as `read_samples`."""
    samples = read_samples(path.with_suffix(""))
    return Stored(samples.signal, [lead or "" for lead in samples.leads], samples.units, samples.fs)


def files(path: Path) -> tuple[Path, ...]:
    """The header and the signal files that it names, existing or not; else the .dat or .mat file beside it."""
    try:
        if named := signal_files(path.with_suffix("")):
            return (path, *named)
    except Unusable:  # no header, or no text
        pass
    signal = next((own for own in (path.with_suffix(".dat"), path.with_suffix(".mat")) if own.is_file()), None)
    return (path, signal or path.with_suffix(".dat"))
