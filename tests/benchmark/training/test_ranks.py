"""Several ranks against one process, in the trainer: losses, gradients, queues, signals; two and three of them."""

from __future__ import annotations

import signal
import socket
from pathlib import Path
from typing import Any

import pytest
import torch

from tests.benchmark.training.in_ranks import BATCH, CASES, UPDATES, Case, Outcome, in_float32, outcomes, start, trained

pytestmark = pytest.mark.slow
RANKS = (2, 3)


@pytest.fixture(scope="module")
def alone(tmp_path_factory: pytest.TempPathFactory) -> dict[str, Outcome]:
    torch.set_num_threads(1)
    return outcomes(tmp_path_factory.mktemp("alone"))


@pytest.fixture(scope="module", params=RANKS)
def together(request: pytest.FixtureRequest, tmp_path_factory: pytest.TempPathFactory) -> list[dict[str, Any]]:
    """What each rank of two, then of three, has kept."""
    with socket.socket() as free:
        free.bind(("localhost", 0))
        port = free.getsockname()[1]
    return start(request.param, tmp_path_factory.mktemp(f"{request.param} ranks"), port)


def same(one: dict[str, torch.Tensor], other: dict[str, torch.Tensor]) -> list[str]:
    """Names of the tensors that differ in any bit."""
    assert one.keys() == other.keys()
    return [name for name, value in one.items() if not torch.equal(value, other[name])]


@pytest.mark.parametrize("name", CASES)
def test_loss_and_gradients_are_those_of_one_process(
    name: str, alone: dict[str, Outcome], together: list[dict[str, Any]]
) -> None:
    one, ours = alone[name], together[0]["same draws"][name]
    assert ours["loss"] == pytest.approx(one["loss"], rel=1e-5, abs=1e-6)
    assert ours["positives"] == pytest.approx(one["positives"], nan_ok=True)
    assert one["gradients"].keys() == ours["gradients"].keys()
    largest = max(float(gradient.abs().max()) for gradient in one["gradients"].values())
    close = 1e-4 if in_float32(CASES[name]) else 1e-6
    for of, gradient in one["gradients"].items():
        difference = float((ours["gradients"][of] - gradient).abs().max())
        assert difference <= close * largest, f"{of}: {difference / largest:g} of the largest gradient"


@pytest.mark.parametrize("name", CASES)
def test_all_ranks_hold_the_same(name: str, together: list[dict[str, Any]]) -> None:
    first, *others = (found["same draws"][name] for found in together)
    for other in others:
        assert other["loss"] == first["loss"]
        differ = same(first["state"], other["state"])
        assert CASES[name].batch_norm == "per-rank" or not differ


def test_every_rank_holds_the_queue_of_one_process(alone: dict[str, Outcome], together: list[dict[str, Any]]) -> None:
    one = alone["pmq"]["state"]
    for found in together:
        ours = found["same draws"]["pmq"]["state"]
        for ids in ("queue.patient", "queue.recording", "queue.pointer"):
            assert torch.equal(ours[ids], one[ids])
        torch.testing.assert_close(ours["queue.keys"], one["queue.keys"], rtol=1e-6, atol=1e-6)


def test_masks_differ_by_rank_and_pairs_do_not(together: list[dict[str, Any]], tmp_path: Path) -> None:
    one = trained(Case("pmq"), UPDATES, tmp_path / "checkpoint")
    first, *others = (found["own draws"] for found in together)
    assert all(not same(first["state"], other["state"]) for other in others)
    assert first["positives"] == pytest.approx(one["positives"])
    for ids in ("queue.patient", "queue.recording"):
        assert torch.equal(first["state"][ids], one["state"][ids])
    shares = first["state"]["queue.keys"][: BATCH // len(together)]
    assert first["loss"] != pytest.approx(one["loss"], rel=1e-4)
    assert not torch.allclose(shares, one["state"]["queue.keys"][: len(shares)])


def test_batch_norm_per_rank_is_each_ranks_own(together: list[dict[str, Any]]) -> None:
    first, *others = (found["per rank"] for found in together)
    for other in others:
        assert first["loss"] == other["loss"]
        differ = {name.rpartition(".")[2] for name in same(first["state"], other["state"])}
        assert differ == {"running_mean", "running_var"}
    assert first["loss"] != together[0]["own draws"]["loss"]


def test_half_precision_keeps_the_ranks_equal(together: list[dict[str, Any]]) -> None:
    first, *others = (found["half"] for found in together)
    assert all(torch.tensor(first["loss"]).isfinite())
    assert all(not same(first["state"], other["state"]) for other in others)


def test_what_the_gathers_give(together: list[dict[str, Any]]) -> None:
    ranks = len(together)
    for rank, found in enumerate(own["exchanged"] for own in together):
        assert found["whole"][0].tolist() == [float(of) for of in range(ranks) for _ in range(3)]
        weight = torch.arange(3.0 * ranks)[3 * rank : 3 * rank + 3]
        assert torch.equal(found["gradient"], sum(range(1, ranks + 1)) * weight.expand(2, 3))
        for kind, first in zip(found["kinds"], found["first"], strict=True):
            assert kind.tolist() == [of % 2 for of in range(ranks)]
            assert first.tolist() == [1]
        assert not found["plain"]
        assert found["highest"] == ranks - 1


def test_a_signal_to_one_rank_stops_all_and_the_run_resumes_to_the_same_bits(together: list[dict[str, Any]]) -> None:
    for found in (own["stopped"] for own in together):
        assert found["said"] == "the pretraining of pmq is saved at update 3 of 6"
        assert found["status"] == 128 + signal.SIGTERM
        assert found["steps"] == [4, 5, 6]
        assert found["resumed"]["loss"] == found["whole"]["loss"]
        assert not same(found["resumed"]["state"], found["whole"]["state"])


def test_a_failure_of_all_ranks_is_the_tasks_and_one_of_a_single_rank_ends_all(together: list[dict[str, Any]]) -> None:
    *others, last = (found["failed"] for found in together)
    ranks = len(together)
    assert [said[0] for said in (*others, last)] == ["nothing"] * ranks
    assert sorted(said[1] for said in (*others, last))[:-1] == [""] * (ranks - 1)
    place = f"rank {ranks - 1} of {ranks} on {socket.gethostname()}"
    assert last[2] == f"{place} failed, so all end: moco pretrain seed 42: TrainingStopped: the GPU is full"


def test_the_other_ranks_do_what_the_first_hands_out(together: list[dict[str, Any]]) -> None:
    assert together[0]["heard"] == [f"heard by {rank}: one two" for rank in range(1, len(together))]


def test_a_batch_that_ranks_cannot_share_is_refused(together: list[dict[str, Any]]) -> None:
    ranks = len(together)
    for found in together:
        assert found["uneven"] == (
            f"moco: {ranks} ranks cannot share a batch of {BATCH + 1} pairs evenly; start 1 (--nproc-per-node), or use "
            f"--set methods.moco.recipe.batch_size={BATCH}"
        )
