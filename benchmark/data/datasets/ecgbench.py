"""Public datasets that the package ecgbench describes: its labels and folds, and signals that are read here.

Everything that the results depend on stands in the card, so that a config with it is read without the package. A column
of labels is the default where ECGBench's config or its label module names one target; else the choice is the user's.

The package writes a table into the dataset's folder; here it works in a temporary folder of links to it, so the data
stay as they are. Nothing is downloaded.
"""

from __future__ import annotations

import re
import warnings
from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from difflib import get_close_matches
from functools import cached_property
from importlib.metadata import PackageNotFoundError, version
from logging import WARNING, getLogger
from logging.handlers import BufferingHandler
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Annotated, Any, Literal, NamedTuple

import numpy as np
import pandas as pd
from pydantic import AfterValidator, Field, field_validator, model_validator

from benchmark.data.datasets.base import LEADS, Dataset, DatasetError, Entry, Listing, Person, Recording, Unusable
from benchmark.data.datasets.card import Declared, Format, Part, Signals, Word, printable
from benchmark.data.datasets.card_dataset import FOLDS, age_of, checked_identifier, identifier, says_yes, sex_of
from benchmark.data.datasets.card_formats import READERS, Stored, derivable, lacking, recording_of, samples_by_leads
from benchmark.data.datasets.tables import Row, Table, keyed, listing_of, path_within
from benchmark.data.datasets.wfdb_files import LARGEST_SIGNAL, check_file
from benchmark.results.schema import digest

SLUG = re.compile(r"[a-z0-9_]{1,50}", re.ASCII)
FORM = "ecgbench:"
"""Beginning of the form of these datasets; their name in the package follows (benchmark.data.audit)."""
LEAST_PATIENTS = 10
"""Patients that a label needs to be a class where nothing says it: one for each of ten folds."""
Text = Annotated[str, AfterValidator(printable), Field(max_length=2000)]


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


class ECGBenchSource(Declared):
    """The card of a dataset of the package ecgbench, which opens its folder (`base.Source`)."""

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

    @property
    def classes(self) -> tuple[str, ...]:
        """Class names; empty without labels."""
        return tuple(self.labels.classes) if self.labels else ()

    @property
    def folders(self) -> tuple[str, ...]:
        """Names its folder has under a data root."""
        return tuple(dict.fromkeys((self.name, self.dataset, self.dataset.replace("_", "-"))))

    def __call__(self, root: Path) -> Dataset:
        """The dataset in a folder; nothing is read yet."""
        return ECGBenchDataset(self, root)


FOR_FOLDS = re.compile(
    r"stratify\w*|primary_superclass|primary_rhythm|primary_diagnosis|primary_disease_group|diagnosis_family|primary_artery_territory"
)
"""Columns that are reductions to one label a recording, for folds; ECGBench says not to train on them."""


class Choice(NamedTuple):
    """The columns of a dataset that can make classes."""

    fields: tuple[str, ...]
    """The first is the default if `decided`."""
    decided: bool = True
    separators: Mapping[str, str] = {}
    """Column -> separator of the labels of a cell, where it can hold several."""


