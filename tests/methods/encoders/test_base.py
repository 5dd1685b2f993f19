"""What the contract does for every encoder: a mask acts between its two parts, dropout behind them."""

from __future__ import annotations

from typing import ClassVar

import pytest
import torch
from pydantic.dataclasses import dataclass
from torch import Tensor, nn

from methods.encoders import ENCODERS
from methods.encoders.base import STRICT, Encoder, EncoderConfig, Size


@dataclass(frozen=True, kw_only=True)
class HalvingConfig(EncoderConfig):
    output: Size = 4


class Halving(Encoder):
    """A linear layer, and every second time step of it, times two."""

    name: ClassVar[str] = "halving"
    Config: ClassVar[type[EncoderConfig]] = HalvingConfig

    def __init__(self, config: HalvingConfig | None = None) -> None:
        super().__init__(config)
        self.linear = nn.Linear(self.config.leads, self.config.output)

    def embed(self, x: Tensor) -> Tensor:
        return self.linear(x)

    def steps(self, embedded: Tensor) -> Tensor:
        return 2 * embedded[:, ::2]


X = torch.randn(3, 10, 12, generator=torch.Generator().manual_seed(0))


def test_a_mask_acts_on_the_embedded_input() -> None:
    encoder = Halving()
    seen = []

    def hide_the_first_step(h: Tensor) -> Tensor:
        seen.append(h)
        return torch.cat([torch.zeros_like(h[:, :1]), h[:, 1:]], 1)

    out = encoder(X, hide_the_first_step)
    assert torch.equal(seen[0], encoder.embed(X))
    assert not out[:, 0].any()
    assert torch.equal(out[:, 1:], encoder(X)[:, 1:])
    assert torch.equal(encoder.pooled(X, hide_the_first_step), out.mean(1))


def test_dropout_acts_on_the_output_in_training_alone() -> None:
    encoder = Halving(HalvingConfig(dropout=0.5))
    assert encoder.dropout == 0.5
    out = encoder(X)
    whole = encoder.eval()(X)
    assert torch.equal(whole, encoder.steps(encoder.embed(X)))
    kept = out != 0
    torch.testing.assert_close(out[kept], 2 * whole[kept])
    assert 0 < kept.float().mean() < 1


def test_the_default_config_is_its_own_and_its_sizes_are_checked() -> None:
    assert Halving().config == HalvingConfig(leads=12, output=4, dropout=0.0) == HalvingConfig.small()
    with pytest.raises(ValueError, match=r"for HalvingConfig\noutput\n"):
        HalvingConfig(output=0)


@pytest.mark.parametrize("value", [float("nan"), float("inf")])
def test_a_size_is_a_number_with_an_end(value: float) -> None:
    @dataclass(frozen=True, kw_only=True, config=STRICT)
    class Own(EncoderConfig):
        output: int = 4
        slope: float = 1.0

    with pytest.raises(ValueError, match="finite number"):
        Own(slope=value)


def test_what_an_encoder_does_not_give_is_said() -> None:
    class Empty(Halving):
        embed, steps = Encoder.embed, Encoder.steps

    with pytest.raises(NotImplementedError, match=r"Empty\.embed: give the embedded input \(B, S, D\)"):
        Empty()(X)
    with pytest.raises(NotImplementedError, match=r"Empty\.steps"):
        Empty().steps(X)
    with pytest.raises(ValueError, match="encoder 'halving' takes on no official weights"):
        Empty.from_official({})
    with pytest.raises(NotImplementedError, match=r"Empty\.patches: give the samples of each token \(B, N, P\)"):
        Empty().patches(X)
    with pytest.raises(NotImplementedError, match=r"Empty\.kept_steps: give the representations \(B, M, K\)"):
        Empty().kept_steps(X, torch.zeros(3, 1, dtype=torch.int64))


def test_an_encoder_takes_windows_of_every_length_and_no_tokens_unless_it_says_so() -> None:
    assert Halving.Config().unfit(1) == ""  # type: ignore[call-arg]
    assert not Halving.tokens


@pytest.mark.parametrize("name", ENCODERS)
def test_what_methods_may_need_of_an_encoder_is_stated(name: str) -> None:
    kind = ENCODERS[name]
    assert kind.timed is (name != "st-mem"), "its tokens stand lead by lead"
    assert kind.tokens is (name in ("vit1d", "st-mem"))
    assert kind.of_pooled == (("norm.weight", "norm.bias") if kind.tokens else ())
