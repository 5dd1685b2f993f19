"""The workers of a Dask scheduler, whoever started them: each has one thread and runs the code of this checkout.

One that closes (a time limit, SIGTERM, fewer workers) lets its task save, and another worker goes on.
"""

from __future__ import annotations

import asyncio
import logging
import time
import warnings
from collections.abc import Callable, Iterator
from concurrent.futures import Executor, Future
from contextlib import contextmanager
from pathlib import Path
from typing import Any

from distributed import Client, KilledWorker, Security, Worker, WorkerPlugin, rpc

from benchmark.config.errors import ConfigError
from benchmark.machine import releases
from benchmark.process import EngineLost, stop
from benchmark.results.files import Damaged, read_json, reading
from benchmark.run.tasks import LOOK_SECONDS, RESTART, code_digest, refuse_other

PATIENCE_SECONDS = 60.0  # wait for the answer of a scheduler, for a first worker, and for another one
FILE_SECONDS = 30.0  # wait for the file of a scheduler that is starting
NAME_ONE = "start one with `dask scheduler`, and name its address or its --scheduler-file"
START_AGAIN = "start it and its workers again; what is finished is kept, and the same command goes on"


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
        self.remark = ""
        self.seen = time.time()  # when there last was a worker
        client.register_plugin(SaveOnClose())

    def width(self) -> int:
        """Count the workers. Raises ConfigError for one of several threads or with other code or packages.

        Raises EngineLost where the scheduler does not answer, as all methods do.
        """
        with reaching():
            threads = self.client.nthreads()  # type: ignore[no-untyped-call]
        if threads:
            self.seen = time.time()
        is_missed = time.time() - self.seen >= PATIENCE_SECONDS
        clock = time.strftime("%H:%M", time.localtime(self.seen))
        self.remark = f"no worker since {clock}: the run waits for one" * is_missed
        if any(count != 1 for count in threads.values()):
            raise ConfigError(
                "a worker has several threads, and a task seeds its whole process: start the workers with --nthreads 1"
            )
        if new := threads.keys() - self.checked:  # before a task, which other code might not even unpack
            expected = code_digest(), releases()
            with reaching():
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
        with reaching():
            return self.executor.submit(function, *arguments)

    def ask_to_stop(self) -> None:
        """Ask the tasks of all workers to stop."""
        with reaching():
            self.client.run(ask_to_stop)


@contextmanager
def reaching() -> Iterator[None]:
    """Raise EngineLost for whatever the client raises where its scheduler does not answer."""
    try:
        yield
    except Exception as error:
        raise EngineLost from error


def connect(name: str) -> Client:
    """Open a client of a scheduler, by its address or file. Raises ConfigError if none answers within the patience."""
    address = name
    try:
        if name.endswith(".json"):
            address = address_in(Path(name))
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")  # many lines on versions, which count only where the code differs
            asyncio.run(asyncio.wait_for(find_scheduler(address), PATIENCE_SECONDS))
            return Client(address, set_as_default=False, timeout=PATIENCE_SECONDS)  # type: ignore[no-untyped-call]
    except Damaged as file:
        raise ConfigError(f"--engine {file}") from None
    except Exception as error:  # whatever a port may say that is not Dask's
        reason = " ".join(str(error).split()) or f"no answer in {PATIENCE_SECONDS:.0f} s"
        raise ConfigError(f"--engine {name}: no Dask scheduler answers at {address} ({reason}); {NAME_ONE}") from None


def address_in(file: Path) -> str:
    """Read the address in the file of a scheduler, for which it waits. Raises Damaged, also if it does not come."""
    until = time.monotonic() + FILE_SECONDS
    while not file.is_file() and time.monotonic() < until:
        time.sleep(LOOK_SECONDS)
    with reading(file, f"it is no scheduler's file; {NAME_ONE}"):
        return str(read_json(file)["address"])


async def find_scheduler(address: str) -> None:
    """Ask whether an address is a scheduler's. Raises ValueError for a worker's, and whatever the library raises."""
    security = Security()  # type: ignore[no-untyped-call]
    async with rpc(address, connection_args=security.get_connection_args("client")) as answering:  # type: ignore[no-untyped-call]
        identity = await answering.identity()
    if identity["type"] != "Scheduler":
        raise ValueError(f"it is a {identity['type']}")


@contextmanager
def open_dask(name: str, jobs: int | None) -> Iterator[Dask]:
    """Open the workers of a scheduler, by its address or file. Raises ConfigError if none answers, comes or fits.

    Raises EngineLost where the scheduler ends before its context.
    """
    for logger in ("distributed", "distributed.client"):
        logging.getLogger(logger).setLevel(logging.CRITICAL)
    with connect(name) as client:
        if jobs is None:  # else workers may come for what is handed over
            wait_for_worker(name, client)
        engine = Dask(client, jobs)
        try:
            engine.width()
            yield engine
        except EngineLost:
            raise EngineLost(f"--engine {name}: the scheduler has ended or cannot be reached; {START_AGAIN}") from None


def wait_for_worker(name: str, client: Client) -> None:
    """Wait for a first worker. Raises ConfigError if none comes."""
    try:
        client.wait_for_workers(1, timeout=PATIENCE_SECONDS)
    except TimeoutError:
        raise ConfigError(
            f"--engine {name}: the scheduler has had no worker for {PATIENCE_SECONDS:.0f} s; start some: dask worker "
            f"{'--scheduler-file ' * name.endswith('.json')}{name} --nthreads 1 --memory-limit 0"
        ) from None
