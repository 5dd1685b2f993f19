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
LACKING = "needs pyarrow: pip install 'ecg-pretrain-bench[embed]', or name a .npy file"


def check_out(out: Path) -> None:
    """Raise ConfigError, in one line, for a file that could not be written at the end of the work."""
    if out.suffix not in FORMS:
        raise ConfigError(f"--out {out}: {out.suffix or 'no suffix'} is no form of a table; use {' or '.join(FORMS)}")
    if out.suffix == ".parquet":
        try:
            import pyarrow  # noqa: F401
        except ImportError:
            raise ConfigError(f"--out {out} {LACKING}") from None


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
    beside = out.with_suffix(".csv")
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
