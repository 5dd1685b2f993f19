"""Candidates that attract a query."""

from __future__ import annotations

import torch

from methods.parts.positives import Positives


def test_of_own_keys_each_query_attracts_its_own() -> None:
    found = Positives.own_keys(torch.tensor([4, 4, 7]))
    assert found.attracts.dtype == torch.bool
    assert found.attracts.tolist() == [[True, False, False], [False, True, False], [False, False, True]]
    assert found.recording.tolist() == [4, 4, 7]
