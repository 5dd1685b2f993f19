"""Simulated cohorts: datasets whose recordings are drawn when they are read, and lie in no file.

Each patient and recording has a random stream seeded by (seed, cohort, patient, recording): equal settings give equal
samples, a larger cohort begins with the patients of a smaller one, and cohorts share no patient. Patients of a separate
test part follow the others, whom they leave as they are. Each cohort has the classes, patients, folds, lengths and
reports of its dataset (docs/DATA.md).
"""

from __future__ import annotations

from collections import Counter, defaultdict
from collections.abc import Callable, Mapping
from dataclasses import asdict, dataclass, field, replace
from pathlib import Path

import numpy as np

from benchmark.data.datasets import DATASETS
from benchmark.data.datasets.base import OWN_TEST_PART, Entry, Listing, Recording
from benchmark.data.datasets.chapman import RHYTHMS as RHYTHM_GROUP_OF_CODE
from benchmark.data.datasets.ptb_xl import SUPERCLASS_OF_CODE
from benchmark.data.simulate.machine_reports import machine_report
from benchmark.data.simulate.patient import (
    DIAGNOSES,
    RHYTHMS,
    Diagnosis,
    Population,
    draw_conditions,
    draw_diagnoses,
    draw_person,
    rows_of,
)
from benchmark.data.simulate.recording import record
from benchmark.results.schema import digest

SIMULATOR_VERSION = 3
"""Raised with every change that can alter a signal, a label or a report."""
FS = 500
MOST_STEPS = 32767
"""Steps of a converter of 16 bits, on either side of zero."""
REPORT_LINES = 18
"""Most lines of a machine report in MIMIC-IV-ECG."""
MOST_PATIENTS = 99_000
"""Up to here patients have different names."""
VISITS, PERSON, FIRST_RECORDING = 0, 1, 2
"""Parts of a patient's random streams: number of recordings, person, and the recordings from here on."""
CHANGES = 1
"""Marks the stream that changes a patient's conditions, apart from the recording's."""


@dataclass(frozen=True)
class CohortSettings:
    """Size and difficulty of a cohort."""

    patients: int
    seed: int = 1
    test_patients: int = 0
    """Further patients, who are tested however the others are split."""
    recordings_per_patient: float = 3.0
    """Mean recordings per patient (geometric). mimic-iv-ecg only: patients of chapman and cpsc2018 have one, one in
    eight of ptb-xl has more."""
    noise: float = 1.0
    """Scale of all noise: 0 none, 1 a routine hospital recording."""
    anatomy: float = 1.0
    """Scale of the differences between patients: 0 none, 1 realistic."""
    severity: float = 1.0
    """Scale of disease changes of a beat's shape: 0 none, 1 as drawn, at most 2. Rhythms and premature beats are not
    scaled."""
    persistence: float = 1.0
    """Share of a patient's later recordings that show conditions of his own; the others show newly drawn ones. 0: no
    finding says whose recording it is, 1: as in patients."""
    report_errors: float = 1.0
    """Scale of error and hedging rates of machine reports: 0 none, 1 as published. mimic-iv-ecg only."""


