"""The card of a pretraining: how its encoder was made, whose it is, and digests of the files beside it and of itself.

Cards written before they held a digest of themselves are read; what they say cannot be checked (`vouched`).
"""

from __future__ import annotations

import hashlib
import json
from collections.abc import Mapping
from pathlib import Path
from typing import Any

from benchmark.results.files.read import LARGEST_JSON, SHOWN, bounded, read_regular
from benchmark.results.keys import digest
from benchmark.results.plain_text import harmless
from benchmark.results.schema import check_card

OWN_DIGEST = "card_sha256"


class BadCard(Exception):
    """A card is damaged, altered or of another pretraining; the message names the file and what is wrong."""


def card_bytes(card: Mapping[str, Any]) -> bytes:
    """Content of a card's file, with the digest of the card."""
    body = {name: value for name, value in card.items() if name != OWN_DIGEST}
    return json.dumps(body | {OWN_DIGEST: _digest(body)}, indent=1).encode()


def read_card_file(path: Path) -> dict[str, Any]:
    """The card in the folder of its key. Raises FileNotFoundError, and BadCard if it is altered or of another key."""
    try:
        card = json.loads(read_regular(path, LARGEST_JSON))
        if not isinstance(card, dict):
            raise BadCard(f"{path}: this is no card")
        read = bounded(card)
        check_card(read)
    except FileNotFoundError:
        raise
    except (OSError, ValueError) as error:
        raise BadCard(f"{path}: {error}") from None
    except RecursionError:
        raise BadCard(f"{path}: nested too deeply") from None
    if problem := _own_problem(card, path.parent.name):
        raise BadCard(f"{path}: {problem}")
    return dict(read)


def _own_problem(card: Mapping[str, Any], key: str) -> str:
    """Why a card is not that of a key; '' if it is, or if it was written before cards held their key."""
    if not vouched(card) and "key" not in card:
        return ""
    if _digest({name: value for name, value in card.items() if name != OWN_DIGEST}) != card.get(OWN_DIGEST):
        return "the card does not match its digest"
    if card.get("key") != key:
        return harmless(f"this is the card of {str(card.get('key'))[:SHOWN]}").replace("\n", " ")
    try:
        if "key_content" in card and digest(card["key_content"]) != key:
            return "what the card says of its key does not give the key"
    except ValueError as error:  # NaN
        return f"what the card says of its key has no digest: {error}"
    content = card.get("key_content", card)
    wrong = [name for name in ("method", "seed") if name in card and card[name] != content.get(name, card[name])]
    return f"the card's {wrong[0]} is not that of its key" if wrong else ""


def vouched(card: Mapping[str, Any]) -> bool:
    """Whether a card holds a digest of itself."""
    return OWN_DIGEST in card


def _digest(body: Mapping[str, Any]) -> str:
    return hashlib.sha256(json.dumps(body, sort_keys=True).encode()).hexdigest()
