"""What of a task is handed over where another runner holds it."""

from __future__ import annotations

import os
import time

import pytest

from benchmark.machine.process import this_process
from benchmark.run.engines.engine import Not, Task
from benchmark.run.order import at_once, order_of
from benchmark.run.work.claims import CLAIMS, Claims
from benchmark.run.work.left import left_of
from benchmark.run.work.silence import MISSED_SECONDS
from tests.benchmark.run.bench import Bench


@pytest.mark.parametrize("detached", [False, True])
def test_what_a_dead_host_holds_is_handed_over_where_nobody_stays_to_watch_its_claim(
    bench: Bench, detached: bool
) -> None:
    claims = Claims(bench.store.root / CLAIMS)
    left = left_of(bench.missing(), bench.store, claims)
    order = order_of(left, bench.setup(bench.heard.watch()), at_once, apart=True, detached=detached)
    task = order.tasks[0]
    other = Claims(bench.store.root / CLAIMS, process=this_process()._replace(host="there", pid=7))
    assert other.take(task.key)
    assert order.begin(task) is Not.YET
    file = bench.store.root / CLAIMS / f"{task.key}.json"
    then = time.time() - MISSED_SECONDS - 1
    os.utime(file, (then, then))
    assert isinstance(order.begin(task), Task) == detached
    assert claims.holder(task.key) == "there:7", "its process takes it over, if nothing is heard of it"
