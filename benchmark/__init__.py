"""How the methods are compared. Rooms from top to bottom, each importing only those below it: cli, run, embedding,
training, config, data, results, screen, machine.

For use of a result in other code there is `load_encoder`, which loads when it is asked for.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from benchmark.embedding import load_encoder

__all__ = ["load_encoder"]


def __getattr__(name: str) -> Any:
    """The public name, imported at its first use: torch loads slowly."""
    if name == "load_encoder":
        from benchmark.embedding import load_encoder

        return load_encoder
    raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
