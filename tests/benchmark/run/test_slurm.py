"""Workers in jobs of a SLURM, as docs/worker.sbatch starts them: what meets its time limit goes on elsewhere."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

import pytest

from tests.benchmark.run.cluster import slurm
from tests.benchmark.run.grid_runs import ENVIRONMENT, ROOT, runs_in, scheduler

pytest.importorskip("distributed")


@pytest.mark.slow
def test_workers_that_meet_their_time_limit_save_and_others_go_on(tmp_path: Path, expected: list[str]) -> None:
    with slurm(tmp_path / "slurm"), runs_in(tmp_path) as runs, scheduler(runs):
        path = f"{Path(sys.executable).parent}:{os.environ['PATH']}"
        settings = {"SCHEDULER": "scheduler.json", "LIFETIME": "20s", "PATH": path}
        command = ["sbatch", "--array=0-5", "--time=5", str(ROOT / "docs" / "worker.sbatch")]
        subprocess.run(command, cwd=tmp_path, env=os.environ | ENVIRONMENT | settings, check=True, capture_output=True)
        runs.start("--engine", "scheduler.json", "--precision", "float32")
        runs.finish(0)
        assert runs.table(0) == expected
        assert runs.output(0, "err") == ""
        logs = [file.read_text() for file in tmp_path.glob("slurm-*.out")]
        assert any("worker-lifetime-reached" in log for log in logs), logs
