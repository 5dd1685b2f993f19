"""Settings that messages recommend for a failed pretraining; `methods.NAME.recipe` applies under either preset."""

from __future__ import annotations

from methods.base import Recipe


def lower_rate(method: str, recipe: Recipe) -> str:
    """The setting for a tenth of the learning rate."""
    return f"--set methods.{method}.recipe.lr={recipe.lr / 10:g}"


def smaller_batch(method: str, size: int) -> str:
    """The setting for half the batch size."""
    return f"--set methods.{method}.recipe.batch_size={max(2, size // 2)}"


def uneven_batch(method: str, size: int, ranks: int) -> str:
    """Why so many ranks cannot share a batch of `size` pairs evenly, and what can be done; '' where they can."""
    if size % ranks == 0:
        return ""
    fewer = next(count for count in range(ranks - 1, 0, -1) if size % count == 0)
    return (
        f"{method}: {ranks} ranks cannot share a batch of {size} pairs evenly; start {fewer} (--nproc-per-node), "
        f"or use --set methods.{method}.recipe.batch_size={max(ranks, size - size % ranks)}"
    )
