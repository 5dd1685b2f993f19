"""What the package ecgbench says of a dataset: its config, and the tables of a folder with their folds.

The package writes a table of its own into the dataset's folder; here it works in a temporary folder of links to it, so
the data stay as they are. Nothing is downloaded.
"""

from __future__ import annotations

import logging
import warnings
from collections.abc import Collection, Iterator, Sequence
from contextlib import contextmanager
from difflib import get_close_matches
from importlib.metadata import PackageNotFoundError, version
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any, NamedTuple

import pandas as pd

from benchmark.data.readers.base import LEADS, DatasetError
from benchmark.data.readers.cards.cells import FOLDS, identifier
from benchmark.data.readers.cards.forms.stored import derivable

PACKAGE = "ecgbench"
ITS_TABLE = "ecgbench_metadata.csv"
"""What the package caches in a dataset's folder; it is made anew, since it may be older than the data."""
FOLD_SEED = 42
"""Of the package's published folds (`ecgbench splits`)."""
SIDES = {"train": "train", "val": "validation", "test": "test"}


class Tables(NamedTuple):
    """A dataset's tables, a row a recording."""

    frame: pd.DataFrame
    """Columns of metadata and labels."""
    names: list[str]
    """Of the recordings."""
    paths: list[str]
    """Of the signals, below the dataset's folder, with what else the package appends: 'parts.hdf5:tracings:417'."""
    patients: list[str] | None
    """None where the dataset names none; '' for a recording without."""
    folds: dict[str, int]
    """Recording -> fold of its side; empty if not asked for."""
    warnings: tuple[str, ...]


def package_version() -> str:
    """The version of ecgbench. Raises DatasetError where it is not installed."""
    try:
        return version(PACKAGE)
    except PackageNotFoundError:
        raise DatasetError("datasets of ecgbench need the package: pip install '.[datasets]'") from None


def config_of(dataset: str) -> Any:
    """The package's config of a dataset. Raises DatasetError without the package, ValueError for an unknown name."""
    package_version()
    from ecgbench.config import list_available_configs, load_config

    known = list_available_configs()
    if dataset not in known:
        near = get_close_matches(dataset, known, n=1)
        hint = f" (did you mean {near[0]!r}?)" if near else ""
        raise ValueError(f"unknown dataset {dataset!r} of ecgbench{hint}; there are {', '.join(known)}")
    return load_config(dataset)


def refusal(config: Any) -> str:
    """Why a dataset cannot be used: '' if its files hold twelve leads, or as many as determine the others."""
    names = config.lead_names or ()
    if holds_twelve(names) or derivable(names):
        return ""
    named = ", ".join(names or ["not named"])[:60]
    return f"not the twelve leads: {config.leads} ({named})"


def holds_twelve(names: Collection[str]) -> bool:
    """Whether all of the twelve leads are among these names, in any case."""
    return {lead.lower() for lead in LEADS} <= {name.strip().lower() for name in names}


def about(config: Any) -> str:
    """Source, licence and citation of a dataset, in one line."""
    paragraphs = [f"Get {config.name} from {config.url}"]
    if not config.publish_fold_csvs:
        paragraphs.append("RESTRICTED: use, and passing on what is made of it, are bound by its licence")
    paragraphs += [f"licence {config.license or 'not stated'}", f"cite {config.citation.strip() or config.doi}"]
    return "; ".join(" ".join(text.split()) for text in paragraphs)


def read_tables(config: Any, root: Path, title: str, *, folds: bool) -> Tables:
    """Tables, labels and, if asked for, folds of a dataset in a folder.

    Raises DatasetError where the package finds the folder is not the dataset's.
    """
    with TemporaryDirectory() as folder, _heard() as said:
        links = Path(folder)
        try:
            _link(root, links)
            frame, side_of = _by_the_package(config, links, folds)
        except Exception as error:  # the package raises many kinds for a folder that is not the dataset's
            reason = " ".join(str(error).replace(folder, str(root)).split())[:400] or type(error).__name__
            raise DatasetError(f"{title}: ecgbench cannot use {root}: {reason}. {about(config)}") from error
    names = [identifier(str(name)) for name in frame[config.record_id_column]]
    patients = None
    if config.patient_id_column in frame:
        patients = [text_of(patient) for patient in frame[config.patient_id_column]]
    paths = [text_of(path) for path in frame[config.signal_path_columns[config.default_sampling_rate]]]
    return Tables(frame, names, paths, patients, side_of, tuple(dict.fromkeys(said)))


def text_of(value: Any) -> str:
    """A cell as text: whole numbers without a point, '' for a missing value."""
    return "" if pd.isna(value) else identifier(str(value).strip())


def _by_the_package(config: Any, folder: Path, folds: bool) -> tuple[pd.DataFrame, dict[str, int]]:
    from ecgbench.labels import load_labels
    from ecgbench.splitting import get_splitter

    splitter = get_splitter(config.slug)
    frame = splitter.load_metadata(folder, config)
    side_of = _folds(splitter, frame, config) if folds else {}
    if config.labels is not None and config.labels.available:
        labels = load_labels(config, folder)
        labels.index = [identifier(str(name)) for name in labels.index]
        rows = labels.reindex([identifier(str(name)) for name in frame[config.record_id_column]])
        frame = frame.assign(
            **{name: rows[name].to_numpy() for name in rows.columns if name != config.record_id_column}
        )
    return frame, side_of


def _folds(splitter: Any, frame: pd.DataFrame, config: Any) -> dict[str, int]:
    """Recording -> fold of its side: predefined, else computed as `ecgbench splits` does."""
    from ecgbench.splitting import split_dataset

    stratified = splitter.get_stratification_labels(frame, config)
    result = split_dataset(frame, stratified, config, config.n_folds, FOLD_SEED)
    found: dict[str, int] = {}
    for side, own in SIDES.items():
        for fold in getattr(result, f"default_{side}_folds"):
            names = result.folds[fold][config.record_id_column] if fold in result.folds else []
            found |= {identifier(str(name)): FOLDS[own] for name in names}
    return found


def _link(root: Path, links: Path) -> None:
    """Links to all that is in a folder, without what the package has written there."""
    for path in root.iterdir():
        if path.name != ITS_TABLE:
            (links / path.name).symlink_to(path.absolute())


@contextmanager
def _heard() -> Iterator[list[str]]:
    """The warnings of the package and of what it uses, which are not printed."""
    said: list[str] = []

    class Listener(logging.Handler):
        def emit(self, record: logging.LogRecord) -> None:
            said.append(_one_line(record.getMessage()))

    listener, logger = Listener(logging.WARNING), logging.getLogger(PACKAGE)
    logger.addHandler(listener)
    propagate, logger.propagate = logger.propagate, False
    try:
        with warnings.catch_warnings(record=True) as raised:
            warnings.simplefilter("always")
            yield said
        said += [_one_line(str(warning.message)) for warning in raised if issubclass(warning.category, UserWarning)]
    finally:
        logger.removeHandler(listener)
        logger.propagate = propagate


def _one_line(text: str) -> str:
    return f"ecgbench: {' '.join(text.split())[:300]}".rstrip(".")


def columns_of(frame: pd.DataFrame) -> Sequence[str]:
    """Names of all columns."""
    return [str(name) for name in frame.columns]
