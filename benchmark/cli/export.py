"""The verb `export`: an encoder of the store as a folder with its weights and a model card.

MODEL_CARD.md says what goes in and comes out, how the encoder was pretrained, its scores, licences and limits.
"""

from __future__ import annotations

import hashlib
from argparse import Namespace
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass, replace
from importlib.metadata import PackageNotFoundError, version
from pathlib import Path
from typing import Any

import pandas as pd

from benchmark.cli.main import OK
from benchmark.config.errors import ConfigError, unknown
from benchmark.config.schema import Data, Finetune
from benchmark.data.datasets import DATASETS
from benchmark.data.datasets.base import LEADS
from benchmark.data.segments import HEARTBEATS
from benchmark.embedding import (
    CONFIG,
    MODEL_CARD,
    PRECISIONS,
    Description,
    encoder_of,
    save_folder,
    standardisation_of,
)
from benchmark.results.metrics import COLUMNS, TITLES
from benchmark.results.names import EVALUATION_TITLES, UNIT_OF_PROTOCOL, UNTRAINED, name_on, name_on_any
from benchmark.results.store import BadCard, CorruptRow, PlannedCell, Row, Store
from benchmark.screen import Console, note
from benchmark.training.checkpoint import SOURCE, WEIGHTS, checked_card
from reports.inference import UnequalTestSets, intervals, pairwise, score_columns
from reports.results import Results, evaluations_of, role_of, run_of
from reports.words import escape_markdown, markdown_table, ratio_text, unit_text

SIGNALS = (
    "segmentation", "rate", "standardise", "leads",
)  # fmt: skip
"""Keys of `data` that say how signals were taken."""
SHOWN = 12
"""Pretrainings that a message lists."""


@dataclass(frozen=True)
class Found:
    """A finished pretraining in a run."""

    run: Results
    variant: str
    """Row of the run's tables."""
    key: str
    card: dict[str, Any]

    @property
    def folder(self) -> Path:
        """Its folder in the store."""
        return self.run.stores[0].pretrained / self.key

    @property
    def cells(self) -> list[PlannedCell]:
        """The row's finished cells on this encoder."""
        rows = self.run.rows
        return [cell for cell in of_row(self.run, self.variant) if rows[cell.key].pretrain_key == self.key]

    @property
    def row(self) -> Row:
        """One of its rows."""
        return self.run.rows[self.cells[0].key]

    @property
    def signals(self) -> Data:
        """How its signals were taken."""
        data = self.row.provenance["config"]["data"]
        return Data(**{name: data[name] for name in SIGNALS if name in data})

    def cut(self) -> dict[str, Any]:
        """How its test windows were cut (`benchmark.embedding.Cut`).

        Raises ConfigError for an encoder that saw no corpus whose mean and deviation standardise.
        """
        signals, segmentation = self.signals, self.signals.cut()
        finetune = self.row.provenance["config"].get("finetune", {})
        beats = finetune.get("beats_per_trial", Finetune().beats_per_trial)
        count = 1 if segmentation.kind == "recordings" else beats
        cut: dict[str, Any] = {"kind": segmentation.kind, "samples": segmentation.samples, "per_trial": count}
        further: dict[str, Any] = {"stride": segmentation.stride, "pad": segmentation.pad}
        if segmentation.beats != HEARTBEATS.beats:
            further["beats"] = segmentation.beats
        if signals.standardise == "dataset":
            if "scale" not in self.card:
                raise ConfigError(
                    f"{self.variant} saw no corpus whose mean and deviation standardise (data.standardise: dataset); "
                    "export a pretrained encoder"
                )
            further["scale"] = [float(value) for value in self.card["scale"]]
        if len(signals.leads) < len(LEADS):
            further["present"] = signals.leads
        return cut | {name: value for name, value in further.items() if value}


