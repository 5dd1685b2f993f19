"""The verbs `check-method` and `check-encoder`: a line per promise, and a status that says whether all are kept.

Every promise can be broken: methods with one fault each, and the promises that find it.
"""

from __future__ import annotations

import copy
from pathlib import Path
from typing import ClassVar

import pytest
import torch
from torch import Tensor, nn

from benchmark.cli.check import PROMISES, in_turn
from benchmark.config.command_line import FAILED, OK, USAGE
from methods.base import Batch, MethodConfig, PretrainMethod
from methods.encoders.dilated import Dilated
from methods.parts.losses import info_nce, unit_length
from methods.parts.momentum import momentum_copy, update_momentum
from run_benchmark import main

FAULTY = """
from dataclasses import dataclass
from methods.base import MethodConfig, PretrainMethod


class Faulty(PretrainMethod):
    name = "faulty"
    title = ""
    trains = False
"""


def test_a_method_that_keeps_its_promises(capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["check-method", "random"]) == OK
    heading, *lines, end = capsys.readouterr().out.splitlines()
    assert heading == "random: 3 promises to test, a few seconds on an idle core"
    assert [line.split(":")[0] for line in lines] == ["kept   builds", "kept   name", "kept   encoder"]
    assert lines[1] == "kept   name: random, printed as Random"
    assert end.startswith("random: 3 in ")


