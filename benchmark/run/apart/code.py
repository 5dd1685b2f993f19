"""Which code a job was submitted with: it refuses to run with another."""

from __future__ import annotations

import hashlib
from collections.abc import Mapping
from functools import lru_cache
from pathlib import Path

CHECKOUT = Path(__file__).resolve().parents[3]
PACKAGES = ("benchmark", "methods")
WITHOUT = ("benchmark/verbs/", "benchmark/screen/", "benchmark/run/engines/")
"""Code that no result rests on."""


def read_digests(checkout: Path = CHECKOUT) -> dict[str, str]:
    """File of the code that results rest on -> digest of its content."""
    files = sorted(path for package in PACKAGES for path in (checkout / package).rglob("*.py"))
    names = {path.relative_to(checkout).as_posix(): path for path in files}
    return {
        name: hashlib.sha256(path.read_bytes()).hexdigest()[:16]
        for name, path in names.items()
        if not name.startswith(WITHOUT)
    }


@lru_cache(maxsize=1)
def digests_of_code() -> dict[str, str]:
    """`read_digests` of this process's checkout when it was first asked for."""
    return read_digests()


def refuse_other_code(before: Mapping[str, str], checkout: Path = CHECKOUT) -> None:
    """Raise ValueError in one line if a file of the code is not as it was."""
    now = read_digests(checkout)
    edited = sorted(name for name in before.keys() | now.keys() if before.get(name) != now.get(name))
    if edited:
        more = f" and {len(edited) - 1} more" if len(edited) > 1 else ""
        raise ValueError(
            f"{edited[0]}{more} has been edited since this job was submitted; the same command submits it as it is now"
        )
