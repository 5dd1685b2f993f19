"""The engine `slurm`: pretrainings and batches of cells become jobs of a cluster, through submitit.

A runner that is killed loses nothing: the next one finds its jobs by their records and goes on watching them.

What runs in a job: its tasks one by one. Near its time limit, or pre-empted, it saves and goes back to the queue.

submitit asks `checkpoint` what to requeue; it is the same job again, since all that was done stands in the store.
SIGUSR2 comes before the time limit. SIGTERM comes before a pre-emption and a cancellation: then the job saves and waits
for its end, because which of the two it is only the cluster knows.

What has been submitted: a file per job with the keys of its tasks, beside the store, for every runner and `status`.

    FOLDER/CLUSTER/ID.json    job ID of the cluster; removed once the job is in the queue no more

A record says what is underway and nothing of what is done: that stands in the store.
"""

from __future__ import annotations

import difflib
import heapq
import json
import math
import pickle
import re
import shlex
import signal
import socket
import subprocess
import time
from collections.abc import Callable, Generator, Iterable, Iterator, Sequence
from contextlib import contextmanager, redirect_stderr
from dataclasses import dataclass, field
from io import BytesIO, StringIO
from pathlib import Path
from types import FrameType
from typing import Any, Generic, NamedTuple

from benchmark.config.errors import ConfigError
from benchmark.config.sections import EngineSection
from benchmark.machine.processes import SIGNALS, Stopped, stops_on_signals
from benchmark.results.files import MEBIBYTE, read_json, read_regular, write_atomic
from benchmark.run.claims import alone
from benchmark.run.local import Ended, EngineRequest, Order, Result, Start, Submitted, Task, Tell, Work

LIMIT_SHARE = 0.5
"""Of the time limit of a job that its tasks are expected to take."""


Batch = list[Task[Any]]
"""The tasks of a job, which runs them one by one; all of them wait for the same task."""


def batches_of(tasks: Sequence[Task[Any]], *, most: int, minutes: float) -> list[Batch]:
    """The batches of some tasks: at most `most` tasks each, expected within half of a limit of `minutes`."""
    pretrainings = [[task] for task in tasks if task.is_pretraining]
    groups: dict[str, Batch] = {}
    for task in tasks:
        if not task.is_pretraining:
            groups.setdefault(task.after, []).append(task)
    return pretrainings + [
        batch for group in groups.values() for batch in balanced(group, most, minutes * 60 * LIMIT_SHARE)
    ]


def balanced(tasks: Sequence[Task[Any]], most: int, seconds: float) -> list[Batch]:
    """As few batches as hold the tasks, the longest tasks shared out first; a batch keeps the order of its tasks."""
    count = max(math.ceil(len(tasks) / most), math.ceil(sum(task.seconds for task in tasks) / seconds))
    count = min(count, len(tasks))
    loads = [(0.0, place) for place in range(count)]
    shares: list[list[int]] = [[] for _ in range(count)]
    for number in sorted(range(len(tasks)), key=lambda number: -tasks[number].seconds):
        load, place = heapq.heappop(loads)
        shares[place].append(number)
        if len(shares[place]) < most:
            heapq.heappush(loads, (load + max(tasks[number].seconds, 1e-6), place))
    return [[tasks[number] for number in sorted(share)] for share in shares]


def arrays_of(batches: Sequence[Batch], most: int) -> list[list[Batch]]:
    """The batches as arrays of at most `most` jobs, which wait for one task and need equal resources."""
    arrays: dict[tuple[str, bool], list[Batch]] = {}
    for batch in batches:
        arrays.setdefault((batch[0].after, batch[0].is_pretraining), []).append(batch)
    return [own[start : start + most] for own in arrays.values() for start in range(0, len(own), most)]


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


def cluster_nodes() -> list[str]:
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


HELD_SECONDS = 5.0
"""Between two looks at tasks that another runner holds."""
PATIENCE_SECONDS = 240.0
"""Most that a job waits for those; longer than a claim of a killed process holds (benchmark.run.claims)."""
END_SECONDS = 600
"""Most that a job that was asked to end waits for its end."""
TOLD_SECONDS = 60.0
"""Between two lines about a running task in the log."""


