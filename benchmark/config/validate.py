"""Whether the parts of a config fit: names that are there, and a forward pass of two zero windows per row.

Each function raises ValueError in one line.
"""

from __future__ import annotations

from functools import cache
from typing import TYPE_CHECKING, Any

from benchmark.config.config import Config, by_encoder, is_knob, labels_of, sized, swept_keys, with_settings
from benchmark.config.errors import names_of, unknown
from benchmark.data.transport import datasets_in

if TYPE_CHECKING:
    from methods.base import MethodConfig, PretrainMethod
    from methods.encoders.base import EncoderConfig


def check(config: Config) -> None:
    """Raise ValueError in one line for a config whose parts do not fit."""
    labels_of([config.encoder, *config.encoders])
    for name in (*config.methods, *config.knobs, *config.ablations, *config.sweeps):
        config.method_class(name)
    check_datasets(config)
    check_columns(config)
    check_knobs(config)
    check_ablations(config)
    check_repeats(config)
    check_protocol(config)
    for section in (config.encoder, *config.encoders):
        for name in (*config.methods, *config.sweeps):
            method: Any = config.method_class(name)
            encoder: Any = sized(section)
            try_forward(method, config.method_config(name), *encoder, config.data.cut().samples)


def check_datasets(config: Config) -> None:
    """A dataset that is not there, or that cannot be simulated where all are."""
    data, simulation, known = config.data, config.data.simulation, config.data.known()
    columns = [part for name in data.datasets for part in datasets_in(name)]
    simulated = [*simulation.patients, *simulation.test_patients] if simulation else []
    used = {*data.corpora, *columns}
    for name in (*data.corpora, *columns, *simulated):
        if name not in known:
            raise ValueError(unknown("dataset", name, known))
    if simulation is None:
        return
    if unsimulated := data.cards.keys() & {*used, *simulated}:
        raise ValueError(f"data.simulation: {min(unsimulated)!r} is the dataset of a card; set data.simulation=null")
    if unsized := used - simulation.sizes().keys():
        raise ValueError(f"data.simulation.patients: give the number of patients of {min(unsized)!r}")
    if data.pretrain_prefix:
        raise ValueError("data.pretrain_prefix: simulated recordings lie in no folder; set data.simulation=null")
    if untested := [name for name in simulation.test_patients if not data.source(name).classes]:
        raise ValueError(f"data.simulation.test_patients: {untested[0]!r} has no labels and no test part")


def check_columns(config: Config) -> None:
    """A column without labels, or under a task that its dataset does not have."""
    unlabelled = [name for name in config.data.datasets if not config.data.about(name).classes]
    if unlabelled:
        raise ValueError(f"data.datasets: {unlabelled[0]!r} has no labels, so it can only be pretrained on")
    try:
        config.data.columns()
    except ValueError as problem:
        raise ValueError(f"data.task: {problem}") from None


def check_knobs(config: Config) -> None:
    """A knob that its method does not have, or a value that it cannot take: of a row, an ablation, a sweep."""
    for name in (*config.knobs, *config.ablations):
        if not config.method_class(name).trains:
            raise ValueError(f"methods.{name} cannot act: this method trains nothing; leave it out")
    for name in config.knobs:
        config.method_config(name)
    for name, ablations in config.ablations.items():
        for overrides in ablations.values():
            config.method_config(name, overrides)
    for one in by_encoder(config).values():
        for name, knobs in config.sweeps.items():
            method: Any = config.method_class(name)
            for knob, values in knobs.items():
                check_swept(one, method, knob)
                for value in values:
                    settings, method_config = one.swept(name, knob, value)
                    encoder: Any = sized(with_settings(one, settings).encoder)
                    try_forward(method, method_config, *encoder, config.data.cut().samples)


def check_swept(config: Config, method: type[PretrainMethod], name: str) -> None:
    """A sweep's name that is neither a knob nor a key, or that has no effect."""
    prefix = f"sweeps.{method.name}."
    if not is_knob(method, name) and name not in (keys := swept_keys(config)):
        raise ValueError(
            unknown("config key", f"{prefix}{name}", [prefix + key for key in (*names_of(method.Config), *keys)])
        )
    if not method.trains and (is_knob(method, name) or name.startswith("pretrain.")):
        raise ValueError(f"{prefix}{name} cannot act: this method trains nothing; leave it out")


def check_ablations(config: Config) -> None:
    """An entry of `ablate` that selects nothing."""
    for name in config.ablate:
        if not config.ablations_of(name):
            of_method = {method: config.ablations.get(method, {}) for method in config.compared()}
            known = [f"{method}:{ablation}" for method, named in of_method.items() for ablation in named]
            if not known:
                raise ValueError(
                    f"ablate: no compared method has an ablation; compare {', '.join(config.ablations)} too"
                )
            raise ValueError(unknown("ablation", name, known))


def check_repeats(config: Config) -> None:
    """A list that names a value twice."""
    lists: dict[str, list[Any]] = {what: getattr(config, what) for what in ("methods", "ratios", "seeds", "evaluate")}
    lists |= {f"data.{what}": getattr(config.data, what) for what in ("datasets", "task")}
    for what, values in {**lists, "data.pretrain": config.data.corpora}.items():
        if len(set(values)) < len(values):
            raise ValueError(f"{what}: {values} names a value twice")


def check_protocol(config: Config) -> None:
    """Folds, or several labelled subsets of a seed, under a protocol that has one of each."""
    if config.protocol == "strict":
        return
    for name in ("subsets", "finetuned_subsets"):
        if (count := getattr(config, name) or 1) > 1:
            raise ValueError(
                f"{name}: {count} labelled subsets per seed need protocol strict; under paper all share one"
            )
    if config.data.folds:
        raise ValueError("data.folds cannot act: protocol: paper has the authors' one split; use --protocol strict")


@cache
def try_forward(method: Any, config: MethodConfig, encoder: Any, sizes: EncoderConfig, samples: int) -> None:
    """Pretrain an encoder on two zero windows (2, S, L), as far as the loss. Raises ValueError where that fails.

    method: a class of `PretrainMethod`; encoder: a class of `Encoder`. Draws nothing.
    """
    import torch  # here, because torch loads slowly

    from methods.base import Batch

    try:
        sizes.check_length(samples)
    except ValueError as error:
        raise ValueError(f"encoder {encoder.name} cannot take windows of {samples} samples: {error}") from None
    if not method.trains:
        return
    x, ids = torch.zeros(2, samples, sizes.leads), torch.zeros(2, dtype=torch.int64)  # (B, S, L), (B,)
    text = torch.zeros(2, getattr(config, "text_width", 1)) if method.needs_text else None  # (B, E)
    try:
        with torch.random.fork_rng(devices=[]), torch.no_grad():
            method(encoder(sizes), config)(Batch(x, x, ids, ids, ids, text))
    except Exception as error:  # of anyone's code
        reason = " ".join(str(error).split()).removeprefix(f"{method.name}: ") or type(error).__name__
        raise ValueError(f"methods: {method.name}: {reason}") from error
