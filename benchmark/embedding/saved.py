"""The folder of an exported encoder: all that makes its embeddings of a recording, and what is known of its making.

encoder.safetensors    weights
encoder.py             source of an encoder that a user wrote; to be read, never executed
config.json            `Description`
MODEL_CARD.md          how it was made and what it is good for
encoder.onnx           windows to embeddings, if asked for (benchmark.embedding.onnx)
"""

from __future__ import annotations

import hashlib
import json
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Annotated, Any, Literal, NotRequired, get_args

from pydantic import with_config
from typing_extensions import TypedDict

from benchmark.config.errors import ConfigError
from benchmark.data.prepared.beats import FS
from benchmark.data.prepared.cache_key import PIPELINE_VERSION
from benchmark.data.prepared.scale import Scale
from benchmark.data.prepared.windows import Kind, Rate, Segmentation
from benchmark.data.readers.base import LEADS
from benchmark.embedding.cut import Taken
from benchmark.results.files.read import read_json
from benchmark.results.files.write import write_atomic
from benchmark.results.names import CARD
from benchmark.results.schema import CLOSED, Count, Labels, Line, Protocol, checked, shaped
from benchmark.training.weights import SOURCE, WEIGHTS, built_encoder
from methods.encoders import DEFAULT, get_encoder
from methods.encoders.base import Encoder

FORMAT = 1
CONFIG, MODEL_CARD = "config.json", "MODEL_CARD.md"
STANDARDISATION = "z-score per recording and lead, then per pseudo-trial and lead"
ONCE = "z-score per recording and lead"
ONE_SCALE = "mean and deviation of the pretraining corpus, over all leads"
UNSCALED = "none: millivolts"
STANDARDISATIONS = (STANDARDISATION, ONCE, ONE_SCALE, UNSCALED)
RATES = get_args(Rate)


@with_config(CLOSED)
class Cut(TypedDict):
    """How a recording is cut."""

    kind: Kind
    samples: Count
    """Of a window."""
    per_trial: Count
    """Consecutive windows standardised together; those left over at a recording's end are dropped."""
    stride: NotRequired[Count]
    """Samples from crop to crop of a recording that is kept whole."""
    pad: NotRequired[bool]
    """Whether a recording shorter than a window is lengthened by zeros."""
    scale: NotRequired[list[float]]
    """Mean and deviation of the pretraining corpus, mV, by which every sample is standardised."""
    present: NotRequired[list[Line]]
    """The leads that its tests had, if not all; the others are zero."""


@with_config(CLOSED)
class TaskRules(TypedDict):
    """The task that the scores in the model card are of; it determines the sides of a dataset."""

    labels: Labels
    protocol: Protocol


@dataclass(frozen=True)
class Description:
    """Content of config.json."""

    name: Line
    """Of the row in the tables, e.g. 'pmq'; 'released' of a published checkpoint."""
    title: Line
    encoder: dict[str, Any]
    """Name and sizes, and the digest of its source if a user wrote it (`methods.encoders.identity`)."""
    sha256: Line
    """Of the weights."""
    cut: Annotated[dict[str, Any], shaped(Cut)]
    precision: Literal["float32", "bf16"]
    """In which the linear probe saw its embeddings."""
    task: Annotated[dict[str, Any], shaped(TaskRules)]
    pretraining: dict[str, Any]
    """Key, method, seed, data and budget; empty if none of it is known."""
    leads: Annotated[list[str], shaped(list[Line])]
    """Order in which the encoder reads them."""
    rate: int = FS
    """Hz, of a window."""
    standardisation: Line = STANDARDISATION
    pipeline: int = PIPELINE_VERSION
    """Version of the preparation of windows."""
    format: int = FORMAT

    @property
    def segmentation(self) -> Segmentation:
        """How recordings are cut into windows."""
        cut, raw = self.cut, self.standardisation in (ONE_SCALE, UNSCALED)
        return Segmentation(
            cut["kind"], cut["samples"], self.rate, cut.get("stride", 0), raw=raw, pad=cut.get("pad", False)
        )

    @property
    def taken(self) -> Taken:
        """All that makes the windows of a recording."""
        scale = Scale(*self.cut["scale"]) if "scale" in self.cut else None
        return Taken(self.segmentation, self.per_trial, scale, tuple(self.cut.get("present", LEADS)))

    @property
    def rules(self) -> dict[str, Any]:
        """Config key -> value of the task's rules."""
        return {"data.labels": self.task["labels"], "protocol": self.task["protocol"]}

    @property
    def per_trial(self) -> int:
        """Windows of a pseudo-trial."""
        return int(self.cut["per_trial"])


