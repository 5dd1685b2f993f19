"""The untrained twin of an encoder from outside: its architecture with weights that each seed of a run draws anew.

Without it a comparison with `random`, which reads single heartbeats, mixes pretraining with architecture, rate and
length of the windows. The twin of a class is the class before `load`. The twin of an object is what `untrained` builds,
else its class where that takes no arguments, else a copy whose layers draw by `reset_parameters`; one that keeps a
single trained number is refused. Statistics of its batch normalisation come from unlabelled training windows.
"""

from __future__ import annotations

from collections.abc import Callable
from copy import deepcopy
from functools import partial
from typing import Any, TypeVar

import torch
from torch import Tensor, nn

from methods.encoders.pretrained import NAMED, PretrainedEncoder, is_weight
from methods.in_memory import FunctionOfArrays, ObjectEncoder

TWIN = "random+"
"""Prefix of an encoder's name, or of the path of its file, that names its twin."""
Maker = Callable[[], nn.Module]
AnyEncoder = TypeVar("AnyEncoder", bound=PretrainedEncoder)


def twin_of(encoder_class: type[AnyEncoder], make: Maker | None = None) -> type[AnyEncoder]:
    """Make the class of an encoder's twin. make: builds the network of an object's twin; by default as above.

    Raises ValueError, in one line, where not every weight is drawn anew.
    """
    facts: dict[str, Any] = {
        "name": TWIN + encoder_class.name, "title": f"{encoder_class.title}, untrained", "licence": "none",
        "pretrained_on": (), "weights": (), "is_twin": True, "load": lambda self: None,
        "__module__": encoder_class.__module__,
    }  # fmt: skip
    if issubclass(encoder_class, ObjectEncoder):
        given = encoder_class.given
        if isinstance(given, FunctionOfArrays) and make is None:
            raise ValueError(f"{encoder_class.name} is a function, of which nothing can be drawn anew")
        drawn = type(given) if is_built_alone(given) else partial(redrawn, given, encoder_class.name)
        facts |= {"make": staticmethod(make or drawn), "digests": encoder_class.digests | {"twin": "drawn"}}
    twin: type[AnyEncoder] = type(f"{encoder_class.__name__}Twin", (encoder_class,), facts)
    refuse_constant(twin)
    return twin


def is_built_alone(network: nn.Module) -> bool:
    """Tell whether the class of a network, without arguments, builds the same architecture."""
    with torch.random.fork_rng(devices=[]):
        try:
            built = type(network)()
        except Exception:  # of anyone's code: it needs arguments
            return False
    weights = {name: value.shape for name, value in network.state_dict().items()}
    return bool(weights) and {name: value.shape for name, value in built.state_dict().items()} == weights


def redrawn(network: nn.Module, name: str) -> nn.Module:
    """Copy a network and draw its weights anew. Raises ValueError for a weight that no layer draws."""
    fresh = deepcopy(network)
    drawn = set[int]()
    for layer in fresh.modules():
        reset = getattr(layer, "reset_parameters", None) or getattr(layer, "_reset_parameters", None)
        if reset is not None:
            reset()
            drawn |= {id(value) for value in layer.parameters(recurse=False)}
            drawn |= {id(value) for value in layer.buffers(recurse=False)}
    weights: dict[str, Tensor] = {**dict(fresh.named_parameters()), **dict(fresh.named_buffers())}
    stays = [path for path, value in weights.items() if is_weight(value) and id(value) not in drawn]
    if stays or not drawn:
        names = ", ".join(stays[:NAMED]) or "a weight"
        raise ValueError(
            f"{name}: no layer draws {names} anew by reset_parameters; build the untrained network yourself, "
            f"untrained={{{name!r}: make_network}}"
        )
    return fresh


def refuse_constant(twin: type[PretrainedEncoder]) -> None:
    """Raise ValueError for a twin whose weights are the same for two seeds: its constructor draws none."""
    states = []
    for seed in (0, 1):
        with torch.random.fork_rng(devices=[]):
            torch.manual_seed(seed)
            states.append(twin.new().state_dict())
    first, second = states
    if all(torch.equal(value, second[name]) for name, value in first.items()):
        raise ValueError(f"{twin.word()}: two seeds give the same weights, so that its constructor draws none")
