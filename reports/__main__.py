"""`python -m reports`: rebuild the tables of a results folder on any machine, without torch."""

from __future__ import annotations

import argparse
import sys
from collections.abc import Sequence
from pathlib import Path

from benchmark.store import NoResults
from reports.build import UNITS, build_report


def main(argv: Sequence[str] | None = None) -> int:
    """Parse, build, name the files. Returns 0, or 1 with one line on stderr where there is nothing to report."""
    parser = argparse.ArgumentParser(prog="python -m reports", description="Tables from a results folder.")
    parser.add_argument("--results", type=Path, default=Path("runs"), metavar="DIR", help="results folder (runs)")
    parser.add_argument("--out", type=Path, default=Path("out"), metavar="DIR", help="where to write (out)")
    parser.add_argument("--unit", choices=(*UNITS, "both"), help="what is scored (default: as the protocol says)")
    asked = parser.parse_args(argv)
    try:
        report = build_report(asked.results, asked.out, unit=asked.unit)
    except NoResults as error:
        print(error, file=sys.stderr)
        return 1
    for problem in report.problems:
        print(f"left out: {problem}", file=sys.stderr)
    for file in report.files:
        print(file)
    return 0


if __name__ == "__main__":
    sys.exit(main())
