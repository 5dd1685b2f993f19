"""Every method and encoder keeps the contract, and the checks of the contract find faults.

A method or an encoder is covered by its line in `METHODS` or `ENCODERS`.
"""

from __future__ import annotations

import copy
from collections.abc import Callable
from typing import ClassVar

import pytest
import torch
from pydantic.dataclasses import dataclass
from torch import Tensor, nn

from methods import METHODS
from methods.base import Batch, MethodConfig, PretrainMethod
from methods.contract import ENCODER_CHECKS, METHOD_CHECKS, batch_of
from methods.encoders import ENCODERS
from methods.encoders.base import Encoder, EncoderConfig, Size
from methods.encoders.dilated import Dilated
from methods.encoders.vit import ViT1d
from methods.momentum import momentum_copy, update_momentum
from methods.parts.losses import info_nce, unit_length
from tests import make

TRAINED = [name for name, kind in METHODS.items() if kind.trains]
PAIRS = [(name, Dilated) for name in TRAINED if name != "mae"]
PAIRS += [(name, ViT1d) for name in ("mae", "ts2vec", "cpc", "jepa")]  # type: ignore[list-item]
"""Each method with the default encoder, and with tokens where they are trained differently."""


@pytest.mark.parametrize("check", METHOD_CHECKS, ids=lambda check: check.__name__)
@pytest.mark.parametrize(("name", "encoder"), PAIRS, ids=lambda value: value if isinstance(value, str) else value.name)
def test_methods_keep_the_contract(name: str, encoder: type[Encoder], check: Callable[..., None]) -> None:
    check(METHODS[name], encoder)


def test_the_untrained_encoder_keeps_what_applies_to_it() -> None:
    METHOD_CHECKS[0](METHODS["random"], Dilated)
    first, second = (batch_of(METHODS["random"], seed=seed) for seed in range(2))
    assert first.patient.tolist() == [1, 1, 2, 2, 3, 3, 4, 4, 1, 1, 2, 2]  # as a loader counts
    assert (first.x1 - second.x1).std() > 3 * (first.x1 - first.x2).std()


@pytest.mark.parametrize("check", ENCODER_CHECKS, ids=lambda check: check.__name__)
@pytest.mark.parametrize("name", ENCODERS)
def test_encoders_keep_the_contract(name: str, check: Callable[..., None]) -> None:
    assert ENCODERS[name].name == name
    check(ENCODERS[name])


def test_an_encoder_refuses_windows_that_it_cannot_take() -> None:
    for name, taken, refused in (("s4", 300, 301), ("vit1d", 300, 301), ("vit1d", 300, 302), ("xresnet1d101", 32, 31)):
        small = ENCODERS[name].Config.small()
        assert (small.takes(taken), small.takes(refused)) == (True, False)


@pytest.mark.parametrize(
    ("name", "encoder", "batch", "message"),
    [
        ("cpc", Dilated, make.batch(steps=1), "cpc: the encoder gives 1 step per window"),
        ("jepa", Dilated, make.batch(steps=1), "jepa: the encoder gives 1 step"),
        ("ts2vec", Dilated, make.batch(steps=1), "ts2vec: the encoder gives 1 step"),
        ("mae", ViT1d, make.batch(steps=2), "mae: the encoder gives 1 step"),
        ("etp", Dilated, make.batch(), r"text is none, methods\.etp\.text_width = 768"),
        ("clip-report", Dilated, make.batch(text=12), "clip-report: .* text is 12 wide"),
    ],
    ids=lambda value: value if isinstance(value, str) else "",
)
def test_a_batch_that_a_method_cannot_use_is_refused(
    name: str, encoder: type[Encoder], batch: Batch, message: str
) -> None:
    with pytest.raises(ValueError, match=message):
        METHODS[name](encoder(encoder.Config.small()), METHODS[name].Config())(batch)


class Sound(PretrainMethod):
    """InfoNCE against a momentum copy. Its subclasses have one fault each."""

    name: ClassVar[str] = "sound"
    title: ClassVar[str] = "Sound"

    def __init__(self, encoder: Dilated, config: MethodConfig) -> None:
        super().__init__(encoder, config)
        self.head = nn.Linear(encoder.config.output, 8)
        self.momentum_encoder = momentum_copy(encoder)
        self.count = 0

    def forward(self, batch: Batch) -> Tensor:
        with torch.no_grad():
            k = self.head(self.momentum_encoder.pooled(batch.x2))
        return self.loss(self.head(self.encoder.pooled(batch.x1)), k)

    def loss(self, q: Tensor, k: Tensor) -> Tensor:
        return info_nce(unit_length(q), unit_length(k), 0.1)

    def after_step(self) -> None:
        update_momentum(self.momentum_encoder, self.encoder, 0.9)
        self.count += 1


