"""Each hand-written gradient against its plain form, whose gradient is autograd's: in float64, and under autocast."""

from __future__ import annotations

import importlib
import pkgutil
import re
from collections.abc import Callable, Iterator
from typing import Any

import pytest
import torch
from torch import Tensor

from methods import parts
from methods.parts.losses import (
    multi_positive_nce,
    plain_many_positives,
    plain_time_cosine,
    plain_two_views,
    plain_unit_in_time,
    time_cosine,
    two_view_nce,
    unit_in_time,
)

Function = type[torch.autograd.Function]
TEMPERATURE = 0.5


def functions() -> Iterator[tuple[str, Function, Callable[..., Tensor]]]:
    """Each torch.autograd.Function of the parts with its plain form: `_TwoViews` and `plain_two_views`."""
    for module in pkgutil.iter_modules(parts.__path__, f"{parts.__name__}."):
        loaded = importlib.import_module(module.name)
        for name, kind in vars(loaded).items():
            if isinstance(kind, type) and issubclass(kind, torch.autograd.Function):
                plain = "plain" + re.sub("([A-Z])", r"_\1", name.lstrip("_")).lower()
                yield name, kind, getattr(loaded, plain)


FUNCTIONS = {name: (kind, plain) for name, kind, plain in functions()}


def real(*shape: int) -> Tensor:
    return torch.randn(*shape, dtype=torch.float64)


def chosen(*shape: int, share: float = 0.5) -> Tensor:
    return torch.rand(*shape) < share


def squared(weight: Tensor, unused: Tensor) -> tuple[Any, ...]:
    """A term with the parameters that it is differentiated by."""
    return (lambda: (weight**3).sum()), weight, unused


INPUTS: dict[str, list[Callable[[], tuple[Any, ...]]]] = {
    "_AtOnce": [lambda: squared(real(3, 2).requires_grad_(), real(2).requires_grad_())],
    "_KeptAndScaled": [lambda: (real(4, 5), chosen(4, 5), 1.25)],
    "_KeptFrequencies": [
        lambda: (real(2, 8, 3), chosen(2, 5, 3)),
        lambda: (real(2, 9, 3), chosen(2, 5, 3)),
        lambda: (real(2, 9, 3), chosen(2, 5, 3, share=0.0)),
    ],
    "_ManyPositives": [
        lambda: (real(4, 3), real(6, 3), chosen(4, 6), chosen(6, share=0.7)),
        lambda: (real(4, 3), real(6, 3), chosen(4, 6), chosen(4, 6, share=0.7)),
        lambda: (real(4, 3), real(6, 3), chosen(4, 6, share=0.1), chosen(6, share=1.0)),
        lambda: (real(4, 3), real(6, 3), chosen(4, 6), chosen(6, share=0.0)),
    ],
    "_TwoViews": [
        lambda: (real(4, 3), real(4, 3), TEMPERATURE),
        lambda: (real(2, 4, 3), real(2, 4, 3), TEMPERATURE),
        lambda: (real(3, 1, 2), real(3, 1, 2), TEMPERATURE),
    ],
    "_UnitInTime": [lambda: (real(2, 4, 3),), lambda: (torch.cat([real(2, 4, 2), torch.zeros(2, 4, 1)], 2),)],
}
"""Function -> what its `apply` is given."""
CASES = [pytest.param(name, make, id=f"{name}-{n}") for name in INPUTS for n, make in enumerate(INPUTS[name])]


def test_every_written_gradient_is_looked_at() -> None:
    assert FUNCTIONS.keys() == INPUTS.keys()


def learning(inputs: tuple[Any, ...]) -> tuple[Any, ...]:
    """The inputs, of which those of floating point get gradients."""
    return tuple(x.requires_grad_() if isinstance(x, Tensor) and x.is_floating_point() else x for x in inputs)


def gradients(value: Tensor, inputs: tuple[Any, ...]) -> list[Tensor | None]:
    """Of the product of the value with fixed weights, by the inputs that learn."""
    by = [x for x in inputs if isinstance(x, Tensor) and x.requires_grad]
    weights = torch.linspace(-1, 2, value.numel(), dtype=torch.float64).view_as(value).to(value.dtype)
    return list(torch.autograd.grad(value, by, weights, allow_unused=True))


@pytest.mark.parametrize(("name", "make"), CASES)
def test_value_and_gradient_are_those_of_the_plain_form(name: str, make: Callable[[], tuple[Any, ...]]) -> None:
    torch.manual_seed(0)
    kind, plain = FUNCTIONS[name]
    inputs = learning(make())
    value, expected = kind.apply(*inputs), plain(*inputs)  # type: ignore[no-untyped-call]
    torch.testing.assert_close(value, expected)
    for ours, autograds in zip(gradients(value, inputs), gradients(expected, inputs), strict=True):
        assert (ours is None) == (autograds is None)
        if ours is not None:
            torch.testing.assert_close(ours, autograds)


@pytest.mark.parametrize("name", ["_KeptAndScaled", "_KeptFrequencies", "_ManyPositives", "_TwoViews", "_UnitInTime"])
def test_the_gradient_is_that_of_small_differences(name: str) -> None:
    torch.manual_seed(0)
    torch.autograd.gradcheck(FUNCTIONS[name][0].apply, learning(INPUTS[name][0]()))


POSITIVE, VALID = torch.arange(24).view(4, 6) % 3 == 0, torch.arange(6) != 4


@pytest.mark.parametrize(
    ("written", "plain", "inputs"),
    [
        (
            lambda a, b: two_view_nce(a, b, TEMPERATURE),
            lambda a, b: plain_two_views(a, b, TEMPERATURE),
            [(2, 4, 16), (2, 4, 16)],
        ),
        (
            lambda q, k: multi_positive_nce(q, k, POSITIVE, VALID, TEMPERATURE),
            lambda q, k: plain_many_positives(q / TEMPERATURE, k, POSITIVE, VALID),
            [(4, 16), (6, 16)],
        ),
        (time_cosine, plain_time_cosine, [(3, 7, 5), (3, 7, 5)]),
        (unit_in_time, plain_unit_in_time, [(3, 7, 5)]),
    ],
    ids=["two_view_nce", "multi_positive_nce", "time_cosine", "unit_in_time"],
)
def test_under_autocast_both_passes_are_those_of_single_precision(
    written: Callable[..., Tensor], plain: Callable[..., Tensor], inputs: list[tuple[int, ...]]
) -> None:
    torch.manual_seed(0)
    halves = learning(tuple(torch.randn(*shape).bfloat16() for shape in inputs))
    singles = learning(tuple(x.detach().float() for x in halves))
    with torch.autocast("cpu", torch.bfloat16):
        value = written(*halves)
    expected = plain(*singles)
    assert value.dtype == torch.float32
    torch.testing.assert_close(value, expected)
    for ours, autograds in zip(gradients(value, halves), gradients(expected, singles), strict=True):
        assert ours is not None
        assert autograds is not None
        torch.testing.assert_close(ours, autograds.bfloat16())
