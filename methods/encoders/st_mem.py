"""A vision transformer over time and leads (the encoder of ST-MEM, Na et al. 2024).

A token is `patch` consecutive samples of one lead, at a fixed position with what is learned of its lead; a separator
stands at both ends of each lead. `forward` gives the mean over leads of the tokens after the last block,
S' = S / patch; `pooled` is their mean over time, normalised. A mask acts on the tokens before positions are added, lead
after lead, (B, L * S / patch, K).
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import ClassVar

import torch
from pydantic.dataclasses import dataclass
from torch import Tensor, nn

from methods.encoders.base import STRICT, Encoder, EncoderConfig
from methods.encoders.transformer import START, Block, heads_of, our_name, taken
from methods.encoders.vit1d import ViT1dConfig
from methods.parts.dropout import dropout
from methods.parts.masks import Mask

SLOWEST = 10_000.0
"""Base of the wavelengths of the positions."""
OWN_NAMES = {"pos_embedding": "positions", "sep_embedding": "separator", "norm.weight": "norm.weight"}
OWN_NAMES |= {"norm.bias": "norm.bias"}
"""Names of official tensors outside blocks, patch embedding and leads -> ours."""
LEAD = "lead_embeddings."


@dataclass(frozen=True, kw_only=True, config=STRICT)
class STMEMConfig(ViT1dConfig):
    """Sizes, as of `vit1d`; those of ST-MEM's small encoder but for the patch, which is 75 there."""

    @classmethod
    def small(cls) -> STMEMConfig:
        """One block of width 16 over tokens of two samples."""
        return cls(patch=2, length=300, output=16, depth=1, heads=2, head_width=8, hidden=32)


