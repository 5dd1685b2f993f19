"""A first card: what a folder tells stands in it, what it does not is a question, and nothing is guessed."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import pytest

from benchmark.config.load import parsed
from benchmark.data.readers.base import LEADS, DatasetError
from benchmark.data.readers.cards.card import Card
from benchmark.data.readers.cards.dataset import CardDataset
from benchmark.data.readers.cards.draft.write import draft, name_of, questions_in


def drafted(folder: Path) -> tuple[dict[str, Any], list[str]]:
    """The content of the card, and its questions."""
    text = draft(folder, "ours.yaml")
    return parsed(text), list(questions_in(text))


def test_a_folder_of_wfdb_and_a_table_leaves_no_question(folder: Path) -> None:
    content, questions = drafted(folder)
    assert questions == []
    card = Card.model_validate(content)
    assert (card.name, card.title, card.signals.files) == ("own", "own", "waves/{recording}.hea")
    assert card.table is not None
    assert (card.table.recording, card.table.patient, card.table.split) == ("id", "person", "set")
    assert (card.table.report, card.table.sex, card.table.age) == (None, "sex", "years")
    assert card.labels is not None
    assert (card.labels.column, card.labels.separator) == ("rhythm", ";")
    assert card.labels.classes[:2] == ["SR", "AFIB"]
    assert set(card.labels.classes[2:]) == {"AF", "STD"}
    assert len(CardDataset(card, folder).listing().entries) == 12


@pytest.mark.parametrize(("cell", "pattern"), [("{}", "waves/{recording}_hr.hea"), ("{}_hr", "waves/{recording}.hea")])
def test_what_all_names_end_in_is_of_the_name_where_the_table_has_it(folder: Path, cell: str, pattern: str) -> None:
    table = pd.read_csv(folder / "labels.csv")
    for file in [*(folder / "waves").iterdir()]:
        if file.suffix == ".hea":
            file.write_text(file.read_text().replace(file.stem, f"{file.stem}_hr"))
        file.rename(file.with_stem(f"{file.stem}_hr"))
    table.assign(id=[cell.format(own) for own in table["id"]]).to_csv(folder / "labels.csv", index=False)
    content, questions = drafted(folder)
    assert (content["signals"]["files"], content["table"]["recording"], questions) == (pattern, "id", [])


def test_a_column_of_paths_is_told_from_one_of_names(folder: Path) -> None:
    table = pd.read_csv(folder / "labels.csv")
    table.assign(id="waves/" + table["id"]).to_csv(folder / "labels.csv", index=False)
    content, questions = drafted(folder)
    assert questions == []
    assert (content["signals"]["files"], content["table"]["path"]) == ("waves/*.hea", "id")
    assert len(CardDataset(Card.model_validate(content), folder).listing().entries) == 12


def test_arrays_leave_questions_on_all_they_do_not_state(tmp_path: Path, make_ecg: Callable[..., Any]) -> None:
    for name in "ab":
        np.save(tmp_path / f"{name}.npy", make_ecg(seconds=2.0))
    content, questions = drafted(tmp_path)
    assert [line.partition(":")[0] for line in questions] == ["rate", "unit", "leads"]
    assert content["signals"] == {"files": "{recording}.npy", "rate": "?", "unit": "?", "leads": "?"}
    assert "table" not in content


def test_text_files_without_a_header_ask_for_leads(tmp_path: Path, make_ecg: Callable[..., Any]) -> None:
    (tmp_path / "ecg").mkdir()
    for number in range(6):
        np.savetxt(tmp_path / f"ecg/{number}.csv", make_ecg(seconds=1.0), delimiter=",")
    content, questions = drafted(tmp_path)
    assert content["signals"]["files"] == "ecg/{recording}.csv"
    assert [line.partition(":")[0] for line in questions] == ["leads", "rate", "unit"]


@pytest.mark.parametrize("header", [",".join(LEADS), ""], ids=["named", "unnamed"])
def test_a_few_text_files_of_samples_are_no_tables(header: str, tmp_path: Path, make_ecg: Callable[..., Any]) -> None:
    (tmp_path / "ecg").mkdir()
    for number in range(3):
        file = tmp_path / "ecg" / f"r{number}.csv"
        np.savetxt(file, make_ecg(seconds=2.0), delimiter=",", header=header, comments="")
        file.write_text(file.read_text().removeprefix("\n"))
    (tmp_path / "labels.csv").write_text("recording,rhythm\nr0,SR\nr1,AF\nr2,SR\n")
    content, _ = drafted(tmp_path)
    assert content["signals"]["files"] == "ecg/{recording}.csv"
    assert (content["table"]["file"], content["table"]["recording"]) == ("labels.csv", "recording")


def test_suffixes_in_other_capitals_are_counted(tmp_path: Path, make_ecg: Callable[..., Any]) -> None:
    for name in ("a.npy", "b.npy", "c.NPY"):
        np.save(tmp_path / "x.npy", make_ecg(seconds=2.0))
        (tmp_path / "x.npy").rename(tmp_path / name)
    _, questions = drafted(tmp_path)
    assert "{recording}.npy finds 2 files, not 1 such as c.NPY: rename these" in questions[0]


def test_eight_leads_are_told_to_make_twelve(tmp_path: Path, make_ecg: Callable[..., Any], write_record: Any) -> None:
    eight = [lead for lead in LEADS if lead not in ("III", "aVR", "aVL", "aVF")]
    columns = [LEADS.index(lead) for lead in eight]
    write_record(tmp_path / "r", make_ecg(seconds=2.0)[:, columns], leads=eight)
    content, questions = drafted(tmp_path)
    assert (content["signals"]["derive"], questions) == (True, [])


def test_unknown_names_of_leads_are_a_question(tmp_path: Path, make_ecg: Callable[..., Any], write_record: Any) -> None:
    write_record(tmp_path / "r", make_ecg(seconds=2.0), leads=[f"ch{number}" for number in range(12)])
    _, questions = drafted(tmp_path)
    assert len(questions) == 1
    assert "the files have ch0, ch1" in questions[0]


def test_a_column_per_class_and_a_missing_patient(folder: Path) -> None:
    table = pd.DataFrame({"id": [f"r{n:02}" for n in range(12)], "AF": [0, 1] * 6, "RBBB": [1, 0, 0] * 4})
    table.to_csv(folder / "labels.csv", index=False)
    content, questions = drafted(folder)
    assert content["labels"] == {"classes": ["AF", "RBBB"]}
    assert [line.partition(":")[0] for line in questions] == ["patient"]


@pytest.mark.parametrize("name", ["Dx", "Diagnosis"])
def test_comments_of_headers_are_labels_where_no_table_has_any(folder: Path, name: str) -> None:
    (folder / "labels.csv").unlink()
    for number, header in enumerate(sorted((folder / "waves").glob("*.hea"))):
        with header.open("a") as file:
            file.write(f"#Age: 50\n#{name}: {('426783006', '164889003', '426783006,164889003')[number % 3]}\n")
    content, questions = drafted(folder)
    assert content["labels"] == {"comment": name, "separator": ",", "classes": ["426783006", "164889003"]}
    assert questions == []


def test_a_table_that_names_no_file_is_a_question(folder: Path) -> None:
    pd.DataFrame({"nr": range(12), "rhythm": ["SR", "AF"] * 6}).to_csv(folder / "labels.csv", index=False)
    _, questions = drafted(folder)
    assert questions[0].startswith('recording: "?"')


def test_a_column_that_may_be_labels_is_asked_for(folder: Path) -> None:
    columns = {"id": [f"r{n:02}" for n in range(12)], "patient": range(12), "device": ["A", "B"] * 6}
    pd.DataFrame(columns).to_csv(folder / "labels.csv", index=False)
    content, questions = drafted(folder)
    assert content["labels"] == {"column": "?", "classes": "?"}
    assert "Columns of few values: device" in questions[0]


def test_files_of_one_name_are_a_question(folder: Path) -> None:
    (folder / "more").mkdir()
    for suffix in (".hea", ".dat"):
        (folder / f"more/r01{suffix}").write_bytes((folder / f"waves/r01{suffix}").read_bytes())
    assert "use {patient}/{recording}, or narrow it" in drafted(folder)[1][0]


def test_a_header_of_two_lines_stays_in_its_comment(folder: Path) -> None:
    table = pd.read_csv(folder / "labels.csv").rename(columns={"text": "free\ntext: [", "set": "two"})
    table["copy"] = "x"
    table.to_excel(folder / "labels.xlsx", index=False, header=["two" if c == "copy" else c for c in table.columns])
    (folder / "labels.csv").unlink()
    content, questions = drafted(folder)
    assert questions == []
    assert content["table"]["recording"] == "id"
    assert content["labels"]["column"] == "rhythm"


def test_files_that_cannot_be_read_are_an_error(folder: Path) -> None:
    for header in folder.glob("waves/*.hea"):
        header.write_text("no header")
    with pytest.raises(DatasetError, match=r"none of the first 3 files can be read: waves/r02\.hea: damaged header"):
        draft(folder, "x.yaml")


def test_a_folder_without_signals_is_an_error(tmp_path: Path) -> None:
    with pytest.raises(DatasetError, match=r"has no file of a known format: \.hea"):
        draft(tmp_path, "x.yaml")
    with pytest.raises(DatasetError, match="is not a folder"):
        draft(tmp_path / "gone", "x.yaml")


@pytest.mark.parametrize(("folder", "name"), [("My ECGs (2024)", "my-ecgs-2024"), ("äö", "ours"), ("_x", "x")])
def test_the_name_is_made_of_the_folder_s(folder: str, name: str) -> None:
    assert name_of(Path(folder)) == name


def test_of_two_tables_the_one_that_finds_more_files_counts(folder: Path) -> None:
    table = pd.read_csv(folder / "labels.csv")
    table.head(8).assign(id=lambda own: [*own["id"][:5], "x", "y", "z"]).to_csv(folder / "a.csv", index=False)
    table.to_csv(folder / "z.csv", index=False)
    (folder / "labels.csv").unlink()
    assert drafted(folder)[0]["table"]["file"] == "z.csv"
    (folder / "b.csv").write_text("only,names\n")
    (folder / "z.csv").unlink()
    assert drafted(folder)[0]["table"]["file"] == "a.csv"


def test_a_table_that_cannot_be_read_is_passed_over(folder: Path) -> None:
    (folder / "a.xlsx").write_bytes(b"no workbook")
    assert drafted(folder)[0]["table"]["file"] == "labels.csv"


def test_what_may_be_added_stands_in_comments(folder: Path) -> None:
    text = draft(folder, "ours.yaml")
    assert text.startswith("# A card of the ECGs in this folder, for `--datasets ours.yaml`;")
    assert "  # report: ...\n" in text
    assert "files: waves/{recording}.hea" in text.replace('"', "")
    assert "# 12 files" in text
    assert "# No labels were found" not in text
    (folder / "labels.csv").unlink()
    assert "# No labels were found" in draft(folder, "ours.yaml")
    assert list(questions_in('# QUESTION: x\na: "?"  # QUESTION: y\nb: 1')) == ['a: "?"  # QUESTION: y']
