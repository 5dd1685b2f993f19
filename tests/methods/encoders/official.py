"""The official modules' numbers and weights: arrays of the reference, state dicts filled by its rule, and loaders."""

from __future__ import annotations

import math
import re
from collections.abc import Callable
from pathlib import Path

import numpy as np
import torch
from torch import Tensor, nn

from methods.encoders import get_encoder
from methods.encoders.base import Encoder, EncoderConfig
from methods.encoders.vit import ViT1dConfig

Arrays = dict[str, np.ndarray]
State = dict[str, Tensor]
MODULES = {
    "resnet1d": ("backbones_cnn_dev.npz", "resnet1d_wang"),
    "xresnet1d101": ("backbones_cnn_dev.npz", "xresnet1d101"),
    "vit1d": ("backbones_vit_dev.npz", "vit_tiny_custom"),
    "vit1d of the paper": ("backbones_vit_dev.npz", "vit_small"),
}
"""Encoder -> file of the reference and official module in it."""
SIZES: dict[str, EncoderConfig] = {
    "vit1d": ViT1dConfig(patch=25, length=500, depth=3, heads=3, head_width=16, hidden=96, output=48),
    "vit1d of the paper": ViT1dConfig(patch=75, length=2250),
}
"""Sizes of official modules that are not the defaults."""
KERNEL = "kernel.kernel."
FIRST, SECOND = ".convs.", ".convpath.0."


def official_module(reference: Path, name: str) -> tuple[Arrays, State, Encoder]:
    """Inputs and outputs of an official module, its state dict, head included, and ours with those weights."""
    file, module = MODULES[name]
    official = arrays_of(reference / file, module)
    state = state_of(official)
    if name == "xresnet1d101":  # of a tensor's two names the second one has its values
        state = {key: state[key.replace(FIRST, SECOND)] for key in state}
    return official, state, load_official(name.split()[0], state, SIZES.get(name))


def arrays_of(file: Path, module: str) -> Arrays:
    """The arrays of one module in a file of the reference."""
    with np.load(file) as arrays:
        names = [name for name in arrays.files if name.startswith(f"{module}/")]
        return {name.removeprefix(f"{module}/"): arrays[name] for name in names}


def state_of(official: Arrays, part: str = "") -> State:
    """The official state dict, or that of a `part`, each tensor filled by the rule."""
    names, texts = official[f"{part}state_names"], official[f"{part}state_shapes"]
    shapes = [tuple(int(size) for size in text.strip("()").split(",") if size) for text in texts]
    seed = int(official[f"{part}fill_seed"])
    return {
        str(name): filled(str(name), number, shape, seed)
        for number, (name, shape) in enumerate(zip(names, shapes, strict=True))
    }


