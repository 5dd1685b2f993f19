"""What a whole config is refused for: names that nobody knows, and sections that do not fit each other.

Each function raises ValueError in one line.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

import torch

from benchmark.config.change import by_encoder, refuse_unswept
from benchmark.config.encoder import labels_of, refuse_unfit, sized
from benchmark.config.errors import unknown
from benchmark.config.sections.pretrain import REFERENCE
from methods import refusal
from methods.encoders.shapes import TWO_OF, refuse_single, steps_of

if TYPE_CHECKING:
    from benchmark.config.config import Config


def refuse(config: Config) -> None:
    """All of the refusals below, in this order."""
    refuse_encoders(config)
    refuse_methods(config)
    refuse_datasets(config)
    refuse_knobs(config)
    refuse_ablations(config)
    refuse_repeats(config)
    refuse_columns(config)
    refuse_unserved(config)
    refuse_untimed(config)
    refuse_few_steps(config)


def refuse_encoders(config: Config) -> None:
    """Two encoders of one label, or one that cannot take the windows."""
    labels_of([config.encoder, *config.encoders])
    for section in (config.encoder, *config.encoders):
        refuse_unfit(section, config.data.cut().samples)


def refuse_methods(config: Config) -> None:
    """A method that is not there."""
    for name in (*config.methods, *config.knobs, *config.ablations, *config.sweeps):
        config.method_class(name)


def refuse_datasets(config: Config) -> None:
    """A dataset that is not there, or that cannot be simulated where all are."""
    used, simulation, known = {config.data.pretrain, *config.data.datasets}, config.data.simulation, config.data.known()
    for name in (config.data.pretrain, *config.data.datasets, *(simulation.patients if simulation else ())):
        if name not in known:
            raise ValueError(unknown("dataset", name, known))
    if simulation is None:
        return
    if unsimulated := config.data.cards.keys() & (used | simulation.patients.keys()):
        raise ValueError(f"data.simulation: {min(unsimulated)!r} is the dataset of a card; set data.simulation=null")
    if unsized := used - simulation.sizes().keys():
        raise ValueError(f"data.simulation.patients: give the number of patients of {min(unsized)!r}")


def refuse_knobs(config: Config) -> None:
    """A knob that its method does not have, or a value that it cannot take: of a row, an ablation, a sweep, `tune`."""
    for name in config.knobs:
        config.method_config(name)
    for method, named in config.ablations.items():
        for overrides in named.values():
            config.method_config(method, overrides)
    for own in by_encoder(config).values():
        for method, knobs in config.sweeps.items():
            for knob, values in knobs.items():
                refuse_unswept(own, config.method_class(method), knob)
                for value in values:
                    own.swept(method, knob, value)
    for name, knobs in config.pretrain.tuned.items():
        config.method_config(name, knobs)


def refuse_ablations(config: Config) -> None:
    """An entry of `ablate` that selects nothing."""
    for name in config.ablate:
        if not config.ablations_of(name):
            known = [f"{method}:{own}" for method in config.compared() for own in config.ablations.get(method, {})]
            if not known:
                raise ValueError(
                    f"ablate: no compared method has an ablation; compare {', '.join(config.ablations)} too"
                )
            raise ValueError(unknown("ablation", name, known))


def refuse_repeats(config: Config) -> None:
    """A list that names a value twice."""
    lists = {what: getattr(config, what) for what in ("methods", "ratios", "seeds", "evaluate")}
    for what, values in {**lists, "data.datasets": config.data.datasets, "data.task": config.data.task}.items():
        if len(set(values)) < len(values):
            raise ValueError(f"{what}: {values} names a value twice")


def refuse_columns(config: Config) -> None:
    """A column without labels, or under a task that its dataset does not have."""
    unlabelled = [name for name in config.data.datasets if not config.data.source(name).classes]
    if unlabelled:
        raise ValueError(f"data.datasets: {unlabelled[0]!r} has no labels, so it can only be pretrained on")
    try:
        config.data.columns()
    except ValueError as problem:
        raise ValueError(f"data.task: {problem}") from None


def refuse_unserved(config: Config) -> None:
    """A method that needs what an encoder does not have."""
    for section in (config.encoder, *config.encoders):
        for name in (*config.methods, *config.sweeps):
            if refused := refusal(config.method_class(name), sized(section)[0]):
                raise ValueError(f"methods: {refused}")


def refuse_untimed(config: Config) -> None:
    """A budget of seconds for a method whose windows have no known cost, and a cost of a method that is not there."""
    known = config.pretrain.pair_milliseconds
    for name in known:
        config.method_class(name)
    if config.pretrain.budget != "seconds":
        return
    trained = [name for name in (*config.compared(), *config.sweeps) if config.method_class(name).trains]
    if lacking := [name for name in dict.fromkeys((REFERENCE, *trained)) if name not in known]:
        raise ValueError(
            f"pretrain.pair_milliseconds: give the milliseconds per pair of windows of {', '.join(lacking)}, by which "
            "pretrain.budget=seconds counts; `speed` prints them"
        )


def refuse_few_steps(config: Config) -> None:
    """A method that needs two steps per window, on an encoder that gives one."""
    methods = [config.method_class(name) for name in (*config.methods, *config.sweeps)]
    if not any(need in method.needs for method in methods for need in TWO_OF):
        return
    for section in (config.encoder, *config.encoders):
        kind, sizes = sized(section)
        with torch.random.fork_rng(devices=[]):
            steps = steps_of(kind(sizes), config.data.cut().samples)
        for method in methods:
            for need in TWO_OF:
                if need in method.needs:
                    refuse_single(f"methods: {method.name}", steps[need])