def standardisation_of(segmentation: Segmentation, *, scaled: bool) -> str:
    """How the windows of a segmentation are standardised, by one scale or not."""
    if segmentation.raw:
        return ONE_SCALE if scaled else UNSCALED
    return STANDARDISATION if segmentation.joined_scale else ONCE


def save_folder(
    folder: Path, description: Description, weights: bytes, card: str, *, source: bytes | None = None
) -> list[Path]:
    """Write an encoder's folder, config.json last; returns its files. Raises OSError."""
    contents = {WEIGHTS: weights, **({SOURCE: source} if source else {}), MODEL_CARD: card.encode()}
    contents[CONFIG] = json.dumps(asdict(description), indent=1).encode()
    for name, content in contents.items():
        write_atomic(folder / name, content)
    if source is None:
        (folder / SOURCE).unlink(missing_ok=True)  # of an encoder that was here before
    return [folder / name for name in contents]


def read_description(folder: Path) -> Description:
    """The description in a folder. Raises ConfigError, in one line, if it is no exported encoder that can be used."""
    file = folder / CONFIG
    if not file.is_file():
        store = (folder / CARD).is_file()
        remedy = (
            f"`export {folder.name} --to FOLDER` makes one of it" if store else "`export NAME --to FOLDER` makes one"
        )
        what = "a pretraining of a results store" if store else "no exported encoder"
        raise ConfigError(f"{folder} is {what}: {CONFIG} is not there; {remedy}")
    try:
        values = read_json(file)
        if not isinstance(values, dict) or values.get("format") != FORMAT:
            raise ValueError(f"this version reads format {FORMAT}")
        description = checked(Description, values)
    except (OSError, ValueError) as error:
        raise ConfigError(f"{file}: {error}; export the encoder again") from None
    wrong = _differs(description)
    if wrong:
        raise ConfigError(f"{file}: {wrong}; use the version of the suite that exported it, or export it again")
    return description


def _differs(description: Description) -> str:
    """How the windows of an encoder differ from those that this version cuts; '' if they are the same."""
    if description.pipeline != PIPELINE_VERSION:
        return f"its windows were cut by version {description.pipeline} of the preparation, here is {PIPELINE_VERSION}"
    if description.rate not in RATES or description.standardisation not in STANDARDISATIONS:
        return f"its windows are at {description.rate} Hz and {description.standardisation}, which is not known here"
    return "" if tuple(description.leads) == LEADS else f"it reads the leads {' '.join(description.leads)}"


def read_encoder(folder: Path, description: Description, code: str | Path | None = None) -> Encoder:
    """The encoder in a folder, in evaluation mode.

    code: the file that defines it, if a user wrote it; the copy in the folder may be anyone's and is not executed.
    Raises ConfigError, in one line, if the weights are not those of the description or the code is another.
    """
    try:
        weights = (folder / WEIGHTS).read_bytes()
    except OSError as error:
        raise ConfigError(f"{folder / WEIGHTS}: {error.strerror}; export the encoder again") from None
    if hashlib.sha256(weights).hexdigest() != description.sha256:
        raise ConfigError(f"{folder / WEIGHTS}: the file does not match the digest in {CONFIG}; export it again")
    return encoder_of(description.encoder, weights, folder, code).eval()


def encoder_of(stored: dict[str, Any], weights: bytes, folder: Path, code: str | Path | None) -> Encoder:
    """The encoder of a name and sizes with these weights, which lie in a folder. Raises ConfigError in one line."""
    name = stored.get("name", DEFAULT)
    if "source" not in stored and code is not None:
        raise ConfigError(f"--code {code} is for an encoder from a file; this is {name!r} of the suite: leave it out")
    if "source" in stored and code is None:
        raise ConfigError(
            f"the encoder {name!r} in {folder} is from a file of its author: read {folder / SOURCE}, then name it "
            "with --code FILE (in Python: code=FILE)"
        )
    try:
        return built_encoder(get_encoder(str(code) if "source" in stored else name), stored, weights)
    except (TypeError, ValueError, RuntimeError) as error:
        raise ConfigError(f"{folder}: {' '.join(str(error).split())}") from None
