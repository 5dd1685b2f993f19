"""Settings that messages recommend for a failed pretraining; `methods.NAME.recipe` applies under either preset."""

from __future__ import annotations

from methods.base import Recipe


def lower_rate(method: str, recipe: Recipe) -> str:
    """The setting for a tenth of the learning rate."""
    return f"--set methods.{method}.recipe.lr={recipe.lr / 10:g}"


def smaller_batch(method: str, size: int) -> str:
    """The setting for half the batch size."""
    return f"--set methods.{method}.recipe.batch_size={max(2, size // 2)}"