def find(results: Path, name: str, seed: int | None) -> Found:
    """The pretraining of a row, by its name or title, or of a key, in the latest run that has it.

    Raises ConfigError, in one line, for an unknown name and where a row has several pretrainings and no seed tells
    which; NoResults if there is no run.
    """
    store = Store(results)
    titles: dict[str, str] = {}
    for run in (run_of(store, plan, store.root) for plan in store.readable_plans()):
        titles = {**run.plan.variants, **titles}
        for variant, title in run.plan.variants.items():
            rows = [run.rows[cell.key] for cell in of_row(run, variant)]
            seeds = {row.pretrain_key: row.pretrain_seed for row in rows if row.pretrain_key}
            if name in seeds:
                if seed not in (None, seeds[name]):
                    raise ConfigError(f"{name} is {variant} with seed {seeds[name]}, not --seed {seed}; leave it out")
                return checked_pretraining(run, variant, name)
            if name in (variant, title) and seeds:
                return checked_pretraining(run, variant, one_of(variant, seeds, seed))
    if name in titles or name in titles.values():
        raise ConfigError(f"{name}: no cell of it with an encoder is finished in {results}; the run command goes on")
    if (store.pretrained / name).is_dir():
        raise ConfigError(f"{name}: no finished cell in {results} rests on it, so how it was cut is not known")
    raise ConfigError(unknown("row", name, list(titles)))


def of_row(run: Results, variant: str) -> list[PlannedCell]:
    """The finished cells of a row."""
    return [cell for cell in run.plan.cells if cell.variant == variant and cell.key in run.rows]


def one_of(variant: str, seeds: Mapping[str, int | None], seed: int | None) -> str:
    """The key of a row's pretraining with a seed, or the only one. `seeds`: key -> seed."""
    chosen = [key for key, own in seeds.items() if seed is None or own == seed]
    if len(chosen) == 1:
        return chosen[0]
    there = [f"{own} ({key})" for key, own in sorted(seeds.items(), key=lambda item: item[1] or 0)]
    listed = ", ".join(there[:SHOWN]) + (f" and {len(there) - SHOWN} more" if len(there) > SHOWN else "")
    if seed is None:
        raise ConfigError(
            f"{variant} has {len(seeds)} pretrainings: choose one by --seed N or its key; there are {listed}"
        )
    raise ConfigError(f"{variant} has no pretraining with --seed {seed}; there are {listed}")


def checked_pretraining(run: Results, variant: str, key: str) -> Found:
    """The pretraining of a key. Raises ConfigError where its files are damaged, gone or from elsewhere."""
    folder = run.stores[0].pretrained / key
    try:
        card = checked_card(folder)
    except BadCard as error:
        raise ConfigError(f"{error}; the run command makes it again") from None
    if card is None:
        raise ConfigError(f"{folder}: the encoder is gone; the run command makes it again")
    if "elsewhere" in card.get("encoder", {}):
        raise ConfigError(f"{variant}: its weights come from elsewhere and are not in the store; use its own file")
    return Found(run, variant, key, card)


@dataclass(frozen=True)
class Scores:
    """The table of an evaluation."""

    title: str
    lines: tuple[tuple[str, ...], ...]
    """`HEADER`."""
    seeds: int
    problem: str = ""
    """Why there is no line."""


HEADER = ("labels", "dataset", "score", "mean", "95 % interval", "minus untrained")


def scores_of(found: Found) -> tuple[Scores, ...]:
    """One table per evaluation, in percent, from the stored predictions of the encoder's cells."""
    return tuple(scores_in(found, evaluation) for evaluation in evaluations_of(found.run.plan))


def scores_in(found: Found, evaluation: str) -> Scores:
    """The table of an evaluation, with differences from the untrained encoder where its cells are finished too."""
    run, unit = found.run, UNIT_OF_PROTOCOL[found.run.plan.config["protocol"]]
    title = f"{EVALUATION_TITLES.get(evaluation, evaluation)}, scored per {unit_text(run.plan, unit)}"
    mine = [cell for cell in found.cells if cell.evaluation == evaluation]
    own = {(cell.dataset, cell.ratio, cell.seed, cell.subset): cell for cell in mine}
    if not own:
        return Scores(title, (), 0, "no cell of it is finished")
    untrained = untrained_on(found)
    beside = [
        cell
        for cell in (of_row(run, untrained) if untrained != found.variant else [])
        if cell.evaluation == evaluation and (cell.dataset, cell.ratio, cell.seed, cell.subset) in own
    ]
    try:
        columns = list(score_columns(run, [*own.values(), *beside], COLUMNS, unit))
    except (UnequalTestSets, CorruptRow) as problem:
        return Scores(title, (), 0, str(problem))
    order = (found.variant, untrained)
    columns = [replace(one, rows={name: one.rows[name] for name in order if name in one.rows}) for one in columns]
    differences = {
        (pair["ratio"], pair["dataset"], pair["metric"]): f"{percent(pair['difference'], '+')} {interval(pair, '+')}"
        for pair in pairwise(columns).to_dict("records")
    }
    lines = tuple(
        (
            ratio_text(line["ratio"]),
            str(run.plan.datasets.get(line["dataset"], {}).get("title", line["dataset"])) or "all",
            TITLES[line["metric"]],
            percent(line["mean"]),
            interval(line),
            differences.get((line["ratio"], line["dataset"], line["metric"]), "–"),
        )
        for line in intervals(columns).to_dict("records")
        if line["variant"] == found.variant
    )
    return Scores(title, lines, len({cell.seed for cell in own.values()}))


