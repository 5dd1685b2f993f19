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
    if set(nodes) - {socket.gethostname(), socket.gethostname().partition(".")[0]}:
        for folder in (results, *folders):
            refuse_unshared(folder)
    return Slurm(settings, (results / JOBS / name).resolve(), most, detach)


def refuse_unshared(folder: Path, mounts: Path = MOUNTS) -> None:
    """Raise ConfigError for a folder in the memory of this host."""
    where = folder.resolve()
    best = ("", "")
    for line in mounts.read_text().splitlines() if mounts.is_file() else ():
        _, point, kind, *_ = line.split()
        if where.is_relative_to(point) and len(point) >= len(best[0]):
            best = point, kind
    if best[1] in OF_ONE_HOST:
        raise ConfigError(
            f"{folder} is in the memory of {socket.gethostname()} ({best[1]} on {best[0]}), which no node of the "
            "cluster sees; name a folder that all nodes share"
        )