NONE = Choice((), decided=False)
DX = {"dx": ",", "dx_abbreviations": ",", "scored_dx": ",", "dx_names": "|", "dx_class_indices": ","}
AHA = ("codes", "descriptions", "categories")
CHOICES: dict[str, Choice] = {
    "brugada_huca": Choice(("brugada", "basal_pattern", "sudden_death")),
    "challenge2020": Choice(("scored_dx", "dx_abbreviations", "dx"), separators=DX),
    "challenge2021": Choice(("scored_dx", "dx_abbreviations", "dx"), separators=DX),
    "chapman_shaoxing": Choice(("Rhythm", "Beat")),
    "code15": Choice(("abnormality_codes", "normal_ecg", "death"), separators={"abnormality_codes": ","}),
    "code_test": Choice(("abnormality_codes",), separators={"abnormality_codes": ","}),
    "cpsc_2018": Choice(("dx_abbreviations", "dx"), separators=DX),
    "ecg_arrhythmia": Choice(("dx", "dx_acronyms"), separators={"dx": ",", "dx_acronyms": ","}),
    "ecgcipa": Choice(("treatment",), decided=False),
    "ecgdmmld": Choice(("treatment",), decided=False),
    "ecgrdvq": Choice(("treatment",), decided=False),
    "echonext": Choice(
        ("shd_moderate_or_greater_flag", "lvef_lte_45_flag", "aortic_stenosis_moderate_or_greater_flag")
    ),
    "ikem": NONE,
    "incartdb": Choice(("diagnosis", "record_features"), decided=False, separators={"record_features": ","}),
    "leipzig_heart_center_ecg": Choice(("diagnosis", "cohort")),
    "ludb": Choice(
        (
            *("rhythms", "electric_axis", "conduction_abnormalities", "extrasystolies", "hypertrophies"),
            *("cardiac_pacing", "ischemia", "repolarization_abnormalities", "other_states"),
        ),
        decided=False,
    ),
    "medalcare_xl": Choice(("pathology_subclass", "pathology", "mi_subclass")),
    "mhd_effect_ecg_mri": Choice(("condition", "position"), decided=False),
    "mimic_iv_ecg": NONE,
    "mimic_iv_ecg_demo": NONE,
    "ningbo_iva": Choice(("left_right", "sublocation", "arrhythmia_type")),
    "norwegian_athlete_ecg": Choice(("cardiologist_findings", "cardiologist_verdict", "sl12_verdict"), decided=False),
    "ptbdb": Choice(("diagnosis",)),
    "ptbxl": Choice(("superclasses", "subclasses", "diagnostic_codes", "form_codes", "rhythm_codes", "scp_codes")),
    "sami_trop": Choice(("normal_ecg", "death")),
    "sph": Choice(
        tuple(f"aha_primary_{part}" for part in AHA),
        separators={f"aha_{kind}_{part}": ";" for kind in ("primary", "modifier") for part in AHA},
    ),
    "staffiii": Choice(("recording_type", "artery_territory"), separators={"artery_territory": ";"}),
    "wctecgdb": NONE,
    "zzu_pecg": Choice(
        ("aha_codes", "aha_base_codes", "ecg_findings", "disease_groups", "icd10_codes"),
        separators={"ecg_findings": ";"}
        | dict.fromkeys(("aha_codes", "aha_base_codes", "chn_codes", "chn_base_codes"), ",")
        | dict.fromkeys(("disease_groups", "icd10_codes"), ","),
    ),
}
"""The datasets whose files hold twelve leads, or as many as determine the others."""


def codebook(dataset: str, field: str) -> Sequence[str]:
    """The classes that the package fixes for a column of labels; empty where it fixes none."""
    if (dataset, field) == ("ptbxl", "superclasses"):
        from ecgbench.labels.ptbxl import SUPERCLASSES

        return list(SUPERCLASSES)
    if field == "abnormality_codes":
        from ecgbench.labels.code15 import ABNORMALITIES  # CODE-test has the same, in another order

        return list(ABNORMALITIES)
    if dataset == "cpsc_2018" and field in ("dx", "dx_abbreviations"):
        from ecgbench.labels.cpsc_2018 import CPSC_CLASSES

        return [own[1 if field == "dx" else 2] for own in CPSC_CLASSES]
    if dataset == "echonext" and field.endswith("_flag"):
        return ["0", "1"]
    if dataset in ("code15", "sami_trop") and field in ("normal_ecg", "death"):
        return ["False", "True"]
    if dataset in ("challenge2020", "challenge2021") and field == "scored_dx":
        from ecgbench.labels import challenge2020, challenge2021

        table = {"challenge2020": challenge2020, "challenge2021": challenge2021}[dataset].load_dx_mapping()
        return [str(name) for name in table.loc[table["scored"], "abbreviation"]]
    return []


PACKAGE = "ecgbench"
ITS_TABLE = "ecgbench_metadata.csv"
"""What the package caches in a dataset's folder; it is made anew, since it may be older than the data."""
FOLD_SEED = 42
"""Of the package's published folds (`ecgbench splits`)."""
SIDES = {"train": "train", "validation": "val", "test": "test"}
"""Side -> its name in the package."""


