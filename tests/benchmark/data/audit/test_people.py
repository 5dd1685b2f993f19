"""Sex and age of recordings from tables and headers, in the forms that the simulator writes too."""

from __future__ import annotations

from pathlib import Path

import openpyxl
import pytest

from benchmark.data.audit.people import people_of
from benchmark.data.readers.base import Entry
from benchmark.data.readers.chapman import Chapman
from benchmark.data.readers.cpsc2018 import CPSC2018
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


def test_a_table_is_read_for_its_own_dataset_alone(tmp_path: Path) -> None:
    book = openpyxl.Workbook()
    for row in (["FileName", "Rhythm", "PatientAge", "Gender"], ["M1", "SB", 85, "MALE"], ["M2", "SB", 59, "FEMALE"]):
        book.active.append(row)
    book.save(tmp_path / "Diagnostics.xlsx")
    entries = [Entry("M2", "M2", "M2"), Entry("M3", "M3", "M3")]
    assert people_of(Chapman(tmp_path), entries) == {"M2": ("FEMALE", 59.0)}
    assert people_of(CPSC2018(tmp_path), entries) == {}


def test_what_a_card_has_read_is_taken_and_no_table(tmp_path: Path) -> None:
    (tmp_path / "ptbxl_database.csv").write_text("ecg_id,age,sex\n1,50,0\n2,50,0\n3,50,0\n")
    entries = [Entry("1", "p", "", sex="f"), Entry("2", "p", "", age=0.0), Entry("3", "p", "")]
    assert people_of(PTBXL(tmp_path), entries) == {"1": ("f", None), "2": ("", 0.0)}
    assert people_of(PTBXL(tmp_path), entries[1:2]) == {"2": ("", 0.0)}
    assert people_of(PTBXL(tmp_path), entries[2:]) == {"3": ("male", 50.0)}


def test_of_a_header_the_first_comments_count_and_no_other_line(tmp_path: Path) -> None:
    header = "A1 12 500 5000\nAge: 1\n#Age: 74\n# Sex: Male\n#Age: 20\n#Dx: 1\n"
    (tmp_path / "A1.hea").write_text(header)
    (tmp_path / "A1.mat").write_text("# Sex: Female\n")
    (tmp_path / "A2.hea").write_text("A2 12 500 5000\n#Sex: Unknown\n")
    entries = [Entry(name, name, name) for name in ("A1", "A2", "A3")]
    assert people_of(CPSC2018(tmp_path), entries) == {"A1": ("Male", 74.0), "A2": ("Unknown", None)}
