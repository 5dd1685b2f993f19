"""The verb `embed`: records, folders, arrays and datasets -> a table with a row for each recording, in order."""

from __future__ import annotations

import csv
import json
import re
import shutil
from pathlib import Path

import numpy as np
import pandas as pd
import pytest
import torch

from benchmark import load_encoder
from benchmark.cli.main import OK, USAGE
from benchmark.config.load import load_config
from benchmark.data.datasets.base import LEADS
from benchmark.data.datasets.wfdb_files import read_recording
from benchmark.data.prepare import Prepared
from benchmark.data.task import make_task
from benchmark.embedding import mean_of
from benchmark.training.probes import features
from run_benchmark import main
from tests.basic import BASIC
from tests.benchmark.embedding.exported import RATE, export_encoder, recording
from tests.benchmark.small_cohorts import PATIENTS, small_cohort
from tests.on_disk import write_record
from tests.own_folder import write_own_folder


@pytest.fixture
def here(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """An empty working directory with an exported encoder."""
    monkeypatch.chdir(tmp_path)
    export_encoder(tmp_path / "encoder")
    return tmp_path


def embed(*words: str) -> int:
    return main(["embed", *words, "--encoder", "encoder", "--workers", "1"])


def table(file: Path) -> tuple[np.ndarray, list[dict[str, str]]]:
    with open(file.with_suffix(".csv"), newline="") as text:
        return np.load(file), list(csv.DictReader(text))


def test_an_array_is_embedded_row_by_row_or_window_by_window(here: Path, capsys: pytest.CaptureFixture[str]) -> None:
    signals = np.stack([recording(), np.zeros((5000, 12)), recording(1)])
    signals[2, :, 6] = 0.0
    np.save("mine.npy", signals[..., ::-1])
    words = ["mine.npy", "--rate", "500", "--leads", *reversed(LEADS)]
    assert embed(*words, "--out", "features.npy") == OK
    shown = capsys.readouterr().out
    assert "warning: 1 of 3 recordings have no embedding: 1 all samples zero\n" in shown
    assert "warning: 1 of 3 recordings has a flat lead, which says nothing to the encoder: 2 (V1); see whether" in shown
    assert "wrote features.npy: 3 rows of 6 numbers\n" in shown
    found, rows = table(here / "features.npy")
    encoder = load_encoder("encoder")
    with pytest.warns(UserWarning, match="1 of 3 recordings"):
        expected = encoder.encode(signals, RATE, LEADS)
    assert np.array_equal(found, expected, equal_nan=True)
    told = [(row["recording"], row["reason"], row["windows"]) for row in rows]
    assert told == [("0", "", "12"), ("1", "all samples zero", "0"), ("2", "", "12")]
    assert embed(*words, "--out", "w.npy", "--per-window") == OK
    found, rows = table(here / "w.npy")
    with pytest.warns(UserWarning, match="a flat lead"):
        expected, whose = encoder.encode_windows(signals[[0, 2]], RATE, LEADS)
    assert np.array_equal(found, expected)
    assert [row["recording"] for row in rows] == [str(2 * number) for number in whose]
    assert [int(row["window"]) for row in rows] == [*range(12), *range(12)]


@pytest.mark.parametrize("form", [".npy", ".parquet"])
def test_no_file_but_an_own_table_is_replaced(here: Path, capsys: pytest.CaptureFixture[str], form: str) -> None:
    np.save("mine.npy", recording()[None])
    words = ["mine.npy", "--rate", "500", "--leads", *LEADS, "--out"]
    if form == ".parquet":
        pytest.importorskip("pyarrow", reason="the extra `embed` is not installed")
        pd.DataFrame({"recording": ["0"], "label": ["AF"]}).to_parquet("labels.parquet")
        Path("broken.parquet").write_bytes(b"PAR1")
        foreign = {"labels.parquet": "labels.parquet", "broken.parquet": "broken.parquet"}
    else:
        Path("labels.csv").write_text("recording,label\n0,AF\n")
        np.save("alone.npy", np.zeros((1, 6), np.float32))
        foreign = {"labels.npy": "labels.csv", "./mine.npy": "mine.npy", "alone.npy": "alone.npy"}
    before = {file: file.read_bytes() for file in here.iterdir() if file.is_file()}
    for out, there in foreign.items():
        assert embed(*words, out) == USAGE
        said = capsys.readouterr().err
        assert f"{there} is there and no table that `embed` wrote: name another file" in said
        assert len(said.splitlines()) == 1
    assert {file: file.read_bytes() for file in here.iterdir() if file.is_file()} == before
    for further in ([], [], ["--per-window"], []):
        assert embed(*words, f"own{form}", *further) == OK, "its own table is made anew"
    shutil.copy("mine.npy", f"own{form}")
    assert embed(*words, f"own{form}") == USAGE, "three axes are signals"


def test_records_and_folders_are_found_once_in_order(here: Path, cohorts: dict[str, Prepared]) -> None:
    dataset = small_cohort("chapman")
    first, second = (
        write_record(here / folder / entry.recording, dataset.read(entry).signal, mat=True)
        for folder, entry in zip(("records", "others"), cohorts["chapman"].entries, strict=False)
    )
    assert embed(str(second), f"{second}.hea", "records", "--out", "f.npy") == OK
    found, rows = table(here / "f.npy")
    assert [row["recording"] for row in rows] == [str(second), f"records/{first.name}"]
    read = [dataset.read(entry) for entry in cohorts["chapman"].entries[1::-1]]
    assert np.array_equal(found, load_encoder("encoder").encode([own.signal for own in read], read[0].fs, LEADS))


def test_a_dataset_has_the_embeddings_of_the_probes_sides(here: Path, cohorts: dict[str, Prepared]) -> None:
    pq = pytest.importorskip("pyarrow.parquet", reason="the extra `embed` is not installed")
    prepared, config = cohorts["ptb-xl"], load_config(BASIC)
    text = re.sub(r"patients: \{.*\}", f"patients: {json.dumps(PATIENTS)}", Path(BASIC).read_text())
    Path("small.yaml").write_text(text)
    assert embed("ptb-xl", "--config", "small.yaml", "--out", "f.parquet") == OK
    read = pq.read_table("f.parquet")
    rows = read.to_pandas().set_index("recording")
    assert b'"simulated": true' in read.schema.metadata[b"embeddings"]
    task = make_task(prepared, config.task_spec(config.finetune), ratio=0.5, seed=41, device=torch.device("cpu"))
    encoder = load_encoder("encoder")
    for name, side in {"validation": task.validation, "test": task.test}.items():
        seen = features(encoder.encoder, side.signal, "float32")
        assert set(rows.index[(rows["split"] == name) & (rows["windows"] > 0)]) == set(side.recording)
        for own in dict.fromkeys(side.recording.tolist()):
            expected = mean_of(seen[side.recording == own], encoder.width)
            assert np.array_equal(rows.loc[own, encoder.feature_names].to_numpy(np.float32), expected)
    labels = {
        entry.recording: ";".join(prepared.classes[label] for label in entry.labels) for entry in prepared.entries
    }
    assert rows.loc[list(labels), "labels"].to_dict() == labels
    assert len(rows) == len(prepared.entries) + len(prepared.skipped)
    assert (rows["reason"] != "").sum() == rows["e0"].isna().sum() == (rows["windows"] == 0).sum()


def test_a_card_and_its_folder_are_embedded(here: Path) -> None:
    write_own_folder(here / "ours", 20)
    assert main(["data", "new-card", "ours"]) == OK
    assert embed("ours/ours.yaml", "--out", "f.npy") == OK
    found, rows = table(here / "f.npy")
    told = pd.read_csv(here / "ours" / "labels.csv").set_index("recording").to_dict("index")
    assert found.shape == (20, load_encoder("encoder").width)
    assert {row["recording"]: (row["patient"], row["labels"]) for row in rows} == {
        name: (own["patient"], own["rhythm"]) for name, own in told.items()
    }
    assert {row["split"] for row in rows if row["windows"] != "0"} == {"train", "validation", "test"}
    scored = next(number for number, row in enumerate(rows) if row["windows"] != "0")
    read = read_recording(here / "ours" / "waveforms" / rows[scored]["recording"])
    expected = load_encoder("encoder").encode([read.signal], read.fs, LEADS)
    np.testing.assert_allclose(found[scored], expected[0], rtol=1e-5, atol=1e-6)


ARRAY = ["mine.npy", "--rate", "500", "--leads", *LEADS]


@pytest.mark.parametrize(
    ("words", "message"),
    [
        ([*ARRAY, "--out", "f.csv"], "--out f.csv: .csv is no form of a table; use .parquet or .npy"),
        (["mine.npy", "--rate", "500", "--out", "f.npy"], "mine.npy does not say its leads: add --leads I II III"),
        (["mine.npy", "--leads", *LEADS, "--out", "f.npy"], "mine.npy does not say its rate: add --rate 500"),
        ([*ARRAY[:-1], "VX", "--out", "f.npy"], "lead missing: V6; not known: VX; the 12 are"),
        (["flat.npy", *ARRAY[1:], "--out", "f.npy"], "flat.npy has the shape (100, 12), not (n, samples, leads)"),
        (["empty", "--out", "f.npy"], "empty: no WFDB record (.hea file) in this folder"),
        (["ptb-xl", "empty", "--out", "f.npy"], "ptb-xl: a dataset or a .npy is embedded alone, not with empty"),
    ],
)
def test_what_cannot_be_embedded_is_one_line_and_writes_nothing(
    words: list[str], message: str, here: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    np.save("mine.npy", recording()[None])
    np.save("flat.npy", np.zeros((100, 12)))
    np.save("none.npy", np.zeros((0, 100, 12)))
    Path("text.npy").write_text("no array")
    for folder in ("folder.npy", "empty", "carded"):
        Path(folder).mkdir()
    Path("carded", "ours.yaml").touch()
    before = sorted(here.rglob("*"))
    assert embed(*words) == USAGE
    shown = capsys.readouterr()
    assert message in shown.err
    assert shown.err.count("\n") == 1
    assert sorted(here.rglob("*")) == before
