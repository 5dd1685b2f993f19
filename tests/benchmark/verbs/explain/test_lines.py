"""`explain` prints all that made a number, and says what is not there."""

from __future__ import annotations

import hashlib
import shutil
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

import methods.pmq
from benchmark.config.command_line.verb import FAILED, OK, USAGE
from benchmark.results.cards import card_bytes
from benchmark.results.keys import flat
from benchmark.results.names import CARD
from benchmark.results.rows import Row
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


def row_of(told_bench: Bench, store: Store, **provenance: Any) -> Row:
    """Store PMQ's row with another provenance under a valid digest; None takes an entry away."""
    key = cell_of(told_bench, "pmq").key
    row = store.load_row(key)
    assert row is not None
    told = {name: value for name, value in (row.provenance | provenance).items() if value is not None}
    store.save_row(replace(row, provenance=told), store.predictions(key))
    return row


FORMS = {
    "mode": {"key_content": {"mode": "float32"}},
    "content": {"key_content": ["x"]},
    "data": {"data": {"fingerprint": 7}},
    "corpus": {"corpus": "mimic"},
    "device": {"device": "cpu"},
}


@pytest.mark.attack("rows and cards of another cell under valid digests")
@pytest.mark.parametrize("form", FORMS)
@pytest.mark.parametrize("verb", ["explain", "reproduce"])
def test_a_sealed_row_of_another_form_is_refused_in_a_line(
    told_bench: Bench, tmp_path: Path, form: str, verb: str, capsys: pytest.CaptureFixture[str]
) -> None:
    store = Store(shutil.copytree(told_bench.store.root, tmp_path / "runs"))
    row = row_of(told_bench, store, **FORMS[form])
    assert main([verb, row.key, "--results", str(store.root)]) == FAILED
    out, error = capsys.readouterr()
    assert (out, error.count("\n")) == ("", 1)
    assert f"{row.key}.json: provenance." in error


@pytest.mark.parametrize("entry", ["device", "precision", "data", "config", "key_content", "git", "versions"])
def test_an_older_row_is_explained_without_what_it_lacks(told_bench: Bench, tmp_path: Path, entry: str) -> None:
    store = Store(shutil.copytree(told_bench.store.root, tmp_path / "runs"))
    row = row_of(told_bench, store, **{entry: None, "key_content": None})
    told = values_of(list(explained(find_cell(store.root, row.key), store)))
    assert told["cell"]["key"] == row.key
    assert told[f"key {row.key}: the digest of ratio, seed and"] == {"content": "not kept by the version that made it"}


@pytest.mark.attack("rows and cards of another cell under valid digests")
@pytest.mark.parametrize("content", [["x"], {"file": "mine.py"}, {"file": {"source": 3}}], ids=str)
def test_a_sealed_card_of_another_form_is_told_of(told_bench: Bench, tmp_path: Path, content: Any) -> None:
    store = Store(shutil.copytree(told_bench.store.root, tmp_path / "runs"))
    key = cell_of(told_bench, "pmq").pretrain_key
    card = store.card(key)
    assert card is not None
    (store.pretrained / key / CARD).write_bytes(card_bytes(card | {"key_content": content}))
    (line,) = [line for line in explained(find_cell(store.root, "pmq finetune"), store) if "key_content" in line]
    assert line.startswith(f"  card  {store.pretrained / key / CARD}: key_content")


def test_a_stored_text_of_several_lines_is_one(told_bench: Bench, tmp_path: Path) -> None:
    store = Store(shutil.copytree(told_bench.store.root, tmp_path / "runs"))
    row = row_of(told_bench, store, device={"name": "x\n\nscores\n  f1  1.0", "type": "cpu"})
    lines = list(explained(find_cell(store.root, row.key), store))
    assert not [line for line in lines if "\n" in line]
    assert lines.count("scores") == 1
    assert any(line.startswith("  name ") and line.endswith("x  scores   f1  1.0") for line in lines)


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
