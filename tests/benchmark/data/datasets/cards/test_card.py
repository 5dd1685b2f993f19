"""What a card may say, and the one line for what it may not.

What every card says: a name, a line of text, a title by default the name.

Lines of a card's text: told, asked, or to be added.
"""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from pydantic import ValidationError

from benchmark.config.words import parsed
from benchmark.data.datasets.base import LEADS
from benchmark.data.datasets.card import (
    Card,
    DraftLine,
    Signals,
    flow,
    known_lead,
    open_line,
)
from benchmark.data.datasets.card_dataset import CardSource

ARRAYS = {"files": "{recording}.npy", "rate": 500, "unit": "mV", "leads": list(LEADS)}
WRONG: list[tuple[dict[str, Any], str]] = [
    ({"name": "Our Hospital"}, "small letters, digits"),
    *(({"name": name}, "small letters, digits") for name in ("", "ours.v2", "-a", "_a", "a b", "ä", "a" * 61)),
    ({"title": "\x1b[2J"}, "one line"),
    ({"labels": {"column": True}}, "labels.column"),
    ({"labels": {"column": "x" * 201}}, "at most 200"),
    ({"labels": {"column": ""}}, "at least 1"),
    ({"title": "two\nlines"}, "one line"),
    ({"signals": {"files": "/data/{recording}.hea"}}, "below the dataset's folder"),
    ({"signals": {"files": "../{recording}.hea"}}, "below the dataset's folder"),
    ({"signals": {"files": "{recording}/{recording}.hea"}}, "{recording} may stand once"),
    ({"signals": {"files": "{record}.hea"}}, "nothing else in braces"),
    ({"signals": {"files": "a**/{recording}.hea"}}, "** stands for whole folders"),
    ({"signals": {"files": "{recording}.xyz"}}, "the suffix .xyz says no format"),
    ({"signals": {"files": "{recording}"}}, "says no format"),
    ({"signals": {"unit": "mV", "gain": 1000}}, "give unit or gain, not both"),
    ({"signals": {"unit": "millivolt"}}, "'V', 'mV', 'uV' or 'nV'"),
    ({"signals": {"rate": 5}}, "greater than or equal to 50"),
    ({"signals": {"leads": [*LEADS[:11], "VI"]}}, "unknown lead 'VI' (did you mean 'I'?)"),
    ({"signals": {"leads": [*LEADS, "i"]}}, "lead I stands twice"),
    ({"signals": {"leads": {"MDC_I": "Q"}}}, "unknown lead 'Q'"),
    ({"signals": {"array": "ecg"}}, "signals.array: of .npz and HDF5 files alone"),
    ({"signals": {**ARRAYS, "rate_name": "fs"}}, "signals.rate_name: of .npz and HDF5 files alone"),
    ({"signals": {**ARRAYS, "unit": None}}, "numpy files do not state a unit"),
    ({"signals": {**ARRAYS, "rate": None}}, "signals.rate: numpy files do not state it"),
    ({"signals": {**ARRAYS, "leads": None}}, "signals.leads: numpy files do not name them"),
    ({"signals": {"files": "{recording}.csv", "rate": 500}}, "csv files do not state a unit"),
    ({"signals": {"file": "x"}}, "Extra inputs"),
    ({"signals": {"files": "*.hea", "stacked": True}}, "signals.stacked: of .npy and HDF5 files alone"),
    ({"signals": {**ARRAYS, "files": "*.npz", "stacked": True}}, "signals.stacked: of .npy and HDF5 files alone"),
    ({"signals": {**ARRAYS, "stacked": True}}, "{recording} names one recording a file"),
    ({"signals": {**ARRAYS, "files": "*.npy", "stacked": True, "ids_name": "id"}}, "of stacked HDF5 files alone"),
    ({"signals": {**ARRAYS, "files": "x.npy", "stacked": True}, "table": {"path": "file"}}, "not `path`"),
    ({"table": None}, "labels: they stand in a table"),
    ({"table": None, "labels": None, "signals": {"files": "waves/*.hea"}}, "without a table it needs {recording}"),
    ({"table": {"recording": None}}, "it needs `recording`, not `path`"),
    ({"table": {"path": "file"}}, "it needs `recording`, not `path`"),
    ({"signals": {"files": "waves/*.hea"}}, "it needs `path`"),
    ({"signals": {"files": "{patient}/{recording}.hea"}}, "{patient} in signals.files says it already"),
    ({"table": {"file": "/etc/passwd"}}, "below the dataset's folder"),
    ({"labels": {"classes": ["SR"], "values": None}}, "at least 2 items"),
    ({"labels": {"classes": ["SR", "SR"], "values": None}}, "a class stands twice"),
    ({"labels": {"values": {"VT": ["VT"]}}}, "'VT' is not in labels.classes"),
    ({"labels": {"values": {"AF": ["SR"]}}}, "'SR' stands for two classes"),
    ({"labels": {"separator": ";" * 6}}, "at most 5 characters"),
    ({"labels": {"separator": ""}}, "at least 1 character"),
    ({"title": "x" * 201}, "at most 200 items"),
    ({"labels": {"column": None, "separator": ";"}}, "labels.separator: of labels.column"),
    ({"labels": {"comment": "Dx"}}, "labels: give column or comment, not both"),
    ({"labels": {"column": None, "comment": "Dx"}, "signals": ARRAYS}, "labels.comment: of WFDB headers alone"),
]