def untrained_on(found: Found) -> str:
    """The row of the untrained encoder of the same kind."""
    encoder = str(role_of(found.run.plan, found.variant).get("encoder", ""))
    return UNTRAINED if name_on_any(found.variant, encoder) == found.variant else name_on(UNTRAINED, encoder)


def percent(value: float, sign: str = "") -> str:
    """A score or a difference in percent; a dash for none."""
    return "–" if pd.isna(value) else f"{100 * value:{sign}.1f}"


def interval(line: Mapping[Any, Any], sign: str = "") -> str:
    """'[+1.0, +5.2]', from `low` and `high`."""
    return "–" if pd.isna(line["low"]) else f"[{percent(line['low'], sign)}, {percent(line['high'], sign)}]"


PACKAGE = "ecg-pretrain-bench"
SIMULATED = (
    "**Simulated data.** It was pretrained on simulated recordings of no patient. It shows how the suite works, and "
    "has learned nothing of real ECGs."
)


@dataclass(frozen=True)
class Origin:
    """What is known of how an encoder came about, beyond its description."""

    about: Mapping[str, str]
    """What is listed under 'How it was pretrained'."""
    simulated: bool = False
    """Whether the corpus was."""
    trained: bool = True
    datasets: Mapping[str, Mapping[str, Any]] | None = None
    """Corpus and datasets of the scores: name -> title, whether simulated, the licence that a card of data states."""
    scores: tuple[Scores, ...] = ()


def model_card(description: Description, origin: Origin) -> str:
    """The text of the card."""
    parts = [
        f"---\nlibrary_name: {PACKAGE}\ntags: [ecg, feature-extraction, contrastive-pretraining]\n---",
        f"# {escape_markdown(description.title)}",
        f"An encoder of 12-lead ECGs, written by {PACKAGE} {_version()}.",
        *([SIMULATED] if origin.simulated and origin.trained else []),
        *_facts("What goes in and comes out", _reads(description)),
        *_facts("How it was pretrained", origin.about),
        *_scores(origin),
        *_licences(origin),
        *_use(description),
        "## Limits",
        _items(_limits(origin)),
    ]
    return "\n\n".join(filter(None, parts)) + "\n"


def _items(lines: Iterable[str]) -> str:
    return "\n".join(f"- {line}" for line in lines)


def _version() -> str:
    try:
        return version(PACKAGE)
    except PackageNotFoundError:
        return "(from its source)"


def _facts(title: str, facts: Mapping[str, str]) -> list[str]:
    lines = [f"**{escape_markdown(name)}**: {escape_markdown(value)}" for name, value in facts.items() if value]
    return [f"## {title}", _items(lines)] if lines else []


def _reads(description: Description) -> dict[str, str]:
    cut, word = description.cut, description.segmentation.word
    drops = f"; a recording with fewer than {cut['per_trial']} gives none" if cut["per_trial"] > 1 else ""
    per_window = f"{cut['samples']} samples ({cut['samples'] / description.rate:g} s)"
    sizes = {name: value for name, value in description.encoder.items() if name not in ("source", "modules")}
    unit = "in mV" if description.segmentation.raw else "in any unit"
    stride = f", {cut['stride']} samples from one to the next" if cut["kind"] == "recordings" else ""
    scale = ": {:.6g} and {:.6g} mV".format(*cut["scale"]) if "scale" in cut else ""
    present = cut.get("present")
    return {
        "leads": f"{' '.join(description.leads)}, ordered by name, {unit}",
        "leads of its tests": f"{' '.join(present)}; the others may be absent and are zero" if present else "",
        "rate": f"resampled to {description.rate} Hz",
        "windows": f"{word}s of {per_window}, in groups of {cut['per_trial']}{stride}{drops}",
        "standardisation": description.standardisation + scale,
        "embedding": f"{description.encoder['output']} numbers, the mean over a recording's windows",
        "encoder": ", ".join(f"{name} {value}" for name, value in sizes.items()),
        "precision": f"{description.precision}, in which the scores were measured",
        "weights": f"SHA-256 {description.sha256}",
    }


