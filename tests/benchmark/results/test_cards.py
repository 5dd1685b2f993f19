"""Cards of pretrainings: whole ones are read; altered ones and those of another key are refused, each in one line."""

from __future__ import annotations

import json
import math
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from benchmark.results.cards import BadCard, card_bytes, read_card_file, vouched
from benchmark.results.files.write import write_atomic
from benchmark.results.keys import digest
from benchmark.results.names import CARD

CONTENT = {"method": "pmq", "seed": 41}
KEY = digest(CONTENT)


def write(folder: Path, **facts: Any) -> Path:
    file = folder / KEY / CARD
    write_atomic(file, card_bytes({"key": KEY, "key_content": CONTENT, "seconds": 1.5} | facts))
    return file


def test_a_whole_card_is_read_as_it_was_written(tmp_path: Path) -> None:
    card = read_card_file(write(tmp_path))
    assert (card["key"], card["seconds"], vouched(card)) == (KEY, 1.5, True)
    assert list(card) == ["key", "key_content", "seconds", "card_sha256"]
    assert card_bytes(card) == (tmp_path / KEY / CARD).read_bytes()


def test_the_order_of_a_card_s_entries_is_no_part_of_its_digest(tmp_path: Path) -> None:
    file = write(tmp_path)
    card = json.loads(file.read_bytes())
    file.write_text(json.dumps(dict(reversed(card.items()))))
    assert read_card_file(file) == card


@pytest.mark.attack("cards edited, swapped or damaged")
def test_a_flipped_bit_in_any_byte_is_noticed(tmp_path: Path) -> None:
    file = write(tmp_path)
    content = file.read_bytes()
    for position in range(len(content)):
        flipped = bytearray(content)
        flipped[position] ^= 1
        file.write_bytes(flipped)
        with pytest.raises(BadCard, match=str(file)):
            read_card_file(file)


@pytest.mark.attack("cards edited, swapped or damaged")
@pytest.mark.parametrize(
    ("change", "problem"),
    [
        (lambda card: json.dumps(card | {"seconds": 0.1}), "the card does not match its digest"),
        (lambda card: card_bytes(card | {"key": "another"}).decode(), "this is the card of another"),
        (lambda card: card_bytes(card | {"key_content": {}}).decode(), "what the card says of its key"),
        (lambda card: card_bytes(card | {"key_content": {"x": math.nan}}).decode(), "has no digest"),
        (lambda card: card_bytes(card | {"key_content": [1]}).decode(), "key_content: input should be a valid dict"),
        (lambda card: card_bytes(card | {"key_content": {"file": 3}}).decode(), "file: input should be a valid dict"),
        (lambda card: card_bytes(card | {"key": "x\n\x1b[2J"}).decode(), "this is the card of x"),
        (lambda card: "[]", "this is no card"),
        (lambda card: "", "Expecting value"),
    ],
)
def test_an_edited_card_is_one_line_with_the_file(
    tmp_path: Path, change: Callable[[dict[str, Any]], str], problem: str
) -> None:
    file = write(tmp_path)
    file.write_text(change(json.loads(file.read_bytes())))
    with pytest.raises(BadCard, match=problem) as caught:
        read_card_file(file)
    assert str(caught.value).startswith(f"{file}: ")
    assert "\n" not in str(caught.value)


def test_a_card_without_a_digest_is_read_and_vouches_for_nothing(tmp_path: Path) -> None:
    file = tmp_path / KEY / CARD
    write_atomic(file, json.dumps({"seconds": 1.5}).encode())
    assert read_card_file(file) == {"seconds": 1.5}
    assert not vouched(read_card_file(file))
