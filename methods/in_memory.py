"""Encoders that Python code holds as objects, as rows: a torch module, a function of arrays, an encoder of the suite.

    kind = object_encoder(network, SignalFormat(rate=500, ...), name="mine")
    with known_by_name([kind]):
        ...                       # 'mine' names a row, 'random+mine' its untrained twin

Of an encoder in a file a key holds the file's content. An object has no file, so that its key holds digests of its
weights, of its source where Python has one, and of its features on fixed windows, rounded: two functions of one source
may hold different models. The worst that rounding does is a row that is computed again.
"""

from __future__ import annotations

import hashlib
import inspect
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager, suppress
from copy import deepcopy
from dataclasses import asdict
from typing import Any, ClassVar

import torch
from torch import Tensor, nn

from methods.encoders.base import Encoder
from methods.encoders.pretrained import EXTERNAL_VERSION, PretrainedEncoder, SignalFormat

IN_MEMORY: dict[str, type[PretrainedEncoder]] = {}
"""Name -> encoder of a row that Python code holds as an object, as long as a call of it runs."""
WINDOWS = 4
"""Fixed windows on which an object's features are taken for its key."""
SIGNIFICANT = 3
"""Digits of a feature in the key: other processors differ in the last of seven."""
LENGTH_OF_SUITE = 300
"""Samples of a fixed window of an encoder of the suite, which reads windows of any length."""


class FunctionOfArrays(nn.Module):
    """A function of arrays (n, samples, leads) as a network of windows (B, L, S). A copy is itself."""

    def __init__(self, function: Callable[[Any], Any]) -> None:
        super().__init__()
        self.function = function

    def forward(self, x: Tensor) -> Tensor:
        """Compute features (B, K)."""
        windows = x.mT.contiguous().cpu().numpy()  # (B, S, L)
        features = self.function(windows)
        return torch.as_tensor(features, dtype=torch.float32, device=x.device)

    def __deepcopy__(self, memo: Any) -> FunctionOfArrays:
        return self


class ObjectEncoder(PretrainedEncoder):
    """The encoder of a row around a copy of a network that Python code holds."""

    given: ClassVar[Any]
    digests: ClassVar[dict[str, str]]

    def __init__(self, config: Any = None) -> None:
        super().__init__(config)
        self.network: Any = self.make()

    @classmethod
    def make(cls) -> nn.Module:
        """Return the network of a new encoder: a copy, so that fine-tuning does not reach the object."""
        return deepcopy(cls.given)

    def load(self) -> None:
        """Do nothing: the network has its weights."""

    def encode(self, x: Tensor) -> Tensor:
        """Compute features of windows: (B, L, S) -> (B, K)."""
        return self.network(x)

    @classmethod
    def loaded(cls) -> PretrainedEncoder:
        """Return a new encoder in evaluation mode."""
        return cls().eval()

    @classmethod
    def word(cls) -> str:
        """Return its name, by which messages call it."""
        return cls.name

    @classmethod
    def external_files(cls) -> dict[str, Any]:
        """Return what stands in content keys for its code and weights."""
        signals = None if cls.reads_windows_of_run else asdict(cls.signals)
        return {"external": EXTERNAL_VERSION, "signals": signals, "object": cls.digests}


class SuiteObject(ObjectEncoder):
    """An encoder of the suite with its weights; it reads the windows of the run."""

    reads_windows_of_run = True

    def embed(self, x: Tensor) -> Tensor:
        """Embed windows as the encoder does."""
        return self.network.embed(x)

    def steps(self, embedded: Tensor) -> Tensor:
        """Compute the features of each step as the encoder does."""
        return self.network.steps(embedded)

    def pooled(self, x: Tensor, mask: Any = None) -> Tensor:
        """Pool the features as the encoder does."""
        return self.network.pooled(x, mask)


