"""The promises of encoders whose weights come from elsewhere: every form keeps them, and each can be broken."""

from __future__ import annotations

from pathlib import Path

import pytest

from benchmark.config.command_line.verb import FAILED, OK, USAGE
from benchmark.config.elsewhere import find_method
from benchmark.verbs.contract.check import ELSEWHERE_PROMISES, check_elsewhere
from run_benchmark import main
from tests.benchmark.elsewhere.made import SIGNALS, write

FAULTS = {
    "card": ('"theirs-py", "Theirs (py)", "MIT"', '"theirs-py", None, "MIT"', "Theirs.title is None; set it, str"),
    "weights": ('("theirs.pt",)', '("gone.pt",)', "gone.pt: No such file or directory; name a file that is there"),
    "features": ("x).relu().mean(-1)", "x).relu()", "give \\(3, 6, 99\\); one row of numbers a window is needed"),
    "state": (
        'self.load_state_dict(torch.load(self.file("theirs.pt"), weights_only=True))',
        "nn.init.normal_(self.conv.weight)",
        "loading it twice gives other features",
    ),
    "precision": (
        "    def encode",
        "    def steps(self, embedded):\n        return self.encode(embedded.mT)[:, None]\n\n    def encode",
        "under bfloat16 its features differ",
    ),
    "gradient": ("return self.conv(x)", "return self.conv(x).detach()", "set Theirs.frozen to the reason"),
}
"""Promise -> what the sound file has, what breaks it, and what is told."""


@pytest.mark.parametrize("form", SIGNALS)
def test_every_form_keeps_its_promises(form: str, tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    if form == "onnx":
        pytest.importorskip("onnxruntime")
    word = str(write(form, tmp_path, pretraining=["ptb-xl"]))
    for verb in ("check-method", "check-encoder"):
        assert main([verb, word]) == OK
        heading, *lines, _ = capsys.readouterr().out.splitlines()
        assert heading == f"{word}: 6 promises to test, a few seconds on an idle core"
        assert all(line.startswith("kept ") for line in lines if not line.startswith(" "))
    told = " ".join(" ".join(lines).split())
    assert f"kept card: Theirs ({form}), licence MIT, pretrained on ptb-xl; reads windows of" in told


@pytest.mark.parametrize("name", FAULTS)
def test_a_fault_is_found(name: str, tmp_path: Path) -> None:
    sound, broken, told = FAULTS[name]
    file = write("py", tmp_path)
    text = file.read_text()
    assert sound in text
    file.write_text(text.replace(sound, broken))
    kind = find_method(str(file)).brings
    assert kind is not None
    verdicts = [verdict for verdict in check_elsewhere(kind) if not verdict.kept]
    assert [verdict.promise.name for verdict in verdicts] == [name]
    with pytest.raises(AssertionError, match=told):
        raise AssertionError(verdicts[0].detail)
    assert {promise.name for promise in ELSEWHERE_PROMISES} == set(FAULTS)


def test_a_broken_card_and_a_broken_promise_have_their_status(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    assert main(["check-encoder", str(write("torchscript", tmp_path / "a", rate=None))]) == USAGE
    shown = capsys.readouterr().err
    assert "signals.rate: Field required" in shown
    assert "docs/ELSEWHERE.md" in shown or shown.count("\n") == 1
    assert main(["check-method", str(write("torchscript", tmp_path / "b", features=9))]) == FAILED
    shown = capsys.readouterr().out
    assert "BROKEN features" in shown
    assert "docs/ELSEWHERE.md has the contract" in shown
