"""`make frozen`: write what a change of form must not move into a folder; `diff -r` of two such folders shows what did.

keys/    keys of the shipped configs under flag sets, by expanding their grids on data that need not be there
runs/    tables of two small runs with most evaluations, and of reports on their stores; compare them on one machine
"""

from __future__ import annotations

import os
import re
import shutil
import subprocess
import sys
import tempfile
from pathlib import Path

from benchmark.cli.main import config_of, parse
from benchmark.config.errors import ConfigError
from benchmark.config.load import CONFIGS
from benchmark.results.files import digest
from benchmark.run.grid import Grid
from tests.benchmark.run.bench import grid_of

ROOT = Path(__file__).resolve().parents[1]
FLAG_SETS = (
    "",
    "--methods pmq moco --ratios 0.3 0.1 0.01",
    "--evaluate finetune linear knn attention",
    "--protocol strict --seeds 1 2 3",
    "--baselines random frozen features full-labels supervised",
    "--ablations",
    "--queue-sizes 256 1024",
    "--preset paper",
    "--segmentation recordings --set data.segmentation.seconds=2.5",
    "--standardise dataset --leads I II V1 --set data.rate=500",
    "--labels multi --set data.pool=max",
    "--encoder dilated xresnet1d101 --evaluate linear",
    "--set pretrain.budget=windows sweeps.pmq.recipe.lr=[1e-3,1e-2]",
    "--methods cpc mae ts2vec jepa --evaluate linear",
)
CONFIG = """
name: frozen
data:
  datasets: [chapman, cpsc2018]
  simulation: {patients: {mimic-iv-ecg: 12, chapman: 160, cpsc2018: 120}, recordings_per_patient: 3}
encoder: {hidden: 4, depth: 2, output: 8}
hyperparameters: {moco: {queue_size: 32}, pmq: {queue_size: 32}}
pretrain: {epochs: 1, recipe: {batch_size: 16}}
finetune: {epochs: 1}
evaluate: [finetune, linear, knn]
ratios: [0.3]
seeds: [41, 42]
precision: float32
"""
RUNS = {
    "run": "run --config STORE/small.yaml --methods random pmq pclr --baselines features random frozen "
    "--results STORE/a",
    "other": "run --config STORE/small.yaml --methods moco pmq --baselines none --ablations --results STORE/b",
    "merged": "report --results STORE/a STORE/b --scores auprc sens90 brier ece --unit both",
    "compared": "report --compare STORE/a STORE/b",
}


def keys_of(grid: Grid) -> str:
    """Describe a grid by its rows and a digest of the keys of each kind."""
    pretrainings = digest([pretraining.key for pretraining in grid.pretrainings])
    cells = digest([[cell.key, cell.table] for cell in grid.cells])
    return f"{' '.join(variant.title for variant in grid.variants)}; {pretrainings}; {cells}"


def write_keys(folder: Path) -> None:
    """Write a file per shipped config: per flag set its keys, or the line that refuses it."""
    for name in CONFIGS:
        lines = []
        for flags in FLAG_SETS:
            try:
                _, arguments = parse(["--config", name, *flags.split()])
                lines.append(f"{flags}: {keys_of(grid_of(config_of(arguments)))}")
            except ConfigError as error:
                lines.append(f"{flags}: {error}")
        (folder / name).write_text("\n".join(lines) + "\n")


def write_runs(folder: Path, store: Path) -> None:
    """Write the tables of each command: Markdown, LaTeX and CSV, without times, commits and the folder of the store."""
    (store / "small.yaml").write_text(CONFIG)
    for name, line in RUNS.items():
        words = [*line.replace("STORE", str(store)).split(), "--out", str(folder / name)]
        words += ["--cache", str(store / "cache")] if words[0] == "run" else []
        command = [sys.executable, str(ROOT / "run_benchmark.py"), *words]
        subprocess.run(command, cwd=store, env=os.environ | {"OMP_NUM_THREADS": "1"}, check=True)
        shutil.rmtree(folder / name / "figures", ignore_errors=True)
        for file in filter(Path.is_file, (folder / name).iterdir()):
            if file.suffix not in (".md", ".tex", ".csv") or file.stem == "costs":
                file.unlink()
                continue
            file.write_text(re.sub(r"[;,] commit [^;,.]*", "", file.read_text()).replace(str(store), "STORE"))


def main(folder: Path) -> None:
    """Write all of it into a new folder."""
    shutil.rmtree(folder, ignore_errors=True)
    for name in ("keys", "runs"):
        (folder / name).mkdir(parents=True)
    write_keys(folder / "keys")
    with tempfile.TemporaryDirectory() as store:
        write_runs(folder / "runs", Path(store))


if __name__ == "__main__":
    main(Path(sys.argv[1]))
