"""Named arrays as the content of an .npz file, and back within bounds."""

from __future__ import annotations

import math
from collections.abc import Mapping
from io import BytesIO
from typing import Any
from zipfile import ZipFile

import numpy as np
from numpy.typing import NDArray

from benchmark.results.files.read import SHOWN, unfit_members
from benchmark.results.plain_text import harmless

MOST_ARRAYS = 100
"""Of an .npz file."""


def npz_bytes(arrays: Mapping[str, NDArray[Any]]) -> bytes:
    """The content of an .npz file of named arrays."""
    buffer = BytesIO()
    np.savez_compressed(buffer, allow_pickle=False, **arrays)
    return buffer.getvalue()


def read_arrays(content: bytes, limit: int) -> dict[str, NDArray[Any]]:
    """The arrays of an .npz file, at most `limit` bytes unpacked; none of objects. Raises ValueError in one line."""
    try:
        with ZipFile(BytesIO(content)) as archive:
            problem = unfit_members(archive.infolist(), most=MOST_ARRAYS, limit=limit)
            if problem:
                raise ValueError(problem)
            return {name.removesuffix(".npy"): array_of(archive.read(name)) for name in archive.namelist()}
    except Exception as error:  # zipfile and numpy raise any kind of error on damaged content
        raise ValueError(f"no readable .npz file: {' '.join(harmless(str(error)).split())[:SHOWN]}") from None


def array_of(content: bytes) -> NDArray[Any]:
    """The array of an .npy file whose header states as many bytes as there are; numpy would allocate any number.

    Raises ValueError for another, and for an array of objects.
    """
    file = BytesIO(content)
    version = np.lib.format.read_magic(file)
    read_header = np.lib.format.read_array_header_1_0 if version == (1, 0) else np.lib.format.read_array_header_2_0
    shape, _, dtype = read_header(file)
    if dtype.hasobject or file.tell() + math.prod(shape) * dtype.itemsize != len(content):
        raise ValueError(f"an array of {dtype} {shape} in {len(content)} bytes")
    array: NDArray[Any] = np.lib.format.read_array(BytesIO(content), allow_pickle=False)
    return array
