"""Rows of the tables: compared methods, ablations, sweeps, snapshots, presets and gates."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, field
from typing import Any

from benchmark.config.change import with_settings
from benchmark.config.config import Config
from benchmark.results.names import (
    ABLATION,
    FEATURES,
    FROZEN,
    GATE,
    METHOD,
    PRESET,
    SNAPSHOT,
    SUPERVISED,
    SWEEP,
    UNTRAINED,
    Role,
)
from methods import get_method
from methods.base import MethodConfig, PretrainMethod

EPOCHS = "pretrain.epochs"
"""The config key that a snapshot sets."""
PRESET_KEY = "pretrain.preset"
OF_PRESET: dict[str, dict[str, Any]] = {
    "paper": {PRESET_KEY: "paper", "pretrain.presets": [], "pretrain.tuned": {}},
    "tuned": {},
}
"""Further preset -> the config keys that its rows set."""


@dataclass(frozen=True)
class Variant:
    """One row of a table: a method with its config, or a gate."""

    name: str
    title: str
    method: type[PretrainMethod] | None
    """None: nothing is pretrained."""
    config: MethodConfig
    role: Role = METHOD
    of: str = ""
    """Base method of an ablation, sweep, snapshot, preset or trial."""
    knob: str = ""
    value: Any = None
    """`knob` and `value`: what a sweep, a snapshot or a preset sets."""
    settings: dict[str, Any] = field(default_factory=dict, hash=False)
    """Config keys that the row changes, dotted: the row's config is `with_settings(config, settings)`."""

    def facts(self) -> dict[str, Any]:
        """Facts for reports besides the title."""
        reads = self.method is not None and self.method.needs_text
        return {"role": self.role, "of": self.of, "knob": self.knob, "value": self.value, "reads_reports": reads}

    @property
    def method_name(self) -> str:
        """Name of the method; the variant's name if nothing is pretrained."""
        return self.name if self.method is None else self.method.name

    def __reduce__(self) -> tuple[Any, ...]:
        """Pickle the method by name or file: only `get_method` can import a class from a method file."""
        method = None if self.method is None else source_of(self.method)
        return _unpickled, (vars(self) | {"method": method, "config": vars(self.config)},)


def source_of(method: type[PretrainMethod]) -> str:
    """Argument of `get_method` for a method: path of its file (the name of its module), else its name."""
    return method.__module__ if method.__module__.endswith(".py") else method.name


def _unpickled(stored: dict[str, Any]) -> Variant:
    method = stored["method"] and get_method(stored["method"])
    config = method.Config if method else MethodConfig
    return Variant(**stored | {"method": method, "config": config(**stored["config"])})


def variants_of(config: Config) -> tuple[Variant, ...]:
    """Rows of the tables: methods, gates, ablations, sweeps, snapshots, presets, each in the config's order."""
    rows = (methods_of, gates_of, ablations_of, sweeps_of, snapshots_of, presets_of)
    return tuple(variant for kind in rows for variant in kind(config))


def methods_of(config: Config) -> Iterator[Variant]:
    """The compared methods."""
    for name in config.methods:
        kind = config.method_class(name)
        yield Variant(kind.name, kind.title, kind, config.method_config(name))


def gates_of(config: Config) -> Iterator[Variant]:
    """The gates that are rows; `full-labels` is a further ratio of existing rows (`planned`)."""
    untrained, knobs = get_method(UNTRAINED), config.method_config(UNTRAINED)
    if "random" in config.gates and UNTRAINED not in config.compared():
        yield Variant(UNTRAINED, untrained.title, untrained, knobs, GATE)
    if "frozen" in config.gates:
        yield Variant(FROZEN, f"{untrained.title}, frozen", untrained, knobs, GATE, of=UNTRAINED)
    if "features" in config.gates:
        yield Variant(FEATURES, "Beat features, boosted", None, MethodConfig(), GATE)
    if "supervised" in config.gates:
        yield Variant(SUPERVISED, "Supervised, from scratch", untrained, knobs, GATE, of=UNTRAINED)


def ablations_of(config: Config) -> Iterator[Variant]:
    """The ablations that `ablate` selects."""
    asked = dict.fromkeys(found for name in config.ablate for found in config.ablations_of(name))
    for method, name in asked:
        kind = config.method_class(method)
        knobs = config.method_config(method, config.ablations[method][name])
        yield Variant(f"{method}:{name}", f"{kind.title} {name}", kind, knobs, ABLATION, of=method)


def sweeps_of(config: Config) -> Iterator[Variant]:
    """One variant per value of a knob or config key."""
    for method, knobs in config.sweeps.items():
        kind = config.method_class(method)
        for knob, values in knobs.items():
            for value in values:
                name, title = f"{kind.name}:{knob}={value}", f"{kind.title} {knob} {value}"
                settings, knobs_set = config.swept(method, knob, value)
                yield Variant(name, title, kind, knobs_set, SWEEP, kind.name, knob, value, settings)


def snapshots_of(config: Config) -> Iterator[Variant]:
    """One variant per compared method that trains and number of epochs in `pretrain.snapshots`."""
    budget = config.pretrain.budget
    equal = "" if budget == "epochs" else f" (equal {budget})"
    for name in config.compared():
        kind = config.method_class(name)
        for epochs in config.pretrain.snapshots if kind.trains else ():
            settings, knobs = config.swept(name, EPOCHS, epochs)
            title = f"{kind.title}, {epochs:g} epoch{'' if epochs == 1 else 's'}{equal}"
            yield Variant(f"{name}@{epochs:g}", title, kind, knobs, SNAPSHOT, name, EPOCHS, epochs, settings)


def presets_of(config: Config) -> Iterator[Variant]:
    """One variant per compared method that trains and further preset, `tuned` with the knobs in `pretrain.tuned`."""
    for name in config.compared():
        kind = config.method_class(name)
        for preset in config.pretrain.presets if kind.trains else ():
            row, title, settings = f"{name}@{preset}", f"{kind.title} ({preset})", OF_PRESET[preset]
            chosen = config.pretrain.tuned.get(name, {}) if preset == "tuned" else {}
            knobs = with_settings(config, settings).method_config(name, chosen)
            yield Variant(row, title, kind, knobs, PRESET, name, PRESET_KEY, preset, settings)
