"""What a pretraining has reached, and the file that holds it: history, epoch under way, weights and optimiser.

A checkpoint is sealed with the key of its pretraining, or of the stem that pretrainings of different length share, and
holds numbers and tensors only: what a file of others asks to execute is refused.
"""

from __future__ import annotations

import io
import logging
from copy import deepcopy
from dataclasses import dataclass, field
from pathlib import Path
from pickle import UnpicklingError
from typing import Any

import torch

from benchmark.machine.ranks import of_leader
from benchmark.results.files.seals import seal, unseal
from benchmark.results.files.write import write_atomic
from benchmark.results.schema import checked
from methods.base import PretrainMethod
from methods.parts.gather import rank_and_ranks

log = logging.getLogger(__name__)
STEP = "step"
MOMENTS = {STEP, "exp_avg", "exp_avg_sq"}
"""What Adam and AdamW keep of a parameter."""


@dataclass
class History:
    """Record of a pretraining: `loss` per epoch, wall time in seconds, sizes, energy, health."""

    loss: list[float]
    seconds: float
    windows_per_epoch: int
    updates: int
    batch_size: int
    joules: float | None = 0.0
    """Energy of the whole device, other processes included; None if part of it could not be read."""
    health: list[dict[str, Any]] = field(default_factory=list)
    """Fields of `EpochHealth`, before the first epoch and after each."""
    threads: list[int] = field(default_factory=list)
    """Numbers of CPU threads it was trained on; several if it was resumed on another number."""


@dataclass
class Epoch:
    """An epoch under way: its sums over n updates, of which `step` are done."""

    losses: torch.Tensor  # (n,)
    positives: torch.Tensor  # (n, 3)
    step: int = 0


@dataclass(frozen=True)
class Stem:
    """The part that pretrainings of different length share: a checkpoint at each number of updates in `at`."""

    folder: Path
    at: frozenset[int] = frozenset()

    def file(self, updates: int) -> Path:
        """The checkpoint after so many updates."""
        return self.folder / f"{updates}.pt"

    def longest(self, most: int) -> Path | None:
        """The stored checkpoint with the most updates up to `most`."""
        stored = [int(path.stem) for path in self.folder.glob("*.pt") if path.stem.isdecimal()]
        return max(
            (self.file(updates) for updates in stored if updates <= most), key=lambda p: int(p.stem), default=None
        )


def save_checkpoint(
    path: Path,
    method: PretrainMethod,
    optimiser: torch.optim.Optimizer,
    history: History,
    epoch: Epoch | None,
) -> None:
    """Write all state atomically, sealed with the name of its folder, the key of the pretraining or of the stem.

    `epoch`: the one under way, None between two.
    """
    state = {
        "method": method.state_dict(),
        "optimiser": optimiser.state_dict(),
        "history": vars(history),
        "epoch": vars(epoch) if epoch else None,
    }
    buffer = io.BytesIO()
    torch.save(state, buffer)
    write_atomic(path, seal(path.parent.name, buffer.getvalue()))


def load_checkpoint(path: Path) -> dict[str, Any] | None:
    """The state in a checkpoint file; None if it is missing, or damaged or of another pretraining, told in a line."""
    if not path.is_file():
        return None
    body = unseal(path.parent.name, path.read_bytes())
    if body is None:
        log.warning("%s is damaged or of another pretraining; training begins with the first epoch", path)
        return None
    try:
        state: dict[str, Any] = torch.load(io.BytesIO(body), map_location="cpu", weights_only=True)
    except UnpicklingError:  # objects that are no tensors and numbers: not this suite's
        log.warning("%s holds more than numbers and is not read; training begins with the first epoch", path)
        return None
    except Exception as error:  # torch raises any kind of error for a file that it did not write
        log.warning("%s is no checkpoint (%s); training begins with the first epoch", path, type(error).__name__)
        return None
    return state


def resume(path: Path, method: PretrainMethod, optimiser: torch.optim.Optimizer, history: History) -> Epoch | None:
    """Restore a checkpoint's state, if it is usable; returns the epoch under way, None between two.

    One that does not fit is left out with a warning, and nothing is restored. Of several ranks the first one reads the
    file.
    """
    leads = rank_and_ranks()[0] == 0
    state = of_leader(load_checkpoint(path) if leads else None)
    if state is None:
        return None
    fresh = deepcopy(method.state_dict()), deepcopy(optimiser.state_dict())
    try:
        found = checked(History, state["history"] | {"updates": history.updates})  # a stem's total is another
        epoch = epoch_of(state["epoch"], history) if state["epoch"] else None
        method.load_state_dict(state["method"])
        optimiser.load_state_dict(state["optimiser"])
        require_fit(optimiser, fresh[1])
    except (AttributeError, KeyError, RuntimeError, TypeError, ValueError) as error:
        method.load_state_dict(fresh[0])
        optimiser.load_state_dict(fresh[1])
        if leads:
            line = str(error).partition("\n")[0]
            log.warning("%s does not fit this pretraining (%s); training begins with the first epoch", path, line)
        return None
    vars(history).update(vars(found))
    return epoch


def epoch_of(state: dict[str, Any], history: History) -> Epoch:
    """The epoch under way in a checkpoint. Raises ValueError or TypeError if it has another form than `history` has."""
    epoch, n = Epoch(**state), history.windows_per_epoch // history.batch_size
    if epoch.losses.shape != (n,) or epoch.positives.shape != (n, 3) or not 0 <= epoch.step <= n:
        raise ValueError(f"its epoch has other sums than those of {n} updates")
    return epoch


def require_fit(optimiser: torch.optim.Optimizer, fresh: dict[str, Any]) -> None:
    """Raise ValueError if an optimiser has other settings than a fresh one, or moments of another shape than their
    parameter: loading lets both pass."""
    for group, expected in zip(optimiser.param_groups, fresh["param_groups"], strict=True):
        if group.keys() != expected.keys():
            raise ValueError("its optimiser has other settings")
        for parameter in group["params"]:
            own = optimiser.state.get(parameter, {})
            if own and own.keys() != MOMENTS:
                raise ValueError("its optimiser is of another kind")
            if any(value.shape != parameter.shape for name, value in own.items() if name != STEP):
                raise ValueError("the moments of its optimiser are of other parameters")
