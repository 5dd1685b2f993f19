"""Edge cases of the shared losses: autocast, no shared id, silent channels; their values are in the official losses."""

from __future__ import annotations

import torch

from methods.parts.losses import (
    scaled_similarity,
    shared_id_nce,
    time_cosine,
    unit_length,
)


def test_similarity_keeps_single_precision_under_autocast() -> None:
    q, k = unit_length(torch.randn(5, 64)), unit_length(torch.randn(7, 64))
    exact = q @ k.T / 0.1
    with torch.autocast("cpu", torch.bfloat16):
        ours, rounded = scaled_similarity(q, k, 0.1), q @ k.T / 0.1
    assert ours.dtype == torch.float32
    torch.testing.assert_close(ours, exact)
    assert (rounded.float() - exact).abs().max() > 1e-3
    rows = unit_length(torch.cat([torch.randn(3, 64), torch.zeros(1, 64)]).bfloat16())
    assert rows.dtype == torch.float32
    torch.testing.assert_close(rows.norm(dim=1), torch.tensor([1.0, 1.0, 1.0, 0.0]))


def test_without_a_shared_id_the_loss_is_a_zero_with_a_graph() -> None:
    logits = torch.randn(3, 3, requires_grad=True)
    loss = shared_id_nce(logits, torch.tensor([0, 2**24, 2**24 + 1]))
    loss.backward()
    assert loss.item() == 0
    assert torch.equal(logits.grad, torch.zeros(3, 3))


def test_channels_are_normalised_along_time_and_a_silent_one_counts_for_nothing() -> None:
    h1, h2 = torch.randn(2, 3, 7, 5)
    h1[:, :, 0] = 0
    similarity = time_cosine(h1, h2)
    unit = [(h / h.norm(dim=1, keepdim=True).clamp(min=1e-12)).flatten(1) for h in (h1, h2)]
    expected = torch.stack([torch.cosine_similarity(one, unit[1]) for one in unit[0]])
    torch.testing.assert_close(similarity, expected)
    h = torch.zeros(2, 4, 3, requires_grad=True)
    time_cosine(h, h).sum().backward()
    assert h.grad is not None
    assert h.grad.isfinite().all()
