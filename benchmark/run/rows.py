"""Rows of the tables: compared methods, ablations, sweeps and gates."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from dataclasses import dataclass, field, replace
from itertools import chain
from typing import Any

from benchmark.config.config import Config, by_encoder
from benchmark.config.errors import ConfigError
from benchmark.config.schema import Recordings
from benchmark.data.segments import TYPICAL_SECONDS
from benchmark.results.names import (
    ABLATION,
    CLASSICAL_TITLES,
    FROZEN,
    GATE,
    METHOD,
    SUPERVISED,
    SWEEP,
    UNTRAINED,
    Role,
    name_on,
    name_on_any,
)
from methods import get_method
from methods.base import MethodConfig, PretrainMethod


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
    """Base method of an ablation, sweep or trial."""
    knob: str = ""
    value: Any = None
    """`knob` and `value`: what a sweep sets."""
    settings: dict[str, Any] = field(default_factory=dict, hash=False)
    """Config keys that the row changes, dotted: the row's config is `with_settings(config, settings)`."""
    encoder: str = ""
    """Label of its encoder where there are several."""

    def facts(self) -> dict[str, Any]:
        """Facts for reports besides the title."""
        reads = self.method is not None and self.method.needs_text
        facts = {"role": self.role, "of": self.of, "knob": self.knob, "value": self.value, "reads_reports": reads}
        return facts | ({"encoder": self.encoder} if self.encoder else {})

    @property
    def shares_encoder(self) -> bool:
        """Whether it is made with each encoder that is compared: it has one, and not one of its own."""
        return self.method is not None and self.method.external_encoder is None

    @property
    def on_any(self) -> str:
        """The name that it has on the first encoder, and on a single one."""
        return name_on_any(self.name, self.encoder)

    @property
    def method_name(self) -> str:
        """Name of the method; the variant's name if nothing is pretrained."""
        return self.name if self.method is None else self.method.name

    def __reduce__(self) -> tuple[Any, ...]:
        """Pickle the method by name or file: only `get_method` can import a class from a file."""
        method = None if self.method is None else source_of(self.method)
        return _unpickled, (vars(self) | {"method": method, "config": vars(self.config)},)


def source_of(method: type[PretrainMethod]) -> str:
    """Argument of `get_method` for a method: path of its file, else its name."""
    if method.external_encoder is not None:
        return method.external_encoder.word()
    return method.__module__ if method.__module__.endswith(".py") else method.name


def _unpickled(stored: dict[str, Any]) -> Variant:
    method = stored["method"] and get_method(stored["method"])
    config = method.Config if method else MethodConfig
    return Variant(**stored | {"method": method, "config": config(**stored["config"])})


def variants_of(config: Config) -> tuple[Variant, ...]:
    """Rows of the tables: methods, gates, ablations, sweeps, each in the config's order.

    Where there are several encoders, all of these on one after the other; what has no encoder is a row once.
    """
    kinds = (methods_of, gates_of, ablations_of, sweeps_of)
    rows: list[Variant] = []
    for label, changed in by_encoder(config).items():
        of_encoder = [variant for kind in kinds for variant in kind(changed)]
        settings = {} if changed is config else {"encoder": changed.encoder}
        rows += [on_encoder(row, label, settings) for row in of_encoder if row.shares_encoder or changed is config]
    return tuple(rows)


def on_encoder(row: Variant, label: str, settings: dict[str, Any]) -> Variant:
    """A row on one of several encoders; `settings`: none on the first, which keeps the row's name."""
    if not label or not row.shares_encoder:
        return row
    name, of = (named and name_on(named, label if settings else "") for named in (row.name, row.of))
    title, whole = f"{row.title} on {label}", settings | row.settings
    return replace(row, name=name, title=title, of=of, settings=whole, encoder=label)


def refuse_lone_windows(config: Config, variants: Iterable[Variant]) -> None:
    """Raise ConfigError for a row that pairs neighbouring windows where a recording of 10 s holds one."""
    how = config.data.segmentation
    if not isinstance(how, Recordings) or how.crops_of_typical() > 1:
        return
    for row in variants:
        if row.method is not None and row.method.trains and row.config.pairing == "neighbor":
            raise ConfigError(
                f"{row.name} pairs neighbouring windows (pairing: neighbor), and a recording of {TYPICAL_SECONDS} s "
                f"holds one of data.segmentation.seconds={how.seconds:g}: set that to 5 or less, "
                f"methods.{row.method_name}.pairing=same, or compare other methods"
            )


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
    for name, title in CLASSICAL_TITLES.items():
        if name in config.gates:
            yield Variant(name, title, None, MethodConfig(), GATE)
    if "supervised" in config.gates:
        yield Variant(SUPERVISED, "Supervised, from scratch", untrained, knobs, GATE, of=UNTRAINED)


def ablations_of(config: Config) -> Iterator[Variant]:
    """The ablations that `ablate` selects."""
    for method, name in dict.fromkeys(chain.from_iterable(map(config.ablations_of, config.ablate))):
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
