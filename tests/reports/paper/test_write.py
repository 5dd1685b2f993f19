"""`verify-paper` with and without a store: files, lines, and a store read as a replication."""

from __future__ import annotations

import csv
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path

import pytest

from benchmark.results.rows import Row
from benchmark.results.store import Store
from reports.paper.printed import printed_cells
from reports.paper.replication import load_replication
from reports.paper.sections import verification
from reports.paper.verdicts import VERDICTS
from reports.paper.write import markdown, verification_sheet, verify_paper

WriteStore = Callable[..., Path]


def test_the_paper_alone(tmp_path: Path) -> None:
    found = verify_paper(tmp_path / "out")
    assert found.files == (tmp_path / "out" / "verify-paper.md",)
    text = found.files[0].read_text()
    for part in (
        "Overall: 39 of 39 follow from their cells.",
        "PMQ is best in 20 of the 27 cells of Table 1, and 21 are bold.",
        "3 differences remain, 1 in favour of PMQ and 2 against it.",
        "repeats row 'Random' of Table 1 in 8 of 9 cells.",
        "Table 1: 24 of 24 Overalls",
        "Table 2: 15 of 15 Overalls",
        "Bold marks: 40 of 42 columns",
        "Chapman F1, 30 % (Table 1): bold is PMQ 86.8, highest is COMET 87.1.",
        "apart in PTB-XL F1, 1 %: 43.7±1.6 and 43.8±1.3",
        "within rounding, in 1 to 6",
        "Against a store: none was given.",
    ):
        assert part in text
    assert text.index("## Verdict") < text.index("## Consistency") < text.index("## Claims against the printed cells")


def test_a_folder_without_results_is_said_and_the_paper_audited(tmp_path: Path) -> None:
    found = verify_paper(tmp_path / "out", tmp_path / "nothing")
    assert len(found.files) == 1
    assert f"Against a store: no results in {tmp_path / 'nothing'}" in found.files[0].read_text()


def test_a_simulated_store_stands_beside_the_paper_and_settles_nothing(store_root: Path, tmp_path: Path) -> None:
    found = verify_paper(tmp_path / "out", store_root)
    names = [f"verify-paper{end}" for end in (".md", ".csv")]
    names += [f"verify-paper-{metric}{end}" for metric in ("f1", "auroc", "acc") for end in (".png", ".pdf")]
    assert [file.name for file in found.files] == names
    assert all(file.stat().st_size > 0 for file in found.files)
    text = found.files[0].read_text()
    assert "Simulated ECGs: these numbers neither support nor refute claims about real ones." in text
    assert "Claims against the store: 0 supported, 0 not supported, 20 cannot be tested (of 20)." in text
    assert "seeds not recorded (paper: [41, 42, 43, 44, 45])" in text
    assert "The store has no such cell." in text


def test_the_csv_has_every_cell_that_both_have(store_root: Path, tmp_path: Path) -> None:
    with verify_paper(tmp_path / "out", store_root).files[1].open() as file:
        lines = list(csv.DictReader(file))
    cells = load_replication(store_root).evidence.cells
    assert len(lines) == len(set(cells) & set(printed_cells()))
    first = lines[0]
    assert (first["variant"], first["paper_mean"], first["store_seeds"]) == ("random", "56.0", "2")
    assert float(first["store_mean"]) == pytest.approx(50.0)
    assert float(first["difference"]) == pytest.approx(-6.0)
    assert first["inside_joint_spread"] == "0"


def test_damaged_rows_are_named(store_root: Path) -> None:
    victim = Store(store_root).load_plan().cells[0].key
    (store_root / "cells" / f"{victim}.json").write_text("{")
    assert any(victim in problem for problem in load_replication(store_root).damaged)
    assert f"{victim}.json" in markdown(verification(store_root))


def test_a_terminal_shows_every_claim_under_its_verdict(store_root: Path) -> None:
    above = verification_sheet(verification(store_root)).above
    assert above[1] == ("Verdict", "title")
    verdicts = [place for place, (text, _) in enumerate(above) if text in VERDICTS]
    assert len(verdicts) == 2 * 20
    assert all(above[place + 1][0].startswith("  ") for place in verdicts)


def test_the_same_store_gives_the_same_bytes(write_store: WriteStore, tmp_path: Path) -> None:
    def slower(row: Row) -> Row:
        return replace(row, training=row.training | {"seconds": 99.0})

    one = verify_paper(tmp_path / "a", write_store("one", complete=True)).files
    other = verify_paper(tmp_path / "b", write_store("two", complete=True, backwards=True, alter=slower)).files
    assert [file.read_bytes() for file in one] == [file.read_bytes() for file in other]
