"""What an environment says of ranks; what they do together is in tests/benchmark/training/test_ranks.py.

What of a machine enters a key.
"""

from __future__ import annotations

from dataclasses import replace

import pytest
import torch

from benchmark.machine.ranks import (
    Machine,
    RankFailed,
    Ranks,
    all_reduce_max,
    broadcast,
    fail_alike,
    first_rank_calls,
    join,
    own_device,
    read_ranks,
)
from tests.benchmark.run.bench import MACHINE

OF_TORCHRUN = {
    "WORLD_SIZE": "4", "RANK": "3", "LOCAL_RANK": "1", "LOCAL_WORLD_SIZE": "2",
    "MASTER_ADDR": "node-1", "MASTER_PORT": "29500",
}  # fmt: skip


def test_without_torchrun_a_process_is_alone() -> None:
    assert read_ranks({}) == read_ranks({"WORLD_SIZE": "1", "RANK": "0"}) == Ranks(0, 1, 0, 1)


def test_the_variables_of_torchrun_are_read() -> None:
    assert read_ranks(OF_TORCHRUN) == Ranks(rank=3, size=4, local=1, on_machine=2)


@pytest.mark.parametrize(
    ("changes", "said"),
    [
        (
            {"RANK": ""},
            r"WORLD_SIZE is '4', and RANK is not set: start the processes with torchrun, or unset WORLD_SIZE",
        ),
        ({"RANK": "two"}, "RANK is 'two'"),
        ({"WORLD_SIZE": "many"}, "WORLD_SIZE is 'many'"),
        ({"MASTER_PORT": ""}, "MASTER_PORT is not set"),
        ({"RANK": "4"}, "RANK 4 of WORLD_SIZE 4, .*: ranks count from 0"),
        ({"LOCAL_RANK": "2"}, "LOCAL_RANK 2 of LOCAL_WORLD_SIZE 2: ranks count from 0"),
        ({"LOCAL_WORLD_SIZE": "5"}, "a machine has no more of them than there are"),
    ],
)
def test_half_an_environment_is_refused(changes: dict[str, str], said: str) -> None:
    with pytest.raises(ValueError, match=said):
        read_ranks(OF_TORCHRUN | changes)


def test_a_rank_has_the_gpu_of_its_number(monkeypatch: pytest.MonkeyPatch) -> None:
    cuda, ranks = torch.device("cuda"), read_ranks(OF_TORCHRUN)
    monkeypatch.setattr(torch.cuda, "device_count", lambda: 2)
    assert own_device(cuda, ranks) == torch.device("cuda", 1)
    assert own_device(cuda, Ranks()) == cuda
    assert own_device(torch.device("cpu"), ranks) == torch.device("cpu")
    with pytest.raises(ValueError, match=r"LOCAL_RANK 3 has no GPU: torch sees 2 CUDA devices; start at most 2"):
        own_device(cuda, Ranks(3, 4, 3, 4))
    monkeypatch.setattr(torch.cuda, "device_count", lambda: 1)
    assert own_device(cuda, ranks) == torch.device("cuda", 0), "each process of a cluster may see its own GPU alone"


def test_a_process_that_is_alone_waits_for_no_one() -> None:
    join(Ranks(), torch.device("cpu"))
    with first_rank_calls(Ranks()):
        assert all_reduce_max(3) == 3
        assert broadcast("value") == "value"
        fail_alike(Ranks(), "a task", "a reason")


def test_ranks_that_do_not_meet_are_told_where(monkeypatch: pytest.MonkeyPatch) -> None:
    for name, value in (OF_TORCHRUN | {"MASTER_ADDR": "localhost", "MASTER_PORT": "1"}).items():
        monkeypatch.setenv(name, value)
    monkeypatch.setattr("benchmark.machine.ranks.MEETING_SECONDS", 1)
    with pytest.raises(RankFailed, match=r"rank 3 of 4 met no others at localhost:1 \(.*\): start as many processes"):
        join(read_ranks(), torch.device("cpu"))


def test_device_type_and_precision_are_part_of_a_key_and_threads_are_not() -> None:
    cuda = Machine(torch.device("cuda", 1), "bf16", 4)
    assert cuda.mode() == {"device": "cuda", "precision": "bf16"}
    assert replace(MACHINE, jobs=9).mode() == MACHINE.mode()
    assert replace(MACHINE, compiled=True).mode() == MACHINE.mode() | {"compiled": True}
    assert (MACHINE.cell_threads(), cuda.cell_threads()) == (1, torch.get_num_threads())


def test_the_number_of_ranks_is_part_of_a_key_and_one_process_has_the_keys_of_before() -> None:
    ranks = replace(MACHINE, ranks=3)
    assert ranks.mode() == MACHINE.mode() | {"ranks": 3}
    assert "ranks" not in replace(MACHINE, ranks=1).mode()
    assert replace(ranks, jobs=4).concurrent(5) == 1, "they pretrain one encoder at a time"
