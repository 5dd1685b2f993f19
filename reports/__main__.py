"""`python -m reports`: tables from results folders and capsules on any machine, without torch."""

from __future__ import annotations

import argparse
import sys
from collections.abc import Iterable, Sequence
from pathlib import Path

from benchmark.results.files import harmless
from benchmark.results.metrics import FURTHER
from benchmark.results.names import BOTH, UNITS
from benchmark.results.store import CorruptRow, NoResults
from reports.build import build_report
from reports.compare import compare_results
from reports.open import open_results, pack

SOURCE = "a results folder or capsule, FOLDER@KEY for one of its runs, FOLDER@all for all that compare"


def main(argv: Sequence[str] | None = None) -> int:
    """Parse, build, print the files' paths. Returns 0, or 1 with one line on stderr: no results, or damaged ones."""
    parser = argparse.ArgumentParser(prog="python -m reports", description="Tables from results.", epilog=SOURCE)
    parser.add_argument("--results", nargs="+", default=["runs"], metavar="SOURCE", help="put together (runs)")
    parser.add_argument("--compare", nargs=2, metavar="SOURCE", help="hold two runs against each other instead")
    parser.add_argument("--capsule", type=Path, metavar="FILE", help="pack the results reported, without signals")
    parser.add_argument("--out", type=Path, default=Path("out"), metavar="DIR", help="where to write (out)")
    parser.add_argument("--unit", choices=(*UNITS, BOTH), help="what is scored (default: as the protocol says)")
    parser.add_argument("--scores", nargs="+", choices=FURTHER, default=[], help="further columns of the main table")
    parser.add_argument("--latex-landscape", action="store_true", help="results.tex: tables across the page")
    asked = parser.parse_args(argv)
    if asked.compare and (asked.capsule or asked.scores or asked.unit == BOTH):
        parser.error("--compare takes neither --capsule, --scores nor --unit both")
    try:
        files = _files(asked)
    except (NoResults, CorruptRow) as error:
        _say([str(error)])
        return 1
    except MemoryError:
        _say(["out of memory"])
        return 1
    for file in files:
        print(file)
    return 0


def _files(asked: argparse.Namespace) -> list[Path]:
    return _compare(asked) if asked.compare else _report(asked)


def _report(asked: argparse.Namespace) -> list[Path]:
    with open_results(asked.results) as opened:
        run = opened.run
        further = list(dict.fromkeys(asked.scores))
        report = build_report(run, asked.out, unit=asked.unit, landscape=asked.latex_landscape, further=further)
        page = f"; traceback in {asked.out / 'report.html'}"
        failed = [f"failed: {line}{page if file else ''}" for line, file in report.failures]
        _say([*opened.said, *failed, *(f"left out: {problem}" for problem in report.problems)])
        if asked.capsule:
            pack(run, asked.capsule)
    return [*report.files, *filter(None, [asked.capsule])]


def _compare(asked: argparse.Namespace) -> list[Path]:
    first, second = asked.compare
    _, files, said = compare_results(first, second, asked.out, unit=asked.unit)
    _say(said)
    return files


def _say(lines: Iterable[str]) -> None:
    for line in lines:
        print(harmless(line), file=sys.stderr)


if __name__ == "__main__":
    sys.exit(main())
