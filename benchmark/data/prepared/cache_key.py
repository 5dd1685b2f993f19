"""Under which name the cache keeps a prepared dataset: a hash of all that decides the outcome, no signal opened.

These are the files (names, sizes, times), what the tables say, and what computes. So an unchanged dataset is recognised
without being read; one that another version of a package may prepare differently is prepared again, and where the same
comes out its fingerprint is the same too, so that its results are found again.
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
"""Raised with every change that can move a value of a window or pseudo-trial; old caches are then made anew."""
PACKAGES = ("numpy", "scipy", "wfdb", "pandas")
"""What samples pass through on their way from a file to a window: filters, and the readers of the on-disk forms."""


def cache_key(dataset: Dataset, listing: Listing, segmentation: Segmentation) -> str:
    """Key of a listed dataset that is cut in a way."""
    versions = {"pipeline": PIPELINE_VERSION, **{name: version(name) for name in PACKAGES}}
    about = [dataset.name, listing.form, listing.skipped, versions, asdict(segmentation)]
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
