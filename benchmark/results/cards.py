"""The card of a pretraining: how its encoder was made, whose it is, and digests of the files beside it and of itself.

Cards written before they held a digest of themselves are read; what they say cannot be checked (`vouched`).
"""

from __future__ import annotations

import hashlib
import json
from collections.abc import Mapping
from pathlib import Path
from typing import Any

from benchmark.results.files.read import LARGEST_JSON, bounded, read_regular
from benchmark.results.keys import digest
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
    key = path.parent.name
    if vouched(card) or "key" in card:
        if _digest({name: value for name, value in card.items() if name != OWN_DIGEST}) != card.get(OWN_DIGEST):
            raise BadCard(f"{path}: the card does not match its digest")
        if card.get("key") != key:
            raise BadCard(f"{path}: this is the card of {card.get('key')}")
        if "key_content" in card and digest(card["key_content"]) != key:
            raise BadCard(f"{path}: what the card says of its key does not give the key")
        for name in ("method", "seed"):
            if name in card and card[name] != card.get("key_content", card).get(name, card[name]):
                raise BadCard(f"{path}: the card's {name} is not that of its key")
    return dict(read)


def vouched(card: Mapping[str, Any]) -> bool:
    """Whether a card holds a digest of itself."""
    return OWN_DIGEST in card


def _digest(body: Mapping[str, Any]) -> str:
    return hashlib.sha256(json.dumps(body, sort_keys=True).encode()).hexdigest()
