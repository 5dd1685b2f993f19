"""The verb `check`: a line per check of a method or weights from elsewhere, and a status."""

from __future__ import annotations

from pathlib import Path

import pytest

from benchmark.cli.main import FAILED, OK
from run_benchmark import main
from tests.benchmark.external_models import SIGNALS, write

FAULTY = """
from dataclasses import dataclass
from methods.base import MethodConfig, PretrainMethod


class Faulty(PretrainMethod):
    name = "faulty"
    title = ""
    trains = False
"""


def test_a_line_per_check_and_a_status(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["check", "random"]) == OK
    assert capsys.readouterr().out == "random: 1 checks, at most half a minute\nok     is built from its config\n"
    (tmp_path / "faulty.py").write_text(FAULTY)
    assert main(["check", str(tmp_path / "faulty.py")]) == FAILED
    shown = capsys.readouterr().out
    assert "FAILED is built from its config: Faulty.title is empty: give the class one" in shown
    assert "1 of 1 checks failed; docs/METHODS.md has the contract" in shown


@pytest.mark.parametrize("form", SIGNALS)
def test_weights_from_elsewhere(form: str, tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    file = write(form, tmp_path)
    assert main(["check", str(file)]) == OK
    capsys.readouterr()
    loads = 'self.load_state_dict(torch.load(self.file("theirs.pt"), weights_only=True))'
    file.write_text(file.read_text().replace(loads, "nn.init.normal_(self.conv.weight)"))
    broken = file.rename(tmp_path / "broken.py")
    assert main(["check", str(broken)]) == FAILED
    assert "FAILED loads the same weights twice: loading it twice gives other features" in capsys.readouterr().out
