"""Checks that the parts of a config fit: names exist, and each method can train each encoder on two zero windows."""

from __future__ import annotations

from functools import cache
from typing import Any, get_args

from benchmark.config.config import ALL_ABLATIONS, SWEPT, Config, by_encoder, is_hyperparameter, sized, with_settings
from benchmark.config.errors import names_of
from benchmark.data.datasets import DATASETS
from benchmark.data.joined import datasets_in, is_transport, transport_of
from benchmark.results.names import EVALUATION_FACTS, RETRIEVAL, Baseline, reason_of, sources, unknown
from methods import sources_of


def check(config: Config) -> None:
    """Raise ValueError in one line for a config whose parts do not fit."""
    for name in (*config.methods, *config.hyperparameters, *config.ablations, *config.sweeps):
        config.method_class(name)
    check_names(config)
    if config.pretrain.budget == "passes":
        check_passes(config)
    require("evaluation", config.evaluate, EVALUATION_FACTS)
    if config.evaluate == [RETRIEVAL]:
        raise ValueError(f"evaluate: {RETRIEVAL} cannot be the only evaluation; add one: --evaluate linear {RETRIEVAL}")
    require("source of printed numbers", config.printed, list(sources()))
    if config.pretrain.preset == "paper" and config.pretrain.recipe is not None:
        raise ValueError("pretrain.recipe: each method has its own under preset: paper; set e.g. methods.pmq.recipe.lr")
    check_datasets(config)
    check_lists(config)
    check_ablations(config)
    for one in by_encoder(config).values():
        encoder: Any = sized(one.encoder)
        for name in (*config.methods, *config.sweeps):
            method_class: Any = config.method_class(name)
            try_forward(method_class, config.method_config(name), one.data.cut().samples, *encoder)
        check_sweeps(one)


def require(noun: str, names: list[str], known: Any) -> None:
    """Refuse a name that is not among the known ones."""
    for name in names:
        if name not in known:
            raise ValueError(unknown(noun, name, known))


def check_names(config: Config) -> None:
    """Refuse two compared files of one name, and one with a baseline's name: a name stands for one row."""
    rows: dict[str, str] = {}
    for file in config.methods:
        name = config.method_class(file).name
        first = rows.setdefault(name, file)
        if first != file:
            raise ValueError(f"methods: {first} and {file} have the same name {name!r}: give one another `name`")
        if file != name and name in get_args(Baseline):
            raise ValueError(f"methods: {file} has the name {name!r} of a baseline: give it another `name`")


def check_passes(config: Config) -> None:
    """Refuse a method in a file without `encoder_passes` where encoder passes have to make several methods equal."""
    trained = [method_class for method_class in map(config.method_class, config.methods) if method_class.trains]
    if len(trained) == 1:
        return
    for method_class in trained:
        if sources_of(method_class) and "encoder_passes" not in vars(method_class):
            raise ValueError(
                f"pretrain.budget: passes needs those of {method_class.name}: add `encoder_passes = N` to "
                f"{method_class.__name__}, with the N that `check {method_class.__module__}` counts, or set "
                "pretrain.budget=windows"
            )


def check_datasets(config: Config) -> None:
    """Refuse a dataset that is not there, has no labels or no such task, or is not simulated where all are."""
    data, simulation = config.data, config.data.simulation
    if built_in := data.cards.keys() & DATASETS.keys():
        raise ValueError(f"data.cards: {min(built_in)!r} is a built-in dataset; give the card another name")
    used = [*data.corpora, *(part for name in data.datasets for part in datasets_in(name))]
    require("dataset", used, data.known())
    for name in data.datasets:
        about = transport_of(name, data.source) if is_transport(name) else data.source(name)
        if not about.classes:
            raise ValueError(f"data.datasets: {name!r} has no labels, so it can only be pretrained on")
    try:
        data.columns()
    except ValueError as problem:
        raise ValueError(f"data.task: {problem}") from None
    if simulation is None:
        return
    require("dataset", [*simulation.patients, *simulation.test_patients], DATASETS)
    if unsized := [name for name in used if name not in simulation.patients]:
        remedy = "set data.simulation=null" if unsized[0] in data.cards else "give its number of patients"
        raise ValueError(f"data.simulation.patients: {unsized[0]!r} is not simulated; {remedy}")


