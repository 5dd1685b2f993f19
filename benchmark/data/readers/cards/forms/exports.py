"""What hospitals export: EDF, DICOM waveform, SCP-ECG, HL7 aECG, GE MUSE XML, Philips XML, ISHNE and more.

The format is told from a file's content. The one owner of ecgdatakit.
"""

from __future__ import annotations

import re
import warnings
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

import numpy as np

from benchmark.data.readers.base import LEADS, Unusable
from benchmark.data.readers.cards.card import Signals
from benchmark.data.readers.cards.forms.stored import Stored
from benchmark.data.readers.checks import LARGEST_SIGNAL, check_extent, check_file

DOUBTFUL = re.compile(r"truncat|mismatch|checksum|not closed|incomplete", re.IGNORECASE)
"""In a warning of the parser: the samples are not those that were written."""


def read(path: Path, signals: Signals) -> Stored:
    """The leads of a file in their units. Raises Unusable for damage, also where the parser only warns of it."""
    record = parsed(path)
    leads = wanted(record.leads, signals)
    if not leads:
        raise Unusable("no leads in the file")
    if len({len(lead.samples) for lead in leads}) > 1 or len({lead.sampling_rate for lead in leads}) > 1:
        raise Unusable("leads of different lengths or rates")
    if any(lead.annotations.get("start_sample", "1") != "1" for lead in leads):
        raise Unusable("leads that were not recorded together")
    fs = exact_rate(leads[0], record.raw_metadata)
    check_extent(len(leads[0].samples), fs)
    signal = np.stack([lead.samples for lead in leads], axis=1).astype(np.float64)  # (n, L)
    return Stored(signal, [lead.label for lead in leads], [lead.units for lead in leads], fs)


def wanted(leads: Sequence[Any], signals: Signals) -> Sequence[Any]:
    """The leads that a card can mean: an EDF file may have channels of breathing too, at another rate."""
    if isinstance(signals.leads, list):
        return leads
    names = {lead.lower() for lead in LEADS}
    named = signals.leads or {}
    return [lead for lead in leads if lead.label.lower() in names or lead.label in named] or leads


def parsed(path: Path) -> Any:
    """The record of a file, its leads in millivolts where the file states their scale. Raises Unusable."""
    from ecgdatakit import FileParser  # here, because it is in the extra `formats` alone

    check_file(path, LARGEST_SIGNAL)
    try:
        with warnings.catch_warnings(record=True) as said:
            warnings.simplefilter("always")
            record = FileParser.parse(path)
    except ImportError as error:
        raise Unusable(f"a package is missing; pip install '.[formats]': {error.name}") from error
    except Exception as error:  # a parser raises any kind of error on a damaged file
        raise Unusable(f"unreadable, truncated or of no known format: {type(error).__name__}") from error
    doubts = [str(warning.message) for warning in said if DOUBTFUL.search(str(warning.message))]
    if doubts:
        raise Unusable(f"damaged file: {doubts[0][:100]}")
    return record


def exact_rate(lead: Any, raw: Mapping[str, Any]) -> float:
    """Hz: the rate as the file states it, which the parser rounds to a whole number."""
    if lead.label in raw.get("exact_sampling_rates", {}):  # EDF
        return float(raw["exact_sampling_rates"][lead.label])
    groups = [group for group in raw.get("multiplex_groups", []) if "sampling_frequency" in group]  # DICOM
    if groups:
        rates = [group["sampling_frequency"] for group in groups]
        return float(min(rates, key=lambda rate: abs(rate - lead.sampling_rate)))
    exact = raw.get("rhythm_time", {}).get("sampling_rate_exact") if isinstance(raw.get("rhythm_time"), dict) else None
    if exact is not None and abs(exact - round(exact)) > 1e-3:  # HL7 aECG; a step of 2 ms may give 499.99999
        return float(exact)
    return float(lead.sampling_rate)
