"""DATASETS: the built-in datasets by name; all others are declared by a card (docs/OWN_DATA.md).

To add a dataset, add its file and a line here. A reader is imported when it is asked for, so that the names are there
without pandas.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from methods.from_file import Table

if TYPE_CHECKING:
    from benchmark.data.datasets.base import BuiltIn

DATASETS: Table[BuiltIn] = Table(
    {
        "mimic-iv-ecg": "benchmark.data.datasets.mimic_iv_ecg:MIMICIVECG",
        "ptb-xl": "benchmark.data.datasets.ptb_xl:PTBXL",
        "chapman": "benchmark.data.datasets.chapman:Chapman",
        "cpsc2018": "benchmark.data.datasets.cpsc2018:CPSC2018",
        "ningbo": "benchmark.data.datasets.chapman:Ningbo",
    }
)
