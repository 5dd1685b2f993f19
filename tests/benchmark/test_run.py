"""Encoders from elsewhere from the command line to the tables."""

from __future__ import annotations

from pathlib import Path

import pytest

from benchmark.cli.main import OK, USAGE
from run_benchmark import main
from tests.basic import BASIC
from tests.benchmark.external_models import WHY_FROZEN, write

TINY = [
    *("encoder.hidden=4", "encoder.depth=2", "encoder.output=8", "pretrain.epochs=0.5", "finetune.epochs=2"),
    *("linear.strengths=[0.1]", "data.simulation.patients={mimic-iv-ecg: 6, ptb-xl: 60, chapman: 40}"),
]
GRID = [
    *f"--config {BASIC} --seeds 41 42 --ratios 0.5 --baselines none --datasets ptb-xl chapman".split(),
    *("--workers", "1", "--jobs", "1", "--set", *TINY),
]


def test_what_cannot_be_used_is_refused_before_any_data(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.chdir(tmp_path)
    lines = {
        write("learns", Path("features"), features=9): "features 9, but 3 windows give (3, 6); a row each is needed",
        write("learns", Path("names"), pretraining=("ptbx",)): "unknown pretraining data 'ptbx' (did you mean 'PTB'?)",
        write("frozen", Path("frozen")): f"it cannot be fine-tuned: {WHY_FROZEN}; add a probe, e.g. --evaluate",
    }
    for word, line in lines.items():
        assert main(["--methods", str(word), "--evaluate", "finetune", *GRID]) == USAGE
        shown = capsys.readouterr().err
        assert (line in shown, shown.count("\n")) == (True, 1)
    assert not (tmp_path / "cache").exists()


@pytest.mark.slow
def test_rows_of_others_stand_beside_ours(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.chdir(tmp_path)
    words = [
        str(write("learns", Path("learns"), ("chapman", "other: CODE-15"))),
        str(write("frozen", Path("frozen"))),
    ]
    line = ["--evaluate", "finetune", "linear", "--methods", "random", *words, *GRID]
    assert main([*line, "--dry-run"]) == OK, capsys.readouterr()
    assert main(line) == OK, capsys.readouterr()
    capsys.readouterr()
    shown = Path("out/results.md").read_text()
    for remark in (
        "saw these test patients in pretraining, on chapman, CODE-15",
        "not known whether it saw these test patients",
        "saw these test patients: PTB-XL no, Chapman yes. Reads windows of 4 s at 100 Hz of V2 I",
    ):
        assert remark in shown, remark
    assert "saw these test patients" in Path("out/report.html").read_text()
    assert main([*line, "--dry-run"]) == OK
    assert "to do: 0 of 20 cells" in capsys.readouterr().out
    assert main(["export", "theirs-learns", "--to", "exported"]) != OK
    assert "its weights come from elsewhere and are not in the store" in capsys.readouterr().err

    moved = [word.replace("theirs.py", "moved/theirs.py") for word in words]
    for old, new in zip(words, moved, strict=True):
        Path(new).parent.mkdir()
        for file in Path(old).parent.glob("theirs.*"):
            file.rename(Path(new).parent / file.name)
    line = ["--evaluate", "linear", "--methods", *moved, "pmq", "--encoder", "dilated", "resnet1d", *GRID]
    assert main([*line, "--dry-run"]) == OK
    assert "to do: 8 of 16 cells" in capsys.readouterr().out
