"""The weights of AI4Health's `S4Model` and of ECG-CPC's front under our names, and the sizes that follow from them."""

from __future__ import annotations

import math
import re
from collections.abc import Mapping
from typing import Any

from torch import Tensor

NEEDED = ("s4_layers.0.kernel.kernel.C", "s4_layers.0.kernel.kernel.omega", "s4_layers.0.D")
"""Official names of the tensors that sizes follow from."""
LEFT_OUT = re.compile(r"decoder\..+|s4_layers\.\d+\.kernel\.kernel\.(?:omega|z|Q)")
"""The head, and what follows from other tensors."""
SPACE = re.compile(r"s4_layers\.(\d+)\.(?:(D)|kernel\.kernel\.(C|B|P|w|log_dt))")
MIX = re.compile(r"s4_layers\.(\d+)\.output_linear\.0\.(weight|bias)")
NORM = re.compile(r"norms\.(\d+)\.(weight|bias)")
FRONT = re.compile(r"[0-3]\.[01]\..+|encoder\.(?:weight|bias)")


def renamed(state_dict: Mapping[str, Tensor]) -> dict[str, Tensor]:
    """The tensors under our names and in our shapes, without the head and what follows from other tensors.

    Raises ValueError for an unknown tensor, and where one is missing that sizes follow from.
    """
    if missing := [name for name in NEEDED if name not in state_dict]:
        raise ValueError(f"no tensor {missing[0]}; pass the whole state_dict of the module")
    return dict(ours(name, value) for name, value in state_dict.items() if not LEFT_OUT.fullmatch(name))


def sizes_of(official: Mapping[str, Tensor]) -> dict[str, Any]:
    """Sizes as an `S4Config` has them, from tensors under their official names."""
    directions, width, pairs, _ = official["s4_layers.0.kernel.kernel.C"].shape
    convolutions, linear = official.get("0.0.weight"), official.get("encoder.weight")
    first = linear if convolutions is None else convolutions
    even = 2 * (len(official["s4_layers.0.kernel.kernel.omega"]) - 1)
    real, imaginary = official["s4_layers.0.kernel.kernel.omega"][1].tolist()
    angle = math.atan2(-imaginary, real)  # of the first root after 1
    odd = abs(2 * math.pi / (even + 1) - angle) < abs(2 * math.pi / even - angle)
    return {
        "leads": width if first is None else first.shape[1],
        "output": width,
        "depth": len({name.split(".")[1] for name in official if name.startswith("s4_layers.")}),
        "states": 2 * pairs,
        "bidirectional": directions == 2,
        "front": "none" if first is None else "linear" if convolutions is None else "convolutions",
        "length": even + odd,
    }


def ours(official: str, value: Tensor) -> tuple[str, Tensor]:
    """Name in `S4` and shape there of a tensor of the official module, which keeps axes of length one."""
    if match := SPACE.fullmatch(official):
        layer, d, part = match.groups()
        return f"layers.{layer}.space.{(d or part).lower()}", value.squeeze(0) if (d or part) in "DBP" else value
    if match := MIX.fullmatch(official):
        return f"layers.{match[1]}.mix.1.{match[2]}", value if match[2] == "weight" else value.squeeze(1)
    if match := NORM.fullmatch(official):
        return f"layers.{match[1]}.norm.{match[2]}", value
    if FRONT.fullmatch(official):
        return f"front.{official.removeprefix('encoder.')}", value
    raise ValueError(f"unknown tensor {official!r}; pass the state_dict of the module alone")
