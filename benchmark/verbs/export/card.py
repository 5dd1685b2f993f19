"""MODEL_CARD.md: what goes in and comes out, how the encoder was pretrained, its scores, licences and limits."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from importlib.metadata import PackageNotFoundError, version
from typing import Any

from benchmark.data.readers.registry import DATASETS
from benchmark.embedding.onnx import ONNX, TOLERANCE
from benchmark.embedding.saved import Description
from benchmark.verbs.export.scores import HEADER, Scores
from reports.tables.text import literal, pipe_table

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
    scores: Sequence[Scores] = ()
    unknown: Sequence[str] = ()
    """What nobody told, one sentence each."""


def model_card(description: Description, origin: Origin, *, onnx: bool = False) -> str:
    """The text of the card."""
    parts = [
        f"---\nlibrary_name: {PACKAGE}\ntags: [ecg, feature-extraction, contrastive-pretraining]\n---",
        f"# {literal(description.title)}",
        f"An encoder of 12-lead ECGs, written by {PACKAGE} {_version()}.",
        *([SIMULATED] if origin.simulated and origin.trained else []),
        *_facts("What goes in and comes out", _reads(description, onnx)),
        *_facts("How it was pretrained", origin.about),
        *(["\n".join(f"- {literal(line)}" for line in origin.unknown)] if origin.unknown else []),
        *_scores(origin),
        *_licences(origin),
        *_use(description, onnx),
        "## Limits",
        "\n".join(f"- {line}" for line in _limits(origin)),
    ]
    return "\n\n".join(parts) + "\n"


def _version() -> str:
    try:
        return version(PACKAGE)
    except PackageNotFoundError:
        return "(from its source)"


def _facts(title: str, facts: Mapping[str, str]) -> list[str]:
    lines = [f"- **{literal(name)}**: {literal(value)}" for name, value in facts.items() if value]
    return [f"## {title}", "\n".join(lines)] if lines else []


def _reads(description: Description, onnx: bool) -> dict[str, str]:
    cut, word = description.cut, description.segmentation.word
    drops = f"; a recording with fewer than {cut['per_trial']} gives none" if cut["per_trial"] > 1 else ""
    per_window = f"{cut['samples']} samples ({cut['samples'] / description.rate:g} s)"
    sizes = {name: value for name, value in description.encoder.items() if name not in ("source", "modules")}
    unit = "in mV" if description.segmentation.raw else "in any unit"
    stride = f", {cut['stride']} samples from one to the next" if cut["kind"] == "recordings" else ""
    present = cut.get("present")
    return {
        "leads": f"{' '.join(description.leads)}, ordered by name, {unit}",
        "leads of its tests": f"{' '.join(present)}; the others may be absent and are zero" if present else "",
        "rate": f"resampled to {description.rate} Hz",
        "windows": f"{word}s of {per_window}, in groups of {cut['per_trial']}{stride}{drops}",
        "standardisation": f"{description.standardisation}{_scale_text(cut)}",
        "embedding": f"{description.encoder['output']} numbers, the mean over a recording's windows",
        "encoder": ", ".join(f"{name} {value}" for name, value in sizes.items()),
        "precision": f"{description.precision}, in which the scores were measured",
        "weights": f"SHA-256 {description.sha256}",
        "ONNX": f"{ONNX}: windows to embeddings in float32, within {TOLERANCE:g} of torch" if onnx else "",
    }


def _scale_text(cut: Mapping[str, Any]) -> str:
    return ": {:.6g} and {:.6g} mV".format(*cut["scale"]) if "scale" in cut else ""


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
        yield f"### {literal(scores.title)}, {scores.seeds} seed{'' if scores.seeds == 1 else 's'}"
        if scores.problem:
            yield f"No scores: {literal(scores.problem)}."
        else:
            yield pipe_table(
                [literal(head) for head in HEADER], [[literal(cell) for cell in own] for own in scores.lines]
            )


def _licences(origin: Origin) -> Iterator[str]:
    if not origin.datasets:
        return
    yield "## Licences of the data"
    lines = []
    for name, facts in origin.datasets.items():
        title, reader = literal(str(facts.get("title", name))), DATASETS.get(str(facts.get("of", name)))
        if facts.get("simulated"):
            lines.append(f"- {title}: simulated here; no licence of others applies.")
        elif reader is None and facts.get("licence"):
            lines.append(f"- {title}: {literal(str(facts['licence']))}, as the card of the data states it.")
        elif reader is None:
            lines.append(f"- {title}: not known to the suite; its owner says.")
        else:
            stated = f"{reader.licence}, as its publisher states it. {reader.how_to_get}. Cite {reader.cite}."
            lines.append(f"- {title}: {stated}")
    yield "\n".join(lines)
    yield (
        "Whether a licence of data binds weights made from them is for you to judge. Please cite the data and the "
        "method."
    )


def _use(description: Description, onnx: bool) -> Iterator[str]:
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
    if onnx:
        yield f"`encoder.windows(signals, rate, leads)` cuts what {ONNX} reads."


def _limits(origin: Origin) -> Iterator[str]:
    yield "For research. It is no medical device, and no output of it is a diagnosis."
    if origin.simulated and origin.trained:
        yield "Pretrained on simulated recordings: its scores say nothing of real ones."
    elif any(facts.get("simulated") for facts in (origin.datasets or {}).values()):
        yield "Its scores are on simulated recordings and say nothing of real ones."
    yield "A recording with NaN, a rate under 50/min (for heartbeats) or fewer windows than a group has no embedding."
