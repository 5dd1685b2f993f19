"""Pictures of a method: they are what the loss sees, name every key rightly, and leave the method as it was."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import torch
from torch import Tensor

from benchmark.data.corpus.pairs import PairSource
from benchmark.results.names import ILLUSTRATION, KEY_KINDS
from benchmark.training import illustrate as module
from benchmark.training.illustrate import (
    ATTRACTS,
    OTHER,
    OWN,
    SAME,
    age,
    chosen,
    illustrate,
    kinds,
    masked_input,
    similarity,
    write_illustration,
)
from benchmark.training.pretrain import pretrain
from methods import METHODS
from methods.base import Batch, MethodConfig, PretrainMethod, Recipe
from methods.encoders import ENCODERS
from methods.encoders.base import Encoder
from methods.encoders.dilated import Dilated, DilatedConfig
from methods.parts.queue import KeyQueue

STEPS, WIDTH = 20, 8
QUEUED = ("moco", "pmq", "pmq-released")


def build(name: str, **knobs: Any) -> PretrainMethod:
    torch.manual_seed(0)
    return METHODS[name](Dilated(DilatedConfig(hidden=4, depth=1, output=WIDTH)), METHODS[name].Config(**knobs))


@pytest.mark.parametrize("encoder", ENCODERS.values(), ids=ENCODERS)
def test_the_picture_of_the_masks_is_of_any_encoders_embedded_input(encoder: type[Encoder]) -> None:
    torch.manual_seed(0)
    method = METHODS["pmq"](encoder(encoder.Config.small()), METHODS["pmq"].Config(queue_size=4, time_mask=0.5)).train()
    window = torch.randn(1, STEPS, 12)
    with torch.no_grad():
        shown = masked_input(method, window)
        embedded = method.encoder.embed(window)  # (1, S, D)
    assert shown["masked_names"].tolist() == ["none", "frequency", "time", "all"]
    assert shown["masked"].shape == (4, *embedded.shape[1:])
    hidden = (shown["masked"][2] == 0).all(1)  # (S,)
    assert 0 < hidden.sum() < len(hidden)
    np.testing.assert_array_equal(shown["masked"][2][~hidden], shown["masked"][0][~hidden])


def batch_of(patient: list[int]) -> Batch:
    generator = torch.Generator().manual_seed(1)
    x1, x2 = torch.randn(2, len(patient), STEPS, 12, generator=generator)
    ids = torch.tensor(patient)
    return Batch(x1, x2, ids, torch.arange(len(patient)) + 1, torch.arange(len(patient)))


@pytest.fixture
def corpus() -> PairSource:
    """Noise of six patients with two pseudo-trials each."""
    generator = torch.Generator().manual_seed(2)
    signal = torch.randn(12, 4, STEPS, 12, generator=generator).half()
    return PairSource(signal, torch.arange(12) + 1, torch.arange(6).repeat_interleave(2) + 1)


def run(name: str, corpus: PairSource, **knobs: Any) -> tuple[PretrainMethod, dict[str, np.ndarray]]:
    method = build(name, **knobs)
    method.train()
    for _ in range(2):
        method(batch_of([1, 2, 3, 4]))
    config = replace(method.config, recipe=Recipe(batch_size=8))
    torch.manual_seed(torch.seed() % 1000)  # whatever was drawn before
    return method, illustrate(method, config, corpus, epochs=3, seed=42)


@pytest.mark.parametrize("name", QUEUED)
def test_the_method_stays_as_it_was(name: str, corpus: PairSource) -> None:
    before, _ = run(name, corpus, queue_size=16)
    twin = build(name, queue_size=16)
    twin.train()
    for _ in range(2):
        twin(batch_of([1, 2, 3, 4]))
    after = before.state_dict()
    assert all(torch.equal(value, after[key]) for key, value in twin.state_dict().items())


@pytest.mark.parametrize("name", QUEUED)
def test_the_same_run_gives_the_same_pictures(name: str, corpus: PairSource, tmp_path: Path) -> None:
    written = []
    for folder in ("a", "b"):
        write_illustration(tmp_path / folder, run(name, corpus, queue_size=16)[1])
        with np.load(tmp_path / folder / ILLUSTRATION, allow_pickle=False) as arrays:
            written.append(dict(arrays))
    assert written[0].keys() == {
        *("masked", "masked_names"),
        *("cosine", "kind", "query_patient", "key_patient", "key_queued", "spread"),
    }
    for key, value in written[0].items():
        np.testing.assert_array_equal(value, written[1][key])
    assert written[0]["masked"].shape == (len(written[0]["masked_names"]), STEPS, 4)


def test_every_key_is_named_by_its_patient_and_whether_it_attracts() -> None:
    attracts = torch.tensor([[1, 0, 0, 1], [1, 1, 0, 0]]).bool()
    found = kinds(attracts, torch.tensor([5, 5]), torch.tensor([5, 5, 7, 5]))
    assert found.tolist() == [[OWN, SAME, OTHER, ATTRACTS], [ATTRACTS, OWN, OTHER, SAME]]


@pytest.mark.parametrize(("name", "kind"), [("pmq", ATTRACTS), ("moco", SAME)])
def test_a_patients_keys_attract_in_pmq_and_not_in_moco(name: str, kind: int, corpus: PairSource) -> None:
    _, arrays = run(name, corpus, queue_size=16)
    same = arrays["query_patient"][:, None] == arrays["key_patient"]
    own = np.eye(*same.shape, dtype=bool)
    assert (arrays["kind"][own] == OWN).all()
    assert (arrays["kind"][same & ~own] == kind).all()
    assert (same & ~own & arrays["key_queued"]).any()
    assert (arrays["kind"][~same] == OTHER).all()


def test_the_spread_counts_every_query_and_key_that_is_there(corpus: PairSource) -> None:
    _, arrays = run("pmq", corpus, queue_size=16)
    assert arrays["spread"].shape[0] == len(KEY_KINDS)
    assert arrays["spread"].sum() == 8 * (8 + 8)  # a batch of 8, and a queue of 16 slots of which 8 hold a key
    assert arrays["spread"][OWN].sum() == 8


def test_cosines_are_those_of_query_and_key(monkeypatch: pytest.MonkeyPatch) -> None:
    method, batch = build("pmq", queue_size=3, time_mask=0.0, frequency_mask=0.0), batch_of([1, 2])
    method.train()
    method.queue.push(torch.eye(3, WIDTH), torch.tensor([2, 9, 9]), torch.tensor([1, 2, 3]))
    monkeypatch.setattr(module, "chosen", lambda *_: (torch.arange(2), torch.arange(5)))
    with torch.no_grad():
        q, k = method.query_and_key(batch)
        arrays = similarity(method, batch)
    np.testing.assert_allclose(arrays["cosine"], torch.cat([q @ k.T, q[:, :3]], 1).numpy(), atol=1e-6)
    assert arrays["kind"].tolist() == [[OWN, OTHER, OTHER, OTHER, OTHER], [OTHER, OWN, ATTRACTS, OTHER, OTHER]]
    for kind, counts in enumerate(arrays["spread"]):
        expected, _ = np.histogram(arrays["cosine"][arrays["kind"] == kind], module.BINS, (-1, 1))
        np.testing.assert_array_equal(counts, expected)


def test_a_cosine_beyond_one_by_rounding_is_counted(monkeypatch: pytest.MonkeyPatch) -> None:
    method, batch = build("pmq", queue_size=0), batch_of([1, 2])
    near = torch.eye(2, WIDTH) * torch.tensor([[1.001], [-1.001]])
    monkeypatch.setattr(method, "query_and_key", lambda batch: (torch.eye(2, WIDTH), near))
    spread = similarity(method, batch)["spread"][OWN]
    assert (spread[0], spread[-1], spread.sum()) == (1, 1, 2)


def ids(*patients: int) -> Tensor:
    return torch.tensor(patients)


def test_queries_with_the_most_keys_come_first_and_newest_keys_of_the_queue() -> None:
    keys = ids(1, 2, 1, 9, 2, 2, 2, 2)  # the batch's three, then the queue's five
    rows, columns = chosen(ids(1, 2, 1), keys, ids(0, 1, 4, 3, 2))
    assert rows.tolist() == [1, 0, 2]  # patient 2 has five keys, patient 1 two
    assert columns.tolist() == [1, 0, 2, 4, 7, 6, 3]  # own; the newest three of patient 2; then others


def test_age_counts_from_the_newest_slot() -> None:
    queue = KeyQueue(4, 2)
    queue.push(torch.ones(3, 2), ids(1, 1, 1), ids(1, 1, 1))
    assert age(queue)[:3].tolist() == [2, 1, 0]
    queue.push(torch.ones(2, 2), ids(1, 1), ids(1, 1))
    assert age(queue).tolist() == [0, 3, 2, 1]


def test_masks_are_shown_one_by_one_and_together() -> None:
    method, window = build("pmq", queue_size=4), torch.randn(1, STEPS, 12)
    with torch.no_grad():
        arrays = masked_input(method, window)
        plain = method.encoder.input(window)[0].numpy()
    assert arrays["masked_names"].tolist() == ["none", "frequency", "time", "all"]
    none, frequency, time, both = arrays["masked"]
    np.testing.assert_allclose(none, plain, atol=2e-3)
    hidden = (time == 0).all(1)  # (S,)
    assert 0 < hidden.sum() < len(hidden)
    np.testing.assert_array_equal(time[~hidden], none[~hidden])
    assert not np.allclose(frequency, none, atol=1e-2)
    assert (both == 0).all(1).any()


def test_a_mask_without_named_steps_is_shown_as_a_whole() -> None:
    with torch.no_grad():
        arrays = masked_input(build("comet"), torch.randn(1, STEPS, 12))
    assert arrays["masked_names"].tolist() == ["none", "all"]


def test_what_a_method_does_not_have_is_not_shown(corpus: PairSource, tmp_path: Path) -> None:
    method = build("clocs")
    arrays = illustrate(method, method.config, corpus, epochs=1, seed=42)
    assert arrays == {}
    assert write_illustration(tmp_path, {"cosine": np.zeros(1)}) is not None
    for _ in range(2):  # what an earlier pretraining left goes
        assert write_illustration(tmp_path, arrays) is None
        assert not list(tmp_path.iterdir())


TRIALS: list[Tensor] = []
"""The pseudo-trials of each batch that a `Watching` method meets, its copies included."""


class Watching(PretrainMethod):
    name = "watching"
    title = "Watching"

    def forward(self, batch: Batch) -> Tensor:
        TRIALS.append(batch.trial)
        return self.encoder.pooled(batch.x1).square().mean()

    def query_and_key(self, batch: Batch) -> None:
        TRIALS.append(batch.trial)


def test_the_batch_is_the_next_of_the_training(corpus: PairSource, tmp_path: Path) -> None:
    config = MethodConfig(recipe=Recipe(batch_size=8))
    method = Watching(Dilated(DilatedConfig(hidden=4, depth=1, output=WIDTH)), config)
    TRIALS.clear()
    history = pretrain(
        method, config, corpus, epochs=2, seed=42, precision="float32", checkpoint=tmp_path / "checkpoint"
    )
    illustrate(method, config, corpus, epochs=1, seed=42)
    assert torch.equal(TRIALS[-1], TRIALS[history.updates // 2])


def test_without_a_queue_the_batch_is_shown_alone(corpus: PairSource) -> None:
    _, arrays = run("pmq", corpus, queue_size=0)
    assert arrays["cosine"].shape == (8, 8)
    assert not arrays["key_queued"].any()
