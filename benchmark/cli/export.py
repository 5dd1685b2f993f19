"""The command `export`: an encoder of the store as a folder with its weights, description and model card."""

from __future__ import annotations

import hashlib
from argparse import Namespace
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pandas as pd
from jinja2 import Environment, PackageLoader, StrictUndefined

from benchmark.cli.main import OK, version
from benchmark.config.errors import ConfigError, unknown
from benchmark.config.schema import Data, Finetune
from benchmark.data.datasets import DATASETS
from benchmark.embedding import CONFIG, MODEL_CARD, Description, encoder_of, save_folder
from benchmark.results.metrics import COLUMNS, TITLES
from benchmark.results.names import EVALUATION_TITLES, UNIT_OF_PROTOCOL
from benchmark.results.store import BadCard, CorruptRow, PlannedCell, Store
from benchmark.screen import Console, note
from benchmark.training.checkpoint import SOURCE, WEIGHTS, checked_card
from reports.inference import UnequalTestSets, intervals, score_columns
from reports.results import Results, evaluations_of, run_of
from reports.words import escape_markdown, markdown_table, ratio_text, unit_text

SIGNALS = ("segmentation", "rate", "standardise", "leads")
"""Keys of `data` that say how signals were taken."""


@dataclass(frozen=True)
class Pretrained:
    """A finished pretraining in a run."""

    run: Results
    variant: str
    """Row of the run's tables."""
    key: str
    record: dict[str, Any]
    """What the store knows of its training."""

    @property
    def folder(self) -> Path:
        """Its folder in the store."""
        return self.run.stores[0].pretrained / self.key

    @property
    def cells(self) -> list[PlannedCell]:
        """The row's finished cells on this encoder."""
        rows = self.run.rows
        return [cell for cell in cells_of(self.run, self.variant) if rows[cell.key].pretrain_key == self.key]


def export(arguments: Namespace, console: Console) -> int:
    """Write the folder. Raises ConfigError in one line, NoResults where the store has no run."""
    to: Path = arguments.to
    if to.is_dir() and any(to.iterdir()) and not (to / CONFIG).is_file():
        raise ConfigError(f"--to {to} is a folder with other files; name a new one")
    pretrained = find(arguments.results, arguments.word, arguments.seed)
    weights = (pretrained.folder / WEIGHTS).read_bytes()
    encoder = pretrained.record["encoder"]
    encoder_of(encoder, weights, pretrained.folder, arguments.code)  # refuses code that is not the encoder's
    source = (pretrained.folder / SOURCE).read_bytes() if "source" in encoder else None
    description = describe(pretrained, weights)
    save_folder(to, description, weights, model_card(pretrained, description), source=source)
    note(console, f"wrote {to}: {pretrained.variant}, pretraining {pretrained.key}, of the run {pretrained.run.name}")
    return OK


def find(results: Path, name: str, seed: int | None) -> Pretrained:
    """Find the pretraining of a row, by its name or title, or of a key, in the latest run that has it.

    Raises ConfigError, in one line, for an unknown name and where a row has several pretrainings and no seed chooses
    one; NoResults if there is no run.
    """
    store = Store(results)
    titles: dict[str, str] = {}
    for run in (run_of(store, plan, store.root) for plan in store.readable_plans()):
        titles = {**run.plan.variants, **titles}
        for variant, title in run.plan.variants.items():
            rows = [run.rows[cell.key] for cell in cells_of(run, variant)]
            seeds = {row.pretrain_key: row.pretrain_seed for row in rows if row.pretrain_key}
            if not seeds or name not in (variant, title, *seeds):
                continue
            keys = [name] if name in seeds else [key for key, one in seeds.items() if seed in (None, one)]
            if len(keys) != 1:
                listed = ", ".join(f"{one} ({key})" for key, one in seeds.items())
                raise ConfigError(f"{variant}: choose one pretraining by --seed N or its key; there are {listed}")
            return Pretrained(run, variant, keys[0], record_of(store.pretrained / keys[0]))
    raise ConfigError(unknown("row with a finished encoder", name, list(titles)))


def cells_of(run: Results, variant: str) -> list[PlannedCell]:
    """List the finished cells of a row."""
    return [cell for cell in run.plan.cells if cell.variant == variant and cell.key in run.rows]


def record_of(folder: Path) -> dict[str, Any]:
    """Read the card of a pretraining. Raises ConfigError where its files are damaged, gone or from elsewhere."""
    try:
        record = checked_card(folder)
    except BadCard as error:
        raise ConfigError(f"{error}; the run command makes it again") from None
    if record is None:
        raise ConfigError(f"{folder}: the encoder is gone; the run command makes it again")
    if "elsewhere" in record.get("encoder", {}):
        raise ConfigError(f"{folder}: its weights come from elsewhere and are not in the store; use their own file")
    return record


