"""Cache key of a prepared dataset: a hash of all that determines the outcome, computed without opening a signal.

It covers files (names, sizes, times), tables, segmentation and package versions, so an unchanged dataset is recognised
without being read. Under other versions a dataset is prepared again; if the outcome is equal, so is its fingerprint,
and its results are found again.
"""

from __future__ import annotations

import hashlib
import json
from dataclasses import asdict
from importlib.metadata import version
from pathlib import Path

from benchmark.data.prepared.windows import Segmentation
from benchmark.data.readers.base import Dataset, Listing
from benchmark.results.keys import KEY_LENGTH

PIPELINE_VERSION = 1
"""Raised with every change that can move a value of a window or pseudo-trial; old caches are then rebuilt."""
PACKAGES = ("numpy", "scipy", "wfdb", "pandas")
"""Packages that process samples between file and window: filters and readers."""


def cache_key(dataset: Dataset, listing: Listing, segmentation: Segmentation) -> str:
    """Key of a listed dataset under a segmentation: 16 hex digits."""
    versions = {"pipeline": PIPELINE_VERSION, **{name: version(name) for name in PACKAGES}}
    about = [dataset.name, listing.form, listing.skipped, listing.warnings, versions, asdict(segmentation)]
    content = hashlib.sha256(json.dumps(about).encode())
    for entry in listing.entries:
        files = [_stamp(path) for path in dataset.files(entry)]
        content.update(json.dumps([asdict(entry), files]).encode())
    return content.hexdigest()[:KEY_LENGTH]


def _stamp(path: Path) -> tuple[str, int, int]:
    try:
        status = path.stat()
    except OSError:
        return path.name, -1, -1
    return path.name, status.st_size, status.st_mtime_ns
