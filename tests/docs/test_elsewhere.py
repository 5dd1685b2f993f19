"""docs/METHODS.md: the attributes are all there are, and its commands lead to rows in a table."""

from __future__ import annotations

import re
import runpy
import shlex
import shutil
from dataclasses import fields
from pathlib import Path

import pytest

from benchmark.cli.main import OK
from methods.encoders.pretrained import PretrainedEncoder, SignalFormat
from run_benchmark import main
from tests.docs.pages import DOCS, text_of

TEXT = text_of("METHODS.md", "## Encoders from elsewhere as rows")
SETTINGS = (
    *("encoder.hidden=4", "encoder.depth=1", "encoder.output=8", "pretrain.epochs=0.3", "finetune.epochs=1"),
    *("data.datasets=[ptb-xl]", "data.simulation.patients={mimic-iv-ecg: 6, ptb-xl: 60}"),
)
SMALL = ["--baselines", "none", "--ratios", "0.3", "--seeds", "41", "--workers", "1", "--set", *SETTINGS]
COMMANDS = re.findall(r"^python run_benchmark.py (.*)$", TEXT, re.MULTILINE)


def test_every_attribute_is_on_the_page() -> None:
    attributes = [name for name in PretrainedEncoder.__annotations__ if name != "Config"]
    names = [*attributes, *(field.name for field in fields(SignalFormat)), "load", "encode"]
    assert [name for name in names if f"`{name}`" not in TEXT] == []


@pytest.mark.slow
def test_the_commands_lead_to_rows(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.chdir(tmp_path)
    shutil.copy(DOCS / "elsewhere" / "theirs.py", "theirs.py")
    runpy.run_path("theirs.py", run_name="__main__")
    check, run = (shlex.split(line) for line in COMMANDS)
    assert main(check) == OK, capsys.readouterr()
    assert main([*run, *SMALL]) == OK, capsys.readouterr()
    shown = Path("out/results.md").read_text()
    assert re.search(r"\| Theirs +\| +\**\d", shown)
    assert "saw these test patients: PTB-XL no." in shown
