"""A first card: what a folder tells stands in it, what it does not is a question, and the next command takes it."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import pytest

from benchmark.cli.new_card import draft
from benchmark.config.load import parse_yaml
from benchmark.data.datasets.base import LEADS
from benchmark.data.datasets.card import Card


def drafted(folder: Path) -> tuple[dict[str, Any], list[str]]:
    """The content of the card, and the keys of its questions."""
    text = draft(folder, "ours.yaml")
    return parse_yaml(text), [line.split(":")[0].strip() for line in text.splitlines() if "# QUESTION:" in line]


def read(folder: Path, content: dict[str, Any]) -> list[tuple[int, ...]]:
    """The labels of the recordings that the card finds."""
    return [entry.labels for entry in Card.model_validate(content)(folder).listing().entries]


def rewrite(folder: Path, **columns: Any) -> None:
    """The folder's table with other columns; None takes one away."""
    table = pd.read_csv(folder / "labels.csv", dtype=str).assign(**columns)
    table.drop(columns=[name for name, cells in columns.items() if cells is None]).to_csv(
        folder / "labels.csv", index=False
    )


def test_wfdb_records_beside_a_table_leave_no_question(folder: Path) -> None:
    content, questions = drafted(folder)
    assert questions == []
    assert (content["name"], content["title"]) == ("own", "own")
    assert content["signals"] == {"files": "**/{recording}.hea"}
    assert content["table"] == {"file": "labels.csv", "recording": "id", "patient": "person"}
    assert (content["labels"]["column"], content["labels"]["separator"]) == ("rhythm", ";")
    assert len(read(folder, content)) == 12


def test_arrays_leave_questions_on_all_they_do_not_state(tmp_path: Path, make_ecg: Callable[..., Any]) -> None:
    np.savez(tmp_path / "a.npz", ecg=make_ecg(seconds=2.0), noise=make_ecg(seconds=1.0))
    assert drafted(tmp_path)[1] == ["array", "rate", "unit", "leads"]
    (tmp_path / "a.npz").unlink()
    np.save(tmp_path / "a.npy", make_ecg(seconds=2.0))
    assert drafted(tmp_path)[1] == ["rate", "unit", "leads"]
    (tmp_path / "a.npy").unlink()
    for number in range(6):
        np.savetxt(tmp_path / f"{number}.csv", make_ecg(seconds=1.0), delimiter=",")
    assert drafted(tmp_path)[1] == ["leads", "rate", "unit"]


@pytest.mark.parametrize("names", ["ids", "zero", "one"])
def test_rows_of_a_stacked_file_are_found_by_all_their_numbers_or_asked_for(
    tmp_path: Path, make_ecg: Callable[..., Any], names: str
) -> None:
    stack, first = np.stack([make_ecg(seconds=2.0)] * 12), {"ids": 900, "zero": 0, "one": 1}[names]  # (N, n, L)
    ids = range(first, first + 12)
    pd.DataFrame({"id": ids, "rhythm": ["AFIB", "SR"] * 6}).to_csv(tmp_path / "labels.csv", index=False)
    np.savez(tmp_path / "all.npz", ecg=stack, **({"exam": ids} if names == "ids" else {}))
    content, questions = drafted(tmp_path)
    assert (content["signals"]["files"], content["signals"]["stacked"]) == ("all.npz", True)
    of_rows = {"ids": ["ids_name", "recording"], "zero": [], "one": ["recording"]}[names]
    assert {*questions} == {"rate", "unit", "leads", *of_rows, "patient"}
    content["signals"] |= {"rate": 500, "unit": "mV", "leads": list(LEADS)}
    del content["table"]["patient"]
    if names == "zero":
        assert len(read(tmp_path, content)) == 12


def test_unknown_leads_are_a_question(tmp_path: Path, make_ecg: Any, write_record: Any) -> None:
    eight = [lead for lead in LEADS if lead not in ("III", "aVR", "aVL", "aVF")]
    write_record(tmp_path / "r", make_ecg(seconds=2.0)[:, :8], leads=eight)
    content, questions = drafted(tmp_path)
    assert (content["signals"]["derive"], questions) == (True, [])
    write_record(tmp_path / "r", make_ecg(seconds=2.0), leads=[f"ch{number}" for number in range(12)])
    assert drafted(tmp_path)[1] == ["leads"]


