"""Enumerate the pretrainings and cells of a config, in the order of execution. Pure functions."""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterator, Mapping, Sequence
from dataclasses import replace
from typing import Any

from benchmark.config.change import with_settings
from benchmark.config.config import Config
from benchmark.data.prepared.load import Prepared
from benchmark.results.keys import digest
from benchmark.results.names import (
    EVALUATION_FACTS,
    FEATURES,
    FROZEN,
    GATE,
    SNAPSHOT,
    SUPERVISED,
    SWEEP,
    TRIAL,
    UNTRAINED,
    VALIDATION,
    evaluation_of,
)
from benchmark.run.grid.cells import Cell, Grid, Pretraining
from benchmark.run.grid.keys import Mode, cell_content, features_content, pretrain_content, stem_key
from benchmark.run.grid.variants import Variant, refuse_lone_windows, variants_of

Form = Callable[[dict[str, Any]], dict[str, Any]]
NONE: Mapping[tuple[str, str], Prepared] = {}
ALL_LABELS = 1.0
FULL_LABELS = "full-labels"
"""The gate of rows that are there anyway, with all labels."""
BROUGHT_SEED = 0
"""Of weights from elsewhere, which no seed of a run changes."""
GATE_OF_ROW = {UNTRAINED: "random", FROZEN: "frozen", FEATURES: "features", SUPERVISED: "supervised"}
"""Name of a gate's row -> the gate, as `--gates` names it."""


def planned(config: Config, variant: Variant) -> Iterator[tuple[str, str, float, str]]:
    """(table, evaluation, ratio, gate) of a variant's cells for one dataset and seed."""
    unserved = unserved_by(variant, config.evaluate)
    if variant.role == TRIAL:
        yield from ((VALIDATION, VALIDATION, ratio, "") for ratio in config.ratios)
        return
    own = GATE_OF_ROW[variant.on_any] if variant.role == GATE else ""
    gate_ratio = FULL_LABELS in config.gates and ALL_LABELS not in config.ratios
    for table in config.evaluate:
        facts = EVALUATION_FACTS[table]
        if variant.on_any == FROZEN and facts.frozen:
            continue  # same as the untrained row of that table
        if table in unserved:
            continue
        evaluation = evaluation_of(variant.on_any, table)
        if facts.shots:
            if evaluation == table:  # the other gates are judged on shares of the labels
                yield from ((table, evaluation, shots, own) for shots in amounts_of(variant, config.few_shot.shots))
            continue
        if variant.on_any == SUPERVISED:
            yield table, evaluation, ALL_LABELS, own
            continue
        yield from ((table, evaluation, ratio, own) for ratio in amounts_of(variant, config.ratios))
        if gate_ratio and (variant.role == GATE or variant.on_any == UNTRAINED):
            yield table, evaluation, ALL_LABELS, FULL_LABELS


def unserved_by(variant: Variant, tables: Sequence[str]) -> dict[str, str]:
    """Evaluation -> why a row has no cells there: fine-tuning of an encoder whose weights get no gradients."""
    kind = variant.method.brings if variant.method else None
    learned = [table for table in tables if not EVALUATION_FACTS[table].frozen]
    if kind is None or not learned or not (why := kind.why_frozen()):
        return {}
    return dict.fromkeys(learned, f"it cannot be fine-tuned: {why}")


def amounts_of(variant: Variant, amounts: Sequence[float]) -> list[float]:
    """The label ratios or shots of a row: the smallest of a sweep or a snapshot, else all."""
    return [float(min(amounts))] if variant.role in (SWEEP, SNAPSHOT) else [float(amount) for amount in amounts]


def pretraining_of(
    config: Config, variant: Variant, seed: int, fingerprint: str, mode: Mode, form: Form
) -> Pretraining | None:
    """The pretraining of a variant at a seed, None for features; under `paper` a trained one is shared by all seeds.

    Weights from elsewhere are shared by all seeds under any protocol.
    """
    if variant.method is None:
        return None
    shared = config.protocol == "paper" and variant.method.trains
    own = config.pretrain.seed if shared else BROUGHT_SEED if variant.method.brings else seed
    content = form(pretrain_content(config, variant.method, variant.config, own, fingerprint, mode))
    return Pretraining(digest(content), variant, own, content, stem_key(content))


def with_lengths(pretrainings: Mapping[str, Pretraining]) -> dict[str, Pretraining]:
    """The pretrainings, those with a stem with the lengths that it serves."""
    lengths: dict[str, set[float]] = {}
    for own in pretrainings.values():
        if own.stem:
            lengths.setdefault(own.stem, set()).add(own.content["epochs"])
    return {key: replace(own, lengths=tuple(sorted(lengths.get(own.stem, ())))) for key, own in pretrainings.items()}


def expand(
    config: Config,
    *,
    corpus: str,
    fingerprints: Mapping[str, str],
    mode: Mode,
    form: Form = lambda content: content,
    simulated: Collection[str] = (),
    variants: tuple[Variant, ...] | None = None,
    forms: Mapping[tuple[str, str], Prepared] = NONE,
) -> Grid:
    """The grid of a config; `corpus`, `fingerprints`: hashes of the data; `mode`: `Machine.mode()`.

    form: content of a pretraining -> the form of it that the store's key was made from. simulated: names of the
    datasets that are marked as simulated. variants: rows in place of those of the config. forms: (method, column) ->
    its recordings, where the method's encoder has signals of its own. Raises ConfigError for a row that pairs windows
    which a recording does not have (`refuse_lone_windows`).
    """
    variants = variants_of(config) if variants is None else variants
    refuse_lone_windows(config, variants)
    of_row = {variant.name: with_settings(config, variant.settings) for variant in variants}
    made = {
        (variant.name, seed): pretraining_of(of_row[variant.name], variant, seed, corpus, mode, form)
        for variant in variants
        for seed in config.seeds
    }
    first: dict[str, Pretraining] = {}
    for own in made.values():
        if own is not None:
            first.setdefault(own.key, own)
    pretrainings = with_lengths(first)
    cells: list[Cell] = []
    for variant in variants:
        for seed in config.seeds:
            found = made[variant.name, seed]
            pretraining = pretrainings[found.key] if found else None
            for table, evaluation, ratio, gate in planned(config, variant):
                for dataset, fingerprint in fingerprints.items():
                    if pretraining is None:
                        content = features_content(config, fingerprint, dataset)
                    else:
                        row = of_row[variant.name]
                        content = cell_content(row, pretraining, evaluation, fingerprint, mode, dataset)
                    cut = forms.get((variant.method_name, dataset))
                    content |= {"own": cut.fingerprint} if cut else {}
                    key = digest([content, ratio, seed])
                    sources = {"data": dataset, "corpus": config.data.pretrain}
                    marked = tuple(entry for entry, name in sources.items() if name in simulated)
                    place = (evaluation, table, dataset, ratio, seed)
                    folder = cut.folder if cut else None
                    cells.append(Cell(key, variant, pretraining, *place, content, marked, folder, gate))
    return Grid(variants, tuple(pretrainings.values()), tuple(cells))
