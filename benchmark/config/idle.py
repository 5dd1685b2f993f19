"""Refuse config keys that have no effect under the other settings, e.g. `pretrain.recipe` under `preset: paper`."""

from __future__ import annotations

import re
from collections.abc import Mapping
from copy import deepcopy
from typing import Any, NamedTuple

from benchmark.config.errors import ConfigError
from methods import METHODS


class Idle(NamedTuple):
    """A config key that has no effect while the key `decided_by` has one of the values `where`."""

    key: str
    decided_by: str
    """'': the key never has an effect."""
    where: tuple[str | None, ...]
    """None: the deciding key is absent."""
    why: str
    """The reason and the remedy."""


_RECIPE = "each method has its own under preset: paper; set e.g. methods.pmq.recipe.lr, or use --preset unified"
_SEED = "protocol: strict pretrains once per fine-tuning seed; leave it out, or use --protocol paper"
_WINDOWS = "it is of plain windows; leave it out, or set data.segmentation=windows"
_HEARTBEATS = "it is of heartbeats; leave it out, or set data.segmentation=heartbeats"
_LONG = "it is of windows and whole recordings; leave it out, or set data.segmentation=recordings"
_CROPS = "it is of crops of whole recordings; leave it out, or set data.segmentation=recordings"
_PRESETS = "its rows stand beside those of preset: unified; use e.g. --preset unified paper tuned"
_SECONDS = "it is what windows cost under another budget; leave it out, or set pretrain.budget=seconds"
_UNTRAINED = "this method trains nothing; leave it out"
IDLE = (
    Idle("pretrain.recipe", "pretrain.preset", ("paper",), _RECIPE),
    Idle("pretrain.presets", "pretrain.preset", ("paper", "tuned"), _PRESETS),
    Idle("pretrain.pair_milliseconds", "pretrain.budget", ("epochs", "windows", "passes", None), _SECONDS),
    Idle("pretrain.seed", "protocol", ("strict",), _SEED),
    Idle("data.window_seconds", "data.segmentation", ("heartbeats", None), _WINDOWS),
    Idle("data.window_stride", "data.segmentation", ("heartbeats", "windows", None), _CROPS),
    Idle("data.short", "data.segmentation", ("heartbeats", None), _LONG),
    Idle("pretrain.windows_per_trial", "data.segmentation", ("heartbeats", "recordings", None), _WINDOWS),
    Idle("finetune.windows_per_trial", "data.segmentation", ("heartbeats", "recordings", None), _WINDOWS),
    Idle("pretrain.beats_per_trial", "data.segmentation", ("windows", "recordings"), _HEARTBEATS),
    Idle("finetune.beats_per_trial", "data.segmentation", ("windows", "recordings"), _HEARTBEATS),
    *(
        Idle(f"{section}.{name}", "", (None,), _UNTRAINED)
        for section in ("knobs", "ablations")
        for name, method in METHODS.items()
        if not method.trains
    ),
)


def without_idle(values: Mapping[str, Any], overrides: Mapping[str, Any]) -> dict[str, Any]:
    """Config values (nested; `overrides` already applied) without the keys that have no effect.

    A key of the file is dropped if an override disables it: `--preset paper` drops `pretrain.recipe`. Raises
    ConfigError for any other key without effect.
    """
    kept = deepcopy(dict(values))
    for idle in IDLE:
        section, _, last = idle.key.rpartition(".")
        holder = value_at(kept, section)
        if not isinstance(holder, dict) or last not in holder or value_at(kept, idle.decided_by) not in idle.where:
            continue
        if is_named(idle.key, overrides) or not is_named(idle.decided_by, overrides):
            raise ConfigError(f"{as_set(idle.key)} cannot act: {idle.why}")
        del holder[last]
    return kept


def as_set(key: str) -> str:
    """A key as `--set` takes it: `methods.pmq` for the knobs of PMQ."""
    return re.sub(r"^knobs[.]", "methods.", key)


def value_at(values: Any, key: str) -> Any:
    """The value of a dotted key in nested dicts; None where there is none."""
    for part in key.split("."):
        values = values.get(part) if isinstance(values, Mapping) else None
    return values


def is_named(key: str, overrides: Mapping[str, Any]) -> bool:
    """Whether an override sets a key, a part of it, or a section containing it."""
    return any(given == key or given.startswith(f"{key}.") or key.startswith(f"{given}.") for given in overrides)
