"""Whether weights from elsewhere saw the test patients of a column."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from benchmark.config.elsewhere import find_method
from benchmark.data.tasks.spec import TaskSpec
from benchmark.data.tasks.split import split_of
from benchmark.elsewhere.seen import refuse_unknown, saw, words_of
from methods.encoders.pretrained import PretrainedEncoder
from tests.benchmark.elsewhere.made import write
from tests.benchmark.run.bench import Cohorts

SPEC = TaskSpec(6, "single", "strict")


def kind_of(pretraining: Any, folder: Path) -> type[PretrainedEncoder]:
    kind = find_method(str(write("torchscript", folder, pretraining=pretraining))).brings
    assert kind is not None
    return kind


@pytest.mark.parametrize(
    ("pretraining", "column", "answer"),
    [
        ("unknown", "ptb-xl", "not known"),
        ([], "ptb-xl", "no"),
        (["ptb-xl"], "ptb-xl", "yes"),
        (["PTB-XL"], "ptb-xl", "yes"),
        (["PTBXL"], "chapman", "no"),
        (["mimic-iv-ecg", "Chapman-Shaoxing"], "chapman", "yes"),
        (["ecgbench:challenge2021"], "chapman", "yes"),
        (["challenge2020"], "chapman", "no"),
        (["challenge2020"], "cpsc2018", "yes"),
        ([{"other": "CODE-15"}], "ptb-xl", "no"),
        ([{"dataset": "ptb-xl", "folds": [1, 2, 3, 4, 5, 6, 7, 8]}], "ptb-xl", "no"),
        ([{"dataset": "ptb-xl", "folds": [9, 10]}], "ptb-xl", "yes"),
        ([{"dataset": "ptb-xl", "folds": [0, 1, 2]}], "ptb-xl", "not known"),
        ([{"dataset": "ptb-xl", "folds": [1, 2]}], "chapman", "no"),
        ([{"dataset": "chapman", "folds": [1, 2]}], "chapman", "not known"),
        ([{"dataset": "ecgbench:challenge2021", "folds": [1]}], "chapman", "not known"),
        ([{"dataset": "chapman", "folds": [1, 2]}, "ptb-xl"], "chapman", "not known"),
        ([{"dataset": "chapman", "folds": [1, 2]}, "chapman"], "chapman", "yes"),
    ],
)
def test_what_the_card_says_decides(
    pretraining: Any, column: str, answer: str, tmp_path: Path, cohorts: Cohorts
) -> None:
    kind = kind_of(pretraining, tmp_path)
    refuse_unknown(kind, ())
    assert saw(kind, cohorts[column], SPEC) == answer


def test_a_list_of_recordings_tells_to_the_patient(tmp_path: Path, cohorts: Cohorts) -> None:
    column = cohorts["ptb-xl"]
    test = {column.entries[r].patient for r in split_of(column, SPEC).test}
    others = [entry.recording for entry in column.entries if entry.patient not in test]
    tested = next(entry.recording for entry in column.entries if entry.patient in test)
    (tmp_path / "seen.txt").write_text("\n".join(others))
    kind = kind_of([{"dataset": "ptb-xl", "recordings": "seen.txt"}], tmp_path)
    assert saw(kind, column, SPEC) == "no"
    assert words_of(kind) == f"ptb-xl ({len(others)} recordings)"
    (tmp_path / "seen.txt").write_text("\n".join([*others, tested]))
    assert saw(kind, column, SPEC) == "yes"


def test_names_of_another_dataset_or_in_another_spelling_tell_nothing(tmp_path: Path, cohorts: Cohorts) -> None:
    column = cohorts["ptb-xl"]
    (tmp_path / "seen.txt").write_text("\n".join(entry.recording for entry in column.entries))
    kind = kind_of([{"dataset": "challenge2021", "recordings": "seen.txt"}], tmp_path)
    assert saw(kind, column, SPEC) == "not known"
    (tmp_path / "seen.txt").write_text("\n".join(f"{int(entry.recording):05d}_hr" for entry in column.entries))
    kind = kind_of([{"dataset": "ptb-xl", "recordings": "seen.txt"}], tmp_path)
    assert saw(kind, column, SPEC) == "not known"


def test_the_sides_of_a_card_or_of_ecgbench_are_not_the_folds_of_the_publisher(
    tmp_path: Path, cohorts: Cohorts
) -> None:
    sides = tuple(replace(entry, fold={9: 9, 10: 10}.get(entry.fold or 0, 1)) for entry in cohorts["ptb-xl"].entries)
    for name, form in (("theirs", "ecgbench:ptbxl, wfdb"), ("ours", "card")):
        column = replace(cohorts["ptb-xl"], name=name, form=form, entries=sides)
        given = "ptb-xl" if name == "theirs" else name
        for folds in ([3], [1], [10]):
            kind = kind_of([{"dataset": given, "folds": folds}], tmp_path)
            assert saw(kind, column, SPEC) == "not known"


@pytest.mark.parametrize(
    ("pretraining", "line"),
    [
        (["ptbx"], "'ptbx' are unknown \\(did you mean 'ptb-xl'\\?\\).* for others write {other: ptbx}"),
        ([{"dataset": "ptb-xl", "fold": [1]}], "write NAME, {dataset: NAME, folds: \\[1, 2\\]}"),
        ([{"dataset": "ptb-xl", "folds": "1-8"}], "folds are a list of numbers"),
        ([{"dataset": "ptb-xl", "recordings": "gone.txt"}], "gone.txt cannot be read as names"),
        ([7], "write NAME"),
    ],
)
def test_what_cannot_be_understood_is_one_line(pretraining: Any, line: str, tmp_path: Path) -> None:
    kind = kind_of(pretraining, tmp_path)
    with pytest.raises(ValueError, match=line) as caught:
        refuse_unknown(kind, ())
    assert len(str(caught.value).splitlines()) == 1


def test_a_dataset_of_the_run_is_known(tmp_path: Path) -> None:
    refuse_unknown(kind_of(["ours"], tmp_path), ["ours"])
