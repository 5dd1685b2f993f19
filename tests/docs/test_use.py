"""docs/USE.md: every command and every line of Python on the page, in order, in an empty folder."""

from __future__ import annotations

import re
import shlex
import warnings
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from benchmark.cli.main import OK
from benchmark.data.simulate import SimulatedDataset
from run_benchmark import main
from tests.benchmark.embedding.exported import recording
from tests.on_disk import write_dataset

PAGE = Path(__file__).resolve().parents[2] / "docs" / "USE.md"
BLOCKS = re.findall(r"^```(python)?\n(.*?)^```$", PAGE.read_text(encoding="utf-8"), re.MULTILINE | re.DOTALL)
SMALL = (
    "--methods random pmq --seeds 41 42 --jobs 1 --workers 1 --datasets chapman --ratios 0.5 --set "
    "pretrain.epochs=1 data.simulation.patients.mimic-iv-ecg=6 data.simulation.patients.chapman=40 encoder.hidden=4"
)
"""What makes the page's run one of seconds."""


@pytest.mark.slow
@pytest.mark.draws
def test_every_example_of_the_page_runs(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    pytest.importorskip("pyarrow", reason="the extra `embed` is not installed")
    monkeypatch.chdir(tmp_path)
    signals = np.stack([recording(seed) for seed in range(6)])
    signals[1] = np.nan  # real data hold such recordings
    np.save("mine.npy", signals)
    messages: list[str] = []
    write_dataset(SimulatedDataset("chapman", 10), tmp_path / "recordings")
    space: dict[str, Any] = {}
    for language, text in BLOCKS:
        if "torch.onnx" in text:  # needs packages that the suite does not
            continue
        if language:
            with warnings.catch_warnings(record=True) as caught:
                warnings.simplefilter("always")
                exec(compile(text, str(PAGE), "exec"), space)
            messages += [str(warning.message) for warning in caught]
            continue
        for line in text.splitlines():
            words = shlex.split(line.removeprefix("python run_benchmark.py"))
            assert main(words or shlex.split(SMALL)) == OK, line
    assert {"pmq", "features.parquet", "features.npy"} <= {path.name for path in tmp_path.iterdir()}
    assert messages
    assert {line.partition(" have no embedding: 1 NaN samples (1: NaN")[1] != "" for line in messages} == {True}
