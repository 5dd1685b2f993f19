"""What `tune` found: a file per method in RESULTS/tuned, with the trials, their scores and the choice.

runs/tuned/KEY.json    KEY is the digest of the method's settings, without what was drawn (benchmark.run.tuning)
"""

from __future__ import annotations

from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any, Literal

from pydantic import with_config
from typing_extensions import TypedDict

from benchmark.results.files import digested_json, read_digested_json, write_atomic
from benchmark.results.schema import CLOSED, Count, Key, Line, Name, Number, Ratio, Score, checked, digest
from benchmark.results.store import NoResults

TUNED = "tuned"
"""Folder of a store."""


@with_config(CLOSED)
class Space(TypedDict):
    """What a knob was drawn from."""

    scale: Literal["log", "choice"]
    values: list[Number]
    """The lowest and the highest of a logarithmic space; all of a choice."""


@dataclass(frozen=True)
class Trial:
    """One setting of a method's tuned knobs and how it did."""

    knobs: dict[Line, Number]
    """Knob -> value, all tuned knobs; a field of the recipe is named 'recipe.lr'."""
    scores: dict[Name, Score]
    """Dataset -> validation macro-F1 of the linear probe, at the best of its strengths C."""
    mean: Score | None
    """Mean of `scores`; None for a trial that failed."""
    error: Line = ""


@dataclass(frozen=True)
class Tuning:
    """The trials of one method; the first is the config's own setting."""

    key: Key
    content: dict[str, Any]
    """What `key` is the digest of."""
    method: Name
    title: Line
    ratio: Ratio
    """Label ratio of the probes."""
    seed: Count
    """Seed of the labelled subset."""
    pretrain_seed: Count
    search_seed: Count
    """Seed of the draws."""
    data: dict[Name, Line]
    """Dataset, and the pretraining corpus, -> fingerprint."""
    simulated: bool
    """Whether any of the data are."""
    spaces: dict[Line, Space]
    """Tuned knob -> what it was drawn from."""
    trials: list[Trial]
    best: Count
    """Number of the chosen trial, from 0."""

    @property
    def chosen(self) -> Trial:
        """The trial with the highest mean; of equal ones the earliest."""
        return self.trials[self.best]


def best_of(trials: list[Trial]) -> int | None:
    """Number of the trial with the highest mean, the earliest of equal ones; None if all failed."""
    done = [number for number, trial in enumerate(trials) if trial.mean is not None]
    return max(done, key=lambda number: trials[number].mean or 0.0, default=None)


def tuning_file(root: Path, key: str) -> Path:
    """Path of a tuning in a results store."""
    return root / TUNED / f"{key}.json"


def save_tuning(root: Path, tuning: Tuning) -> Path:
    """Write a tuning into a results store, in place of an earlier one of its key; returns the file."""
    path = tuning_file(root, tuning.key)
    write_atomic(path, digested_json(asdict(tuning)))
    return path


def load_tuning(root: Path, key: str) -> Tuning | None:
    """The tuning of a key; None if there is none. Raises NoResults if its file is damaged."""
    path = tuning_file(root, key)
    return _read(path) if path.is_file() else None


def _read(path: Path) -> Tuning:
    try:
        body = read_digested_json(path)
        found = checked(Tuning, body | {"trials": [checked(Trial, trial) for trial in body["trials"]]})
        if found.key != path.stem or digest(found.content) != found.key:
            raise ValueError("what it holds does not give its key")
        if found.best != best_of(found.trials):
            raise ValueError(f"trial {found.best} is not the best of its trials")
        if any(trial.knobs.keys() != found.spaces.keys() for trial in found.trials):
            raise ValueError("a trial has other knobs than the spaces")
        return found
    except (OSError, ValueError, KeyError, TypeError, AttributeError) as error:
        raise NoResults(f"{path} cannot be used ({error}); the same `tune` command writes it again") from None
