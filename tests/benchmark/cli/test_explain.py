"""A cell by the names of the tables in any order, or by its key; what is unknown or of several cells is a line.

`explain` prints all that made a number, and says what is not there.
"""

from __future__ import annotations

import hashlib
import shutil
from pathlib import Path

import pytest

import methods.pmq
from benchmark.cli.explain import explained, find_cell, text_of, written
from benchmark.config.command_line import OK, USAGE
from benchmark.config.errors import ConfigError
from benchmark.results.names import CARD
from benchmark.results.schema import flat
from benchmark.results.store import NoResults, Store
from run_benchmark import main
from tests.benchmark.cli.conftest import rewritten
from tests.benchmark.run.bench import Bench, cell_of


@pytest.fixture(scope="module")
def results(told_bench: Bench) -> Path:
    return told_bench.store.root


@pytest.mark.parametrize(
    "words",
    [
        "pmq finetune chapman 0.5 seed 41",
        "pmq finetune",
        "PMQ Chapman Fine-tuned 50% 41",
        "41 50 % fine-tuned pmq",
        "seed 41 finetune PMQ",
        "KEY",
        "START",
    ],
)
def test_a_cell_is_found_by_its_names_in_any_order_and_by_its_key(told_bench: Bench, results: Path, words: str) -> None:
    key = cell_of(told_bench, "pmq").key
    found = find_cell(results, words.replace("KEY", key).replace("START", key[:8]))
    assert (found.row.key, found.name) == (key, "pmq finetune chapman 0.5 seed 41")


def test_a_gate_that_is_in_two_tables_is_one_cell(told_bench: Bench, results: Path) -> None:
    found = [find_cell(results, f"features{table}") for table in ("", " linear", " finetune")]
    assert {own.row.key for own in found} == {cell_of(told_bench, "features", "features").key}


def test_an_ambiguous_name_says_what_to_add(told_bench: Bench, results: Path, tmp_path: Path) -> None:
    copy = shutil.copytree(results, tmp_path / "runs")
    key = cell_of(told_bench, "pmq").key
    shutil.copy(copy / "cells" / f"{key}.json", copy / "cells" / f"{key[:6]}{'0' * 10}.json")
    for words, message in (
        ("chapman 0.5", "5 cells: add row and evaluation, or give a key; there are random finetune"),
        ("pmq", "2 cells: add evaluation, or give a key; there are pmq finetune ch"),
    ):
        with pytest.raises(ConfigError, match=f"^'{words}' is {message}.*$"):
            find_cell(results, words)
    with pytest.raises(ConfigError, match=f"'{key[:6]}' begins 2 keys: "):
        find_cell(copy, key[:6])


@pytest.mark.parametrize(
    "words", ["pmqq finetune chapman 0.5 seed 41", "ffffffff", "pmq finetune chapman 0.7", "pmq pmq"]
)
def test_an_unknown_name_lists_near_ones(results: Path, words: str) -> None:
    with pytest.raises(ConfigError) as caught:
        find_cell(results, words)
    said = str(caught.value)
    assert said.startswith(f"no cell {words!r} in {results}: a name is, in any order, row, evaluation, dataset, ")
    if "finetune" in words:
        assert "near ones: pmq finetune chapman 0.5 seed 41" in said


