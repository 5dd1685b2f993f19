"""The workers of a Dask scheduler, whoever started them: each has one thread and runs the code of this checkout.

One that closes (a time limit, SIGTERM, fewer workers) lets its task save, and another worker goes on.
"""

from __future__ import annotations

import logging
import warnings
from collections.abc import Callable, Iterator
from concurrent.futures import Executor, Future
from contextlib import contextmanager
from typing import Any

from distributed import Client, KilledWorker, Worker, WorkerPlugin

from benchmark.config.errors import ConfigError
from benchmark.machine import releases
from benchmark.process import stop
from benchmark.run.tasks import RESTART, code_digest, refuse_other

PATIENCE_SECONDS = 60.0  # wait for a first worker, and for the scheduler


class SaveOnClose(WorkerPlugin):
    """Lets the running task of a worker that closes save."""

    name = "save-on-close"

    def teardown(self, worker: Worker) -> None:
        """Ask the task to stop; Dask waits for its thread afterwards."""
        stop.set()


def ask_to_stop() -> None:
    """Ask the task of this worker to stop; called beside it."""
    stop.set()


class Dask:
    """An engine on a client of a scheduler."""

    lost = (KilledWorker,)
    attempts = 1

    def __init__(self, client: Client, jobs: int | None) -> None:
        """jobs: tasks that are handed over at a time, whatever workers there are; None: one for each."""
        self.client, self.jobs = client, jobs
        self.executor: Executor = client.get_executor(pure=False)  # type: ignore[no-untyped-call]
        self.checked: set[str] = set()  # addresses of workers that run the code of this checkout
        client.register_plugin(SaveOnClose())

    def width(self) -> int:
        """Count the workers. Raises ConfigError for one of several threads or with other code or packages."""
        threads = self.client.nthreads()  # type: ignore[no-untyped-call]
        if any(count != 1 for count in threads.values()):
            raise ConfigError(
                "a worker has several threads, and a task seeds its whole process: start the workers with --nthreads 1"
            )
        if new := threads.keys() - self.checked:  # before a task, which other code might not even unpack
            expected = code_digest(), releases()
            answers = self.client.run(refuse_other, *expected, workers=[*new], on_error="return")
            for answer in answers.values():
                if isinstance(answer, ConfigError):
                    raise answer
                if isinstance(answer, Exception) and not isinstance(answer, OSError):  # it lacks the function
                    raise ConfigError(f"a worker has other code than this run was started with: {RESTART}")
            self.checked |= new
        return self.jobs or len(threads)

    def submit(self, function: Callable[..., Any], *arguments: Any) -> Future[Any]:
        """Run a function on a worker."""
        return self.executor.submit(function, *arguments)

    def ask_to_stop(self) -> None:
        """Ask the tasks of all workers to stop."""
        self.client.run(ask_to_stop)


@contextmanager
def open_dask(name: str, jobs: int | None) -> Iterator[Dask]:
    """Open the workers of a scheduler, by its address or file. Raises ConfigError if none answers, comes or fits."""
    is_file = name.endswith(".json")
    logging.getLogger("distributed").setLevel(logging.ERROR)
    try:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")  # many lines on versions, which count only where the code differs
            where = {"scheduler_file" if is_file else "address": name}
            client = Client(**where, set_as_default=False, timeout=PATIENCE_SECONDS)  # type: ignore[no-untyped-call]
    except (OSError, ValueError) as error:
        raise ConfigError(f"--engine {name}: no Dask scheduler answers there ({error})") from None
    with client:
        if jobs is None:  # else workers may come for what is handed over
            try:
                client.wait_for_workers(1, timeout=PATIENCE_SECONDS)
            except TimeoutError:
                raise ConfigError(
                    f"--engine {name}: the scheduler has had no worker for {PATIENCE_SECONDS:.0f} s; start some: dask "
                    f"worker {'--scheduler-file ' * is_file}{name} --nthreads 1 --memory-limit 0"
                ) from None
        engine = Dask(client, jobs)
        engine.width()
        yield engine
