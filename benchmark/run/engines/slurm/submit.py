"""Hand jobs to the cluster through submitit, which writes their scripts, pickles and logs into one folder."""

from __future__ import annotations

import pickle
import re
import shlex
from collections.abc import Sequence
from contextlib import redirect_stderr
from io import BytesIO, StringIO
from pathlib import Path
from typing import TYPE_CHECKING, Any

from benchmark.results.files.read import MEBIBYTE, read_regular
from benchmark.results.plain_text import harmless
from benchmark.run.engines.slurm.cluster import ClusterError

if TYPE_CHECKING:
    from benchmark.config.sections.engine import EngineSection
    from benchmark.run.engines.slurm.job import SlurmJob

CHECKOUT = Path(__file__).resolve().parents[4]
LIMIT = re.compile(r"Max\w*Submit|Max\w*Job|submit limit|Invalid job array|temporarily unable", re.IGNORECASE)
"""What sbatch says where the cluster takes no more jobs, or no array of this size.

One sentence of SLURM is of all limits, also of those that no waiting ends ('Job violates accounting/QOS policy (job
submit limit, user's size and/or time limits)'): what it said is told.
"""

LARGEST_OUTCOME = MEBIBYTE
"""Bytes of what a job leaves: keys of tasks, or a traceback."""


class Full(ClusterError):
    """The cluster takes no more jobs, or no array of this size."""


def require_submitit() -> None:
    """Raise ModuleNotFoundError in one line if submitit is not installed."""
    try:
        import submitit  # noqa: F401
    except ModuleNotFoundError:
        raise ModuleNotFoundError("--engine slurm needs submitit: pip install 'ecg-pretrain-bench[slurm]'") from None


def submit(
    jobs: Sequence[SlurmJob], folder: Path, settings: EngineSection, name: str, after: str, ranks: int
) -> list[str]:
    """Submit jobs as one array that begins when the job `after` has ended; returns their ids.

    Raises Full where the cluster's limits forbid it now, ClusterError for another refusal.
    """
    import submitit
    from submitit.core.utils import FailedJobError

    executor = submitit.SlurmExecutor(folder=folder, max_num_timeout=settings.requeues)
    further: dict[str, Any] = {"requeue": True, **settings.options}
    if after:
        further["dependency"] = f"afterany:{after}"
    asked = {
        "job_name": name,
        "time": settings.minutes,
        "nodes": 1,
        "ntasks_per_node": ranks,
        "cpus_per_task": settings.cpus,
        "mem": f"{round(settings.memory_gb * 1024)}MB",
        "gpus_per_node": ranks if settings.gpus else None,
        "partition": settings.partition,
        "account": settings.account,
        "array_parallelism": settings.at_once,
        "signal_delay_s": settings.warning_seconds,
        "setup": [f"export PYTHONPATH={shlex.quote(str(CHECKOUT))} OMP_NUM_THREADS={settings.cpus}"],
        "srun_args": [f"--cpus-per-task={settings.cpus}"],
        "additional_parameters": further,
    }
    executor.update_parameters(**{key: value for key, value in asked.items() if value is not None})
    try:
        with redirect_stderr(StringIO()), executor.batch():  # what sbatch says is in the error
            submitted = [executor.submit(job) for job in jobs]
    except FailedJobError as error:
        said = said_by_sbatch(str(error))
        raise (Full if LIMIT.search(said) else ClusterError)(f"sbatch: {said}") from None
    return [str(job.job_id) for job in submitted]


def said_by_sbatch(text: str) -> str:
    """What sbatch says, in one line."""
    lines = (" ".join(line.removeprefix("sbatch: ").removeprefix("error: ").split()) for line in text.splitlines())
    return "; ".join(dict.fromkeys(filter(None, lines)))


def outcome_of(folder: Path, job: str) -> tuple[str, Any] | None:
    """('success', keys that the job returned) or ('error', traceback) of a job that ended by itself; None if killed.

    None, too, as long as its file is not seen, and of a file with anything else in it: a store may come from others.
    """
    try:
        content = read_regular(folder / f"{job}_0_result.pkl", LARGEST_OUTCOME)
        outcome = PlainUnpickler(BytesIO(content)).load()
    except Exception:  # a damaged pickle raises errors of a dozen kinds
        return None
    match outcome:
        case ("success", [*keys]) if all(isinstance(key, str) for key in keys):
            return "success", keys
        case ("error", str(said)):
            return "error", harmless(said)
    return None


class PlainUnpickler(pickle.Unpickler):
    """Reads tuples, lists and texts; it imports nothing and so runs no code of the file."""

    def find_class(self, module: str, name: str) -> Any:
        """Raise UnpicklingError: nothing of a module is read."""
        raise pickle.UnpicklingError(f"{module}.{name} in the outcome of a job")
