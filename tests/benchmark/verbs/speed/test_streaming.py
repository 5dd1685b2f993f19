"""The speed of a streamed corpus: the same updates as in memory, in turns, by a process that has not its room."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

import pytest
import torch

from benchmark.data.corpus.mapped import MappedSignal
from benchmark.verbs.speed.steps import Setting
from benchmark.verbs.speed.streaming import UPDATES, Corpus, source_of, streaming_speed, updates, write
from methods.encoders.dilated import DilatedConfig
from methods.pmq import PMQConfig

SIZE = DilatedConfig(hidden=4, depth=2, output=8)
SETTING = Setting("pmq", PMQConfig(queue_size=16), "dilated", SIZE, 20, 4, "float32", "cpu")


@pytest.fixture
def corpus(tmp_path: Path) -> Corpus:
    made = Corpus(tmp_path / "corpus.f16", trials=70, samples=20)  # more than a tile
    write(made)
    return made


def test_the_file_holds_the_corpus_and_noise_everywhere(corpus: Corpus) -> None:
    assert corpus.file.stat().st_size == corpus.bytes == 70 * 10 * 20 * 12 * 2
    memory, disk = (source_of(corpus, torch.device("cpu"), streamed) for streamed in (False, True))
    assert isinstance(memory.signal, torch.Tensor)
    assert isinstance(disk.signal, MappedSignal)
    assert memory.signal.float().std(dim=(1, 2, 3)).min() > 0.9


def test_both_sides_make_the_same_updates(corpus: Corpus) -> None:
    losses = []
    for streamed in (False, True):
        with updates(corpus, SETTING, streamed) as update:
            losses.append([float(update()) for _ in range(2 * UPDATES + 1)])  # type: ignore[arg-type]
    assert losses[0] == losses[1]
    assert len(set(losses[0])) > UPDATES


@pytest.mark.slow
def test_they_are_timed_in_turns() -> None:
    found = streaming_speed(replace(SETTING, samples=300), 1, 2)
    assert 1 / 1024 <= found.gib < 2 / 1024
    assert found.limit_gib in (None, 64 / 1024)
    assert set(found.seconds) == {"memory", "disk"}
    assert found.ratio.lowest <= found.ratio.median <= found.ratio.highest
    assert found.cpu_ratio.median > 0