class Tables(NamedTuple):
    """A dataset's tables, a row a recording."""

    frame: pd.DataFrame
    """Columns of metadata and labels."""
    names: list[str]
    """Of the recordings."""
    paths: list[str]
    """Of the signals, below the dataset's folder, with what else the package appends: 'parts.hdf5:tracings:417'."""
    patients: list[str]
    """The recordings themselves where the dataset names no patients; '' for a recording without one."""
    folds: dict[str, int]
    """Recording -> fold of its side; empty if not asked for."""
    warnings: list[str]


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
    if not lacking(names) or derivable(names):
        return ""
    named = ", ".join(names or ["not named"])[:60]
    return f"not the twelve leads: {config.leads} ({named})"


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
    with TemporaryDirectory() as folder, _heard() as heard:
        links = Path(folder)
        try:
            _link(root, links)
            frame, side_of = _by_the_package(config, links, folds)
        except Exception as error:  # the package raises many kinds for a folder that is not the dataset's
            reason = " ".join(str(error).replace(folder, str(root)).split())[:400] or type(error).__name__
            raise DatasetError(f"{title}: ecgbench cannot use {root}: {reason}. {about(config)}") from error
    said = list(dict.fromkeys(f"ecgbench: {' '.join(text.split())[:300]}".rstrip(".") for text in heard))
    names = _identifiers(frame[config.record_id_column])
    paths = [text_of(path) for path in frame[config.signal_path_columns[config.default_sampling_rate]]]
    if config.patient_id_column not in frame:
        return Tables(frame, names, paths, names, side_of, [*said, NO_PATIENTS])
    return Tables(frame, names, paths, [text_of(name) for name in frame[config.patient_id_column]], side_of, said)


def text_of(value: Any) -> str:
    """A cell as text: whole numbers without a point, '' for a missing value."""
    return "" if pd.isna(value) else identifier(str(value).strip())


def _identifiers(cells: Iterable[Any]) -> list[str]:
    return [identifier(str(cell)) for cell in cells]


def _by_the_package(config: Any, folder: Path, folds: bool) -> tuple[pd.DataFrame, dict[str, int]]:
    from ecgbench.labels import load_labels
    from ecgbench.splitting import get_splitter

    splitter, key = get_splitter(config.slug), config.record_id_column
    frame = splitter.load_metadata(folder, config)
    side_of = _folds(splitter, frame, config) if folds else {}
    if config.labels is not None and config.labels.available:
        labels = load_labels(config, folder)
        labels.index = _identifiers(labels.index)
        rows = labels.reindex(_identifiers(frame[key]))
        frame = frame.assign(**{name: rows[name].to_numpy() for name in rows.columns if name != key})
    return frame, side_of


def _folds(splitter: Any, frame: pd.DataFrame, config: Any) -> dict[str, int]:
    """Recording -> fold of its side: predefined, else computed as `ecgbench splits` does."""
    from ecgbench.splitting import split_dataset

    stratified = splitter.get_stratification_labels(frame, config)
    result = split_dataset(frame, stratified, config, config.n_folds, FOLD_SEED)
    return {
        name: FOLDS[side]
        for side, word in SIDES.items()
        for fold in getattr(result, f"default_{word}_folds")
        if fold in result.folds
        for name in _identifiers(result.folds[fold][config.record_id_column])
    }


def _link(root: Path, links: Path) -> None:
    """Links to all that is in a folder, without what the package has written there."""
    for path in root.iterdir():
        if path.name != ITS_TABLE:
            (links / path.name).symlink_to(path.absolute())


@contextmanager
def _heard() -> Iterator[list[str]]:
    """The warnings of the package and of what it uses, which are not printed."""
    texts: list[str] = []
    listener, logger = BufferingHandler(10**6), getLogger(PACKAGE)
    listener.setLevel(WARNING)
    logger.addHandler(listener)
    propagate, logger.propagate = logger.propagate, False
    try:
        with warnings.catch_warnings(record=True) as raised:
            warnings.simplefilter("always")
            yield texts
        texts += [record.getMessage() for record in listener.buffer]
        texts += [str(warning.message) for warning in raised if issubclass(warning.category, UserWarning)]
    finally:
        logger.removeHandler(listener)
        logger.propagate = propagate


def _check_column(frame: pd.DataFrame, field: str, title: str) -> None:
    """Raise DatasetError where a column of labels is not among the package's."""
    if field not in frame:
        there = ", ".join(map(str, frame.columns))[:600]
        raise DatasetError(f"{title}: ecgbench's labels have no column {field!r}; there are {there}")


