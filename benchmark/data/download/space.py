"""Room on the disk, before a byte is fetched, and numbers of bytes as text."""

from __future__ import annotations

import shutil
from pathlib import Path

from benchmark.data.readers.errors import DatasetError


def free_bytes(folder: Path) -> int:
    """Bytes free where a folder is, or will be."""
    return shutil.disk_usage(_there(folder)).free


def disk_of(folder: Path) -> int:
    """The disk that a folder is on, or will be, by its number."""
    return _there(folder).stat().st_dev


def check_room(folder: Path, needed: int, what: str) -> None:
    """Raise DatasetError where the disk of a folder has less room than `needed` bytes."""
    free = free_bytes(folder)
    if free < needed:
        raise DatasetError(
            f"{what} takes {shown_bytes(needed)} more and {folder} has room for {shown_bytes(free)}: free space or "
            "name another folder"
        )


def shown_bytes(count: int) -> str:
    """'640 B', '12 kB', '3.4 MB', '90.4 GB'."""
    size, units = float(count), ["B", "kB", "MB", "GB", "TB"]
    while size >= 999.5 and len(units) > 1:
        size, units = size / 1000, units[1:]
    return f"{size:.0f} {units[0]}" if units[0] in ("B", "kB") or size >= 99.95 else f"{size:.1f} {units[0]}"


def _there(folder: Path) -> Path:
    """The folder, or the nearest above it that exists."""
    return next(path for path in (folder, *folder.absolute().parents) if path.is_dir())
