"""A cluster that is not there, or that cannot see a folder, is refused in one line before any work."""

from __future__ import annotations

import socket
import subprocess
from pathlib import Path

import pytest

from benchmark.config.errors import ConfigError
from benchmark.config.sections.engine import EngineSection
from benchmark.run.engines.slurm import cluster
from benchmark.run.engines.slurm import open as open_module
from benchmark.run.engines.slurm.cluster import ClusterError, Queued
from benchmark.run.engines.slurm.open import doubt_of, open_slurm

SLURM = EngineSection(name="slurm")


def test_without_slurm_or_submitit_one_line_says_what_to_do(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    monkeypatch.setattr(open_module, "require_submitit", lambda: None)
    monkeypatch.setenv("PATH", str(tmp_path))
    with pytest.raises(ConfigError, match=r"^--engine slurm: there is no `scontrol` here: run this on a login node"):
        open_slurm(SLURM, tmp_path, [], detach=False)
    monkeypatch.undo()
    monkeypatch.setitem(__import__("sys").modules, "submitit", None)
    with pytest.raises(
        ConfigError, match=r"^--engine slurm needs submitit: pip install 'ecg-pretrain-bench\[slurm\]'$"
    ):
        open_slurm(SLURM, tmp_path, [], detach=False)


def test_a_controller_that_does_not_answer_is_told_in_its_words(monkeypatch: pytest.MonkeyPatch) -> None:
    def run(command: list[str], **how: object) -> subprocess.CompletedProcess[str]:
        return subprocess.CompletedProcess(command, 1, "", "a line\nUnable to contact slurm controller\n")

    monkeypatch.setattr(cluster.subprocess, "run", run)
    with pytest.raises(ClusterError, match=r"^`sinfo`: Unable to contact slurm controller$"):
        cluster.partitions()


def test_jobs_of_arrays_are_told_apart_and_forgotten_ones_are_gone(monkeypatch: pytest.MonkeyPatch) -> None:
    said = "12_0|RUNNING|None|node1\n12_1|PENDING|Resources|\n14|PENDING|Dependency|\n"
    monkeypatch.setattr(cluster, "ask", lambda *command: said)
    assert cluster.queued(["12_0", "12_1", "13"]) == {
        "12_0": Queued("RUNNING", "None", "node1"),
        "12_1": Queued("PENDING", "Resources", ""),
    }

    def gone(*command: str) -> str:
        raise ClusterError("`squeue`: slurm_load_jobs error: Invalid job id specified")

    monkeypatch.setattr(cluster, "ask", gone)
    assert cluster.queued(["9"]) == {}
    assert cluster.queued([]) == {}


def test_a_folder_of_this_host_alone_is_refused_or_doubted(tmp_path: Path) -> None:
    mounts = tmp_path / "mounts"
    mounts.write_text(
        f"overlay / overlay rw 0 0\nserver:/home {tmp_path} nfs4 rw 0 0\ntmpfs {tmp_path}/shm tmpfs rw 0 0\n"
        f"/dev/sdb1 {tmp_path}/scratch xfs rw 0 0\n"
    )
    host = socket.gethostname()
    assert doubt_of(tmp_path / "runs", mounts) == ""
    assert doubt_of(tmp_path / "runs", tmp_path / "no mounts") == ""
    scratch = tmp_path / "scratch"
    assert doubt_of(scratch / "runs", mounts) == (
        f"{scratch}/runs is on a disk of {host} (xfs on {scratch}); if the cluster's nodes do not see it there, "
        "name a folder that they share"
    )
    with pytest.raises(
        ConfigError, match=rf"shm/runs is in the memory of {host} \(tmpfs on .*; name a folder that all"
    ):
        doubt_of(tmp_path / "shm" / "runs", mounts)


def test_folders_are_looked_at_where_the_cluster_has_other_hosts(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    runs, cache = tmp_path / "runs", tmp_path / "cache"
    monkeypatch.setattr(open_module, "require_submitit", lambda: None)
    monkeypatch.setattr(open_module, "doubt_of", {runs: "", cache: "on a disk"}.__getitem__)
    monkeypatch.setattr(cluster, "limits", lambda: ("bench", 1001))
    monkeypatch.setattr(cluster, "partitions", lambda: ["cpu", "gpu"])
    monkeypatch.setattr(cluster, "nodes", lambda: ["node1", "node2"])
    assert open_slurm(SLURM, runs, [cache], detach=True).doubts == ("on a disk",)
    monkeypatch.setattr(cluster, "nodes", lambda: [socket.gethostname()])
    assert open_slurm(SLURM, runs, [cache], detach=True).doubts == ()
    with pytest.raises(ConfigError, match=r"^engine\.partition: the cluster has no partition 'x'; it has cpu, gpu$"):
        open_slurm(EngineSection(name="slurm", partition="x"), tmp_path, [], detach=False)
