"""CLOCS: two views of a patient attract in either direction, and so do views of a patient's other windows.

CMSC contrasts neighbouring windows, CMLC the leads of a window, CMSMLC the leads of both. No masks, no heads: the
encoder's output is what is contrasted. Kiyasseh et al. 2021, the patient-specific noise contrastive estimation loss.
"""

from __future__ import annotations

from dataclasses import field
from itertools import combinations
from typing import ClassVar, Literal

import torch
from pydantic.dataclasses import dataclass
from torch import Tensor

from methods.base import Batch, MethodConfig, PretrainMethod, Recipe
from methods.encoders.base import Encoder
from methods.parts.knobs import Positives, Temperature
from methods.parts.losses import scaled_similarity, shared_id_nce, unit_length

SINGLE_LEADS = {"II": 1, "aVR": 3, "aVL": 4, "V2": 7}
"""Leads of the paper's single-lead samples -> index in the order I, II, III, aVR, aVL, aVF, V1 to V6."""


@dataclass(frozen=True)
class CLOCSConfig(MethodConfig):
    """Knobs of CLOCS; the defaults are the paper's, except that a view has all leads."""

    temperature: Temperature = 0.1
    views: Literal["cmsc", "cmlc", "cmsmlc"] = "cmsc"
    """cmsc: both windows with all leads. cmlc: the first window once per lead, all other leads set to zero, since the
    encoder takes all of them. cmsmlc: both windows, once per lead. With 12 leads the latter two take 6 and 12 times the
    time and memory of cmsc."""
    leads: Literal["all", "one"] = "all"
    """cmsc only. all: a window is one sample. one: each of the leads II, aVR, aVL and V2 is a sample (the paper), and
    leads of a window attract like windows of a patient; 4 times the time and memory."""
    recipe: Recipe = field(default_factory=lambda: Recipe("adam", lr=1e-4, weight_decay=0.0, schedule="constant"))

    def __post_init__(self) -> None:
        if self.leads == "one" and self.views != "cmsc":
            raise ValueError(f"leads = 'one': {self.views} takes one lead at a time anyway; give 'all'")


def cmsc_loss(z1: Tensor, z2: Tensor, patient: Tensor, temperature: float) -> Tensor:
    """CLOCS's loss of two views: 0-d. z1, z2: (B, K), normalised here; patient: (B,).

    Mean of two terms: the cross-entropy of a window's own pair, averaged over both directions, and that of pairs of
    different windows of one patient, above the diagonal over rows and below over columns. Without such a pair, the
    first term alone.
    """
    logits = scaled_similarity(unit_length(z1), unit_length(z2), temperature)  # (B, B)
    own_by_row = -logits.log_softmax(1).diagonal().mean()
    own_by_column = -logits.log_softmax(0).diagonal().mean()
    own = (own_by_row + own_by_column) / 2
    shared = (patient[:, None] == patient).triu(1).any()  # ()
    return torch.where(shared, (own + shared_id_nce(logits, patient)) / 2, own)


def lead_views(x: Tensor) -> list[Tensor]:
    """One view per lead, in which all other leads are zero: (B, S, L) -> L tensors (B, S, L)."""
    leads = torch.eye(x.shape[2], dtype=x.dtype, device=x.device)  # (L, L)
    return [x * lead for lead in leads]


def single_lead_samples(batch: Batch) -> Batch:
    """Each of the `SINGLE_LEADS` of a pair of windows as a pair of its own: B -> 4B, ordered by lead."""
    x = batch.x1
    kept = torch.eye(x.shape[2], dtype=x.dtype, device=x.device)[list(SINGLE_LEADS.values())]  # (4, L)
    x1, x2 = ((view * kept[:, None, None]).flatten(0, 1) for view in batch[:2])  # (4B, S, L)
    return Batch(x1, x2, *(ids.repeat(len(SINGLE_LEADS)) for ids in batch[2:5]))  # ids: (4B,)


class CLOCS(PretrainMethod):
    """Contrastive learning of cardiac signals."""

    name: ClassVar[str] = "clocs"
    title: ClassVar[str] = "CLOCS"
    Config: ClassVar[type[MethodConfig]] = CLOCSConfig
    encoder_passes: ClassVar[float] = 6.0

    def __init__(self, encoder: Encoder, config: CLOCSConfig) -> None:
        super().__init__(encoder, config)
        self.config = config

    def forward(self, batch: Batch) -> Tensor:
        """Mean of the loss over all pairs of views."""
        if self.config.leads == "one":
            batch = single_lead_samples(batch)
        z = [self.encoder.pooled(view) for view in self.views(batch)]  # V times (B, K)
        losses = [cmsc_loss(z1, z2, batch.patient, self.config.temperature) for z1, z2 in combinations(z, 2)]
        return torch.stack(losses).mean()

    def positives(self, batch: Batch) -> Positives:
        """Later windows of the patient; earlier ones repel, in either direction."""
        samples = len(SINGLE_LEADS) if self.config.leads == "one" else 1  # per window
        patient, recording = batch.patient.repeat(samples), batch.recording.repeat(samples)  # (N,), (N,)
        return Positives((patient[:, None] == patient).triu(), recording)

    def views(self, batch: Batch) -> list[Tensor]:
        """The V views of a batch, each (B, S, L)."""
        if self.config.views == "cmsc":
            return [batch.x1, batch.x2]
        if self.config.views == "cmlc":
            return lead_views(batch.x1)
        return lead_views(batch.x1) + lead_views(batch.x2)
