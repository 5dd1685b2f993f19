"""The verdicts that the first report of a finished run gave, sealed: a file per plan in RESULTS/verdicts, written once.

runs/verdicts/KEY.json    KEY is that of the plan, whose own file has a digest from before anything was scored

What a run says of its repeats is thereby fixed before any repeat is made. As everywhere, digests find accidents.
"""

from __future__ import annotations

from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Annotated

from pydantic import Field

from benchmark.results.files import content_digest, digested_json, read_digested_json, write_atomic
from benchmark.results.schema import Count, Evaluated, Key, Labelled, Line, Measured, Name, Score, Unit, checked
from benchmark.results.store import NoResults, Plan

VERDICTS = "verdicts"
"""Folder of a store."""
Difference = Annotated[float, Field(ge=-1, le=1)]


@dataclass(frozen=True)
class Verdict:
    """One pair of rows in the column Overall at one label ratio; None where a value is not known."""

    table: Line
    """Name of the table, whose pairs of this ratio are the family of the test."""
    evaluation: Evaluated
    ratio: Labelled
    first: Line
    second: Line
    difference: Difference
    """First minus second, as a share of the scale of the score; so are low and high, the ends of the 95 % interval."""
    low: Measured | None
    high: Measured | None
    p_holm: Score | None
    repeat: Score | None
    """The chance that a repeat finds a significant difference again; None where it is not significant."""
    p_equivalent: Score | None


@dataclass(frozen=True)
class Sealed:
    """The verdicts of a finished plan."""

    plan: Key
    plan_sha256: Line
    """`plan_digest` of the plan."""
    unit: Unit
    seeds: list[Count]
    data: dict[Name, Line]
    """Dataset, and the pretraining corpus, -> fingerprint; '' where it is not known."""
    verdicts: list[Verdict]


def plan_digest(plan: Plan) -> str:
    """SHA-256 of what a plan plans: its config with the seeds, its rows and its cells."""
    cells = [asdict(cell) for cell in plan.cells]
    return content_digest({"key": plan.key, "config": plan.config, "variants": plan.variants, "cells": cells})


def verdicts_file(root: Path, key: str) -> Path:
    """Where the verdicts of a plan are sealed."""
    return root / VERDICTS / f"{key}.json"


def seal_verdicts(root: Path, sealed: Sealed) -> bool:
    """Write the verdicts of a plan; False where a file of them is there already, which stays. Raises OSError."""
    path = verdicts_file(root, sealed.plan)
    if path.exists():
        return False
    write_atomic(path, digested_json(asdict(sealed)))
    return True


def read_verdicts(root: Path, key: str) -> Sealed | None:
    """The sealed verdicts of a plan; None where there are none. Raises NoResults, in one line, for an altered file."""
    path = verdicts_file(root, key)
    if not path.exists():
        return None
    try:
        body = read_digested_json(path)
        found = checked(Sealed, body | {"verdicts": [checked(Verdict, own) for own in body["verdicts"]]})
        if found.plan != key:
            raise ValueError(f"these are the verdicts of the plan {found.plan}")
    except (OSError, ValueError, KeyError, TypeError) as error:
        raise NoResults(f"{path} is no seal of verdicts ({error}): it is neither used nor written again") from None
    return found