def describe(pretrained: Pretrained, weights: bytes) -> Description:
    """Describe a pretraining. Raises ConfigError where windows are standardised by a corpus that it did not see."""
    row, record = pretrained.run.rows[pretrained.cells[0].key], pretrained.record
    config, content = row.provenance["config"], record.get("key_content", {})
    if absent := [name for name in SIGNALS if name not in config["data"]]:
        raise ConfigError(
            f"{pretrained.variant}: its row is of an older version, without data.{absent[0]}; run it again"
        )
    data = Data(**{name: config["data"][name] for name in SIGNALS})
    per_trial = config.get("finetune", {}).get("beats_per_trial", Finetune().beats_per_trial)
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
        per_trial=1 if data.segmentation.kind == "recordings" else per_trial,
        precision=row.provenance.get("precision", "float32"),
        labels=row.labels,
        protocol=row.protocol,
        pretraining={
            "key": pretrained.key,
            "method": record.get("method", row.method),
            "seed": record.get("seed", row.pretrain_seed),
            "corpus": row.provenance.get("corpus", {}),
            **{name: content[name] for name in ("config", "epochs", "budget") if name in content},
            **{name: record[name] for name in ("updates", "batch_size", "encoder_passes") if name in record},
        },
        scale=(float(record["scale"][0]), float(record["scale"][1])) if data.standardise == "dataset" else None,
        leads=tuple(data.leads),
    )


def model_card(pretrained: Pretrained, description: Description) -> str:
    """Write the text of the model card."""
    plan, record = pretrained.run.plan, pretrained.record
    corpus = plan.pretraining if record.get("updates") else {}
    datasets = {corpus["name"]: corpus} if corpus else {}
    datasets |= {cell.dataset: plan.datasets[cell.dataset] for cell in pretrained.cells if cell.dataset not in datasets}
    cards = plan.config["data"].get("cards", {})
    environment = Environment(
        loader=PackageLoader("benchmark.cli", "."), undefined=StrictUndefined, trim_blocks=True, lstrip_blocks=True
    )
    environment.filters["md"] = lambda value: escape_markdown(str(value))
    environment.filters["plain"] = plain
    return environment.get_template(f"{MODEL_CARD}.j2").render(
        about=description,
        version=version(),
        record={"method": pretrained.variant, "seed": "", **record},
        corpus=corpus,
        config=record.get("key_content", {}).get("config", {}),
        simulated=any(facts.get("simulated") for facts in datasets.values()),
        scores=dict(scores_in(pretrained, evaluation) for evaluation in evaluations_of(plan)),
        licences={facts.get("title", name): licence(name, facts, cards) for name, facts in datasets.items()},
    )


def plain(values: Mapping[str, Any]) -> str:
    """Return 'queue_size 16, momentum 0.99': the values that are no sections, without digests."""
    shown = {name: value for name, value in values.items() if not isinstance(value, dict | list) and name != "source"}
    return ", ".join(f"{name} {value}" for name, value in shown.items())


def licence(name: str, facts: Mapping[str, Any], cards: Mapping[str, Any]) -> str:
    """Return what is known of the licence of a dataset."""
    reader = DATASETS.get(str(facts.get("of", name)))
    if facts.get("simulated"):
        return "simulated here; no licence of others applies."
    if reader is not None:
        return f"{reader.licence}, as its publisher states it. {reader.how_to_get}. Cite {reader.cite}."
    stated = cards.get(name, {}).get("licence")
    return f"{stated}, as the card of the data states it." if stated else "not known to the suite; its owner knows."


def scores_in(pretrained: Pretrained, evaluation: str) -> tuple[str, str]:
    """Return title and table of an evaluation: means over the row's seeds with 95 % intervals, in percent."""
    run, unit = pretrained.run, UNIT_OF_PROTOCOL[pretrained.run.plan.config["protocol"]]
    cells = [cell for cell in pretrained.cells if cell.evaluation == evaluation]
    title = f"{EVALUATION_TITLES.get(evaluation, evaluation)}, scored per {unit_text(run.plan, unit)}"
    try:
        columns = list(score_columns(run, cells, COLUMNS, unit))
    except (UnequalTestSets, CorruptRow) as problem:
        return title, f"No scores: {escape_markdown(str(problem))}."
    if not columns:
        return title, "No scores: no cell of it is finished."
    lines = intervals(columns)
    titles = {name: str(facts.get("title", name)) for name, facts in run.plan.datasets.items()}
    table = {
        "labels": lines["ratio"].map(ratio_text),
        "dataset": lines["dataset"].map(titles).fillna("all"),
        "score": lines["metric"].map(TITLES),
        **{name: (100 * lines[name]).map("{:.1f}".format) for name in ("mean", "low", "high")},
        "seeds": lines["seeds"].map("{:.0f}".format),
    }
    return title, markdown_table(pd.DataFrame(table))