def test_an_unknown_unit_is_a_question(tmp_path: Path, make_ecg: Any, write_record: Any) -> None:
    write_record(tmp_path / "r", make_ecg(seconds=2.0))
    header = tmp_path / "r.hea"
    header.write_text(header.read_text().replace("/mV", "/mmHg"))
    assert drafted(tmp_path)[1] == ["unit"]


def test_a_unit_in_the_names_of_columns_leaves_no_question_on_it(tmp_path: Path, make_ecg: Any) -> None:
    names = [f"{lead} (uV)" for lead in LEADS]
    pd.DataFrame(make_ecg(seconds=2.0), columns=names).to_csv(tmp_path / "r.csv", index=False)
    assert drafted(tmp_path)[1] == ["rate"]


def test_one_column_of_yes_and_no_makes_two_classes_and_several_one_each(folder: Path) -> None:
    rewrite(folder, rhythm=None, person=None, AF=["0", "1.0"] * 6)
    content, questions = drafted(folder)
    assert content["labels"] == {"column": "AF", "classes": ["0", "1"]}
    assert questions == ["patient"]
    del content["table"]["patient"]
    assert read(folder, content) == [(0,), (1,)] * 6
    rewrite(folder, AF=["0", "1"] * 6, RBBB=["yes", "", ""] * 4)
    assert drafted(folder)[0]["labels"] == {"classes": ["AF", "RBBB"]}
    rewrite(folder, AF=None, RBBB=None, device=["A", "B"] * 6)
    assert drafted(folder)[1] == ["patient", "column", "classes"]


@pytest.mark.parametrize(
    ("cells", "classes", "separator"),
    [
        (["SR", "SR", "AF"], ["SR", "AF"], None),
        (["SR", "AF", "AF;SR"], ["SR", "AF"], ";"),
        (["SR;AF", "AF", "AF;SR"], ["AF", "SR"], ";"),
        (["['SR']", "['AF']", "['AF', 'SR']"], ["SR", "AF"], None),
        (["Sinus\nrhythm", "AF\r\n", "Sinus  rhythm"], ["Sinus rhythm", "AF"], None),
        (["LVH", "LAE", "LVH\nLAE", "LAE\nLVH", "LVH", "LVH"], ["LVH", "LAE"], "\n"),
    ],
)
def test_what_a_column_of_labels_says_is_read_again(
    folder: Path, cells: list[str], classes: list[str], separator: str | None
) -> None:
    rewrite(folder, rhythm=cells * (12 // len(cells)))
    content, questions = drafted(folder)
    assert (content["labels"]["classes"], content["labels"].get("separator"), questions) == (classes, separator, [])
    assert all(read(folder, content))


@pytest.mark.parametrize("suffix", [".hea", ".HEA"])
def test_comments_of_headers_are_labels_where_no_table_has_any(folder: Path, suffix: str) -> None:
    (folder / "labels.csv").unlink()
    for number, header in enumerate(sorted((folder / "waves").glob("*.hea"))):
        with header.open("a") as file:
            file.write(f"#Age: 50\n#Dx: {('426783006', '164889003', '426783006,164889003')[number % 3]}\n")
        header.rename(header.with_suffix(suffix))
    content, questions = drafted(folder)
    assert content["labels"] == {"comment": "Dx", "separator": ",", "classes": ["426783006", "164889003"]}
    assert questions == []
    assert all(read(folder, content))


def test_a_draft_without_labels_names_what_may_state_them(
    tmp_path: Path, make_ecg: Callable[..., Any], write_record: Any
) -> None:
    for number, name in enumerate("abcd"):
        folder = tmp_path / ["AF", "SR"][number % 2]
        folder.mkdir(exist_ok=True)
        write_record(folder / name, make_ecg(seconds=2.0))
    header = tmp_path / "AF" / "a.hea"
    header.write_text(f"{header.read_text()}#<diagnoses> AF\n")
    text = draft(tmp_path, "ours.yaml")
    assert "# Not used: folders whose names may be labels (AF, SR)" in text
    assert "(#<diagnoses> AF)" in text
    arrays = tmp_path / "arrays"
    arrays.mkdir()
    np.savez(arrays / "a.npz", ecg=np.stack([make_ecg(seconds=2.0)] * 2), y=[0, 1])
    assert "# Not used: arrays that may be labels or patients (y)" in draft(arrays, "ours.yaml")


def test_columns_of_one_name_are_named(folder: Path) -> None:
    table = folder / "labels.csv"
    table.write_text(table.read_text().replace("person", "rhythm", 1))
    assert "# Not used: columns of labels.csv whose name stands there twice (rhythm)" in draft(folder, "ours.yaml")