@pytest.mark.parametrize(("sections", "message"), WRONG)
def test_what_a_card_may_not_say(made: Callable[..., Card], sections: dict[str, Any], message: str) -> None:
    with pytest.raises(ValidationError) as caught:
        made(**sections)
    assert message in str(caught.value)


def test_a_card_is_the_source_of_its_dataset(made: Callable[..., CardSource], tmp_path: Path) -> None:
    card = made(labels={"first_counts": True}, how_to_get="Ask the archive")
    assert (card.name, card.title, card.classes, card.folders) == ("ours", "ours", ("SR", "AF"), ("ours",))
    assert card.first_label_counts
    dataset = card(tmp_path)
    assert (dataset.name, dataset.title, dataset.classes, dataset.root) == ("ours", "ours", ("SR", "AF"), tmp_path)
    assert (dataset.first_label_counts, dataset.how_to_get) == (True, "Ask the archive")
    assert made(labels=None, title="Our hospital").classes == ()
    assert made(title="Our hospital").title == "Our hospital"
    assert made(name="0_-" + "a" * 57).folders == ("0_-" + "a" * 57,)


def test_the_content_of_a_card_makes_the_same_card(made: Callable[..., Card]) -> None:
    card = made(table={"split": {"column": "set", "train": [1, 2], "test": [10]}}, signals={"rate": 500})
    assert card.table is not None
    assert card.table.sides is not None
    assert card.table.sides.train == ["1", "2"]
    assert CardSource.model_validate(card.model_dump(mode="json")) == card


def test_leads_are_known_in_any_capitals(made: Callable[..., Card]) -> None:
    assert [known_lead(name.upper()) for name in LEADS] == list(LEADS)
    assert made(signals={"leads": ["i", "AVR", "-", "-"]}).signals.leads == ["I", "aVR", "-", "-"]
    assert made(signals={"leads": {"MDC_ECG_LEAD_I": "i", "ABP": "-"}}).signals.leads == {
        "MDC_ECG_LEAD_I": "I",
        "ABP": "-",
    }


@pytest.mark.parametrize(
    ("suffixes", "kind"),
    [
        ([".hea"], "wfdb"),
        ([".npy", ".npz"], "numpy"),
        ([".csv", ".tsv", ".txt"], "csv"),
        ([".h5", ".hdf5"], "hdf5"),
        ([".edf", ".dcm", ".scp", ".xml", ".ecg", ".mwf"], "export"),
    ],
)
def test_the_suffix_tells_the_format_in_any_capitals(suffixes: list[str], kind: str) -> None:
    for suffix in suffixes:
        spelt = (suffix, suffix.upper())
        assert {Signals.model_construct(files=f"*{own}", format=None).kind for own in spelt} == {kind}


def test_what_yaml_could_misread_is_quoted() -> None:
    values = ["yes", "no", "1", "1e3", "a: b", "# c", "", "true", "äöü", "null", "a-b", "-", [1, "2"], {"a b": ["x,y"]}]
    assert [parsed(flow(value)) for value in values] == values
    for word in ("true", "False", "NULL", "-a", "äöü", "a b", "1a", ""):
        assert flow(word) == f'"{word}"'
    assert list(map(flow, ("a", "a-b", "a_b", "Truest"))) == ["a", "a-b", "a_b", "Truest"]


def test_a_line_is_a_value_a_question_or_a_comment() -> None:
    assert DraftLine("rate", 500).text("  ") == "  rate: 500"
    assert DraftLine("files", "a b", "3\n files").text("") == 'files: "a b"  # 3 files'
    assert open_line("rate", "Hz").text("  ") == '  rate: "?"  # QUESTION: Hz'
    assert DraftLine("array", None, "a name").text("  ") == "  # array: ...  # a name"
    assert DraftLine("array", None).text("  ") == "  # array: ..."
    assert DraftLine("derive", False).text("") == "derive: false"
