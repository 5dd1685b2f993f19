"""Pictures read back from beside the weights; the words for keys are those of who wrote them."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

import numpy as np
import pytest

from benchmark.results.keys import digest
from benchmark.results.names import ILLUSTRATION
from benchmark.training import illustrate as written
from reports.figures.illustrations import illustrations_of
from reports.runs.run import open_run


def test_pictures_of_rows_are_read_in_their_order(write_store: Callable[..., Path]) -> None:
    root = write_store(complete=True)
    masked = {"masked": np.ones((2, 5, 3), np.float16), "masked_names": np.array(["none", "all"])}
    similarity = {
        "cosine": np.zeros((1, 2), np.float32), "kind": np.zeros((1, 2), np.uint8), "query_patient": np.array([7]),
        "key_patient": np.array([7, 8]), "key_queued": np.array([False, True]), "spread": np.zeros((4, 50), np.int64),
    }  # fmt: skip
    written.write_illustration(root / "pretrained" / digest("moco"), masked)
    written.write_illustration(root / "pretrained" / digest("pmq"), masked | similarity)
    found = illustrations_of(open_run(root), ["random", "moco", "pmq"])
    assert [own.variant for own in found.masked] == ["moco", "pmq"]
    assert found.masked[0].names == ("none", "all")
    assert found.masked[0].values.shape == (2, 5, 3)
    (own,) = found.similarities
    assert (own.variant, own.query_patient.tolist(), own.key_queued.tolist()) == ("pmq", [7], [False, True])


@pytest.mark.parametrize("content", [b"", b"PK\x03\x04 cut off", b"text"])
def test_damaged_pictures_are_left_out(write_store: Callable[..., Path], content: bytes) -> None:
    root = write_store(complete=True)
    folder = root / "pretrained" / digest("pmq")
    folder.mkdir(parents=True)
    (folder / ILLUSTRATION).write_bytes(content)
    found = illustrations_of(open_run(root), ["pmq"])
    assert found.masked == found.similarities == ()
