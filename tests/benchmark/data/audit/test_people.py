"""Sex and age of recordings from tables and headers, in the forms that the simulator writes too."""

from __future__ import annotations

from pathlib import Path

import pytest

from benchmark.data.audit.people import people_of, years_of
from benchmark.data.readers.ptb_xl import PTBXL
from benchmark.data.readers.registry import DATASETS
from benchmark.data.simulate import CohortSettings, write_cohort
from benchmark.results.people.stored import groups_of


@pytest.mark.parametrize("name", ["ptb-xl", "chapman", "cpsc2018"])
def test_every_simulated_recording_has_both(name: str, tmp_path: Path) -> None:
    write_cohort(name, tmp_path / name, CohortSettings(patients=6), seed=1)
    dataset = DATASETS[name](tmp_path / name)
    entries = dataset.listing().entries
    people = people_of(dataset, entries)
    assert entries
    assert people.keys() == {entry.recording for entry in entries}
    assert all(sex and band for sex, band in groups_of(people).values())
    assert len({sex for sex, _ in groups_of(people).values()}) == 2


def test_ptb_xl_states_women_as_one_and_ages_over_89_as_300(tmp_path: Path) -> None:
    write_cohort("ptb-xl", tmp_path / "ptb-xl", CohortSettings(patients=4), seed=1)
    table = tmp_path / "ptb-xl" / "ptbxl_database.csv"
    entries = PTBXL(table.parent).listing().entries
    names = [entry.recording for entry in entries][:3]
    table.write_text("ecg_id,age,sex\n" + f"{names[0]},300.0,1\n{names[1]},,0\n{names[2]},old,\n")
    people = people_of(PTBXL(table.parent), entries)
    assert people == {names[0]: ("female", 300.0), names[1]: ("male", None)}
    assert groups_of(people) == {names[0]: ("women", "80 and over"), names[1]: ("men", "")}


@pytest.mark.parametrize(("text", "years"), [("63", 63), ("63.5", 63.5), ("NaN", None), ("-3", None), ("999", None)])
def test_ages_that_no_person_has_are_not_known(text: str, years: float | None) -> None:
    assert years_of(text) == years