def s4_state(official: Arrays, length: int) -> State:
    """A state dict with HiPPO's tensors, and the roots of unity of a length."""
    state = state_of(official)
    root = np.exp(-2j * np.pi / length * np.arange(length // 2 + 1))
    with np.errstate(divide="ignore", invalid="ignore"):
        of_name = {"omega": root, "z": 2 * (1 - root) / (1 + root)}
    for name, value in state.items():
        last = name.removeprefix(name.partition(KERNEL)[0] + KERNEL)
        if last in ("w", "P", "B"):
            state[name] = torch.from_numpy(official[f"{last}_as_real_pairs_of_one_feature"]).expand(value.shape)
        elif last == "Q":
            conjugate = official["P_as_real_pairs_of_one_feature"] * [1, -1]
            state[name] = torch.from_numpy(conjugate).expand(value.shape)
        elif last in of_name:
            state[name] = torch.view_as_real(torch.from_numpy(of_name[last]))
    return state


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
    elif last == "log_dt":
        drawn = math.log(1e-3) + (drawn + 1) / 2 * (math.log(1e-1) - math.log(1e-3))
    else:
        of_name = {"running_var": 1 + 0.1 * np.abs(drawn), "C": 0.5 * drawn, "D": 1 + 0.1 * drawn}
        drawn = of_name.get(last, 0.1 * drawn)
    return torch.from_numpy(drawn).float()


def gradient_of(encoder: Encoder, x: np.ndarray, way: str = "forward") -> np.ndarray:
    """Gradient at x (B, L, S) of the sum of y_i cos(i), y the official layout of what `way` gives: (B, L, S)."""
    given = torch.from_numpy(x).double().requires_grad_()  # (B, L, S)
    out = getattr(encoder.double(), way)(given.mT)
    y = out.mT if out.ndim == 3 else out
    (y * torch.cos(torch.arange(y.numel(), dtype=torch.float64)).view_as(y)).sum().backward()
    assert given.grad is not None
    return given.grad.numpy()


Replacement = str | Callable[[re.Match[str]], str]
RENAMED: dict[str, list[tuple[str, Replacement]]] = {
    "resnet1d": [
        (r"^([01])\.", r"stem.\1."),
        (r"^([345])\.0\.", lambda match: f"blocks.{int(match[1]) - 3}."),
        (r"\.downsample\.", ".shortcut."),
    ],
    "xresnet1d101": [
        (r"^([012])\.", lambda match: f"stem.{2 * int(match[1])}."),
        (r"^([4-7])\.", lambda match: f"stages.{int(match[1]) - 4}."),
        (r"\.(?:convs|convpath\.0)\.([012])\.", lambda match: f".path.{2 * int(match[1])}."),
        (r"\.idpath\.\d\.", ".shortcut.1."),
    ],
    "vit1d": [
        (r"^to_patch_embedding\.([123])\.", lambda match: f"input.{int(match[1]) - 1}."),
        (r"^block(\d+)\.", r"blocks.\1."),
        (r"\.attn\.fn\.to_qkv\.", ".attention.qkv."),
        (r"\.attn\.fn\.to_out\.0\.", ".attention.out."),
        (r"\.attn\.norm\.", ".attention.norm."),
        (r"\.ff\.norm\.", ".perceptron.0."),
        (r"\.ff\.fn\.net\.([03])\.", lambda match: f".perceptron.{1 if match[1] == '0' else 3}."),
        (r"^pos_embedding$", "positions"),
        (r"^cls_embedding$", "class_token"),
    ],
    "s4": [
        (
            r"^s4_layers\.(\d+)\.(?:kernel\.kernel\.)?(\w+)$",
            lambda match: f"layers.{match[1]}.space.{match[2].lower()}",
        ),
        (r"^s4_layers\.(\d+)\.output_linear\.0\.", r"layers.\1.mix.1."),
        (r"^norms\.(\d+)\.", r"layers.\1.norm."),
        (r"^(?:encoder\.|(?=[0-3]\.[01]\.))", "front."),
    ],
}
"""Encoder -> patterns of its official module's names, and ours."""
LEFT_OUT = {
    "resnet1d": r"6\.", "xresnet1d101": r"8\.", "vit1d": r"head\.", "s4": r"decoder\.|.*kernel\.(omega|z|Q)$",
}  # fmt: skip
"""Encoder -> names of the head, and of what follows from other tensors."""


def load_official(
    name: str, state: State, config: EncoderConfig | None = None, front: nn.Module | None = None
) -> Encoder:
    """An encoder of some sizes, by default the paper's, with an official module's weights; loading is strict.

    front: of an s4, in place of its convolutions.
    """
    ours = {}
    for key in sorted(state, key=lambda key: SECOND in key):  # of a tensor's two names the second one counts
        if not re.match(LEFT_OUT[name], key):
            renamed = key
            for pattern, replacement in RENAMED[name]:
                renamed = re.sub(pattern, replacement, renamed)
            ours[renamed] = state[key]
    encoder = get_encoder(name)(config)
    if front:
        encoder.front = front
    shapes = {key: value.shape for key, value in encoder.state_dict().items()}
    encoder.load_state_dict({key: value.reshape(shapes[key]) for key, value in ours.items()}, strict=True)
    return encoder
