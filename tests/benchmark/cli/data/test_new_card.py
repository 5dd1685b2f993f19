"""`data new-card` and the other verbs on a card, from argv to exit status, on files that are partly wrong."""

from __future__ import annotations

import shlex
import shutil
from collections.abc import Callable
from pathlib import Path

import numpy as np
import pandas as pd
import pytest

from benchmark.cli.main import FAILED, OK, USAGE
from benchmark.cli.new_card import UNUSED, draft
from benchmark.data.datasets.base import DatasetError
from tests.on_disk import write_own_folder

RunVerb = Callable[..., tuple[int, str, str]]


@pytest.fixture(scope="module")
def sound(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Forty simulated recordings in a folder of a user's own, and a table of them."""
    return write_own_folder(tmp_path_factory.mktemp("own") / "ours", 40)


@pytest.fixture
def ours(sound: Path, tmp_path: Path) -> Path:
    return Path(shutil.copytree(sound, tmp_path / "ours"))


@pytest.mark.parametrize(
    ("labels", "name"),
    [("rhythm", "chapman"), ("binary", "our ECGs"), ("several", "Größe"), ("none", "ours"), ("rare", "ours")],
)
def test_the_next_command_takes_every_draft_of_a_folder_of_any_name(
    ours: Path, run_verb: RunVerb, labels: str, name: str
) -> None:
    table = pd.read_csv(ours / "labels.csv")
    rare = ["SR"] * 39 + ["AF"]
    several = ["NORM;SR", "NORM;AF", "MI;SR", "MI;AF"] * 10
    cells = {"rhythm": table["rhythm"], "binary": [0, 1] * 20, "several": several, "none": "x", "rare": rare}[labels]
    table.assign(rhythm=cells).to_csv(ours / "labels.csv", index=False)
    for header in ours.glob("waveforms/*.hea"):
        header.write_text(header.read_text().replace("#Dx", "#Said"))
    ours.rename(ours.parent / name)
    status, out, _ = run_verb("data", "new-card", name)
    assert status == OK
    assert ("these labels cannot be scored yet: fewer than two classes" in out) == (labels == "rare")
    assert ("--labels multi" in out) == (labels == "several")
    command = shlex.split(out.splitlines()[-1].partition("run_benchmark.py ")[2])
    status, out, err = run_verb(*command, "--workers", "1")
    assert (status, err) == (FAILED if labels == "rare" else OK, ""), out


def test_a_draft_with_questions_is_written_once(tmp_path: Path, run_verb: RunVerb) -> None:
    (tmp_path / "arrays").mkdir()
    np.save(tmp_path / "arrays/a.npy", np.zeros((100, 12)))
    status, out, _ = run_verb("data", "new-card", "arrays")
    assert (status, out.splitlines()[0]) == (OK, "wrote arrays/arrays.yaml: 3 questions are open")
    status, _, err = run_verb("data", "new-card", "arrays")
    assert (status, "exists and is not overwritten" in err) == (USAGE, True)
    status, _, err = run_verb("data", "check", "--datasets", "arrays/arrays.yaml")
    assert status == USAGE
    assert "answer the questions first, signals.rate, signals.unit, signals.leads" in err
    status, _, err = run_verb("data", "new-card", "nowhere")
    assert (status, "nowhere has no file of a known format" in err) == (USAGE, True)


def drafted(folder: Path, **tables: dict[str, list[object]]) -> str:
    """The draft of a card for a folder whose tables are these instead."""
    (folder / "labels.csv").unlink()
    for name, columns in tables.items():
        pd.DataFrame(columns).to_csv(folder / f"{name}.csv", index=False)
    return draft(folder, "card.yaml")


def test_a_draft_names_whatever_it_leaves_out(ours: Path) -> None:
    names = sorted(path.stem for path in ours.glob("waveforms/*.hea"))
    (ours / "echo.pdf").touch()
    (ours / "ward.edf").symlink_to("/gone")
    people = {"recording": names, "patient": [*range(20)] * 2}
    labels = {"recording": names, "rhythm": ["SR", "AF"] * 20, "site": [1, 2] * 20, "split": ["train", "test"] * 20}
    with pd.ExcelWriter(ours / "wards.xlsx") as wards:
        for sheet in ("wards", "echo"):
            pd.DataFrame({"ward": ["A", "B"]}).to_excel(wards, sheet_name=sheet, index=False)
    text = drafted(ours, a_people=people, labels=labels)
    assert 'file: "labels.csv"' in text
    assert 'column: "rhythm"' in text
    names = ("a_people.csv", "(site, split)", "sheet echo of wards.xlsx", "(echo.pdf)", "1 link to nothing (ward.edf)")
    for unused in names:
        assert [unused in line for line in text.splitlines() if line.startswith(UNUSED)].count(True) == 1, unused


@pytest.mark.parametrize(
    "columns",
    [
        {"brugada": [0, 1, 2, 2], "sudden_death": [0, 1, 0, 1], "basal_pattern": [0, 0, 0, 1]},
        {"rhythm": ["SR", "AF", "SR", "AF"], "diagnosis": ["MI", "MI", "no MI", "no MI"]},
    ],
)
def test_every_column_that_may_hold_labels_is_a_class_or_in_a_question(
    ours: Path, columns: dict[str, list[object]]
) -> None:
    names = sorted(path.stem for path in ours.glob("waveforms/*.hea"))
    text = drafted(ours, labels={"recording": names, **{name: values * 10 for name, values in columns.items()}})
    labels = text.partition("\nlabels:")[2]
    assert "QUESTION" in labels
    assert [name for name in columns if name not in labels] == []


@pytest.mark.parametrize("shape", [(5000, 2), (2, 5000), (40, 5000, 3), (5000,)])
def test_files_of_too_few_leads_are_refused_at_once(tmp_path: Path, shape: tuple[int, ...]) -> None:
    np.save(tmp_path / "a.npy", np.zeros(shape, np.int16))
    with pytest.raises(DatasetError, match=r"twelve leads are needed.*a\.npy, has [123] lead"):
        draft(tmp_path, "card.yaml")


@pytest.mark.slow
def test_a_run_knows_its_data_again_in_another_place(ours: Path, run_verb: RunVerb, tmp_path: Path) -> None:
    run_verb("data", "new-card", "ours")
    small = ["encoder.hidden=4", "encoder.depth=2", "encoder.output=8", "linear.strengths=[1.0]"]
    quick = ["--methods", "random", "--evaluate", "linear", "--ratios", "1", "--seeds", "41", "--device", "cpu"]
    quick += ["--jobs", "1", "--workers", "1", "--baselines", "none", "--set", *small]
    status, out, err = run_verb("--datasets", "ours/ours.yaml", "--pretrain-dataset", "ours", *quick)
    assert (status, err) == (OK, "")
    assert "1 cell on 1 encoder: 0 done, 1 to do" in out
    for file in (tmp_path / "runs").rglob("*.json"):
        assert str(tmp_path) not in file.read_text()
    moved = tmp_path / "moved" / "ours" / "ours.yaml"
    shutil.move(ours, moved.parent)
    moved.write_text(moved.read_text().replace('title: "ours"', 'title: "Our hospital"'))
    status, out, _ = run_verb("--datasets", moved, "--pretrain-dataset", "ours", *quick)
    assert (status, " 0 to do\n" in out) == (OK, True)
    assert "Our hospital F1" in (tmp_path / "out" / "results.md").read_text()
