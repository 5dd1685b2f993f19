"""What ranks do in `test_ranks`: the real trainer on a tiny corpus, for every method, in one start of the processes."""

from __future__ import annotations

import os
import signal
import traceback
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field, fields, replace
from functools import lru_cache
from multiprocessing import get_context
from pathlib import Path
from typing import Any
from unittest.mock import patch

import torch
from torch import Tensor

from benchmark.config.sections import BatchNorm
from benchmark.data import batches
from benchmark.data.batches import PairSource
from benchmark.data.corpus import epoch_shape
from benchmark.machine import ranks as meeting
from benchmark.machine.processes import Stopped, stops_on_signals
from benchmark.machine.ranks import (
    RankFailed,
    all_reduce_max,
    call_on_other_ranks,
    fail_alike,
    first_rank_calls,
    join,
    read_ranks,
    serve_calls,
)
from benchmark.training import pretrain as loop
from methods import METHODS
from methods.base import PretrainMethod, Recipe
from methods.encoders import get_encoder
from methods.encoders.base import Encoder
from methods.encoders.dilated import Dilated, DilatedConfig
from methods.parts import masks
from methods.parts import masks as draws
from methods.parts import masks as dropout
from methods.parts.ranks import gather, gather_with_gradient, of_first_rank, rank_and_ranks
from methods.siamese import Siamese

BATCH = 18
"""Pairs; no draw of a step has this many, a half or a third of them, other than one for each pair."""
PATIENTS, BEATS, STEPS, TEXT = 36, 4, 40, 6
RECIPE = Recipe(batch_size=BATCH)
TOKENS = str(Path(__file__).parents[2] / "methods" / "tokens.py")
UPDATES = 2
LIMIT = 150.0

Outcome = dict[str, Any]


@dataclass(frozen=True)
class Case:
    """A method, its encoder and knobs."""

    method: str
    encoder: str = "tiny"
    knobs: dict[str, Any] = field(default_factory=dict)
    batch_norm: BatchNorm = "synchronised"


CASES: dict[str, Case] = {
    **{name: Case(name, TOKENS if name == "mae" else "tiny") for name, kind in METHODS.items() if kind.trains},
    "pmq own": Case("pmq", knobs={"positives": "own"}),
    "moco v2": Case("moco", knobs={"head": "v2", "predictor": False}, batch_norm="per-rank"),
    "clocs one": Case("clocs", knobs={"leads": "one"}),
    "clocs cmlc": Case("clocs", knobs={"views": "cmlc"}),
    "simclr resnet1d": Case("simclr", "resnet1d"),
}
"""Whose loss and gradients are those of one process."""


