"""Simulated cohorts: datasets whose recordings are drawn when they are read, and lie in no file.

Each patient and recording has a random stream seeded by (seed, cohort, patient, recording): equal settings give equal
samples, a larger cohort begins with the patients of a smaller one, and cohorts share no patient. Patients of a separate
test part follow the others, whom they leave as they are. Each cohort has the classes, patients, folds, lengths and
reports of its dataset (docs/DATA.md).
"""

from __future__ import annotations

from collections import Counter, defaultdict
from collections.abc import Mapping
from dataclasses import asdict, dataclass, replace
from pathlib import Path

import numpy as np
from numpy.random import Generator

from benchmark.data.datasets import DATASETS
from benchmark.data.datasets.base import ALWAYS_TESTED, NO_FOLD, Entry, Listing, Recording, rows_beside
from benchmark.data.datasets.chapman import RHYTHMS as RHYTHM_GROUP_OF_CODE
from benchmark.data.datasets.ptb_xl import SUPERCLASS_OF_CODE
from benchmark.data.simulate.machine_reports import machine_report
from benchmark.data.simulate.patient import (
    DIAGNOSES,
    RHYTHMS,
    Population,
    draw_conditions,
    draw_diagnoses,
    draw_person,
)
from benchmark.data.simulate.recording import record
from benchmark.results.files import digest

SIMULATOR_VERSION = 3
"""Raised with every change that can alter a signal, a label or a report."""
FS = 500
MOST_STEPS = 32767
"""Steps of a converter of 16 bits, on either side of zero."""
REPORT_LINES = 18
"""Most lines of a machine report in MIMIC-IV-ECG."""
VISITS, PERSON, FIRST_RECORDING = 0, 1, 2
"""Parts of a patient's random streams: number of recordings, person, and the recordings from here on."""
CHANGES = 1
"""Marks the stream that changes a patient's conditions, apart from the recording's."""
MIMIC, PTB_XL = "mimic-iv-ecg", "ptb-xl"
CLASS_OF_CODE: dict[str, Mapping[str, str]] = {
    MIMIC: {},
    PTB_XL: SUPERCLASS_OF_CODE,
    "chapman": RHYTHM_GROUP_OF_CODE,
    "cpsc2018": {name: name for name in DATASETS["cpsc2018"].classes},
    "ningbo": RHYTHM_GROUP_OF_CODE,
}


COHORTS = {row.pop("cohort"): row for row in rows_beside(__file__, "cohorts.csv")}
"""Name -> cohort, in the order that seeds their streams; names and shares of a cell are in the order of their draws.

Superclasses of PTB-XL and first labels of CPSC2018 are as often as in the real ones.
"""


def population_of(row: Mapping[str, str]) -> Population:
    """Read a row of cohorts.csv."""
    return Population(
        conditions=shares_of(row["conditions"]),
        companion=float(row["companion"]),
        rhythms=shares_of(row["rhythms"]),
        affinities=shares_of(row["affinities"]),
    )


def shares_of(cell: str) -> dict[str, float]:
    """Read a cell of names and shares: 'AFIB 0.1|SR 0.9'."""
    shares = {}
    for pair in filter(None, cell.split("|")):
        name, share = pair.rsplit(" ", 1)
        shares[name] = float(share)
    return shares


POPULATIONS = {name: population_of(row) for name, row in COHORTS.items()}


