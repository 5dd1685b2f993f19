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


class OneView(Sound):
    def forward(self, batch: Batch) -> Tensor:
        return super().forward(batch._replace(x2=batch.x1))


class PatientAsNumber(Sound):
    def forward(self, batch: Batch) -> Tensor:
        return super().forward(batch) + 0.01 * (batch.patient * self.head(self.encoder.pooled(batch.x1)).mean(1)).mean()


class TrialAsIndex(Sound):
    def __init__(self, encoder: Dilated, config: MethodConfig) -> None:
        super().__init__(encoder, config)
        self.weight = nn.Parameter(torch.rand(1000))

    def forward(self, batch: Batch) -> Tensor:
        return super().forward(batch) * self.weight[batch.trial].mean() + self.weight[batch.trial[0]]


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


class TimeLast(SoundEncoder):
    def embed(self, x: Tensor) -> Tensor:
        return super().embed(x).mT

    def steps(self, embedded: Tensor) -> Tensor:
        return super().steps(embedded.mT)


class MasksActOnLeads(SoundEncoder):
    def embed(self, x: Tensor) -> Tensor:
        return x

    def steps(self, embedded: Tensor) -> Tensor:
        return super().steps(self.first(embedded))


class TwelveLeads(SoundEncoder):
    def __init__(self, config: SoundConfig | None = None) -> None:
        super().__init__(config)
        self.first = nn.Linear(12, 6)


class OneWidth(SoundEncoder):
    def __init__(self, config: SoundConfig | None = None) -> None:
        super().__init__(config)
        self.second = nn.Linear(6, 8)


class RefusesSmallWindows(SoundEncoder):
    @dataclass(frozen=True, kw_only=True)
    class Config(SoundConfig):  # type: ignore[misc]
        def check_length(self, samples: int) -> None:
            if samples < 100:
                raise ValueError("too short")


class Backwards(SoundEncoder):
    def steps(self, embedded: Tensor) -> Tensor:
        return super().steps(embedded).flip(1)


class EvenStepsFirst(SoundEncoder):
    def steps(self, embedded: Tensor) -> Tensor:
        steps = super().steps(embedded)
        return torch.cat([steps[:, ::2], steps[:, 1::2]], 1)


class MeanBehindTheSteps(SoundEncoder):
    def steps(self, embedded: Tensor) -> Tensor:
        steps = super().steps(embedded)
        return torch.cat([steps[:, 1:], steps.mean(1, keepdim=True)], 1)


class DropsInEvaluation(SoundEncoder):
    def steps(self, embedded: Tensor) -> Tensor:
        return super().steps(nn.functional.dropout(embedded, 0.1))


class CountsInEvaluation(SoundEncoder):
    def __init__(self, config: SoundConfig | None = None) -> None:
        super().__init__(config)
        self.register_buffer("passes", torch.zeros(()), persistent=False)

    def steps(self, embedded: Tensor) -> Tensor:
        self.passes += 1
        return super().steps(embedded)


class RemembersWindows(SoundEncoder):
    last = 0.0

    def steps(self, embedded: Tensor) -> Tensor:
        steps = super().steps(embedded + self.last)
        self.last = float(embedded.detach().mean())
        return steps


SHARED = nn.Linear(6, 8)


class OneLayerForAll(SoundEncoder):
    def __init__(self, config: SoundConfig | None = None) -> None:
        super().__init__(config)
        self.second = SHARED if self.config.output == 8 else self.second


class PoolsWithoutTheMask(SoundEncoder):
    pooling = "the maximum"

    def pooled(self, x: Tensor, mask: Callable[[Tensor], Tensor] | None = None) -> Tensor:
        return self(x).amax(1)


def failed(checks: tuple[Callable[..., None], ...], *classes: type) -> set[str]:
    """Names of the checks that raise."""
    names = set()
    for check in checks:
        try:
            check(*classes)
        except (AssertionError, ValueError):
            names.add(check.__name__)
    return names


@pytest.mark.parametrize(
    ("kind", "check"),
    [
        (Detached, "gradients_reach_the_encoder"),
        (CopyThatLearns, "gradients_reach_the_encoder"),
        (HiddenCount, "resumes_to_the_bit"),
        (OneView, "uses_both_views"),
        (PatientAsNumber, "compares_ids_alone"),
        (TrialAsIndex, "compares_ids_alone"),
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
        (TimeLast, "shapes_follow_the_config"),
        (MasksActOnLeads, "shapes_follow_the_config"),
        (OneWidth, "shapes_follow_the_config"),
        (TwelveLeads, "shapes_follow_the_config"),
        (RefusesSmallWindows, "shapes_follow_the_config"),
        (Backwards, "steps_are_in_the_order_of_time"),
        (EvenStepsFirst, "steps_are_in_the_order_of_time"),
        (MeanBehindTheSteps, "steps_are_in_the_order_of_time"),
        (DropsInEvaluation, "windows_are_independent"),
        (CountsInEvaluation, "windows_are_independent"),
        (RemembersWindows, "windows_are_independent"),
        (OneLayerForAll, "state_is_in_the_checkpoint"),
        (PoolsWithoutTheMask, "masks_act_on_the_embedded_input"),
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