class SimulatedDataset:
    """A cohort with the classes of a real dataset; a `benchmark.data.datasets.base.Dataset`."""

    root = Path()
    how_to_get = ""

    def __init__(self, name: str, settings: CohortSettings) -> None:
        """Raise ValueError for an unknown cohort, and for more patients than have names."""
        if name not in COHORTS:
            raise ValueError(f"unknown cohort {name!r}: simulated are {', '.join(COHORTS)}")
        if not 1 <= settings.patients <= settings.patients + settings.test_patients <= MOST_PATIENTS:
            count = settings.patients + settings.test_patients
            raise ValueError(f"{name}: patients and test_patients are {count} together, must lie in 1-{MOST_PATIENTS}")
        source = DATASETS[name]
        self.name, self.title, self.classes = name, source.title, source.classes
        self.first_label_counts = source.first_label_counts
        self.settings = settings

    @property
    def cohort(self) -> Cohort:
        """What is particular to it."""
        return COHORTS[self.name]

    @property
    def drawn_from(self) -> str:
        """Digest of all that its recordings depend on."""
        return digest([SIMULATOR_VERSION, self.name, asdict(self.settings)])

    def listing(self) -> Listing:
        """List all recordings; none is drawn, so that reports made with a signal are not in the entries yet."""
        entries: list[Entry] = []
        for patient in range(self.settings.patients + self.settings.test_patients):
            count = self.cohort.visits(self.stream(patient, VISITS), self.settings.recordings_per_patient)
            entries += [self._entry(len(entries) + visit, patient, visit) for visit in range(count)]
        if self.name == "ptb-xl":
            entries = with_folds(entries, self.classes)
        elif self.name == "mimic-iv-ecg":
            entries.sort(key=lambda entry: entry.patient)
        return Listing(tuple(entries), form="simulated")

    def _entry(self, number: int, patient: int, visit: int) -> Entry:
        """Entry of a recording by its number in the cohort, its patient and its number among the patient's."""
        cohort, shown = self.cohort, self.diagnoses(patient, visit)
        recording, name = cohort.names(number, patient, visit)
        rhythm_first = sorted(shown, key=lambda name: name not in RHYTHMS)
        codes = [code for diagnosis in shown for code in cohort.codes_of(DIAGNOSES[diagnosis]).split()]
        classes = [cohort.class_of[code] for code in codes if cohort.class_of.get(code)]
        return Entry(
            recording=recording,
            patient=name,
            path=f"{patient}/{visit}",
            labels=tuple(dict.fromkeys(map(self.classes.index, classes))),
            report=" ".join(DIAGNOSES[name].german for name in rhythm_first) if self.name == "ptb-xl" else "",
            fold=OWN_TEST_PART if patient >= self.settings.patients else None,
            statements=tuple(dict.fromkeys(codes)),
        )

    def files(self, entry: Entry) -> tuple[Path, ...]:
        """Return none."""
        return ()

    def read(self, entry: Entry) -> Recording:
        """Draw a recording, in whole steps of a converter."""
        cohort, settings = self.cohort, self.settings
        patient, visit = map(int, entry.path.split("/"))
        rng = self.stream(patient, FIRST_RECORDING + visit)
        diagnoses = self.diagnoses(patient, visit, rng)
        drawn = record(
            draw_person(self.stream(patient, PERSON), cohort.population, settings.anatomy),
            diagnoses,
            rng,
            seconds=cohort.seconds(rng),
            fs=FS,
            noise=settings.noise,
            severity=settings.severity,
            mains_hz=cohort.mains_hz,
        )
        steps = np.clip(np.rint(drawn.signal * cohort.steps_per_mv), -MOST_STEPS, MOST_STEPS).astype(np.int16)
        signal = (steps / cohort.steps_per_mv).astype(np.float32)
        if not cohort.has_machine_reports:
            return Recording(signal, FS)
        rng.integers(0, 12 * 60)  # of the time of day, in minutes, which is not used
        lines = machine_report(diagnoses, drawn.rate, rng, settings.report_errors)
        return Recording(signal, FS, ". ".join(lines[:REPORT_LINES]))

    def diagnoses(self, patient: int, visit: int, rng: np.random.Generator | None = None) -> tuple[str, ...]:
        """Draw what a recording shows. rng: the recording's stream, not drawn from yet; by default a new one."""
        population = self.cohort.population
        conditions = draw_conditions(self.stream(patient, PERSON), population)
        if visit > 0:
            changes = self.stream(patient, FIRST_RECORDING + visit, CHANGES)
            if changes.random() >= self.settings.persistence:
                conditions = draw_conditions(changes, population)
        rng = rng or self.stream(patient, FIRST_RECORDING + visit)
        return draw_diagnoses(rng, conditions, population, first=visit == 0)

    def stream(self, patient: int, *part: int) -> np.random.Generator:
        """Make the random stream of a patient's part."""
        return np.random.default_rng([self.settings.seed, list(COHORTS).index(self.name), patient, *part])


FOLDS = 10
RAREST_FIRST = ("HYP", "CD", "MI", "STTC", "NORM")


def with_folds(entries: list[Entry], classes: tuple[str, ...]) -> list[Entry]:
    """Give each patient, in order, the fold in which their rarest superclass is rarest so far, or the test fold.

    A fold depends only on earlier patients, so a larger cohort keeps it.
    """
    of_patient: dict[str, set[str]] = defaultdict(set)
    for entry in entries:
        if entry.fold != OWN_TEST_PART:
            of_patient[entry.patient] |= {classes[label] for label in entry.labels}
    filled: Counter[tuple[str, int]] = Counter()
    fold_of = {}
    for number, (patient, names) in enumerate(of_patient.items()):
        rarest = next((name for name in RAREST_FIRST if name in names), "none")
        fold = min(range(1, FOLDS + 1), key=lambda f: (filled[rarest, f], filled["all", f], (f + number) % FOLDS))
        fold_of[patient] = fold
        filled.update((name, fold) for name in {*names, rarest, "all"})
    return [replace(entry, fold=fold_of.get(entry.patient, FOLDS)) for entry in entries]


