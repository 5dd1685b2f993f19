"""Cache key of a prepared dataset: a hash of all that determines the outcome, computed without decoding a signal.

It covers files (names and contents), tables, segmentation and package versions, and no time or place, so a copied or
touched dataset is recognised; each file is read once for it (`contents`). Under other versions a dataset is prepared
again; if the outcome is equal, so is its fingerprint, and its results are found again.
"""

from __future__ import annotations

import hashlib
import json
from dataclasses import asdict
from importlib.metadata import version
from pathlib import Path

from benchmark.data.prepared.contents import OnReading, contents_of
from benchmark.data.prepared.windows import Segmentation
from benchmark.data.readers.base import Dataset, Listing
from benchmark.results.keys import KEY_LENGTH

PIPELINE_VERSION = 1
"""Raised with every change that can move a value of a window or pseudo-trial; old caches are then rebuilt."""
PACKAGES = ("numpy", "scipy", "wfdb", "pandas")
"""Packages that process samples between file and window: filters and readers."""


def cache_key(
    dataset: Dataset,
    listing: Listing,
    segmentation: Segmentation,
    cache: Path,
    *,
    read: bool = True,
    on_reading: OnReading | None = None,
) -> str:
    """Key of a listed dataset under a segmentation: 16 hex digits; `read` and `on_reading` as in `contents_of`."""
    versions = {"pipeline": PIPELINE_VERSION, **{name: version(name) for name in PACKAGES}}
    about = [dataset.name, listing.form, listing.skipped, listing.warnings, versions, segmentation.content()]
    about += [listing.reading] if listing.reading else []  # absent without, so that caches of earlier versions serve
    content = hashlib.sha256(json.dumps(about).encode())
    files_of = [dataset.files(entry) for entry in listing.entries]
    files = [path for own in files_of for path in own]
    found = contents_of(dataset.name, dataset.root, files, cache, read=read, on_reading=on_reading)
    for entry, own in zip(listing.entries, files_of, strict=True):
        stated = asdict(entry)
        if not entry.statements:  # absent without, so that caches of earlier versions serve
            del stated["statements"]
        content.update(json.dumps([stated, [(path.name, found[path]) for path in own]]).encode())
    return content.hexdigest()[:KEY_LENGTH]
