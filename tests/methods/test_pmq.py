"""PMQ's loss against a double loop over the paper's Eq. 1, its edge cases, and the method's order of events."""

from __future__ import annotations

import math
from collections.abc import Sequence

import pytest
import torch
from torch import Tensor

from methods.parts.losses import unit_length
from methods.pmq import PMQ, PMQConfig, patient_info_nce
from tests import make

TEMPERATURE = 0.1


def unit(count: int, width: int = 6) -> Tensor:
    return unit_length(torch.randn(count, width, dtype=torch.float64))


def eq1(q: Tensor, keys: Tensor, patient: Sequence[int], ids: Sequence[int]) -> float:
    """The paper's Eq. 1 with the batch enqueued, one pair at a time; slots without a key do not exist."""
    filled = [j for j, owner in enumerate(ids) if owner != -1]
    similarity = (q @ keys.T / TEMPERATURE).tolist()
    anchors = []
    for i, person in enumerate(patient):
        total = math.fsum(math.exp(similarity[i][j]) for j in filled)
        pairs = [-math.log(math.exp(similarity[i][j]) / total) for j in filled if ids[j] == person]
        anchors.append(sum(pairs) / len(pairs))
    return 2 * TEMPERATURE * sum(anchors) / len(anchors)


@pytest.mark.parametrize(
    ("patient", "queue_ids"),
    [
        ([0, 1, 2, 3], []),
        ([0, 1, 2, 3], [-1, -1, -1]),
        ([0, 1, 2, 3], [0, 0, 3, -1, -1]),
        ([0, 0, 0, 0], [0, 0, 0]),
        ([5, 5], [6, 7, 5]),
        ([1, 2], [3, 4, 5]),
        ([2**24, 2**24 + 1, 2**40], [2**24 + 1, 2**40 + 1, 2**40]),
        ([4, 9, 4, 9, 4], [9]),
    ],
)
def test_is_the_papers_equation(patient: list[int], queue_ids: list[int]) -> None:
    torch.manual_seed(0)
    q, k, queue = unit(len(patient)), unit(len(patient)), unit(len(queue_ids))
    ids = torch.tensor(queue_ids, dtype=torch.int64)
    ours = patient_info_nce(q, k, torch.tensor(patient), queue, ids, TEMPERATURE)
    expected = eq1(q, torch.cat([k, queue]), patient, patient + queue_ids)
    assert ours.shape == ()
    assert ours.item() == pytest.approx(expected, rel=1e-12)


def make_pmq(**hyperparameters: object) -> PMQ:
    torch.manual_seed(0)
    settings = {"queue_size": 10, "momentum": 0.9, **hyperparameters}
    return PMQ(make.encoder(depth=3, output=8), PMQConfig(**settings))  # type: ignore[arg-type]


@pytest.mark.parametrize("positives", ["own", "recording", "patient"])
def test_the_loss_of_a_batch_has_the_positives_of_its_dial(positives: str) -> None:
    """Against a loop over the columns: the dial says what attracts; the patient's other keys are left out."""
    method = make_pmq(positives=positives, time_mask=0.0, frequency_mask=0.0)
    method.queue.push(unit(4, 8).float(), torch.tensor([5, 5, 6, 7]), torch.tensor([50, 51, 60, 70]))
    batch = make.batch([5, 5, 5, 6], [50, 50, 51, 61])
    q, k = unit_length(method.online(batch.x1)), unit_length(method.target(batch.x2))
    persons, ecgs = [5, 5, 5, 6, 5, 5, 6, 7], [50, 50, 51, 61, 50, 51, 60, 70]  # the batch's keys, then the queue's
    logits = q @ torch.cat([k, method.queue.keys[:4]]).T / TEMPERATURE
    anchors = []
    for i in range(4):
        attracting = {"own": [i], "recording": [j for j in range(8) if ecgs[j] == ecgs[i]]}
        pulled = attracting.get(positives, [j for j in range(8) if persons[j] == persons[i]])
        column = logits[i, pulled + [j for j in range(8) if persons[j] != persons[i]]].logsumexp(0)
        anchors.append((column - logits[i, pulled]).mean())
    torch.testing.assert_close(method(batch), 2 * TEMPERATURE * torch.stack(anchors).mean())


def test_the_queue_takes_the_keys_after_the_loss() -> None:
    method = make_pmq(time_mask=0.0, frequency_mask=0.0)
    batch = make.batch([3, 1, 4], [30, 10, 40])
    first = method(batch)
    assert method.queue.patient.tolist() == [3, 1, 4] + [-1] * 7
    assert method.queue.recording.tolist() == [30, 10, 40] + [-1] * 7
    second = method(batch)  # the same views: the queued copies are further positives and double each denominator
    assert second.item() == pytest.approx(first.item() + 2 * TEMPERATURE * math.log(2), rel=1e-5)
