"""Every promise of an encoder can be broken: encoders with one fault each, and the promises that find it.

Small batches are those that a method's own settings ask for.

The promises of encoders whose weights come from elsewhere: every form keeps them, and each can be broken.
"""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path
from typing import ClassVar

import pytest
import torch
from torch import Tensor, nn

from benchmark.cli.check import (
    ELSEWHERE_PROMISES,
    ENCODER_PROMISES,
    in_turn,
    judge,
)
from benchmark.cli.promises import (
    BATCH,
    EVERY,
    PATIENTS,
    changed,
    training_batch,
)
from benchmark.config.command_line import FAILED, OK
from methods import METHODS, get_method
from methods.encoders import ENCODERS
from methods.encoders.base import Encoder, EncoderConfig, Size
from methods.parts.masks import Mask
from run_benchmark import main
from tests.benchmark.external_models import SIGNALS, write

ALONE = [promise for promise in ENCODER_PROMISES if promise.name != "methods"]


@dataclass(frozen=True, kw_only=True)
class SoundConfig(EncoderConfig):
    output: Size = 8


class Sound(Encoder):
    """Two layers per time step. Its subclasses have one fault each."""

    name: ClassVar[str] = "sound"
    Config: ClassVar[type[EncoderConfig]] = SoundConfig

    def __init__(self, config: SoundConfig | None = None) -> None:
        super().__init__(config)
        self.first = nn.Linear(self.config.leads, 6)
        self.second = nn.Linear(6, self.config.output)
        self.register_buffer("passes", torch.zeros((), dtype=torch.int64))

    def embed(self, x: Tensor) -> Tensor:
        return self.first(x)

    def steps(self, embedded: Tensor) -> Tensor:
        return self.second(embedded.tanh())


class Nameless(Sound):
    name: ClassVar[str] = ""


class LeadsFirst(Sound):
    def steps(self, embedded: Tensor) -> Tensor:
        return super().steps(embedded).mT


class UnusedLayer(Sound):
    def __init__(self, config: SoundConfig | None = None) -> None:
        super().__init__(config)
        self.spare = nn.Linear(2, 2)


class HiddenTensor(Sound):
    def __init__(self, config: SoundConfig | None = None) -> None:
        super().__init__(config)
        self.scales = [torch.ones(())]


class HiddenNumber(Sound):
    def __init__(self, config: SoundConfig | None = None) -> None:
        super().__init__(config)
        self.scale = float(torch.rand(()))

    def steps(self, embedded: Tensor) -> Tensor:
        return self.scale * super().steps(embedded)


class CountsInEvaluation(Sound):
    passes: Tensor

    def embed(self, x: Tensor) -> Tensor:
        self.passes += 1
        return super().embed(x)


class SeesOtherWindows(Sound):
    def steps(self, embedded: Tensor) -> Tensor:
        return super().steps(embedded - embedded.mean(0))


class PoolsByTheMaximum(Sound):
    def pooled(self, x: Tensor, mask: Mask | None = None) -> Tensor:
        return self(x, mask).amax(1)


class SaysThatItPoolsByTheMaximum(PoolsByTheMaximum):
    pooling: ClassVar[str] = "maximum over time"


class WithoutDropout(Sound):
    def forward(self, x: Tensor, mask: Mask | None = None) -> Tensor:
        return self.steps(self.masked(x, mask))


class IgnoresTheMask(Sound):
    def masked(self, x: Tensor, mask: Mask | None) -> Tensor:
        return self.embed(x)


class LooksPastTheMask(Sound):
    def masked(self, x: Tensor, mask: Mask | None) -> Tensor:
        return super().masked(x, mask) + (0 if mask is None else 1e-3 * self.first(x))


class NeedsTwoWindows(Sound):
    def steps(self, embedded: Tensor) -> Tensor:
        return super().steps(embedded / (embedded.std(0) if self.training else 1))


class RoughInHalfPrecision(Sound):
    def steps(self, embedded: Tensor) -> Tensor:
        return super().steps(embedded) * (1.1 if torch.is_autocast_enabled("cpu") else 1)


@pytest.mark.parametrize(
    ("kind", "expected", "line"),
    [
        (Sound, set(), ""),
        (Nameless, {"name"}, "Nameless.name is '': give the class one, e.g. name = 'my-encoder'"),
        (LeadsFirst, {"shapes"}, "forward of windows (4, 300, 12) gives (4, 8, 300): give (B, S', K)"),
        (UnusedLayer, {"gradient"}, "spare.weight gets no gradient through forward: use it, or leave it out"),
        (HiddenTensor, {"state"}, "scales holds a tensor or generator that no checkpoint has: use register_buffer"),
        (HiddenNumber, {"state"}, "after loading, the outputs differ"),
        (CountsInEvaluation, {"evaluation"}, "passes changes in evaluation"),
        (SeesOtherWindows, {"evaluation"}, "a window's output in evaluation depends on the windows beside it"),
        (PoolsByTheMaximum, {"pooled"}, "in training pooled is not the mean over time of forward"),
        (SaysThatItPoolsByTheMaximum, set(), ""),
        (WithoutDropout, {"dropout"}, "a dropout of 0.5 hides 0% of the outputs: leave it to Encoder.forward"),
        (IgnoresTheMask, {"mask"}, "forward calls a mask 0 times"),
        (LooksPastTheMask, {"mask"}, ""),
        (NeedsTwoWindows, {"one window"}, ""),
        (RoughInHalfPrecision, {"half precision"}, "bf16 moves pooled by "),
    ],
    ids=lambda value: value.__name__ if isinstance(value, type) else "",
)
def test_a_fault_is_found_by_its_promise_which_names_the_place_and_the_remedy(
    kind: type[Encoder], expected: set[str], line: str
) -> None:
    verdicts = list(in_turn(ALONE, kind))
    broken = [verdict for verdict in verdicts if not verdict.kept]
    assert {verdict.promise.name for verdict in broken} == expected
    assert not any("\n" in str(verdict) for verdict in verdicts)
    assert not broken or broken[0].detail.startswith(line)