def sine_cosine(count: int, width: int) -> Tensor:
    """Fixed positions of `count` tokens, sines and then cosines, with zeros at both ends: (2 + count, K)."""
    rate = SLOWEST ** -(torch.arange(width // 2, dtype=torch.float64) / (width / 2))  # (K / 2,)
    angle = torch.arange(count)[:, None] * rate  # (count, K / 2)
    ends = torch.zeros(1, width)
    return torch.cat([ends, torch.cat([angle.sin(), angle.cos()], 1).float(), ends])  # (2 + count, K)


class STMEM(Encoder):
    """ECG windows -> representations in the order of time, from tokens of single leads."""

    name: ClassVar[str] = "st-mem"
    Config: ClassVar[type[EncoderConfig]] = STMEMConfig
    pooling: ClassVar[str] = "the mean over time, normalised"
    of_pooled: ClassVar[tuple[str, ...]] = ("norm.weight", "norm.bias")
    tokens: ClassVar[bool] = True
    timed: ClassVar[bool] = False  # tokens run lead after lead
    config: STMEMConfig
    positions: Tensor  # (2 + N, K)

    def __init__(self, config: STMEMConfig | None = None) -> None:
        super().__init__(config)
        patch, width = self.config.patch, self.config.output
        self.input = nn.Sequential(nn.LayerNorm(patch), nn.Linear(patch, width), nn.LayerNorm(width))
        self.register_buffer("positions", sine_cosine(self.config.length // patch, width))
        self.separator = nn.Parameter(START * torch.randn(width))  # (K,)
        self.leads = nn.Parameter(START * torch.randn(self.config.leads, width))  # (L, K)
        sizes = self.config.heads, self.config.head_width, self.config.hidden
        self.blocks = nn.Sequential(*[Block(width, *sizes) for _ in range(self.config.depth)])
        self.norm = nn.LayerNorm(width)

    def patches(self, x: Tensor) -> Tensor:
        """Samples of each token, lead after lead: (B, S, L) -> (B, L * S / patch, patch).

        Raises ValueError for windows that `unfit` names.
        """
        if why := self.config.unfit(x.shape[1]):
            raise ValueError(f"encoder st-mem cannot take windows of {x.shape[1]} samples: {why}")
        return x.mT.reshape(x.shape[0], -1, self.config.patch)  # (B, N, patch)

    def embed(self, x: Tensor) -> Tensor:
        """Tokens without positions: (B, S, L) -> (B, N, K)."""
        embedded: Tensor = self.input(self.patches(x))  # (B, N, K)
        return embedded

    def steps(self, embedded: Tensor) -> Tensor:
        """(B, N, K) -> (B, S / patch, K), the mean over leads."""
        seen = self.seen(self.placed(embedded))[:, : embedded.shape[1]]  # (B, N, K)
        by_lead = seen.reshape(seen.shape[0], self.config.leads, -1, seen.shape[2])  # (B, L, S / patch, K)
        return by_lead.mean(1)  # (B, S / patch, K)

    def placed(self, embedded: Tensor) -> Tensor:
        """Tokens with their positions and leads: (B, N, K) -> (B, N, K)."""
        each = embedded.shape[1] // self.config.leads
        places = self.positions[1 : 1 + each] + self.leads[:, None]  # (L, S / patch, K)
        return embedded + places.flatten(0, 1)  # (B, N, K)

    def seen(self, placed: Tensor) -> Tensor:
        """Tokens through the blocks, followed by the separators: (B, M, K) -> (B, M + 2 L, K).

        Attention knows no order, so that the separators' place among the tokens is their position alone.
        """
        ends = self.separator + self.positions[[0, -1]] + self.leads[:, None]  # (L, 2, K)
        both = ends.flatten(0, 1).expand(placed.shape[0], -1, -1)  # (B, 2 L, K)
        seen: Tensor = self.blocks(torch.cat([placed, both], 1))  # (B, M + 2 L, K)
        return seen

    def kept_steps(self, embedded: Tensor, kept: Tensor) -> Tensor:
        """See `Encoder.kept_steps`; normalised, as in ST-MEM's pretraining.

        The separators go through the blocks too and are left out of the result.
        """
        steps: Tensor = self.norm(self.seen(taken(self.placed(embedded), kept))[:, : kept.shape[1]])  # (B, M, K)
        return steps

    def pooled(self, x: Tensor, mask: Mask | None = None) -> Tensor:
        """The mean over time of `forward`, normalised: (B, S, L) -> (B, K)."""
        token = self.norm(self.steps(self.masked(x, mask)).mean(1))  # (B, K)
        return dropout(token, self.dropout, self.training)  # (B, K)

    @classmethod
    def from_official(cls, state_dict: Mapping[str, Tensor]) -> Encoder:
        """An encoder with the weights of ST-MEM's `ST_MEM_ViT`, bare or with the prefix `encoder.` of its pretraining.

        Its sizes follow the tensors. A head has width 64, or 16 where 64 does not divide the width of all heads. The
        head and the decoder are left out. Raises ValueError if a tensor is missing, unknown or of another shape.
        """
        prefix = "encoder."
        inside = {name.removeprefix(prefix): state_dict[name] for name in state_dict if name.startswith(prefix)}
        if inside:  # the pretraining names the patch embedding a second time, which counts
            inside |= {name: value for name, value in state_dict.items() if name.startswith("to_patch_embedding.")}
        bare = {name: value for name, value in (inside or state_dict).items() if not name.startswith("head.")}
        try:
            leads = [name for name in bare if name.startswith(LEAD)]
            ours = {our_name(name, OWN_NAMES): value for name, value in bare.items() if name not in leads}
            needed = {"positions": "pos_embedding", "input.1.weight": "to_patch_embedding.2.weight"}
            needed |= {"blocks.0.perceptron.1.weight": "block0.ff.fn.net.0.weight"}
            needed |= {"blocks.0.attention.qkv.weight": "block0.attn.fn.to_qkv.weight"}
            missing = [official for name, official in needed.items() if name not in ours]
            if missing or not leads:
                first = (*missing, f"{LEAD}0")[0]
                raise ValueError(f"no tensor {first}; pass the whole state_dict of the module")
            ours["positions"] = ours["positions"].squeeze(0)  # (2 + N, K)
            ours["leads"] = torch.stack([bare[f"{LEAD}{number}"] for number in range(len(leads))])  # (L, K)
            encoder = cls(_sizes(ours))
            encoder.load_state_dict(ours, strict=True)
        except (RuntimeError, KeyError, ValueError) as error:
            raise ValueError(f"official st-mem: {' '.join(str(error).split())}") from error
        return encoder


def _sizes(ours: Mapping[str, Tensor]) -> STMEMConfig:
    """The config of a state dict in the names of `STMEM`. Raises ValueError where none fits."""
    width, patch = ours["input.1.weight"].shape
    heads, head_width = heads_of(ours["blocks.0.attention.qkv.weight"])
    return STMEMConfig(
        leads=len(ours["leads"]),
        patch=patch,
        length=patch * (len(ours["positions"]) - 2),
        output=width,
        depth=len({name.split(".")[1] for name in ours if name.startswith("blocks.")}),
        heads=heads,
        head_width=head_width,
        hidden=len(ours["blocks.0.perceptron.1.weight"]),
    )