def check_lists(config: Config) -> None:
    """Refuse a list that names a value twice, and several folds under a protocol that has one split."""
    data = config.data
    lists: dict[str, list[Any]] = {key: getattr(config, key) for key in ("methods", "ratios", "seeds", "evaluate")}
    lists |= {"data.datasets": data.datasets, "data.task": data.task, "data.pretrain": data.corpora}
    for key, values in lists.items():
        if len(set(values)) < len(values):
            raise ValueError(f"{key}: {values} names a value twice")
    if config.protocol == "strict":
        return
    if (data.folds or 1) > 1:
        raise ValueError(f"data.folds: {data.folds} of them need --protocol strict; under paper there is one split")


def check_ablations(config: Config) -> None:
    """Refuse hyperparameters of an untrained method, values that a method refuses, and names that are no ablation."""
    for name in (*config.hyperparameters, *config.ablations):
        if not config.method_class(name).trains:
            raise ValueError(f"methods.{name} cannot act: this method trains nothing; leave it out")
        for overrides in ({}, *config.ablations.get(name, {}).values()):
            config.method_config(name, overrides)
    known = [f"{method}:{name}" for method, name in config.ablations_of(ALL_ABLATIONS)]
    for name in config.ablate:
        if not known:
            raise ValueError(f"ablate: no compared method has an ablation; compare {', '.join(config.ablations)} too")
        if not config.ablations_of(name):
            raise ValueError(unknown("ablation", name, known))


def check_sweeps(config: Config) -> None:
    """Refuse a sweep over neither a hyperparameter nor a key of a section that can be swept, and wrong values."""
    for name, hyperparameters in config.sweeps.items():
        method: Any = config.method_class(name)
        for hyperparameter, values in hyperparameters.items():
            if not is_hyperparameter(method, hyperparameter) and hyperparameter.partition(".")[0] not in SWEPT:
                known = [f"sweeps.{name}.{key}" for key in (*names_of(method.Config), *SWEPT)]
                raise ValueError(unknown("config key", f"sweeps.{name}.{hyperparameter}", known))
            for value in values:
                settings, method_config = config.swept(name, hyperparameter, value)
                row = with_settings(config, settings)
                encoder: Any = sized(row.encoder)
                try_forward(method, method_config, row.data.cut().samples, *encoder)


@cache
def try_forward(method: Any, config: Any, samples: int, encoder: Any, sizes: Any) -> None:
    """Pretrain an encoder on two zero windows (2, S, L), as far as the loss. Raises ValueError where that fails.

    method, encoder: classes; config, sizes: their configs. Draws nothing.
    """
    import torch  # here, because torch loads slowly

    from methods.base import Batch
    from methods.encoders.base import refuse_lazy

    try:
        sizes.check_length(samples)
    except ValueError as error:
        raise ValueError(f"encoder {encoder.name} cannot take windows of {samples} samples: {error}") from None
    if not method.trains:
        return
    x = torch.zeros(2, samples, sizes.leads)  # (B, S, L)
    ids = torch.zeros(2, dtype=torch.int64)  # (B,)
    text = torch.zeros(2, getattr(config, "text_width", 1)) if method.needs_text else None  # (B, E)
    threads = torch.get_num_threads()
    torch.set_num_threads(1)  # more are slower on tensors this small
    try:
        with torch.random.fork_rng(devices=[]), torch.no_grad():
            built = encoder(sizes)
            refuse_lazy(built)
            method(built, config)(Batch(x, x, ids, ids, ids, text))
    except Exception as error:  # of anyone's code
        reason = reason_of(error).removeprefix(f"{method.name}: ")
        raise ValueError(f"methods: {method.name}: {reason}") from error
    finally:
        torch.set_num_threads(threads)
