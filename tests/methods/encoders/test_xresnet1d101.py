"""xresnet1d101 gives the official module's features, in training and evaluation, and takes on its weights."""

from __future__ import annotations

import re
from pathlib import Path

import numpy as np
import pytest
import torch

from methods.encoders import load_official
from methods.encoders.xresnet1d101 import XResNet1d101, XResNet1d101Config, normalised
from tests.methods.encoders.official import Arrays, State, arrays_of, gradient_of, state_of

SECOND, FIRST = ".convpath.0.", ".convs."


@pytest.fixture(scope="session")
def official(shared_reference: Path) -> Arrays:
    """Inputs and features of the official module, under weights that follow a rule."""
    return arrays_of(shared_reference / "backbones_cnn_dev.npz", "xresnet1d101")


@pytest.fixture(scope="session")
def state(official: Arrays) -> State:
    """The official state dict, head included; of a tensor's two names the second one has its values."""
    filled = state_of(official)
    return {name: filled[name.replace(FIRST, SECOND)] for name in filled}


def test_gives_the_official_features(official: Arrays, state: State) -> None:
    encoder = load_official("xresnet1d101", state).eval()
    x = torch.from_numpy(official["x"]).mT  # (B, S, L)
    with torch.no_grad():
        features, pooled = encoder(x).mT, encoder.pooled(x)  # (B, K, S'), (B, K)
    np.testing.assert_allclose(features, official["features"], rtol=1e-5, atol=1e-5)
    np.testing.assert_allclose(pooled, official["features"].mean(2), rtol=1e-5, atol=1e-5)


def test_trains_with_the_official_statistics(official: Arrays, state: State) -> None:
    encoder = load_official("xresnet1d101", state).double().train()
    features = encoder(torch.from_numpy(official["x"]).double().mT).mT.detach()  # (B, K, S')
    np.testing.assert_allclose(features, official["features_train_mode"], rtol=1e-5, atol=1e-5)
    for kind in ("mean", "var"):
        theirs = float(official[f"after_train_sum_running_{kind}"])  # the official state names a bottleneck's twice
        counted = sum(
            float(value.sum()) * (2 if ".path." in name else 1)
            for name, value in encoder.named_buffers()
            if name.endswith(f"running_{kind}")
        )
        assert counted == pytest.approx(theirs, rel=1e-5)


def test_has_the_official_gradient(official: Arrays, state: State) -> None:
    encoder = load_official("xresnet1d101", state).double().train()
    encoder(torch.from_numpy(official["x"]).double().mT)  # it was taken in evaluation, after one pass in training
    gradient = gradient_of(encoder.eval(), official["x"])  # (B, L, S)
    theirs = official["grad_x_of_sum_y_cos_every4th_step"]
    np.testing.assert_allclose(gradient[:, :, ::4], theirs, rtol=1e-5, atol=1e-6)


def test_has_the_official_size(official: Arrays) -> None:
    assert sum(p.numel() for p in XResNet1d101().parameters()) == int(official["n_params_features"]) == 1_804_672


def test_either_name_of_a_tensor_will_do_and_the_second_counts(state: State) -> None:
    x = torch.randn(2, 64, 12)
    whole = load_official("xresnet1d101", state).eval()(x)
    kept = {left: {n: v for n, v in state.items() if left not in n} for left in (FIRST, SECOND)}
    for one in kept.values():
        assert torch.equal(load_official("xresnet1d101", one).eval()(x), whole)
    differing = {name: value + 1 if FIRST in name else value for name, value in reversed(state.items())}
    assert torch.equal(load_official("xresnet1d101", differing).eval()(x), whole)


def test_the_sizes_follow_the_tensors(state: State) -> None:
    two = {name: value[:, :2] if value.shape[1:2] == (12,) else value for name, value in state.items()}
    assert load_official("xresnet1d101", two)(torch.randn(2, 64, 2)).shape == (2, 2, 256)


def test_all_sizes_follow_the_official_tensors() -> None:
    ours = XResNet1d101(XResNet1d101Config(leads=3, output=16, third_stage=2))
    official = {}
    for name, value in ours.state_dict().items():
        if match := re.fullmatch(r"stem\.(\d)\.(.+)", name):
            name = f"{int(match[1]) // 2}.{match[2]}"
        elif match := re.fullmatch(r"stages\.(\d)\.(\d+)\.(?:path\.(\d)|shortcut\.1)\.(.+)", name):
            part = f"convs.{int(match[3]) // 2}" if match[3] else "idpath.1"
            name = f"{int(match[1]) + 4}.{match[2]}.{part}.{match[4]}"
        official[name] = value
    loaded = load_official("xresnet1d101", official)
    assert loaded.config == ours.config
    x = torch.randn(2, 64, 3)
    assert torch.equal(loaded.eval()(x), ours.eval()(x))


def test_convolutions_start_normal_with_the_deviation_of_he() -> None:
    torch.manual_seed(0)
    weight = normalised(64, 64, 5)[0].weight
    assert weight.std().item() == pytest.approx((2 / (64 * 5)) ** 0.5, rel=0.02)
    assert weight.abs().max() > 3 * weight.std()  # not uniform


def test_every_batch_normalisation_starts_at_one() -> None:
    encoder = XResNet1d101(XResNet1d101Config.small())
    assert all(bool((p == 1).all()) for name, p in encoder.named_parameters() if p.ndim == 1 and "weight" in name)


@pytest.mark.parametrize(("steps", "coarse"), [(300, 10), (250, 8), (101, 4), (33, 2), (32, 1)])
def test_a_time_step_of_the_output_is_thirty_two_of_the_input(steps: int, coarse: int) -> None:
    encoder = XResNet1d101(XResNet1d101Config(leads=3, output=32, third_stage=1)).eval()
    x = torch.randn(2, steps, 3)
    assert encoder(x).shape == (2, coarse, 32)
    assert encoder.embed(x).shape == (2, -(-steps // 2), 8)


def test_shorter_windows_are_refused() -> None:
    assert XResNet1d101Config().unfit(31) == "its steps are 32 samples apart; use windows of 32 or more"
    assert XResNet1d101Config().unfit(32) == ""


@pytest.mark.parametrize(
    ("damage", "message"),
    [
        (lambda state: state.clear(), "no tensor 0.0.weight; pass the whole state_dict"),
        (
            lambda state: [state.pop(f"7.2.{kind}.2.0.weight") for kind in ("convs", "convpath.0")],
            "no tensor 7.2.convs.2.0.weight; pass the whole state_dict",
        ),
        (lambda state: state.pop("2.0.weight"), "Missing key.*stem.4.0.weight"),
        (lambda state: state.update({"4.0.squeeze.weight": torch.zeros(1)}), "unknown tensor '4.0.squeeze.weight'"),
        (lambda state: state.update({"4.0.idpath.0.0.weight": torch.zeros(1)}), "size mismatch"),
    ],
)
def test_anything_but_the_official_module_is_refused(state, damage, message) -> None:  # type: ignore[no-untyped-def]
    state = dict(state)
    damage(state)
    with pytest.raises(ValueError, match=rf"^official xresnet1d101: .*{message}") as caught:
        load_official("xresnet1d101", state)
    assert "\n" not in str(caught.value)
