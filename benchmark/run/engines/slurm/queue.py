"""What a store has in the cluster's queue, for `status`: from the records of its jobs, and what the cluster says."""

from __future__ import annotations

from pathlib import Path

from benchmark.run.engines.engine import Submitted
from benchmark.run.engines.slurm import cluster
from benchmark.run.engines.slurm.ledger import JOBS, recorded_at, records


def in_queue(results: Path) -> list[Submitted]:
    """The jobs that wait or run; all that have a record, without a state, where the cluster cannot be asked."""
    folders = sorted(path for path in (results / JOBS).glob("*") if path.is_dir())
    known = {
        job: Submitted(job, "", keys, recorded_at(folder, job))
        for folder in folders
        for job, keys in records(folder).items()
    }
    try:
        states = cluster.queued(known)
    except cluster.ClusterError:
        return list(known.values())
    return [job._replace(state=in_words(states[id])) for id, job in known.items() if id in states]


def in_words(job: cluster.Queued) -> str:
    """State of a job, with its node or the reason why it waits."""
    why = job.node or (job.reason if job.reason != "None" else "")
    return f"{job.state.lower()} ({why})" if why else job.state.lower()
