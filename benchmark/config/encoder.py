"""The section `encoder` of a config: an encoder's name or file, and its knobs."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import fields
from typing import Any

from benchmark.config.errors import built, unknown
from methods.encoders import DEFAULT, get_encoder
from methods.encoders.base import Encoder

NOT_ASKED = ("leads", "dropout")
"""Fields of an encoder's config that the section may not set: the data set `leads`, each method sets `dropout`."""


def knobs_of(kind: type[Encoder]) -> list[str]:
    """Knobs of an encoder that the section may set."""
    return [knob.name for knob in fields(kind.Config) if knob.name not in NOT_ASKED]


def whole_encoder(given: Any) -> dict[str, Any]:
    """The validated section with defaults filled in. Raises ValueError in one line."""
    if not isinstance(given, Mapping) or not isinstance(given.get("name", DEFAULT), str):
        raise ValueError(f"encoder: {{name: {DEFAULT}}} was expected, with knobs of that encoder, got {given!r}")
    name = given.get("name", DEFAULT)
    kind = get_encoder(name)
    own = knobs_of(kind)
    values = {key: value for key, value in given.items() if key != "name"}
    for key in values:
        if key not in own:
            raise ValueError(unknown("config key", f"encoder.{key}", [f"encoder.{knob}" for knob in ("name", *own)]))
    knobs = built(kind.Config, values, "encoder.").content()
    return ({} if name == DEFAULT else {"name": name}) | {knob: knobs[knob] for knob in own if knob in knobs}