@dataclass(frozen=True)
class SlurmJob:
    """A function and its tasks; called in the job, by submitit."""

    payload: bytes
    """Pickled (function, tasks). Pickled apart, since submitit's own pickle takes code of a method's file along."""
    grace: float
    """Seconds that it may take to save."""

    @classmethod
    def of(cls, function: Callable[[Any, Tell], Any], tasks: Sequence[Task[Any]], grace: float) -> SlurmJob:
        """The job of some tasks."""
        return cls(pickle.dumps((function, list(tasks))), grace)

    def __call__(self) -> list[str]:
        """Run the tasks; returns the keys of those that other runners hold."""
        requeue = signal.getsignal(signal.SIGUSR2)
        heard: list[int] = []
        try:
            with stops_on_signals(lambda: None, (*SIGNALS, signal.SIGUSR2), self.grace), heard_once(heard):
                return run_in_turn(*pickle.loads(self.payload))
        except Stopped as stop:
            print(
                f"asked to stop by signal {heard[0] if heard else '?'}; {stop.saved or 'nothing to save'}", flush=True
            )
            if signal.SIGUSR2 not in heard:
                time.sleep(END_SECONDS)  # until the cluster ends it, or SIGUSR2 comes after all
            if callable(requeue):
                requeue(signal.SIGUSR2, None)
            raise

    def checkpoint(self) -> Any:
        """What submitit puts back into the queue: the job as it is."""
        import submitit

        return submitit.helpers.DelayedSubmission(self)


@contextmanager
def heard_once(heard: list[int]) -> Iterator[None]:
    """Within, the first signal that stops is passed on, and all are noted: a second does not end the saving."""
    numbers = (*SIGNALS, signal.SIGUSR2)
    inner = {number: signal.getsignal(number) for number in numbers}

    def hear(number: int, frame: FrameType | None) -> None:
        heard.append(number)
        handler = inner[signal.Signals(number)]
        if len(heard) == 1 and callable(handler):
            handler(number, frame)

    for number in numbers:
        signal.signal(number, hear)
    try:
        yield
    finally:
        for number, handler in inner.items():
            signal.signal(number, handler)


def run_in_turn(function: Callable[[Any, Tell], Any], tasks: Sequence[Task[Any]]) -> list[str]:
    """Run tasks one by one, those that other runners hold again later; returns the keys of what is left to them."""
    left, until = list(tasks), time.monotonic() + PATIENCE_SECONDS
    while left:
        before, left = left, [task for task in left if run_one(function, task) is Start.LATER]
        if len(left) < len(before):
            until = time.monotonic() + PATIENCE_SECONDS
        if left and time.monotonic() > until:
            break
        time.sleep(HELD_SECONDS if left else 0.0)
    return [task.key for task in left]


def run_one(function: Callable[[Any, Tell], Any], task: Task[Any]) -> Any:
    """Run a task and tell of it in the log; its progress once a minute."""
    print(f"{task.name} begins", flush=True)
    spoke = started = time.monotonic()

    def tell(news: Any) -> None:
        nonlocal spoke
        if isinstance(news, tuple) and time.monotonic() - spoke >= TOLD_SECONDS:
            spoke = time.monotonic()
            print(*news, flush=True)

    answer = function(task.work, tell)
    how = "is held by another runner" if answer is Start.LATER else f"ended after {time.monotonic() - started:.0f} s"
    print(f"{task.name} {how}", flush=True)
    return answer


def log_of(folder: Path, job: str) -> Path:
    """The log of a job."""
    return folder / f"{job}_0_log.out"


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


CHECKOUT = Path(__file__).resolve().parents[2]
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


def submit(jobs: Sequence[SlurmJob], folder: Path, settings: EngineSection, name: str, after: str) -> list[str]:
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
        "ntasks_per_node": 1,
        "cpus_per_task": settings.cpus,
        "mem": f"{round(settings.memory_gb * 1024)}MB",
        "gpus_per_node": settings.gpus or None,
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
            return "error", said
    return None


