"""What the cluster says: its partitions, its limits, which jobs are in its queue."""

from __future__ import annotations

import re
import subprocess
from collections.abc import Iterable
from typing import NamedTuple

from benchmark.config.errors import ConfigError

ANSWER_SECONDS = 60
GONE = "Invalid job id"
"""What squeue says of jobs that are all forgotten."""
LOST = ("CANCELLED", "FAILED", "TIMEOUT", "NODE_FAIL", "OUT_OF_MEMORY", "BOOT_FAIL", "DEADLINE", "PREEMPTED")
"""States of jobs that ended without an end of their tasks."""


class ClusterError(ConfigError):
    """The cluster refuses or does not answer; the message is one line."""


class Queued(NamedTuple):
    """A job in the queue."""

    state: str
    reason: str
    """Why it waits."""
    node: str


def ask(*command: str) -> str:
    """What a command of SLURM prints. Raises ClusterError."""
    try:
        done = subprocess.run(command, capture_output=True, text=True, timeout=ANSWER_SECONDS)
    except FileNotFoundError:
        raise ClusterError(f"there is no `{command[0]}` here: run this on a login node of the cluster") from None
    except subprocess.TimeoutExpired:
        raise ClusterError(f"`{command[0]}` has not answered for {ANSWER_SECONDS} s") from None
    if done.returncode:
        said = done.stderr.strip().splitlines()
        raise ClusterError(f"`{command[0]}`: {said[-1] if said else f'exit status {done.returncode}'}")
    return done.stdout


def partitions() -> list[str]:
    """Names of the cluster's partitions."""
    return list(dict.fromkeys(ask("sinfo", "-h", "-o", "%R").split()))


def nodes() -> list[str]:
    """Host names of the cluster's nodes."""
    return list(dict.fromkeys(ask("sinfo", "-h", "-N", "-o", "%n").split()))


def limits() -> tuple[str, int]:
    """Name of the cluster, and the most jobs that it takes in an array."""
    said = ask("scontrol", "show", "config")
    name = re.search(r"^ClusterName\s*=\s*(\S+)", said, re.MULTILINE)
    most = re.search(r"^MaxArraySize\s*=\s*(\d+)", said, re.MULTILINE)
    return name[1] if name else "cluster", max(1, int(most[1])) if most else 1


def queued(jobs: Iterable[str]) -> dict[str, Queued]:
    """Those of some jobs ('12' or '12_3') that wait, run or end now. Raises ClusterError."""
    asked = set(jobs)
    if not asked:
        return {}
    arrays = ",".join(sorted({job.partition("_")[0] for job in asked}))
    try:
        said = ask("squeue", "-h", "-r", "-o", "%i|%T|%r|%N", "-j", arrays)
    except ClusterError as error:
        if GONE in str(error):
            return {}
        raise
    lines = (line.split("|") for line in said.splitlines() if line.count("|") == 3)
    return {job: Queued(state, reason, node) for job, state, reason, node in lines if job in asked}


def last_state(job: str) -> str:
    """State in which a job ended, e.g. CANCELLED; '' if the cluster has forgotten it."""
    try:
        found = re.search(r"JobState=(\w+)", ask("scontrol", "show", "job", "-o", job))
    except ClusterError:
        return ""
    return found[1] if found else ""
