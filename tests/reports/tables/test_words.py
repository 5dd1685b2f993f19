"""The words around a table: what a number rests on, and nothing that changes from run to run."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from benchmark.config.schema import Data
from benchmark.results.files import write_atomic
from benchmark.results.names import CARD
from benchmark.results.schema import digest
from benchmark.results.store import Failure, Plan, Row, card_bytes
from reports.load import load
from reports.results import layouts
from reports.tables.table import make_table
from reports.tables.words import (
    caption_of,
    details_of,
    footers_of,
    labels_text,
    ratio_stem,
    seeds_named,
    signals_text,
    used_text,
)


def footers(root: Path, evaluation: str = "finetune") -> list[str]:
    run = load(root)
    cells = [cell for cell in run.plan.cells if cell.evaluation == evaluation]
    return list(footers_of(run, cells, "heartbeat"))


def details(root: Path) -> list[str]:
    run = load(root)
    return list(details_of(run, [cell for cell in run.plan.cells if cell.evaluation == "finetune"]))


@pytest.mark.parametrize(
    ("ratio", "text", "stem"),
    [(1.0, "100 % of the labels", "100"), (0.07, "7 % of the labels", "7"), (0.005, "0.5 % of the labels", "0.5")],
)
def test_a_ratio_is_percent(ratio: float, text: str, stem: str) -> None:
    assert (labels_text(ratio), ratio_stem(ratio)) == (text, stem)


@pytest.mark.parametrize(
    ("seeds", "named"), [([41], "41"), ([42, 41], "41, 42"), ([43, 42, 41], "41 to 43"), ([41, 42, 44], "41, 42, 44")]
)
def test_seeds_in_a_row_are_named_by_their_ends(seeds: list[int], named: str) -> None:
    assert seeds_named(seeds) == named


def test_a_number_comes_with_what_it_rests_on(store_root: Path) -> None:
    assert footers(store_root) == [
        "Cells: 29 of 32 finished, 1 failed, 2 not run.",
        "Scored per heartbeat; protocol paper, single labels. Data: PTB-XL (simulated), Chapman (real); pretraining on "
        "MIMIC-IV-ECG (simulated).",
        "Patients without a scored recording: PTB-XL HYP 3 of 4.",
        "Classes without a labelled window: HYP 8 of 8 cells (PTB-XL, 1 %).",
        "Failed: PMQ (Chapman, 1 %, seed 42): RuntimeError: the loss is not finite",
        "Code: commit 0123456789ab.",
    ]
    assert details(store_root) == [
        "Recordings and patients: PTB-XL 30 of 20; Chapman 40 of 40; MIMIC-IV-ECG 90 of 9.",
        "Skipped recordings: PTB-XL 3 (all-zero lead: 1, rate under 50/min: 2); Chapman 0; MIMIC-IV-ECG 0.",
    ]
    run = load(store_root)
    finished = [cell.key for cell in run.plan.cells if cell.key in run.rows]
    (store_root / "cells" / f"{finished[0]}.npz").write_bytes(b"broken")
    lines = footers(store_root)
    assert lines[0] == "Cells: 28 of 32 finished, 1 failed, 1 damaged, 2 not run."
    assert "Left out: Random (PTB-XL, 30 %, seed 41): the stored row is damaged." in lines
    cells = [cell for cell in run.plan.cells if cell.evaluation == "finetune"]
    run = replace(run, rows={}, failures={cell.key: Failure("E: " + "why " * 100) for cell in cells})
    (line,) = (line for line in footers_of(run, cells, "heartbeat") if line.startswith("Failed"))
    assert line.startswith("Failed: Random (PTB-XL, 30 %, seeds 41, 42); Random (Chapman, 30 %, seeds 41, 42); MoCo (")
    assert "; and 13 more: E: why why" in line
    assert len(line) < 350


@pytest.mark.parametrize(("protocol", "what"), [("strict", "patients"), ("paper", "recordings")])
def test_the_number_of_labelled_patients_or_recordings_stands_beside_their_share(
    write_store: Callable[..., Path], protocol: str, what: str
) -> None:
    def counted(row: Row) -> Row:
        labelled = round(row.ratio * {"ptb-xl": 100, "chapman": 200}[row.dataset])
        further = row.dataset == "chapman" and row.seed == 42
        other = {"train_patients": 7, "train_recordings": 7} | {f"train_{what}": labelled + further}
        other |= {f"validation_{what}": 5}
        return replace(row, counts=row.counts | other)

    root = write_store(
        alter=counted,
        alter_plan=lambda plan: replace(plan, config=plan.config | {"protocol": protocol}),
        complete=True,
    )
    line = (
        f"Labelled {what}, to train on + to choose settings on: "
        "PTB-XL 30 + 5, Chapman 60 to 61 + 5 (30 %); PTB-XL 1 + 5, Chapman 2 to 3 + 5 (1 %)."
    )
    assert [own for own in footers(root) if own.startswith("Labelled")] == [line]
    run = load(root)
    (layout, *_) = layouts(run.plan, "finetune")
    assert line in make_table(run, layout, "heartbeat").footers


def test_cross_validated_datasets_are_named(write_store: Callable[..., Path]) -> None:
    def alter(plan: Plan) -> Plan:
        return replace(plan, datasets=plan.datasets | {"chapman": plan.datasets["chapman"] | {"parts": 5}})

    root = write_store(complete=True, alter_plan=alter)
    line = (
        "Cross-validated: Chapman. Every patient is tested by what is learned on others, in 5 parts by patient that "
        "are drawn anew per seed and labelled subset; encoders see none of these datasets."
    )
    assert line in footers(root)


@pytest.mark.parametrize(("alone", "told"), [(800, True), (448, False)])
def test_rows_that_pair_recordings_say_when_most_windows_have_no_other(
    write_store: Callable[..., Path], alone: int, told: bool
) -> None:
    root = write_store(complete=True)
    counts = {"windows_of_patients_with_one_recording": alone, "windows_of_all_patients": 896}
    file = root / "pretrained" / digest("pmq") / CARD
    write_atomic(file, card_bytes({"key": digest("pmq")} | counts))
    line = (
        f"Pairs of a patient's recordings (PMQ): {alone} of 896 windows to pretrain on come from patients with one "
        "recording, and are paired with another window of it."
    )
    assert (line in footers(root)) == told
    assert any("one recording" in footer for footer in footers(root)) == told


@pytest.mark.parametrize(
    ("altered", "line"),
    [
        ({"data": {"rate": 100, "standardise": "none", "leads": ["I"], "pool": "max"}},
         "Signals: 100 Hz; not standardised; downstream with leads I alone, the others zero; a recording's "
         "probabilities are the maxima over its windows."),
        ({"data": {"segmentation": {"kind": "recordings", "seconds": 2.5, "stride": None}}},
         "Signals: crops of 2.5 s every 1.25 s of whole recordings."),
        ({"data": {"segmentation": {"kind": "recordings", "seconds": 10.0, "stride": None}}},
         "Scored per window; protocol paper, single labels. Data: PTB-XL (simulated), Chapman (real); pretraining on "
         "MIMIC-IV-ECG (simulated)."),
        ({"methods": ["random"]},
         "Scored per heartbeat; protocol paper, single labels. Data: PTB-XL (simulated), Chapman (real); nothing is "
         "pretrained."),
    ],
)  # fmt: skip
def test_signals_and_corpus_are_named(write_store: Callable[..., Path], altered: dict[str, Any], line: str) -> None:
    def alter(plan: Plan) -> Plan:
        data = plan.config["data"] | altered.get("data", {})
        used = {"used_recordings": 70, "used_patients": 7} if "data" not in altered else {}
        return replace(
            plan,
            config=plan.config | altered | {"data": data},
            pretraining=plan.pretraining | used,
            warnings=["1 patient is on two sides", "two"],
        )

    root = write_store(alter_plan=alter, complete=True)
    lines = footers(root)
    assert line in lines
    assert lines[:3] == ["Cells: 32 of 32 finished.", "Warning: 1 patient is on two sides.", "Warning: two."]
    assert not [own for own in lines if own.startswith("Failed")], "a failure of an earlier attempt is forgotten"
    assert used_text(load(root).plan) == ("" if "data" in altered else ", 70 of its 90 recordings, of 7 patients")


def test_notes_of_the_same_cells_share_a_line_and_those_of_some_rows_name_them(
    write_store: Callable[..., Path],
) -> None:
    def noted(row: Row) -> Row:
        at = row.dataset, row.ratio
        notes = ["no test window of class CD", "no test window of class MI"] if at == ("ptb-xl", 0.3) else []
        odd = row.variant in ("moco", "pmq") and row.seed == 41 and at == ("ptb-xl", 0.3)
        return replace(row, notes=[*notes, *(["odd"] if odd else [])])

    assert [line for line in footers(write_store(alter=noted)) if line.startswith("Note")] == [
        "Note: no test window of class CD; no test window of class MI (PTB-XL, 30 %: 8 cells each).",
        "Note: odd (PTB-XL, 30 %: 2 cells of MoCo, PMQ).",
    ]


def test_rows_that_read_reports_say_how(write_store: Callable[..., Path]) -> None:
    def reading(embedder: str, without: int) -> Callable[[Plan], Plan]:
        facts = {"role": "method", "of": "", "knob": "", "value": None, "reads_reports": True}
        return lambda plan: replace(
            plan,
            roles={"moco": facts},
            config=plan.config | {"pretrain": {"text_embedder": embedder}},
            pretraining=plan.pretraining | {"without_report": without},
        )

    told = "Reports, used by MoCo: embedded by"
    assert f"{told} TF-IDF and truncated SVD, fitted on them." in details(write_store(alter_plan=reading("tfidf", 0)))
    lines = details(write_store("bert", alter_plan=reading("some/bert", 3)))
    assert f"{told} some/bert, frozen; 3 recordings without a report are left out." in lines


def test_two_commits_and_uncommitted_work_are_said(write_store: Callable[..., Path]) -> None:
    root = write_store(
        alter=lambda row: replace(
            row, provenance={"git": {"commit": "a" * 40, "dirty": row.seed == 42}} if row.variant != "moco" else {}
        )
    )
    assert footers(root)[-1] == "Code: commit aaaaaaaaaaaa, aaaaaaaaaaaa with uncommitted changes."


@pytest.mark.parametrize(("evaluation", "fixed"), [("knn", True), ("finetune", False)])
def test_a_caption_says_seeds_simulation_and_the_words_of_the_config(
    store_root: Path, evaluation: str, fixed: bool
) -> None:
    plan = load(store_root).plan
    cells = [replace(cell, evaluation=evaluation) for cell in plan.cells if cell.evaluation == "finetune"]
    (layout, *_) = layouts(replace(plan, cells=cells), evaluation)
    caption = caption_of(plan, cells, layout, 6)
    assert "mean±std over seeds 41, 42. Overall: mean of the 6 columns." in caption
    assert ("A number without ± does not vary over seeds: the probe is deterministic." in caption) == fixed
    assert caption.endswith("Simulated ECGs: no ranking of methods follows. A config's own words.")
    datasets = {name: facts | {"simulated": False} for name, facts in plan.datasets.items()}
    real = replace(plan, datasets=datasets, pretraining=plan.pretraining | {"simulated": False})
    assert "imulated" not in caption_of(real, cells, layout, 6)


@pytest.mark.parametrize(
    ("changes", "lines"),
    [
        ({}, []),
        ({"rate": 500, "standardise": "none"}, ["Signals: 500 Hz; not standardised."]),
        (
            {"leads": ["I", "II"], "pool": "max"},
            [
                "Signals: downstream with leads I II alone, the others zero; a recording's probabilities are the "
                "maxima over its windows."
            ],
        ),
    ],
)
def test_signals_are_described_where_the_paper_takes_others(
    changes: dict[str, Any], lines: list[str], store_root: Path
) -> None:
    plan = load(store_root).plan
    data = Data().model_dump(mode="json") | changes
    assert list(signals_text(replace(plan, config=plan.config | {"data": data}))) == lines