class PlainUnpickler(pickle.Unpickler):
    """Reads tuples, lists and texts; it imports nothing and so runs no code of the file."""

    def find_class(self, module: str, name: str) -> Any:
        """Raise UnpicklingError: nothing of a module is read."""
        raise pickle.UnpicklingError(f"{module}.{name} in the outcome of a job")


SUBMITTING = "submitting"
"""What a runner claims while it submits: two runners on one store submit nothing twice."""
POLL_SECONDS = 10.0
LATE_SECONDS = 90.0
"""Most that a result takes to be seen after its job has left the queue: shared folders show files late."""
LOST_SHARE = 0.2
"""Of it, where the cluster says that the job was cancelled or failed."""
AGAIN_SECONDS = 60.0
"""After which jobs are offered again to a cluster that took no more."""
GRACE_SHARE = 0.8
"""Of the warning before the time limit that a job may take to save."""
HELD = ("held", "Held")
REQUEUED_ENOUGH = "timed-out too many times"
"""What submitit says of a job that may not go back to the queue again."""


@dataclass(frozen=True)
class Slurm:
    """The engine `slurm`."""

    settings: EngineSection
    folder: Path
    """On a file system that all nodes share: records, scripts and logs of the jobs."""
    most: int
    """Jobs that the cluster takes in an array."""
    doubts: tuple[str, ...] = ()
    poll_seconds: float = POLL_SECONDS
    late_seconds: float = LATE_SECONDS
    remote: bool = True

    def run(self, order: Order[Work, Result]) -> Generator[Ended[Work, Result], None, None]:
        """Submit tasks and yield each as the store shows its end. Raises ClusterError if the cluster refuses them."""
        watch: _Watch[Work, Result] = _Watch(self, order, list(order.tasks))
        while True:
            watch.submit_free()
            yield from watch.ended()
            if not watch.flying and not (watch.refused and watch.waiting):
                return
            time.sleep(self.poll_seconds)