def test_a_cell_without_a_row_is_a_line(told_bench: Bench, results: Path, tmp_path: Path) -> None:
    with pytest.raises(NoResults, match="no results in"):
        find_cell(tmp_path, "pmq finetune")
    copy = shutil.copytree(results, tmp_path / "runs")
    cell = cell_of(told_bench, "pmq")
    (copy / "cells" / f"{cell.key}.json").unlink()
    with pytest.raises(NoResults, match=rf"pmq finetune .* \({cell.key}\) is planned and not finished; "):
        find_cell(copy, "pmq finetune")
    Store(copy).save_failure(cell.key, "what", "ValueError: no\nmore")
    with pytest.raises(NoResults, match=rf"\({cell.key}\) has failed: ValueError: no; traceback in "):
        find_cell(copy, "pmq finetune")


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
    told = values_of(list(explained(find_cell(store.root, cell.key), store, whole=True)))
    assert told["cell"] | {"run": ""} == {
        "key": cell.key, "row": "pmq (PMQ)", "method": "pmq", "dataset": "chapman (Chapman)",
        "task": "default, single label, protocol paper", "evaluation": "finetune (table: Fine-tuned)",
        "ratio": "0.5", "seed": "41", "labelled subset": "0", "run": "",
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
    assert told["machine"] | {"name": "", "instructions": ""} == {
        "precision": "float32", "type": "cpu", "name": "", "instructions": "", "threads": "1", "mode: device": "cpu",
        "mode: precision": "float32",
    }  # fmt: skip
    assert told["training"].keys() >= {"best_epoch", "seconds"}
    for what, path in told["files"].items():
        assert Path(path.partition(" (written ")[0]).exists(), what


def test_a_cell_without_an_encoder_tells_of_none(told_bench: Bench) -> None:
    lines = list(explained(find_cell(told_bench.store.root, "features"), told_bench.store, whole=True))
    assert not [line for line in lines if "encoder " in line and not line.startswith("  ")]
    assert lines[-2].endswith(f" --only {cell_of(told_bench, 'features', 'features').key} --results again")
    assert lines[-1].endswith(f" report --compare {told_bench.store.root} again")


def test_an_encoder_that_is_gone_or_altered_is_said_so(told_bench: Bench, tmp_path: Path) -> None:
    store = Store(shutil.copytree(told_bench.store.root, tmp_path / "runs"))
    card = store.pretrained / cell_of(told_bench, "pmq").pretrain_key / CARD
    card.write_text(card.read_text().replace('"seed": 42', '"seed": 43'))
    found = find_cell(store.root, "pmq finetune")
    assert any("the card does not match its digest" in line for line in explained(found, store, whole=True))
    card.unlink()
    assert any(line.endswith(f"{card} is gone") for line in explained(found, store, whole=True))
    assert written(card) == "gone"


def test_a_stored_text_of_several_lines_is_one_and_a_long_list_is_told_by_its_ends(
    told_bench: Bench, tmp_path: Path
) -> None:
    store = Store(shutil.copytree(told_bench.store.root, tmp_path / "runs"))
    row = rewritten(told_bench, store, device={"name": "x\n\nscores\n  f1  1.0", "type": "cpu"})
    lines = list(explained(find_cell(store.root, row.key), store, whole=True))
    assert not [line for line in lines if "\n" in line]
    assert lines.count("scores") == 1
    assert any(line.startswith("  name ") and line.endswith("x  scores   f1  1.0") for line in lines)
    assert text_of([1.5, 2, 3, 4, 5]) == "1.5 ... 5 (5 values)"
    assert text_of([1.5, 2]) == "[1.5, 2]"
    assert text_of(None) == "none"


def test_the_verb_prints_it_and_refuses_in_a_line(told_bench: Bench, capsys: pytest.CaptureFixture[str]) -> None:
    results = ["--results", str(told_bench.store.root)]
    assert main(["explain", "pmq", "linear", *results]) == OK
    short = capsys.readouterr().out
    assert short.startswith("pmq linear chapman 0.5 seed 41\n\nscores\n  heartbeat acc ")
    assert "made by\n  encoder     pmq, " in short
    assert short.splitlines()[-1].endswith("--all")
    assert main(["explain", "pmq", "linear", *results, "--all"]) == OK
    every = capsys.readouterr().out
    assert every.startswith(short[: short.index("to make it again")])
    assert "\ncell\n  key " in every
    assert main(["explain", "pmqq", "linear", *results]) == USAGE
    out, error = capsys.readouterr()
    assert (out, error.count("\n")) == ("", 1)