def mimic_names(number: int, patient: int, visit: int) -> tuple[str, str]:
    """Number a recording and a patient of MIMIC-IV-ECG, for 100,000 patients of 60 recordings."""
    study = 40_000_000 + (64 * patient + visit + 1) * 7_368_787 % 9_999_991
    return str(study), str(10_000_000 + 10 * (patient * 61_803 % 100_000) + patient % 10)


def cpsc2018_seconds(rng: np.random.Generator) -> float:
    """Draw the length of a recording: 6 to 60 s, most often 9.5 to 15."""
    lengths = ((6, 9.5), (9.5, 15), (15, 35), (35, 60))
    shortest, longest = lengths[int(np.searchsorted([0.02, 0.77, 0.96], rng.random()))]
    return round(2 * rng.uniform(shortest, longest)) / 2


@dataclass(frozen=True)
class Cohort:
    """What is particular to the simulated form of a dataset."""

    population: Population
    names: Callable[[int, int, int], tuple[str, str]]
    """Number of a recording, of its patient and of the patient's recording -> names of the first two."""
    codes_of: Callable[[Diagnosis], str] = lambda diagnosis: ""
    """Codes that the dataset has of a diagnosis, separated by blanks."""
    class_of: Mapping[str, str] = field(default_factory=dict)
    """Code -> class."""
    has_machine_reports: bool = False
    steps_per_mv: int = 1000
    mains_hz: float = 50.0
    visits: Callable[[np.random.Generator, float], int] = lambda rng, mean: 1
    """Number of recordings of a patient."""
    seconds: Callable[[np.random.Generator], float] = lambda rng: 10.0


def population_of(companion: str, *cells: str) -> Population:
    """Read a row of cohorts.csv: superclasses of PTB-XL and first labels of CPSC2018 are as often as in the real ones.

    In its cells names and shares are in the order in which they are drawn.
    """
    rhythms, conditions, affinities = ([pair.split() for pair in cell.split("|")] for cell in cells)
    return Population(
        conditions={name: float(share) for name, share in conditions},
        companion=float(companion),
        rhythms={name: float(share) for name, share in rhythms},
        affinities={(leading, further): float(factor) for leading, further, factor in filter(None, affinities)},
    )


POPULATIONS = {name: population_of(*cells) for name, *cells in rows_of("cohorts.csv")}
COHORTS = {  # in this order: a cohort's position seeds its streams
    "mimic-iv-ecg": Cohort(
        POPULATIONS["mimic-iv-ecg"],
        mimic_names,
        has_machine_reports=True,
        steps_per_mv=200,
        mains_hz=60.0,
        visits=lambda rng, mean: min(60, int(rng.geometric(1.0 / mean))),
    ),
    "ptb-xl": Cohort(
        POPULATIONS["ptb-xl"],
        lambda number, patient, visit: (str(number + 1), str(1 + patient * 7_919 % 99_991)),
        codes_of=lambda diagnosis: diagnosis.scp,
        class_of=SUPERCLASS_OF_CODE,
        visits=lambda rng, mean: 1 + int(np.searchsorted([0.875, 0.975, 0.993], rng.random())),
    ),
    "chapman": Cohort(
        POPULATIONS["chapman"],
        lambda number, patient, visit: 2 * (f"JS{number + 1:05d}",),
        codes_of=lambda diagnosis: diagnosis.snomed,
        class_of=RHYTHM_GROUP_OF_CODE,
    ),
    "cpsc2018": Cohort(
        POPULATIONS["cpsc2018"],
        lambda number, patient, visit: 2 * (f"A{number + 1:04d}",),
        codes_of=lambda diagnosis: diagnosis.cpsc2018,
        class_of={name: name for name in DATASETS["cpsc2018"].classes},
        seconds=cpsc2018_seconds,
    ),
    "ningbo": Cohort(
        POPULATIONS["ningbo"],
        lambda number, patient, visit: 2 * (f"JS{number + 10_647:05d}",),  # they go on from Chapman's
        codes_of=lambda diagnosis: diagnosis.snomed,
        class_of=RHYTHM_GROUP_OF_CODE,
    ),
}
