"""The cosine along time: equal to two plain normalisations, in values and gradients, and safe for silent channels."""

from __future__ import annotations

import torch

from methods.parts.time_cosine import plain_time_cosine, plain_unit_in_time, time_cosine, unit_in_time


def test_equals_two_normalisations_in_values_and_gradients() -> None:
    torch.manual_seed(0)
    h1, h2 = (torch.randn(3, 7, 5, dtype=torch.float64, requires_grad=True) for _ in range(2))
    weights = torch.randn(3, 3, dtype=torch.float64)
    found = [torch.autograd.grad((form(h1, h2) * weights).sum(), (h1, h2)) for form in (time_cosine, plain_time_cosine)]
    torch.testing.assert_close(time_cosine(h1, h2), plain_time_cosine(h1, h2))
    torch.testing.assert_close(*found)


def test_a_silent_channel_is_divided_by_the_shortest_length() -> None:
    for form in (unit_in_time, plain_unit_in_time):
        h = torch.zeros(1, 4, 2, dtype=torch.float64, requires_grad=True)
        form(h).sum().backward()
        assert h.grad is not None
        torch.testing.assert_close(h.grad, torch.full_like(h, 1e12))


def test_half_precision_becomes_single_precision() -> None:
    h = torch.randn(2, 50, 3).bfloat16()
    torch.testing.assert_close(unit_in_time(h).norm(dim=1), torch.ones(2, 3))
    assert time_cosine(h, h).dtype == torch.float32


def test_a_silent_channel_is_left_out_and_silence_is_finite() -> None:
    h = torch.randn(2, 6, 4, dtype=torch.float64)
    h[:, :, 0] = 0.0
    torch.testing.assert_close(time_cosine(h, h), time_cosine(h[:, :, 1:], h[:, :, 1:]))
    silent = torch.zeros(2, 6, 4, requires_grad=True)
    similarity = time_cosine(silent, silent)
    similarity.sum().backward()
    assert similarity.isfinite().all()
    assert silent.grad is not None
    assert silent.grad.isfinite().all()