def stated(value: Any, separator: str | None) -> list[str]:
    """The labels of a cell, each once: a list, a dictionary's keys, or text; none for a missing value."""
    if isinstance(value, Mapping | list | tuple | set):
        parts = [text_of(part) for part in value]
    else:
        text = text_of(value)
        parts = text.split(separator) if separator else [text]
    return list(dict.fromkeys(part.strip() for part in parts if part.strip()))


def flags(row: Mapping[str, Any], fields: Sequence[str]) -> list[str]:
    """The columns of yes and no that say yes; blank is no. Raises Unusable for anything else in them."""
    return [field for field in fields if says_yes(text_of(row[field]))]


def counted(labels: Iterator[tuple[str, list[str]]], least: int) -> list[str]:
    """The labels that at least `least` patients have, sorted; of (patient, labels of a recording)."""
    patients: dict[str, set[str]] = {}
    for patient, own in labels:
        for label in own:
            patients.setdefault(label, set()).add(patient)
    return sorted((label for label, own in patients.items() if len(own) >= least), key=_number_first)


def _number_first(label: str) -> tuple[int, str]:
    return (int(label), "") if label.isdecimal() and len(label) < 19 else (10**19, label)


KINDS: dict[str, Format] = {"wfdb": "wfdb", "hdf5": "hdf5", "npy": "numpy", "csv": "csv", "csv_lead_rows": "numpy"}
"""The package's format -> that of a card of files which means the same numbers."""
WFDB_SUFFIXES = (".hea", ".mat", ".dat")
HDF5_SUFFIXES = (".h5", ".hdf5", ".he5", ".hdf")


class Reference(NamedTuple):
    """Where a signal is: a file; in a file of many, also an array's name and a row."""

    path: str
    array: str | None = None
    row: int | None = None


def reference_of(text: str, form: str) -> Reference:
    """The parts of 'a.h5', 'a.h5:ecg', 'parts.hdf5:tracings:417' or 'many.npy:417'. A WFDB record is its header."""
    if form == "wfdb":
        stem = next((text.removesuffix(suffix) for suffix in WFDB_SUFFIXES if text.endswith(suffix)), text)
        return Reference(f"{stem}.hea")
    if form == "npy":
        file, _, place = text.rpartition(":")
        return Reference(file, row=int(place)) if file and place.isdecimal() else Reference(text)
    if form == "hdf5":
        path, *names = text.split(":")
        if path.lower().endswith(HDF5_SUFFIXES) and len(names) <= 2:
            row = int(names[1]) if len(names) == 2 and names[1].isdecimal() else None
            return Reference(path, names[0] if names else None, row)
    return Reference(text)


def meaning_of(config: Any) -> Signals:
    """What the numbers of a dataset's files mean, as the card of a folder says it."""
    kind, derive = KINDS[config.signal_format], bool(derivable(config.lead_names or ()))
    if kind == "wfdb":  # the headers state leads, units and rate
        return Signals(files="*.hea", format=kind, derive=derive)
    used = {lead.lower() for lead in LEADS}
    leads = [name if name.strip().lower() in used else "-" for name in config.lead_names]
    return Signals(
        files="*",
        format=kind,
        rate=float(config.default_sampling_rate),
        gain=1 / config.signal_unit_scale,
        leads=None if kind == "csv" else leads,  # the first line of a CSV file names them
        derive=derive,
    )


def read_signal(root: Path, text: str, config: Any) -> Recording:
    """The signal of a reference in mV. Raises Unusable."""
    path, array, row = reference_of(text, config.signal_format)
    signals, reader = meaning_of(config).model_copy(update={"array": array}), READERS[KINDS[config.signal_format]]
    if config.signal_format == "csv_lead_rows":
        stored = _read_lead_rows(root / path, signals)
    elif row is None:
        stored = reader.read(root / path, signals)
    else:
        assert reader.read_row is not None, "references name rows of HDF5 and NumPy files alone"
        stored = _without_padding(reader.read_row(root / path, signals, row))
    return recording_of(stored, signals)


