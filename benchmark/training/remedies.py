"""What to set where a pretraining goes wrong: a method's own recipe, which acts under either preset."""

from __future__ import annotations

from methods.base import Recipe


def lower_rate(method: str, recipe: Recipe) -> str:
    """The setting that trains a method at a tenth of its learning rate."""
    return f"--set methods.{method}.recipe.lr={recipe.lr / 10:g}"


def smaller_batch(method: str, size: int) -> str:
    """The setting that trains a method in batches of half the size."""
    return f"--set methods.{method}.recipe.batch_size={max(2, size // 2)}"
