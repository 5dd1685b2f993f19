"""A config with other values of some keys: the config of a sweep's or a snapshot's row, or of a further encoder.

A sweep names a knob of its method or, with a dot, a key of one of the sections `SECTIONS`. The other sections decide
which data are prepared and which cells there are, and are the same for all rows.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import TYPE_CHECKING, Any

from pydantic import ValidationError

from benchmark.config.encoder import knobs_of, labels_of
from benchmark.config.errors import names_of, one_line, unknown
from benchmark.config.idle import IDLE, value_at
from benchmark.config.sections.evaluate import Finetune, Linear
from benchmark.config.sections.pretrain import Pretrain
from methods.base import PretrainMethod

if TYPE_CHECKING:
    from benchmark.config.config import Config

SECTIONS = {"pretrain": Pretrain, "finetune": Finetune, "linear": Linear}
"""And `encoder`, whose keys depend on its name."""
NOT_SWEPT = (
    "pretrain.snapshots", "pretrain.preset", "pretrain.presets", "pretrain.tuned", "pretrain.recipe",
    "pretrain.streaming",
)  # fmt: skip
"""Rows of their own, what the knobs `recipe.*` are for, and what moves no number."""
ROWS: dict[str, Any] = {"ablate": [], "sweeps": {}}
"""Left out of a changed config while it is checked, since they are checked with the config that they are of."""


def swept_keys(config: Config) -> list[str]:
    """The config keys that a sweep may name, dotted."""
    own = [f"{section}.{name}" for section, kind in SECTIONS.items() for name in names_of(kind)]
    return [
        *(key for key in own if key not in NOT_SWEPT),
        *(f"encoder.{knob}" for knob in ("name", *knobs_of(config.encoder_class()))),
    ]


def is_knob(method: type[PretrainMethod], name: str) -> bool:
    """Whether a sweep's name is a knob of the method; else it is a config key."""
    return name.partition(".")[0] in names_of(method.Config)


def refuse_unswept(config: Config, method: type[PretrainMethod], name: str) -> None:
    """Raise ValueError in one line for a sweep's name that is neither, or that has no effect under the config."""
    place = f"sweeps.{method.name}."
    if not is_knob(method, name) and name not in (keys := swept_keys(config)):
        raise ValueError(
            unknown("config key", f"{place}{name}", [place + own for own in (*names_of(method.Config), *keys)])
        )
    if not method.trains and (is_knob(method, name) or name.startswith("pretrain.")):
        raise ValueError(f"{place}{name} cannot act: this method trains nothing; leave it out")
    for idle in IDLE:
        if idle.key == name and value_at(config.model_dump(), idle.decided_by) in idle.where:
            raise ValueError(f"{place}{name} cannot act: {idle.why}")


def with_settings(config: Config, settings: Mapping[str, Any]) -> Config:
    """The config with the values of dotted keys of `SECTIONS` or `encoder`, or `encoder` as a whole, replaced.

    It has no further encoders, since a row has one. Raises ValueError in one line.
    """
    if not settings:
        return config
    values = config.model_dump() | ROWS | {"encoders": []}
    for key, value in settings.items():
        section, _, name = key.partition(".")
        if not name:
            values[section] = value
            continue
        renamed = key == "encoder.name" and value != config.encoder_class().name
        values[section] = ({} if renamed else values[section]) | {name: value}
    try:
        changed = type(config).model_validate(values)
    except ValidationError as error:
        raise ValueError(one_line(error, "", type(config))) from None
    return changed.model_copy(update={name: getattr(config, name) for name in (*ROWS, "engine")})


def by_encoder(config: Config) -> dict[str, Config]:
    """Label of each encoder -> the config with it alone, the first as it is; '' -> the config where there is one."""
    if not config.encoders:
        return {"": config}
    first, *further = labels_of([config.encoder, *config.encoders])
    changed = (with_settings(config, {"encoder": section}) for section in config.encoders)
    return {first: config, **dict(zip(further, changed, strict=True))}
