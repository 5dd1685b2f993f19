"""Compiled encoders give what plain ones give, in values, gradients and trainings, and the same bits after a resume."""

from __future__ import annotations

import copy
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
import torch
from torch import Tensor

from benchmark.config.errors import ConfigError
from benchmark.data.corpus.pairs import PairSource
from benchmark.training.compiled import compile_encoders, require_compiler
from benchmark.training.pretrain import pretrain
from methods import get_method
from methods.base import PretrainMethod, Recipe
from methods.encoders.dilated import Dilated, DilatedConfig
from methods.encoders.resnet1d import ResNet1d, ResNet1dConfig

CPU = torch.device("cpu")
STEPS, EPOCHS = 12, 2
torchs_own_warnings = pytest.mark.filterwarnings("ignore")
"""torch.compile sets off warnings inside torch, which pyproject.toml makes errors of."""


@pytest.fixture(scope="module")
def compiler() -> None:
    try:
        require_compiler(CPU)
    except ConfigError as missing:
        pytest.skip(str(missing))


@pytest.fixture
def corpus() -> PairSource:
    """Noise: four patients with two recordings each, of one pseudo-trial each."""
    beats = torch.randn(8, 4, STEPS, 12, generator=torch.Generator().manual_seed(0)).half()
    return PairSource(beats, torch.arange(8) + 1, torch.arange(8) // 2 + 1, None)


def encoder_of(depth: int) -> Dilated:
    torch.manual_seed(0)
    return Dilated(DilatedConfig(hidden=4, depth=depth, output=8))


def train(
    name: str, corpus: PairSource, checkpoint: Path, *, compiled: bool, stop: bool = False
) -> tuple[PretrainMethod, list[float]]:
    """A tiny method after two epochs, with the loss of each; `stop` interrupts the second."""
    kind = get_method(name)
    method = kind(encoder_of(2), kind.Config())
    if compiled:
        compile_encoders(method)

    def on_step(done: int, total: int, text: str) -> None:
        if stop and done == total:
            raise KeyboardInterrupt

    history = pretrain(
        method,
        kind.Config(recipe=Recipe(batch_size=4)),
        corpus,
        epochs=EPOCHS,
        seed=42,
        precision="float32",
        checkpoint=checkpoint,
        on_step=on_step,
    )
    return method, history.loss


def gradients(encoder: Dilated, out: Tensor) -> list[Tensor]:
    encoder.zero_grad()
    out.square().sum().backward()
    return [parameter.grad.clone() for parameter in encoder.parameters() if parameter.grad is not None]


@pytest.mark.slow
@torchs_own_warnings
@pytest.mark.parametrize("depth", [3, 4])
@pytest.mark.parametrize("read", [Dilated.__call__, Dilated.pooled])
def test_compiled_blocks_give_the_same_values_and_gradients(
    compiler: None, depth: int, read: Callable[[Dilated, Tensor], Tensor]
) -> None:
    torch.compiler.reset()
    encoder, x = encoder_of(depth), torch.randn(4, STEPS, 12)
    compiled = copy.deepcopy(encoder)
    compiled.compile_blocks()
    ours, theirs = read(compiled, x), read(encoder, x)
    torch.testing.assert_close(ours, theirs, rtol=1e-5, atol=1e-6)
    for pair in zip(gradients(compiled, ours), gradients(encoder, theirs), strict=True):
        torch.testing.assert_close(*pair, rtol=1e-5, atol=1e-5)


@pytest.mark.slow
@torchs_own_warnings
@pytest.mark.parametrize("name", ["pmq", "comet"])
def test_a_compiled_training_learns_the_same_and_resumes_to_the_same_bits(
    compiler: None, name: str, corpus: PairSource, tmp_path: Path
) -> None:
    _, plain = train(name, corpus, tmp_path / "plain", compiled=False)
    whole, loss = train(name, corpus, tmp_path / "whole", compiled=True)
    assert loss == pytest.approx(plain, rel=1e-4)
    with pytest.raises(KeyboardInterrupt):
        train(name, corpus, tmp_path / "stopped", compiled=True, stop=True)
    resumed, again = train(name, corpus, tmp_path / "stopped", compiled=True)
    assert again == loss
    for ours, theirs in zip(resumed.parameters(), whole.parameters(), strict=True):
        assert torch.equal(ours, theirs)


def test_all_encoders_of_a_method_are_compiled_and_no_copy(monkeypatch: pytest.MonkeyPatch) -> None:
    calls = []

    def fake(function: Callable[..., Any], **options: Any) -> Callable[..., Any]:
        def called(*arguments: Any, **named: Any) -> Any:
            calls.append(type(function.__self__).__name__)  # type: ignore[attr-defined]
            return function(*arguments, **named)

        return called

    monkeypatch.setattr(torch, "compile", fake)
    method = get_method("moco")(encoder_of(1), get_method("moco").Config())
    compile_encoders(method)
    x = torch.randn(2, STEPS, 12)
    for module in (method.encoder, method.key_encoder):
        assert isinstance(module, Dilated)
        module.pooled(x)
        assert calls == ["Blocks", "Block"]
        calls.clear()
    copy.deepcopy(method.encoder).pooled(x)
    copy.deepcopy(method).encoder(x)  # type: ignore[operator]
    assert calls == []


def test_every_part_of_an_encoder_is_compiled_where_it_names_none(monkeypatch: pytest.MonkeyPatch) -> None:
    compiled = []
    monkeypatch.setattr(torch.nn.Module, "compile", lambda module, dynamic: compiled.append(module))
    encoder = ResNet1d(ResNet1dConfig(output=4))
    encoder.compile_blocks()
    assert compiled == [encoder.stem, encoder.blocks]


def test_a_missing_compiler_is_one_line_that_says_what_to_do(monkeypatch: pytest.MonkeyPatch) -> None:
    def no_compiler(function: Any) -> Any:
        raise RuntimeError("\nNo working C++ compiler found\nin some place")

    monkeypatch.setattr(torch, "compile", no_compiler)
    with pytest.raises(ConfigError) as raised:
        require_compiler(CPU)
    assert str(raised.value) == (
        "--compile: torch.compile does not work here (No working C++ compiler found); "
        "install a C++ compiler (g++ or clang++) and Python's headers, or leave --compile out"
    )


@pytest.mark.parametrize(("device", "needed"), [("cpu", "a C++ compiler"), ("cuda", "Triton, or leave")])
def test_what_has_to_be_installed_is_that_of_the_device(
    device: str, needed: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    def silent(function: Any) -> Any:
        raise NotImplementedError

    monkeypatch.setattr(torch, "compile", silent)
    with pytest.raises(ConfigError, match=rf"\(NotImplementedError\); install {needed.replace('+', '[+]')}"):
        require_compiler(torch.device(device))
