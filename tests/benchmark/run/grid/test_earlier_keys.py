"""Stored pretrainings of the earlier form of key with thread counts, and of other numbers of ranks."""

from __future__ import annotations

from pathlib import Path

import pytest
import torch

from benchmark.config.load import load_config
from benchmark.results.keys import digest
from benchmark.results.names import CARD
from benchmark.results.store import Store
from benchmark.run.grid.earlier_keys import as_stored, earlier_lines, other_ranks_lines, stored_pretrainings
from benchmark.run.grid.expand import expand
from benchmark.training.weights import CHECKPOINT
from tests.basic import BASIC
from tests.benchmark.run.grid.kept import BASE, MODE, grid_of, keep


@pytest.fixture
def store(tmp_path: Path) -> Store:
    return Store(tmp_path / "runs")


@pytest.mark.parametrize("count", [1, 7, 64])
def test_a_pretraining_of_the_form_with_threads_is_found_whatever_the_number_here(store: Store, count: int) -> None:
    *_, pmq = grid_of().pretrainings
    old = pmq.content | {"mode": MODE | {"threads": count}}
    (store.pretrained / digest(old)).mkdir(parents=True)
    assert as_stored(pmq.content, stored_pretrainings(store)) == pmq.content  # an empty folder is no pretraining
    (store.pretrained / digest(old) / CHECKPOINT).touch()
    assert as_stored(pmq.content, stored_pretrainings(store)) == old
    (store.pretrained / pmq.key).mkdir()
    (store.pretrained / pmq.key / CARD).touch()
    assert as_stored(pmq.content, stored_pretrainings(store)) == pmq.content


def test_a_finished_one_comes_before_an_interrupted_one_and_the_count_here_first(store: Store) -> None:
    *_, pmq = grid_of().pretrainings
    forms = {n: pmq.content | {"mode": MODE | {"threads": n}} for n in (torch.get_num_threads() + 1, 90, 91)}
    for count, name in zip(forms, (CHECKPOINT, CARD, CARD), strict=True):
        (store.pretrained / digest(forms[count])).mkdir(parents=True)
        (store.pretrained / digest(forms[count]) / name).touch()
    assert as_stored(pmq.content, stored_pretrainings(store)) == forms[90]
    own = pmq.content | {"mode": MODE | {"threads": torch.get_num_threads()}}
    (store.pretrained / digest(own)).mkdir()
    (store.pretrained / digest(own) / CARD).touch()
    assert as_stored(pmq.content, stored_pretrainings(store)) == own


def test_what_another_number_of_ranks_has_begun_is_told_of(store: Store) -> None:
    of = {ranks: grid_of(mode=MODE | ({"ranks": ranks} if ranks > 1 else {})) for ranks in (1, 2, 4)}  # type: ignore[dict-item]
    begun = store.pretrained / of[4].pretrainings[-1].key
    begun.mkdir(parents=True)
    (begun / CHECKPOINT).touch()
    begins = "pmq pretrain seed 42 was begun by 4 ranks and begins anew with"
    why = "their number is part of a result's mode; start 4 to finish what was begun"
    assert other_ranks_lines(of[1].pretrainings, store) == [f"{begins} one process: {why}"]
    assert other_ranks_lines(of[2].pretrainings, store) == [f"{begins} 2 ranks: {why}"]
    assert other_ranks_lines(of[4].pretrainings, store) == []
    (begun / CARD).touch()
    assert other_ranks_lines(of[1].pretrainings, store) == []


def test_cells_on_an_earlier_key_keep_theirs_and_a_line_says_so(store: Store) -> None:
    config, now = load_config(BASIC, BASE), grid_of()
    older = grid_of(mode=MODE | {"threads": 3})  # type: ignore[dict-item]
    assert {cell.key for cell in older.cells if cell.variant.name == "pmq"}.isdisjoint(c.key for c in now.cells)
    keep(older, store)
    stored = stored_pretrainings(store)
    found = expand(
        config,
        corpus="corpus",
        fingerprints={"chapman": "data"},
        mode=MODE,
        form=lambda content: as_stored(content, stored),
    )
    assert [cell.key for cell in found.cells] == [cell.key for cell in older.cells]
    assert all(digest(pretraining.content) == pretraining.key for pretraining in found.pretrainings)
    (line,) = earlier_lines(found)
    assert line.startswith("1 pretrainings are used under their key of an earlier version")
    assert line.endswith("CPU threads (3)")
    assert earlier_lines(now) == []
