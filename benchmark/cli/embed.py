"""The command `embed`: WFDB records in, a table of embeddings out, a row per recording."""

from __future__ import annotations

from argparse import Namespace
from collections.abc import Iterator, Sequence
from pathlib import Path

import numpy as np
import pandas as pd

from benchmark.cli.arguments import device_of
from benchmark.cli.main import OK
from benchmark.config.errors import ConfigError
from benchmark.data.datasets.base import Recording, Unusable
from benchmark.data.datasets.wfdb_files import read_recording
from benchmark.embedding import SavedEncoder, load_encoder, unusable_text
from benchmark.results.files import replacing
from benchmark.screen import Console, note, step

FORMS = (".parquet", ".csv", ".npy")
AT_A_TIME = 500
"""Recordings that are in memory."""


def embed(arguments: Namespace, console: Console) -> int:
    """Write the table and say how many recordings have no embedding. Raises ConfigError for what cannot be embedded."""
    out: Path = arguments.out
    if out.suffix not in FORMS:
        raise ConfigError(f"--out {out}: {out.suffix or 'no suffix'} is no form of a table; use {', '.join(FORMS)}")
    encoder = load_encoder(arguments.folder, device=str(device_of(arguments)), code=arguments.code)
    records = list(dict.fromkeys(record for word in arguments.word for record in records_of(word)))
    table = table_of(encoder, records, console)
    if text := unusable_text(table["reason"].tolist()):
        note(console, f"warning: {text}")
    write_table(table, encoder.feature_names, out)
    note(console, f"wrote {out}: {len(table)} rows of {encoder.width} numbers")
    return OK


def records_of(path: Path) -> list[Path]:
    """List the records that a path names, without suffix: one, or all in a folder. Raises ConfigError for none."""
    headers = path.rglob("*.hea") if path.is_dir() else filter(Path.is_file, [path.with_suffix(".hea")])
    if not (records := sorted(header.with_suffix("") for header in headers)):
        raise ConfigError(
            f"{path}: neither a WFDB record nor a folder of them (.hea files); for arrays see docs/USE.md"
        )
    return records


def table_of(encoder: SavedEncoder, records: Sequence[Path], console: Console) -> pd.DataFrame:
    """Make a row per record: its name, embedding (NaN where it has none), number of windows, and why it has none."""
    rows: list[tuple[int, str]] = []
    embeddings = np.empty((len(records), encoder.width), np.float32)  # (n, K)
    with step(console, "embedding") as progress:
        for first in range(0, len(records), AT_A_TIME):
            windows, reasons = encoder.cut(read(records[first : first + AT_A_TIME]))
            embeddings[first : first + AT_A_TIME] = encoder.means(windows)
            rows += zip(map(len, windows[1:]), reasons, strict=True)
            progress(min(first + AT_A_TIME, len(records)), len(records))
    whose = pd.DataFrame(rows, columns=["windows", "reason"])
    whose.insert(0, "recording", list(map(str, records)))
    return pd.concat([whose, pd.DataFrame(embeddings, columns=encoder.feature_names)], axis=1)


def read(records: Sequence[Path]) -> Iterator[Recording | str]:
    """Read each record, or say why it cannot be read."""
    for record in records:
        try:
            yield read_recording(record)
        except Unusable as reason:
            yield str(reason)


def write_table(table: pd.DataFrame, numbers: Sequence[str], out: Path) -> None:
    """Write the table: all columns, or as .npy the embeddings (n, K) alone. Raises ConfigError without pyarrow."""
    with replacing(out) as file:
        if out.suffix == ".npy":
            np.save(file, table[list(numbers)].to_numpy(np.float32))
        elif out.suffix == ".csv":
            table.to_csv(file, index=False)
        else:
            try:
                table.to_parquet(file, index=False)
            except ImportError:
                raise ConfigError(f"--out {out} needs pyarrow: pip install 'ecg-pretrain-bench[embed]'") from None
