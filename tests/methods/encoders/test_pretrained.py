"""What weights from elsewhere read: what fits together, and how it is told."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, ClassVar

import pytest
import torch
from torch import Tensor, nn

from methods.encoders.pretrained import ORDER, PretrainedEncoder, SignalFormat

PLAIN: dict[str, Any] = {"rate": 500, "leads": ORDER, "unit": "mV", "seconds": 10.0, "standardise": "none"}


def signals(**changed: Any) -> SignalFormat:
    return SignalFormat(**(PLAIN | changed))


@pytest.mark.parametrize(
    ("changed", "of_window"),
    [
        ({"standardise": "none", "unit": "mV"}, lambda x: x),
        ({"standardise": "none", "unit": "uV"}, lambda x: 1000 * x),
        ({"standardise": "none", "unit": "V"}, lambda x: x / 1000),
        ({"standardise": "recording"}, lambda x: x),
        ({"standardise": "window"}, lambda x: (x - x.mean(0)) / x.std(0, correction=0)),
        ({"standardise": "window-all-leads"}, lambda x: (x - x.mean()) / x.std(correction=0)),
    ],
    ids=lambda value: value.get("standardise") if isinstance(value, dict) else "",
)
def test_a_window_is_read_as_its_signals_say(
    changed: dict[str, Any], of_window: Callable[[torch.Tensor], torch.Tensor]
) -> None:
    chosen = signals(leads=("V1", "II"), **changed)
    encoder = type("Theirs", (PretrainedEncoder,), {"name": "theirs", "features": 4, "signals": chosen})()
    x = torch.randn(3, 40, 12, generator=torch.Generator().manual_seed(0))
    for embedded, window in zip(encoder.embed(x), x[..., [6, 1]], strict=True):
        torch.testing.assert_close(embedded, of_window(window), rtol=1e-4, atol=1e-5)


class Theirs(PretrainedEncoder):
    """Gives what it is handed, as a window's first four samples of its first lead."""

    name: ClassVar[str] = "theirs"
    features: ClassVar[int] = 4
    signals: ClassVar[SignalFormat] = signals(leads=("I", "II"))

    def encode(self, x: torch.Tensor) -> torch.Tensor:
        assert x.dtype == torch.float32
        return x[:, 0, :4]


def test_features_are_one_step_of_a_window_of_leads_in_single_precision() -> None:
    x = torch.randn(3, 40, 12)
    assert torch.equal(Theirs()(x), x[:, None, :4, 0])  # leads first
    assert Theirs().config.output == 4
    with torch.autocast("cpu", dtype=torch.bfloat16):
        assert Theirs()(x).dtype == torch.float32


class Loaded(PretrainedEncoder):
    """Has a head that its features leave out, a table of the code, a tied weight and statistics; reads `checkpoint`."""

    name: ClassVar[str] = "loaded"
    features: ClassVar[int] = 4
    signals: ClassVar[SignalFormat] = signals(leads=("I", "II"), rate=100, seconds=1.0)
    checkpoint: ClassVar[dict[str, Tensor]] = {}

    def __init__(self) -> None:
        super().__init__()
        torch.manual_seed(0)
        self.stem = nn.Conv1d(2, 4, 5)
        self.norm = nn.BatchNorm1d(4)
        self.again = self.norm
        self.head = nn.Linear(4, 3)
        self.register_buffer("table", torch.linspace(0, 1, 4)[:, None], persistent=False)

    def load(self) -> None:
        """Read what there is of the names, as many do."""
        self.load_state_dict(self.state_dict() | self.checkpoint, strict=False)

    def encode(self, x: Tensor) -> Tensor:
        return (self.again(self.norm(self.stem(x))) + self.table).relu().mean(-1)


def trained() -> dict[str, Tensor]:
    """A checkpoint of `Loaded` without its head, whose statistics are not those of a new layer."""
    state = Loaded().state_dict()
    for value in state.values():
        if value.ndim:
            value.uniform_(0.1, 1.0)
    return {name: value for name, value in state.items() if not name.startswith("head.")}


@pytest.mark.parametrize(
    "of_checkpoint",
    [
        lambda state: state,
        lambda state: {name: value.half() for name, value in state.items()},
        lambda state: {name: value for name, value in state.items() if not name.startswith("again.")},
    ],
    ids=["without a head", "half precision", "tied once"],
)
def test_weights_that_are_there_are_loaded(
    of_checkpoint: Callable[[dict[str, Tensor]], dict[str, Tensor]], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(Loaded, "checkpoint", of_checkpoint(trained()))
    encoder = Loaded.loaded()
    torch.testing.assert_close(encoder.norm.running_mean, Loaded.checkpoint["norm.running_mean"].float())
    assert all(value.isfinite().all() for value in encoder.state_dict().values())


@pytest.mark.parametrize(
    ("renamed", "missed"),
    [
        (lambda name: f"module.{name}", "not stem.weight, stem.bias"),
        (lambda name: name.replace("norm.", "bn.").replace("again.", "bn2."), "not norm.weight, norm.bias"),
        (lambda name: name.replace("running_var", "variance"), "not norm.running_var"),
    ],
    ids=["DataParallel", "norm", "variance"],
)
def test_weights_that_load_misses_are_named(
    renamed: Callable[[str], str], missed: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(Loaded, "checkpoint", {renamed(name): value for name, value in trained().items()})
    with pytest.raises(ValueError, match=missed):
        Loaded.loaded()


def test_rows_of_a_weight_that_load_misses_are_named(monkeypatch: pytest.MonkeyPatch) -> None:
    def first_channels(self: Loaded) -> None:
        self.load_state_dict(trained(), strict=False)
        self.stem = nn.Conv1d(2, 4, 5)
        self.stem.weight.data[2:] = torch.nan

    monkeypatch.setattr(Loaded, "load", first_channels)
    with pytest.raises(ValueError, match=r"not stem\.weight"):
        Loaded.loaded()


def test_weights_of_a_network_that_load_makes_and_does_not_set_are_named(monkeypatch: pytest.MonkeyPatch) -> None:
    def makes_it(self: Loaded) -> None:
        torch.manual_seed(0)
        self.stem = nn.Conv1d(2, 4, 5)
        self.load_state_dict({f"module.{name}": value for name, value in trained().items()}, strict=False)

    monkeypatch.setattr(Loaded, "load", makes_it)
    with pytest.raises(ValueError, match=r"sets 0 of 12 weights, and not stem\.weight, stem\.bias"):
        Loaded.loaded()


def test_a_constructor_that_needs_the_config_is_one_line(monkeypatch: pytest.MonkeyPatch) -> None:
    def demanding(self: Loaded, config: Any) -> None:
        raise AssertionError

    monkeypatch.setattr(Loaded, "__init__", demanding)
    with pytest.raises(ValueError, match=r"'config'; write __init__\(self, config=None\)$"):
        Loaded.loaded()