class Detached(Sound):
    def loss(self, q: Tensor, k: Tensor) -> Tensor:
        return super().loss(q.detach(), k) + 0 * self.head.weight.sum()


class CopyThatLearns(Sound):
    def __init__(self, encoder: Dilated, config: MethodConfig) -> None:
        super().__init__(encoder, config)
        self.momentum_encoder = copy.deepcopy(encoder)


class HiddenCount(Sound):
    def loss(self, q: Tensor, k: Tensor) -> Tensor:
        return super().loss(q, k) / (1 + self.count)


@dataclass(frozen=True, kw_only=True)
class SoundConfig(EncoderConfig):
    output: Size = 8


class SoundEncoder(Encoder):
    """Two layers per time step. Its subclasses have one fault each."""

    name: ClassVar[str] = "sound"
    Config: ClassVar[type[EncoderConfig]] = SoundConfig

    def __init__(self, config: SoundConfig | None = None) -> None:
        super().__init__(config)
        self.first = nn.Linear(self.config.leads, 6)
        self.second = nn.Linear(6, self.config.output)
        self.scale = 1.0

    def embed(self, x: Tensor) -> Tensor:
        return self.first(x)

    def steps(self, embedded: Tensor) -> Tensor:
        return self.scale * self.second(embedded.tanh())


class HiddenNumber(SoundEncoder):
    def __init__(self, config: SoundConfig | None = None) -> None:
        super().__init__(config)
        self.scale = float(torch.rand(()))


class SeesOtherWindows(SoundEncoder):
    def steps(self, embedded: Tensor) -> Tensor:
        return super().steps(embedded - embedded.mean(0))


class IdleParameter(SoundEncoder):
    def __init__(self, config: SoundConfig | None = None) -> None:
        super().__init__(config)
        self.idle = nn.Parameter(torch.zeros(3))


class LooksPastTheMask(SoundEncoder):
    def masked(self, x: Tensor, mask: Callable[[Tensor], Tensor] | None) -> Tensor:
        return super().masked(x, mask) + (0 if mask is None else 1e-3 * self.first(x))


def failed(checks: tuple[Callable[..., None], ...], *classes: type) -> set[str]:
    """Names of the checks that raise."""
    names = set()
    for check in checks:
        try:
            check(*classes)
        except AssertionError:
            names.add(check.__name__)
    return names


@pytest.mark.parametrize(
    ("kind", "check"),
    [
        (Detached, "gradients_reach_the_encoder"),
        (CopyThatLearns, "gradients_reach_the_encoder"),
        (HiddenCount, "resumes_to_the_bit"),
    ],
)
def test_a_faulty_method_fails_its_check(kind: type[PretrainMethod], check: str) -> None:
    assert failed(METHOD_CHECKS, Sound, Dilated) == set()
    assert check in failed(METHOD_CHECKS, kind, Dilated)


@pytest.mark.parametrize(
    ("kind", "check"),
    [
        (HiddenNumber, "state_is_in_the_checkpoint"),
        (SeesOtherWindows, "windows_are_independent"),
        (LooksPastTheMask, "masks_act_on_the_embedded_input"),
        (IdleParameter, "every_method_trains_it"),
    ],
)
def test_a_faulty_encoder_fails_its_check(kind: type[Encoder], check: str, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("methods.contract.METHODS", {"pclr": METHODS["pclr"]})
    assert failed(ENCODER_CHECKS, SoundEncoder) == set()
    assert check in failed(ENCODER_CHECKS, kind)


@pytest.mark.parametrize("mask", ["time_mask", "frequency_mask"])
@pytest.mark.parametrize("name", [name for name in TRAINED if hasattr(METHODS[name].Config(), "frequency_mask")])
def test_masks_act_on_both_views(name: str, mask: str) -> None:
    """With all hidden the views have no influence on the loss; with nothing hidden each has."""

    def loss(share: float, x1: Tensor, x2: Tensor) -> Tensor:
        torch.manual_seed(0)
        shares = {"time_mask": 0.0, "frequency_mask": 0.0, "encoder_dropout": 0.0, mask: share}
        method = METHODS[name](Dilated(Dilated.Config.small()), METHODS[name].Config(**shares))
        if hasattr(method, "queue"):  # an empty queue leaves MoCo without a negative
            method.queue.push(torch.randn(8, 16), torch.arange(8), torch.arange(8))
        return method(Batch(x1, x2, torch.arange(6), torch.arange(6), torch.arange(6))).detach()

    x = torch.randn(4, 6, 20, 12)
    views = ((x[0], x[1]), (x[2], x[1]), (x[0], x[3]))
    seen, hidden = ([loss(share, *pair) for pair in views] for share in (0.0, 1.0))
    torch.testing.assert_close(hidden, [hidden[0]] * 3)
    assert len(set(map(float, seen))) == 3
