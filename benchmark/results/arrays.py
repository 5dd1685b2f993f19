"""The types of arrays, by what they hold: numbers of one precision, truths, texts, positions in another array."""

from __future__ import annotations

from typing import Any, TypeAlias

import numpy as np
from numpy.typing import NDArray

Floats: TypeAlias = NDArray[np.float32]
Doubles: TypeAlias = NDArray[np.float64]
Halves: TypeAlias = NDArray[np.float16]
AnyFloats: TypeAlias = NDArray[np.floating[Any]]
Ints: TypeAlias = NDArray[np.int64]
Positions: TypeAlias = NDArray[np.intp]
Bools: TypeAlias = NDArray[np.bool_]
Texts: TypeAlias = NDArray[np.str_]
