"""The built wheel in an environment of its own, used from another folder: the demo in small, all that it brings besides
its code (configs, addresses, templates, the paper's numbers), `export`, `embed`, the import.

Its packages are the wheel's; the libraries are those of this environment, so that nothing is downloaded.
"""

from __future__ import annotations

import os
import shutil
import subprocess
import sys
from pathlib import Path

import pytest
import torch

from benchmark.data.simulate import simulate
from tests.on_disk import write_record

ROOT = Path(__file__).resolve().parents[1]
LIBRARIES = Path(torch.__file__).resolve().parents[1]
SOURCES = ("benchmark", "methods", "reports", "run_benchmark.py", "pyproject.toml", "README.md", "LICENSE")
PATIENTS = {"mimic-iv-ecg": 8, "ptb-xl": 80, "chapman": 60, "cpsc2018": 60}
SMALL = "--methods random pmq --seeds 41 42 --jobs 1 --workers 1 --set pretrain.epochs=1 " + " ".join(
    f"data.simulation.patients.{name}={patients}" for name, patients in PATIENTS.items()
)
"""The demo in small."""
IMPORT = """
import numpy as np
from benchmark import EcgEmbedder, load_encoder
import benchmark, methods, reports, run_benchmark
leads = ["I", "II", "III", "aVR", "aVL", "aVF", "V1", "V2", "V3", "V4", "V5", "V6"]
features = np.loadtxt("features.csv", delimiter=",", dtype=str)
assert len(features) == 2, features
encoder = load_encoder("pmq")
assert encoder.encode([], rate=500, leads=leads).shape == (0, encoder.width)
print(*(module.__file__ for module in (benchmark, methods, reports, run_benchmark)), sep="\\n")
"""


@pytest.mark.slow
def test_the_wheel_runs_the_demo_embeds_and_is_imported_elsewhere(tmp_path: Path) -> None:
    sources, environment, elsewhere = tmp_path / "sources", tmp_path / "env", tmp_path / "elsewhere"
    elsewhere.mkdir()
    sources.mkdir()
    for name in SOURCES:  # a copy, since setuptools builds in its folder
        copy = shutil.copytree if (ROOT / name).is_dir() else shutil.copy
        copy(ROOT / name, sources / name)
    clean = {name: value for name, value in os.environ.items() if name != "PYTHONPATH"}

    def run(*words: str | Path, cwd: Path = elsewhere) -> str:
        done = subprocess.run(words, cwd=cwd, env=clean, capture_output=True, text=True, check=False)
        assert done.returncode == 0, f"{words}\n{done.stdout[-3000:]}\n{done.stderr[-3000:]}"
        return done.stdout

    pip = (sys.executable, "-m", "pip")
    run(*pip, "wheel", ".", "--no-deps", "--no-build-isolation", "-q", "-w", tmp_path / "dist", cwd=sources)
    run(sys.executable, "-m", "venv", "--without-pip", environment)
    python, program = environment / "bin" / "python", environment / "bin" / "ecg-pretrain-bench"
    (wheel,) = (tmp_path / "dist").glob("*.whl")
    run(*pip, "--python", python, "install", "--no-deps", "--no-index", "-q", wheel)
    (packages,) = environment.glob("lib/python*/site-packages")
    (packages / "libraries.pth").write_text(f"{LIBRARIES}\n")
    shutil.rmtree(sources)
    assert run(program, "report", "--help").startswith("usage: ecg-pretrain-bench report ")
    assert "python run_benchmark.py" not in run(program, "--help")
    assert run(program, "--dry-run").startswith("config demo: ")
    assert "licence  Creative Commons" in run(program, "data", "download", "ptb-xl", "--data-root", ".", "--dry-run")
    assert "PMQ" in run(program, *SMALL.split())
    assert (elsewhere / "out" / "report.html").is_file()
    run(program, "export", "pmq", "--to", "pmq")
    write_record(elsewhere / "mine", simulate("NORM", seed=1))
    run(program, "embed", "mine.hea", "--encoder", "pmq", "--out", "features.csv")
    files = run(python, "-c", IMPORT).split()
    assert len(files) == 4
    assert all(Path(file).is_relative_to(packages) for file in files)
