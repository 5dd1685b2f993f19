"""What a card may say, and the one line for what it may not."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from pydantic import ValidationError

from benchmark.data.datasets.base import LEADS
from benchmark.data.datasets.card import Card

ARRAYS = {"files": "{recording}.npy", "rate": 500, "unit": "mV", "leads": list(LEADS)}
WRONG: list[tuple[dict[str, Any], str]] = [
    ({"signals": {"files": "{recording}.xyz"}}, "says no format"),
    ({"signals": {"unit": "mV", "gain": 1000}}, "give unit or gain, not both"),
    ({"signals": {"leads": [*LEADS[:11], "VI"]}}, "unknown lead 'VI' (did you mean 'I'?)"),
    ({"signals": {"leads": {"MDC_I": "aVS"}}}, "unknown lead 'aVS' (did you mean 'aVR'?)"),
    ({"table": None}, "labels: they stand in a table"),
    ({"table": {"recording": None}}, "it needs `recording`, the column with what {recording} is, or `path`"),
    ({"labels": {"classes": ["SR", "SR"], "values": None}}, "stands for two classes"),
    ({"labels": {"values": {"VT": ["VT"]}}}, "'VT' is not in labels.classes"),
    ({"labels": {"values": {"AF": ["SR"]}}}, "'SR' stands for two classes"),
    ({"labels": {"comment": "Dx"}}, "labels: give column or comment, not both"),
    ({"labels": {"column": None, "comment": "Dx"}, "signals": ARRAYS}, "labels.comment: of WFDB headers alone"),
]


@pytest.mark.parametrize(("sections", "message"), WRONG)
def test_what_a_card_may_not_say(made: Callable[..., Card], sections: dict[str, Any], message: str) -> None:
    with pytest.raises(ValidationError) as caught:
        made(**sections)
    assert message in str(caught.value)


def test_a_card_is_the_source_of_its_dataset(made: Callable[..., Card], tmp_path: Path) -> None:
    card = made(labels={"first_counts": True}, how_to_get="Ask the archive", signals={"leads": ["i", "AVR", "-"]})
    assert card.signals.leads == ["I", "aVR", "-"]
    assert (card.folders, card.states_patients) == (("ours",), True)
    dataset = card(tmp_path)
    assert (dataset.name, dataset.title, dataset.classes, dataset.root) == ("ours", "ours", ("SR", "AF"), tmp_path)
    assert (dataset.first_label_counts, dataset.how_to_get) == (True, "Ask the archive")
    assert made(labels=None, title="Our hospital")(tmp_path).classes == ()


def test_the_content_of_a_card_makes_the_same_card(made: Callable[..., Card]) -> None:
    card = made(table={"split": {"column": "set", "train": [1, 2], "test": [10]}}, signals={"rate": 500})
    assert card.table is not None
    assert card.table.parts is not None
    assert card.table.parts.train == ["1", "2"]
    assert Card.model_validate(card.model_dump(mode="json")) == card