@dataclass
class _Watch(Generic[Work, Result]):
    """The tasks of an order: those that wait to be submitted, and those in the queue."""

    engine: Slurm
    order: Order[Work, Result]
    waiting: list[Task[Work]]
    flying: dict[str, list[Task[Work]]] = field(default_factory=dict)
    """Job -> those of its tasks whose end was not seen yet."""
    gone: dict[str, float] = field(default_factory=dict)
    """Job that has left the queue -> when this was seen."""
    begun: set[str] = field(default_factory=set)
    noted: set[str] = field(default_factory=set)
    refused: str = ""
    """Why the cluster took no more jobs when it was last asked; '' if it took them."""
    offer_again: float = 0.0

    # Submitting

    def submit_free(self) -> None:
        """Submit what can begin and is in no job yet."""
        if not self.waiting or (self.refused and time.monotonic() < self.offer_again):
            return
        with alone(self.engine.folder, SUBMITTING, lambda holder: self.note(f"{holder} is submitting; waiting for it")):
            known = records(self.engine.folder)
            live = self.asked(known)
            if live is None:
                return
            forget(self.engine.folder, set(known) - set(live) - set(self.flying))
            inside = {key: job for job in live for key in known[job]}
            self.adopt(inside)
            free = self.free_tasks(inside)
            settings = self.engine.settings
            batches = batches_of(free, most=settings.tasks_per_job, minutes=settings.minutes)
            self.refused = ""
            for array in arrays_of(batches, self.engine.most):
                self.submit_array(array, inside, alive=bool(live))
                if self.refused:
                    return

    def asked(self, jobs: Any) -> dict[str, Queued] | None:
        """Those of some jobs that are in the queue; None, with a note, if the cluster does not answer."""
        try:
            return queued(jobs)
        except ClusterError as error:
            self.note_once(f"the cluster does not answer, asking again: {error}")
            return None

    def adopt(self, inside: dict[str, str]) -> None:
        """Watch those waiting tasks that are in the queue already, whoever has submitted them."""
        for task in list(self.waiting):
            if job := next((inside[key] for key in task.keys if key in inside), None):
                self.flying.setdefault(job, []).append(task)
                self.waiting.remove(task)

    def free_tasks(self, inside: dict[str, str]) -> list[Task[Work]]:
        """The waiting tasks to submit now: what each waits for has ended, is in the queue, or is among them."""
        free: list[Task[Work]] = []
        held = {task.key for task in self.waiting}
        for task in list(self.waiting):
            if task.after in held and task.after not in inside:
                continue
            begun = self.order.begin(task)
            if begun is Start.NEVER:
                self.waiting.remove(task)
            elif isinstance(begun, Task):
                free.append(begun)
            if begun is not Start.LATER:
                held.discard(task.key)
        return free

    def submit_array(self, array: Sequence[Batch], inside: dict[str, str], *, alive: bool) -> None:
        """Submit an array, in smaller ones where the cluster's limits ask for it. Raises ClusterError."""
        left, size = list(array), len(array)
        while left:
            now = left[:size]
            try:
                ids = self.submitted(now, inside.get(now[0][0].after, ""))
            except Full as full:
                if size > 1:
                    size = (size + 1) // 2
                    continue
                if not alive and not self.flying:
                    raise ClusterError(
                        f"{full}; none of these jobs is in the queue, so it is not that it is full"
                    ) from None
                self.refused, self.offer_again = str(full), time.monotonic() + AGAIN_SECONDS
                self.note_once(f"the cluster takes no more jobs now ({full}); the rest follows as jobs end")
                return
            for job, batch in zip(ids, now, strict=True):
                keys = [key for task in batch for key in task.keys]
                record(self.engine.folder, job, keys, batch[0].name)
                self.flying[job] = list(batch)
                own = {task.key for task in batch}
                self.waiting = [task for task in self.waiting if task.key not in own]
                inside |= dict.fromkeys(keys, job)
            left = left[size:]
            what = now[0][0].name if len(now) == 1 else f"{sum(map(len, now))} tasks"
            self.note(f"submitted {ids[0]}{f' to {ids[-1]}' if len(ids) > 1 else ''}: {what}")

    def submitted(self, batches: Sequence[Batch], after: str) -> list[str]:
        """Submit one array; returns the ids of its jobs. Raises ClusterError."""
        settings, first = self.engine.settings, batches[0][0]
        grace = settings.warning_seconds * GRACE_SHARE
        jobs = [SlurmJob.of(self.order.function, batch, grace) for batch in batches]
        return submit(jobs, self.engine.folder, settings, f"ecg-{first.key[:8]}", after)

    # Watching

    def ended(self) -> Iterator[Ended[Work, Result]]:
        """Those tasks in the queue that have ended since the last look."""
        states = self.asked(self.flying)
        if states is None:
            return
        for job in list(self.flying):
            yield from self.ended_of(job, states.get(job))

    def ended_of(self, job: str, state: Queued | None) -> Iterator[Ended[Work, Result]]:
        """Those tasks of a job that have ended since the last look; the job is dropped when nothing more can come."""
        if state is None:
            self.gone.setdefault(job, time.monotonic())
        else:
            self.gone.pop(job, None)
        for task in list(self.flying[job]):
            if (result := self.order.found(task)) is not None:
                self.flying[job].remove(task)
                yield Ended(task, result, None)
        left = self.flying[job]
        if state is not None and left:
            self.tell_state(job, left[0], state)
        elif left and (error := self.lost(job)) is not None:
            held, self.flying[job] = outcome_of(self.engine.folder, job), []
            others = set(held[1]) if held and held[0] == "success" else set()
            yield from (Ended(task, None, error) for task in left if task.key not in others)
        if not self.flying[job]:
            del self.flying[job]
            self.offer_again = 0.0

    def tell_state(self, job: str, task: Task[Work], state: Queued) -> None:
        """Say that a task runs, and once that its job is held."""
        if state.state == "RUNNING" and task.key not in self.begun:
            self.begun.add(task.key)
            self.order.on_start(task)
        if state.state == "PENDING" and any(word in state.reason for word in HELD):
            self.note_once(f"job {job} is held ({state.reason}); `scontrol release {job}` lets it go on")

    def lost(self, job: str) -> RuntimeError | None:
        """Why tasks of a job that has left the queue have no result; None as long as one may still be seen."""
        waited, late = time.monotonic() - self.gone[job], self.engine.late_seconds
        outcome = outcome_of(self.engine.folder, job)
        log = log_of(self.engine.folder, job)
        if outcome and outcome[0] == "success":
            held = {task.key for task in self.flying[job]} <= set(outcome[1])
            if held or waited >= late:
                return RuntimeError(f"its job {job} ended, and its result is not seen after {late:g} s; log: {log}")
            return None
        state = last_state(job)
        if waited < late * (LOST_SHARE if outcome or state in LOST else 1.0):
            return None
        if outcome:
            return RuntimeError(f"its job {job} {why(str(outcome[1]), self.engine.settings)}; log: {log}")
        if not log.is_file():
            return RuntimeError(
                f"its job {job} ended ({state or 'unknown'}) and left no log in {log.parent}: do all nodes see this "
                "folder? Put --results where they do"
            )
        return RuntimeError(f"its job {job} ended without a result ({state or 'killed'}); log: {log}")

    def note(self, line: str) -> None:
        self.order.on_told(line)

    def note_once(self, line: str) -> None:
        if line not in self.noted:
            self.noted.add(line)
            self.note(line)


