"""The rows of the tables: methods, baselines, ablations and sweeps, each on every encoder of the config."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from dataclasses import dataclass, field, replace
from typing import Any

from benchmark.config.config import Config, by_encoder
from benchmark.config.errors import ConfigError
from benchmark.config.schema import Recordings
from benchmark.data.segments import TYPICAL_SECONDS
from benchmark.results.names import (
    AUGMENTED,
    CLASSICAL_TITLES,
    FROZEN,
    SUPERVISED,
    UNTRAINED,
    Role,
    name_on,
)
from methods import get_method
from methods.base import External, MethodConfig, PretrainMethod
from methods.encoders.pretrained import PretrainedEncoder
from methods.twins import TWIN


@dataclass(frozen=True)
class Variant:
    """One row of a table: a method with its config, or a baseline."""

    name: str
    title: str
    method: type[PretrainMethod] | None  # None: nothing is pretrained
    config: MethodConfig
    role: Role = "method"
    base: str = ""  # row that an ablation, a sweep, a candidate or a baseline is a change of
    hyperparameter: str = ""
    value: Any = None  # `hyperparameter` and `value`: what a sweep sets
    settings: dict[str, Any] = field(default_factory=dict, hash=False)  # dotted config keys that the row changes
    encoder: str = ""  # label of its encoder where there are several

    def facts(self) -> dict[str, Any]:
        """Collect facts for reports besides the title."""
        facts = {name: getattr(self, name) for name in ("role", "hyperparameter", "value")}
        facts |= {"of": self.base, "reads_reports": self.method is not None and self.method.needs_text}
        return facts | ({"encoder": self.encoder} if self.encoder else {})

    @property
    def method_name(self) -> str:
        """Name of the method; the variant's name if nothing is pretrained."""
        return self.name if self.method is None else self.method.name

    @property
    def external(self) -> type[PretrainedEncoder] | None:
        """Encoder of a row whose weights come from elsewhere; None for any other row."""
        return self.method.encoder_class if self.method and issubclass(self.method, External) else None

    def __reduce__(self) -> tuple[Any, ...]:
        """Pickle the method by name or file: only `get_method` can import a class from a file."""
        stored = vars(self) | {"config": vars(self.config), "method": self.method and source_of(self.method)}
        return unpickled, (stored,)


def source_of(method: type[PretrainMethod]) -> str:
    """Return the argument of `get_method` for a method: the path of its file, else its name."""
    if not method.__module__.endswith(".py"):
        return method.name
    is_twin = issubclass(method, External) and method.encoder_class.is_twin
    return f"{TWIN if is_twin else ''}{method.__module__}"


def unpickled(stored: dict[str, Any]) -> Variant:
    """Return the row of its stored fields."""
    method = stored["method"] and get_method(stored["method"])
    config = method.Config if method else MethodConfig
    return Variant(**stored | {"method": method, "config": config(**stored["config"])})


def variants_of(config: Config) -> tuple[Variant, ...]:
    """List the rows of the tables: methods, baselines, ablations and sweeps, each in the config's order.

    With several encoders, all rows are listed on one encoder after the other; a row without one of these encoders is
    listed once. Rows on the first encoder keep their names.
    """
    rows: list[Variant] = []
    for label, changed in by_encoder(config).items():
        is_first = changed is config
        for row in (*methods_of(changed), *baselines_of(changed), *ablations_of(changed), *sweeps_of(changed)):
            is_on_encoder = row.method is not None and row.external is None
            if is_on_encoder and label:
                row = replace(row, title=f"{row.title} on {label}", encoder=label)
            if is_on_encoder and not is_first:
                base = row.base and name_on(row.base, label)
                settings = {"encoder": changed.encoder} | row.settings
                row = replace(row, name=name_on(row.name, label), base=base, settings=settings)
            if is_on_encoder or is_first:
                rows.append(row)
    return tuple(rows)


