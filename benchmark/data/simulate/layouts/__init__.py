"""On-disk layouts of the datasets, by reader name. In: cases. Out: files. Imported by simulate alone."""

from __future__ import annotations

from collections.abc import Mapping
from types import MappingProxyType

from benchmark.data.simulate.layouts import chapman, cpsc2018, mimic_iv_ecg, ningbo, ptb_xl
from benchmark.data.simulate.layouts.layout import Layout

LAYOUTS: Mapping[str, Layout] = MappingProxyType(  # in this order: a cohort's place seeds its streams
    {
        "mimic-iv-ecg": mimic_iv_ecg.LAYOUT,
        "ptb-xl": ptb_xl.LAYOUT,
        "chapman": chapman.LAYOUT,
        "cpsc2018": cpsc2018.LAYOUT,
        "ningbo": ningbo.LAYOUT,
    }
)
