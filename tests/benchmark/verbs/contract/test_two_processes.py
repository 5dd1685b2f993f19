"""What two processes that train together share, and what is said where they fail."""

from __future__ import annotations

from pathlib import Path

import pytest
import torch

from benchmark.verbs.contract import two_processes
from benchmark.verbs.contract.check import PROMISES, judge
from benchmark.verbs.contract.tryout import changed, small_method, small_optimiser, train
from benchmark.verbs.contract.two_processes import UPDATES, half_of, source_of, train_together
from methods import METHODS, get_method
from methods.base import Batch, PretrainMethod

FILE = """
from __future__ import annotations
import os
import torch
from methods.base import PretrainMethod
from methods.parts.gather import gather
from methods.parts.queue import KeyQueue

class Outside(PretrainMethod):
    name, title = "outside", "Outside"

    def __init__(self, encoder, config):
        super().__init__(encoder, config)
        self.queue = KeyQueue(24, encoder.config.output)

    def forward(self, batch):
        z = self.encoder.pooled(batch.x1)  # (B, K)
        self.queue.push(PUSHED, batch.patient, batch.recording)
        return z.square().mean()
"""
WITHOUT_NORMALISATION = {"head": "v2", "predictor": False, "time_mask": 0.0, "frequency_mask": 0.0}
TWO_PROCESSES = next(promise for promise in PROMISES if promise.name == "two processes")


def outside_method(folder: Path, pushed: str) -> type[PretrainMethod]:
    """A method from a file, which pushes what the expression gives."""
    file = folder / "outside.py"
    file.write_text(FILE.replace("PUSHED", pushed))
    return get_method(str(file))


def test_a_process_gets_its_half_of_the_batch() -> None:
    x = torch.arange(24.0).view(4, 3, 2)
    ids = torch.arange(4)
    halves = [half_of(Batch(x, -x, ids, ids + 10, ids + 20), rank) for rank in range(2)]
    assert torch.equal(torch.cat([half.x1 for half in halves]), x)
    assert torch.equal(halves[1].x2, -x[2:])
    assert halves[0].recording.tolist() == [10, 11]
    assert halves[0].text is None


def test_another_process_finds_a_method_by_name_or_file(tmp_path: Path) -> None:
    assert source_of(METHODS["pmq"], METHODS) == "pmq"
    assert source_of(outside_method(tmp_path, "z"), METHODS) == str(tmp_path / "outside.py")
    with pytest.raises(ValueError, match=r"Here is none of random, moco, .*: put it into a file of its own"):
        source_of(type("Here", (PretrainMethod,), {"__module__": __name__}), METHODS)


@pytest.mark.slow
def test_what_two_processes_share(tmp_path: Path) -> None:
    outside = outside_method(tmp_path, "z.detach()")
    moco, pmq = METHODS["moco"], METHODS["pmq"]
    held = train_together([(outside, {}), (moco, WITHOUT_NORMALISATION), (pmq, {})])
    assert changed(*held[0]) == ["queue.keys", "queue.patient", "queue.recording"]
    assert not changed(*held[2])

    alone = small_method(moco, **WITHOUT_NORMALISATION)
    train(alone, small_optimiser(alone), range(UPDATES))
    for name, value in held[1][0].items():
        torch.testing.assert_close(value, alone.state_dict()[name], rtol=1e-5, atol=1e-5)


@pytest.mark.slow
def test_a_process_that_fails_ends_both_with_its_reason(tmp_path: Path) -> None:
    kind = outside_method(tmp_path, "z.detach()[:, :torch.distributed.get_rank() + 15]")
    verdict = judge(TWO_PROCESSES, kind)
    assert not verdict.kept
    assert verdict.detail.startswith(f"{tmp_path / 'outside.py'}: ")


@pytest.mark.slow
def test_processes_that_wait_in_vain_are_stopped(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(two_processes, "LIMIT", 0.5)
    with pytest.raises(RuntimeError, match=r"not done after 0\.5 s: does every process call `gather`"):
        train_together([(METHODS["pmq"], {})])