def object_encoder(
    network: Any,
    signals: SignalFormat | None,
    *,
    name: str,
    title: str = "",
    pretrained_on: Sequence[str] | None = None,
    licence: str = "unknown",
) -> type[ObjectEncoder]:
    """Make the class of a row of a network with its weights, which is copied: later training does not reach the row.

    network: a torch module (B, L, S) -> (B, K); a function of arrays (n, samples, leads) -> (n, K), which cannot be
    fine-tuned; or an `Encoder` of the suite, which reads the windows of a run and needs no `signals`. pretrained_on: as
    of `PretrainedEncoder`. Raises ValueError, in one line, for what gives no features of such windows.
    """
    is_of_suite = isinstance(network, Encoder) and not isinstance(network, PretrainedEncoder)
    if not is_of_suite and signals is None:
        raise ValueError(f"{name}: say what it reads, signals=SignalFormat(rate=..., leads=..., unit=..., seconds=...)")
    is_module = isinstance(network, nn.Module)
    if not is_module and not callable(network):
        raise ValueError(f"{name}: {type(network).__name__} is no torch module and no function of arrays")
    given = deepcopy(network).cpu().eval() if is_module else FunctionOfArrays(network)
    digests = {"weights": weights_digest(given), "source": source_digest(network)}
    learns = any(parameter.requires_grad for parameter in given.parameters())
    facts = {
        "name": name, "title": title or name, "signals": signals, "licence": licence, "given": given,
        "pretrained_on": None if pretrained_on is None else tuple(pretrained_on),
        "frozen": "" if learns else "no gradients reach its weights", "digests": digests, "features": 1,
        "__module__": __name__,
    }  # fmt: skip
    if is_of_suite:
        facts |= {"pooling": network.pooling, "pooled_only": network.pooled_only}
    encoder_class: type[ObjectEncoder] = type("ObjectEncoder", (SuiteObject if is_of_suite else ObjectEncoder,), facts)
    features = features_of(encoder_class)  # (B, K)
    encoder_class.features = features.shape[1]
    digests["features"] = digest_of_features(features)
    return encoder_class


@torch.no_grad()
def features_of(encoder_class: type[ObjectEncoder]) -> Tensor:
    """Compute features (B, K) of fixed windows of noise, on one thread. Raises ValueError where there are none."""
    generator = torch.Generator().manual_seed(0)
    threads = torch.get_num_threads()
    torch.set_num_threads(1)
    try:
        if encoder_class.reads_windows_of_run:
            config = encoder_class.given.config
            samples = next(samples for samples in range(LENGTH_OF_SUITE, 10_000) if config.takes(samples))
            leads = config.leads
            x = torch.randn(WINDOWS, samples, leads, generator=generator)  # (B, S, 12)
            features = encoder_class.given.pooled(x)  # (B, K)
        else:
            samples = encoder_class.signals.samples
            leads = len(encoder_class.signals.leads)
            x = torch.randn(WINDOWS, leads, samples, generator=generator)  # (B, L, S)
            features = encoder_class.given(x)  # (B, K)
    except Exception as error:  # of anyone's code
        reason = " ".join(str(error).split())[-160:] or type(error).__name__
        windows = f"windows of {leads} leads and {samples} samples"
        raise ValueError(f"{encoder_class.name}: it takes no {windows} ({type(error).__name__}: {reason})") from error
    finally:
        torch.set_num_threads(threads)
    if not isinstance(features, Tensor) or features.ndim != 2 or len(features) != WINDOWS:
        shape = tuple(features.shape) if isinstance(features, Tensor) else type(features).__name__
        raise ValueError(
            f"{encoder_class.name}: {WINDOWS} windows give {shape}; ({WINDOWS}, K) is needed, e.g. means over time"
        )
    return features.float()


def digest_of_features(features: Tensor) -> str:
    """Digest features (B, K), each rounded to `SIGNIFICANT` digits of the largest."""
    largest = features.abs().max().clamp_min(1e-30)
    rounded = (features / largest * 10**SIGNIFICANT).round().int()  # (B, K)
    return hashlib.sha256(rounded.numpy().tobytes()).hexdigest()


def weights_digest(network: nn.Module) -> str:
    """Digest names, types, shapes and bytes of a network's weights."""
    content = hashlib.sha256()
    for name, value in sorted(network.state_dict().items()):
        content.update(f"{name} {value.dtype} {tuple(value.shape)}\0".encode())
        content.update(value.detach().cpu().contiguous().reshape(-1).view(torch.uint8).numpy().tobytes())
    return content.hexdigest()


def source_digest(network: Any) -> str:
    """Digest the source of a function, or of a module's class; '' where Python has none."""
    with suppress(OSError, TypeError):
        source = inspect.getsource(type(network) if isinstance(network, nn.Module) else network)
        return hashlib.sha256(source.encode()).hexdigest()
    return ""


@contextmanager
def known_by_name(encoders: Sequence[type[ObjectEncoder]]) -> Iterator[None]:
    """Let encoders of objects be named within, as a method or the path of a file is; their weights go afterwards."""
    IN_MEMORY.update({encoder_class.name: encoder_class for encoder_class in encoders})
    try:
        yield
    finally:
        for encoder_class in encoders:
            del IN_MEMORY[encoder_class.name]
            encoder_class.given = nn.Identity()  # classes are cached, and would hold the weights
