"""The commands `export`, which writes an encoder of the store into a folder, with its model card, and `embed`, which
writes a table of the embeddings that such an encoder gives for WFDB records, a row per recording.
"""

from __future__ import annotations

import hashlib
from argparse import Namespace
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
from jinja2 import Environment, PackageLoader, StrictUndefined

from benchmark import screen as terminal
from benchmark.cli.main import OK, version
from benchmark.config.errors import ConfigError
from benchmark.config.schema import Data
from benchmark.data.datasets import DATASETS
from benchmark.data.datasets.base import Recording, Unusable
from benchmark.data.datasets.wfdb_files import read_recording
from benchmark.embedding import (
    CONFIG,
    MODEL_CARD,
    Description,
    SavedEncoder,
    encoder_of,
    load_encoder,
    save_folder,
    unusable_text,
)
from benchmark.results.files import replacing
from benchmark.results.metrics import RECALLS, TITLES
from benchmark.results.names import (
    EVALUATION_TITLES,
    OVERALL,
    RECORDING,
    RETRIEVAL,
    UNIT_OF_PROTOCOL,
    install,
    unknown,
    visible,
)
from benchmark.results.store import ENCODER_AGAIN, PlannedCell, Store
from benchmark.screen import Console, note, step
from benchmark.training.checkpoint import SOURCE, WEIGHTS, read_record
from reports.columns import score_columns
from reports.inference import intervals
from reports.results import Run, run_of
from reports.words import escape_markdown, markdown_table, ratio_text, unit_text

FORMS = (".parquet", ".csv", ".npy")
AT_A_TIME = 500
"""Recordings that are in memory."""


@dataclass(frozen=True)
class Pretrained:
    """A finished pretraining in a run."""

    run: Run
    variant: str
    """Row of the run's tables."""
    folder: Path
    """Folder in the store; its name is the key of the pretraining."""
    record: dict[str, Any]
    """What the store knows of its training."""
    cells: list[PlannedCell]
    """The row's finished cells on this encoder."""


def export(arguments: Namespace, console: Console) -> int:
    """Write the folder. Raises ConfigError in one line, NoResults where the store has no run."""
    to: Path = arguments.to
    if to.is_dir() and any(to.iterdir()) and not (to / CONFIG).is_file():
        raise ConfigError(f"--to {to} is a folder with other files; name a new one")
    pretrained = find(arguments.results, arguments.word, arguments.seed)
    folder, encoder = pretrained.folder, pretrained.record["encoder"]
    weights = (folder / WEIGHTS).read_bytes()
    encoder_of(encoder, weights, folder, arguments.code)  # refuses code that is not the encoder's
    source = (folder / SOURCE).read_bytes() if "source" in encoder else None
    description = describe(pretrained, weights)
    save_folder(to, description, weights, model_card(pretrained, description), source=source)
    note(console, f"wrote {to}: {pretrained.variant}, pretraining {folder.name}, of the run {pretrained.run.name}")
    return OK


def find(results: Path, name: str, seed: int | None) -> Pretrained:
    """Find the pretraining of a row, by its name or title, or of a key, in the latest run that has it.

    Raises ConfigError, in one line, for an unknown name and where a row has several pretrainings and no seed chooses
    one; NoResults if there is no run.
    """
    store = Store(results)
    plans, damage = store.load_plans()
    for line in damage:
        terminal.error(f"left out: {line}")
    known: dict[str, None] = {}
    for plan in plans:
        run = run_of(store, plan, results)
        for line in run.damaged.values():
            terminal.error(f"left out: {line}")
        for variant, title in run.plan.variants.items():
            finished = [(cell, row) for cell, row in run.finished if cell.variant == variant and row.pretrain_key]
            seeds = {row.pretrain_key: row.pretrain_seed for _, row in finished}  # of several parts the first
            encoders = {key for _, row in finished for key in row.encoders}
            if not seeds:
                continue
            known[variant] = None
            if name not in (variant, title, *encoders):
                continue
            keys = [name] if name in encoders else [key for key in seeds if seed in (None, seeds[key])]
            if len(keys) != 1:
                listed = ", ".join(f"{seeds[key]} ({key})" for key in seeds)
                raise ConfigError(f"{variant}: choose one pretraining by --seed N or its key; there are {listed}")
            folder = store.pretrained / keys[0]
            cells = [cell for cell, row in finished if keys[0] in row.encoders]
            return Pretrained(run, variant, folder, record_of(folder), cells)
    if not known:
        raise ConfigError(f"{results}: no encoder is finished yet; `status` shows how far the run is")
    raise ConfigError(unknown("row with a finished encoder", name, list(known)))


