"""Which tasks processes hold by their claims, and for how long a claim of another host has not been renewed."""

from __future__ import annotations

import time
from collections.abc import Callable
from dataclasses import dataclass, field
from typing import NamedTuple

from benchmark.machine.process import runs
from benchmark.results.store import Store
from benchmark.run.work.claims import CLAIMS, STALE_SECONDS, Sight, owner_in
from benchmark.run.work.claims import look as look_at_claim
from benchmark.run.work.silence import silence, store_time


class Held(NamedTuple):
    """A claim."""

    holder: str
    """'host:pid'."""
    renewed: int
    """Modification time of its file, ns."""
    silent: float
    """Seconds for which it is known not to have been renewed; 0 if its process runs on this host."""

    @property
    def lives(self) -> bool:
        """Whether it is still renewed."""
        return self.silent < STALE_SECONDS


@dataclass
class Sights:
    """The claims of a store as they were seen over several looks."""

    clock: Callable[[], float] = time.monotonic
    seen: dict[str, tuple[Sight, float]] = field(default_factory=dict)
    """Key -> its claim, and when it was first seen like this."""

    def held(self, store: Store) -> dict[str, Held]:
        """Key of each task that is claimed -> its claim; not of processes of this host that have ended."""
        found = {}
        now = store_time(store.root)
        for file in sorted((store.root / CLAIMS).glob("*.json")):
            sight = look_at_claim(file)
            owner = owner_in(sight.content) if sight else None
            running = runs(owner) if owner else False
            if sight and owner and running is not False:
                silent = 0.0 if running else self.silent(file.stem, sight, now)
                found[file.stem] = Held(f"{owner.host}:{owner.pid}", sight.renewed, silent)
        return found

    def silent(self, key: str, sight: Sight, now: int | None) -> float:
        """Seconds since a claim was renewed, by the store's clock, or since it was first seen as it is."""
        before = self.seen.get(key)
        if before is None or before[0] != sight:
            before = self.seen[key] = sight, self.clock()
        return max(silence(sight, now), self.clock() - before[1])
