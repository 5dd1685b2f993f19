"""Sections of the evaluations: fine-tuning, probes of frozen features, boosted features, training from scratch."""

from __future__ import annotations

from typing import Annotated

from pydantic import (
    Field,
    field_validator,
)

from benchmark.config.sections.section import Count, Section


class Finetune(Section):
    """Encoder and head trained together on the labelled subset; best epoch by validation macro-F1."""

    epochs: Count = 50
    """Passes over the labelled subset."""
    lr: Annotated[float, Field(gt=0)] = 1e-4
    """Of AdamW, constant."""
    weight_decay: Annotated[float, Field(ge=0)] = 1e-2
    """Of AdamW."""
    batch_size: Annotated[int, Field(ge=2)] = 256
    """Windows."""
    least_updates: Count = 1
    """Minimum updates per epoch; a smaller subset is passed over repeatedly."""
    head_hidden: Count = 128
    """Width of the head's hidden layer."""
    dropout: Annotated[float, Field(ge=0, lt=1)] = 0.1
    """On the logits (PMQ, Implementation Details)."""
    encoder_dropout: Annotated[float, Field(ge=0, lt=1)] | None = None
    """On the encoder's output, before pooling. None: none, or under `pretrain.preset: paper` that of the method's
    authors (0.1 for pmq-released)."""
    beats_per_trial: Count = 6
    """Heartbeats of a pseudo-trial, the unit of `protocol: paper`'s labelled subset."""
    windows_per_trial: Count = 1
    """Replaces `beats_per_trial` for plain windows."""


class Linear(Section):
    """Logistic regression on frozen features."""

    strengths: Annotated[list[Annotated[float, Field(gt=0)]], Field(min_length=1)] = [0.01, 0.1, 1.0, 10.0]
    """Candidate inverse regularisation strengths C; the best by validation macro-F1 is used."""


class Boosting(Section):
    """Gradient-boosted trees on hand-crafted features."""

    iterations: Count = 150
    """Maximum; the number used is chosen with `leaf_windows` by validation macro-F1."""
    patience: Count = 20
    """Iterations of a round; the first round without a better validation macro-F1 is the last."""
    learning_rate: Annotated[float, Field(gt=0, le=1)] = 0.1
    """Shrinkage of each tree."""
    leaves: Annotated[int, Field(ge=2)] = 15
    """Maximum leaves of a tree."""
    leaf_windows: Annotated[list[Count], Field(min_length=1)] = [5, 20]
    """Candidate minimum windows per leaf."""
    l2: Annotated[float, Field(ge=0)] = 10.0
    """L2 regularisation of the leaves' values."""
    feature_share: Annotated[float, Field(gt=0, le=1)] = 0.1
    """Share of the features available to a split, drawn anew for each."""


class Knn(Section):
    """Nearest neighbours of frozen features; a neighbour's vote is exp(cosine / temperature)."""

    neighbours: Annotated[list[Count], Field(min_length=1)] = [1, 5, 20, 100]
    """Candidate numbers k of neighbours; the first best by validation macro-F1 is used."""
    temperature: Annotated[float, Field(gt=0)] = 0.07
    """Of the votes: the lower, the more the nearest count (0.07: Wu et al. 2018, "Instance discrimination")."""


class FewShot(Section):
    """The linear probe on few labelled patients per class; its strengths C are those of `linear`."""

    shots: Annotated[list[Count], Field(min_length=1)] = [1, 5, 10]
    """Labelled patients per class, in place of `ratios`; drawn per seed, each set within the next larger."""

    @field_validator("shots")
    @classmethod
    def _each_once(cls, shots: list[int]) -> list[int]:
        if len(set(shots)) < len(shots):
            raise ValueError(f"{shots} names a value twice")
        return shots


class Supervised(Section):
    """Training from scratch on all labels, as the PTB-XL benchmark does (Strodthoff et al. 2020); the last epoch is
    used."""

    epochs: Count = 50
    """Passes over the labelled windows."""
    lr: Annotated[float, Field(gt=0)] = 1e-2
    """Highest of the one-cycle schedule (AdamW)."""
    weight_decay: Annotated[float, Field(ge=0)] = 1e-2
    """Of AdamW, on all parameters."""
    batch_size: Annotated[int, Field(ge=2)] = 128
    """Windows."""
    head_hidden: Count = 128
    """Width of the head's hidden layer."""
    dropout: Annotated[float, Field(ge=0, lt=1)] = 0.5
    """Before the head's last layer; before its first, half as much."""
