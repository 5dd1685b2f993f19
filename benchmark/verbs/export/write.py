"""Implementation of the verb `export`: what was found becomes a folder."""

from __future__ import annotations

import hashlib
from collections.abc import Iterator
from pathlib import Path
from typing import Any

from benchmark.config.errors import ConfigError
from benchmark.data.readers.base import LEADS
from benchmark.embedding.encode import PRECISIONS
from benchmark.embedding.onnx import ONNX, write_onnx
from benchmark.embedding.released import UNKNOWN, read_released
from benchmark.embedding.saved import CONFIG, MODEL_CARD, Description, encoder_of, save_folder, standardisation_of
from benchmark.training.weights import SOURCE, WEIGHTS
from benchmark.verbs.export.card import Origin, model_card
from benchmark.verbs.export.find import Found, find
from benchmark.verbs.export.scores import scores_of
from methods.encoders.base import Encoder

BUDGET = ("updates", "batch_size", "windows_per_epoch", "encoder_passes")


def export_found(
    results: Path, asked: str, to: Path, *, seed: int | None = None, code: Path | None = None, onnx: bool = False
) -> list[str]:
    """Export an encoder of the store; returns what to tell. Raises ConfigError, NoResults, OSError."""
    refuse_occupied(to)
    found = find(results, asked, seed)
    weights = (found.folder / WEIGHTS).read_bytes()
    encoder = encoder_of(found.card["encoder"], weights, found.folder, code)
    source = (found.folder / SOURCE).read_bytes() if "source" in found.card["encoder"] else None
    about = f"{found.variant}, pretraining {found.key}, of the run {found.run.name}"
    return [about, *_written(to, described(found, weights), origin_of(found), encoder, weights, source, onnx=onnx)]


def export_released(file: Path, to: Path, *, onnx: bool = False) -> list[str]:
    """Export a published checkpoint; returns what to tell. Raises ConfigError, OSError."""
    refuse_occupied(to)
    description, weights = read_released(file)
    encoder = encoder_of(description.encoder, weights, to, None)
    about = {"file": f"{file.name}, SHA-256 {hashlib.sha256(file.read_bytes()).hexdigest()}"}
    origin = Origin(about, unknown=UNKNOWN)
    return [*UNKNOWN, *_written(to, description, origin, encoder, weights, None, onnx=onnx)]


def refuse_occupied(to: Path) -> None:
    """Raise ConfigError for a file, or a folder with anything but an exported encoder in it."""
    if to.exists() and not to.is_dir():
        raise ConfigError(f"--to {to} is a file; name a folder")
    if to.is_dir() and any(to.iterdir()) and not all((to / name).is_file() for name in (WEIGHTS, MODEL_CARD, CONFIG)):
        raise ConfigError(f"--to {to} is a folder with other files; name a new one")


def _written(
    to: Path,
    description: Description,
    origin: Origin,
    encoder: Encoder,
    weights: bytes,
    source: bytes | None,
    *,
    onnx: bool,
) -> Iterator[str]:
    """Write the folder, the ONNX file first, as its check may fail; lines on what was written."""
    (to / ONNX).unlink(missing_ok=True)
    if onnx:
        found = write_onnx(encoder, description.segmentation.samples, to / ONNX)
        yield f"wrote {to / ONNX}: onnxruntime differs from torch by {found:.1e} of the largest embedding"
    for file in save_folder(to, description, weights, model_card(description, origin, onnx=onnx), source=source):
        yield f"wrote {file}"


def described(found: Found, weights: bytes) -> Description:
    """The description of a pretraining."""
    row, content, segmentation = found.row, found.card.get("key_content", {}), found.signals.cut()
    precision = row.provenance.get("precision", PRECISIONS[0])
    pretraining = {
        "key": found.key,
        "method": found.card.get("method", row.method),
        "seed": found.card.get("seed", row.pretrain_seed),
        "corpus": row.provenance.get("corpus", {}),
        "config": {name: value for name, value in content.get("config", {}).items() if name != "recipe"},
        **{name: content[name] for name in ("recipe", "epochs", "budget") if name in content},
        **{name: found.card[name] for name in BUDGET if name in found.card},
    }
    return Description(
        name=found.variant,
        title=found.run.plan.variants[found.variant],
        encoder=found.card["encoder"],
        sha256=hashlib.sha256(weights).hexdigest(),
        cut=found.cut(),
        precision=precision,
        task={"labels": row.labels, "protocol": row.protocol},
        pretraining=pretraining,
        leads=list(LEADS),
        rate=segmentation.rate,
        standardisation=standardisation_of(segmentation, scaled=found.scale is not None),
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
    simulated = ", simulated" if corpus.get("simulated") else ""
    form = f", {corpus['form']}" if corpus.get("form") else ""
    data = f"{corpus.get('title', corpus.get('name'))}{form}{simulated}: {used['recordings']} recordings of " + (
        f"{used['patients']} patients; fingerprint {corpus.get('fingerprint', 'not stored')}"
    )
    device, git = card.get("device", {}), card.get("git", {})
    return {
        "method": f"{found.run.plan.variants[found.variant]} ({card.get('method', found.variant)})",
        "data": data if corpus else "none: it is untrained",
        "settings": _settings(content.get("config", {})),
        "recipe": _settings(content.get("recipe", {})),
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
    equal = content.get("budget", {}).get("equal")
    facts = {
        f"epochs{f' (equal {equal})' if equal else ''}": content.get("epochs", len(card.get("loss", []))),
        "updates": card["updates"],
        "windows an update": card.get("batch_size"),
        "windows through the encoder": card.get("encoder_passes"),
        "seconds": round(card.get("seconds", 0.0), 1),
    }
    return ", ".join(f"{name} {value:,.10g}" for name, value in facts.items() if value is not None)
