"""What of a machine enters a key."""

from __future__ import annotations

from dataclasses import replace

import torch

from benchmark.run.machine import Machine
from tests.benchmark.run.bench import MACHINE


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
    assert replace(ranks, jobs=4).abreast(5) == 1, "they pretrain one encoder at a time"
