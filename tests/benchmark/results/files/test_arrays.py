"""Named arrays in an .npz file: those written come back; a header that states more than there is allocates nothing."""

from __future__ import annotations

from io import BytesIO
from zipfile import ZipFile

import numpy as np
import pytest

from benchmark.results.files.arrays import npz_bytes, read_arrays

LIMIT = 1 << 20


def packed(**members: bytes) -> bytes:
    """A zip of members as they are, as NAME.npy."""
    buffer = BytesIO()
    with ZipFile(buffer, "w") as archive:
        for name, content in members.items():
            archive.writestr(f"{name}.npy", content)
    return buffer.getvalue()


def plain(array: np.ndarray, version: tuple[int, int] = (1, 0)) -> bytes:
    """The .npy file of an array in a version of the format."""
    buffer = BytesIO()
    np.lib.format.write_array(buffer, array, version=version)
    return buffer.getvalue()


def test_arrays_come_back_with_their_names_types_and_shapes() -> None:
    written = {"a": np.arange(6, dtype=np.float32).reshape(2, 3), "names": np.array(["é", "b"]), "n": np.array(3)}
    found = read_arrays(npz_bytes(written), LIMIT)
    assert list(found) == list(written)
    for name, array in written.items():
        np.testing.assert_array_equal(found[name], array, strict=True)


@pytest.mark.parametrize("version", [(1, 0), (2, 0)])
def test_both_versions_of_the_format_are_read(version: tuple[int, int]) -> None:
    array = np.arange(3)
    np.testing.assert_array_equal(read_arrays(packed(a=plain(array, version)), LIMIT)["a"], array)


@pytest.mark.parametrize(
    ("content", "problem"),
    [
        (packed(a=plain(np.zeros(3)).replace(b"(3,)", b"(9,)")), r"an array of float64 \(9,\) in \d+ bytes"),
        (packed(a=plain(np.zeros(3))[:-1]), "an array of float64"),
        (packed(a=plain(np.zeros(3)) + b"more"), "an array of float64"),
        (packed(a=b"no array"), "magic string"),
        (packed(a=plain(np.zeros(2 * LIMIT // 8))), "more than 1 MiB"),
        (packed(**{f"a{number}": b"" for number in range(101)}), "it has 101 members, more than 100"),
        (b"PK", "not a zip file"),
    ],
)
def test_what_is_no_file_of_arrays_is_refused_in_one_line(content: bytes, problem: str) -> None:
    with pytest.raises(ValueError, match=f"^no readable .npz file: .*{problem}") as caught:
        read_arrays(content, LIMIT)
    assert "\n" not in str(caught.value)


def test_a_hundred_arrays_are_read() -> None:
    assert len(read_arrays(npz_bytes({f"a{number}": np.zeros(1) for number in range(100)}), LIMIT)) == 100


def test_objects_are_never_unpacked() -> None:
    buffer = BytesIO()
    np.savez(buffer, a=np.array([{}, None], dtype=object))
    with pytest.raises(ValueError, match=r"an array of object"):
        read_arrays(buffer.getvalue(), LIMIT)
    with pytest.raises(ValueError, match="Object arrays cannot be saved"):
        npz_bytes({"a": np.array([{}, None], dtype=object)})
