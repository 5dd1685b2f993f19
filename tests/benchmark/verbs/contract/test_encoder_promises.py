"""Every promise of an encoder can be broken: encoders with one fault each, and the promises that find it."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path
from typing import ClassVar

import pytest
import torch
from torch import Tensor, nn

from benchmark.verbs.contract import check as contract
from benchmark.verbs.contract.check import ENCODER_PROMISES, Promise, check_encoder, judge
from methods.encoders import ENCODERS
from methods.encoders.base import Encoder, EncoderConfig, Size
from methods.parts.masks import Mask

ALONE = [promise for promise in ENCODER_PROMISES if promise.name != "methods"]


@dataclass(frozen=True, kw_only=True)
class SoundConfig(EncoderConfig):
    output: Size = 8


class Sound(Encoder):
    """Two layers per time step. Its subclasses have one fault each."""

    name: ClassVar[str] = "sound"
    Config: ClassVar[type[EncoderConfig]] = SoundConfig

    def __init__(self, config: SoundConfig | None = None) -> None:
        super().__init__(config)
        self.first = nn.Linear(self.config.leads, 6)
        self.second = nn.Linear(6, self.config.output)
        self.register_buffer("passes", torch.zeros((), dtype=torch.int64))

    def embed(self, x: Tensor) -> Tensor:
        return self.first(x)

    def steps(self, embedded: Tensor) -> Tensor:
        return self.second(embedded.tanh())


class Nameless(Sound):
    name: ClassVar[str] = ""


class LeadsFirst(Sound):
    def steps(self, embedded: Tensor) -> Tensor:
        return super().steps(embedded).mT


class OtherWidth(Sound):
    def pooled(self, x: Tensor, mask: Mask | None = None) -> Tensor:
        return torch.cat([super().pooled(x, mask)] * 2, 1)


class UnusedLayer(Sound):
    def __init__(self, config: SoundConfig | None = None) -> None:
        super().__init__(config)
        self.spare = nn.Linear(2, 2)


class FrozenLayer(Sound):
    def __init__(self, config: SoundConfig | None = None) -> None:
        super().__init__(config)
        self.first.requires_grad_(False)


class HiddenTensor(Sound):
    def __init__(self, config: SoundConfig | None = None) -> None:
        super().__init__(config)
        self.scales = [torch.ones(())]


class HiddenNumber(Sound):
    def __init__(self, config: SoundConfig | None = None) -> None:
        super().__init__(config)
        self.scale = float(torch.rand(()))

    def steps(self, embedded: Tensor) -> Tensor:
        return self.scale * super().steps(embedded)


class CountsInEvaluation(Sound):
    passes: Tensor

    def embed(self, x: Tensor) -> Tensor:
        self.passes += 1
        return super().embed(x)


class DrawsInEvaluation(Sound):
    def steps(self, embedded: Tensor) -> Tensor:
        return super().steps(embedded) + 1e-6 * torch.randn(())


class SeesOtherWindows(Sound):
    def steps(self, embedded: Tensor) -> Tensor:
        return super().steps(embedded - embedded.mean(0))


class PoolsByTheMaximum(Sound):
    def pooled(self, x: Tensor, mask: Mask | None = None) -> Tensor:
        return self(x, mask).amax(1)


class SaysThatItPoolsByTheMaximum(PoolsByTheMaximum):
    pooling: ClassVar[str] = "maximum over time"


class WithoutDropout(Sound):
    def forward(self, x: Tensor, mask: Mask | None = None) -> Tensor:
        return self.steps(self.masked(x, mask))


class AlwaysDropsOut(Sound):
    def forward(self, x: Tensor, mask: Mask | None = None) -> Tensor:
        return nn.functional.dropout(self.steps(self.masked(x, mask)), self.dropout)


class MasksTheLeads(Sound):
    def masked(self, x: Tensor, mask: Mask | None) -> Tensor:
        return self.embed(x if mask is None else mask(x))


class IgnoresTheMask(Sound):
    def masked(self, x: Tensor, mask: Mask | None) -> Tensor:
        return self.embed(x)


class LooksPastTheMask(Sound):
    def masked(self, x: Tensor, mask: Mask | None) -> Tensor:
        return super().masked(x, mask) + (0 if mask is None else 1e-3 * self.first(x))


class NeedsTwoWindows(Sound):
    def steps(self, embedded: Tensor) -> Tensor:
        return super().steps(embedded / (embedded.std(0) if self.training else 1))


class RoughInHalfPrecision(Sound):
    def steps(self, embedded: Tensor) -> Tensor:
        return super().steps(embedded) * (1.1 if torch.is_autocast_enabled("cpu") else 1)


@pytest.mark.parametrize(
    ("kind", "expected"),
    [
        (Sound, set()),
        (Nameless, {"name"}),
        (LeadsFirst, {"shapes"}),
        (OtherWidth, {"shapes"}),
        (UnusedLayer, {"gradient"}),
        (FrozenLayer, {"gradient"}),
        (HiddenTensor, {"state"}),
        (HiddenNumber, {"state"}),
        (CountsInEvaluation, {"evaluation"}),
        (DrawsInEvaluation, {"state", "evaluation", "mask"}),
        (SeesOtherWindows, {"evaluation"}),
        (PoolsByTheMaximum, {"pooled"}),
        (SaysThatItPoolsByTheMaximum, set()),
        (WithoutDropout, {"dropout"}),
        (AlwaysDropsOut, {"evaluation", "dropout"}),
        (MasksTheLeads, {"mask"}),
        (IgnoresTheMask, {"mask"}),
        (LooksPastTheMask, {"mask"}),
        (NeedsTwoWindows, {"one window"}),
        (RoughInHalfPrecision, {"half precision"}),
    ],
    ids=lambda value: value.__name__ if isinstance(value, type) else None,
)
def test_a_fault_is_found_by_its_promise(
    kind: type[Encoder], expected: set[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(contract, "ENCODER_PROMISES", ALONE)
    verdicts = list(check_encoder(kind))
    assert {verdict.promise.name for verdict in verdicts if not verdict.kept} == expected
    assert not any("\n" in str(verdict) for verdict in verdicts)


@pytest.mark.parametrize(
    ("kind", "line"),
    [
        (UnusedLayer, "BROKEN gradient: spare.weight gets no gradient through forward: use it, or leave it out"),
        (HiddenTensor, "BROKEN state: scales holds a tensor or generator that no checkpoint has: use register_buffer"),
        (MasksTheLeads, "BROKEN mask: forward calls a mask 1 times, not once with what embed gives: use self.masked"),
        (WithoutDropout, "BROKEN dropout: a dropout of 0.5 hides 0% of the outputs: leave it to Encoder.forward"),
    ],
    ids=lambda value: value.__name__ if isinstance(value, type) else "",
)
def test_a_verdict_names_the_place_and_the_remedy(
    kind: type[Encoder], line: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(contract, "ENCODER_PROMISES", ALONE)
    assert next(str(verdict) for verdict in check_encoder(kind) if not verdict.kept).startswith(line)


class Undecorated(SoundConfig):
    depth: int = 3


@dataclass(frozen=True, kw_only=True)
class HoldsAPath(SoundConfig):
    path: Path = Path("here")


@pytest.mark.parametrize(
    ("config", "words"),
    [
        (Undecorated, "make it a @dataclass(frozen=True) that extends EncoderConfig"),
        (HoldsAPath, "HoldsAPath cannot be filed"),
        (None, "make it a @dataclass(frozen=True) that extends EncoderConfig"),
        (EncoderConfig, "EncoderConfig.output: Field required: give every knob a default"),
    ],
)
def test_what_cannot_be_built_is_asked_for_nothing_further(config: type[EncoderConfig] | None, words: str) -> None:
    (verdict,) = check_encoder(type("Unsettled", (Sound,), {"Config": config}))
    assert (verdict.promise.name, verdict.kept) == ("builds", False)
    assert words in verdict.detail


@pytest.mark.parametrize("promise", ENCODER_PROMISES, ids=lambda promise: promise.name.replace(" ", "-"))
@pytest.mark.parametrize("name", ENCODERS)
def test_every_encoder_keeps_its_promises(name: str, promise: Promise[type[Encoder]]) -> None:
    verdict = judge(promise, ENCODERS[name])
    assert verdict.kept, verdict.detail


def test_the_cost_is_counted_by_hand() -> None:
    verdict = judge(ENCODER_PROMISES[0], Sound)
    parameters, multiplications = 12 * 6 + 6 + 6 * 8 + 8, 300 * (12 * 6 + 6 * 8) / 1e6
    assert verdict.detail.startswith(f"{parameters} parameters, {multiplications:.1f} million multiplications")


class NotMovedByMethods(Sound):
    def pooled(self, x: Tensor, mask: Mask | None = None) -> Tensor:
        return super().pooled(x, mask) + 0 * self.second.bias.detach()

    def steps(self, embedded: Tensor) -> Tensor:
        return nn.functional.linear(embedded.tanh(), self.second.weight, self.second.bias.detach())


def test_a_method_that_leaves_a_part_where_it_was_is_named() -> None:
    verdict = judge(ENCODER_PROMISES[-1], NotMovedByMethods)
    assert not verdict.kept
    assert "second.bias" in verdict.detail