def record_of(folder: Path) -> dict[str, Any]:
    """Read the record of a pretraining. Raises Damaged, and ConfigError where its files are gone or from elsewhere."""
    record = read_record(folder)
    if record is None:
        raise ConfigError(f"{folder}: the encoder is not there; {ENCODER_AGAIN}")
    if "external" in record["encoder"]:
        raise ConfigError(f"{folder}: its weights come from elsewhere and are not in the store; use their own file")
    return record


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


def model_card(pretrained: Pretrained, description: Description) -> str:
    """Write the text of the model card."""
    plan, record = pretrained.run.plan, pretrained.record
    corpus = plan.pretraining if record.get("updates") else {}
    datasets = {corpus["name"]: corpus} if corpus else {}
    for cell in pretrained.cells:
        datasets.setdefault(cell.dataset, plan.datasets[cell.dataset])
    environment = Environment(
        loader=PackageLoader("benchmark.cli", "."), undefined=StrictUndefined, trim_blocks=True, lstrip_blocks=True
    )
    environment.filters |= {"md": lambda value: escape_markdown(str(value)), "plain": plain}
    text = environment.get_template(f"{MODEL_CARD}.j2").render(
        about=description,
        version=version(),
        record=record,
        corpus=corpus,
        datasets=datasets,
        readers=DATASETS,
        cards=plan.config["data"]["cards"],
        scores=scores_of(pretrained),
    )
    return visible(text)


def plain(values: Mapping[str, Any]) -> str:
    """Return 'queue_size 16, momentum 0.99': the values that are no sections, without digests."""
    shown = []
    for name, value in values.items():
        if name != "source" and not isinstance(value, dict | list):
            shown.append(f"{name} {value}")
    return ", ".join(shown)


def scores_of(pretrained: Pretrained) -> dict[str, str]:
    """Return title -> table of each evaluation: means over the row's seeds with 95 % intervals, in percent."""
    run = pretrained.run
    headline = run.plan.headline
    tables = {}
    unit = UNIT_OF_PROTOCOL[run.plan.config["protocol"]]
    for evaluation in dict.fromkeys(cell.evaluation for cell in pretrained.cells):
        cells = [cell for cell in pretrained.cells if cell.evaluation == evaluation]
        metrics, scored = (RECALLS, RECORDING) if evaluation == RETRIEVAL else (headline.columns, unit)
        columns = list(score_columns(run, cells, metrics, scored))
        lines = intervals(columns).dropna(subset=["mean"])
        table = {
            "labels": lines["ratio"].map(ratio_text),
            "dataset": [run.plan.titles.get(name, "all") for name in lines["dataset"]],
            "score": lines["metric"].map(TITLES | {OVERALL: headline.title}),
            **{name: (100 * lines[name]).map("{:.1f}".format) for name in ("mean", "low", "high")},
            "seeds": lines["seeds"].map("{:.0f}".format),
        }
        title = f"{EVALUATION_TITLES[evaluation]}, scored per {unit_text(run.plan, scored)}"
        tables[title] = markdown_table(pd.DataFrame(table))
    return tables


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
                raise ConfigError(f"--out {out} needs pyarrow: {install('embed')}") from None
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
            f"{path}: neither a WFDB record nor a folder of them (.hea files); for arrays see docs/USE.md"
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