class Undecorated(SoundConfig):
    depth: int = 3


@dataclass(frozen=True, kw_only=True)
class HoldsAPath(SoundConfig):
    path: Path = Path("here")


@pytest.mark.parametrize(
    ("config", "words"),
    [
        (Undecorated, "make it a @dataclass(frozen=True) that extends EncoderConfig"),
        (HoldsAPath, "HoldsAPath cannot be filed"),
        (None, "make it a @dataclass(frozen=True) that extends EncoderConfig"),
        (EncoderConfig, "EncoderConfig.output: Field required: give every knob a default"),
    ],
)
def test_what_cannot_be_built_is_asked_for_nothing_further(config: type[EncoderConfig] | None, words: str) -> None:
    (verdict,) = in_turn(ENCODER_PROMISES, type("Unsettled", (Sound,), {"Config": config}))
    assert (verdict.promise.name, verdict.kept) == ("builds", False)
    assert words in verdict.detail


@pytest.mark.parametrize("name", ENCODERS)
def test_every_encoder_keeps_its_promises(name: str) -> None:
    verdicts = [judge(promise, ENCODERS[name]) for promise in ENCODER_PROMISES]
    assert [str(verdict) for verdict in verdicts if not verdict.kept] == []


def test_the_cost_is_counted_by_hand() -> None:
    verdict = judge(ENCODER_PROMISES[0], Sound)
    parameters, multiplications = 12 * 6 + 6 + 6 * 8 + 8, 300 * (12 * 6 + 6 * 8) / 1e6
    assert verdict.detail.startswith(f"{parameters} parameters, {multiplications:.1f} million multiplications")


class NotMovedByMethods(Sound):
    def pooled(self, x: Tensor, mask: Mask | None = None) -> Tensor:
        return super().pooled(x, mask) + 0 * self.second.bias.detach()

    def steps(self, embedded: Tensor) -> Tensor:
        return nn.functional.linear(embedded.tanh(), self.second.weight, self.second.bias.detach())


def test_a_method_that_leaves_a_part_where_it_was_is_named() -> None:
    verdict = judge(ENCODER_PROMISES[-1], NotMovedByMethods)
    assert not verdict.kept
    assert "second.bias" in verdict.detail


NAN = float("nan")


@pytest.mark.parametrize("name", ["pmq", "comet", "pclr", "etp"])
def test_batches_follow_the_settings_of_the_method(name: str) -> None:
    method = METHODS[name]
    batch, config = training_batch(method, 5), method.Config()
    assert batch.x1.shape == (BATCH, 300 // EVERY, 12)
    assert torch.equal(batch.x1, batch.x2) == (config.pairing == "same")
    assert 1 <= batch.patient.min() <= batch.patient.max() <= PATIENTS
    if config.batching == "patient":
        assert len(set(batch.patient.tolist())) == BATCH
    if config.batching == "trial":
        assert len(set(batch.trial.tolist())) <= 4
    assert (batch.text is not None) == method.needs_text


def test_a_tensor_has_changed_when_its_bits_have() -> None:
    before = {"same": torch.tensor([NAN, 0.0]), "sign": torch.tensor(0.0), "count": torch.tensor(1)}
    after = {"same": torch.tensor([NAN, 0.0]), "sign": torch.tensor(-0.0), "count": torch.tensor(2)}
    assert changed(before, after) == ["sign", "count"]


FAULTS = {
    "card": ("'Theirs (learns)', \"MIT\"", 'None, "MIT"', "Theirs.title is None; set it, str"),
    "weights": ('("theirs.pt",)', '("gone.pt",)', "gone.pt: No such file or directory; name a file that is there"),
    "features": (").relu().mean(-1)", ").relu()", "give \\(3, 6, 99\\); one row of numbers a window is needed"),
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
    "gradient": (".relu().mean(-1)", ".relu().mean(-1).detach()", "set Theirs.frozen to the reason"),
}
"""Promise -> what the sound file has, what breaks it, and what is told."""


@pytest.mark.parametrize("form", SIGNALS)
def test_every_form_keeps_its_promises(form: str, tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    word = str(write(form, tmp_path, pretraining=("ptb-xl",)))
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
    file = write("learns", tmp_path)
    text = file.read_text()
    assert sound in text
    file.write_text(text.replace(sound, broken))
    kind = get_method(str(file)).external_encoder
    assert kind is not None
    verdicts = [verdict for verdict in in_turn(ELSEWHERE_PROMISES, kind) if not verdict.kept]
    assert [verdict.promise.name for verdict in verdicts] == [name]
    with pytest.raises(AssertionError, match=told):
        raise AssertionError(verdicts[0].detail)
    assert {promise.name for promise in ELSEWHERE_PROMISES} == set(FAULTS)


def test_a_broken_promise_has_its_status(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["check-method", str(write("learns", tmp_path, features=9))]) == FAILED
    shown = capsys.readouterr().out
    assert "BROKEN features" in shown
    assert "docs/METHODS.md has the contract" in shown