def _without_padding(stored: Stored) -> Stored:
    """A signal (n, L) without the samples at its ends at which every lead is exactly 0, as shorter ones are padded."""
    sampled = np.flatnonzero(stored.signal.any(axis=1))
    return stored._replace(signal=stored.signal[sampled[0] : sampled[-1] + 1]) if len(sampled) else stored


def _read_lead_rows(path: Path, signals: Signals) -> Stored:
    """A text file with a line a lead and no names."""
    check_file(path, LARGEST_SIGNAL)
    try:
        rows = np.loadtxt(path, delimiter=",", ndmin=2)  # (L, n)
    except (OSError, ValueError) as error:
        raise Unusable(f"unreadable or not numbers: {type(error).__name__}") from error
    return Stored(samples_by_leads(rows, signals), None, None, None)


STANDARD_SCORES = (
    "samples are standard scores, as the publisher released them, and are read as millivolts: their amplitudes say "
    "nothing"
)
NO_PATIENTS = "no patients are named beside the recordings, so every recording counts as a person of its own"
SHOWN_LABELS = 5
SEX = ("sex", "Sex", "gender", "Gender")
REPORT = ("report_text", "report")
"""Columns of report texts: of MIMIC-IV-ECG, its lines joined by ' | ', and of PTB-XL."""
AGE = ("age", "age_years", "age_at_ecg", "PatientAge")


class ECGBenchDataset:
    """A card and a folder."""

    def __init__(self, card: ECGBenchSource, root: Path) -> None:
        self.card, self.root = card, root
        self.name, self.title = card.name, card.title
        self.classes, self.first_label_counts = card.classes, card.first_label_counts
        self.how_to_get = card.how_to_get

    @cached_property
    def config(self) -> Any:
        """The package's config. Raises DatasetError for a dataset that it does not have or that cannot be used."""
        try:
            config = config_of(self.card.dataset)
        except ValueError as error:
            raise DatasetError(f"{self.title}: {error}") from None
        if reason := refusal(config):
            raise DatasetError(f"{self.title}: {reason}")
        return config

    def listing(self) -> Listing:
        """A recording per row of the package's table. Raises DatasetError where the folder is not the dataset's."""
        card, labels = self.card, self.card.labels
        versions = READERS[KINDS[self.config.signal_format]].versions(self.title)
        tables = read_tables(self.config, self.root, self.title, folds=card.split == "theirs" and labels is not None)
        fields = [] if labels is None else [labels.field] if isinstance(labels.field, str) else labels.field
        for field in fields:
            _check_column(tables.frame, field, self.title)
        columns = [name for name in dict.fromkeys((*fields, *REPORT, *SEX, *AGE)) if name in tables.frame]
        cells = tables.frame[columns].to_dict("records")
        rows = keyed(
            Table([(name, str(place)) for place, name in enumerate(tables.names)], []), lambda name: name or None
        )
        used = [row for row in rows.rows if not tables.paths[int(row[1])].startswith(tuple(card.leave_out))]
        outside: Counter[str] = Counter()

        def entry(row: Row) -> Entry:
            return self._entry(tables, int(row[1]), cells[int(row[1])], outside)

        listing = listing_of(
            Table(used, rows.skipped), entry, form=f"{FORM}{card.dataset}, {self.config.signal_format}"
        )
        reading = digest([card.model_dump(mode="json", exclude={"title", "how_to_get"}), package_version(), versions])
        said = (*tables.warnings, *self._said(outside, len(rows.rows) - len(used)))
        return Listing(listing.entries, listing.skipped, listing.form, (), said, reading)

    def files(self, entry: Entry) -> tuple[Path, ...]:
        """The files an entry is read from."""
        form = self.config.signal_format
        return READERS[KINDS[form]].files(self.root / reference_of(entry.path, form).path)

    def people(self) -> dict[str, Person]:
        """None by a table; see the entries."""
        return {}

    def read(self, entry: Entry) -> Recording:
        """The signal in mV; raises Unusable."""
        return read_signal(self.root, entry.path, self.config)

    def _entry(self, tables: Tables, place: int, cells: Mapping[Any, Any], outside: Counter[str]) -> Entry:
        """The recording of a row; its labels that are no class are counted in `outside`. Raises Unusable."""

        def first(columns: Sequence[str]) -> str:
            return next((text_of(cells[column]) for column in columns if column in cells), "")

        name, labels = tables.names[place], self.card.labels
        if tables.folds and name not in tables.folds:
            raise Unusable("on no side of ecgbench's split")
        recording = checked_identifier(name)
        patient = checked_identifier(tables.patients[place]) or f"unknown-{name}"
        path = path_within(tables.paths[place])
        words: list[str] = []
        if labels is not None:
            flagged = isinstance(labels.field, list)
            words = flags(cells, labels.field) if flagged else stated(cells[labels.field], labels.separator)
        outside.update(word for word in words if word not in self.classes)
        return Entry(
            recording=recording,
            patient=patient,
            path=path,
            labels=tuple(self.classes.index(word) for word in words if word in self.classes),
            report=first(REPORT).replace(" | ", ". "),
            fold=tables.folds.get(name),
            sex=sex_of(first(SEX)),
            age=age_of(first(AGE)),
        )

    def _said(self, outside: Counter[str], left_out: int) -> Iterator[str]:
        if self.config.signal_units.lower() == "zscore":
            yield STANDARD_SCORES
        if left_out:
            yield f"{left_out} recordings are left out by the card ({', '.join(self.card.leave_out)})"
        if outside:
            most = ", ".join(f"{label} {count}" for label, count in outside.most_common(SHOWN_LABELS))
            count = f"{len(outside)} labels are" if len(outside) > 1 else "1 label is"
            yield f"{count} no class and left out of {outside.total()} statements, most often {most}"