@lru_cache
def corpus() -> PairSource:
    """Noise: patients with two recordings each, of one pseudo-trial each."""
    generator, trials = torch.Generator().manual_seed(0), 2 * PATIENTS
    beats = torch.randn(trials, BEATS, STEPS, 12, generator=generator).half()
    text = torch.randn(trials, TEXT, generator=generator)
    return PairSource(beats, torch.arange(trials) + 1, torch.arange(trials) // 2 + 1, text)


def encoder_of(name: str) -> Encoder:
    if name == "tiny":
        return Dilated(DilatedConfig(hidden=4, depth=2, output=8))
    kind = get_encoder(name)
    return kind(kind.Config.small())


def build(case: Case) -> PretrainMethod:
    """A small method, drawn from the same seed each time; without the dropout that torch draws itself."""
    kind = METHODS[case.method].Config
    small: dict[str, Any] = {"queue_size": 25, "text_width": TEXT, "blocks": 2, "horizon": 3, "latent_dropout": 0.0}
    knobs = {name: value for name, value in small.items() if name in {own.name for own in fields(kind)}}
    torch.manual_seed(0)
    return METHODS[case.method](encoder_of(case.encoder), kind(**knobs | case.knobs))


def trained(
    case: Case,
    updates: int,
    checkpoint: Path,
    *,
    batch: int = BATCH,
    precision: str = "float32",
    double: bool = False,
    on_step: Callable[[int, int, str], None] | None = None,
) -> Outcome:
    """Loss, last gradients and state after some updates of an epoch in the trainer."""
    method = build(case).to(torch.float64 if double else torch.float32)
    config = replace(method.config, recipe=replace(RECIPE, batch_size=batch))
    shape = epoch_shape(corpus().patient_of_pair, config.batching, batch)
    history = loop.pretrain(
        method,
        config,
        corpus(),
        epochs=updates / shape.updates,
        seed=42,
        precision=precision,
        checkpoint=checkpoint,
        batch_norm=case.batch_norm,
        on_step=on_step,
    )
    assert history.updates == updates
    gradients = {name: p.grad for name, p in method.named_parameters() if p.grad is not None}
    positives = [history.health[-1][name] for name in ("positives_same_recording", "positives_other_recordings")]
    return {"loss": history.loss, "positives": positives, "gradients": gradients, "state": method.state_dict()}


@contextmanager
def draws_of_one_process(rank: int, ranks: int, double: bool) -> Iterator[None]:
    """Within, masks, dropout and other draws of a step are made for the whole batch, of which a rank takes its share.

    double: batches are in float64.
    """
    own = BATCH // ranks
    survivors, rand, randint = draws.survivors, torch.rand, torch.randint
    make_batch, seed_torch = batches.make_batch, loop.seed_torch

    def share_of(draw: Callable[[Sequence[int]], Tensor], shape: Sequence[int]) -> Tensor:
        if not shape or shape[0] != own:
            return draw(shape)
        return draw([BATCH, *shape[1:]]).chunk(ranks)[rank]

    def make_and_seed(*args: Any) -> Any:
        batch = make_batch(*args)
        torch.manual_seed(torch.initial_seed() % 2**31)
        if not double:
            return batch
        return batch._replace(x1=batch.x1.double(), x2=batch.x2.double(), text=batch.text.double())

    def kept(shape: Sequence[int], lost: float, device: torch.device) -> Tensor:
        return share_of(lambda whole: survivors(whole, lost, device), shape)

    with (
        patch.object(batches, "make_batch", make_and_seed),
        patch.object(loop, "seed_torch", lambda *parts: seed_torch(*parts) if len(parts) < 5 else None),
        patch.object(masks, "survivors", kept),
        patch.object(dropout, "survivors", kept),
        patch.object(torch, "rand", lambda *shape, **how: share_of(lambda whole: rand(*whole, **how), shape)),
        patch.object(
            torch, "randint", lambda *args, **how: share_of(lambda whole: randint(*args[:-1], whole, **how), args[-1])
        ),
    ):
        yield


def in_float32(case: Case) -> bool:
    """Whether a case cannot be trained in float64, in which equal gradients are told from close ones."""
    return issubclass(METHODS[case.method], Siamese) or case.encoder == TOKENS


def outcomes(folder: Path) -> dict[str, Outcome]:
    """Every case."""
    found = {}
    for name, case in CASES.items():
        double = not in_float32(case)
        with draws_of_one_process(*rank_and_ranks(), double):
            found[name] = trained(case, UPDATES if double else 1, folder / name / "checkpoint", double=double)
    return found


def exchanged(rank: int, ranks: int) -> Outcome:
    """Results of the gathers, and a gradient through one: the loss of rank r is (r + 1) times a weighted sum."""
    x = torch.full((2, 3), float(rank), requires_grad=True)
    whole = gather_with_gradient(x, dim=1)  # (2, 3 * ranks)
    ((rank + 1) * (whole * torch.arange(3.0 * ranks)).sum()).backward()
    kinds = [torch.bool, torch.int64, torch.bfloat16, torch.float32]
    return {
        "whole": whole.detach(),
        "gradient": x.grad,
        "kinds": [gather(torch.tensor([rank % 2]).to(kind)) for kind in kinds],
        "first": [of_first_rank(torch.tensor([rank + 1]).to(kind)) for kind in kinds],
        "plain": gather(x).requires_grad,
        "highest": all_reduce_max(rank),
    }


def stopped_and_resumed(rank: int, folder: Path) -> Outcome:
    """A training that the last rank's signal stops at its third update, and its end after it was resumed."""
    case, checkpoint = Case("pmq"), folder / "stopped" / "checkpoint"
    checkpoint.parent.mkdir(exist_ok=True)

    def signalled(done: int, total: int, text: str) -> None:
        if done == 3 and rank == rank_and_ranks()[1] - 1:
            signal.raise_signal(signal.SIGTERM)

    with stops_on_signals(lambda: None):
        try:
            trained(case, 6, checkpoint, on_step=signalled)
        except Stopped as stop:
            said, status = stop.saved, stop.status
    steps: list[int] = []
    resumed = trained(case, 6, checkpoint, on_step=lambda done, total, text: steps.append(done))
    return {"said": said, "status": status, "steps": steps, "resumed": resumed, "whole": trained(case, 6, folder / "w")}


def heard(folder: Path, word: str) -> None:
    """What the first rank has every other do."""
    with open(folder / f"heard by {rank_and_ranks()[0]}", "a") as file:
        file.write(word)


def led_and_followed(folder: Path) -> None:
    ranks = read_ranks()
    if ranks.rank > 0:
        serve_calls(ranks)
        return
    with first_rank_calls(ranks):
        for word in ("one ", "two"):
            call_on_other_ranks(heard, folder, word)


def failed(rank: int) -> list[str]:
    """What is raised where all ranks fail alike, where they fail differently, and where the last one fails alone."""
    said = []
    for task, why in (("alike", "the same"), ("apart", f"reason of {rank}")):
        try:
            fail_alike(read_ranks(), task, why)
            said.append("nothing")
        except RankFailed as failure:
            said.append(str(failure))
        all_reduce_max(0)
    if rank == rank_and_ranks()[1] - 1:
        with patch.object(meeting, "AGREEMENT_SECONDS", 0.5):
            try:
                fail_alike(read_ranks(), "moco pretrain seed 42", "TrainingStopped: the GPU is full")
            except RankFailed as failure:
                said.append(str(failure))
    return said


def uneven(folder: Path) -> str:
    try:
        trained(Case("moco"), 1, folder / "uneven", batch=BATCH + 1)
    except loop.TrainingStopped as refused:
        return str(refused)
    return "not refused"


def work(rank: int, ranks: int, folder: Path) -> None:
    """Main function of a rank: all of the above, kept in the folder."""
    os.environ |= {
        "RANK": str(rank), "WORLD_SIZE": str(ranks), "LOCAL_RANK": str(rank), "LOCAL_WORLD_SIZE": str(ranks),
        "MASTER_ADDR": "localhost", "MASTER_PORT": (folder / "port").read_text(),
    }  # fmt: skip
    torch.set_num_threads(1)
    try:
        join(read_ranks(), torch.device("cpu"))
        own = folder / str(rank)
        found = {
            "same draws": outcomes(folder),
            "own draws": trained(Case("pmq"), UPDATES, folder / "own" / "checkpoint"),
            "per rank": trained(Case("pmq", batch_norm="per-rank"), UPDATES, folder / "per-rank" / "checkpoint"),
            "half": trained(Case("simclr", "resnet1d"), 2, folder / "half" / "checkpoint", precision="bf16"),
            "exchanged": exchanged(rank, ranks),
            "stopped": stopped_and_resumed(rank, folder),
            "uneven": uneven(folder),
            "failed": failed(rank),
        }
        led_and_followed(folder)
        found["heard"] = sorted(file.name + ": " + file.read_text() for file in folder.glob("heard by *"))
        torch.save(found, own.with_suffix(".pt"))
        all_reduce_max(0)
    except BaseException:
        (folder / f"{rank}.txt").write_text(traceback.format_exc())
        os._exit(1)
    os._exit(0)  # gloo's threads may abort the interpreter's own exit


def start(ranks: int, folder: Path, port: int) -> list[dict[str, Any]]:
    """What each rank has kept."""
    (folder / "port").write_text(str(port))
    context = get_context("forkserver")
    context.set_forkserver_preload([__name__])  # imported once, not in every rank
    workers = [context.Process(target=work, args=(rank, ranks, folder), daemon=True) for rank in range(ranks)]
    for worker in workers:
        worker.start()
    for worker in workers:
        worker.join(LIMIT)
    codes = [worker.exitcode for worker in workers]
    for worker in workers:
        worker.kill()
    reasons = [file.read_text() for file in sorted(folder.glob("*.txt"))]
    assert codes == [0] * ranks, "\n".join(reasons) or f"not done after {LIMIT:g} s: {codes}"
    return [torch.load(folder / f"{rank}.pt", weights_only=False) for rank in range(ranks)]
