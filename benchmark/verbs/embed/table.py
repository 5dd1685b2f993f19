"""The table of embeddings as a file: Parquet, or NumPy with a CSV that says whose each row is."""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from benchmark.config.errors import ConfigError
from benchmark.results.files.write import replacing, write_atomic
from benchmark.results.plain_text import csv_text

FORMS = (".parquet", ".npy")
LONGEST_HEAD = 1000
"""Characters read of the first line of a file that may be another's."""
LACKING = "needs pyarrow: pip install 'ecg-pretrain-bench[embed]', or name a .npy file"


OF_A_WINDOW, OF_A_RECORDING = ("window",), ("windows", "reason")
"""Last columns of the rows beside a .npy: a row per window, per recording."""


def files_of(out: Path) -> tuple[Path, ...]:
    """The files of a table: itself, and beside a .npy the rows."""
    return (out,) if out.suffix == ".parquet" else (out, out.with_suffix(".csv"))


def check_out(out: Path) -> None:
    """Raise ConfigError, in one line, for a file that could not be written at the end of the work, or is another's.

    A table that `embed` wrote is replaced; no other file is, as it may be the input or its labels.
    """
    if out.suffix not in FORMS:
        raise ConfigError(f"--out {out}: {out.suffix or 'no suffix'} is no form of a table; use {' or '.join(FORMS)}")
    if out.suffix == ".parquet":
        try:
            import pyarrow  # noqa: F401
        except ImportError:
            raise ConfigError(f"--out {out} {LACKING}") from None
    there = [file for file in files_of(out) if file.exists()]
    if there and not _is_ours(out):
        raise ConfigError(f"--out {out}: {there[-1]} is there and no table that `embed` wrote: name another file")


def _is_ours(out: Path) -> bool:
    """Whether what is there of a table's files was written by `embed`, as far as they say it."""
    if out.suffix == ".parquet":
        import pyarrow.parquet as pq

        try:
            return b"embeddings" in (pq.read_schema(out).metadata or {})
        except (OSError, ValueError):
            return False
    try:
        with open(files_of(out)[1], encoding="utf-8", newline="") as file:
            columns = tuple(file.readline(LONGEST_HEAD).rstrip("\r\n").split(","))
        array = np.load(out, mmap_mode="r", allow_pickle=False) if out.exists() else None
    except (OSError, ValueError, EOFError):
        return False
    is_table = columns[:1] == ("recording",) and any(
        columns[-len(last) :] == last for last in (OF_A_WINDOW, OF_A_RECORDING)
    )
    return is_table and (array is None or (array.ndim == 2 and array.dtype == np.float32))


def write_table(
    out: Path,
    whose: Mapping[str, Sequence[Any]],
    embeddings: NDArray[np.float32],
    names: Sequence[str],
    about: Mapping[str, Any],
) -> list[Path]:
    """Write the table; returns its files.

    whose: column -> value of each row. embeddings: (n, K), NaN where a row has none. names: (K,). about: what made it,
    into the metadata of a Parquet file.
    """
    if out.suffix == ".parquet":
        _write_parquet(out, whose, embeddings, names, about)
        return [out]
    with replacing(out) as file:
        np.save(file, embeddings, allow_pickle=False)
    beside = files_of(out)[1]
    write_atomic(beside, csv_text(list(whose), zip(*whose.values(), strict=True)).encode())
    return [out, beside]


def _write_parquet(
    out: Path,
    whose: Mapping[str, Sequence[Any]],
    embeddings: NDArray[np.float32],
    names: Sequence[str],
    about: Mapping[str, Any],
) -> None:
    import pyarrow as pa
    import pyarrow.parquet as pq

    columns = {name: pa.array(values) for name, values in whose.items()}
    columns |= {name: pa.array(np.ascontiguousarray(embeddings[:, k]), pa.float32()) for k, name in enumerate(names)}
    table = pa.table(columns).replace_schema_metadata({"embeddings": json.dumps(about)})
    with replacing(out) as file:
        pq.write_table(table, file)
