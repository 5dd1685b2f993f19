"""Which tests call which functions: noted while the tests pass, so that a mutant meets only those that may notice it.

What a fixture calls counts for every test that uses it. Calls in other processes are not seen.
"""

from __future__ import annotations

import inspect
import pickle
import re
import sys
import threading
import time
from collections import defaultdict
from collections.abc import Generator, Iterable, Sequence
from pathlib import Path
from types import CodeType, FrameType
from typing import Any, NamedTuple

import pytest

Function = tuple[str, str]
"""File, and name as in `Mutant.key`: ('a.py', 'Tail.quantile')."""


OF_A_CLASS = re.compile(r"(?<!<locals>)[.]<(?!locals>)")
"""In the name of a lambda in a class body, as of a field's default: its callers are not all who read the body."""


class Reached(NamedTuple):
    """Processor time of a test in seconds, and the functions that it calls."""

    seconds: float
    functions: frozenset[Function]


class Noted:
    """A plugin of pytest that notes calls of functions whose files lie in `folder`: test's id -> Reached, pickled."""

    def __init__(self, folder: str, notes: str) -> None:
        self.folder, self.notes = f"{folder}/", Path(notes)
        self.codes: dict[int, CodeType] = {}
        self.of_fixtures: defaultdict[str, set[Function]] = defaultdict(set)
        self.of_tests: dict[str, Reached] = {}

    def trace(self, frame: FrameType, event: str, arg: Any) -> None:
        self.codes[id(frame.f_code)] = frame.f_code

    def taken(self) -> set[Function]:
        """The functions called since the last look, without bodies of modules and classes."""
        called, self.codes = self.codes, {}
        codes = [
            code
            for code in called.values()
            if code.co_flags & inspect.CO_OPTIMIZED and not OF_A_CLASS.search(code.co_qualname)
        ]
        return {
            (code.co_filename.removeprefix(self.folder), code.co_qualname.replace(".<locals>", "").split(".<")[0])
            for code in codes
            if code.co_filename.startswith(self.folder)
        }

    @pytest.hookimpl(wrapper=True)
    def pytest_fixture_setup(self, fixturedef: pytest.FixtureDef[Any]) -> Generator[None, Any, Any]:
        before, self.codes = self.codes, {}
        result = yield
        self.of_fixtures[fixturedef.argname] |= self.taken()
        self.codes = before
        return result

    @pytest.hookimpl(wrapper=True)
    def pytest_runtest_protocol(self, item: pytest.Item) -> Generator[None, Any, Any]:
        self.taken()
        sys.settrace(self.trace)  # anew for each test: some libraries take it away
        threading.settrace(self.trace)
        started = time.process_time()
        result = yield
        fixtures = (self.of_fixtures[name] for name in getattr(item, "fixturenames", ()))
        self.of_tests[item.nodeid] = Reached(time.process_time() - started, frozenset(self.taken().union(*fixtures)))
        return result

    def pytest_sessionfinish(self) -> None:
        sys.settrace(None)
        self.notes.write_bytes(pickle.dumps(self.of_tests))


class Selected:
    """A plugin of pytest that runs the wanted ones of the known tests, in their order, after those that are new."""

    def __init__(self, wanted: Sequence[str], known: Iterable[str]) -> None:
        self.order = {test: order for order, test in enumerate(wanted)}
        self.left_out = set(known) - set(wanted)

    def pytest_collection_modifyitems(self, items: list[pytest.Item]) -> None:
        items[:] = sorted(
            (item for item in items if item.nodeid not in self.left_out),
            key=lambda item: self.order.get(item.nodeid, -1),
        )


def file_of(test: str) -> str:
    """The file of a test's id."""
    return test.partition("::")[0]


def wanted(reached: dict[str, Reached], function: Function, nearest: str) -> list[str]:
    """The tests that call a function, quickest first; where none is seen to, all, those of the file `nearest` first."""
    calling = [test for test, reach in reached.items() if function in reach.functions]
    return sorted(
        calling or reached, key=lambda test: (not calling and file_of(test) != nearest, reached[test].seconds)
    )
