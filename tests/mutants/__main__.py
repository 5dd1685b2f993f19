"""Do the tests notice? Change modules in one place after another: a test must fail.

    make mutants                                      the fixed sample of all rooms, beside its stored outcomes
    make mutants MODULE=benchmark/data/splits.py      all of one module or folder
    python -m tests.mutants --fixed benchmark/data    the fixed sample of a room; --store keeps its outcomes
    python -m tests.mutants --draw 1                  another fixed sample, of that seed

A mutant meets the tests of its room's folder that call its function, quickest first; all where none is seen to.
Mutants run one after another on a copy in a temporary folder, each in a fork with a limit on its processor time.
Many that survive change nothing (a default repeated, a tie, a bound that no value reaches): read them one by one. Exit
code 1: one survived, or is found no longer.
"""

from __future__ import annotations

import argparse
import importlib
import importlib.util
import json
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
from collections.abc import Iterator, Sequence
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
FROZEN = "benchmark/data/simulate/"
"""Left out of the sample: anatomy in numbers, which a version freezes and no test repeats."""
SAMPLE_OF_ROOMS = {
    "methods": 50, "benchmark/data": 50, "benchmark/training": 40, "benchmark/results": 30, "reports": 30,
}  # fmt: skip
SAMPLE_FILE = Path(__file__).with_name("sample.json")
"""The fixed sample: a mutant's key -> its outcome when it was last stored."""
UNTRIED, FOUND, SURVIVES = "untried", "found", "survives"
PRELOADED = [
    "torch", "sympy", "pandas", "openpyxl", "pydantic", "scipy.signal", "scipy.stats", "sklearn.ensemble", "wfdb",
]  # fmt: skip
"""Libraries that are imported once, before the forks."""


def files_in(places: Sequence[str]) -> list[str]:
    """Modules among files and folders, sorted. Raises SystemExit for a place that is not there."""
    if missing := [name for name in places if not (ROOT / name).exists()]:
        raise SystemExit(f"{', '.join(missing)}: no such file or folder in {ROOT}")
    paths = [ROOT / name for name in places]
    files = {file for path in paths for file in (path.rglob("*.py") if path.is_dir() else [path])}
    return sorted(file.relative_to(ROOT).as_posix() for file in files)


def named_test(file: str) -> str:
    """The file with the tests of a module; it need not exist."""
    path = Path("tests") / file
    return str(path.with_name(f"test_{path.stem.strip('_')}.py"))


def tests_of(file: str, folder: str) -> str:
    """The folder of tests that must notice a change of a module: that of its room, or the next above it."""
    module = file.removesuffix(".py").replace("/", ".")
    room = max((room for room in ROOMS if within(module, room)), key=len, default="")
    of_room = Path("tests", *room.split("."))
    tests = of_room if room else Path(named_test(file)).parent
    while not Path(folder, tests).is_dir():  # the tests of several folders may stand together
        tests = tests.parent
    return str(tests)


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
        fork.join(60 + 3 * seconds)  # some wait for ever, without processor time
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


def outcome_of(mutant: Mutant, folder: str, known: dict[str, dict[str, Reached]]) -> str:
    """What the tests say of a mutant; 'passed' where none notices it."""
    tests = tests_of(mutant.file, folder)
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


def all_mutants(places: Sequence[str]) -> list[Mutant]:
    """List the mutants of some files and folders, without the frozen ones."""
    files = [file for file in files_in(places) if not file.startswith(FROZEN)]
    return [mutant for file in files for mutant in mutants_of(file, (ROOT / file).read_bytes())]


def outcomes_of(mutants: Sequence[Mutant]) -> Iterator[tuple[Mutant, str]]:
    """Try mutants one after another on a copy of the repository; yields each with what the tests say."""
    os.environ.setdefault("ECG_SHARED", str(ROOT.parent / "shared"))
    for name in PRELOADED:
        importlib.import_module(name)
    known: dict[str, dict[str, Reached]] = {}
    with tempfile.TemporaryDirectory(prefix="mutants-") as folder:
        copied_tree(folder)
        for number, mutant in enumerate(mutants):
            print(f"\r{number} of {len(mutants)}", end="", file=sys.stderr, flush=True)
            yield mutant, outcome_of(mutant, folder, known)


def draw_sample(seed: int) -> None:
    """Draw the fixed sample of mutants, so many of each room, and store it without outcomes."""
    keys = []
    for room, count in SAMPLE_OF_ROOMS.items():
        keys += [mutant.key for mutant in sorted(random.Random(seed).sample(all_mutants([room]), count))]
    SAMPLE_FILE.write_text(json.dumps(dict.fromkeys(keys, UNTRIED), indent=1) + "\n")


def try_sample(places: Sequence[str], store: bool) -> int:
    """Try the fixed sample, or what of it lies in some places, and print what differs from the stored outcomes.

    A mutant that was found and now survives is `lost`; one whose place is no longer in the code is `gone`.
    """
    stored = json.loads(SAMPLE_FILE.read_text())
    wanted_keys = {key for key in stored if not places or key.startswith(tuple(places))}
    mutants = [mutant for mutant in all_mutants([*SAMPLE_OF_ROOMS]) if mutant.key in wanted_keys]
    outcomes = {mutant.key: SURVIVES if outcome == "passed" else FOUND for mutant, outcome in outcomes_of(mutants)}
    gone = sorted(wanted_keys - outcomes.keys())
    lost = [key for key, outcome in outcomes.items() if outcome == SURVIVES and stored[key] == FOUND]
    for word, keys in (("gone", gone), ("lost", lost)):
        print("".join(f"\r{word}  {key}\n" for key in keys), end="")
    count = Counter(outcomes.values())
    counts = f"{count[FOUND]} found, {count[SURVIVES]} survive, {len(gone)} gone; {len(lost)} lost"
    print(f"\r{len(wanted_keys)} mutants: {counts}")
    if store:
        latest = json.loads(SAMPLE_FILE.read_text())
        SAMPLE_FILE.write_text(json.dumps(latest | outcomes, indent=1) + "\n")
    return int(bool(lost))


def try_all(places: Sequence[str]) -> int:
    """Try all mutants of some files and folders, and print the survivors."""
    counts = Counter[str]()
    for mutant, outcome in outcomes_of(all_mutants(places)):
        counts[outcome] += 1
        if outcome == "passed":
            print(f"\rsurvived  {mutant.file}:{mutant.line} {mutant.key.partition(' ')[2]}", flush=True)
    ends = f"{counts['failed']} found, {counts['out of time']} out of time (found as well), {counts['passed']} survived"
    print(f"{counts.total()} mutants: {ends}")
    return int(counts["passed"] > 0)


def main() -> int:
    """Try mutants; print survivors and counts."""
    flags = argparse.ArgumentParser()
    flags.add_argument("places", nargs="*", help="files or folders")
    flags.add_argument("--fixed", action="store_true", help="those of sample.json, held against their stored outcomes")
    flags.add_argument("--store", action="store_true", help="with --fixed: store the outcomes")
    flags.add_argument("--draw", type=int, metavar="SEED", help="draw sample.json anew")
    arguments = flags.parse_args()
    if arguments.draw is not None:
        draw_sample(arguments.draw)
        return 0
    if arguments.fixed or not arguments.places:
        return try_sample(arguments.places, arguments.store)
    return try_all(arguments.places)


if __name__ == "__main__":
    signal.signal(signal.SIGTERM, lambda *_: sys.exit(143))  # the folder is removed and the fork ended
    sys.exit(main())
