"""Keep the memory of freed tensors in the process instead of giving it back to the system after every step.

glibc maps each large tensor anew, and the system then clears every page of it; on a CPU that is a fifth of a training
step. No value depends on it.
"""

from __future__ import annotations

import ctypes
import sys

M_TRIM_THRESHOLD, M_MMAP_THRESHOLD = -1, -3
MOST = 2**31 - 1


def keep_freed_memory() -> None:
    """Raise glibc's thresholds for mapping and trimming; does nothing where the C library is another."""
    if not sys.platform.startswith("linux"):
        return
    mallopt = getattr(ctypes.CDLL(None), "mallopt", None)
    if mallopt is not None:
        mallopt(M_MMAP_THRESHOLD, MOST)
        mallopt(M_TRIM_THRESHOLD, MOST)


def give_back_freed_memory() -> None:
    """Return to the system what was kept, so that what is held from now on can be measured; glibc only."""
    if not sys.platform.startswith("linux"):
        return
    malloc_trim = getattr(ctypes.CDLL(None), "malloc_trim", None)
    if malloc_trim is not None:
        malloc_trim(0)
