"""`explain` prints all that made a number, and says what is not there."""

from __future__ import annotations

import hashlib
import shutil
from pathlib import Path

import pytest

import methods.pmq
from benchmark.config.command_line.verb import OK, USAGE
from benchmark.results.keys import flat
from benchmark.results.names import CARD
from benchmark.results.store import Store
from benchmark.verbs.explain.find import find_cell
from benchmark.verbs.explain.lines import explained, text_of, written
from run_benchmark import main
from tests.benchmark.run.bench import Bench, cell_of


def values_of(lines: list[str]) -> dict[str, dict[str, str]]:
    """Heading -> name -> value."""
    found: dict[str, dict[str, str]] = {}
    for before, line in zip(["", *lines], lines, strict=False):
        if not before and not line.startswith(" "):
            found[line] = {}
        elif line.startswith("  "):
            name, _, value = line.strip().partition("  ")
            list(found.values())[-1][name] = value.strip()
    return found


def test_all_that_made_a_number_is_there(told_bench: Bench) -> None:
    store = told_bench.store
    cell = cell_of(told_bench, "pmq")
    row = store.load_row(cell.key)
    assert row is not None
    assert cell.pretraining is not None
    told = values_of(list(explained(find_cell(store.root, cell.key), store)))
    assert told["cell"] | {"run": ""} == {
        "key": cell.key, "row": "pmq (PMQ)", "method": "pmq", "dataset": "chapman (Chapman)",
        "task": "default, single label, protocol paper", "evaluation": "finetune (table: Fine-tuned)",
        "ratio or shots": "0.5", "seed": "41", "run": "",
    }  # fmt: skip
    assert told["scores"]["heartbeat f1"] == text_of(row.scores["heartbeat"]["f1"])
    key = told[f"key {cell.key}: the digest of ratio, seed and"]
    assert key == {name: text_of(value) for name, value in flat(cell.content, "").items()}
    encoder = told[f"encoder {cell.pretrain_key}"]
    digest = hashlib.sha256(Path(str(methods.pmq.__file__)).read_bytes()).hexdigest()
    assert encoder["method file"] == digest
    assert (encoder["threads"], encoder["precision"], encoder["device.type"]) == ("[1]", "float32", "cpu")
    own = told[f"key of the encoder {cell.pretrain_key}: the digest of"]
    assert own == {name: text_of(value) for name, value in flat(cell.pretraining.content, "").items()}
    assert told["data"]["fingerprint"] == told_bench.prepared["chapman"].fingerprint
    assert told["pretraining corpus"]["fingerprint"] == told_bench.prepared["mimic-iv-ecg"].fingerprint
    config = flat(told_bench.config.model_dump(mode="json"), "")
    assert told["config"].keys() == config.keys()
    assert told["libraries"].keys() >= {"python", "torch", "numpy"}
    assert told["machine"] | {"name": ""} == {
        "precision": "float32", "type": "cpu", "name": "", "threads": "1", "mode: device": "cpu",
        "mode: precision": "float32",
    }  # fmt: skip
    assert told["training"].keys() >= {"best_epoch", "seconds"}
    for what, path in told["files"].items():
        assert Path(path.partition(" (written ")[0]).exists(), what


def test_a_cell_without_an_encoder_tells_of_none(told_bench: Bench) -> None:
    lines = list(explained(find_cell(told_bench.store.root, "features"), told_bench.store))
    assert not [line for line in lines if "encoder " in line and not line.startswith("  ")]
    assert lines[-1].startswith("to run it again: ")


def test_an_encoder_that_is_gone_or_altered_is_said_so(told_bench: Bench, tmp_path: Path) -> None:
    store = Store(shutil.copytree(told_bench.store.root, tmp_path / "runs"))
    card = store.pretrained / cell_of(told_bench, "pmq").pretrain_key / CARD
    card.write_text(card.read_text().replace('"seed": 42', '"seed": 43'))
    found = find_cell(store.root, "pmq finetune")
    assert any("the card does not match its digest" in line for line in explained(found, store))
    card.unlink()
    assert any(line.endswith(f"{card} is gone") for line in explained(found, store))
    assert written(card) == "gone"


def test_the_verb_prints_it_and_refuses_in_a_line(told_bench: Bench, capsys: pytest.CaptureFixture[str]) -> None:
    results = ["--results", str(told_bench.store.root)]
    assert main(["explain", "pmq", "linear", *results]) == OK
    assert capsys.readouterr().out.startswith("pmq linear chapman 0.5 seed 41\n\ncell\n  key ")
    assert main(["explain", "pmqq", "linear", *results]) == USAGE
    out, error = capsys.readouterr()
    assert (out, error.count("\n")) == ("", 1)


def test_a_long_list_is_told_by_its_ends() -> None:
    assert text_of([1.5, 2, 3, 4, 5]) == "1.5 ... 5 (5 values)"
    assert text_of([1.5, 2]) == "[1.5, 2]"
    assert text_of(None) == "none"
