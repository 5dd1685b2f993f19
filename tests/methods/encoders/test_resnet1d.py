"""resnet1d gives the official module's features, in training and evaluation, and takes on its weights."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest
import torch

from methods.encoders import load_official
from methods.encoders.resnet1d import ResNet1d, ResNet1dConfig
from tests.methods.encoders.official import Arrays, State, arrays_of, gradient_of, state_of


@pytest.fixture(scope="session")
def official(shared_reference: Path) -> Arrays:
    """Inputs and features of the official module, under weights that follow a rule."""
    return arrays_of(shared_reference / "backbones_cnn_dev.npz", "resnet1d_wang")


@pytest.fixture(scope="session")
def state(official: Arrays) -> State:
    """The official state dict, head included."""
    return state_of(official)


def test_gives_the_official_features(official: Arrays, state: State) -> None:
    encoder = load_official("resnet1d", state).eval()
    x = torch.from_numpy(official["x"]).mT  # (B, S, L)
    with torch.no_grad():
        features, pooled = encoder(x).mT, encoder.pooled(x)  # (B, K, S'), (B, K)
    np.testing.assert_allclose(features, official["features"], rtol=1e-5, atol=1e-5)
    np.testing.assert_allclose(pooled, official["features"].mean(2), rtol=1e-5, atol=1e-5)


def test_trains_with_the_official_statistics(official: Arrays, state: State) -> None:
    encoder = load_official("resnet1d", state).train()
    features = encoder(torch.from_numpy(official["x"]).mT).mT.detach()  # (B, K, S')
    np.testing.assert_allclose(features, official["features_train_mode"], rtol=1e-5, atol=1e-5)
    for kind in ("mean", "var"):
        counted = sum(float(value.sum()) for name, value in encoder.named_buffers() if name.endswith(kind))
        assert counted == pytest.approx(float(official[f"after_train_sum_running_{kind}"]), rel=1e-5)


def test_has_the_official_gradient(official: Arrays, state: State) -> None:
    encoder = load_official("resnet1d", state).double().train()
    encoder(torch.from_numpy(official["x"]).double().mT)  # it was taken in evaluation, after one pass in training
    gradient = gradient_of(encoder.eval(), official["x"])  # (B, L, S)
    theirs = official["grad_x_of_sum_y_cos_every4th_step"]
    np.testing.assert_allclose(gradient[:, :, ::4], theirs, rtol=1e-5, atol=1e-6)


def test_has_the_official_size(official: Arrays) -> None:
    assert sum(p.numel() for p in ResNet1d().parameters()) == int(official["n_params_features"]) == 439_040


@pytest.mark.parametrize(("steps", "coarse"), [(300, 75), (250, 63), (101, 26), (5, 2), (4, 1), (1, 1)])
def test_a_time_step_of_the_output_is_four_of_the_input(steps: int, coarse: int) -> None:
    encoder = ResNet1d(ResNet1dConfig(leads=3, output=8)).eval()
    x = torch.randn(2, steps, 3)
    assert encoder(x).shape == (2, coarse, 8)
    assert encoder.embed(x).shape == (2, steps, 8)


def test_the_sizes_follow_the_official_tensors() -> None:
    ours = ResNet1d(ResNet1dConfig(leads=8, output=4))
    names = {"stem.": "", **{f"blocks.{block}.": f"{block + 3}.0." for block in range(3)}, "shortcut": "downsample"}
    official = {}
    for name, value in ours.state_dict().items():
        for own, theirs in names.items():
            name = name.replace(own, theirs)
        official[name] = value
    loaded = load_official("resnet1d", official)
    assert loaded.config == ours.config
    x = torch.randn(2, 40, 8)
    assert torch.equal(loaded.eval()(x), ours.eval()(x))


@pytest.mark.parametrize(
    ("damage", "message"),
    [
        (lambda state: state.clear(), "no tensor 0.weight; pass the whole state_dict"),
        (lambda state: state.pop("4.0.conv2.weight"), "Missing key.*blocks.1.conv2.weight"),
        (lambda state: state.update({"7.0.conv1.weight": torch.zeros(1)}), "unknown tensor '7.0.conv1.weight'"),
        (lambda state: state.update({"3.0.conv1.weight": torch.zeros(128, 128, 3)}), "size mismatch"),
    ],
)
def test_anything_but_the_official_module_is_refused(state, damage, message) -> None:  # type: ignore[no-untyped-def]
    state = dict(state)
    damage(state)
    with pytest.raises(ValueError, match=rf"^official resnet1d: .*{message}") as caught:
        load_official("resnet1d", state)
    assert "\n" not in str(caught.value)