@dataclass
class SimulatedDataset:
    """A cohort with the classes of a real dataset; a `benchmark.data.datasets.base.Dataset`.

    Its settings are those of `data.simulation` in a config (docs/DATA.md); above 99,000 patients names recur.
    """

    name: str
    patients: int
    seed: int = 1
    test_patients: int = 0
    recordings_per_patient: float = 3.0
    noise: float = 1.0
    anatomy: float = 1.0
    severity: float = 1.0
    persistence: float = 1.0
    report_errors: float = 1.0

    def __post_init__(self) -> None:
        source, self.cohort = DATASETS[self.name], COHORTS[self.name]
        self.title, self.classes, self.first_label_counts = source.title, source.classes, source.first_label_counts
        self.root, self.how_to_get = Path(), ""

    @property
    def drawn_from(self) -> str:
        """Digest of all that its recordings depend on."""
        settings = asdict(self)
        return digest([SIMULATOR_VERSION, settings.pop("name"), settings])

    def listing(self) -> Listing:
        """List all recordings; none is drawn, so that reports made with a signal are not in the entries yet."""
        entries: list[Entry] = []
        for patient in range(self.patients + self.test_patients):
            for visit in range(self._visits(patient)):
                entries.append(self._entry(len(entries), patient, visit))
        if self.name == PTB_XL:
            entries = with_folds(entries, self.classes)
        elif self.name == MIMIC:
            entries.sort(key=lambda entry: entry.patient)
        return Listing(tuple(entries), form="simulated")

    def _visits(self, patient: int) -> int:
        """Draw the number of a patient's recordings."""
        rng = self.stream(patient, VISITS)
        if self.name == MIMIC:
            return min(60, int(rng.geometric(1.0 / self.recordings_per_patient)))
        if self.name == PTB_XL:
            return 1 + int(np.searchsorted([0.875, 0.975, 0.993], rng.random()))
        return 1

    def _entry(self, number: int, patient: int, visit: int) -> Entry:
        """Make the entry of a recording: its number in the cohort, its patient and its number among the patient's."""
        shown = self.diagnoses(patient, visit)
        recording, name = self._names(number, patient, visit)
        codes: list[str] = []
        for diagnosis in shown:
            codes += getattr(DIAGNOSES[diagnosis], self.cohort["codes"], "").split()
        class_of = CLASS_OF_CODE[self.name]
        classes = [class_of[code] for code in codes if class_of.get(code)]
        report = ""
        if self.name == PTB_XL:
            rhythm_first = sorted(shown, key=lambda diagnosis: diagnosis not in RHYTHMS)
            report = " ".join(DIAGNOSES[diagnosis].german for diagnosis in rhythm_first)
        return Entry(
            recording=recording,
            patient=name,
            path=f"{patient}/{visit}",
            labels=tuple(dict.fromkeys(map(self.classes.index, classes))),
            report=report,
            fold=ALWAYS_TESTED if patient >= self.patients else NO_FOLD,
            statements="\n".join(dict.fromkeys(codes)),
        )

    def _names(self, number: int, patient: int, visit: int) -> tuple[str, str]:
        """Name a recording and its patient; of MIMIC-IV-ECG for 100,000 patients of 60 recordings."""
        if self.name == MIMIC:
            study = 40_000_000 + (64 * patient + visit + 1) * 7_368_787 % 9_999_991
            return str(study), str(10_000_000 + 10 * (patient * 61_803 % 100_000) + patient % 10)
        if self.name == PTB_XL:
            return str(number + 1), str(1 + patient * 7_919 % 99_991)
        name = self.cohort["names"].format(number + int(self.cohort["first"]))
        return name, name

    def files(self, entry: Entry) -> tuple[Path, ...]:
        """Return none."""
        return ()

    def read(self, entry: Entry) -> Recording:
        """Draw a recording, in whole steps of a converter."""
        patient, visit = map(int, entry.path.split("/"))
        rng = self.stream(patient, FIRST_RECORDING + visit)
        diagnoses = self.diagnoses(patient, visit, rng)
        person = draw_person(self.stream(patient, PERSON), POPULATIONS[self.name], self.anatomy)
        drawn = record(
            person,
            diagnoses,
            rng,
            seconds=cpsc2018_seconds(rng) if self.name == "cpsc2018" else 10.0,
            fs=FS,
            noise=self.noise,
            severity=self.severity,
            mains_hz=float(self.cohort["mains_hz"]),
        )
        steps_per_mv = int(self.cohort["steps_per_mv"])
        steps = np.clip(np.rint(drawn.signal * steps_per_mv), -MOST_STEPS, MOST_STEPS).astype(np.int16)
        signal = (steps / steps_per_mv).astype(np.float32)
        if self.name != MIMIC:
            return Recording(signal, FS)
        rng.integers(0, 12 * 60)  # of the time of day, in minutes, which is not used
        lines = machine_report(diagnoses, drawn.rate, rng, self.report_errors)
        return Recording(signal, FS, ". ".join(lines[:REPORT_LINES]))

    def diagnoses(self, patient: int, visit: int, rng: Generator | None = None) -> tuple[str, ...]:
        """Draw what a recording shows. rng: the recording's stream, not drawn from yet; by default a new one."""
        population = POPULATIONS[self.name]
        conditions = draw_conditions(self.stream(patient, PERSON), population)
        if visit > 0:
            changes = self.stream(patient, FIRST_RECORDING + visit, CHANGES)
            if changes.random() >= self.persistence:
                conditions = draw_conditions(changes, population)
        rng = rng or self.stream(patient, FIRST_RECORDING + visit)
        return draw_diagnoses(rng, conditions, population, first=visit == 0)

    def stream(self, patient: int, *part: int) -> Generator:
        """Make the random stream of a patient's part."""
        return np.random.default_rng([self.seed, list(COHORTS).index(self.name), patient, *part])


def cpsc2018_seconds(rng: Generator) -> float:
    """Draw the length of a recording: 6 to 60 s, most often 9.5 to 15."""
    lengths = ((6, 9.5), (9.5, 15), (15, 35), (35, 60))
    shortest, longest = lengths[int(np.searchsorted([0.02, 0.77, 0.96], rng.random()))]
    return round(2 * rng.uniform(shortest, longest)) / 2


FOLDS = 10
RAREST_FIRST = ("HYP", "CD", "MI", "STTC", "NORM")


def with_folds(entries: list[Entry], classes: tuple[str, ...]) -> list[Entry]:
    """Give each patient, in order, the fold in which their rarest superclass is rarest so far, or the test fold.

    A fold depends only on earlier patients, so a larger cohort keeps it.
    """
    of_patient: dict[str, set[str]] = defaultdict(set)
    for entry in entries:
        if entry.fold != ALWAYS_TESTED:
            of_patient[entry.patient] |= {classes[label] for label in entry.labels}
    filled: Counter[tuple[str, int]] = Counter()
    fold_of = {}
    for number, (patient, names) in enumerate(of_patient.items()):
        rarest = next((name for name in RAREST_FIRST if name in names), "none")
        folds = [
            (first - number - 1) % FOLDS + 1 for first in range(FOLDS)
        ]  # of ties the first, another for each patient
        fold = min(folds, key=lambda fold: (filled[rarest, fold], filled["all", fold]))
        fold_of[patient] = fold
        filled.update((name, fold) for name in {*names, rarest, "all"})
    return [replace(entry, fold=fold_of.get(entry.patient, FOLDS)) for entry in entries]
