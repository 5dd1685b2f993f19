"""YAML as plain values, read strictly: no aliases, no tags, and numbers and truths as they look.

Apart from `load`, since what reads a YAML file that is no config needs no method and no torch.
"""

from __future__ import annotations

import re
from pathlib import Path
from typing import Any

import yaml

from benchmark.config.errors import ConfigError
from benchmark.results.files.read import DEEPEST, MEBIBYTE, bounded, read_regular

LARGEST_YAML = MEBIBYTE
"""Bytes."""


class _Loader(yaml.SafeLoader):
    """YAML in which 1e-3 is a float, 1e4 an int, `on` and `010` text; without aliases, which can unfold without end."""

    def compose_node(self, parent: yaml.Node | None, index: Any) -> yaml.Node | None:
        """A node that is no alias."""
        if self.check_event(yaml.AliasEvent):
            event = self.peek_event()  # type: ignore[no-untyped-call]
            raise yaml.composer.ComposerError(
                None, None, f"the alias *{event.anchor} is not read: write the value out", event.start_mark
            )
        return super().compose_node(parent, index)

    def construct_number(self, node: yaml.ScalarNode) -> int | float:
        """A number with a point or an exponent; an int if its value is whole and it has no point."""
        value = float(node.value)
        return int(value) if value.is_integer() and "." not in node.value else value


_Loader.yaml_implicit_resolvers = {
    first: [(tag, pattern) for tag, pattern in resolvers if tag == "tag:yaml.org,2002:null"]
    for first, resolvers in yaml.SafeLoader.yaml_implicit_resolvers.items()
}
_Loader.add_implicit_resolver("tag:yaml.org,2002:bool", re.compile(r"^(?:true|false)$"), list("tf"))
_Loader.add_implicit_resolver("tag:yaml.org,2002:int", re.compile(r"^[-+]?(?:0|[1-9][0-9]*)$"), list("-+0123456789"))
_Loader.add_implicit_resolver(
    "tag:yaml.org,2002:float",
    re.compile(r"^[-+]?(?:[0-9]+\.[0-9]*|\.[0-9]+|[0-9]+(?=[eE]))(?:[eE][-+]?[0-9]+)?$"),
    list("-+.0123456789"),
)
_Loader.add_constructor("tag:yaml.org,2002:float", _Loader.construct_number)


def parsed(text: str) -> Any:
    """The value of a YAML text. Raises ValueError in one line."""
    try:
        return bounded(yaml.load(text, Loader=_Loader))
    except RecursionError:
        raise ValueError(f"nested deeper than {DEEPEST} levels") from None
    except Exception as error:  # explicit tags raise any kind of error
        raise ValueError(" ".join(str(error).split())) from None


def values_of(path: Path) -> Any:
    """What a YAML file that is no config holds; the caller validates it. Raises ConfigError in one line."""
    try:
        return parsed(read_regular(path, LARGEST_YAML).decode())
    except OSError as error:
        raise ConfigError(f"{path} cannot be read: {error.strerror}") from None
    except ValueError as error:
        raise ConfigError(f"{path} is not YAML: {error}") from None
