"""From what a user says of a dataset of ecgbench, 'sph' or a card's keys, to a whole card: field, classes, source."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from pathlib import Path
from typing import Any

from benchmark.data.readers.base import DatasetError
from benchmark.data.readers.cards.ecgbench.card import LEAST_PATIENTS, name_of
from benchmark.data.readers.cards.ecgbench.choices import CHOICES, FOR_FOLDS, NONE, Choice, codebook
from benchmark.data.readers.cards.ecgbench.dataset import ECGBenchSource
from benchmark.data.readers.cards.ecgbench.labels import counted, stated
from benchmark.data.readers.cards.ecgbench.package import about, columns_of, config_of, read_tables, refusal

Find = Callable[[ECGBenchSource], Path]
"""The folder of a dataset; raises DatasetError."""


def completed(values: Mapping[str, Any], find: Find) -> dict[str, Any]:
    """The values of a whole card. Raises ValueError for what cannot be used, DatasetError without package or folder."""
    dataset = str(values.get("dataset", ""))
    config = config_of(dataset)
    if reason := refusal(config):
        raise ValueError(f"{dataset}: {reason}; docs/DATASETS.md lists what can be used")
    choice = CHOICES.get(dataset, NONE)
    named = {"name": name_of(dataset), "title": config.name.partition(" (")[0]}
    whole = {**named, "how_to_get": about(config), "licence": config.license, **values}
    given = whole.get("labels", {})  # absent: the default field
    if given is None or (given == {} and not choice.fields):
        return {**whole, "labels": None}
    if not isinstance(given, Mapping):
        return whole  # the card refuses it
    labels = _named(dataset, choice, given)
    if "classes" not in labels:
        labels["classes"] = list(codebook(dataset, labels["field"])) or _counted(whole, labels, _folder(whole, find))
    return {**whole, "labels": labels}


def _named(dataset: str, choice: Choice, given: Mapping[str, Any]) -> dict[str, Any]:
    """The labels of a card with field and separator."""
    field = given.get("field", choice.fields[0] if choice.decided and choice.fields else None)
    if field is None:
        raise ValueError(
            f"{dataset}: which labels make the classes is your choice: {_ways(dataset)}, or to pretrain on it without "
            f"labels ecgbench:{dataset}:none"
        )
    if isinstance(field, str) and FOR_FOLDS.fullmatch(field):
        raise ValueError(f"{dataset}: {field} was made to balance folds and is no label; take {_ways(dataset)}")
    labels = {"field": field, **given}
    if isinstance(field, list):
        return {"classes": field, **labels}
    if field in choice.separators:
        labels.setdefault("separator", choice.separators[field])
    return labels


def _folder(values: Mapping[str, Any], find: Find) -> Path:
    """The dataset's folder, to count its labels. Raises DatasetError."""
    card = ECGBenchSource.model_validate({**values, "labels": None})
    try:
        return find(card)
    except DatasetError as missing:
        raise DatasetError(f"its classes are counted in its labels. {missing}") from None


def _ways(dataset: str) -> str:
    """'ecgbench:ludb:rhythms, ecgbench:ludb:...': the fields that can be chosen."""
    return (
        ", ".join(f"ecgbench:{dataset}:{field}" for field in CHOICES.get(dataset, NONE).fields)
        or "a column of its tables"
    )


def _counted(card: Mapping[str, Any], labels: Mapping[str, Any], folder: Path) -> list[str]:
    """Classes that are counted in the data: labels that enough patients have."""
    dataset, field, least = str(card["dataset"]), labels["field"], labels.get("least_patients", LEAST_PATIENTS)
    tables = read_tables(config_of(dataset), folder, dataset, folds=False)
    if field not in tables.frame:
        there = ", ".join(columns_of(tables.frame))[:600]
        raise ValueError(f"{dataset}: ecgbench's labels have no column {field!r}; there are {there}")
    patients, left_out = tables.patients or tables.names, tuple(card.get("leave_out", ()))

    def each() -> Iterator[tuple[str, list[str]]]:
        for name, patient, path, cell in zip(tables.names, patients, tables.paths, tables.frame[field], strict=True):
            if not path.startswith(left_out):
                yield patient or name, stated(cell, labels.get("separator"))

    classes = counted(each(), least) if isinstance(least, int) else []
    if len(classes) < 2:
        raise ValueError(
            f"{dataset}: of the labels in {field!r} {len(classes)} have at least {least} patients in {folder}, and a "
            "task needs two; give labels.classes or a smaller labels.least_patients in a card"
        )
    return classes
