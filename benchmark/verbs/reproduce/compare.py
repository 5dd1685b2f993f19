"""Two rows of one cell, the stored and the new one: equal to the bit, or different by how much."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Any

import numpy as np
import torch
from safetensors import SafetensorError
from safetensors.torch import load as load_tensors

from benchmark.results.cards import BadCard
from benchmark.results.keys import flat
from benchmark.results.rows import ARRAYS, Predictions, Row
from benchmark.results.store import Store
from benchmark.training.weights import WEIGHTS, checked_card

CHOICES = ("best_epoch", "C", "neighbours")
"""What a training chooses by the validation score, where it does."""
CIRCUMSTANCES = ("versions", "git", "device", "precision")
"""Entries of a row's provenance that may differ between then and now."""


def told(then: Row, store: Store, fresh: Store, *, pretrained: bool) -> tuple[list[str], bool]:
    """What to say of a cell that was run again, and whether scores, predictions and encoder are equal to the bit.

    pretrained: whether the encoder was pretrained again, else it is a copy.
    """
    now = fresh.load_row(then.key)
    assert now is not None, "the cell has ended without an error, so its row is there"
    before, after = store.predictions(then.key), fresh.predictions(then.key)
    apart = [*encoder_lines(then.pretrain_key, store, fresh), *score_lines(then, now)]
    apart += prediction_lines(before, after)
    about, counted = list(circumstances(then, now)), sum(map(len, now.scores.values()))
    encoder = ""
    if pretrained and then.pretrain_key:
        encoder = "the encoder, " if encoder_card(then.pretrain_key, store) else "(the stored encoder is gone) "
    if not apart:
        said = f"equal: {encoder}{counted} scores and the predictions of {len(after.truth)} windows, to the bit"
        return [*about, said], True
    pairs = [(old, new) for _, _, old, new in scores_of(then, now) if old != new]
    largest = max((abs(new - old) for old, new in pairs if old is not None and new is not None), default=0.0)
    said = f"different: {len(pairs)} of {counted} scores, by up to {largest:.2g}"
    return [*about, *apart, *choice_lines(then, now), said], False


def choice_lines(then: Row, now: Row) -> Iterator[str]:
    """A line for each choice of the training that is another."""
    for name in CHOICES:
        if then.training.get(name) != now.training.get(name):
            yield f"{name}: {then.training.get(name)} then, {now.training.get(name)} now"


def circumstances(then: Row, now: Row) -> Iterator[str]:
    """What differs between the circumstances of the two, a line each."""
    old, new = ({name: row.provenance.get(name) for name in CIRCUMSTANCES} for row in (then, now))
    before, after = flat(old, ""), flat(new, "")
    for name in dict.fromkeys([*before, *after]):
        if before.get(name) != after.get(name):
            yield f"{name}: {before.get(name)} then, {after.get(name)} now"


def score_lines(then: Row, now: Row) -> Iterator[str]:
    """A line for each score that differs."""
    for unit, metric, old, new in scores_of(then, now):
        if old != new:
            change = f" ({new - old:+.2g})" if old is not None and new is not None else ""
            yield f"{unit} {metric}: {old} then, {new} now{change}"


def scores_of(then: Row, now: Row) -> Iterator[tuple[str, str, float | None, float | None]]:
    """Unit, metric, old and new value of every score that either row has."""
    for unit in dict.fromkeys([*then.scores, *now.scores]):
        old, new = then.scores.get(unit, {}), now.scores.get(unit, {})
        yield from ((unit, name, old.get(name), new.get(name)) for name in dict.fromkeys([*old, *new]))


def prediction_lines(then: Predictions, now: Predictions) -> Iterator[str]:
    """A line for each kind of difference of two sets of predictions."""
    for name in ARRAYS:
        old, new = getattr(then, name), getattr(now, name)
        if old.shape != new.shape:
            yield f"predictions: {name} has the shape {old.shape} then, {new.shape} now"
        elif name != "probability" and not np.array_equal(old, new):
            yield f"predictions: {name} differs in {int((old != new).sum())} of {old.size} places"
    if then.probability.shape != now.probability.shape or np.array_equal(then.probability, now.probability):
        return
    apart = np.abs(then.probability.astype(np.float64) - now.probability)  # (n, C)
    moved = int((apart > 0).any(axis=1).sum())
    other = int((then.probability.argmax(axis=1) != now.probability.argmax(axis=1)).sum())
    yield (
        f"predictions: {moved} of {len(apart)} windows differ, by up to {apart.max():.2g}; the most probable class of "
        f"{other} is another"
    )


def encoder_lines(key: str, store: Store, fresh: Store) -> Iterator[str]:
    """How the encoder that was used differs from the stored one; nothing for a copy, or if the stored one is gone."""
    then, now = (encoder_card(key, own) for own in (store, fresh))
    if then is None or now is None or then["sha256"] == now["sha256"]:
        return
    try:
        yield f"encoder: its weights differ by up to {weights_apart(key, store, fresh):.2g}"
    except (SafetensorError, KeyError, RuntimeError, ValueError):  # of a foreign store, under a valid digest
        yield "encoder: the stored weights have other tensors"
    yield f"loss of its last epoch: {last(then)} then, {last(now)} now"


def encoder_card(key: str, store: Store) -> dict[str, Any] | None:
    """The card of an encoder whose files are whole; None for none."""
    try:
        return checked_card(store.pretrained / key) if key else None
    except BadCard:
        return None


def weights_apart(key: str, store: Store, fresh: Store) -> float:
    """The largest difference of a weight between the stored and the new encoder."""
    old, new = (load_tensors((own.pretrained / key / WEIGHTS).read_bytes()) for own in (store, fresh))
    return max(float(torch.max(torch.abs(old[name].double() - new[name].double()))) for name in old)


def last(card: Mapping[str, Any]) -> Any:
    """The loss of a pretraining's last epoch; None where it was not trained."""
    return (card.get("loss") or [None])[-1]
