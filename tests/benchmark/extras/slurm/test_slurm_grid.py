"""Grids on a real SLURM: the numbers are those of this process, whatever happens to the jobs."""

from __future__ import annotations

import threading
from pathlib import Path

import pytest

from benchmark.cli.look import look
from benchmark.config.errors import ConfigError
from benchmark.config.sections import EngineSection
from benchmark.extras.slurm import JOBS, Slurm, open_slurm, records
from benchmark.results.store import Store
from benchmark.run.local import EngineRequest
from benchmark.run.plan import make_plan
from benchmark.run.runner import do
from benchmark.training.checkpoint import CHECKPOINT, WEIGHTS
from tests.basic import TINY
from tests.benchmark.extras.slurm.cluster import MOST_IN_AN_ARRAY, Cluster, wait_until
from tests.benchmark.run.bench import Bench, Cohorts, Heard, SmallConfig

pytestmark = pytest.mark.slow
SLOW = """
import os
import time

import methods.pmq


class {name}(methods.pmq.PMQ):
    name = "{lower}"
    title = "{name}"

    def after_step(self):
        super().after_step()
        time.sleep(0.1 if "SLURM_JOB_ID" in os.environ else 0.0)  # in a job it lasts until the test has seen it
"""
CONFIG = TINY + "engine: {memory_gb: 0.5, minutes: 30}\n"
SAVED = "the pretraining of limited is saved at update"
ONE_EPOCH = {"pretrain.epochs": 1, "evaluate": ["linear"]}


def engine(store: Store) -> Slurm:
    settings = EngineSection(name="slurm", memory_gb=0.5, minutes=30)
    folder = store.root / JOBS / "bench"
    return Slurm(settings, folder, MOST_IN_AN_ARRAY, poll_seconds=0.2, late_seconds=20.0)


def work_off(bench: Bench, own: Slurm) -> int:
    bench.heard = Heard()
    return do(bench.missing(), bench.setup(bench.heard.watch()), own)


def own_method(folder: Path, name: str) -> str:
    folder.mkdir(exist_ok=True)
    file = folder / f"{name.lower()}.py"
    file.write_text(SLOW.format(name=name, lower=name.lower()))
    return str(file)


def test_a_grid_has_the_numbers_of_this_process_and_its_state_can_be_seen_from_outside(
    slurm: Cluster, bench: Bench, tmp_path: Path
) -> None:
    whole = Bench(bench.config, bench.prepared, Store(tmp_path / "whole"))
    assert whole.work_off() == 0
    bench.store.save_plan(make_plan(bench.config, bench.prepared, bench.grid))
    assert look(bench.store).total == {"to do": 4}
    assert work_off(bench, engine(bench.store)) == 0
    assert bench.heard.done == whole.heard.done or sorted(bench.heard.done) == sorted(whole.heard.done)
    assert bench.rows() == whole.rows()
    assert look(bench.store).total == {"done": 4}
    for pretraining in bench.grid.pretrainings:
        found, expected = ((b.store.pretrained / pretraining.key / WEIGHTS).read_bytes() for b in (bench, whole))
        assert found == expected


def test_time_limits_and_pre_emptions_change_no_byte(
    slurm: Cluster, cohorts: Cohorts, small_config: SmallConfig, tmp_path: Path
) -> None:
    files = [own_method(tmp_path / "code", name) for name in ("Limited", "Preempted")]
    config = small_config({"methods": files, "pretrain.epochs": 6, "evaluate": ["linear"]})
    whole, bench = (Bench(config, cohorts, Store(tmp_path / name)) for name in ("whole", "runs"))
    assert whole.work_off() == 0
    own = engine(bench.store)
    failures: list[int] = []
    work = threading.Thread(target=lambda: failures.append(work_off(bench, own)), daemon=True)
    work.start()
    limited, preempted = (pretraining.key for pretraining in bench.grid.pretrainings)
    wait_until(lambda: {limited, preempted} <= {key for keys in records(own.folder).values() for key in keys})
    jobs = {key: job for job, keys in records(own.folder).items() for key in keys}
    killer = threading.Thread(target=pre_empt, args=(slurm, bench, own, jobs[preempted], preempted), daemon=True)
    killer.start()
    log_file, since = own.folder / f"{jobs[limited]}_0_log.out", 0
    for term_first in (False, True):
        since = wait_for_checkpoint(bench, limited, since)
        if term_first:  # as submitit's own _interrupt, but the second signal only once the first was heard
            slurm.say("scancel", "--signal=TERM", jobs[limited])
            wait_until(lambda: log_file.read_text().count(SAVED) == 2)
        slurm.say("scancel", "--signal=USR2", jobs[limited])
        wait_until(lambda: slurm.queue().get(jobs[limited]) == "PENDING")
    work.join(120)
    killer.join(60)
    assert failures == [0]
    log = log_file.read_text()
    assert log.count(SAVED) == 2
    assert "by signal 12" in log
    assert "by signal 15" in log
    assert "is saved at update" in (own.folder / f"{jobs[preempted]}_0_log.out").read_text()
    for key in (limited, preempted):
        found, expected = ((b.store.pretrained / key / WEIGHTS).read_bytes() for b in (bench, whole))
        assert found == expected
    assert [row.scores for row in bench.rows()] == [row.scores for row in whole.rows()]


def wait_for_checkpoint(bench: Bench, key: str, since: int) -> int:
    """Wait for a checkpoint of a pretraining that is newer than `since`; returns its time."""
    file = bench.store.pretrained / key / CHECKPOINT
    wait_until(lambda: file.is_file() and file.stat().st_mtime_ns > since)
    return file.stat().st_mtime_ns + 2 * 10**9  # one that is written at a stop is of the same start


def pre_empt(slurm: Cluster, bench: Bench, own: Slurm, job: str, key: str) -> None:
    """What a cluster does that wants a node back: SIGTERM, a while to save, then SIGKILL and back to the queue."""
    wait_for_checkpoint(bench, key, 0)
    slurm.say("scancel", "--signal=TERM", job)
    wait_until(lambda: "is saved at update" in (own.folder / f"{job}_0_log.out").read_text())
    slurm.say("scontrol", "requeue", job)


def test_what_the_cluster_has_not_is_refused_in_one_line(slurm: Cluster, tmp_path: Path) -> None:
    own = open_slurm(EngineRequest(EngineSection(name="slurm", partition="main"), 1, (), tmp_path / "runs", []))
    assert (own.folder, own.most) == (tmp_path / "runs" / JOBS / "bench", MOST_IN_AN_ARRAY)
    with pytest.raises(
        ConfigError, match=r"^engine.partition: the cluster has no partition 'mian'; did you mean 'main'\?$"
    ):
        open_slurm(EngineRequest(EngineSection(name="slurm", partition="mian"), 1, (), tmp_path, []))
