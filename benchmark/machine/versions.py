"""State of the code and versions of the packages that a number was computed with."""

from __future__ import annotations

import hashlib
import platform
import subprocess
from functools import lru_cache
from importlib import metadata
from pathlib import Path

PACKAGES = ("torch", "numpy", "scikit-learn", "scipy", "pandas", "wfdb")


def _git(*arguments: str) -> str | None:
    folder = Path(__file__).resolve().parent
    try:
        done = subprocess.run(["git", *arguments], cwd=folder, capture_output=True, text=True, timeout=10, check=True)
    except (OSError, subprocess.SubprocessError):
        return None
    return done.stdout.strip()


@lru_cache(maxsize=1)
def git_state() -> dict[str, str | bool | None]:
    """Commit, whether the checkout differs from it, and a digest of that difference; None outside a git checkout.

    A checkout that does not hold this file is another project's, in whose folder the suite is installed.
    """
    if _git("ls-files", "--error-unmatch", Path(__file__).name) is None:
        return {"commit": None, "dirty": False, "diff": None}
    difference = _git("diff", "HEAD")
    return {
        "commit": _git("rev-parse", "HEAD"),
        "dirty": bool(difference),
        "diff": hashlib.sha256(difference.encode()).hexdigest()[:12] if difference else None,
    }


@lru_cache(maxsize=1)
def versions() -> dict[str, str]:
    """Versions of Python and the packages that can move a number."""
    return {"python": platform.python_version(), **{name: metadata.version(name) for name in PACKAGES}}
