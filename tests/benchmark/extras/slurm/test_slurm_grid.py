"""Grids on a real SLURM: the numbers are those of this process, whatever happens to the jobs."""

from __future__ import annotations

import shutil
import threading
from dataclasses import replace
from functools import partial
from pathlib import Path

import pytest

from benchmark.cli.look import look
from benchmark.config.errors import ConfigError
from benchmark.config.sections import EngineSection
from benchmark.data.prepare import Prepared
from benchmark.extras import slurm as open_module
from benchmark.extras.slurm import JOBS, Slurm, open_slurm, records
from benchmark.results.store import Store
from benchmark.run.local import EngineRequest
from benchmark.run.plan import make_plan
from benchmark.run.runner import do
from benchmark.training.checkpoint import CHECKPOINT, WEIGHTS
from run_benchmark import main
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


def engine(store: Store, *, detached: bool = False) -> Slurm:
    settings = EngineSection(name="slurm", memory_gb=0.5, minutes=30)
    folder = store.root / JOBS / "bench"
    return Slurm(settings, folder, MOST_IN_AN_ARRAY, detached, poll_seconds=0.2, late_seconds=20.0)


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
    with slurm.closed():
        assert work_off(bench, engine(bench.store, detached=True)) == 0
        state = look(bench.store)
        assert state.total == {"queued": 4}
        assert sorted(job.cells for job in state.jobs) == [0, 0, 2, 2]
    assert work_off(bench, engine(bench.store)) == 0
    assert bench.heard.done == whole.heard.done or sorted(bench.heard.done) == sorted(whole.heard.done)
    assert not [line for line in bench.heard.notes if line.startswith("submitted")], "they were in the queue already"
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


def test_a_method_that_is_edited_and_data_that_are_not_seen_are_refused_in_the_job(
    slurm: Cluster, cohorts: Cohorts, small_config: SmallConfig, tmp_path: Path
) -> None:
    file = own_method(tmp_path / "code", "Mine")
    edited = Bench(small_config({"methods": [file], **ONE_EPOCH}), cohorts, Store(tmp_path / "edited"))
    moved = {name: with_folder(data, tmp_path / "cache" / name) for name, data in cohorts.items()}
    unseen = Bench(small_config({"methods": ["pmq"], **ONE_EPOCH}), moved, Store(tmp_path / "unseen"))
    with slurm.closed():
        for bench in (edited, unseen):
            assert work_off(bench, engine(bench.store, detached=True)) == 0
        keys = [cell.pretrain_key for bench in (edited, unseen) for cell in bench.grid.cells]
        Path(file).write_text(Path(file).read_text() + "\n# another line\n")
        (tmp_path / "cache").rename(tmp_path / "elsewhere")
    wait_until(lambda: not slurm.queue(), 120)
    (of_edited,), (of_unseen,) = (
        bench.store.failures([key]).values() for bench, key in zip((edited, unseen), keys, strict=True)
    )
    assert f"{file} has been edited since this run began; the same command runs it as it is now" in of_edited.error
    assert f"does not see the prepared data {tmp_path / 'cache'}" in of_unseen.error
    assert "put --cache on a folder that all nodes share" in of_unseen.error
    assert edited.rows() == unseen.rows() == []


def with_folder(data: Prepared, folder: Path) -> Prepared:
    """Prepared data that lie in another folder."""
    shutil.copytree(data.folder, folder)
    return replace(data, folder=folder)


def test_a_command_hands_a_grid_over_and_the_same_command_prints_its_tables(
    slurm: Cluster, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setattr(open_module, "Slurm", partial(Slurm, poll_seconds=0.5))
    monkeypatch.chdir(tmp_path)
    Path("tiny.yaml").write_text(CONFIG)
    words = ["--config", "tiny.yaml", "--workers", "1", "--engine", "slurm"]
    with slurm.closed():
        assert main([*words, "--detach"]) == 0
        said = capsys.readouterr().out
        assert len(slurm.queue()) == 4
    assert "4 tasks are in 4 jobs; `status` shows them, the same command goes on from there" in said
    assert "AUROC" not in said
    assert not Path("out", "results.csv").exists()
    assert main(words) == 0
    said = capsys.readouterr().out
    assert "AUROC" in said
    assert "submitted" not in said
    logs = [file.read_text() for file in Path("runs", JOBS, "bench").glob("*_0_log.out")]
    begun = [line for log in logs for line in log.splitlines() if line.endswith(" begins")]
    assert sorted(begun) == [
        "pmq linear chapman 0.5 seed 41 begins",
        "pmq pretrain seed 42 begins",
        "random linear chapman 0.5 seed 41 begins",
        "random pretrain seed 41 begins",
    ]
    assert len(Store(Path("runs")).row_keys()) == 2
    assert Path("out", "results.csv").is_file()


def test_what_the_cluster_has_not_is_refused_in_one_line(slurm: Cluster, tmp_path: Path) -> None:
    own = open_slurm(EngineRequest(EngineSection(name="slurm", partition="main"), 1, (), tmp_path / "runs", [], False))
    assert (own.folder, own.most) == (tmp_path / "runs" / JOBS / "bench", MOST_IN_AN_ARRAY)
    with pytest.raises(
        ConfigError, match=r"^engine.partition: the cluster has no partition 'mian'; did you mean 'main'\?$"
    ):
        open_slurm(EngineRequest(EngineSection(name="slurm", partition="mian"), 1, (), tmp_path, [], False))
