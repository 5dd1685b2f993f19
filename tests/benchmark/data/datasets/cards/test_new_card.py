"""Which columns are recordings, patients, labels and a split.

What in a folder is a signal and what a table, and the pattern of the signals.

What the first files state, and the questions where they do not.

A first card: what a folder tells stands in it, what it does not is a question, and nothing is guessed.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import pytest

from benchmark.config.command_line import FAILED, OK
from benchmark.config.words import parsed
from benchmark.data.datasets.base import LEADS, DatasetError
from benchmark.data.datasets.card import QUESTION, Card
from benchmark.data.datasets.card_dataset import CardDataset
from benchmark.extras import new_card
from benchmark.extras.new_card import (
    MEANING,
    Match,
    Seen,
    comment_lines,
    draft,
    label_lines,
    look,
    match_of,
    pattern_of,
    questions_in,
    signal_lines,
)
from run_benchmark import main
from tests.own_folder import write_own_folder

PATHS = ("w/r1.hea", "w/r2.hea", "w/r3.hea")


@pytest.mark.parametrize(
    ("cells", "expected"),
    [
        (["r1", "r2", "r3", "x"], Match("recording", "id", 3, 3)),
        (["r1", "r2", "x", "y"], Match("recording", "id", 2, 2)),
        (["r1", "x", "y", "z"], None),
        (["w/r1.hea", "./w/r2.hea", "w/r3", "x"], Match("path", "id", 3, 3)),
        (["1.0", "2", "70", "71"], Match("recording", "id", 2, 2)),
        ([], None),
    ],
)
def test_the_column_that_finds_half_of_its_rows_or_more_is_that_of_the_files(
    cells: list[str], expected: Match | None
) -> None:
    names = ("r1", "r2", "r3", "1", "2")
    assert match_of({"other": ["q"] * len(cells), "id": cells}, names, PATHS) == expected
    if expected:  # an age can look like the name of one file in every row
        assert match_of({"age": ["1"] * len(cells), "id": cells}, names, PATHS) == expected


@pytest.mark.parametrize(
    ("paths", "pattern", "names"),
    [
        (["a/1/00001_hr.hea", "a/2/00002_hr.hea"], "a/**/{recording}_hr.hea", ("00001", "00002")),
        (["1.edf", "c/2.edf"], "**/{recording}.edf", ("1", "2")),
        (["a/b/1.edf", "a/b/2.edf"], "a/b/{recording}.edf", ("1", "2")),
        (["b/r_1.npy"], "b/{recording}.npy", ("r_1",)),
        (["1_a_hr.x", "2_a_hr.x"], "{recording}_a_hr.x", ("1", "2")),
        (["1_a_hr.x", "2_b_hr.x"], "{recording}_hr.x", ("1_a", "2_b")),
        (["1__hr.x", "2_hr.x"], "{recording}_hr.x", ("1_", "2")),
        (["a_hr.x", "_hr.x"], "{recording}.x", ("a_hr", "_hr")),
        (["a_hr.x", "b_lr.x"], "{recording}.x", ("a_hr", "b_lr")),
    ],
)
def test_a_pattern_has_the_common_folder_and_the_common_end(
    paths: list[str], pattern: str, names: tuple[str, ...]
) -> None:
    assert pattern_of(paths) == (pattern, names)
    assert pattern_of(paths, whole=True)[1] == tuple(Path(path).stem for path in paths)


@pytest.mark.parametrize(
    ("key", "names", "others"),
    [
        ("patient", ["patient", "Patient_ID", "subjectid", "mrn", "pid", "pat_nr"], ["patients", "patient_name"]),
        ("report", ["report", "Report_Text", "befund"], ["reported"]),
        ("sex", ["sex", "Gender", "patient_sex"], ["sexes"]),
        ("age", ["age", "Age_years", "years", "age_at_ecg", "patientage"], ["aged", "page"]),
        ("split", ["split", "set", "strat_fold", "fold", "partition"], ["settings", "offset"]),
    ],
)
def test_columns_are_known_by_their_whole_names(key: str, names: list[str], others: list[str]) -> None:
    assert all(MEANING[key].fullmatch(name) for name in names)
    assert not any(MEANING[key].fullmatch(name) for name in others)


def test_two_columns_of_yes_and_no_are_classes_and_one_is_not() -> None:
    lines = label_lines({"AF": ["1", "0", ""], "RBBB": ["0", "yes", "yes"], "n": ["1", "2", "3"]}, ["n"])
    assert (lines[0].key, lines[0].value) == ("classes", ["AF", "RBBB"])
    assert lines[0].comment.endswith("recordings: AF 1, RBBB 2")
    assert label_lines({"AF": ["1", "0"]}, []) == []
    assert label_lines({"empty": ["", ""]}, []) == []


def test_the_first_comment_with_two_classes_has_the_labels() -> None:
    lines = comment_lines({"Dx": ["a", "a"], "Diagnosis": ["a|b", "b", "b", "b", "a", "a"]})
    assert [(line.key, line.value) for line in lines] == [
        ("comment", "Diagnosis"),
        ("separator", "|"),
        ("classes", ["b", "a"]),
        ("values", None),
        ("others", None),
    ]


def made(folder: Path, *paths: str) -> Path:
    """A folder with empty files."""
    for path in paths:
        (folder / path).parent.mkdir(parents=True, exist_ok=True)
        (folder / path).touch()
    return folder


def test_headers_of_wfdb_are_the_signals_before_any_larger_number_of_files(tmp_path: Path) -> None:
    seen = look(made(tmp_path, "1.hea", "1.dat", "a.npy", "b.npy", "c.npy"))
    assert (seen.pattern, seen.signals) == ("{recording}.hea", ("1.hea",))
    for path in ("1.hea",):
        (tmp_path / path).unlink()
    made(tmp_path, "d.edf")
    assert look(tmp_path).signals == ("a.npy", "b.npy", "c.npy")


def test_a_few_text_files_with_names_are_tables_and_many_are_signals(tmp_path: Path) -> None:
    names = [f"t{number}.csv" for number in range(new_card.FEW)]
    for name in names:
        (tmp_path / name).write_text("recording,rhythm\nr,SR\n")
    made(tmp_path, "a.edf")
    assert look(tmp_path).tables == tuple(names)
    (tmp_path / "more.csv").write_text("recording,rhythm\nr,SR\n")
    crowded = look(tmp_path)
    assert (crowded.tables, len(crowded.signals)) == ((), new_card.FEW + 1)


@pytest.mark.parametrize(
    ("text", "is_table"),
    [
        ("I,name\n1,2\n", True),
        ("I,II\n1,2\n", False),
        (f"{','.join(LEADS)}\n", False),
        ("i,ii,time\n1,2,3\n", False),
        ("0.1,0.2\n", False),
    ],
)
def test_names_of_two_leads_or_numbers_make_a_file_of_samples(tmp_path: Path, text: str, is_table: bool) -> None:
    (tmp_path / "a.csv").write_text(text)
    made(tmp_path, "a.edf")
    assert (look(tmp_path).tables == ("a.csv",)) is is_table


def test_what_wfdb_states_is_not_asked_for(tmp_path: Path, make_ecg: Callable[..., Any], write_record: Any) -> None:
    write_record(tmp_path / "r", make_ecg(seconds=2.0))
    assert [line.key for line in signal_lines(tmp_path, seen("{recording}.hea", ["r.hea"]))] == ["files"]
    header = tmp_path / "r.hea"
    header.write_text(header.read_text().replace("/mV", "/mmHg"))
    lines = list(signal_lines(tmp_path, seen("{recording}.hea", ["r.hea"])))
    assert [line.key for line in lines] == ["files", "unit"]
    assert "the files state mmHg, which is no unit of a voltage" in lines[1].comment


def seen(pattern: str, paths: Sequence[str], others: Sequence[str] = ()) -> Seen:
    return Seen(pattern, tuple(paths), (), (), tuple(others))


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
    assert "the 1000 samples of a.npy are 10 s at 100 Hz, 4 s at 250 Hz, 2.5 s at 400 Hz, 2 s at 500 Hz" in questions[0]
    assert "names of the 12 columns in their order" in questions[2]


def test_of_several_arrays_it_is_asked_which_holds_the_signals(tmp_path: Path, make_ecg: Callable[..., Any]) -> None:
    signals = np.stack([make_ecg(seconds=2.0)] * 3)  # (N, n, L)
    np.savez(tmp_path / "a.npz", signals=signals[0], noise=signals[0, :500], rate=500)
    _, questions = drafted(tmp_path)
    assert "array" in questions[-1]
    assert "signals (1000, 12), noise (500, 12)" in questions[-1]
    np.savez(tmp_path / "a.npz", signals=signals, ids=np.arange(3))
    assert "stacked" not in drafted(tmp_path)[0]["signals"], "a card refuses stacked .npz files"
    (tmp_path / "a.npz").unlink()
    np.save(tmp_path / "all.npy", signals)
    content, _ = drafted(tmp_path)
    assert (content["signals"]["files"], content["signals"]["stacked"]) == ("all.npy", True)


def test_rows_of_a_stacked_file_are_found_in_the_table_by_their_identifiers(
    tmp_path: Path, make_ecg: Callable[..., Any]
) -> None:
    h5py = pytest.importorskip("h5py")
    names = [f"r{number}" for number in range(12)]
    with h5py.File(tmp_path / "all.h5", "w") as file:
        file["ecg"] = np.stack([make_ecg(seconds=2.0)] * 12)  # (N, n, L)
        file["rate"], file["exam"] = [500] * 12, [name.encode() for name in names]
    pd.DataFrame({"id": names, "rhythm": ["AFIB", "SR"] * 6}).to_csv(tmp_path / "labels.csv", index=False)
    content, questions = drafted(tmp_path)
    assert [line.partition(":")[0] for line in questions][:3] == ["rate", "unit", "leads"]
    signals = {"files": "all.h5", "stacked": True, "ids_name": "exam"}
    assert content["signals"].items() >= signals.items()
    assert (content["table"]["recording"], content["labels"]["column"]) == ("id", "rhythm")


def test_text_files_without_a_header_ask_for_leads(tmp_path: Path, make_ecg: Callable[..., Any]) -> None:
    (tmp_path / "ecg").mkdir()
    for number in range(6):
        np.savetxt(tmp_path / f"ecg/{number}.csv", make_ecg(seconds=1.0), delimiter=",")
    content, questions = drafted(tmp_path)
    assert content["signals"]["files"] == "ecg/{recording}.csv"
    assert [line.partition(":")[0] for line in questions] == ["leads", "rate", "unit"]


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


def test_of_two_tables_the_one_that_finds_more_files_counts(folder: Path) -> None:
    table = pd.read_csv(folder / "labels.csv")
    table.head(8).assign(id=lambda own: [*own["id"][:5], "x", "y", "z"]).to_csv(folder / "a.csv", index=False)
    table.to_csv(folder / "z.csv", index=False)
    (folder / "labels.csv").unlink()
    assert drafted(folder)[0]["table"]["file"] == "z.csv"
    (folder / "b.csv").write_text("only,names\n")
    (folder / "z.csv").unlink()
    assert drafted(folder)[0]["table"]["file"] == "a.csv"


@pytest.mark.parametrize(
    ("cells", "several", "is_asked"),
    [
        (["SR"] * 3 + ["AF"] * 3, "", False),
        (["SR", "SR", "AF", "AF", "AF;SR", ""], "1 of 5 recordings have several labels", False),
        (["SR", "SR", "AF", "AF", *["AF;SR"] * 5], "5 of 9 recordings have several labels", True),
        (["SR", "SR", "AF", "AF;SR"], "1 of 4 recordings have several labels", True),
    ],
)
def test_recordings_with_several_labels_are_counted_and_asked_for(
    cells: list[str], several: str, is_asked: bool
) -> None:
    """Single labels do not fit that leave fewer than half of the recordings, or fewer than two classes of two."""
    lines = {line.key: line for line in label_lines({"rhythm": cells}, [])}
    assert lines["classes"].comment.endswith(several)
    assert ("several" in lines["classes"].comment) is bool(several)
    assert (lines["others"].value == QUESTION) is is_asked
    assert ("--labels multi, or take labels out of classes" in lines["others"].comment) is is_asked
    columns = {name: [str(int(name in cell)) for cell in cells] for name in ("SR", "AF")}
    (classes,) = label_lines(columns, [])
    assert (classes.value == QUESTION) is is_asked
    assert several in classes.comment


def test_a_label_on_two_lines_is_one_class_and_lines_of_labels_are_several(folder: Path) -> None:
    """As in the table of LUDB: a spreadsheet's cells may be wrapped, or hold a label a line."""
    rhythms = ["Sinus\nrhythm", "Atrial  fibrillation\r\n", "Sinus rhythm"] * 4
    table = pd.read_csv(folder / "labels.csv").assign(rhythm=rhythms)
    table.to_csv(folder / "labels.csv", index=False)
    content, questions = drafted(folder)
    assert questions == []
    assert content["labels"] == {"column": "rhythm", "classes": ["Sinus rhythm", "Atrial fibrillation"]}
    entries = CardDataset(Card.model_validate(content), folder).listing().entries
    assert [entry.labels for entry in entries] == [(0,), (1,), (0,)] * 4
    table.assign(rhythm=["LVH", "LAE", "LVH\nLAE", "LAE\nLVH", "LVH", "LAE"] * 2).to_csv(
        folder / "labels.csv", index=False
    )
    content, _ = drafted(folder)
    assert (content["labels"]["separator"], sorted(content["labels"]["classes"])) == ("\n", ["LAE", "LVH"])
    entries = CardDataset(Card.model_validate(content), folder).listing().entries
    assert [len(entry.labels) for entry in entries[:4]] == [1, 1, 2, 2]


def test_a_card_whose_single_labels_leave_one_class_is_refused_with_the_remedy(
    tmp_path: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    folder = write_own_folder(tmp_path / "ours", 24)
    table = pd.read_csv(folder / "labels.csv")
    table.assign(rhythm=["NORM;SR", "NORM", "MI;SB"] * 8).to_csv(folder / "labels.csv", index=False)
    assert main(["data", "new-card", "ours"]) == OK
    assert "16 of 24 recordings have several labels" in capsys.readouterr().out
    card = folder / "ours.yaml"
    card.write_text(card.read_text().replace('others: "?"', "others: skip"))
    assert main(["data", "check", "--datasets", "ours/ours.yaml"]) == FAILED
    said = capsys.readouterr().out
    assert "fatal: fewer than two classes can be scored (NORM)" in said
    assert "--labels multi counts the " in said
    assert "or `others: ignore` in a card" in said
    assert main(["data", "check", "--datasets", "ours/ours.yaml", "--labels", "multi"]) == OK
