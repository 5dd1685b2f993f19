"""A cell is run again from its row: to the same bits, with the row's threads, on the row's data, or not at all.

What a row tells of how it was made: its device, and code that is loaded only where the user names it.
"""

from __future__ import annotations

import hashlib
import shutil
from argparse import Namespace
from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import torch

from benchmark.cli import reproduce
from benchmark.cli.reproduce import config_of, device_for, renamed
from benchmark.config.command_line import FAILED, OK, USAGE
from benchmark.config.errors import ConfigError
from benchmark.machine.device import versions
from benchmark.results.names import CARD
from benchmark.results.store import Row, Store, card_bytes
from benchmark.run import grid
from benchmark.run.cell import CellJob, run_together
from benchmark.training.checkpoint import WEIGHTS
from run_benchmark import main
from tests.benchmark.cli.conftest import rewritten
from tests.benchmark.run.bench import Bench, cell_of, stamps

EQUAL = "equal: {}6 scores and the predictions of"


@pytest.fixture
def store(told_bench: Bench, data: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Store:
    """A copy of the finished store; the working folder is that of the data."""
    monkeypatch.chdir(data)
    return Store(shutil.copytree(told_bench.store.root, tmp_path / "runs"))


def run(store: Store, *words: str) -> int:
    return main(["reproduce", *words, "--results", str(store.root), "--workers", "1"])


@pytest.mark.parametrize("words", [["pmq", "finetune"], ["features"]], ids=" ".join)
def test_a_cell_is_equal_when_it_is_run_again(
    store: Store, words: list[str], capsys: pytest.CaptureFixture[str]
) -> None:
    before = stamps(store)
    assert run(store, *words) == OK
    assert EQUAL.format("") in capsys.readouterr().out.splitlines()[-1]
    assert stamps(store) == before


def test_its_pretraining_is_run_again_too_and_kept(
    told_bench: Bench, store: Store, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    key = cell_of(told_bench, "pmq").pretrain_key
    kept = tmp_path / "kept"
    assert run(store, "pmq", "linear", "--pretraining", "--keep", str(kept)) == OK
    assert EQUAL.format("the encoder, ") in capsys.readouterr().out.splitlines()[-1]
    assert (kept / "pretrained" / key / WEIGHTS).read_bytes() == (store.pretrained / key / WEIGHTS).read_bytes()
    assert len(Store(kept).row_keys()) == 1
    assert run(store, "pmq", "linear", "--keep", str(kept)) == USAGE
    assert "is not empty; name another folder" in capsys.readouterr().err


def test_what_is_different_is_said_with_its_size(
    told_bench: Bench, store: Store, capsys: pytest.CaptureFixture[str]
) -> None:
    key = cell_of(told_bench, "pmq").key
    row, predictions = store.load_row(key), store.predictions(key)
    assert row is not None
    score = row.scores["recording"]["f1"]
    assert score is not None
    scores = row.scores | {"recording": row.scores["recording"] | {"f1": score / 2}}
    moved = predictions.probability.copy()
    moved[0] = moved[0][::-1]
    older = row.provenance | {"versions": row.provenance["versions"] | {"torch": "1.0"}}
    store.save_row(replace(row, scores=scores, provenance=older), replace(predictions, probability=moved))
    assert run(store, "pmq", "finetune") == FAILED
    lines = capsys.readouterr().out.splitlines()
    assert f"versions.torch: 1.0 then, {versions()['torch']} now" in lines
    assert f"recording f1: {score / 2} then, {score} now ({score / 2:+.2g})" in lines
    apart = np.abs(moved - predictions.probability).max()
    assert any(
        line.startswith(f"predictions: 1 of {len(moved)} windows differ, by up to {apart:.2g}") for line in lines
    )
    assert lines[-1] == f"different: 1 of 6 scores, by up to {score / 2:.2g}"


def test_an_encoder_that_is_gone_is_pretrained_again_or_refused(
    told_bench: Bench, store: Store, capsys: pytest.CaptureFixture[str]
) -> None:
    shutil.rmtree(store.pretrained / cell_of(told_bench, "pmq").pretrain_key)
    assert run(store, "pmq", "finetune") == USAGE
    assert "the encoder is gone; --pretraining makes it again" in capsys.readouterr().err
    assert run(store, "pmq", "finetune", "--pretraining") == OK
    assert EQUAL.format("(the stored encoder is gone) ") in capsys.readouterr().out.splitlines()[-1]


def test_the_threads_are_those_of_the_row(
    told_bench: Bench, store: Store, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    seen = []
    stored = told_bench.store.load_row(cell_of(told_bench, "pmq", "linear").key)
    assert stored is not None
    row = rewritten(told_bench, store, device=stored.provenance["device"] | {"threads": 3})

    def watched(jobs: Sequence[CellJob]) -> Any:
        seen.append((torch.get_num_threads(), jobs[0].precision, jobs[0].device))
        return run_together(jobs)

    monkeypatch.setattr(reproduce, "run_together", watched)
    before = torch.get_num_threads()
    run(store, row.key)
    assert (seen, torch.get_num_threads()) == ([(3, "float32", "cpu")], before)
    assert not any(line.startswith("device.threads") for line in capsys.readouterr().out.splitlines())


def test_what_is_no_longer_the_same_is_refused_with_what_differs(
    store: Store, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    """Other data, an earlier results version, and a cell that fails."""
    made = reproduce.prepare_data
    with monkeypatch.context() as other:
        other.setattr(reproduce, "prepare_data", lambda *given: replace(made(*given), fingerprint="another"))
        assert run(store, "pmq", "linear") == USAGE
    assert "Chapman: the data here have the fingerprint another, those of the row" in capsys.readouterr().err
    with monkeypatch.context() as other:
        other.setattr(grid, "PRETRAIN_VERSION", 99)
        assert run(store, "pmq", "linear") == USAGE
    error = capsys.readouterr().err
    assert "pmq linear chapman 0.5 seed 41 cannot be run again by this version" in error
    assert "PRETRAIN_VERSION 99, was 2" in error
    monkeypatch.setattr("benchmark.run.cell.learn", lambda *given: 1 / 0)
    assert run(store, "pmq", "linear") == USAGE
    assert "failed when it was run again: ZeroDivisionError: division by zero" in capsys.readouterr().err


LACKING: list[tuple[dict[str, Any], str]] = [
    ({"device": None}, "does not tell its device: it is of a version that cannot be run again"),
    ({"device": {"threads": 1}}, "does not tell its device"),
    ({"precision": None, "key_content": None}, "does not tell its precision"),
    ({"data": None, "key_content": None}, "does not tell its data"),
    ({"data": {"name": "chapman"}, "key_content": None}, "does not tell its data"),
    ({"config": None}, "holds no config"),
    ({"device": None, "precision": None, "data": None, "key_content": None}, "its device and precision and data"),
    ({"device": {"type": "quantum"}}, "device quantum, was cpu"),
    ({"device": {"type": "cpu", "threads": 10**9}}, "tells of 1000000000 threads"),
]


@pytest.mark.attack("rows and cards of another cell under valid digests")
def test_a_row_that_lacks_what_it_takes_is_refused_in_a_line(
    told_bench: Bench, store: Store, capsys: pytest.CaptureFixture[str]
) -> None:
    for changes, message in LACKING:
        row = rewritten(told_bench, store, **changes)
        assert run(store, row.key) == USAGE
        assert message in capsys.readouterr().err


@pytest.mark.attack("rows and cards of another cell under valid digests")
def test_stored_weights_of_other_tensors_are_told_of(
    told_bench: Bench, store: Store, capsys: pytest.CaptureFixture[str]
) -> None:
    key = cell_of(told_bench, "pmq").pretrain_key
    card = store.card(key)
    assert card is not None
    body = b"no tensors"
    (store.pretrained / key / WEIGHTS).write_bytes(body)
    sums = {"sha256": hashlib.sha256(body).hexdigest()}
    (store.pretrained / key / CARD).write_bytes(card_bytes(card | sums))
    assert run(store, "pmq", "linear", "--pretraining") == FAILED
    assert "encoder: the stored weights have other tensors" in capsys.readouterr().out.splitlines()


def made_on(row: Row, device: str) -> Row:
    return replace(row, provenance=row.provenance | {"device": {"type": device, "name": "H100", "threads": 1}})


def test_a_row_of_a_gpu_is_run_elsewhere_only_on_demand(told_bench: Bench) -> None:
    row = told_bench.store.load_row(cell_of(told_bench, "pmq").key)
    assert row is not None
    assert device_for(row, Namespace(device="auto")) == torch.device("cpu")
    if not torch.cuda.is_available():
        with pytest.raises(ConfigError, match=r"was made on a GPU \(H100\), and torch sees none here; --device cpu"):
            device_for(made_on(row, "cuda"), Namespace(device="auto"))
    assert device_for(made_on(row, "cuda"), Namespace(device="cpu")) == torch.device("cpu")
    with pytest.raises(ConfigError, match="on a device of the unknown type 'quantum'; --device cpu runs it"):
        device_for(made_on(row, "quantum"), Namespace(device="auto"))


def test_code_that_a_store_names_is_not_loaded_unless_the_user_names_it(told_bench: Bench, tmp_path: Path) -> None:
    row = told_bench.store.load_row(cell_of(told_bench, "pmq").key)
    assert row is not None
    own = tmp_path / "mine.py"
    own.write_text("import methods.pmq\n\n\nclass Mine(methods.pmq.PMQ):\n    name = 'mine'\n    title = 'Mine'\n")

    def naming(*names: str) -> Row:
        config = row.provenance["config"] | {"methods": list(names)}
        return replace(row, provenance=row.provenance | {"config": config})

    for file in ("/theirs/mine.py", "/theirs/card.yaml"):
        with pytest.raises(ConfigError, match=f"names {file}; code that a store names is not loaded"):
            config_of(naming("random", file), None)
        assert config_of(naming("random", file), own).compared() == ["random", "mine"]
    for other in ("b.py", "b.yaml"):
        with pytest.raises(ConfigError, match=rf"several files of code \(a\.py, {other}\)"):
            config_of(naming("a.py", other), own)
    assert renamed({"a.py": [1, {"x": "a.py"}]}, "a.py", "b.py") == {"b.py": [1, {"x": "b.py"}]}
