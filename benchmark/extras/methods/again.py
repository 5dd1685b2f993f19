"""Again: PCLR under a second name, from other initial weights. No difference from PCLR is true."""

from __future__ import annotations

from typing import ClassVar

import torch

from methods.encoders.base import Encoder
from methods.pclr import PCLR, PCLRConfig

OTHER_SEED = 2**31
"""Added to the generator's seed, so that no weight is drawn as in PCLR."""


class Again(PCLR):
    """PCLR whose encoder and head are drawn anew."""

    name: ClassVar[str] = "again"
    title: ClassVar[str] = "PCLR again"

    def __init__(self, encoder: Encoder, config: PCLRConfig) -> None:
        torch.manual_seed((torch.initial_seed() + OTHER_SEED) % 2**63)
        super().__init__(type(encoder)(encoder.config), config)
