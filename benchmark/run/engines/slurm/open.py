"""Open the engine `slurm`, or refuse it in one line before any work."""

from __future__ import annotations

import difflib
import socket
from collections.abc import Sequence
from pathlib import Path

from benchmark.config.errors import ConfigError
from benchmark.config.sections.engine import EngineSection
from benchmark.run.engines.slurm import cluster
from benchmark.run.engines.slurm.engine import Slurm
from benchmark.run.engines.slurm.ledger import JOBS
from benchmark.run.engines.slurm.submit import require_submitit

MOUNTS = Path("/proc/self/mounts")
OF_ONE_HOST = ("tmpfs", "ramfs", "devtmpfs")
"""Kinds of file systems that no other host sees."""
OF_ONE_DISK = ("ext2", "ext3", "ext4", "xfs", "btrfs", "zfs", "f2fs", "overlay")
"""Those that other hosts see only if this one exports them."""


def open_slurm(settings: EngineSection, results: Path, folders: Sequence[Path], *, detach: bool) -> Slurm:
    """The engine for a store and the other folders that jobs read.

    Raises ConfigError if submitit or SLURM is missing, for an unknown partition, and for a folder of this host alone.
    """
    try:
        require_submitit()
        name, most = cluster.limits()
        known = cluster.partitions()
        nodes = cluster.nodes()
    except (ModuleNotFoundError, cluster.ClusterError) as error:
        raise ConfigError(
            f"--engine slurm: {error}".replace("--engine slurm: --engine slurm", "--engine slurm")
        ) from None
    if settings.partition is not None and settings.partition not in known:
        near = difflib.get_close_matches(settings.partition, known, n=1)
        meant = f"did you mean {near[0]!r}?" if near else f"it has {', '.join(known)}"
        raise ConfigError(f"engine.partition: the cluster has no partition {settings.partition!r}; {meant}")
    others = set(nodes) - {socket.gethostname(), socket.gethostname().partition(".")[0]}
    doubts = [doubt_of(folder) for folder in (results, *folders)] if others else []
    return Slurm(settings, (results / JOBS / name).resolve(), most, detach, tuple(filter(None, doubts)))


def doubt_of(folder: Path, mounts: Path = MOUNTS) -> str:
    """A line on a folder that may be of this host alone; '' for one that is not. Raises ConfigError for one that is."""
    point, kind = mount_of(folder.resolve(), mounts)
    if kind in OF_ONE_HOST:
        raise ConfigError(
            f"{folder} is in the memory of {socket.gethostname()} ({kind} on {point}), which no node of the "
            "cluster sees; name a folder that all nodes share"
        )
    if kind not in OF_ONE_DISK:
        return ""
    return (
        f"{folder} is on a disk of {socket.gethostname()} ({kind} on {point}); if the cluster's nodes do not see it "
        "there, name a folder that they share"
    )


def mount_of(where: Path, mounts: Path) -> tuple[str, str]:
    """Where the file system of a path is mounted, and its kind; '' and '' if this cannot be told."""
    best = ("", "")
    for line in mounts.read_text().splitlines() if mounts.is_file() else ():
        _, point, kind, *_ = line.split()
        if where.is_relative_to(point) and len(point) >= len(best[0]):
            best = point, kind
    return best
