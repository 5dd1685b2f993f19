"""Signals as the literature takes them, from the command line to the tables and the exported encoder."""

from __future__ import annotations

import re
from pathlib import Path

import pytest

from benchmark import load_encoder
from benchmark.cli.main import OK
from benchmark.data.datasets.base import LEADS
from benchmark.embedding import read_description
from benchmark.results.metrics import score_both_units
from benchmark.results.store import Store
from run_benchmark import main
from tests.basic import BASIC
from tests.benchmark.embedding.exported import recording

TINY = [
    *("encoder.hidden=4", "encoder.depth=2", "encoder.output=8", "pretrain.epochs=0.5", "finetune.epochs=2"),
    *("data.segmentation.seconds=2.5", "data.rate=100", "data.pool=max"),
    *("boosting.iterations=2", "methods.pmq.queue_size=16", "linear.strengths=[0.1]"),
]
LITERATURE = [
    *("--config", BASIC, "--segmentation", "recordings"),
    *("--standardise", "dataset", "--leads", "2", "--protocol", "strict", "--labels", "multi"),
]
GRID = "--seeds 41 --ratios 0.5 --gates features --evaluate finetune linear --datasets ptb-xl --pretrain-dataset ptb-xl"


@pytest.mark.slow
def test_crops_of_two_leads_under_one_scale_are_learned_judged_and_exported(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.chdir(tmp_path)
    patients = ["data.simulation.patients={ptb-xl: 60}", "data.simulation.recordings_per_patient=1"]
    words = [*LITERATURE, *GRID.split(), "--methods", "random", "pmq", "--set", *TINY, *patients]
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
    signals, *_ = re.findall("Signals: .*", Path("out/results.md").read_text())
    for part in ("crops of 2.5 s every 1.25 s", "leads I II", "pool max", "standardise dataset"):
        assert part in signals, signals

    assert main(["export", "pmq", "--to", "pmq"]) == OK
    about = read_description(Path("pmq"))
    assert (about.segmentation.samples, about.segmentation.stride, about.leads) == (250, 125, ("I", "II"))
    assert about.scale is not None
    signal, (mean, deviation) = recording(), about.scale
    windows, _ = load_encoder("pmq").windows(signal[None], 500, LEADS)
    assert not windows[..., 2:].any()
    scaled = (signal[::5, 0][:250].mean() - mean) / deviation
    assert windows[0, :, 0].mean() == pytest.approx(scaled, abs=0.1)
    assert main(["export", "random", "--to", "random"]) != OK
    assert "random saw no corpus whose mean and deviation standardise" in capsys.readouterr().err
