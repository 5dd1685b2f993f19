"""The difference that a run can detect is printed before it, with the cheapest remedy."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from typing import Any

import pytest

from benchmark.cli.expected import expectation
from benchmark.data.audit import side_line, size_of_test
from benchmark.data.column import Column
from benchmark.data.prepare import Prepared, unprepared
from tests.benchmark.run.bench import Cohorts, SmallConfig
from tests.benchmark.small_cohorts import small_cohort

STRICT = {"data.pretrain": "chapman", "protocol": "strict", "seeds": [1, 2, 3, 4, 5]}


def test_the_difference_to_expect_is_stated_with_its_remedy(small_config: SmallConfig, cohorts: Cohorts) -> None:
    chapman = {"chapman": cohorts["chapman"]}
    everyone = len({*cohorts["chapman"].recordings.patient})
    one_split, in_parts = small_config(STRICT), small_config(STRICT | {"data.folds": 5})
    text, finer = expectation(one_split, chapman), expectation(in_parts, chapman)
    assert "--protocol strict --set data.folds=5: with encoders pretrained elsewhere" in text
    assert f"test patients: Chapman {everyone}; " in finer
    assert "each part has encoders of its own" in finer
    assert f"test patients: Chapman {everyone}; " not in text
    of_all = text.rpartition("; of about ")[2].split()[0]
    assert f"of about {of_all} points" in finer
    assert "each part has" not in expectation(
        small_config({**STRICT, "data.pretrain": "mimic-iv-ecg", "data.folds": 5}), chapman
    )
    usable, entries = {*cohorts["chapman"].recordings.recording}, small_cohort("chapman").listing().entries
    about: Any = cohorts["chapman"]
    listed = unprepared(about, [entry for entry in entries if entry.recording in usable])
    assert expectation(in_parts, {"chapman": listed}) == finer
    assert expectation(in_parts, {"chapman": unprepared(cohorts["chapman"], ())}) == ""  # type: ignore[arg-type]
    assert "twice the seeds" in expectation(
        small_config({**STRICT, "data.datasets": ["ptb-xl"]}), {"ptb-xl": cohorts["ptb-xl"]}
    )


def test_rare_classes_make_the_test_smaller_than_its_patients(
    make_prepared: Callable[..., Prepared], small_config: SmallConfig
) -> None:
    config = small_config(STRICT | {"data.folds": 5})
    spec = config.column_spec("chapman")
    balanced = make_prepared("chapman", [(f"p{n // 2}", (n // 2 % 4,), 12, None) for n in range(80)])
    assert size_of_test(Column(balanced, spec)) == (40, pytest.approx(40))
    rare = make_prepared("chapman", [(f"p{n}", (int(n < 4),), 12, None) for n in range(40)])
    assert size_of_test(Column(rare, spec)) == (40, pytest.approx(4 / (1 / 4 + 1 / 36)))
    assert side_line(Column(rare, spec)) == "40 recordings are tested, in 5 parts by patient"
    assert side_line(Column(rare, replace(spec, folds=0))).startswith("training 32")