def _scores(origin: Origin) -> Iterator[str]:
    if not origin.scores:
        return
    yield "## Scores"
    yield (
        "In percent. Intervals (95 %) cover the test patients, and with several seeds those of the evaluation; they do "
        "not cover the chance of a single pretraining. `minus untrained`: the difference from the same encoder "
        "without pretraining, paired by test patient and seed."
    )
    for scores in origin.scores:
        yield f"### {escape_markdown(scores.title)}, {scores.seeds} seed{'' if scores.seeds == 1 else 's'}"
        if scores.problem:
            yield f"No scores: {escape_markdown(scores.problem)}."
        else:
            yield markdown_table(pd.DataFrame(scores.lines, columns=list(HEADER)))


def _licences(origin: Origin) -> Iterator[str]:
    if not origin.datasets:
        return
    yield "## Licences of the data"
    yield _items(_licence(name, facts) for name, facts in origin.datasets.items())
    yield (
        "Whether a licence of data binds weights made from them is for you to judge. Please cite the data and the "
        "method."
    )


def _licence(name: str, facts: Mapping[str, Any]) -> str:
    title, reader = escape_markdown(str(facts.get("title", name))), DATASETS.get(str(facts.get("of", name)))
    if facts.get("simulated"):
        return f"{title}: simulated here; no licence of others applies."
    if reader is not None:
        stated = f"{reader.licence}, as its publisher states it. {reader.how_to_get}. Cite {reader.cite}."
        return f"{title}: {stated}"
    if facts.get("licence"):
        return f"{title}: {escape_markdown(str(facts['licence']))}, as the card of the data states it."
    return f"{title}: not known to the suite; its owner says."


def _use(description: Description) -> Iterator[str]:
    code = ", code='encoder.py'" if "source" in description.encoder else ""
    flag = " --code encoder.py" if code else ""
    yield "## Use"
    yield (
        "```python\nfrom benchmark import EcgEmbedder, load_encoder\n\n"
        f"encoder = load_encoder('.'{code})\n"
        "embeddings = encoder.encode(signals, rate=500, leads=names)   # (n, K)\n"
        f"features = EcgEmbedder('.', rate=500, leads=names{code})      # the same in scikit-learn\n```"
    )
    yield f"```\n{PACKAGE} embed RECORDINGS --encoder .{flag} --out features.parquet\n```"


def _limits(origin: Origin) -> Iterator[str]:
    yield "For research. It is no medical device, and no output of it is a diagnosis."
    if origin.simulated and origin.trained:
        yield "Pretrained on simulated recordings: its scores say nothing of real ones."
    elif any(facts.get("simulated") for facts in (origin.datasets or {}).values()):
        yield "Its scores are on simulated recordings and say nothing of real ones."
    yield "A recording with NaN, without heartbeats to cut or with fewer windows than a group has no embedding."


BUDGET = ("updates", "batch_size", "windows_per_epoch", "encoder_passes")


def export(arguments: Namespace, console: Console) -> int:
    """Write the folder and say what is in it. Raises ConfigError in one line, NoResults where the store has no run."""
    to = arguments.to
    if to is None:
        raise ConfigError("`export` needs --to FOLDER, e.g. `export pmq --to pmq`")
    refuse_occupied(to)
    found = find(arguments.results, arguments.word, arguments.seed)
    weights = (found.folder / WEIGHTS).read_bytes()
    encoder_of(found.card["encoder"], weights, found.folder, arguments.code)  # refuses code that is not the encoder's
    source = (found.folder / SOURCE).read_bytes() if "source" in found.card["encoder"] else None
    description = described(found, weights)
    note(console, f"{found.variant}, pretraining {found.key}, of the run {found.run.name}")
    for file in save_folder(to, description, weights, model_card(description, origin_of(found)), source=source):
        note(console, f"wrote {file}")
    return OK


