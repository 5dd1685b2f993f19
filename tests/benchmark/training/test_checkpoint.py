"""The file of a checkpoint; what resuming from it gives is in test_pretrain.py."""

from __future__ import annotations

import io
from collections.abc import Callable
from contextlib import nullcontext
from pathlib import Path
from typing import Any

import pytest
import torch

from benchmark.results.files.seals import seal, unseal
from benchmark.training.checkpoint import Epoch, History, Stem, epoch_of, load_checkpoint, resume, save_checkpoint
from benchmark.training.pretrain import make_optimiser
from methods.base import MethodConfig, PretrainMethod, Recipe
from methods.encoders.dilated import Dilated, DilatedConfig

UPDATES = 4


@pytest.mark.attack("code that lies in a results store")
@pytest.mark.attack("code in a published checkpoint")
def test_a_checkpoint_of_others_executes_nothing(tmp_path: Path, caplog: pytest.LogCaptureFixture) -> None:
    class Hostile:
        def __reduce__(self) -> tuple[Any, ...]:
            return Path.touch, (tmp_path / "acted",)

    torch.save({"method": Hostile()}, tmp_path / "file")
    (tmp_path / "file").write_bytes(seal(tmp_path.name, (tmp_path / "file").read_bytes()))
    assert load_checkpoint(tmp_path / "file") is None
    assert "training begins with the first epoch" in caplog.text
    assert not (tmp_path / "acted").exists()


def method_of(seed: int, output: int = 4) -> PretrainMethod:
    torch.manual_seed(seed)
    return PretrainMethod(Dilated(DilatedConfig(hidden=4, depth=1, output=output)), MethodConfig())


def optimiser_of(method: PretrainMethod) -> torch.optim.Optimizer:
    return make_optimiser(method, Recipe())


def history() -> History:
    return History([], 0.0, UPDATES * 8, 2 * UPDATES, 8)


@pytest.fixture
def file(tmp_path: Path) -> Path:
    """A checkpoint within the second epoch."""
    method = method_of(1)
    optimiser = optimiser_of(method)
    sum(value.sum() for value in method.parameters()).backward()  # type: ignore[union-attr]
    optimiser.step()
    own = history()
    own.loss.append(0.5)
    epoch = Epoch(torch.ones(UPDATES), torch.ones(UPDATES, 3), step=2)
    save_checkpoint(tmp_path / "key" / "checkpoint.pt", method, optimiser, own, epoch)
    return tmp_path / "key" / "checkpoint.pt"


def rewrite(file: Path, change: Callable[[dict[str, Any]], object]) -> None:
    """Change the state in a checkpoint, under a valid seal."""
    body = unseal(file.parent.name, file.read_bytes())
    assert body is not None
    state = torch.load(io.BytesIO(body), weights_only=True)
    change(state)
    buffer = io.BytesIO()
    torch.save(state, buffer)
    file.write_bytes(seal(file.parent.name, buffer.getvalue()))


def moments(state: dict[str, Any]) -> dict[str, Any]:
    return next(iter(state["optimiser"]["state"].values()))  # type: ignore[no-any-return]


CHANGES: dict[str, Callable[[dict[str, Any]], object]] = {
    "no method": lambda state: state.pop("method"),
    "no weights": lambda state: state.update(method={}),
    "a part of the weights": lambda state: state["method"].popitem(),
    "weights of another size": lambda state: state.update(method=method_of(2, output=9).state_dict()),
    "weights that are numbers": lambda state: state.update(method=7),
    "no optimiser": lambda state: state.update(optimiser={}),
    "an optimiser of other parameters": lambda state: state["optimiser"]["param_groups"][0].update(params=[0]),
    "an optimiser without a setting": lambda state: state["optimiser"]["param_groups"][0].pop("betas"),
    "moments of another size": lambda state: moments(state).update(exp_avg=torch.zeros(99)),
    "moments of another kind": lambda state: moments(state).pop("exp_avg_sq"),
    "a history of text": lambda state: state.update(history="x"),
    "a history without seconds": lambda state: state["history"].pop("seconds"),
    "losses that are text": lambda state: state["history"].update(loss=["x"]),
    "an epoch of another length": lambda state: state["epoch"].update(losses=torch.ones(9)),
    "an epoch beyond its end": lambda state: state["epoch"].update(step=UPDATES + 1),
    "an epoch with a further entry": lambda state: state["epoch"].update(more=1),
}


def test_a_checkpoint_that_fits_is_restored(file: Path, caplog: pytest.LogCaptureFixture) -> None:
    method, own = method_of(2), history()
    epoch = resume(file, method, optimiser_of(method), own)
    assert epoch is not None
    assert (epoch.step, own.loss, caplog.messages) == (2, [0.5], [])
    assert not torch.equal(next(method.parameters()), next(method_of(2).parameters()))


@pytest.mark.attack("checkpoints that are damaged or do not fit")
@pytest.mark.parametrize("change", CHANGES.values(), ids=CHANGES)
def test_a_sealed_checkpoint_that_does_not_fit_restores_nothing_and_is_told_of(
    change: Callable[[dict[str, Any]], object], file: Path, caplog: pytest.LogCaptureFixture
) -> None:
    rewrite(file, change)
    method, own = method_of(2), history()
    optimiser = optimiser_of(method)
    assert resume(file, method, optimiser, own) is None
    assert own == history()
    assert all(
        torch.equal(value, fresh) for value, fresh in zip(method.parameters(), method_of(2).parameters(), strict=True)
    )
    assert optimiser.state_dict() == optimiser_of(method_of(2)).state_dict()
    (line,) = caplog.messages
    assert line.startswith(f"{file} does not fit this pretraining (")
    assert line.endswith("); training begins with the first epoch")
    assert "\n" not in line


@pytest.mark.attack("checkpoints that are damaged or do not fit")
@pytest.mark.parametrize("body", [b"", b"no zip", b"PK\x03\x04", bytes(1000)], ids=["empty", "text", "zip", "zeros"])
def test_a_sealed_file_that_is_no_checkpoint_is_told_of(
    body: bytes, tmp_path: Path, caplog: pytest.LogCaptureFixture
) -> None:
    (tmp_path / "file").write_bytes(seal(tmp_path.name, body))
    assert load_checkpoint(tmp_path / "file") is None
    assert "training begins with the first epoch" in caplog.text


def test_the_longest_part_of_a_stem_is_the_one_with_most_updates_that_are_not_too_many(tmp_path: Path) -> None:
    stem = Stem(tmp_path)
    assert stem.longest(100) is None
    for name in ("9.pt", "10.pt", "80.pt", "best.pt", "11.json"):
        (tmp_path / name).touch()
    assert [stem.longest(most) for most in (8, 9, 79, 80)] == [None, stem.file(9), stem.file(10), stem.file(80)]


@pytest.mark.parametrize(("step", "kept"), [(-1, False), (0, True), (UPDATES, True), (UPDATES + 1, False)])
def test_an_epoch_has_done_none_to_all_of_its_updates(step: int, kept: bool) -> None:
    history = History([], 0.0, windows_per_epoch=2 * UPDATES, updates=0, batch_size=2)
    state = {"losses": torch.zeros(UPDATES), "positives": torch.zeros(UPDATES, 3), "step": step}
    with nullcontext() if kept else pytest.raises(ValueError, match=f"other sums than those of {UPDATES} updates"):
        assert epoch_of(state, history).step == step
