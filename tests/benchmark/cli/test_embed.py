"""The command `embed`: records and folders of them -> a table with a row for each recording, in order."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pandas as pd
import pytest

from benchmark import load_encoder
from benchmark.cli.main import OK, USAGE
from benchmark.data.datasets.base import LEADS
from run_benchmark import main
from tests.benchmark.embedding.exported import RATE, export_encoder, recording
from tests.on_disk import write_record


@pytest.fixture
def here(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A working directory with an exported encoder, and recordings of which one has no heartbeat."""
    monkeypatch.chdir(tmp_path)
    export_encoder(tmp_path / "encoder")
    for name, signal in {"a/1": recording(), "a/2": np.zeros((5000, 12)), "3": recording(1)}.items():
        write_record(tmp_path / "records" / name, signal.astype(np.float32), mat=True)
    return tmp_path


def embed(*words: str) -> int:
    return main(["embed", *words, "--encoder", "encoder", "--device", "cpu"])


def test_records_and_folders_are_embedded_once_in_order(here: Path, capsys: pytest.CaptureFixture[str]) -> None:
    for out in ("f.csv", "f.npy"):
        assert embed("records/3.hea", "records", "--out", out) == OK
        shown = " ".join(capsys.readouterr().out.split())
        assert "warning: 1 of 3 recordings have no embedding: 1 all samples zero (2: all samples zero)" in shown
        assert f"wrote {out}: 3 rows of 6 numbers" in shown
    encoder = load_encoder("encoder")
    table = pd.read_csv("f.csv", keep_default_na=False, na_values={"e0": [""]})
    assert table["recording"].tolist() == ["records/3", "records/a/1", "records/a/2"]
    assert table["windows"].tolist() == [12, 12, 0]
    assert table["reason"].tolist() == ["", "", "all samples zero"]
    numbers = np.load("f.npy")
    np.testing.assert_allclose(
        table[encoder.feature_names].replace("", np.nan).to_numpy(np.float32), numbers, rtol=1e-5
    )
    expected = encoder.encode([recording(1), recording()], RATE, LEADS)
    np.testing.assert_allclose(numbers[:2], expected, atol=2e-2)  # the files hold whole microvolts
    assert np.isnan(numbers[2]).all()


@pytest.mark.parametrize(
    ("words", "message"),
    [
        (["records", "--out", "f.txt"], "--out f.txt: .txt is no form of a table; use .parquet, .csv, .npy"),
        (["mine.npy", "--out", "f.npy"], "mine.npy: neither a WFDB record nor a folder of them"),
    ],
)
def test_what_cannot_be_embedded_is_one_line(
    words: list[str], message: str, here: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    assert embed(*words) == USAGE
    shown = capsys.readouterr()
    assert (message in shown.err, shown.err.count("\n")) == (True, 1)
