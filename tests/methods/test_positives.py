"""What a method tells of its positives is what its loss pulls together, read from the gradient of the loss."""

from __future__ import annotations

from dataclasses import fields
from typing import Any

import pytest
import torch
from torch import Tensor

from methods import METHODS
from methods.base import Batch, PretrainMethod
from methods.moco import moco_loss
from methods.parts.knobs import Positives
from methods.parts.losses import shared_id_nce
from methods.parts.momentum import KeyQueue
from methods.pmq import patient_info_nce
from methods.pmq_released import released_loss
from tests import make
from tests.basic import ANYWHERE

TRAINED = [name for name in ANYWHERE if METHODS[name].trains]
TEXT, QUEUE = 6, 5


def build(name: str, **knobs: object) -> PretrainMethod:
    """A method around a tiny encoder, with a queue of five slots where it has one."""
    torch.manual_seed(0)
    known = {field.name for field in fields(METHODS[name].Config)}
    small: dict[str, Any] = {"queue_size": QUEUE, "text_width": TEXT, **knobs}
    config = METHODS[name].Config(**{knob: value for knob, value in small.items() if knob in known})
    return METHODS[name](make.encoder(depth=1, output=8), config)


def told_by(method: PretrainMethod, batch: Batch) -> Positives:
    told = method.positives(batch)
    assert told is not None
    return told


@pytest.mark.parametrize("name", TRAINED)
def test_telling_changes_neither_state_nor_generator(name: str) -> None:
    method = build(name)
    batch = make.batch([1, 1, 2, 3], [1, 2, 3, 4], text=TEXT)
    method(batch)
    before = {key: value.clone() for key, value in method.state_dict().items()}
    generator = torch.get_rng_state()
    told = method.positives(batch)
    assert torch.equal(torch.get_rng_state(), generator)
    assert all(torch.equal(value, before[key]) for key, value in method.state_dict().items())
    if told is None:
        return
    assert told.attracts.dtype == torch.bool
    assert told.attracts.shape == (4, len(told.recording))
    assert told.attracts.diagonal().all()
    assert told.recording[:4].tolist() == [1, 2, 3, 4]


def test_methods_that_contrast_nothing_tell_nothing() -> None:
    batch = make.batch([1, 2], [1, 2], text=TEXT)
    assert build("byol").positives(batch) is None
    assert build("random").positives(batch) is None


@pytest.mark.parametrize("name", ["moco", "pclr", "etp", "simclr", "ts2vec", "clip-report"])
def test_own_keys_are_all_where_no_id_counts(name: str) -> None:
    told = told_by(build(name), make.batch([1, 1, 1], [1, 1, 2], text=TEXT))
    assert torch.equal(told.attracts, torch.eye(3).bool())


def pulled(name: str, patient: Tensor, queue_ids: Tensor, attracts: Tensor) -> Tensor:
    """The logits that the loss of a method raises, from its gradient where all of them are 0: (B, B + M) bool."""
    pairs = len(patient)
    keys = torch.eye(pairs + len(queue_ids))  # orthonormal: the gradient of a query is that of its logits
    q = torch.zeros(pairs, len(keys), requires_grad=True)
    if name == "moco":
        loss = moco_loss(q, keys[:pairs], keys[pairs:], queue_ids, temperature=1.0)
    elif name == "pmq-released":
        loss = released_loss(q, keys[:pairs], patient, keys[pairs:], queue_ids, temperature=1.0)
    else:
        loss = patient_info_nce(q, keys[:pairs], patient, keys[pairs:], queue_ids, 1.0, attracts)
    (gradient,) = torch.autograd.grad(loss, q)
    return gradient < -1e-6


@pytest.mark.parametrize("before", [[5], [2, 1, 3], [2, 1, 3, 1, 5, 6, 1]])
@pytest.mark.parametrize(
    ("name", "positives"),
    [("moco", ""), ("pmq-released", ""), ("pmq", "own"), ("pmq", "recording"), ("pmq", "patient")],
)
def test_what_is_told_is_what_the_loss_of_batch_and_queue_pulls(name: str, positives: str, before: list[int]) -> None:
    method = build(name, **({"positives": positives} if positives else {}))
    queue = method.queue
    assert isinstance(queue, KeyQueue)
    ids = torch.tensor(before)
    queue.push(torch.randn(len(before), 8), ids, 10 * ids)
    batch = make.batch([1, 1, 2, 3, 1, 4], [10, 20, 20, 40, 10, 50], text=TEXT)
    told = torch.zeros(6, 6 + QUEUE, dtype=torch.bool)
    attracts = told_by(method, batch).attracts
    told[:, : attracts.shape[1]] = attracts  # a method whose queue only repels tells of the batch alone
    assert torch.equal(pulled(name, batch.patient, queue.patient, told), told)
    filled = min(len(before), QUEUE)
    assert not told[:, 6 + filled :].any()


def test_all_keys_of_the_patient_in_batch_and_queue_attract_in_pmq() -> None:
    method = build("pmq")
    method(make.batch([2, 1, 3], [20, 11, 30], text=TEXT))
    told = told_by(method, make.batch([1, 1, 2], [10, 11, 20], text=TEXT))
    assert told.attracts[0].nonzero().flatten().tolist() == [0, 1, 4]
    assert told.attracts[2].nonzero().flatten().tolist() == [2, 3]
    assert told.recording.tolist() == [10, 11, 20, 20, 11, 30, -1, -1]


def pulled_in_batch(ids: Tensor) -> Tensor:
    """Pairs of windows that share an id and attract in the loss over rows, from its gradient: (B, B) bool."""
    logits = torch.zeros(len(ids), len(ids), requires_grad=True)
    (gradient,) = torch.autograd.grad(shared_id_nce(logits, ids), logits)
    return (gradient < -1e-6).triu(1) | torch.eye(len(ids), dtype=torch.bool)


@pytest.mark.parametrize(
    ("name", "knobs", "level"),
    [
        ("clocs", {}, "patient"),
        ("comet", {}, "patient"),
        ("comet", {"patient_weight": 0.0}, "trial"),
    ],
)
def test_later_windows_that_share_an_id_attract_in_clocs_and_comet(
    name: str, knobs: dict[str, object], level: str
) -> None:
    batch = make.batch([1, 2, 1, 3, 2, 1], [1, 3, 1, 4, 3, 2], text=TEXT)
    told = told_by(build(name, **knobs), batch)
    expected = pulled_in_batch(getattr(batch, level))
    assert torch.equal(told.attracts, expected)
    assert expected.sum() == 6 + {"patient": 4, "trial": 2}[level]


def test_comet_without_its_levels_of_ids_tells_of_no_shared_id() -> None:
    method = build("comet", patient_weight=0.0, trial_weight=0.0)
    attracts = told_by(method, make.batch([1, 1, 2], [1, 1, 2], text=TEXT)).attracts
    assert not attracts.triu(1).any()
