"""The built wheel in an environment of its own, used from another folder: the demo in small, all that it brings besides
its code (configs, addresses, templates, the paper's numbers), `export`, `embed`, the import.

Its packages are the wheel's; the libraries are those of this environment, so that nothing is downloaded.
"""

from __future__ import annotations

import os
import shutil
import subprocess
import sys
import tomllib
from pathlib import Path
from typing import NamedTuple

import pytest
import torch

from benchmark.data.simulate import simulate
from tests.on_disk import write_record

ROOT = Path(__file__).resolve().parents[1]
LIBRARIES = Path(torch.__file__).resolve().parents[1]
SETUPTOOLS = tomllib.loads((ROOT / "pyproject.toml").read_text(encoding="utf-8"))["tool"]["setuptools"]
FILES = ("run_benchmark.py", "pyproject.toml", "README.md", "LICENSE")
CONFIGS = sorted(path.stem for path in (ROOT / "benchmark/config/configs").glob("*.yaml"))
PATIENTS = {"mimic-iv-ecg": 8, "ptb-xl": 80, "chapman": 60, "cpsc2018": 60}
SMALL = "--methods random pmq --seeds 41 42 --jobs 1 --workers 1 --set pretrain.epochs=1 " + " ".join(
    f"data.simulation.patients.{name}={patients}" for name, patients in PATIENTS.items()
)
"""The demo in small."""
IMPORT = """
import numpy as np
from ecg_pretrain_bench import load_encoder
import benchmark, methods, reports, run_benchmark
leads = ["I", "II", "III", "aVR", "aVL", "aVF", "V1", "V2", "V3", "V4", "V5", "V6"]
features = np.loadtxt("features.csv", delimiter=",", dtype=str)
assert len(features) == 2, features
encoder = load_encoder("pmq")
assert encoder.encode([], rate=500, leads=leads).shape == (0, encoder.width)
print(*(module.__file__ for module in (benchmark, methods, reports, run_benchmark)), sep="\\n")
"""


class Installed(NamedTuple):
    """The environment of the wheel."""

    python: Path
    program: Path
    packages: Path


def completed(*words: str | Path, cwd: Path) -> subprocess.CompletedProcess[str]:
    """Run a command line in a folder, without the packages of this checkout."""
    clean = {name: value for name, value in os.environ.items() if name != "PYTHONPATH"}
    return subprocess.run(words, cwd=cwd, env=clean, capture_output=True, text=True, check=False)


def output(*words: str | Path, cwd: Path) -> str:
    """Return the output of a command line that succeeds."""
    done = completed(*words, cwd=cwd)
    assert done.returncode == 0, f"{words}\n{done.stdout[-3000:]}\n{done.stderr[-3000:]}"
    return done.stdout


@pytest.fixture(scope="module")
def installed(tmp_path_factory: pytest.TempPathFactory) -> Installed:
    """The wheel, built of a copy of the sources, which are gone, in a new environment."""
    folder = tmp_path_factory.mktemp("wheel")
    sources, environment = folder / "sources", folder / "env"
    sources.mkdir()
    for name in FILES:
        shutil.copy(ROOT / name, sources / name)
    for pattern in SETUPTOOLS["packages"]["find"]["include"]:
        for package in ROOT.glob(pattern):
            shutil.copytree(package, sources / package.name)
    pip = (sys.executable, "-m", "pip")
    output(*pip, "wheel", ".", "--no-deps", "--no-build-isolation", "-q", "-w", folder / "dist", cwd=sources)
    shutil.rmtree(sources)
    output(sys.executable, "-m", "venv", "--without-pip", environment, cwd=folder)
    python, program = environment / "bin" / "python", environment / "bin" / "ecg-pretrain-bench"
    (wheel,) = (folder / "dist").glob("*.whl")
    output(*pip, "--python", python, "install", "--no-deps", "--no-index", "-q", wheel, cwd=folder)
    (packages,) = environment.glob("lib/python*/site-packages")
    (packages / "libraries.pth").write_text(f"{LIBRARIES}\n")
    return Installed(python, program, packages)


@pytest.mark.slow
def test_the_wheel_works_outside_the_checkout(installed: Installed, tmp_path: Path) -> None:
    def run(*words: str) -> str:
        return output(installed.program, *words, cwd=tmp_path)

    assert run("report", "--help").startswith("usage: ecg-pretrain-bench report ")
    assert "python run_benchmark.py" not in run("--help")
    assert "licence  Creative Commons" in run("data", "download", "ptb-xl", "--data-root", ".", "--dry-run")
    assert "PMQ" in run(*SMALL.split())
    assert (tmp_path / "out" / "report.html").is_file()
    run("export", "pmq", "--to", "pmq")
    write_record(tmp_path / "mine", simulate("NORM", seed=1))
    run("embed", "mine.hea", "--encoder", "pmq", "--out", "features.csv")
    files = output(installed.python, "-c", IMPORT, cwd=tmp_path).split()
    assert len(files) == 4
    assert all(Path(file).is_relative_to(installed.packages) for file in files)


@pytest.mark.slow
def test_the_wheel_lists_what_it_brings(installed: Installed, tmp_path: Path) -> None:
    listed = output(installed.program, "list", cwd=tmp_path)
    assert set(CONFIGS) <= set(listed.split())
    assert "docs/" not in listed


@pytest.mark.slow
@pytest.mark.parametrize("config", ["demo", "own"])
def test_the_wheel_estimates_a_config(installed: Installed, config: str, tmp_path: Path) -> None:
    tried = completed(installed.program, "--config", config, "--dry-run", cwd=tmp_path)
    if config == "own":
        assert tried.stderr.startswith("error: "), "it needs a card"
    else:
        assert f"config {config}: " in tried.stdout
        missing = [line for line in tried.stderr.splitlines() if "no folder is given: use --data-root" not in line]
        assert missing == []
    assert list(tmp_path.iterdir()) == []
