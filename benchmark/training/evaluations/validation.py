"""`validation`: the linear probe as `tune` judges by it, on validation patients alone."""

from __future__ import annotations

from benchmark.training.evaluations.linear import EVALUATION as EVALUATION
