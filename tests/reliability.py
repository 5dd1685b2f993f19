"""Pytest plugin: `--reliability FILE` writes a table of attacks, made from the tests marked `attack(title)`.

A row is a title: how many cases were tried, and how many held. A test is one case, a property of hypothesis as many as
it generates. `make reliability` runs the marked tests alone.
"""

from __future__ import annotations

import platform
import subprocess
from collections import defaultdict
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from datetime import UTC, datetime
from pathlib import Path

import pytest
from hypothesis import is_hypothesis_test

HEAD = """# Reliability

For a reader: stores, data and processes can be killed, damaged, shared and attacked in the ways of this table without a
number that is silently wrong. What is tried runs with the tests of every change.

What was tried against the suite, and what held. A test that attacks is marked `attack`; `make reliability` runs these
tests and writes this page. A case is one test, or one of the inputs that a fuzz test generates from a seed.

Made {when} at commit {commit}, Python {python} on {system}.

| attack | tried | held | not run here |
| --- | ---: | ---: | ---: |
"""


@dataclass
class Count:
    """Cases of one attack."""

    tried: int = 0
    held: int = 0
    skipped: int = 0


COUNTS = pytest.StashKey[dict[str, Count]]()


def pytest_addoption(parser: pytest.Parser) -> None:
    parser.addoption("--reliability", type=Path, metavar="FILE", help="write the table of attacks to FILE")


def pytest_configure(config: pytest.Config) -> None:
    config.addinivalue_line("markers", "attack(title): an attack on the suite, a row of docs/evidence/RELIABILITY.md")
    counts: dict[str, Count] = defaultdict(Count)
    config.stash[COUNTS] = counts
    config.pluginmanager.register(_Counter(counts))


@pytest.hookimpl(tryfirst=True)
def pytest_collection_modifyitems(config: pytest.Config, items: list[pytest.Item]) -> None:
    for item in items:
        for mark in item.iter_markers("attack"):
            item.user_properties += [("attack", mark.args[0]), ("tried", _cases(item))]
    if config.getoption("--reliability"):
        config.hook.pytest_deselected(items=[item for item in items if not _is_attack(item)])
        items[:] = [item for item in items if _is_attack(item)]


def _cases(item: pytest.Item) -> int:
    """Inputs that a test tries; hypothesis has no public name for the settings of a test."""
    test = getattr(item, "obj", None)
    return int(test._hypothesis_internal_use_settings.max_examples) if is_hypothesis_test(test) else 1


def _is_attack(item: pytest.Item) -> bool:
    return item.get_closest_marker("attack") is not None


class _Counter:
    """Counts the reports of marked tests, in the process that writes the table."""

    def __init__(self, counts: dict[str, Count]) -> None:
        self.counts = counts

    def pytest_runtest_logreport(self, report: pytest.TestReport) -> None:
        properties = dict(report.user_properties)
        if "attack" not in properties or (report.when != "call" and report.passed):
            return
        count, cases = self.counts[str(properties["attack"])], int(str(properties["tried"]))
        if report.skipped:
            count.skipped += cases
        else:
            count.tried += cases
            count.held += cases if report.passed else 0


def pytest_sessionfinish(session: pytest.Session) -> None:
    file = session.config.getoption("--reliability")
    if file is not None and not hasattr(session.config, "workerinput"):
        file.write_text("".join(_page(session.config.stash[COUNTS])))


def _page(counts: Mapping[str, Count]) -> Iterator[str]:
    commit = subprocess.run(["git", "rev-parse", "--short", "HEAD"], capture_output=True, text=True).stdout.strip()
    yield HEAD.format(
        when=f"{datetime.now(UTC):%Y-%m-%d}",
        commit=commit or "unknown",
        python=platform.python_version(),
        system=f"{platform.system()} {platform.machine()}",
    )
    for title, count in sorted(counts.items()):
        yield f"| {title} | {count.tried:,} | {count.held:,} | {count.skipped or ''} |\n"
