"""Signals as the literature takes them, from the command line to the tables and the exported encoder."""

from __future__ import annotations

import json
from pathlib import Path

import numpy as np
import pytest

from benchmark import load_encoder
from benchmark.cli.main import OK
from benchmark.data.datasets.base import LEADS
from benchmark.data.simulate import CohortSettings
from benchmark.results.metrics import score_both_units
from benchmark.results.store import Store
from run_benchmark import main
from tests.basic import BASIC
from tests.benchmark.embedding.exported import recording
from tests.on_disk import write_dataset

TINY = [
    *("encoder.hidden=4", "encoder.depth=2", "encoder.output=8", "pretrain.epochs=0.5", "finetune.epochs=2"),
    *("data.segmentation.seconds=2.5", "data.rate=100", "data.pool=max"),
    *("boosting.iterations=2", "methods.pmq.queue_size=16", "linear.strengths=[0.1]"),
]
LITERATURE = [
    *("--segmentation", "recordings"),
    *("--standardise", "dataset", "--leads", "2", "--protocol", "strict", "--labels", "multi"),
]
GRID = [
    "--config",
    BASIC,
    "--seeds",
    "41",
    "--ratios",
    "0.5",
    "--gates",
    "features",
    "--evaluate",
    "finetune",
    "linear",
]
PTB_XL = ["--datasets", "ptb-xl", "--pretrain-dataset", "ptb-xl"]


@pytest.mark.slow
def test_crops_of_two_leads_under_one_scale_are_learned_judged_and_exported(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.chdir(tmp_path)
    patients = ["data.simulation.patients={ptb-xl: 60}", "data.simulation.recordings_per_patient=1"]
    words = [*GRID, "--methods", "random", "pmq", *PTB_XL, *LITERATURE, "--set", *TINY, *patients]
    assert main([*words, "--workers", "1", "--jobs", "1"]) == OK, capsys.readouterr()
    store = Store(Path("runs"))
    (plan,) = (store.load_plan(key) for key in store.plan_keys())
    assert plan.pool == "max"
    for cell in plan.cells:
        row, predictions = store.load_row(cell.key), store.predictions(cell.key)
        assert row is not None
        scores = score_both_units(
            predictions.probability, predictions.truth, predictions.recording, multi=True, pool="max"
        )
        assert row.scores == {unit: scored.values for unit, scored in scores.items()}
        assert len(predictions.recording) == 7 * len(set(predictions.recording))
    shown = Path("out/results.md").read_text()
    assert (
        "Signals: crops of 2.5 s every 1.25 s of whole recordings; 100 Hz; one mean and deviation per dataset;" in shown
    )
    assert "downstream with leads I II alone, the others zero; a recording's probabilities are the maxima" in shown

    assert main(["export", "pmq", "--to", "pmq"]) == OK
    description = json.loads(Path("pmq/config.json").read_text())
    assert description["rate"] == 100
    assert (description["cut"]["samples"], description["cut"]["stride"], description["cut"]["present"]) == (
        250,
        125,
        ["I", "II"],
    )
    encoder, signal = load_encoder("pmq"), recording()
    two = encoder.encode(signal[None][..., :2], 500, LEADS[:2])
    np.testing.assert_array_equal(two, encoder.encode(signal[None], 500, LEADS))
    mean, deviation = description["cut"]["scale"]
    windows, whose = encoder.windows(signal[None], 500, LEADS)
    assert whose.tolist() == [0] * 7
    assert not windows[..., 2:].any()
    scaled = (signal[::5, 0][:250].mean() - mean) / deviation
    assert windows[0, :, 0].mean() == pytest.approx(scaled, abs=0.1)
    capsys.readouterr()
    write_dataset("ptb-xl", tmp_path / "theirs", CohortSettings(12))
    assert (
        main(["embed", "ptb-xl", "--data", "ptb-xl=theirs", "--encoder", "pmq", "--out", "all.npy", "--workers", "1"])
        == OK
    )
    assert np.isfinite(np.load("all.npy")).all()
    assert main(["export", "random", "--to", "random"]) != OK
    assert "random saw no corpus whose mean and deviation standardise" in capsys.readouterr().err
    assert main([*words, "--dry-run"]) == OK
    assert "signals: crops of 2.5 s every 1.25 s of whole recordings, 100 Hz" in capsys.readouterr().out
