"""Pretrainings that a store holds under another key than a grid's: of an earlier form, or of another number of ranks.

Keys of pretrainings once held the number of CPU threads; such a pretraining is found and used under its old key.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

import torch

from benchmark.results.keys import digest
from benchmark.results.names import CARD
from benchmark.results.store import Store
from benchmark.run.grid.cells import Grid, Pretraining, task_name
from benchmark.training.weights import CHECKPOINT

MOST_THREADS = 128
MOST_RANKS = 64


def stored_pretrainings(store: Store) -> dict[str, bool]:
    """Key of each pretraining with weights or a checkpoint in the store -> whether it is finished."""
    begun = {path.parent.name: False for path in store.pretrained.glob(f"*/{CHECKPOINT}")}
    return begun | {path.parent.name: True for path in store.pretrained.glob(f"*/{CARD}")}


def as_stored(content: dict[str, Any], stored: Mapping[str, bool]) -> dict[str, Any]:
    """A pretraining's key content in the form that the store has: today's, or an earlier one with a thread count."""
    if not stored or "mode" not in content or stored.get(digest(content)):
        return content
    on_cpu = content["mode"]["device"] == "cpu"
    counts = dict.fromkeys([torch.get_num_threads(), *range(1, MOST_THREADS + 1)]) if on_cpu else [0]
    forms = [content, *(content | {"mode": content["mode"] | {"threads": count}} for count in counts)]
    found = [(form, stored[key]) for form in forms if (key := digest(form)) in stored]
    return max(found, key=lambda form: form[1], default=(content, False))[0]


def earlier_lines(grid: Grid) -> list[str]:
    """A line on the pretrainings that are used under an earlier form of key."""
    threads = [p.content["mode"]["threads"] for p in grid.pretrainings if "threads" in p.content.get("mode", {})]
    counts = ", ".join(map(str, sorted(set(threads))))
    held = f"which held the number of CPU threads ({counts})"
    return [f"{len(threads)} pretrainings are used under their key of an earlier version, {held}"] if threads else []


def other_ranks_lines(tasks: Sequence[Pretraining], store: Store) -> list[str]:
    """A line for each pretraining that another number of ranks has begun, whose checkpoint is not gone on from."""
    begun = {key for key, finished in stored_pretrainings(store).items() if not finished}
    lines = []
    for task in tasks if begun else ():
        name, own = task_name(task), task.content.get("mode", {}).get("ranks", 1)
        for count in range(1, MOST_RANKS + 1):
            if count != own and digest(of_ranks(task.content, count)) in begun:
                lines.append(
                    f"{name} was begun by {ranks_in_words(count)} and begins anew with {ranks_in_words(own)}: their "
                    f"number is part of a result's mode; start {count} to finish what was begun"
                )
    return lines


def of_ranks(content: Mapping[str, Any], count: int) -> dict[str, Any]:
    """A pretraining's key content as so many ranks have it, with the same kind of batch normalisation."""
    if "mode" not in content:
        return dict(content)
    mode = {name: value for name, value in content["mode"].items() if name != "ranks"}
    if count == 1:
        return {name: value for name, value in content.items() if name != "batch_norm"} | {"mode": mode}
    return dict(content) | {"mode": mode | {"ranks": count}}


def ranks_in_words(count: int) -> str:
    """'one process' or '4 ranks'."""
    return "one process" if count == 1 else f"{count} ranks"
