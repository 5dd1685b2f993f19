"""What the machine says, how often it errs, and that the dial scales it."""

from __future__ import annotations

import numpy as np
import pytest

from benchmark.data.simulate.machine_reports import FINDING_READINGS, RHYTHM_READINGS, machine_report
from benchmark.data.simulate.patient import DIAGNOSES, RHYTHMS

FINDINGS = tuple(name for name in DIAGNOSES if name not in RHYTHMS and name != "NORM")


def _reports(diagnoses: tuple[str, ...], errors: float, count: int = 1500, rate: float = 80.0) -> list[list[str]]:
    return [machine_report(diagnoses, rate, np.random.default_rng([seed, 7]), errors) for seed in range(count)]


def _share(reports: list[list[str]], *lines: str) -> float:
    return float(np.mean([any(line in report for line in lines) for report in reports]))


def test_every_diagnosis_has_a_reading() -> None:
    assert set(RHYTHM_READINGS) == set(RHYTHMS)
    assert set(FINDING_READINGS) == set(FINDINGS)


@pytest.mark.parametrize("name", FINDINGS)
def test_without_errors_every_finding_is_named_and_nothing_else(name: str) -> None:
    for report in _reports((name, "SR"), 0.0, count=20):
        assert report[0] == "Sinus rhythm"
        assert len(report) == 3
        assert report[1] in FINDING_READINGS[name].wordings
        assert report[2] in ("Borderline ECG", "Abnormal ECG")


def test_without_errors_a_normal_ecg_is_normal() -> None:
    assert _reports(("NORM", "SR"), 0.0, count=5) == [["Sinus rhythm", "Normal ECG"]] * 5


@pytest.mark.parametrize("name", ["MI-INF", "LVH", "RBBB", "AVB1"])
def test_omissions_and_hedges_are_as_frequent_as_the_table_says(name: str) -> None:
    reading, reports = FINDING_READINGS[name], _reports((name, "SR"), 1.0)
    missed = 1 - _share(reports, *reading.wordings, *reading.uncertain_wordings)
    assert missed == pytest.approx(reading.missed, abs=0.04)
    hedged = _share(reports, *reading.uncertain_wordings)
    assert hedged == pytest.approx((1 - reading.missed) * reading.uncertain, abs=0.04)


def test_the_dial_scales_errors_up_to_always_wrong() -> None:
    reading = FINDING_READINGS["LVH"]
    missed = [
        1 - _share(_reports(("LVH", "SR"), errors, count=600), *reading.wordings, *reading.uncertain_wordings)
        for errors in (0.0, 0.5, 1.0, 10.0)
    ]
    assert missed == pytest.approx([0, 0.5 * reading.missed, reading.missed, 1], abs=0.05)
    always = _share([report[:1] for report in _reports(("AFL",), 100.0, count=50)], "Atrial flutter")
    assert always == 0
