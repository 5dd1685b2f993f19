from __future__ import annotations

from collections.abc import Callable

import pytest
import torch

from benchmark.verbs.speed.timing import Ratio, gemm_flops, in_turns, peak_growth, ratio

CPU = torch.device("cpu")
MIB = 2**20


def test_jobs_take_turns_and_the_first_round_is_not_counted() -> None:
    order: list[str] = []
    ticks = iter(range(100))
    seconds = in_turns({name: lambda name=name: order.append(name) for name in "ab"}, 2, CPU, lambda: next(ticks))
    assert "".join(order) == "ababab"
    assert {name: len(times) for name, times in seconds.items()} == {"a": 2, "b": 2}


def test_the_clock_is_read_around_each_job() -> None:
    now = [0.0]

    def slow() -> None:
        now[0] += 3.0

    assert in_turns({"slow": slow}, 2, CPU, lambda: now[0]) == {"slow": [3.0, 3.0]}


def test_a_ratio_is_taken_round_by_round() -> None:
    # A round in which the whole machine was ten times slower does not show.
    assert ratio([2.0, 30.0, 4.0], [1.0, 10.0, 1.0]) == Ratio(median=3.0, lowest=2.0, highest=4.0)
    with pytest.raises(ValueError, match="shorter"):
        ratio([1.0, 2.0], [1.0])


def test_a_matrix_product_is_counted_as_multiplications_and_additions(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("benchmark.verbs.speed.timing.GEMM_SIZE", {"cpu": 10})
    monkeypatch.setattr("benchmark.verbs.speed.timing.in_turns", lambda jobs, rounds, device: {"gemm": [0.5, 2.0, 1.0]})
    assert gemm_flops(CPU, "float32") == 2000.0


def holding(mebibytes: int) -> Callable[[], object]:
    ready = torch.ones(20 * MIB)  # 80 MiB before the job begins, which are not counted
    return lambda: (torch.ones(mebibytes * MIB, dtype=torch.uint8), ready)


@pytest.mark.slow
def test_the_growth_of_the_peak_is_what_the_job_held() -> None:
    torch.ones(400 * MIB, dtype=torch.uint8)  # of this process, and not of the one that is measured
    assert 195 <= 1024 * peak_growth(holding, (200,), CPU) <= 240