def test_a_method_in_a_file_that_does_not(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    (tmp_path / "faulty.py").write_text(FAULTY)
    assert main(["check-method", str(tmp_path / "faulty.py")]) == FAILED
    shown = capsys.readouterr().out
    assert "BROKEN name: Faulty.title is ''" in shown
    assert "1 of 3 promises tested are broken; docs/METHODS.md has the contract" in shown


@pytest.mark.parametrize(
    ("word", "line"),
    [("pmqq", "unknown method 'pmqq' (did you mean 'pmq'?)"), ("missing.py", "missing.py does not exist")],
)
def test_a_method_that_is_not_there_is_one_line(word: str, line: str, capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["check-method", word]) == USAGE
    shown = capsys.readouterr().err
    assert line in shown
    assert shown.count("\n") == 1


def test_an_encoder_that_is_not_there_is_one_line(capsys: pytest.CaptureFixture[str]) -> None:
    for argv in (["check-encoder", "dilatd"], ["check-method", "random", "--encoder", "dilatd"]):
        assert main(argv) == USAGE
        shown = capsys.readouterr().err
        assert "unknown encoder 'dilatd' (did you mean 'dilated'?)" in shown
        assert shown.count("\n") == 1


@pytest.mark.slow
def test_an_encoder_in_a_file(encoder_text: str, tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    sound, broken = tmp_path / "mine.py", tmp_path / "broken.py"
    sound.write_text(encoder_text)
    assert main(["check-encoder", str(sound)]) == OK
    lines = capsys.readouterr().out.splitlines()
    assert lines[2] == "kept   name: mine"
    assert all(line.startswith("kept ") for line in lines[1:-1])
    broken.write_text(encoder_text.replace("self.out(embedded.tanh())", "self.out(embedded.tanh()).mT"))
    assert main(["check-encoder", str(broken)]) == FAILED
    assert "BROKEN shapes:" in capsys.readouterr().out


class Sound(PretrainMethod):
    """InfoNCE against a momentum copy. Its subclasses have one fault each."""

    name: ClassVar[str] = "sound"
    title: ClassVar[str] = "Sound"

    def __init__(self, encoder: Dilated, config: MethodConfig) -> None:
        super().__init__(encoder, config)
        self.head = nn.Linear(encoder.config.output, 8)
        self.key_encoder = momentum_copy(encoder)
        self.register_buffer("updates", torch.zeros((), dtype=torch.int64))

    def forward(self, batch: Batch) -> Tensor:
        with torch.no_grad():
            k = self.head(self.key_encoder.pooled(batch.x2))
        return self.loss(self.head(self.encoder.pooled(batch.x1)), k)

    def loss(self, q: Tensor, k: Tensor) -> Tensor:
        return info_nce(unit_length(q), unit_length(k), 0.1)

    def after_step(self) -> None:
        update_momentum(self.key_encoder, self.encoder, 0.9)


class NaNLoss(Sound):
    def loss(self, q: Tensor, k: Tensor) -> Tensor:
        return super().loss(q, k) + torch.log(torch.tensor(-1.0))


class LossPerWindow(Sound):
    def loss(self, q: Tensor, k: Tensor) -> Tensor:
        return (q - k).square().mean(1)


class UnusedHead(Sound):
    def __init__(self, encoder: Dilated, config: MethodConfig) -> None:
        super().__init__(encoder, config)
        self.spare = nn.Linear(3, 3)


class IgnoresTheEncoder(Sound):
    def loss(self, q: Tensor, k: Tensor) -> Tensor:
        return 0 * q.sum() + self.head.weight.square().sum()


class CopyThatRequiresAGradient(Sound):
    def __init__(self, encoder: Dilated, config: MethodConfig) -> None:
        super().__init__(encoder, config)
        self.key_encoder = copy.deepcopy(encoder)


class CopyThatSharesMemory(Sound):
    def __init__(self, encoder: Dilated, config: MethodConfig) -> None:
        super().__init__(encoder, config)
        for key, query in zip(self.key_encoder.parameters(), encoder.parameters(), strict=True):
            key.data = query.data

    def after_step(self) -> None:
        """Nothing to do: the copy is there already."""


class CountsInEvaluation(Sound):
    updates: Tensor

    def loss(self, q: Tensor, k: Tensor) -> Tensor:
        self.updates += 1
        return super().loss(q, k)


class OwnGenerator(Sound):
    def __init__(self, encoder: Dilated, config: MethodConfig) -> None:
        super().__init__(encoder, config)
        self.generator = torch.Generator().manual_seed(0)

    def loss(self, q: Tensor, k: Tensor) -> Tensor:
        return super().loss(q + 0.1 * torch.randn(q.shape, generator=self.generator), k)


class HiddenCount(Sound):
    count = 0

    def loss(self, q: Tensor, k: Tensor) -> Tensor:
        return super().loss(q, k) / (1 + self.count)

    def after_step(self) -> None:
        super().after_step()
        self.count += 1


class UnregisteredTensor(Sound):
    def __init__(self, encoder: Dilated, config: MethodConfig) -> None:
        super().__init__(encoder, config)
        self.seen = {"keys": [torch.zeros(8)]}

    def loss(self, q: Tensor, k: Tensor) -> Tensor:
        self.seen["keys"][0] = 0.5 * self.seen["keys"][0] + k.detach().mean(0)
        return super().loss(q, k + 0.01 * self.seen["keys"][0])


class EvenBatches(Sound):
    def loss(self, q: Tensor, k: Tensor) -> Tensor:
        return super().loss(q.view(2, -1, 8).flatten(0, 1), k)


class LossInHalfPrecision(Sound):
    def loss(self, q: Tensor, k: Tensor) -> Tensor:
        return super().loss(q, k).to(torch.bfloat16 if torch.is_autocast_enabled("cpu") else torch.float32)


class Climbs(Sound):
    def loss(self, q: Tensor, k: Tensor) -> Tensor:
        if q.requires_grad:
            q.register_hook(torch.neg)  # type: ignore[no-untyped-call]
        return super().loss(q, k)


class Nameless(Sound):
    name: ClassVar[str] = ""


class OtherEncoder(Sound):
    def exported(self) -> Dilated:
        return Dilated()


@pytest.mark.parametrize(
    ("kind", "expected", "line"),
    [
        (Sound, set(), ""),
        (NaNLoss, {"finite loss"}, "the loss is nan: look for a log of 0, a division by 0 or an empty mean"),
        (LossPerWindow, {"finite loss"}, "forward returns a tensor of shape (12,): return the loss as a 0-d tensor"),
        (UnusedHead, {"gradient"}, "spare.weight gets no gradient: use it in the loss, or freeze it with"),
        (IgnoresTheEncoder, {"gradient"}, "every gradient of the encoder is 0"),
        (CopyThatRequiresAGradient, {"gradient", "momentum copies"}, ""),
        (CopyThatSharesMemory, {"momentum copies"}, "the optimiser moves key_encoder.input.weight, which is frozen"),
        (CountsInEvaluation, {"evaluation"}, "updates changes in evaluation: ask `if self.training`"),
        (OwnGenerator, {"state", "resume"}, "generator holds a torch.Generator"),
        (HiddenCount, {"resume"}, "after loading, encoder.input.weight differs: keep all state in buffers"),
        (UnregisteredTensor, {"state", "resume"}, "seen holds a tensor that no checkpoint has: use register_buffer"),
        (EvenBatches, {"batch size"}, ""),
        (LossInHalfPrecision, {"half precision"}, "the loss is torch.bfloat16: compute it in float32"),
        (Climbs, {"learning"}, ""),
        (Nameless, {"name"}, "Nameless.name is '': give the class one, e.g. name = 'my-method'"),
        (OtherEncoder, {"encoder"}, ""),
    ],
    ids=lambda value: value.__name__ if isinstance(value, type) else "",
)
def test_a_fault_is_found_by_its_promise_which_names_the_place_and_the_remedy(
    kind: type[PretrainMethod], expected: set[str], line: str
) -> None:
    verdicts = list(in_turn(PROMISES, kind))
    broken = [verdict for verdict in verdicts if not verdict.kept]
    assert {verdict.promise.name for verdict in broken} == expected
    assert not any("\n" in str(verdict) for verdict in verdicts)
    assert not broken or broken[0].detail.startswith(line)
