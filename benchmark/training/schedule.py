"""How long a pretraining is, and its learning rate at each update.

`pretrain.budget` says what is equal among methods: epochs of their own batches, windows seen, encoder passes, or
seconds by a given speed. A number of epochs need not be whole: the last epoch then ends early.

The schedule `stable` is a warm-up, a constant part and a linear decay over the last `DECAY_SHARE` of the updates
(Hägele et al. 2024, "Scaling Laws and Compute-Optimal Training Beyond Fixed Training Durations", Section 3). Before the
decay no update depends on the total, so that pretrainings of different length share this part, their stem.
"""

from __future__ import annotations

import math

from benchmark.config.sections.pretrain import Budget
from benchmark.data.corpus.sampling import EpochShape
from methods.base import Recipe

WARMUP_SHARE = 0.05
"""Of the updates of `warmup-cosine`."""
WARMUP_EPOCHS = 0.25
"""Of `stable`, whose warm-up must not depend on the total."""
DECAY_SHARE = 0.2
"""Of the updates of `stable`."""
PairCosts = tuple[float, float]
"""What a pair of windows costs the reference of the budget, and what it costs a method (`Pretrain.pair_costs`)."""


def pairs_bought(pairs: float, costs: PairCosts) -> float:
    """Pairs of windows that a method sees for what `pairs` cost the reference."""
    reference, own = costs
    return pairs * reference / own


def epochs_bought(budget: Budget, epochs: float, shape: EpochShape, pairs: int, costs: PairCosts) -> float:
    """Epochs of a method for a budget of `epochs` epochs of a corpus of `pairs` pairs; shape: of the method's epoch.

    Under `epochs` these are the same number. A method may see fewer pairs an epoch than the corpus has.
    """
    if budget == "epochs":
        return epochs
    return pairs_bought(epochs * pairs, costs) / (shape.updates * shape.batch_size)


def updates_of(epochs: float, per_epoch: int) -> int:
    """Updates of a number of epochs, at least one."""
    return max(1, round(epochs * per_epoch))


def stem_updates(total: int) -> int:
    """Updates of `stable` before the decay, of `total`."""
    return total - max(1, round(DECAY_SHARE * total))


def learning_rate(recipe: Recipe, step: int, total: int, per_epoch: int) -> float:
    """Learning rate of update `step` (from 0) of `total`, with `per_epoch` updates an epoch.

    constant; warmup-cosine: linear over 5 %, then half a cosine to 0; stable: see above.
    """
    if recipe.schedule == "constant":
        return recipe.lr
    if recipe.schedule == "stable":
        left = (total - step) / (total - stem_updates(total) + 1)
        return recipe.lr * min(1.0, (step + 1) / updates_of(WARMUP_EPOCHS, per_epoch)) * min(1.0, left)
    warmup = max(1, int(WARMUP_SHARE * total))
    if step < warmup:
        return recipe.lr * (step + 1) / warmup
    return recipe.lr * 0.5 * (1 + math.cos(math.pi * (step - warmup) / (total - warmup)))
