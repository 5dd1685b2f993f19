"""What somebody else found who ran cells of a capsule again: a signed-off file beside it, which a leaderboard shows.

    alice.zip                      the capsule
    alice.rerun-Bob Lee.json       by whom, when and where; which cells; which were equal, and how the others differed

Which cells these are follows from the contents of the capsule and the name (`drawn`), so that nobody picks them. The
digest of a file finds damage, not forgery.
"""

from __future__ import annotations

import glob
import hashlib
from collections.abc import Collection
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Annotated, Any

from benchmark.results.files import digested_json, read_digested_json, write_atomic
from benchmark.results.schema import Key, Line, Name, Ratio, checked, shaped
from benchmark.results.store import Provenance


@dataclass(frozen=True)
class Rerun:
    """One share of a capsule's cells, run again."""

    capsule: Key
    """Digest of the capsule's contents."""
    by: Name
    date: Line
    """In UTC."""
    share: Ratio
    cells: list[Key]
    """Those drawn, in the order of the draw."""
    equal: list[Key]
    """Of these, the ones whose encoder, scores and predictions were equal to the bit."""
    different: dict[Key, Line]
    """Cell -> in how much it differed, the largest difference of its scores among it."""
    failed: dict[Key, Line]
    """Cell -> why it could not be run."""
    suite: Line
    """Version of the suite."""
    made: list[Annotated[dict[str, Any], shaped(Provenance)]]
    """Each set of versions, git state, device and precision that cells were run again in."""

    @property
    def sentence(self) -> str:
        """'9 of 9 cells equal to the bit', '7 of 9 cells equal to the bit, 1 different, 1 not run'."""
        counts = {"different": len(self.different), "not run": len(self.failed)}
        others = [f"{count} {word}" for word, count in counts.items() if count]
        return ", ".join([f"{len(self.equal)} of {len(self.cells)} cells equal to the bit", *others])


def drawn(capsule: str, by: str, cells: Collection[str], share: float) -> list[str]:
    """A share of the cells of a capsule, at least one, drawn by its digest and a name; a larger share begins alike."""
    order = sorted(cells, key=lambda key: hashlib.sha256(f"{capsule}\0{by}\0{key}".encode()).digest())
    return order[: max(1, round(share * len(order)))]


def save_rerun(capsule: Path, rerun: Rerun) -> Path:
    """Write what was found beside the capsule, in place of an earlier file of that name; returns the file."""
    path = capsule.with_name(f"{capsule.stem}.rerun-{rerun.by}.json")
    write_atomic(path, digested_json(asdict(rerun)))
    return path


def files_beside(capsule: Path) -> list[Path]:
    """The files beside a capsule that say of themselves that they are of it."""
    return sorted(capsule.parent.glob(f"{glob.escape(capsule.stem)}.rerun-*.json"))


def read_rerun(path: Path, capsule: str, cells: Collection[str]) -> Rerun:
    """What a file says of the capsule of this digest and these cells.

    Raises ValueError in one line for a file of another capsule or of cells that were not drawn, and a damaged one.
    """
    try:
        found = checked(Rerun, read_digested_json(path))
    except OSError as error:
        raise ValueError(f"it cannot be read ({error.strerror})") from None
    except ValueError as error:
        raise ValueError(f"it is damaged ({error})") from None
    if found.capsule != capsule:
        raise ValueError(f"it is of another capsule, with the digest {found.capsule}")
    if found.cells != drawn(capsule, found.by, cells, found.share):
        raise ValueError("its cells are not those that its name and the capsule draw")
    if sorted([*found.equal, *found.different, *found.failed]) != sorted(found.cells):
        raise ValueError("its cells are not each equal, different or not run")
    return found
