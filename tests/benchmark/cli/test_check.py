"""The verb `check`: weights from elsewhere pass, and a fault is a line and a status."""

from __future__ import annotations

import re
from pathlib import Path

import pytest

from benchmark.cli.main import FAILED, OK, USAGE
from benchmark.config.errors import ConfigError
from benchmark.config.load import load_config
from run_benchmark import main
from tests.benchmark.external_models import SIGNALS, write
from tests.docs.pages import DOCS


def test_faulty_forward(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    example = Path("docs/method/align_uniform.py").read_text()
    faulty = tmp_path / "faulty.py"
    faulty.write_text(example.replace("(self.encoder.pooled(x))", "(self.encoder.pooled(x)[:, 1:])"))
    assert main(["check", str(faulty)]) == FAILED
    assert "FAILED loss is a finite scalar: RuntimeError: " in capsys.readouterr().out


@pytest.mark.parametrize(
    ("example", "correct", "fault", "line"),
    [
        (
            "method/align_uniform.py",
            "pydantic.dataclasses",
            "dataclasses",
            "FAILED a run takes it: .* decorate it with",
        ),
        ("encoder/gru.py", "nn.Conv1d(sizes.hidden, ", "nn.LazyConv1d(", "FAILED a run takes it: .*lazy layer"),
        ("encoder/gru.py", "super().__init__(config)", "raise ValueError('no')", "trains it: no method takes it: no"),
        ("encoder/gru.py", "(self.halve(", "(1 / 0 * (", "trains it: ZeroDivisionError: "),
    ],
    ids=["config", "lazy", "refuses", "fails"],
)
def test_what_a_run_refuses_fails(
    example: str, correct: str, fault: str, line: str, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    faulty = tmp_path / "faulty.py"
    faulty.write_text((DOCS / example).read_text().replace(correct, fault))
    assert main(["check", str(faulty)]) == FAILED
    assert re.search(line, capsys.readouterr().out)


def test_a_field_of_a_config_without_a_default_is_named_once(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    faulty = tmp_path / "faulty.py"
    faulty.write_text((DOCS / "encoder/gru.py").read_text().replace("output: Size = 64", "output: Size"))
    assert main(["check", str(faulty)]) == USAGE
    assert capsys.readouterr().err == f"error: {faulty}: give a default to output of GRU.Config\n"


def test_a_method_that_states_no_passes_is_refused_beside_others_under_their_budget(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    file, example = tmp_path / "silent.py", (DOCS / "method" / "align_uniform.py").read_text()
    file.write_text(example.replace("    encoder_passes: ClassVar[float] = 6.0\n", ""))
    assert load_config("demo", {"methods": ["random", str(file)]}).methods[1] == str(file)
    assert load_config("demo", {"methods": ["pmq", str(file)], "pretrain.budget": "windows"}).methods[1] == str(file)
    with pytest.raises(ConfigError, match="add `encoder_passes = N` to AlignUniform"):
        load_config("demo", {"methods": ["pmq", str(file)]})
    assert main(["check", str(file)]) == FAILED
    shown = capsys.readouterr().out
    assert shown.count("FAILED") == 1
    assert "costs 6.0 encoder passes, and AlignUniform does not state it: add `encoder_passes = 6.0`" in shown


def test_a_check_that_has_nothing_to_try_is_not_called_ok(capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["check", "simclr"]) == OK
    assert "\n-      uses both views: nothing to try, its pairing is same\n" in capsys.readouterr().out


def test_an_unknown_name_of_pretraining_data_fails(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    file = write("learns", tmp_path, pretraining=("ptbxl-2",))
    assert main(["check", str(file)]) == FAILED
    assert "FAILED a run takes it: " in capsys.readouterr().out


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
    sets = rf"FAILED loads its weights: {broken}: load\(\) sets 1 of 2 weights, and not conv\.weight:"
    assert re.search(sets, capsys.readouterr().out)
