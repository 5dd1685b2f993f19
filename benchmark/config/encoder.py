"""A section of a config for an encoder: its name or file, and its knobs."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import fields
from typing import Any

from benchmark.config.errors import built, unknown
from methods.encoders import DEFAULT, get_encoder
from methods.encoders.base import Encoder, EncoderConfig
from methods.encoders.pretrained import PretrainedEncoder

NOT_ASKED = ("leads", "dropout")
"""Fields of an encoder's config that the section may not set: the data set `leads`, each method sets `dropout`."""


def knobs_of(kind: type[Encoder]) -> list[str]:
    """Knobs of an encoder that the section may set."""
    return [knob.name for knob in fields(kind.Config) if knob.name not in NOT_ASKED]


def whole_encoder(given: Any, place: str = "encoder") -> dict[str, Any]:
    """The validated section with defaults filled in. Raises ValueError in one line that names its `place`."""
    if not isinstance(given, Mapping) or not isinstance(given.get("name", DEFAULT), str):
        raise ValueError(f"{place}: {{name: {DEFAULT}}} was expected, with knobs of that encoder, got {given!r}")
    name = given.get("name", DEFAULT)
    kind = get_encoder(name)
    if issubclass(kind, PretrainedEncoder):
        raise ValueError(f"{place}: {kind.name} brings weights of its own and is not pretrained; use --methods {name}")
    own = knobs_of(kind)
    values = {key: value for key, value in given.items() if key != "name"}
    for key in values:
        if key not in own:
            raise ValueError(unknown("config key", f"{place}.{key}", [f"{place}.{knob}" for knob in ("name", *own)]))
    knobs = built(kind.Config, values, f"{place}.").content()
    return ({} if name == DEFAULT else {"name": name}) | {knob: knobs[knob] for knob in own if knob in knobs}


def sized(section: Mapping[str, Any]) -> tuple[type[Encoder], EncoderConfig]:
    """The encoder of a section and its config, without dropout, which each method sets."""
    kind = get_encoder(section.get("name", DEFAULT))
    return kind, kind.Config(**{knob: value for knob, value in section.items() if knob != "name"})


def refuse_unfit(section: Mapping[str, Any], samples: int) -> None:
    """Raise ValueError in one line for an encoder that cannot take windows of `samples` time steps."""
    kind, sizes = sized(section)
    if why := sizes.unfit(samples):
        raise ValueError(f"encoder {kind.name} cannot take windows of {samples} samples: {why}")


def labels_of(sections: Sequence[Mapping[str, Any]]) -> list[str]:
    """The encoders' names; of those with one name, also the knobs in which they differ: 'dilated hidden 8'.

    Raises ValueError for two equal sections.
    """
    names = [get_encoder(section.get("name", DEFAULT)).name for section in sections]
    labels = []
    for name, section in zip(names, sections, strict=True):
        alike = [other for also, other in zip(names, sections, strict=True) if also == name]
        own = {knob: value for knob, value in section.items() if knob != "name"}
        told = [f"{knob} {value}" for knob, value in own.items() if any(other.get(knob) != value for other in alike)]
        labels.append(" ".join([name, *told]))
    if twice := [label for label in labels if labels.count(label) > 1]:
        raise ValueError(f"encoders: {twice[0]!r} is named twice; name it once, or give one of them other knobs")
    return labels
