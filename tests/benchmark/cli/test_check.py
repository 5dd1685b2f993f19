"""The verb `check`: weights from elsewhere pass, and a fault is a line and a status."""

from __future__ import annotations

from pathlib import Path

import pytest

from benchmark.cli.main import FAILED, OK
from run_benchmark import main
from tests.benchmark.external_models import SIGNALS, write


def test_faulty_forward(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    example = Path("docs/method/align_uniform.py").read_text()
    faulty = tmp_path / "faulty.py"
    faulty.write_text(example.replace("(self.encoder.pooled(x))", "(self.encoder.pooled(x)[:, 1:])"))
    assert main(["check", str(faulty)]) == FAILED
    assert "FAILED loss is a finite scalar: RuntimeError: " in capsys.readouterr().out


@pytest.mark.parametrize("form", SIGNALS)
def test_weights_from_elsewhere(form: str, tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    file = write(form, tmp_path)
    assert main(["check", str(file)]) == OK
    capsys.readouterr()
    loads = 'self.load_state_dict(torch.load(self.file("theirs.pt"), weights_only=True))'
    file.write_text(
        file.read_text().replace(loads, "nn.init.normal_(self.conv.weight); nn.init.zeros_(self.conv.bias)")
    )
    broken = file.rename(tmp_path / "broken.py")
    assert main(["check", str(broken)]) == FAILED
    assert "FAILED loads its weights: loading it twice gives other features" in capsys.readouterr().out
