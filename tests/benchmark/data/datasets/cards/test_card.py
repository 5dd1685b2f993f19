"""What a card may say, and the one line for what it may not.

What every card says: a name, a line of text, a title by default the name.

Lines of a card's text: told, asked, or to be added.
"""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from pydantic import TypeAdapter, ValidationError

from benchmark.config.words import parsed
from benchmark.data.datasets.base import LEADS
from benchmark.data.datasets.card import (
    NAME,
    Card,
    Declared,
    DraftLine,
    Line,
    Part,
    Signals,
    Word,
    flow,
    known_lead,
    open_line,
)
from benchmark.data.datasets.card_dataset import CardSource

ARRAYS = {"files": "{recording}.npy", "rate": 500, "unit": "mV", "leads": list(LEADS)}
WRONG: list[tuple[dict[str, Any], str]] = [
    ({"name": "Our Hospital"}, "small letters, digits"),
    ({"name": "ours.v2"}, "small letters, digits"),
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
    ("files", "kind"), [("{recording}.HEA", "wfdb"), ("{recording}.edf", "export"), ("{recording}.xml", "export")]
)
def test_the_suffix_says_the_format(made: Callable[..., Card], files: str, kind: str) -> None:
    assert made(signals={"files": files}).signals.kind == kind
    assert made(signals={"files": "{recording}", "format": "export"}).signals.kind == "export"


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


class Small(Declared):
    """With nothing of its own."""

    @property
    def classes(self) -> tuple[str, ...]:
        return ()

    @property
    def first_label_counts(self) -> bool:
        return False


@pytest.mark.parametrize("name", ["a", "0", "our-ecgs_2", "a" * 60])
def test_names_are_taken_as_they_are(name: str) -> None:
    card = Small(name=name, title=name)
    assert (card.name, card.title, card.folders) == (name, name, (name,))
    assert Small.model_validate({"name": name}).title == name
    assert Small.model_validate({"name": name, "title": "Ours"}).title == "Ours"


@pytest.mark.parametrize("name", ["", "A", "-a", "_a", "a b", "ä", "a" * 61, "a.b"])
def test_other_names_are_refused(name: str) -> None:
    assert not NAME.fullmatch(name)
    with pytest.raises(ValidationError, match="up to 60 small letters, digits, _ and -"):
        Small.model_validate({"name": name, "title": "x"})


@pytest.mark.parametrize(("kind", "shortest"), [(Line, 0), (Word, 1)])
def test_texts_are_a_line_of_at_most_two_hundred_characters(kind: Any, shortest: int) -> None:
    texts = TypeAdapter(kind)
    for length in (shortest, 200):
        assert texts.validate_python("x" * length) == "x" * length
    for wrong in ("x" * 201, "two\nlines", "\x1b[2J", *([""] if shortest else [])):
        with pytest.raises(ValidationError):
            texts.validate_python(wrong)


@pytest.mark.parametrize(("given", "text"), [(9, "9"), (1.5, "1.5"), ("9", "9")])
def test_a_number_counts_as_its_text(given: Any, text: str) -> None:
    assert TypeAdapter(Word).validate_python(given) == text


@pytest.mark.parametrize("wrong", [True, None, ["a"]])
def test_anything_else_is_no_word(wrong: Any) -> None:
    with pytest.raises(ValidationError):
        TypeAdapter(Word).validate_python(wrong)


def test_a_part_is_strict_frozen_and_knows_its_keys() -> None:
    class Number(Part):
        value: float = 1.0

    for wrong in ({"value": "1"}, {"value": float("inf")}, {"other": 1}):
        with pytest.raises(ValidationError):
            Number.model_validate(wrong)
    with pytest.raises(ValidationError, match="frozen"):
        Number().value = 2.0


def test_what_yaml_could_misread_is_quoted() -> None:
    values = ["yes", "no", "1", "1e3", "a: b", "# c", "", "true", "äöü", "null", "a-b", "-", [1, "2"], {"a b": ["x,y"]}]
    assert [parsed(flow(value)) for value in values] == values


@pytest.mark.parametrize("word", ["true", "False", "NULL", "-a", "äöü", "a b", "1a", ""])
def test_words_that_need_quotes_have_them(word: str) -> None:
    assert flow(word) == f'"{word}"'


@pytest.mark.parametrize("word", ["a", "a-b", "a_b", "Truest"])
def test_plain_words_have_none(word: str) -> None:
    assert flow(word) == word


def test_a_line_is_a_value_a_question_or_a_comment() -> None:
    assert DraftLine("rate", 500).text("  ") == "  rate: 500"
    assert DraftLine("files", "a b", "3\n files\x1b[2J").text("") == 'files: "a b"  # 3 files?[2J'
    assert open_line("rate", "Hz").text("  ") == '  rate: "?"  # QUESTION: Hz'
    assert DraftLine("array", None, "a name").text("  ") == "  # array: ...  # a name"
    assert DraftLine("array", None).text("  ") == "  # array: ..."
    assert DraftLine("derive", False).text("") == "derive: false"
