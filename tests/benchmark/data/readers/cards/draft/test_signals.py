"""What the first files state, and the questions where they do not."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from benchmark.data.readers.base import LEADS, DatasetError
from benchmark.data.readers.cards.draft.line import QUESTION
from benchmark.data.readers.cards.draft.signals import LOOKED_AT, array_lines, lead_lines, signal_lines
from benchmark.data.readers.cards.forms.stored import Stored


def keys_of(folder: Path, *paths: str) -> list[str]:
    return [line.key for line in array_lines(folder, paths)]


def test_arrays_may_be_stacked_and_named_where_their_form_allows(tmp_path: Path) -> None:
    always = ["rate", "unit", "leads"]
    assert keys_of(tmp_path, "a.npy") == [*always, "stacked"]
    assert keys_of(tmp_path, "a.NPZ") == [*always, "array"]
    assert keys_of(tmp_path, "a.h5", "b.npy") == [*always, "stacked", "array"]


def test_leads_are_asked_for_told_or_known() -> None:
    def lines(leads: list[str] | None, columns: int = 12) -> list[tuple[str, Any]]:
        stored = Stored(np.zeros((5, columns)), leads, None, None)
        return [(line.key, line.value) for line in lead_lines(stored)]

    assert lines(list(LEADS)) == []
    assert lines([f" {lead.upper()} " for lead in LEADS]) == []
    assert lines(None) == [("leads", QUESTION)]
    assert lines([lead for lead in LEADS if lead not in ("III", "aVR", "aVL", "aVF")], 8) == [("derive", True)]
    assert lines(["a", "b"], 2) == [("leads", QUESTION)]
    assert lines(["I", "V1", "V2"], 3) == [("leads", QUESTION)], "two are missing that do not follow from others"


def test_a_file_of_one_name_twice_or_in_other_capitals_is_a_question(
    tmp_path: Path, make_ecg: Callable[..., Any], write_record: Any
) -> None:
    for folder in ("a", "b"):
        (tmp_path / folder).mkdir()
        write_record(tmp_path / folder / "r", make_ecg(seconds=2.0))
    paths = ["a/r.hea", "b/r.hea"]
    twice = next(signal_lines(tmp_path, "**/{recording}.hea", paths))
    assert (twice.value, "several files of one name" in twice.comment) == (QUESTION, True)
    by_path = next(signal_lines(tmp_path, "**/*.hea", paths))
    assert (by_path.value, by_path.comment) == ("**/*.hea", "2 files")
    other = next(signal_lines(tmp_path, "a/{recording}.hea", paths[:1], ["a/R.HEA"]))
    assert "finds 1 files, not 1 such as a/R.HEA: rename these" in other.comment


def test_what_wfdb_states_is_not_asked_for(tmp_path: Path, make_ecg: Callable[..., Any], write_record: Any) -> None:
    write_record(tmp_path / "r", make_ecg(seconds=2.0))
    assert [line.key for line in signal_lines(tmp_path, "{recording}.hea", ["r.hea"])] == ["files"]
    header = tmp_path / "r.hea"
    header.write_text(header.read_text().replace("/mV", "/mmHg"))
    lines = list(signal_lines(tmp_path, "{recording}.hea", ["r.hea"]))
    assert [line.key for line in lines] == ["files", "unit"]
    assert "the files state mmHg, which is no unit of a voltage" in lines[1].comment


def test_the_largest_value_of_a_text_file_stands_in_the_question_of_its_unit(tmp_path: Path) -> None:
    signal = np.full((20, 12), -2500.0)
    signal[3, 4] = np.nan
    np.savetxt(tmp_path / "r.csv", signal, delimiter=",", header=",".join(LEADS), comments="")
    lines = {line.key: line for line in signal_lines(tmp_path, "{recording}.csv", ["r.csv"])}
    assert set(lines) == {"files", "rate", "unit"}
    assert lines["unit"].comment.endswith("values go up to 2500")


def test_the_first_file_that_can_be_read_speaks_for_all_of_a_few(
    tmp_path: Path, make_ecg: Callable[..., Any], write_record: Any
) -> None:
    names = [f"r{number}" for number in range(LOOKED_AT + 1)]
    for name in names:
        write_record(tmp_path / name, make_ecg(seconds=2.0))
    paths = [f"{name}.hea" for name in names]
    for path in paths[: LOOKED_AT - 1]:
        (tmp_path / path).write_text("no header")
    assert len(list(signal_lines(tmp_path, "{recording}.hea", paths))) == 1
    (tmp_path / paths[LOOKED_AT - 1]).write_text("no header")
    with pytest.raises(DatasetError, match=rf"none of the first {LOOKED_AT} files can be read: r2\.hea: "):
        list(signal_lines(tmp_path, "{recording}.hea", paths))
    with pytest.raises(DatasetError, match=r"none of the first 1 files can be read"):
        list(signal_lines(tmp_path, "{recording}.hea", paths[:1]))