def refuse_occupied(to: Path) -> None:
    """Raise ConfigError for a file, or a folder with anything but an exported encoder in it."""
    if to.exists() and not to.is_dir():
        raise ConfigError(f"--to {to} is a file; name a folder")
    if to.is_dir() and any(to.iterdir()) and not all((to / name).is_file() for name in (WEIGHTS, MODEL_CARD, CONFIG)):
        raise ConfigError(f"--to {to} is a folder with other files; name a new one")


def described(found: Found, weights: bytes) -> Description:
    """The description of a pretraining."""
    row, content, segmentation, cut = found.row, found.card.get("key_content", {}), found.signals.cut(), found.cut()
    pretraining = {
        "key": found.key,
        "method": found.card.get("method", row.method),
        "seed": found.card.get("seed", row.pretrain_seed),
        "corpus": row.provenance.get("corpus", {}),
        **{name: content[name] for name in ("config", "epochs", "budget") if name in content},
        **{name: found.card[name] for name in BUDGET if name in found.card},
    }
    return Description(
        name=found.variant,
        title=found.run.plan.variants[found.variant],
        encoder=found.card["encoder"],
        sha256=hashlib.sha256(weights).hexdigest(),
        cut=cut,
        precision=row.provenance.get("precision", PRECISIONS[0]),
        task={"labels": row.labels, "protocol": row.protocol},
        pretraining=pretraining,
        leads=list(LEADS),
        rate=segmentation.rate,
        standardisation=standardisation_of(segmentation, scaled="scale" in cut),
    )


def origin_of(found: Found) -> Origin:
    """What the model card tells of a pretraining."""
    plan, card = found.run.plan, found.card
    trained = bool(card.get("updates"))
    corpus = plan.pretraining if trained else {}
    datasets = {corpus["name"]: corpus} if corpus else {}
    datasets |= {cell.dataset: plan.datasets[cell.dataset] for cell in found.cells if cell.dataset not in datasets}
    cards = plan.config["data"].get("cards", {})
    datasets = {name: {**facts, "licence": cards.get(name, {}).get("licence")} for name, facts in datasets.items()}
    return Origin(_about(found, corpus), bool(corpus.get("simulated")), trained, datasets, scores_of(found))


def _about(found: Found, corpus: dict[str, Any]) -> dict[str, str]:
    card, content = found.card, found.card.get("key_content", {})
    used = {name: corpus.get(f"used_{name}", corpus.get(name)) for name in ("recordings", "patients")}
    form = f", {corpus['form']}" if corpus.get("form") else ""
    data = f"{corpus.get('title', corpus.get('name'))}{form}: {used['recordings']} recordings of " + (
        f"{used['patients']} patients; fingerprint {corpus.get('fingerprint', 'not stored')}"
    )
    device, git = card.get("device", {}), card.get("git", {})
    return {
        "method": f"{found.run.plan.variants[found.variant]} ({card.get('method', found.variant)})",
        "data": data if corpus else "none: it is untrained",
        "settings": _settings(content.get("config", {})),
        "recipe": _settings(content.get("config", {}).get("recipe", {})),
        "budget": _budget(card, content),
        "seed": str(card.get("seed", "")),
        "device": " ".join(filter(None, [device.get("type"), device.get("name"), card.get("precision")])),
        "code": f"commit {git.get('commit')}{' with changes' if git.get('dirty') else ''}" if git.get("commit") else "",
        "key": found.key,
    }


def _settings(values: dict[str, Any]) -> str:
    return ", ".join(f"{name} {value}" for name, value in values.items() if not isinstance(value, dict | list))


def _budget(card: dict[str, Any], content: dict[str, Any]) -> str:
    if not card.get("updates"):
        return ""
    equal = content.get("budget")
    measured = "epochs" if equal in (None, "epochs") else f"epochs (equal {equal})"
    facts = {
        measured: content.get("epochs", len(card.get("loss", []))),
        "updates": card["updates"],
        "windows an update": card.get("batch_size"),
        "windows through the encoder": card.get("encoder_passes"),
        "seconds": round(card.get("seconds", 0.0), 1),
    }
    return ", ".join(f"{name} {value:,.10g}" for name, value in facts.items() if value is not None)
