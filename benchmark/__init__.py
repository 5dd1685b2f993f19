"""How the methods are compared. Rooms from top to bottom, each importing only those below it: cli, run, embedding,
training, config, data, results, screen, machine.

For use of a result in other code there are `load_encoder` and `EcgEmbedder`; they load when they are asked for.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from benchmark.embedding import EcgEmbedder, load_encoder

__all__ = ["EcgEmbedder", "load_encoder"]


def __getattr__(name: str) -> Any:
    """The public names, imported at their first use: torch and scikit-learn load slowly."""
    if name == "load_encoder":
        from benchmark.embedding import load_encoder

        return load_encoder
    if name == "EcgEmbedder":
        from benchmark.embedding import EcgEmbedder

        return EcgEmbedder
    raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
