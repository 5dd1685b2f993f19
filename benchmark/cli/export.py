"""The commands `export`, which writes an encoder of the store into a folder, with its model card, and `embed`, which
writes a table of the embeddings that such an encoder gives for WFDB records, a row per recording.
"""

from __future__ import annotations

import hashlib
from argparse import Namespace
from collections.abc import Sequence
from pathlib import Path

import numpy as np
import pandas as pd

from benchmark.cli.main import OK
from benchmark.cli.model_card import model_card
from benchmark.cli.pretrained import Pretrained, find
from benchmark.config.errors import ConfigError
from benchmark.config.schema import Data
from benchmark.data.datasets.base import Recording, Unusable
from benchmark.data.datasets.wfdb_files import read_recording
from benchmark.embedding import (
    Description,
    SavedEncoder,
    encoder_of,
    is_exported,
    load_encoder,
    save_folder,
    unusable_text,
)
from benchmark.results.files import replacing
from benchmark.results.names import WEIGHTS, install
from benchmark.screen import Console, note, step
from benchmark.training.checkpoint import SOURCE

FORMS = (".parquet", ".csv", ".npy")
AT_A_TIME = 500
"""Recordings that are in memory."""


def export(arguments: Namespace, console: Console) -> int:
    """Write the folder. Raises ConfigError in one line, NoResults where the store has no run."""
    to: Path = arguments.to
    if to.is_dir() and any(to.iterdir()) and not is_exported(to):
        raise ConfigError(f"--to {to} is a folder with other files; name a new one")
    pretrained = find(arguments.results, arguments.word, arguments.seed)
    folder, encoder = pretrained.folder, pretrained.record["encoder"]
    weights = (folder / WEIGHTS).read_bytes()
    encoder_of(encoder, weights, folder, arguments.code)  # refuses code that is not the encoder's
    source = (folder / SOURCE).read_bytes() if "source" in encoder else None
    description = describe(pretrained, weights)
    save_folder(to, description, weights, model_card(pretrained, description), source=source)
    if pretrained.choice:
        note(console, f"{pretrained.variant}: {pretrained.choice}; --seed N takes another")
    note(console, f"wrote {to}: {pretrained.variant}, pretraining {folder.name}, of the run {pretrained.run.name}")
    return OK


def describe(pretrained: Pretrained, weights: bytes) -> Description:
    """Describe a pretraining. Raises ConfigError where windows are standardised by a corpus that it did not see."""
    row, record = pretrained.run.rows[pretrained.cells[0].key], pretrained.record
    config = row.provenance["config"]
    data = Data(**config["data"])
    if data.standardise == "dataset" and "scale" not in record:
        raise ConfigError(
            f"{pretrained.variant} saw no corpus whose mean and deviation standardise (data.standardise: dataset); "
            "export a pretrained encoder"
        )
    return Description(
        name=pretrained.variant,
        title=pretrained.run.plan.variants[pretrained.variant],
        encoder=record["encoder"],
        sha256=hashlib.sha256(weights).hexdigest(),
        segmentation=data.cut(),
        per_trial=1 if data.segmentation.kind == "recordings" else config["finetune"]["beats_per_trial"],
        precision=row.provenance["precision"],
        labels=row.labels,
        protocol=row.protocol,
        pretraining={
            "key": pretrained.folder.name,
            "method": record["method"],
            "content": record["key_content"],
        },
        scale=tuple(record["scale"]) if data.standardise == "dataset" else None,
        leads=tuple(data.leads),
    )


def embed(arguments: Namespace, console: Console) -> int:
    """Write the table and say how many recordings have no embedding. Raises ConfigError for what cannot be embedded."""
    out: Path = arguments.out
    if out.suffix not in FORMS:
        raise ConfigError(f"--out {out}: {out.suffix or 'no suffix'} is no form of a table; use {', '.join(FORMS)}")
    encoder = load_encoder(arguments.folder, device=arguments.device, code=arguments.code)
    records: dict[Path, None] = {}
    for word in arguments.word:
        records |= dict.fromkeys(records_of(word))
    table = table_of(encoder, list(records), console)
    text = unusable_text(table["reason"].tolist())
    if text:
        note(console, f"warning: {text}")
    with replacing(out) as file:
        if out.suffix == ".npy":
            np.save(file, table[encoder.feature_names].to_numpy(np.float32))  # (n, K)
        elif out.suffix == ".csv":
            table.to_csv(file, index=False)
        else:
            try:
                table.to_parquet(file, index=False)
            except ImportError:
                raise ConfigError(f"--out {out} needs pyarrow: {install('pyarrow')}") from None
    note(console, f"wrote {out}: {len(table)} rows of {encoder.width} numbers")
    return OK


def records_of(path: Path) -> list[Path]:
    """List the records that a path names, without suffix: one, or all in a folder. Raises ConfigError for none."""
    if path.is_dir():
        headers = sorted(path.rglob("*.hea"))
    else:
        headers = [header for header in [path.with_suffix(".hea")] if header.is_file()]
    if not headers:
        raise ConfigError(
            f"{path}: neither a WFDB record nor a folder of them (.hea files); `load_encoder` in Python takes arrays"
        )
    return sorted(header.with_suffix("") for header in headers)


def table_of(encoder: SavedEncoder, records: Sequence[Path], console: Console) -> pd.DataFrame:
    """Make a row per record: its name, number of windows, why it has none, and embedding (NaN where it has none)."""
    parts = []
    with step(console, "embedding") as progress:
        for first in range(0, len(records), AT_A_TIME):
            some = records[first : first + AT_A_TIME]
            windows, reasons = encoder.cut(map(read, some))
            facts = pd.DataFrame({"recording": map(str, some), "windows": map(len, windows[1:]), "reason": reasons})
            embeddings = pd.DataFrame(encoder.means(windows), columns=encoder.feature_names)
            parts.append(facts.join(embeddings))
            progress(first + len(some), len(records))
    return pd.concat(parts, ignore_index=True)


def read(record: Path) -> Recording | str:
    """Read a record, or say why it cannot be read."""
    try:
        return read_recording(record)
    except Unusable as reason:
        return str(reason)
