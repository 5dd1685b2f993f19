"""CLOCS's loss against a double loop."""

from __future__ import annotations

import math

import pytest
import torch
from torch import Tensor

from methods.clocs import cmsc_loss


def looped(z1: Tensor, z2: Tensor, patient: list[int], temperature: float) -> float:
    count = len(patient)
    exponentials = [
        [math.exp(torch.cosine_similarity(z1[i], z2[j], dim=0).item() / temperature) for j in range(count)]
        for i in range(count)
    ]
    rows = [math.fsum(row) for row in exponentials]
    columns = [math.fsum(row[j] for row in exponentials) for j in range(count)]
    terms: dict[str, list[float]] = {"row": [], "column": [], "above": [], "below": []}
    for i in range(count):
        for j in range(count):
            by_row, by_column = -math.log(exponentials[i][j] / rows[i]), -math.log(exponentials[i][j] / columns[j])
            if i == j:
                terms["row"].append(by_row)
                terms["column"].append(by_column)
            elif patient[i] == patient[j]:
                terms["above" if i < j else "below"].append(by_row if i < j else by_column)
    means = [sum(values) / len(values) for values in terms.values() if values]
    return sum(means) / len(means)


@pytest.mark.parametrize(
    "patient", [[0, 1, 2, 3], [7, 7, 7, 7], [0, 5, 0, 5, 0], [1, 2], [0, 0], [2**24, 2**24 + 1, 2**40, 2**24]]
)
def test_equals_the_double_loop(patient: list[int]) -> None:
    torch.manual_seed(1)
    z1, z2 = torch.randn(2, len(patient), 6, dtype=torch.float64)
    ours = cmsc_loss(z1, z2, torch.tensor(patient), 0.3)
    assert ours.shape == ()
    assert ours.item() == pytest.approx(looped(z1, z2, patient, 0.3), rel=1e-12)
