"""Cards of pretrainings: which are read, their courses, and seconds of one machine only."""

from __future__ import annotations

import json
import os
from collections.abc import Callable
from pathlib import Path

import numpy as np
import pytest

from benchmark.results.cards import card_bytes
from benchmark.results.keys import digest
from benchmark.training.illustrate import write_illustration
from reports.build import build_report
from reports.figures.illustrations import illustrations_of
from reports.runs.cards import LARGEST_ILLUSTRATION, Costs, costs, courses, machine_of
from reports.runs.run import open_run

GPU = {"device": {"type": "cuda", "name": "H200", "threads": 8}, "precision": "bf16"}
CPU = {"device": {"type": "cpu", "name": "x86_64", "threads": 2}, "precision": "float32"}


def write_card(root: Path, key: str, text: str) -> None:
    folder = root / "pretrained" / key
    folder.mkdir(parents=True)
    (folder / "pretraining.json").write_text(text)


def test_cards_of_finished_cells_are_read_and_others_left_out(write_store: Callable[..., Path]) -> None:
    root = write_store(complete=True)
    whole = card_bytes({"key": digest("pmq"), "seconds": 3.0}).decode()
    write_card(root, digest("pmq"), whole)
    write_card(root, digest("moco"), whole)
    run = open_run(root)
    assert {name: {key: card["seconds"] for key, card in own.items()} for name, own in run.cards.items()} == {
        "pmq": {digest("pmq"): 3.0}
    }
    assert run.left_out == [f"pretrained/{digest('moco')}/pretraining.json: this is the card of {digest('pmq')}"]


def test_health_of_the_windows_of_another_config_is_left_out_with_a_line(write_store: Callable[..., Path]) -> None:
    root = write_store(complete=True)
    for name, windows in (("moco", "here"), ("pmq", "there")):
        card = {"key": digest(name), "health": [{"epoch": 0}], "health_sample": {"windows_sha256": windows}}
        write_card(root, digest(name), card_bytes(card).decode())
    run = open_run(root)
    told = [name for name, own in run.cards.items() for card in own.values() if "health" in card]
    assert len(told) == 1
    assert run.left_out == ["health of 1 pretraining: measured on the data of another config, and not comparable"]


@pytest.mark.attack("cards edited, swapped or damaged")
def test_costs_of_an_edited_card_and_of_one_without_a_digest_are_left_out_with_a_line(
    write_store: Callable[..., Path], tmp_path: Path
) -> None:
    root = write_store(complete=True)
    sizes = {"windows_per_epoch": 16, "parameters": 100, "batch_size": 8, "peak_memory_gib": 0.5}
    card = {"loss": [2.0], "updates": 8, "seconds": 3.0, **sizes}
    write_card(root, digest("pmq"), card_bytes(card | {"key": digest("pmq")}).decode().replace("3.0", "0.3"))
    write_card(root, digest("moco"), json.dumps(card))
    run = open_run(root)
    left = {"loss": [2.0], "windows_per_epoch": 16, "parameters": 100, "batch_size": 8}
    assert run.cards == {"moco": {digest("moco"): left}}
    edited, old = run.left_out
    assert edited.endswith("pretraining.json: the card does not match its digest")
    assert old == (
        "costs of 1 pretraining: written before a pretraining.json held its own digest, they cannot be checked"
    )
    report = build_report(run, tmp_path / "out")
    assert {edited, old} <= set(report.problems)
    assert not (tmp_path / "out" / "costs.md").exists()


@pytest.mark.attack("pipes, devices, huge files and deep nesting")
def test_a_huge_illustration_is_not_read(write_store: Callable[..., Path]) -> None:
    root = write_store(complete=True)
    write_card(root, digest("pmq"), card_bytes({"key": digest("pmq")}).decode())
    file = root / "pretrained" / digest("pmq") / "illustration.npz"
    file.touch()
    os.truncate(file, LARGEST_ILLUSTRATION + 1)
    run = open_run(root)
    assert run.left_out == [f"pretrained/{digest('pmq')}/illustration.npz: larger than 256 MiB"]


def test_an_illustration_of_another_pretraining_is_not_drawn(write_store: Callable[..., Path]) -> None:
    root = write_store(complete=True)
    write_card(root, digest("pmq"), card_bytes({"key": digest("pmq"), "illustration_sha256": "0" * 64}).decode())
    write_illustration(root / "pretrained" / digest("pmq"), {"masked": np.ones((1, 5, 3)), "masked_names": ["none"]})
    run = open_run(root)
    assert illustrations_of(run, list(run.plan.variants)).masked == ()
    assert run.left_out == [
        f"pretrained/{digest('pmq')}/illustration.npz: the file does not match the digest in its card"
    ]


def test_a_course_is_one_line_per_epoch_and_measure() -> None:
    health = [
        {"epoch": 0, "effective_rank": 4.0, "positives_same_recording": None, "positives_other_recordings": None},
        {"epoch": 1, "effective_rank": 5.0, "positives_same_recording": 1.5, "positives_other_recordings": 2.0},
    ]
    found = courses({"pmq": {"k": {"loss": [1.25], "health": health}}, "random": {"r": {"health": health[:1]}}})
    lines = {(line.variant, line.epoch, line.measure): line.value for line in found.itertuples()}
    assert lines["pmq", 1, "loss"] == 1.25
    assert lines["pmq", 1, "positives"] == 3.5
    assert ("pmq", 0, "positives") not in lines
    assert (lines["pmq", 0, "effective_rank"], lines["random", 0, "effective_rank"]) == (4.0, 4.0)
    assert len(courses({})) == 0


def test_seconds_are_means_on_the_machine_of_most_rows() -> None:
    cards = {
        "random": {"r": {**GPU}},
        "moco": {"a": {**GPU, "seconds": 10.0}, "b": {**GPU, "seconds": 20.0}},
        "pmq": {"c": {**GPU, "seconds": 12.0}},
        "comet": {"d": {**CPU, "seconds": 900.0}},
    }
    assert costs(cards) == Costs("H200, bf16", {"moco": 15.0, "pmq": 12.0}, ("comet",))
    assert costs({"random": {"r": {}}}) == Costs("", {}, ())


def test_a_machine_is_its_device_precision_and_threads_where_they_matter() -> None:
    assert machine_of(GPU) == "H200, bf16"
    assert machine_of(CPU) == "x86_64, 2 threads, float32"
    assert machine_of({**CPU, "device": None}) == "unknown device, float32"
    assert machine_of({**CPU, "device": CPU["device"] | {"threads": 1}}) == "x86_64, 1 thread, float32"
    assert machine_of({**CPU, "threads": [1]}) == "x86_64, 1 thread, float32"
    assert machine_of({**CPU, "threads": [1, 4]}) == "x86_64, 1 then 4 threads, float32"
    assert machine_of({**GPU, "compiled": True}) == "H200, bf16, compiled"
    assert machine_of({}) == "unknown device, ?"
