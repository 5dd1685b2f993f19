"""What every method must hold to, for all of `METHODS`: a new one is covered by its line there.

The promises are those of `benchmark.cli.check`, which `check-method` tries on a file. Those of encoders, which every
method trains there, are in tests/benchmark/cli/test_promises.py.
"""

from __future__ import annotations

from pathlib import Path

import pytest
import torch
from torch import Tensor

from benchmark.cli.check import PROMISES, judge
from benchmark.cli.promises import (
    changed,
    copies,
    small_method,
    small_optimiser,
    train,
)
from methods import METHODS, refusal
from methods.base import Batch
from methods.encoders import DEFAULT, get_encoder
from methods.encoders.dilated import Dilated, DilatedConfig

TRAINED = [name for name, method in METHODS.items() if method.trains]
TOKENS = str(Path(__file__).with_name("tokens.py"))
"""An encoder of tokens, for methods that need them."""
ON_TOKENS = ("mae", "ts2vec", "cpc", "jepa")
PAIRS = [
    *((DEFAULT, name) for name in METHODS if not refusal(METHODS[name], get_encoder(DEFAULT))),
    *((TOKENS, name) for name in ON_TOKENS),
]
"""Each method with the default encoder, and with tokens where they are trained differently."""


@pytest.mark.parametrize(("encoder", "name"), PAIRS, ids=lambda own: Path(own).stem)
def test_keeps_its_promises(encoder: str, name: str) -> None:
    promises = [promise for promise in PROMISES if METHODS[name].trains or promise.of_all]
    verdicts = [judge(promise, METHODS[name], get_encoder(encoder)) for promise in promises]
    assert [str(verdict) for verdict in verdicts if not verdict.kept] == []


@pytest.mark.parametrize(("encoder", "name"), [pair for pair in PAIRS if METHODS[pair[1]].trains])
def test_after_steps_the_frozen_copies_have_moved(encoder: str, name: str) -> None:
    method = small_method(METHODS[name], get_encoder(encoder))
    apart = method.encoder.of_pooled  # what acts on `pooled` alone is not trained by a method of steps
    frozen = {n for n, own in method.named_parameters() if not own.requires_grad and not n.endswith(tuple(apart))}
    before = copies(method.state_dict())
    train(method, small_optimiser(method), range(3))
    assert frozen <= set(changed(before, method.state_dict()))


@pytest.mark.parametrize("mask", ["time_mask", "frequency_mask"])
@pytest.mark.parametrize("name", [name for name in TRAINED if hasattr(METHODS[name].Config(), "frequency_mask")])
def test_masks_act_on_both_views(name: str, mask: str) -> None:
    """With all hidden the views have no influence; with nothing hidden they have."""

    def queries_and_keys(share: float, batch: Batch) -> list[Tensor]:
        torch.manual_seed(0)
        shares = {"time_mask": 0.0, "frequency_mask": 0.0, "encoder_dropout": 0.0, mask: share}
        method = METHODS[name](Dilated(DilatedConfig.small()), METHODS[name].Config(**shares))
        pair = getattr(method, "query_and_key", None)
        return list(pair(batch) if pair else (method(batch).detach(),))

    x = torch.randn(4, 6, 20, 12)
    ids = torch.arange(6)
    batches = [Batch(x1, x2, ids, ids, ids) for x1, x2 in ((x[0], x[1]), (x[2], x[1]), (x[0], x[3]))]
    seen, hidden = ([queries_and_keys(share, batch) for batch in batches] for share in (0.0, 1.0))
    for values in hidden[1:]:
        torch.testing.assert_close(values, hidden[0])
    for values in seen[1:]:
        assert not all(torch.equal(value, first) for value, first in zip(values, seen[0], strict=True))


def test_a_method_of_tokens_refuses_an_encoder_without() -> None:
    line = refusal(METHODS["mae"], Dilated)
    assert line.startswith("mae hides tokens, which the encoder 'dilated' does not have; use ")
    assert len(line.splitlines()) == 1
    by_lead = type("ByLead", (Dilated,), {"name": "by-lead", "timed": False})
    for name in ("ts2vec", "cpc", "jepa"):
        assert refusal(METHODS[name], by_lead).startswith(f"{name} hides stretches of time, and the encoder 'by-lead'")
    assert refusal(METHODS["pmq"], by_lead) == ""
    assert refusal(METHODS["mae"], get_encoder(TOKENS)) == refusal(METHODS["pmq"], Dilated) == ""
