"""A whole task in small passes for every method and encoder, and fails where a run would."""

from __future__ import annotations

from functools import partial

import pytest
import torch
from torch import Tensor, nn

from benchmark.training.whole_task import do_whole_task
from methods import METHODS
from methods.base import PretrainMethod
from methods.contract import new_method, refusal_of
from methods.encoders import ENCODERS
from methods.encoders.base import Encoder
from methods.encoders.dilated import Dilated, DilatedConfig

CPU = torch.device("cpu")


@pytest.mark.parametrize("name", METHODS)
def test_every_method_does_a_whole_task(name: str) -> None:
    encoder = next(one for one in ENCODERS.values() if not refusal_of(METHODS[name], one))
    do_whole_task(partial(new_method, METHODS[name], encoder), CPU, "bf16")


@pytest.mark.parametrize("name", ENCODERS)
def test_every_encoder_does_a_whole_task(name: str) -> None:
    do_whole_task(partial(new_method, METHODS["pmq"], ENCODERS[name]), CPU, "float32")


class Pointwise(Encoder):
    """Two layers for each time step. Its subclasses have layers that a run may trip over."""

    name, Config = "pointwise", DilatedConfig

    def __init__(self, config: DilatedConfig | None = None) -> None:
        super().__init__(config)
        width = self.config.output
        self.input = nn.Linear(self.config.leads, width)
        self.first = nn.Linear(width, width)
        self.second = self.last(width)

    def last(self, width: int) -> nn.Module:
        return nn.Linear(width, width)

    def embed(self, x: Tensor) -> Tensor:
        return self.input(x)

    def steps(self, embedded: Tensor) -> Tensor:
        return self.second(self.first(embedded).relu())


class LayerUsedTwice(Pointwise):
    def last(self, width: int) -> nn.Module:
        return self.first


class TiedWeight(Pointwise):
    def last(self, width: int) -> nn.Module:
        last = nn.Linear(width, width)
        last.weight = self.first.weight
        return last


class DoublePrecision(Pointwise):
    def last(self, width: int) -> nn.Module:
        return nn.Linear(width, width).double()

    def steps(self, embedded: Tensor) -> Tensor:
        return self.second(self.first(embedded).relu().double())


class Remembers(METHODS["pclr"]):  # type: ignore[misc]
    """Has state that is no tensor, which a resumed training does not read."""

    def get_extra_state(self) -> object:
        return Remembers

    def set_extra_state(self, state: object) -> None:
        return None


@pytest.mark.parametrize("encoder", [LayerUsedTwice, TiedWeight])
def test_tied_weights_survive_the_store(encoder: type[Encoder]) -> None:
    do_whole_task(partial(new_method, METHODS["moco"], encoder), CPU, "float32")


@pytest.mark.parametrize(
    ("method", "encoder", "error"),
    [
        (METHODS["pclr"], DoublePrecision, "must have the same dtype"),
        (Remembers, Dilated, "Weights only load failed"),
    ],
    ids=["precision", "state"],
)
def test_what_a_run_would_fail_on_fails(method: type[PretrainMethod], encoder: type[Encoder], error: str) -> None:
    with pytest.raises(Exception, match=error):
        do_whole_task(lambda: method(encoder(encoder.Config.small()), method.Config()), CPU, "float32")
