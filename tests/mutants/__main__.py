"""Do the tests notice? Try mutants of modules or rooms, all or a seeded sample: a test must fail.

    make mutants                                                      a seeded sample over all rooms
    make mutants MODULE=benchmark/data/splits.py                 all of one module
    python -m tests.mutants benchmark/training --sample 60 --seed 11  a sample of one room

A mutant meets the tests of its room's folder that call its function, quickest first; all where none is seen to.
Mutants run one after another on a copy in a temporary folder, each in a fork with a limit on its processor time.
Many that survive change nothing (a default repeated, a tie, a bound that no value reaches): read them one by one. Exit
code 1: one survived.
"""

from __future__ import annotations

import argparse
import importlib
import importlib.util
import multiprocessing
import os
import pickle
import random
import resource
import shutil
import signal
import subprocess
import sys
import tempfile
from collections import Counter
from collections.abc import Sequence
from pathlib import Path

import pytest

from tests.mutants.changes import Mutant, mutants_of
from tests.mutants.reach import Noted, Reached, Selected, file_of, wanted
from tests.test_imports import ROOMS, within

ROOT = Path(__file__).resolve().parents[2]
PYTEST = (
    *("-x", "-q", "-p", "no:cacheprovider", "-p", "no:xdist", "-m", "not slow"),
    *("-W", "ignore::pytest.PytestAssertRewriteWarning"),
)
SAMPLED = ("methods", "benchmark/data", "benchmark/training", "benchmark/results", "reports/statistics")
FROZEN = "benchmark/data/simulate/"
"""Left out of the sample: anatomy in numbers, which a version freezes and no test repeats."""
PRELOADED = (
    "torch",
    "sympy",
    "pandas",
    "openpyxl",
    "pydantic",
    "scipy.signal",
    "scipy.stats",
    "sklearn.ensemble",
    "wfdb",
    "hypothesis",
)
"""Libraries that are imported once, before the forks."""


def files_in(places: Sequence[str]) -> list[str]:
    """Modules among files and folders, sorted. Raises SystemExit for a place that is not there."""
    for place in places:
        if not (ROOT / place).exists():
            raise SystemExit(f"{place}: no such file or folder in {ROOT}")
    found = {
        path for place in map(ROOT.joinpath, places) for path in (place.rglob("*.py") if place.is_dir() else [place])
    }
    return sorted(path.relative_to(ROOT).as_posix() for path in found)


def named_test(file: str) -> str:
    """The file with the tests of a module; it need not exist."""
    path = Path("tests") / file
    return str(path.with_name(f"test_{path.stem.strip('_')}.py"))


def place_of_tests(file: str, folder: str, nearest: bool) -> str | None:
    """Where the tests lie that must notice: the folder of the module's room, or the file of its name alone."""
    named = named_test(file)
    module = file.removesuffix(".py").replace("/", ".")
    room = max((room for room in ROOMS if within(module, room)), key=len, default="")
    of_room = Path("tests", *room.split("."))
    beside = Path(named).parent
    tests = named if nearest else str(of_room if room and Path(folder, of_room).is_dir() else beside)
    return tests if Path(folder, tests).exists() else None


def in_a_fork(folder: str, tests: Sequence[str], seconds: int, plugin: Noted | Selected) -> None:
    """Run tests in the folder's copy, quietly, with a limit on processor time."""
    os.chdir(folder)
    sys.path.insert(0, folder)
    sys.dont_write_bytecode = isinstance(plugin, Selected)
    resource.setrlimit(resource.RLIMIT_CPU, (seconds, seconds + 1))
    for stream in (1, 2):
        os.dup2(os.open(os.devnull, os.O_WRONLY), stream)
    os._exit(int(pytest.main([*PYTEST, *tests], plugins=[plugin])))


def run_tests(folder: str, tests: Sequence[str], seconds: int, plugin: Noted | Selected) -> str:
    """'passed', 'failed' or 'out of time'; no test is a passed one."""
    fork = multiprocessing.get_context("fork").Process(target=in_a_fork, args=(folder, tests, seconds, plugin))
    fork.start()
    try:
        fork.join(10 * seconds)
    finally:
        fork.kill()
        fork.join()
    code = fork.exitcode or 0
    return "out of time" if code < 0 else "passed" if code in (0, pytest.ExitCode.NO_TESTS_COLLECTED) else "failed"


