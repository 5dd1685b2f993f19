"""Encoders whose weights come from elsewhere: the contract, and the signals that they read.

    class Theirs(PretrainedEncoder):
        name, title, features, licence = "theirs", "Theirs", 256, "MIT"
        signals = SignalFormat(rate=100, leads=("I", "II", "V2"), unit="mV", seconds=10, standardise="window")
        weights, pretrained_on = ("theirs.pt",), ("ptb-xl",)

        def __init__(self, config=None): ...   # the network
        def load(self): ...                    # its weights, from `self.file("theirs.pt")`
        def encode(self, x): ...               # (B, L, S) -> (B, K)

The suite cuts and resamples recordings to these signals; leads, unit and standardisation of windows are arranged here.
It is judged as it is, and fine-tuned where gradients reach its weights; it is never pretrained.
"""

from __future__ import annotations

import hashlib
import sys
from dataclasses import asdict
from functools import cache
from pathlib import Path
from typing import Annotated, Any, ClassVar, Literal, Self, get_args

import torch
from pydantic import ConfigDict, Field, model_validator
from pydantic.dataclasses import dataclass
from torch import Tensor
from torch.nn.parameter import is_lazy
from torch.overrides import TorchFunctionMode

from methods.encoders.base import Encoder, EncoderConfig, Size

Lead = Literal["I", "II", "III", "aVR", "aVL", "aVF", "V1", "V2", "V3", "V4", "V5", "V6"]
ORDER: tuple[Lead, ...] = get_args(Lead)
"""Leads of a window, in the order of its last axis."""
PER_MILLIVOLT = {"mV": 1.0, "uV": 1000.0, "V": 0.001}
SMALLEST = 1e-8
"""Divisor in place of a deviation of zero."""
NAMED = 4
"""Most weights that a message names."""
EXTERNAL_VERSION = 2
"""Results version: raised with any change that can move a feature of an encoder from elsewhere."""
Standardisation = Literal["none", "recording", "window", "window-all-leads"]
"""none: in the unit; recording, window: z-score per lead over it; window-all-leads: one z-score for all leads."""


# Strict field by field, as `methods.base.Recipe`.
@dataclass(frozen=True, kw_only=True, config=ConfigDict(extra="forbid", allow_inf_nan=False))
class SignalFormat:
    """Signals that an encoder reads. Raises ValueError for what does not fit together.

    >>> SignalFormat(rate=100, leads=("I", "II"), unit="mV", seconds=5.0, standardise="none").samples
    500
    """

    rate: Annotated[int, Field(ge=25, le=2000, strict=True)]
    """Hz."""
    leads: Annotated[tuple[Lead, ...], Field(min_length=1)]
    """Leads in the order in which the encoder reads them."""
    unit: Literal["mV", "uV", "V"]
    seconds: Annotated[float, Field(ge=0.25, le=60, strict=True)] | None = None
    """Length of a window; a recording gives as many as it holds, and a shorter one is lengthened by zeros."""
    heartbeats: Annotated[bool, Field(strict=True)] = False
    """Windows of 1.2 s around each heartbeat instead, padded as the paper's."""
    standardise: Standardisation
    """Any other normalisation is part of `encode`."""

    @model_validator(mode="after")
    def _fits_together(self) -> SignalFormat:
        if (self.seconds is None) != self.heartbeats:
            raise ValueError("give either seconds, the length of a window, or heartbeats: true")
        return self

    @property
    def samples(self) -> int:
        """S, of a window."""
        return 300 * self.rate // 250 if self.seconds is None else round(self.seconds * self.rate)

    def words(self) -> str:
        """Return 'windows of 10 s at 500 Hz of I II V2 in mV, standardised: window'."""
        long = "heartbeats" if self.seconds is None else f"windows of {self.seconds:g} s"
        leads = "12 leads" if len(self.leads) == len(ORDER) else f"{' '.join(self.leads)}"
        return f"{long} at {self.rate} Hz of {leads} in {self.unit}, standardised: {self.standardise}"


@dataclass(frozen=True, kw_only=True)
class PretrainedConfig(EncoderConfig):
    """Width of the features; windows have the suite's 12 leads, of which the encoder takes its own."""

    output: Size = 1


