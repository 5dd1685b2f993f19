"""Compare contrastive pretraining methods for ECG. main() runs a command line."""

from __future__ import annotations

import signal
import sys
from collections.abc import Sequence
from io import TextIOWrapper

LEAST_KIB = 200_000
"""Memory with which NumPy can be imported; with less it waits or ends the process."""


def address_limit() -> int | None:
    """Return how much memory this process may address, in KiB (`ulimit -v`); None without a limit."""
    try:
        import resource
    except ImportError:  # on Windows
        return None
    limit, _ = resource.getrlimit(resource.RLIMIT_AS)
    return None if limit == resource.RLIM_INFINITY else limit // 1024


if (address_limit() or LEAST_KIB) < LEAST_KIB:
    sys.exit(f"error: `ulimit -v` limits the memory to {address_limit()} KiB: raise it, and try again")

from benchmark import screen as terminal
from benchmark.cli.main import FAILED, INTERRUPTED, USAGE, run
from benchmark.config.errors import ConfigError
from benchmark.data.datasets.base import DatasetError
from benchmark.process import SIGNALS, EngineLost, Interrupted, interrupts, keep_freed_memory, outlive_readers
from benchmark.results.files import Damaged, remedy
from benchmark.results.store import Failure, NoResults
from benchmark.screen import open_console


def main(argv: Sequence[str] | None = None) -> int:
    """Run a command line, by default that of the process; returns the exit status (benchmark.cli.main)."""
    keep_freed_memory()
    outlive_readers()
    for stream in (sys.stdout, sys.stderr):
        if isinstance(stream, TextIOWrapper):
            stream.reconfigure(errors="replace")  # a console that is not UTF-8 shows ? and ends no command
    console = open_console()

    try:
        with interrupts():
            return run(sys.argv[1:] if argv is None else argv, console)
    except (ConfigError, DatasetError) as problem:
        terminal.error(str(problem))
        return USAGE
    except OSError as problem:
        terminal.error(
            f"{problem.filename or 'the system'}: {problem.strerror or problem}"
            f"{remedy(problem) or '; see that it is there, and that you may read and write it'}"
        )
        return USAGE
    except (NoResults, Damaged, EngineLost) as problem:
        terminal.error(str(problem))
        return FAILED
    except MemoryError:
        terminal.error("out of memory; what is finished is saved: give it more, or fewer --workers and --jobs")
        return FAILED
    except Exception as problem:
        limit = address_limit()
        if limit is None:
            raise
        reason = Failure.from_error(problem).line
        terminal.error(f"{reason}; `ulimit -v` limits the memory to {limit} KiB: raise it, and try again")
        return FAILED
    except KeyboardInterrupt as stop:
        console.show_cursor()
        terminal.error("stopped; what is finished is saved, and the same command goes on from there")
        return stop.status if isinstance(stop, Interrupted) else INTERRUPTED


if __name__ == "__main__":
    status = main()
    for number in SIGNALS:
        signal.signal(number, signal.SIG_IGN)  # the interpreter needs a second to end
    sys.exit(status)
