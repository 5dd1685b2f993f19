"""What an engine is: it is given tasks, some of which wait for others, and tells as each ends. It knows nothing of ECG.

    engine.run(order)     yields each task as it ends, with its result or its error

The order says what is run (`function`), what must have ended before (`after`) and whether a task may begin now
(`begin`). What is done stands in the store alone; an engine keeps no results.
"""

from __future__ import annotations

from collections.abc import Callable, Generator, Sequence
from dataclasses import dataclass
from enum import Enum
from typing import Any, Generic, NamedTuple, Protocol, TypeVar

Work = TypeVar("Work")
Result = TypeVar("Result")
Tell = Callable[[Any], None]
"""Tells the caller of a running task's progress; what is told must be picklable."""


class Not(Enum):
    """Why a task does not begin."""

    YET = "another runner has it"
    """It is asked for again."""
    EVER = "nothing of it is left to do"
    """Those that wait for it may begin."""


@dataclass(frozen=True)
class Task(Generic[Work]):
    """Something to run."""

    key: str
    name: str
    """In messages."""
    work: Work
    """What the function is called with; picklable."""
    after: str = ""
    """Key of the task that must have ended before; '' for none."""
    seconds: float = 0.0
    """What it is expected to take."""
    whole: bool = False
    """A pretraining: `Order.abreast` limits how many of them a device has at a time."""
    parts: tuple[str, ...] = ()
    """Keys of what is done in it, where that is more than `key`."""

    @property
    def keys(self) -> tuple[str, ...]:
        """Keys of all that is done in it."""
        return self.parts or (self.key,)


@dataclass(frozen=True)
class Ended(Generic[Work, Result]):
    """A finished task with its result or its error."""

    task: Task[Work]
    result: Result | None
    error: Exception | None


class Submitted(NamedTuple):
    """A job in the queue of a cluster."""

    id: str
    state: str
    """In words; '' where the cluster cannot be asked from here."""
    keys: Sequence[str]
    """Of what is done in it."""
    since: int
    """When it was submitted, ns, by the clock of the store's file system."""


@dataclass(frozen=True)
class Order(Generic[Work, Result]):
    """The tasks, how they are run, and who hears of it."""

    tasks: Sequence[Task[Work]]
    """In the order in which they should begin."""
    function: Callable[[Work, Tell], Result | Not | None]
    """Runs a task; picklable. Where tasks run apart it tells `Not.YET` or nothing: `found` has the result."""
    threads: Callable[[Task[Work]], int] = lambda task: 1
    """Of a task's process while it runs."""
    abreast: int = 1
    """Most `whole` tasks at a time on a device."""
    begin: Callable[[Task[Work]], Task[Work] | Not] = lambda task: task
    """Asked when a task can begin, after the ends before were consumed: what of it is to be done."""
    found: Callable[[Task[Work]], Result | None] = lambda task: None
    """What the store holds of a task that has ended; None if it has not. Of engines whose tasks run apart."""
    on_start: Callable[[Task[Work]], None] = lambda task: None
    on_told: Tell = lambda news: None


class Engine(Protocol):
    """Where tasks run."""

    @property
    def apart(self) -> bool:
        """Whether tasks outlive this process: then they claim their work themselves, and store how it ended."""

    @property
    def detached(self) -> bool:
        """Whether `run` ends when all tasks are handed over, without waiting for any."""

    @property
    def doubts(self) -> Sequence[str]:
        """What may be wrong with its place, told before the first task."""

    def run(self, order: Order[Work, Result]) -> Generator[Ended[Work, Result], None, None]:
        """Run all tasks that can begin and yield each as it ends; an exception in one does not stop the others.

        A task that was not yielded is not finished: another runner has it, or the engine is detached.
        """


class Waiting(Generic[Work, Result]):
    """The tasks of an order that have not begun."""

    def __init__(self, order: Order[Work, Result]) -> None:
        self._order = order
        self._tasks = list(order.tasks)
        self._open = {task.key for task in order.tasks}

    def __len__(self) -> int:
        return len(self._tasks)

    def take(self, *, whole: bool = True) -> Task[Work] | None:
        """The next task that can begin, a whole one only where `whole`; None if there is none now."""
        for task in list(self._tasks):
            if task.after in self._open or (task.whole and not whole):
                continue
            begun = self._order.begin(task)
            if begun is Not.YET:
                continue
            self._tasks.remove(task)
            if isinstance(begun, Task):
                return begun
            self.ended(task)
        return None

    def ended(self, task: Task[Work]) -> None:
        """Let those begin that waited for the task."""
        self._open.discard(task.key)
