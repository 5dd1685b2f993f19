"""A vision transformer over time and leads (the encoder of ST-MEM, Na et al. 2024).

A token is `patch` consecutive samples of one lead, at a fixed position with what is learned of its lead; a separator
stands at both ends of each lead. `forward` gives the mean over leads of the tokens after the last block,
S' = S / patch; `pooled` is their mean over time, normalised. A mask acts on the tokens before positions are added, lead
after lead, (B, L * S / patch, K).
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, ClassVar

import torch
from pydantic.dataclasses import dataclass
from torch import Tensor, nn

from methods.encoders.base import STRICT, EncoderConfig
from methods.encoders.vit import START, TokenConfig, TokenEncoder, blocks_of, patch_embedding, renamed, sizes_of, taken

SLOWEST = 10_000.0
"""Base of the wavelengths of the positions."""
OWN_NAMES = {"pos_embedding": "positions", "sep_embedding": "separator", "norm.weight": "norm.weight"}
OWN_NAMES |= {"norm.bias": "norm.bias"}
"""Names of official tensors outside blocks, patch embedding and leads -> ours."""
LEAD = "lead_embeddings."


@dataclass(frozen=True, kw_only=True, config=STRICT)
class STMEMConfig(TokenConfig):
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


class STMEM(TokenEncoder):
    """ECG windows -> representations in the order of time, from tokens of single leads."""

    name: ClassVar[str] = "st-mem"
    Config: ClassVar[type[EncoderConfig]] = STMEMConfig
    pooling: ClassVar[str] = "the mean over time, normalised"
    timed: ClassVar[bool] = False  # tokens run lead after lead
    config: STMEMConfig
    positions: Tensor  # (2 + N, K)

    def __init__(self, config: STMEMConfig | None = None) -> None:
        super().__init__(config)
        patch, width = self.config.patch, self.config.output
        self.input = patch_embedding(patch, width)
        self.register_buffer("positions", sine_cosine(self.config.length // patch, width))
        self.separator = nn.Parameter(START * torch.randn(width))  # (K,)
        self.leads = nn.Parameter(START * torch.randn(self.config.leads, width))  # (L, K)
        self.blocks = blocks_of(self.config)
        self.norm = nn.LayerNorm(width)

    @property
    def groups(self) -> int:
        """The leads."""
        return self.config.leads

    def cut(self, x: Tensor) -> Tensor:
        """Lead after lead: (B, S, L) -> (B, L * S / patch, patch)."""
        return x.mT.reshape(x.shape[0], -1, self.config.patch)  # (B, N, P)

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

    def summary(self, steps: Tensor) -> Tensor:
        """The mean over time: (B, S / patch, K) -> (B, K)."""
        return steps.mean(1)  # (B, K)

    @classmethod
    def ours(cls, state_dict: Mapping[str, Tensor]) -> dict[str, Tensor]:
        """The tensors of ST-MEM's `ST_MEM_ViT` under our names, bare or with the prefix `encoder.` of its pretraining.

        The head and the decoder are left out. Raises ValueError or KeyError for any others.
        """
        prefix = "encoder."
        inside = {name.removeprefix(prefix): state_dict[name] for name in state_dict if name.startswith(prefix)}
        if inside:  # the pretraining names the patch embedding a second time, which counts
            inside |= {name: value for name, value in state_dict.items() if name.startswith("to_patch_embedding.")}
        bare = {name: value for name, value in (inside or state_dict).items() if not name.startswith("head.")}
        leads = [name for name in bare if name.startswith(LEAD)]
        ours = renamed({name: value for name, value in bare.items() if name not in leads}, OWN_NAMES)
        if not leads:
            raise ValueError(f"no tensor {LEAD}0; pass the whole state_dict of the module")
        ours["leads"] = torch.stack([bare[f"{LEAD}{number}"] for number in range(len(leads))])  # (L, K)
        return ours

    @classmethod
    def sizes(cls, ours: Mapping[str, Tensor]) -> dict[str, Any]:
        """Sizes of as many leads as there are. Raises ValueError where none follow."""
        patch = ours["input.1.weight"].shape[1]
        length = patch * (len(ours["positions"]) - 2)
        return {"leads": len(ours["leads"]), "patch": patch, "length": length} | sizes_of(ours)
