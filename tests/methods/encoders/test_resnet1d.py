"""resnet1d gives the official module's features, in training and evaluation, and takes on its weights."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest
import torch
from torch import Tensor

from methods.encoders import load_official
from methods.encoders.resnet1d import ResNet1d, ResNet1dConfig

Arrays = dict[str, np.ndarray]


@pytest.fixture(scope="session")
def official(shared_reference: Path) -> Arrays:
    """Inputs and features of the official module, under weights that follow a rule."""
    prefix = "resnet1d_wang/"
    with np.load(shared_reference / "backbones_cnn_dev.npz") as arrays:
        return {name.removeprefix(prefix): arrays[name] for name in arrays.files if name.startswith(prefix)}


@pytest.fixture(scope="session")
def state(official: Arrays) -> dict[str, Tensor]:
    """The official state dict, head included."""
    shapes = [tuple(int(size) for size in text.strip("()").split(",") if size) for text in official["state_shapes"]]
    seed = int(official["fill_seed"])
    return {
        str(name): filled(str(name), number, shape, seed)
        for number, (name, shape) in enumerate(zip(official["state_names"], shapes, strict=True))
    }


def filled(name: str, number: int, shape: tuple[int, ...], seed: int) -> Tensor:
    """Tensor `number` of a state dict by the rule that the reference states under its key `rule`."""
    low = 2**32 - 1
    element = np.arange(int(np.prod(shape)), dtype=np.uint64)
    bits = (element * 2654435761 + np.uint64(number) * 2246822519 + np.uint64(seed) * 3266489917 + 374761393) & low
    bits ^= bits >> 15
    bits = (bits * 2246822519) & low
    bits ^= bits >> 13
    bits = (bits * 3266489917) & low
    bits ^= bits >> 16
    drawn = (bits / 2**31 - 1).reshape(shape)  # in [-1, 1)
    last = name.rpartition(".")[2]
    if last == "num_batches_tracked":
        return torch.zeros((), dtype=torch.int64)
    if last == "weight":
        drawn = drawn * np.sqrt(3 / np.prod(shape[1:])) if len(shape) > 1 else 1 + 0.1 * drawn
    else:
        drawn = 1 + 0.1 * np.abs(drawn) if last == "running_var" else 0.1 * drawn
    return torch.from_numpy(drawn).float()


def test_gives_the_official_features(official: Arrays, state: dict[str, Tensor]) -> None:
    encoder = load_official("resnet1d", state).eval()
    x = torch.from_numpy(official["x"]).mT  # (B, S, L)
    with torch.no_grad():
        features, pooled = encoder(x).mT, encoder.pooled(x)  # (B, K, S'), (B, K)
    np.testing.assert_allclose(features, official["features"], rtol=1e-5, atol=1e-5)
    np.testing.assert_allclose(pooled, official["features"].mean(2), rtol=1e-5, atol=1e-5)


def test_trains_with_the_official_statistics(official: Arrays, state: dict[str, Tensor]) -> None:
    encoder = load_official("resnet1d", state).train()
    features = encoder(torch.from_numpy(official["x"]).mT).mT.detach()  # (B, K, S')
    np.testing.assert_allclose(features, official["features_train_mode"], rtol=1e-5, atol=1e-5)
    for kind in ("mean", "var"):
        counted = sum(float(value.sum()) for name, value in encoder.named_buffers() if name.endswith(kind))
        assert counted == pytest.approx(float(official[f"after_train_sum_running_{kind}"]), rel=1e-5)


def test_has_the_official_gradient(official: Arrays, state: dict[str, Tensor]) -> None:
    encoder = load_official("resnet1d", state).double().train()
    x = torch.from_numpy(official["x"]).double().requires_grad_()  # (B, L, S)
    encoder(x.mT)  # it was taken in evaluation, after one pass in training
    encoder.eval()
    y = encoder(x.mT).mT  # (B, K, S')
    (y * torch.cos(torch.arange(y.numel(), dtype=torch.float64)).view_as(y)).sum().backward()
    assert x.grad is not None
    theirs = official["grad_x_of_sum_y_cos_every4th_step"]
    np.testing.assert_allclose(x.grad[:, :, ::4], theirs, rtol=1e-5, atol=1e-6)


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
