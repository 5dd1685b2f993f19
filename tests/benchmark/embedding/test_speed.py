"""The cost of embedding as a ratio of CPU times, which the speed of the machine and its other work hardly move."""

from __future__ import annotations

import time
from collections.abc import Callable
from pathlib import Path

import pytest
import torch

from benchmark import load_encoder
from benchmark.data.prepare import Prepared
from benchmark.data.segments import heartbeats
from benchmark.embedding import cut_all
from methods.encoders.dilated import Dilated, DilatedConfig
from tests.benchmark.embedding.exported import export_encoder
from tests.benchmark.embedding.test_embedding import cut_dataset_of


def least(work: Callable[[], object]) -> float:
    """CPU seconds, the least of five tries."""
    spent = []
    for _ in range(5):
        started = time.process_time()
        work()
        spent.append(time.process_time() - started)
    return min(spent)


@pytest.mark.slow
def test_embedding_files_costs_little_more_than_finding_their_heartbeats(
    cohorts: dict[str, Prepared], tmp_path: Path
) -> None:
    """Finding them takes 1.9 ms of a core (docs/evidence/SPEED.md): at 2.5 times that, it embeds 210 a second."""
    torch.manual_seed(0)
    demo = Dilated(DilatedConfig(hidden=16, depth=6, output=64, pool=3))
    encoder = load_encoder(export_encoder(tmp_path / "demo", demo))
    about, prepared = encoder.description, cohorts["ptb-xl"]
    dataset = cut_dataset_of(prepared)
    read = [dataset.read(entry) for entry in prepared.entries]

    def embed() -> None:
        cuts = cut_all(dataset.read, prepared.entries, about.taken)
        assert len(list(encoder.embeddings(cuts))) == len(read)

    assert least(embed) < 2.5 * least(lambda: [heartbeats(own.signal, own.fs) for own in read])
