"""The cards stored beside pretrained weights: loss and health per epoch, seconds and machine."""

from __future__ import annotations

import hashlib
from collections import Counter
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass
from typing import Any

import pandas as pd

from benchmark.results.cards import BadCard, vouched
from benchmark.results.files.read import MEBIBYTE, read_regular
from benchmark.results.health import measured_elsewhere
from benchmark.results.names import CARD, ILLUSTRATION
from benchmark.results.store import Store

COURSE = ("variant", "key", "epoch", "measure", "value")
LOSS, POSITIVES = "loss", "positives"
COUNTS = ("positives_same_recording", "positives_other_recordings")
"""Sum to `POSITIVES`: positive keys of a query besides its own."""
SPENT = ("seconds", "updates", "encoder_passes", "peak_memory_gib", "joules")
"""Facts of a card that are costs."""
HEALTH = ("health", "health_sample")
"""Facts of a card that are health."""
LARGEST_ILLUSTRATION = 256 * MEBIBYTE
"""Bytes."""

Card = Mapping[str, Any]
Cards = Mapping[str, Mapping[str, Card]]
"""Row of a table -> key of a pretraining -> its card."""


@dataclass(frozen=True)
class Costs:
    """Seconds that pretrainings took on one machine."""

    machine: str
    """Its device and precision, '' where nothing was pretrained."""
    seconds: Mapping[str, float]
    """Row -> mean over its pretrainings."""
    elsewhere: tuple[str, ...]
    """Rows pretrained on another machine, whose seconds are not comparable."""


def read_cards(store: Store, keys: Iterable[str]) -> tuple[dict[str, Card], list[str]]:
    """Key -> card, and what is left out, one line each without the store's path.

    An altered card, or one of another pretraining, is left out; of a card without a digest of itself, the costs; and
    health that was measured on other windows than that of the rest.
    """
    cards: dict[str, Card] = {}
    left_out, unchecked = [], 0
    for key in sorted(keys):
        try:
            card = store.card(key)
            if card is None:
                continue
            cards[key] = card if vouched(card) else {name: card[name] for name in card if name not in SPENT}
            unchecked += len(cards[key]) < len(card)
            illustration_of(store, key, card)
        except BadCard as error:
            left_out.append(str(error).replace(f"{store.root}/", ""))
    if unchecked:
        many = f"{unchecked} pretraining{'' if unchecked == 1 else 's'}"
        left_out.append(f"costs of {many}: written before a {CARD} held its own digest, they cannot be checked")
    if elsewhere := measured_elsewhere(cards):
        for key in elsewhere:
            cards[key] = {name: cards[key][name] for name in cards[key] if name not in HEALTH}
        many = f"{len(elsewhere)} pretraining{'' if len(elsewhere) == 1 else 's'}"
        left_out.append(f"health of {many}: measured on the data of another config, and not comparable")
    return cards, left_out


def illustration_of(store: Store, key: str, card: Card) -> bytes | None:
    """Content of the file of a pretraining's illustration; None without one.

    Raises BadCard if it is not the file whose digest its card holds, or cannot be read.
    """
    file = store.pretrained / key / ILLUSTRATION
    if not file.is_file():
        return None
    try:
        body = read_regular(file, LARGEST_ILLUSTRATION)
    except OSError as error:
        raise BadCard(f"{file}: {error.strerror}") from None
    if vouched(card) and hashlib.sha256(body).hexdigest() != card.get("illustration_sha256"):
        raise BadCard(f"{file}: the file does not match the digest in its card")
    return body


def courses(cards: Cards) -> pd.DataFrame:
    """One line per pretraining, epoch and recorded measure, with the columns `COURSE`.

    Losses begin at epoch 1, health measures at epoch 0, the untrained encoder.
    """
    return pd.DataFrame(_courses(cards), columns=list(COURSE)).astype({"value": float})


def _courses(cards: Cards) -> Iterator[tuple[str, str, int, str, float]]:
    for variant, own in cards.items():
        for key, card in own.items():
            for epoch, loss in enumerate(card.get("loss", []), start=1):
                yield variant, key, epoch, LOSS, loss
            for health in card.get("health", []):
                told = {measure: value for measure, value in health.items() if value is not None}
                if told.keys() >= set(COUNTS):
                    told[POSITIVES] = sum(told[count] for count in COUNTS)
                epoch = told.pop("epoch")
                yield from ((variant, key, epoch, measure, value) for measure, value in told.items())


def costs(cards: Cards) -> Costs:
    """Mean seconds per row, on the machine that most rows were pretrained on; the first on a tie."""
    timed: dict[str, dict[str, list[float]]] = {}
    for variant, own in cards.items():
        for card in own.values():
            if card.get("seconds"):
                timed.setdefault(variant, {}).setdefault(machine_of(card), []).append(float(card["seconds"]))
    machines = Counter(machine for spent in timed.values() for machine in spent)
    if not machines:
        return Costs("", {}, ())
    machine = machines.most_common(1)[0][0]
    seconds = {name: sum(spent[machine]) / len(spent[machine]) for name, spent in timed.items() if machine in spent}
    return Costs(machine, seconds, tuple(name for name, spent in timed.items() if machine not in spent))


def machine_of(card: Card) -> str:
    """Device, threads of a CPU, and mode: 'NVIDIA H200, bf16', 'x86_64, 2 then 4 threads, float32'."""
    device = card.get("device") or {}
    counts = card.get("threads") or [device.get("threads")]
    threads = f", {' then '.join(map(str, counts))} thread{'' if counts == [1] else 's'}"
    threads = threads if device.get("type") == "cpu" else ""
    mode = f"{card.get('precision', '?')}{', compiled' if card.get('compiled') else ''}"
    return f"{device.get('name') or device.get('type', 'unknown device')}{threads}, {mode}"
