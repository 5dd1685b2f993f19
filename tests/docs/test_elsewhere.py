"""docs/METHODS.md: its card is one, its keys are all there are, and its commands lead to rows in a table."""

from __future__ import annotations

import re
import runpy
import shlex
import shutil
import sys
from dataclasses import fields
from pathlib import Path

import pytest

from benchmark.config.command_line import OK
from benchmark.config.words import find_method
from benchmark.elsewhere import ModelCard
from methods.encoders.pretrained import PretrainedEncoder, Signals
from run_benchmark import main
from tests.docs.pages import DOCS, text_of

TEXT = text_of("METHODS.md", "## Encoders from elsewhere as rows")
CARD = (DOCS / "elsewhere" / "card.yaml").read_text(encoding="utf-8")
SETTINGS = (
    *("encoder.hidden=4", "encoder.depth=1", "encoder.output=8", "pretrain.epochs=0.3", "finetune.epochs=1"),
    *("data.datasets=[ptb-xl]", "data.simulation.patients={mimic-iv-ecg: 6, ptb-xl: 60}"),
)
SMALL = ["--gates", "none", "--ratios", "0.3", "--seeds", "41", "--workers", "1", "--set", *SETTINGS]
COMMANDS = re.findall(r"^python (.*)$", TEXT, re.MULTILINE)


def test_the_card_of_the_page_is_that_of_the_example() -> None:
    assert f"```yaml\n{CARD}```" in TEXT


def test_every_key_is_on_the_page() -> None:
    keys = [key for key in ModelCard.model_fields if key != "signals"]
    keys += [f"signals.{field.name}" for field in fields(Signals)]
    assert [key for key in keys if f"`{key}`" not in TEXT] == []
    for name in ("pretrained_on", "weights", "load", "encode", "frozen"):
        assert f"`{name}" in TEXT
        assert hasattr(PretrainedEncoder, name) or name in PretrainedEncoder.__annotations__


@pytest.mark.slow
def test_the_commands_lead_to_rows(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    pytest.importorskip("onnx")
    pytest.importorskip("onnxruntime")
    monkeypatch.chdir(tmp_path)
    shutil.copytree(DOCS / "elsewhere", "docs/elsewhere")
    make, *lines = COMMANDS
    script, folder = shlex.split(make)
    monkeypatch.setattr(sys, "argv", [script, folder])
    monkeypatch.setattr(sys, "path", list(sys.path))
    runpy.run_path(script, run_name="__main__")
    assert find_method("theirs/graph.yaml").title == "Theirs (ONNX)"
    for line in lines:
        program, *words = shlex.split(line)
        assert program == "run_benchmark.py"
        planned = [] if line == lines[-1] else ["--dry-run"]
        whole = words if words[0] == "check-method" else [*words, *SMALL, *planned]
        assert main(whole) == OK, capsys.readouterr()
    shown = Path("out/results.md").read_text()
    assert re.search(r"\| Theirs +\| +\**\d", shown)
    assert re.search(r"\| Theirs \(ONNX\) +\| +\**\d", shown)
    assert "it cannot be fine-tuned: an ONNX file has no gradients" in shown
    assert "saw these test patients: PTB-XL no." in shown