Find = Callable[[ECGBenchSource], Path]
"""The folder of a dataset; raises DatasetError."""


def completed(values: Mapping[str, Any], find: Find) -> dict[str, Any]:
    """The values of a whole card. Raises ValueError for what cannot be used, DatasetError without package or folder."""
    dataset = str(values.get("dataset", ""))
    config = config_of(dataset)
    if reason := refusal(config):
        raise ValueError(f"{dataset}: {reason}; docs/DATA.md lists what can be used")
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
        labels["classes"] = list(codebook(dataset, labels["field"])) or _counted(config, whole, labels, find)
    return {**whole, "labels": labels}


def _named(dataset: str, choice: Choice, given: Mapping[str, Any]) -> dict[str, Any]:
    """The labels of a card with field and separator."""
    ways = ", ".join(f"ecgbench:{dataset}:{field}" for field in choice.fields) or "a column of its tables"
    field = given.get("field", choice.fields[0] if choice.decided and choice.fields else None)
    if field is None:
        raise ValueError(
            f"{dataset}: which labels make the classes is your choice: {ways}, or to pretrain on it without "
            f"labels ecgbench:{dataset}:none"
        )
    if isinstance(field, list):
        return {"classes": field, "field": field, **given}
    if isinstance(field, str) and FOR_FOLDS.fullmatch(field):
        raise ValueError(f"{dataset}: {field} was made to balance folds and is no label; take {ways}")
    separator = {"separator": choice.separators[field]} if field in choice.separators else {}
    return {"field": field, **separator, **given}


def _counted(config: Any, card: Mapping[str, Any], labels: Mapping[str, Any], find: Find) -> list[str]:
    """Classes that are counted in the dataset's folder: labels that enough patients have. Raises as `completed`."""
    try:
        folder = find(ECGBenchSource.model_validate({**card, "labels": None}))
    except DatasetError as missing:
        raise DatasetError(f"its classes are counted in its labels. {missing}") from None
    dataset, field, least = str(card["dataset"]), labels["field"], labels.get("least_patients", LEAST_PATIENTS)
    tables, left_out = read_tables(config, folder, dataset, folds=False), tuple(card.get("leave_out", ()))
    _check_column(tables.frame, field, dataset)
    rows = zip(tables.names, tables.patients, tables.paths, tables.frame[field], strict=True)
    labelled = (
        (patient or name, stated(cell, labels.get("separator")))
        for name, patient, path, cell in rows
        if not path.startswith(left_out)
    )
    classes = counted(labelled, least) if isinstance(least, int) else []
    if len(classes) < 2:
        raise ValueError(
            f"{dataset}: of the labels in {field!r} {len(classes)} have at least {least} patients in {folder}, and a "
            "task needs two; give labels.classes or a smaller labels.least_patients in a card"
        )
    return classes