class PretrainedEncoder(Encoder):
    """An encoder with weights of its own. Subclasses set the class attributes, and define `load` and `encode`."""

    Config: ClassVar[type[EncoderConfig]] = PretrainedConfig
    title: ClassVar[str]
    """Title in tables."""
    signals: ClassVar[SignalFormat]
    features: ClassVar[int]
    """K, the width of `encode`."""
    licence: ClassVar[str]
    """Licence of the weights, e.g. 'MIT'; 'unknown'."""
    pretrained_on: ClassVar[tuple[str, ...] | None]
    """Names of datasets, or 'other: NAME' for one that the suite does not know; None: not known."""
    weights: ClassVar[tuple[str, ...]] = ()
    """Files that `load` reads, beside the file of the class; their content is part of the row's key."""
    frozen: ClassVar[str] = ""
    """Reason why it cannot be fine-tuned; '' where gradients reach its weights."""
    is_twin = False
    """True for the untrained twin of another (`methods.twins`): each seed draws its weights, which are stored."""
    reads_windows_of_run = False
    """True for an encoder of the suite that is an object: it reads the windows of the run, and has no `signals`."""

    def __init__(self, config: EncoderConfig | None = None) -> None:
        super().__init__(config or PretrainedConfig(output=self.features))

    def load(self) -> None:
        """Read the weights into the network, from the files of `weights`."""
        raise NotImplementedError(f"{type(self).__name__}.load: read the weights, e.g. from self.file('theirs.pt')")

    def encode(self, x: Tensor) -> Tensor:
        """Compute features of windows as `signals` says: (B, L, S) -> (B, K)."""
        raise NotImplementedError(f"{type(self).__name__}.encode: give the features (B, K)")

    @classmethod
    def word(cls) -> str:
        """Return what names it on a command line: its file."""
        return str(sys.modules[cls.__module__].__file__)

    @classmethod
    def file(cls, name: str) -> Path:
        """Return the path of a file of `weights`, which lies beside the file of the class."""
        return Path(cls.word()).with_name(name)

    @classmethod
    def external_files(cls) -> dict[str, Any]:
        """Return what fixes its features besides its code, for content keys. Raises ValueError for a missing file."""
        twin = {"twin": "drawn"} if cls.is_twin else {}
        weights = [digest_of(cls.file(name)) for name in cls.weights]
        return {"external": EXTERNAL_VERSION, "signals": asdict(cls.signals), "weights": weights, **twin}

    @classmethod
    def new(cls) -> Self:
        """Return an encoder before `load`. Raises ValueError where its constructor needs arguments."""
        try:
            return cls()
        except TypeError as problem:
            raise ValueError(f"{cls.word()}: {problem}; write __init__(self, config=None)") from problem

    @classmethod
    def loaded(cls) -> PretrainedEncoder:
        """Return the encoder with its weights, in evaluation mode. Raises ValueError for weights that `load` misses."""
        encoder = cls.new()
        if cls.is_twin:
            return encoder.eval()
        mark(encoder)
        with DrawnIsMissed():
            encoder.load()
        encoder.eval()
        refuse_missed(encoder)
        return encoder

    def embed(self, x: Tensor) -> Tensor:
        """Return its leads of windows in mV or standardised per recording, in its unit and standardised: (B, S, L)."""
        signals = self.signals
        x = x[..., [ORDER.index(lead) for lead in signals.leads]].float()  # (B, S, L)
        if signals.standardise in ("window", "window-all-leads"):
            axes = (1,) if signals.standardise == "window" else (1, 2)
            return (x - x.mean(axes, keepdim=True)) / x.std(axes, correction=0, keepdim=True).clamp_min(SMALLEST)
        return x * PER_MILLIVOLT[signals.unit] if signals.standardise == "none" else x

    def steps(self, embedded: Tensor) -> Tensor:
        """Compute features as a window's one step, (B, S, L) -> (B, 1, K), in float32 at any precision of the run."""
        with torch.autocast(embedded.device.type, enabled=False):
            return self.encode(embedded.float().mT)[:, None].float()  # (B, 1, K)


@torch.no_grad()
def mark(encoder: PretrainedEncoder) -> None:
    """Overwrite the weights of a new encoder with NaN, by which those that `load` misses are known.

    Weights are parameters and persistent buffers, e.g. the statistics of batch normalisation. A buffer that is not
    persistent is a constant of the code, as a table of positions.
    """
    for weight in filter(is_weight, encoder.state_dict().values()):
        weight.fill_(torch.nan)


class DrawnIsMissed(TorchFunctionMode):
    """Marks also what is drawn at random: the weights of a network that `load` makes itself."""

    def __torch_function__(self, function: Any, types: Any, args: Any = (), kwargs: Any = None) -> Any:
        result = function(*args, **kwargs or {})
        if function.__name__.endswith(("uniform_", "normal_")):
            result.detach().fill_(torch.nan)
        return result


def is_weight(value: Any) -> bool:
    """Tell whether an entry of a state dict can hold NaN: a count cannot, and a lazy layer has no values yet."""
    return isinstance(value, Tensor) and not is_lazy(value) and (value.is_floating_point() or value.is_complex())


@torch.no_grad()
def refuse_missed(encoder: PretrainedEncoder) -> None:
    """Raise ValueError, with their names, for weights that `load` has not set and on which the features depend.

    Others, e.g. those of a head that `encode` leaves out, become zero.
    """
    weights = {name: value for name, value in encoder.state_dict().items() if is_weight(value)}
    missed = [name for name, value in weights.items() if value.isnan().any()]
    if not missed:
        return
    generator = torch.Generator().manual_seed(0)
    x = torch.randn(1, encoder.signals.samples, len(ORDER), generator=generator)  # (1, S, 12)
    marked_features = encoder.steps(encoder.embed(x))  # (1, 1, K)
    for name in missed:
        weights[name].masked_fill_(weights[name].isnan(), 0)
    if not torch.equal(encoder.steps(encoder.embed(x)), marked_features):
        names = ", ".join(missed[:NAMED])
        raise ValueError(
            f"{encoder.word()}: load() sets {len(weights) - len(missed)} of {len(weights)} weights, and not {names}: "
            "compare their names with the checkpoint's (strict=False says nothing of them); a constant of the code is "
            "a buffer with persistent=False"
        )


def digest_of(file: Path) -> str:
    """Compute the SHA-256 of a file, read once per change. Raises ValueError where it is missing."""
    if not file.is_file():
        raise ValueError(f"{file}: No such file; name a file that is there")
    return _digest(file, file.stat().st_mtime_ns)


@cache
def _digest(file: Path, changed_ns: int) -> str:
    with open(file, "rb") as opened:
        return hashlib.file_digest(opened, "sha256").hexdigest()
