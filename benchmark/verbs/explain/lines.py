"""All that made a cell's number, as lines: what its row, plan and encoder's card hold, and where the files are."""

from __future__ import annotations

import json
from collections.abc import Iterator, Mapping
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

from benchmark.results.cards import BadCard, vouched
from benchmark.results.keys import flat
from benchmark.results.names import CARD, EVALUATION_TITLES, command
from benchmark.results.plan import with_todays_keys
from benchmark.results.rows import Row
from benchmark.results.store import Store
from benchmark.verbs.explain.find import Found

LONGEST = 4
"""Values of a list that are shown whole; of a longer one the first, the last and their number."""
OLDER = "not kept by the version that made it"
SUITE = "a class of the suite: its version is in the key, its code that of the commit"
NOT_SHOWN = ("key_content", "encoder", "key", "illustration_sha256")
"""Entries of a card that are shown elsewhere or say nothing of a number."""

Section = tuple[str, Mapping[str, Any]]
"""A heading, and values by name."""


def explained(found: Found, store: Store) -> Iterator[str]:
    """The lines, section after section."""
    yield found.name
    for heading, values in sections_of(found, store):
        if values:
            width = max(map(len, values))
            yield ""
            yield heading
            for name, value in values.items():
                yield " ".join(f"  {name:<{width}}  {text_of(value)}".splitlines())  # stored texts may be of others
    yield ""
    yield f"to run it again: {command()} reproduce {found.key} --results {store.root}"


def sections_of(found: Found, store: Store) -> Iterator[Section]:
    """The sections; those without values are left out when they are printed."""
    row, told = found.row, found.row.provenance
    yield "cell", cell_of(found)
    yield "scores", {f"{unit} {name}": value for unit, own in row.scores.items() for name, value in own.items()}
    undefined = {f"{unit} {name}": why for unit, own in row.undefined.items() for name, why in own.items()}
    yield "scores that are not defined", undefined
    yield "remarks", {str(number): line for number, line in enumerate(row.notes, start=1)}
    yield "labelled, validation and test windows", row.counts | flat({"split": told.get("split", {})}, "")
    yield "training", row.training
    yield from encoder_of(row, store)
    yield f"key {row.key}: the digest of ratio, seed and", flat(told.get("key_content") or {"content": OLDER}, "")
    yield "data", told.get("data", {})
    yield "pretraining corpus", told.get("corpus", {})
    yield "config", flat(with_todays_keys(told.get("config", {})), "")
    yield "code", flat(told.get("git") or {}, "") | {"results version of " + k: v for k, v in versions_of(row).items()}
    yield "libraries", told.get("versions", {})
    yield "machine", machine_of(row)
    yield "files", files_of(found, store)


def cell_of(found: Found) -> dict[str, Any]:
    """The place of a cell in tables and store."""
    row, plan, cell = found.row, found.plan, found.planned
    title = f" ({plan.variants[cell.variant]})" if plan and cell else ""
    facts = plan.datasets[cell.dataset] if plan and cell else {}
    table = cell.evaluation if cell else row.evaluation
    dataset = f" ({facts['title']})" if "title" in facts else ""
    return {
        "key": row.key,
        "row": f"{cell.variant if cell else row.variant}{title}",
        "method": row.method,
        "dataset": f"{row.dataset}{dataset}",
        "task": f"{facts.get('task', 'default')}, {row.labels} label, protocol {row.protocol}",
        "evaluation": f"{row.evaluation} (table: {EVALUATION_TITLES.get(table, table)})",
        "ratio or shots": f"{row.ratio:g}",
        "seed": row.seed,
        "run": f"{plan.key} (config {plan.config.get('name', 'without name')})" if plan else "in no plan of the store",
    }


def versions_of(row: Row) -> Mapping[str, int]:
    """Results versions that a row depends on."""
    found: Mapping[str, int] = row.provenance.get("results_versions", {})
    return found


def machine_of(row: Row) -> dict[str, Any]:
    """Where a cell was computed, and in which mode."""
    told = row.provenance
    mode = (told.get("key_content") or {}).get("mode", {})
    threads = {"threads": OLDER} | flat(told.get("device") or {}, "")
    return {"precision": told.get("precision", OLDER), **threads, **{f"mode: {k}": v for k, v in mode.items()}}


def encoder_of(row: Row, store: Store) -> Iterator[Section]:
    """The encoder that a cell used: its card, its method's file, and what its key is the digest of."""
    if not row.pretrain_key:
        return
    heading = f"encoder {row.pretrain_key}"
    try:
        card = store.card(row.pretrain_key)
    except BadCard as error:
        yield heading, {"card": str(error)}
        return
    if card is None:
        yield heading, {"card": f"{store.pretrained / row.pretrain_key / CARD} is gone"}
        return
    content = card.get("key_content") or {}
    whose = {} if vouched(card) else {"card": "of a version that kept no digest: what it says cannot be checked"}
    method_file = {"method file": content.get("file", {}).get("source") or card.get("method_sha256") or SUITE}
    facts = {name: value for name, value in card.items() if name not in NOT_SHOWN}
    health = facts.pop("health", [])
    shown = flat(facts, "") | flat({"health at the end": health[-1] if health else {}}, "")
    yield heading, whose | method_file | flat({"encoder": card.get("encoder", {})}, "") | shown
    yield f"key of the encoder {row.pretrain_key}: the digest of", flat(content or {"content": OLDER}, "")


def files_of(found: Found, store: Store) -> dict[str, str]:
    """Where the files are, and when they were written, in UTC."""
    paths = {"row": store.cells / f"{found.key}.json", "predictions": store.cells / f"{found.key}.npz"}
    if found.row.pretrain_key:
        paths["encoder"] = store.pretrained / found.row.pretrain_key
    if found.plan:
        paths["plan"] = store.plans / f"{found.plan.key}.json"
    return {name: f"{path} ({written(path)})" for name, path in paths.items()}


def written(path: Path) -> str:
    """'written 2026-01-31 12:00:00 UTC', or that it is gone."""
    try:
        moment = datetime.fromtimestamp(path.stat().st_mtime, UTC)
    except OSError:
        return "gone"
    return f"written {moment:%Y-%m-%d %H:%M:%S} UTC"


def text_of(value: Any) -> str:
    """A value as text; of a long list the first and the last."""
    if isinstance(value, str):
        return value
    if isinstance(value, list) and len(value) > LONGEST and not isinstance(value[0], str):
        return f"{json.dumps(value[0])} ... {json.dumps(value[-1])} ({len(value)} values)"
    return "none" if value is None else json.dumps(value)
