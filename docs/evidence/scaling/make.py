"""Write docs/evidence/SCALING.md: python docs/evidence/scaling/make.py [--check naps grid]

The tables are calculated from the code. `--check` predicts and measures makespans on a SLURM that it starts (slurm-wlm
and munge, as root), a quarter of an hour on a quiet machine, and keeps what it found in check.json beside it.
"""

from __future__ import annotations

import argparse
import json
import sys
from pathlib import Path

ROOT = Path(__file__).resolve().parents[3]
sys.path.insert(0, str(ROOT))

PARTS = ("naps", "grid")
FOUND = Path(__file__).with_name("check.json")


def write() -> None:
    """Check what is asked for, then write the page."""
    asked = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    asked.add_argument("--check", nargs="*", choices=PARTS, help="measure makespans too, both if none is named")
    asked.add_argument("--rounds", type=int, default=3, help="of the small grid (3)")
    asked.add_argument(
        "--page", type=Path, default=ROOT / "docs" / "evidence" / "SCALING.md", help="page (docs/evidence/SCALING.md)"
    )
    given = asked.parse_args()
    if given.check is not None:
        from docs.evidence.scaling.check import check  # here, because it needs the tests' SLURM

        for part in given.check or PARTS:
            result = check(part, given.rounds)
            found = json.loads(FOUND.read_text()) if FOUND.is_file() else {}
            FOUND.write_text(json.dumps(found | {part: result}, indent=1) + "\n")
    from docs.evidence.scaling.page import page  # here, because torch loads slowly

    given.page.write_text(page(json.loads(FOUND.read_text())), encoding="utf-8")


if __name__ == "__main__":
    write()
