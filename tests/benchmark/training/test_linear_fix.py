"""FIX's probe: equal to its reference numbers, setting by setting, and sound where a class has one sign."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
import pytest
import torch

from benchmark.training import linear_fix
from benchmark.training.linear_fix import fitted, log_loss, probe

STOPPED = 1e-4
"""lbfgs stops at a gradient of 1e-4: on another kind of CPU it ends up to 8e-5 away, on the reference's within 1e-5."""
EXPECTED = {"full": (True, 0.1, None), "10pct": (False, 0.1, None)}


def case_of(folder: Path, name: str) -> dict[str, Any]:
    stored = np.load(folder / "protocol_dev.npz")
    own = {key.split("/")[1]: stored[key] for key in stored.files if key.startswith(f"fix_probe_{name}/")}
    chosen = own["train_indices"]
    return own | {"x_train": own["x_train"][chosen], "y_train": own["y_train"][chosen], "all": len(own["x_train"])}


@pytest.mark.parametrize("name", EXPECTED)
def test_it_equals_the_reference(shared_reference: Path, name: str) -> None:
    case = case_of(shared_reference, name)
    found, choice = probe(*(case[part] for part in ("x_train", "y_train", "x_val", "y_val", "x_test")))
    assert choice == EXPECTED[name]
    assert str(choice) == str(case["best"])
    np.testing.assert_allclose(found, case["test_prob"], atol=STOPPED)


def test_the_log_loss_of_every_setting_equals_the_reference(shared_reference: Path) -> None:
    case = case_of(shared_reference, "10pct")
    losses = [log_loss(found, case["y_val"]) for _, (found,) in fitted(case["x_train"], case["y_train"], case["x_val"])]
    np.testing.assert_allclose(np.reshape(losses, (2, 4, 2)), case["val_bce_grid_scale_C_weight"], atol=1e-5)


def test_fractions_are_a_torch_permutation_with_seed_42(shared_reference: Path) -> None:
    case = case_of(shared_reference, "10pct")
    order = torch.randperm(case["all"], generator=torch.Generator().manual_seed(42))
    np.testing.assert_array_equal(order[: int(case["all"] * float(case["train_pct"]))], case["train_indices"])


def noise(seed: int = 0, n: int = 60) -> tuple[Any, Any]:
    random = np.random.default_rng(seed)
    x = random.normal(size=(n, 4)).astype(np.float32)
    return x, np.stack([x[:, 0] + random.normal(size=n) > 0, x[:, 1] > 0.5], axis=1).astype(np.int64)


def test_the_first_of_the_lowest_log_losses_is_taken(monkeypatch: pytest.MonkeyPatch) -> None:
    (x, y), (other, truth) = noise(), noise(1)
    coming = iter([0.7, 0.4, 0.4, *[0.9] * 13])
    monkeypatch.setattr(linear_fix, "log_loss", lambda probability, truth: next(coming))
    _, choice = probe(x, y, other, truth, other)
    assert choice == (True, 0.01, "balanced")


def test_a_class_of_one_sign_is_certain_and_competes_with_a_finite_loss() -> None:
    (x, y), (other, truth) = noise(), noise(1)
    y = np.concatenate([y, np.zeros((len(y), 1), np.int64), np.ones((len(y), 1), np.int64)], axis=1)
    truth = np.concatenate([truth, truth], axis=1)
    found, _ = probe(x, y, other, truth, other)
    np.testing.assert_array_equal(found[:, 2:], [[0.0, 1.0]] * len(other))
    assert np.isfinite(log_loss(found, truth))


def test_empty_sides_are_no_error() -> None:
    (x, y), (none, nothing) = noise(), noise(n=0)
    found, choice = probe(x, y, none, nothing, none)
    assert (found.shape, choice) == ((0, 2), (True, 0.01, None))


def test_a_certain_error_costs_a_finite_amount_and_a_half_certainty_one_bit() -> None:
    wrong = log_loss(np.array([[0.0]], np.float32), np.array([[1]]))
    assert wrong == pytest.approx(-np.log(1e-7), rel=1e-6)
    assert log_loss(np.array([[1.0]], np.float32), np.array([[0]])) == pytest.approx(wrong, rel=1e-6)
    found = log_loss(np.array([[0.5, 0.25]], np.float32), np.array([[1, 0]]))
    assert found == pytest.approx((np.log(2) + np.log(4 / 3)) / 2)


def test_a_setting_that_does_not_converge_competes_without_a_warning(monkeypatch: pytest.MonkeyPatch) -> None:
    (x, y), (other, truth) = noise(), noise(1)
    monkeypatch.setattr(linear_fix, "MAX_ITERATIONS", 1)
    found, _ = probe(x, y, other, truth, other)
    assert np.isfinite(found).all()
