"""What has been submitted: a file per job with the keys of its tasks, beside the store, for every runner and `status`.

    FOLDER/CLUSTER/ID.json    job ID of the cluster; removed once the job is in the queue no more

A record says what is underway and nothing of what is done: that stands in the store.
"""

from __future__ import annotations

import json
from collections.abc import Iterable, Sequence
from pathlib import Path

from benchmark.results.files.read import read_json
from benchmark.results.files.write import write_atomic

JOBS = "jobs"
"""Folder of a store with these files, and the logs of its jobs."""


def record(folder: Path, job: str, keys: Sequence[str], name: str) -> None:
    """Note that a job has been submitted."""
    write_atomic(folder / f"{job}.json", json.dumps({"keys": list(keys), "name": name}).encode())


def records(folder: Path) -> dict[str, list[str]]:
    """Job -> keys of its tasks, of all that were submitted; one that cannot be read is left out."""
    found = {}
    for file in sorted(folder.glob("*.json")):
        try:
            found[file.stem] = [str(key) for key in read_json(file)["keys"]]
        except (OSError, ValueError, KeyError, TypeError):
            continue
    return found


def recorded_at(folder: Path, job: str) -> int:
    """When a job was noted, ns, by the clock of the file system; 0 if its record is gone."""
    try:
        return (folder / f"{job}.json").stat().st_mtime_ns
    except FileNotFoundError:
        return 0


def forget(folder: Path, jobs: Iterable[str]) -> None:
    """Remove the records of jobs that have left the queue."""
    for job in jobs:
        (folder / f"{job}.json").unlink(missing_ok=True)
