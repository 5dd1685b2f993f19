"""A card of a public dataset that the package ecgbench describes (docs/DATASETS.md).

Everything that the results depend on stands in the card, so that a config with it is read without the package.
"""

from __future__ import annotations

import re
from typing import Annotated, Literal

from pydantic import Field, field_validator, model_validator

from benchmark.data.readers.cards.declared import Declared, Part, Word, printable

SLUG = re.compile(r"[a-z0-9_]{1,50}", re.ASCII)
FORM = "ecgbench:"
"""Beginning of the form of these datasets; their name in the package follows (benchmark.data.audit.overlaps)."""
LEAST_PATIENTS = 10
"""Patients that a label needs to be a class where nothing says it: one for each of ten folds."""
Text = Annotated[str, Field(max_length=2000)]


def name_of(dataset: str) -> str:
    """The name in flags and results of a dataset of ecgbench, if its card gives no other."""
    return f"ecgbench-{dataset}"


class Labels(Part):
    """Which labels make the classes."""

    field: Word | list[Word]
    """A column of ECGBench's labels; or several columns of yes and no, each a class."""
    separator: Annotated[str, Field(min_length=1, max_length=5)] | None = None
    """Between the labels of a cell."""
    classes: Annotated[list[Word], Field(min_length=2)]
    """In the order of columns of a confusion matrix. Other labels are left out, and counted."""
    least_patients: Annotated[int, Field(ge=1)] = LEAST_PATIENTS
    """Patients that a label needs to be a class, where the classes were counted."""

    @field_validator("classes")
    @classmethod
    def _each_once(cls, classes: list[str]) -> list[str]:
        twice = [name for name in classes if classes.count(name) > 1]
        if twice:
            raise ValueError(f"class {twice[0]!r} stands twice")
        return classes

    @model_validator(mode="after")
    def _of_columns(self) -> Labels:
        strange = [name for name in self.classes if isinstance(self.field, list) and name not in self.field]
        if strange:
            raise ValueError(f"labels.classes: {strange[0]!r} is not in labels.field, whose columns are classes")
        return self


class ECGBenchCard(Declared):
    """A dataset of the package ecgbench; `dataset.ECGBenchSource` opens its folder."""

    kind: Literal["ecgbench"]
    dataset: str
    """Its name there."""
    labels: Labels | None = None
    """Without, the data can only be pretrained on."""
    split: Literal["theirs", "ours"] = "theirs"
    """theirs: ECGBench's folds, those of the publisher where there are any; ours: as `data.protocol` says."""
    leave_out: list[Word] = []
    """Beginnings of paths of recordings that are not used."""
    how_to_get: Text = ""
    """Source, licence and citation."""

    @field_validator("dataset")
    @classmethod
    def _named(cls, dataset: str) -> str:
        if not SLUG.fullmatch(dataset):
            raise ValueError("the name of a dataset in the package ecgbench was expected, e.g. sph")
        return dataset

    @field_validator("how_to_get")
    @classmethod
    def _printable(cls, text: str) -> str:
        return printable(text)

    @property
    def classes(self) -> tuple[str, ...]:
        """Class names; empty without labels."""
        return tuple(self.labels.classes) if self.labels else ()

    @property
    def first_label_counts(self) -> bool:
        """False: ECGBench ranks no labels."""
        return False

    @property
    def folders(self) -> tuple[str, ...]:
        """Names its folder has under a data root."""
        return tuple(dict.fromkeys((self.name, self.dataset, self.dataset.replace("_", "-"))))
