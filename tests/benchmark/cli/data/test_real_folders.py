"""Three folders of real recordings, as strangers have them, from `data new-card` to a table.

EDF files and a TSV table; one NumPy array a recording and a CSV table with a column of yes and no per class; all
recordings in one HDF5 file with a workbook. The recordings and labels are PTB-XL's.
"""

from __future__ import annotations

import re
from collections.abc import Callable
from pathlib import Path

import numpy as np
import pandas as pd
import pytest
import wfdb
from numpy.typing import NDArray

from benchmark.cli.main import OK
from benchmark.data.datasets.ptb_xl import PTBXL
from run_benchmark import main
from tests.benchmark.data.datasets.cards import written

pytestmark = pytest.mark.slow

RECORDINGS = 240
CLASSES = PTBXL.classes
Signals = NDArray[np.float64]


@pytest.fixture(scope="module")
def recordings(real_ptb_xl: Path) -> tuple[pd.DataFrame, list[Signals]]:
    """A table of genuine recordings with one superclass each, and their signals in mV: (1000, 12) at 100 Hz each."""
    table = pd.read_csv(real_ptb_xl / "ptbxl_database.csv")
    entries = PTBXL(real_ptb_xl).listing().entries
    labels = {int(entry.recording): CLASSES[entry.labels[0]] for entry in entries if len(entry.labels) == 1}
    table["label"] = table["ecg_id"].map(labels)
    own = table[(table["signal_source"] == "raw") & table["label"].isin(CLASSES)].head(RECORDINGS)
    signals = [wfdb.rdsamp(str(real_ptb_xl / path))[0] for path in own["filename_lr"]]
    return own.reset_index(drop=True), signals


def as_edf(folder: Path, table: pd.DataFrame, signals: list[Signals]) -> None:
    (folder / "export").mkdir(parents=True)
    for number, signal in zip(table["ecg_id"], signals, strict=True):
        written.edf(folder / "export" / f"{number:05}.edf", np.rint(signal * 1000).astype(np.int16), 100, 1.0)
    columns = {"file": [f"{number:05}" for number in table["ecg_id"]], "pat_id": table["patient_id"].astype(int)}
    pd.DataFrame({**columns, "diagnosis": table["label"]}).to_csv(folder / "labels.tsv", sep="\t", index=False)


def as_numpy(folder: Path, table: pd.DataFrame, signals: list[Signals]) -> None:
    (folder / "npy").mkdir(parents=True)
    for number, signal in zip(table["ecg_id"], signals, strict=True):
        np.save(folder / "npy" / f"{number:05}.npy", signal.astype(np.float32))
    yes = {name: (table["label"] == name).astype(int) for name in CLASSES}
    own = {"recording": [f"{number:05}" for number in table["ecg_id"]], "patient": table["patient_id"].astype(int)}
    pd.DataFrame({**own, **yes}).to_csv(folder / "labels.csv", index=False)


def as_hdf5(folder: Path, table: pd.DataFrame, signals: list[Signals]) -> None:
    h5py = pytest.importorskip("h5py")
    folder.mkdir(parents=True)
    with h5py.File(folder / "all.h5", "w") as file:
        file["tracings"] = np.stack(signals).astype(np.float32)  # (240, 1000, 12)
        file["exam_id"] = table["ecg_id"].to_numpy()
    own = {"exam_id": table["ecg_id"], "patient_id": table["patient_id"].astype(int), "class": table["label"]}
    pd.DataFrame(own).to_excel(folder / "exams.xlsx", index=False)


LEADS = "[I, II, III, aVR, aVL, aVF, V1, V2, V3, V4, V5, V6]"
ARRAYS = {"rate": "100", "unit": "mV", "leads": LEADS}
"""What NumPy and HDF5 files do not state."""
SETTINGS = "--config demo --methods random pclr --ratios 1 --seeds 41 42 --device cpu --set pretrain.epochs=2"


@pytest.mark.parametrize(
    ("write", "needs", "answers"),
    [(as_edf, "ecgdatakit", {}), (as_numpy, "numpy", ARRAYS), (as_hdf5, "h5py", ARRAYS)],
)
def test_a_stranger_comes_from_a_folder_to_a_table(
    write: Callable[..., None],
    needs: str,
    answers: dict[str, str],
    recordings: tuple[pd.DataFrame, list[Signals]],
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
    capsys: pytest.CaptureFixture[str],
) -> None:
    pytest.importorskip(needs)
    write(tmp_path / "ecgs", *recordings)
    monkeypatch.chdir(tmp_path)
    main(["data", "new-card", "ecgs"])
    card = tmp_path / "ecgs" / "ecgs.yaml"
    text = card.read_text()
    assert re.findall(r'(\w+): "\?"', text) == list(answers)
    for key, answer in answers.items():
        text = text.replace(f'{key}: "?"', f"{key}: {answer}")
    card.write_text(text)
    capsys.readouterr()
    assert main(["data", "check", "--datasets", "ecgs/ecgs.yaml"]) == OK
    said = capsys.readouterr().out
    assert "240 listed; 240 usable, of 227 patients" in said
    assert "patients    stated, so labelled subsets and splits are by patient (protocol strict)" in said
    assert "QRS amplitude 1.01 mV, heart rate 67/min" in said
    assert main(["--datasets", "ecgs/ecgs.yaml", "--pretrain-dataset", "ecgs/ecgs.yaml", *SETTINGS.split()]) == OK
    table = Path("out/results.md").read_text()
    assert re.search(r"\| PCLR .*\d\d\.\d", table)
    assert "protocol strict, preset unified, single labels. Data: ecgs (real)" in table
    assert "Test patients: ecgs 23." in table
