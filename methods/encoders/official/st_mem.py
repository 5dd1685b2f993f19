"""The weights of ST-MEM's modules (Na et al. 2024) under our names, and the sizes that follow from them."""

from __future__ import annotations

import re
from collections.abc import Mapping
from typing import Any

from torch import Tensor

HEADS = (64, 16)
"""Widths of a head in ST-MEM's modules, of which its tensors tell nothing."""
NEEDED = {
    "positions": "pos_embedding",
    "input.1.weight": "to_patch_embedding.2.weight",
    "blocks.0.perceptron.1.weight": "block0.ff.fn.net.0.weight",
    "blocks.0.attention.qkv.weight": "block0.attn.fn.to_qkv.weight",
}
"""Our name -> the official one, of the tensors that sizes follow from."""
PARTS = {
    "attn.norm": "attention.norm",
    "attn.fn.to_qkv": "attention.qkv",
    "attn.fn.to_out.0": "attention.out",
    "ff.norm": "perceptron.0",
    "ff.fn.net.0": "perceptron.1",
    "ff.fn.net.3": "perceptron.3",
}
"""Official name of a part of a block -> ours."""
INPUT = re.compile(r"to_patch_embedding\.([123])\.(weight|bias)")
BLOCK = re.compile(r"block(\d+)\.(.+)\.(weight|bias)")


def renamed(state_dict: Mapping[str, Tensor], own: Mapping[str, str]) -> dict[str, Tensor]:
    """The tensors under our names, positions (N, K); `own`: official name -> ours outside blocks and patch embedding.

    Raises ValueError for an unknown tensor, and where one is missing that sizes follow from.
    """
    ours = {our_name(name, own): value for name, value in state_dict.items()}
    for name, official in NEEDED.items():
        if name not in ours:
            raise ValueError(f"no tensor {official}; pass the whole state_dict of the module")
    return ours | {"positions": ours["positions"].squeeze(0)}


def our_name(official: str, own: Mapping[str, str]) -> str:
    """Our name of a tensor; `own`: as in `renamed`. Raises ValueError for an unknown one."""
    if official in own:
        return own[official]
    if match := INPUT.fullmatch(official):
        return f"input.{int(match[1]) - 1}.{match[2]}"
    if (match := BLOCK.fullmatch(official)) and match[2] in PARTS:
        return f"blocks.{match[1]}.{PARTS[match[2]]}.{match[3]}"
    raise ValueError(f"unknown tensor {official!r}; pass the state_dict of the module alone")


def sizes_of(ours: Mapping[str, Tensor]) -> dict[str, Any]:
    """Sizes of the blocks as a `TokenConfig` has them, from tensors under our names. Raises ValueError for no heads."""
    heads, head_width = heads_of(ours["blocks.0.attention.qkv.weight"])
    return {
        "output": len(ours["input.1.weight"]),
        "depth": len({name.split(".")[1] for name in ours if name.startswith("blocks.")}),
        "heads": heads,
        "head_width": head_width,
        "hidden": len(ours["blocks.0.perceptron.1.weight"]),
    }


def heads_of(qkv: Tensor) -> tuple[int, int]:
    """Heads and their width of an official `to_qkv`, (3 * heads * width, K): 64 wide, or 16 where 64 does not divide.

    Raises ValueError where neither does.
    """
    inside = len(qkv) // 3
    for width in HEADS:
        if inside % width == 0:
            return inside // width, width
    raise ValueError(f"no heads of width {' or '.join(map(str, HEADS))} make up {inside}")
