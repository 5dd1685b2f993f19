"""Which columns of ECGBench's labels can make classes, and the classes where the package fixes them.

A column is the default where ECGBench's config or its label module names one target; else the choice is the user's.
Columns that ECGBench made to balance its folds are no labels.
"""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from typing import NamedTuple

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