def methods_of(config: Config) -> Iterator[Variant]:
    """Yield the compared methods."""
    for method_class in map(config.method_class, config.methods):
        yield Variant(method_class.name, method_class.title, method_class, config.method_config(method_class.name))


def baselines_of(config: Config) -> Iterator[Variant]:
    """Yield the baselines that are rows; `full-labels` is a further ratio of existing rows (`planned`)."""
    untrained = get_method(UNTRAINED)
    method_config = config.method_config(UNTRAINED)
    if "random" in config.baselines and UNTRAINED not in config.compared():
        yield Variant(UNTRAINED, untrained.title, untrained, method_config, "baseline")
    if "frozen" in config.baselines:
        yield Variant(FROZEN, f"{untrained.title}, frozen", untrained, method_config, "baseline", base=UNTRAINED)
    for name, title in CLASSICAL_TITLES.items():
        if name in config.baselines:
            yield Variant(name, title, None, MethodConfig(), "baseline")
    if "twin" in config.baselines:
        for row in methods_of(config):
            twin = twin_of_row(row)
            if isinstance(twin, Variant):
                yield twin
    masked = {"supervised.masks": 1.0}
    for name, title, settings in ((SUPERVISED, "from scratch", {}), (AUGMENTED, "augmented", masked)):
        if name in config.baselines:
            title = f"Supervised, {title}"
            yield Variant(name, title, untrained, method_config, "baseline", base=UNTRAINED, settings=settings)


def twin_of_row(row: Variant) -> Variant | str:
    """Return the row of an external encoder's untrained twin, or why there is none; '' for any other row."""
    if row.method is None or row.external is None:
        return ""
    source = source_of(row.method)
    try:
        twin = get_method(TWIN + source)
    except ValueError as reason:
        return str(reason)
    return replace(row, name=twin.name, title=twin.title, method=twin, role="baseline", base=row.name)


def missing_twins(config: Config) -> Iterator[str]:
    """Say of each external encoder without an untrained twin why it has none."""
    for row in methods_of(config) if "twin" in config.baselines else ():
        reason = twin_of_row(row)
        if isinstance(reason, str) and reason:
            yield f"{row.name} has no untrained twin beside it: {reason}"


def ablations_of(config: Config) -> Iterator[Variant]:
    """Yield the ablations that `ablate` selects."""
    for method, name in dict.fromkeys(pair for entry in config.ablate for pair in config.ablations_of(entry)):
        method_class = config.method_class(method)
        changed = config.method_config(method, config.ablations[method][name])
        yield Variant(
            f"{method}:{name}", f"{method_class.title} {name}", method_class, changed, "ablation", base=method
        )


def sweeps_of(config: Config) -> Iterator[Variant]:
    """Yield a row per value of a hyperparameter or config key."""
    for method, swept in config.sweeps.items():
        method_class = config.method_class(method)
        for hyperparameter, values in swept.items():
            for value in values:
                base = method_class.name
                name, title = f"{base}:{hyperparameter}={value}", f"{method_class.title} {hyperparameter} {value}"
                settings, changed = config.swept(method, hyperparameter, value)
                yield Variant(name, title, method_class, changed, "sweep", base, hyperparameter, value, settings)


def refuse_lone_windows(config: Config, variants: Iterable[Variant]) -> None:
    """Raise ConfigError for a row that pairs neighbouring windows where a recording of 10 s holds one."""
    windows = config.data.segmentation
    if not isinstance(windows, Recordings) or windows.crops_of_typical() > 1:
        return
    for row in variants:
        if row.method is not None and row.method.trains and row.config.pairing == "neighbor":
            raise ConfigError(
                f"{row.name} pairs neighbouring windows (pairing: neighbor), and a recording of {TYPICAL_SECONDS} s "
                f"holds one of data.segmentation.seconds={windows.seconds:g}: set that to 5 or less, "
                f"methods.{row.method_name}.pairing=same, or compare other methods"
            )