def reached_by(folder: str, tests: str, known: dict[str, dict[str, Reached]]) -> dict[str, Reached]:
    """What each test calls on the unchanged copy, where all must pass."""
    if tests not in known:
        with tempfile.NamedTemporaryFile() as notes:
            if run_tests(folder, [tests], 3600, Noted(folder, notes.name)) != "passed":
                raise SystemExit(f"{tests} fails without a mutant: repair it first")
            known[tests] = pickle.load(notes)
    return known[tests]


def outcome_of(mutant: Mutant, folder: str, nearest: bool, known: dict[str, dict[str, Reached]]) -> str:
    """What the tests say of a mutant; 'passed' where none notices it."""
    tests = place_of_tests(mutant.file, folder, nearest)
    if tests is None:
        return "passed"
    reached = reached_by(folder, tests, known)
    chosen = wanted(reached, (mutant.file, mutant.function), named_test(mutant.file))
    target, (start, end) = Path(folder, mutant.file), mutant.span
    source = target.read_bytes()
    Path(importlib.util.cache_from_source(str(target))).unlink(missing_ok=True)
    target.write_bytes(source[:start] + mutant.after.encode() + source[end:])
    seconds = 10 + int(3 * sum(reached[test].seconds for test in chosen))
    outcome = run_tests(folder, list(dict.fromkeys(map(file_of, chosen))), seconds, Selected(chosen, reached))
    target.write_bytes(source)
    return outcome


def copied_tree(folder: str) -> None:
    """Copy the files that git knows or does not ignore."""
    command = ["git", "ls-files", "-co", "--exclude-standard"]
    for name in subprocess.run(command, cwd=ROOT, capture_output=True, text=True, check=True).stdout.splitlines():
        if (ROOT / name).is_file():  # not deleted
            Path(folder, name).parent.mkdir(parents=True, exist_ok=True)
            shutil.copy(ROOT / name, Path(folder, name))


def main() -> int:
    """Try the mutants; print survivors and counts."""
    flags = argparse.ArgumentParser()
    flags.add_argument("places", nargs="*", help="files or folders; without one, a sample over all rooms")
    flags.add_argument("--sample", type=int, help="of that many mutants; 100 where no place is named")
    flags.add_argument("--seed", type=int, default=0)
    flags.add_argument("--nearest", action="store_true", help="only the tests of the same name")
    asked = flags.parse_args()
    mutants = [
        mutant
        for file in files_in(asked.places or SAMPLED)
        if not file.startswith(FROZEN)
        for mutant in mutants_of(file, (ROOT / file).read_bytes())
    ]
    sample = asked.sample or (len(mutants) if asked.places else 100)
    mutants = sorted(random.Random(asked.seed).sample(mutants, min(sample, len(mutants))))
    os.environ.setdefault("ECG_SHARED", str(ROOT.parent / "shared"))
    for name in PRELOADED:
        importlib.import_module(name)
    counts, known = Counter[str](), dict[str, dict[str, Reached]]()
    with tempfile.TemporaryDirectory(prefix="mutants-") as folder:
        copied_tree(folder)
        for number, mutant in enumerate(mutants):
            print(f"\r{number} of {len(mutants)}", end="", file=sys.stderr, flush=True)
            outcome = outcome_of(mutant, folder, asked.nearest, known)
            counts[outcome] += 1
            if outcome == "passed":
                print(f"\rsurvived  {mutant.file}:{mutant.line} {mutant.key.partition(' ')[2]}", flush=True)
    ends = f"{counts['failed']} found, {counts['out of time']} out of time (found as well), {counts['passed']} survived"
    print(f"{len(mutants)} mutants: {ends}")
    return int(counts["passed"] > 0)


if __name__ == "__main__":
    signal.signal(signal.SIGTERM, lambda *_: sys.exit(143))  # the folder is removed and the fork ended
    sys.exit(main())
