"""Signals as the literature takes them, from the command line to the tables."""

from __future__ import annotations

from pathlib import Path

import pytest

from benchmark.cli.main import OK
from benchmark.results.metrics import HEADLINES, ranked_classes, score_both_units
from benchmark.results.store import Store
from run_benchmark import main
from tests.basic import BASIC

LITERATURE = (
    "--segmentation recordings --standardise dataset --leads 2 --protocol strict --labels multi --methods random pmq "
    "--seeds 41 --ratios 0.5 --baselines features --evaluate finetune linear --datasets ptb-xl "
    "--pretrain-dataset ptb-xl --workers 1 --jobs 1 --set data.segmentation.seconds=2.5 data.rate=100 data.pool=max "
    "encoder.hidden=4 encoder.depth=2 encoder.output=8 pretrain.epochs=0.5 finetune.epochs=2 boosting.iterations=2 "
    "methods.pmq.queue_size=16 linear.strengths=[0.1] data.simulation.recordings_per_patient=1"
)


@pytest.mark.slow
def test_crops_of_two_leads_under_one_scale_are_judged(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.chdir(tmp_path)
    words = ["--config", BASIC, *LITERATURE.split(), "data.simulation.patients={ptb-xl: 60}"]
    assert main(words) == OK, capsys.readouterr()
    store = Store(Path("runs"))
    plan = store.load_plan()
    assert plan.pool == "max"
    for cell in plan.cells:
        row, predictions = store.load_row(cell.key), store.predictions(cell.key)
        assert row is not None
        judged = predictions.probability, predictions.truth, predictions.recording
        ranked = ranked_classes(predictions.truth, predictions.patient, HEADLINES["strict"])
        scores = score_both_units(*judged, multi=True, pool="max", classes=ranked)
        for unit, scored in scores.items():
            assert scored.values.items() <= row.scores[unit].items()  # beside those by thresholds
        assert len(predictions.recording) == 7 * len(set(predictions.recording))
    signals = Path("out/results.md").read_text().partition("Signals: ")[2].partition("\n")[0]
    for part in ("crops of 2.5 s every 1.25 s", "leads I II", "pool max", "standardise dataset"):
        assert part in signals, signals