def why(traceback: str, settings: EngineSection) -> str:
    """How a job has failed, in words that follow its name."""
    last = (traceback.strip().splitlines() or ["no error text"])[-1]
    if REQUEUED_ENOUGH in last:
        return (
            f"reached its time limit more than engine.requeues={settings.requeues} times; what it saved stays, and the "
            f"same command goes on from there: give it more than engine.minutes={settings.minutes}, or more requeues"
        )
    return f"failed: {last}"


MOUNTS = Path("/proc/self/mounts")
OF_ONE_HOST = ("tmpfs", "ramfs", "devtmpfs")
"""Kinds of file systems that no other host sees."""
OF_ONE_DISK = ("ext2", "ext3", "ext4", "xfs", "btrfs", "zfs", "f2fs", "overlay")
"""Those that other hosts see only if this one exports them."""


def open_slurm(request: EngineRequest) -> Slurm:
    """The engine for a store and the other folders that jobs read.

    Raises ConfigError if submitit or SLURM is missing, for an unknown partition, and for a folder of this host alone.
    """
    settings, results = request.settings, request.results
    try:
        require_submitit()
        name, most = limits()
        known = partitions()
        nodes = cluster_nodes()
    except (ModuleNotFoundError, ClusterError) as error:
        raise ConfigError(
            f"--engine slurm: {error}".replace("--engine slurm: --engine slurm", "--engine slurm")
        ) from None
    if settings.partition is not None and settings.partition not in known:
        near = difflib.get_close_matches(settings.partition, known, n=1)
        meant = f"did you mean {near[0]!r}?" if near else f"it has {', '.join(known)}"
        raise ConfigError(f"engine.partition: the cluster has no partition {settings.partition!r}; {meant}")
    others = set(nodes) - {socket.gethostname(), socket.gethostname().partition(".")[0]}
    doubts = [doubt_of(folder) for folder in (results, *request.folders)] if others else []
    return Slurm(settings, (results / JOBS / name).resolve(), most, tuple(filter(None, doubts)))


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


def in_queue(results: Path) -> list[Submitted]:
    """The jobs that wait or run; all that have a record, without a state, where the cluster cannot be asked."""
    folders = sorted(path for path in (results / JOBS).glob("*") if path.is_dir())
    known = {
        job: Submitted(job, "", keys, recorded_at(folder, job))
        for folder in folders
        for job, keys in records(folder).items()
    }
    try:
        states = queued(known)
    except ClusterError:
        return list(known.values())
    return [job._replace(state=in_words(states[id])) for id, job in known.items() if id in states]


def in_words(job: Queued) -> str:
    """State of a job, with its node or the reason why it waits."""
    why = job.node or (job.reason if job.reason != "None" else "")
    return f"{job.state.lower()} ({why})" if why else job.state.lower()
