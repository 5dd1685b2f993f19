"""Small batches are those that a method's own settings ask for, and the same every time."""

from __future__ import annotations

import pytest
import torch

from benchmark.verbs.contract.tryout import (
    BATCH,
    EVERY,
    PATIENTS,
    QUEUE,
    batch_of_size,
    changed,
    small_method,
    training_batch,
)
from methods import METHODS
from methods.clocs import CLOCS, CLOCSConfig

NAN = float("nan")


@pytest.mark.parametrize("name", ["pmq", "comet", "pclr", "etp"])
def test_batches_follow_the_settings_of_the_method(name: str) -> None:
    method = METHODS[name]
    batch, config = training_batch(method, 5), method.Config()
    assert batch.x1.shape == (BATCH, 300 // EVERY, 12)
    assert torch.equal(batch.x1, batch.x2) == (config.pairing == "same")
    assert 1 <= batch.patient.min() <= batch.patient.max() <= PATIENTS
    if config.batching == "patient":
        assert len(set(batch.patient.tolist())) == BATCH
    if config.batching == "trial":
        assert len(set(batch.trial.tolist())) <= 4
    assert (batch.text is not None) == method.needs_text


def test_a_batch_is_the_same_every_time_and_no_two_are_alike() -> None:
    pmq = METHODS["pmq"]
    assert torch.equal(training_batch(pmq, 3).x1, training_batch(pmq, 3).x1)
    batches = [training_batch(pmq, update).x1 for update in range(20)]
    assert len({batch.sum().item() for batch in batches}) == 20
    assert not torch.equal(batch_of_size(pmq, 7, 0).x1, batch_of_size(pmq, 7, 1).x1)


@pytest.mark.parametrize("size", [2, 40])
def test_a_batch_may_have_any_size(size: int) -> None:
    assert len(batch_of_size(METHODS["pclr"], size).x1) == size


def test_knobs_that_a_method_does_not_have_are_left_out() -> None:
    clocs = small_method(METHODS["clocs"], momentum=0.5, temperature=0.3)
    assert isinstance(clocs, CLOCS)
    assert clocs.config == CLOCSConfig(temperature=0.3)
    assert len(small_method(METHODS["moco"]).state_dict()["queue.keys"]) == QUEUE


def test_a_tensor_has_changed_when_its_bits_have() -> None:
    before = {"same": torch.tensor([NAN, 0.0]), "sign": torch.tensor(0.0), "count": torch.tensor(1)}
    after = {"same": torch.tensor([NAN, 0.0]), "sign": torch.tensor(-0.0), "count": torch.tensor(2)}
    assert changed(before, after) == ["sign", "count"]
