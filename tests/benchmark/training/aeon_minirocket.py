"""aeon's MiniRocket on a few windows: parameters and features. Needs aeon (1.6.0 wrote the stored numbers), no torch.

`python tests/benchmark/training/aeon_minirocket.py` writes minirocket.npz beside this file.
"""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np

FILE = Path(__file__).with_name("minirocket.npz")


def windows(count: int, samples: int, leads: int, seed: int) -> Any:
    """Random walks (n, S, L) in float16."""
    steps = np.random.default_rng(seed).normal(0, 0.2, size=(count, samples, leads))
    return steps.cumsum(axis=1).astype(np.float16)


def of_aeon(x: Any, kernels: int, seed: int) -> dict[str, Any]:
    """What aeon draws for windows (n, S, L), the windows that its biases are quantiles of, and its features (n, F)."""
    from aeon.transformations.collection.convolution_based import MiniRocket
    from numba import njit

    @njit
    def drawn(count: int, size: int, seed: int) -> Any:
        np.random.seed(seed)  # noqa: NPY002  numba has a generator of its own, which aeon draws from
        return [np.random.randint(count) for _ in range(size)]  # noqa: NPY002

    transform = MiniRocket(kernels, random_state=seed)
    features = transform.fit_transform(x.transpose(0, 2, 1))
    read, leads, dilations, features_per_dilation, biases = transform.parameters
    return {
        "x": x,
        "kernels": kernels,
        "read": read,
        "leads": leads,
        "dilations": dilations,
        "features_per_dilation": features_per_dilation,
        "biases": biases,
        "examples": np.array(drawn(len(x), len(read), seed)),
        "features": features,
    }


if __name__ == "__main__":
    np.savez_compressed(FILE, **of_aeon(windows(4, 60, 12, seed=0), 420, seed=1))
