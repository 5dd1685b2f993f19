"""`make frozen`: write what a change of form must not move into a folder; `diff -r` of two such folders shows what did.

keys/        keys of the shipped configs under twenty flag sets, by expanding their grids on data that need not be there
runs/        every file of `--out` of two small runs with all evaluations, and of the report verbs on their stores
said/        the help of every verb, and the lines of wrong commands

Numbers are of one machine: compare two commits on the same one. Times, folders and what is of a machine are masked.
"""

from __future__ import annotations

import hashlib
import os
import re
import shutil
import subprocess
import sys
import tempfile
from pathlib import Path

from benchmark.cli.arguments import config_of
from benchmark.cli.commands import COMMANDS
from benchmark.cli.main import parse
from benchmark.config.errors import ConfigError
from benchmark.config.load import config_names
from benchmark.results.schema import digest
from benchmark.run.grid import Grid
from tests.benchmark.run.bench import grid_of

ROOT = Path(__file__).resolve().parents[1]
FLAG_SETS = (
    "",
    "--methods pmq moco --ratios 0.3 0.1 0.01",
    "--evaluate finetune linear knn attention",
    "--protocol strict --seeds 1 2 3",
    "--gates none",
    "--gates random frozen features full-labels supervised",
    "--ablations",
    "--queue-sizes 256 1024",
    "--preset paper",
    "--segmentation recordings --set data.segmentation.seconds=2.5",
    "--segmentation recordings",
    "--set data.rate=500",
    "--standardise dataset --leads I II V1",
    "--labels multi --set data.pool=max",
    "--encoder resnet1d",
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
knobs: {moco: {queue_size: 32}, pmq: {queue_size: 32}}
pretrain: {epochs: 1, recipe: {batch_size: 16}}
finetune: {epochs: 1}
evaluate: [finetune, linear, knn]
ratios: [0.3]
seeds: [41, 42]
precision: float32
"""
RUNS = {
    "run": "run --config STORE/small.yaml --methods random pmq pclr --gates features random frozen --results STORE/a",
    "other": "run --config STORE/small.yaml --methods moco pmq --gates none --ablations --results STORE/b",
    "merged": "report --results STORE/a STORE/b --scores auprc sens90 brier ece --unit both",
    "compared": "report --compare STORE/a STORE/b",
    "status": "status --results STORE/a",
    "explained": "explain pmq linear chapman 0.3 seed 41 --results STORE/a",
    "planned": "run --dry-run --config STORE/small.yaml --methods random pmq moco --seeds 41 42 43 --results STORE/a",
    "listed": "list",
}
WRONG = (
    "frun", "--methods pmqq", "--ratios 30", "--ratios 0,3", "--seeds -1", "--datasets nowhere", "--tasks form",
    "--evaluate liner", "--preset fast", "--gates nothing", "--set data.rate=77", "--leads XX",
    "--set nothing=1", "--set methods.pmq.queue=3", "--set pretrain.epochs=none", "--set finetune.lr=-1",
    "--set data.pool=min", "--encoder s5", "--device tpu", "--engine slurm", "--config nobody",
    "--unit beat", "--scores f2", "report --results nowhere", "explain pmq --results nowhere", "export",
    "export pmq --results nowhere --to x", "embed nothing.npy --encoder nowhere --out a.npy", "data show",
    "data download nothing", "data new-card nowhere", "check nothing", "check nothing.py",
    "tune --trials 0", "speed --config nobody",
    "--methods pmq pmq", "--set sweeps.pmq.queue_size=few", "--labels many", "--config demo --data-root nowhere",
)  # fmt: skip
MASKS = (
    (re.compile(r"\d+(\.\d+)? (ms|s|min|h|hours|minutes|seconds|KB|MB|GB|KiB|MiB|GiB)\b"), "TIME"),
    (re.compile(r"\b\d{4}-\d{2}-\d{2}([T ]\d{2}:\d{2}(:\d{2})?)?"), "DATE"),
    (
        re.compile(r"^.*(x86_64|aarch64|arm64|[Cc]ommit |git\.|dirty|diff  |seconds  |memory|card_sha256).*$", re.M),
        "MACHINE",
    ),
    (re.compile(r"^(done|running) .*$\n", re.M), ""),
    (re.compile(r"data:image/png;base64,[\w+/=]+"), "FIGURE"),  # those of --out are compared, and some show times
    (re.compile(r"\(\d+/s\)"), "(RATE)"),
    (re.compile(r"/tmp/tmp\w+"), "TEMPORARY"),
)
MEASURED = ("costs.*",)
"""Files of `--out` that are about the machine."""


def main(folder: Path) -> None:
    """Write all of it into a new folder."""
    shutil.rmtree(folder, ignore_errors=True)
    for name in ("keys", "runs", "said"):
        (folder / name).mkdir(parents=True)
    write_keys(folder / "keys")
    with tempfile.TemporaryDirectory() as store:
        write_said(folder / "said", Path(store))
        write_runs(folder / "runs", Path(store))


def write_keys(folder: Path) -> None:
    """A file per shipped config: per flag set its keys, or the line that refuses it."""
    for name in config_names():
        lines = []
        for flags in FLAG_SETS:
            _, arguments = parse(["--config", name, *flags.split()])
            try:
                config = config_of(arguments)
                lines += [f"{flags or '(none)'}: {line}" for line in keys_of(grid_of(config))]
            except ConfigError as error:
                lines.append(f"{flags}: {error}")
        (folder / name).write_text("\n".join(lines) + "\n")


def keys_of(grid: Grid) -> list[str]:
    """The keys of a grid, a digest for each kind of them, and the rows."""
    return [
        f"rows {' '.join(variant.title for variant in grid.variants)}",
        f"{len(grid.pretrainings)} pretrainings {digest([own.key for own in grid.pretrainings])}",
        f"{len(grid.cells)} cells {digest([[own.key, own.table] for own in grid.cells])}",
    ]


def write_said(folder: Path, where: Path) -> None:
    """The help of every verb, and what wrong commands say."""
    for verb in COMMANDS:
        (folder / f"help {verb}").write_text(said([*verb.split(), "--help"], where))
    wrong = [f"$ {line}\n{said(line.split(), where)}" for line in WRONG]
    (folder / "wrong").write_text("\n".join(wrong))


def write_runs(folder: Path, store: Path) -> None:
    """Every file that the commands write: text as it is, a figure as the digest of its bytes."""
    (store / "small.yaml").write_text(CONFIG)
    for name, line in RUNS.items():
        own = folder / name
        own.mkdir()
        words = line.replace("STORE", str(store)).split()
        takes = (*COMMANDS[words[0]].flags, *COMMANDS[words[0]].further)
        words += ["--out", str(own / "out")] if "--out" in takes else []
        words += ["--cache", str(store / "cache")] if "--cache" in takes and "--cache" not in words else []
        (own / "said").write_text(masked(said(words, store), str(store), str(own)))
        for path in sorted(path for path in own.rglob("*") if path.is_file()):
            if any(path.match(pattern) for pattern in MEASURED):
                path.unlink()
                continue
            try:
                path.write_text(masked(path.read_text(), str(store), str(own)))
            except UnicodeDecodeError:
                path.write_text(digest_of(path))


def said(words: list[str], where: Path) -> str:
    """What a command prints in a folder, with its exit status."""
    environment = os.environ | {"COLUMNS": "120", "OMP_NUM_THREADS": "1", "SOURCE_DATE_EPOCH": "0"}
    command = [sys.executable, str(ROOT / "run_benchmark.py"), *words]
    done = subprocess.run(command, capture_output=True, text=True, env=environment, cwd=where, check=False)
    return f"{done.stdout}{done.stderr}exit {done.returncode}\n"


def masked(text: str, *folders: str) -> str:
    """A text without what differs from run to run."""
    for place in folders:
        text = text.replace(place, "FOLDER")
    for pattern, word in MASKS:
        text = pattern.sub(word, text)
    return text


def digest_of(path: Path) -> str:
    """SHA-256 of a file."""
    return hashlib.sha256(path.read_bytes()).hexdigest()


if __name__ == "__main__":
    main(Path(sys.argv[1]))
