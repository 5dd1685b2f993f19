"""The words around a table: what it rests on is said, and nothing that changes from run to run.

The sentences above a table: what is above and below the reference, the other pairs, and what is left open.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path
from typing import Any

import pandas as pd
import pytest

from benchmark.results.files import write_atomic
from benchmark.results.names import CARD
from benchmark.results.schema import digest
from benchmark.results.store import Failure, Plan, PlannedCell, Row, card_bytes
from reports.runs import layouts, open_run
from reports.statistics.table import Difference, Differences, TableStatistics
from reports.tables.table import make_table
from reports.tables.words import (
    caption_of,
    details_of,
    footers_of,
    labels_text,
    ratio_stem,
    ratio_text,
    seeds_named,
    sentence,
    verdict,
)


def footers(root: Path, evaluation: str = "finetune") -> list[str]:
    run = open_run(root)
    cells = [cell for cell in run.plan.cells if cell.evaluation == evaluation]
    return list(footers_of(run, cells, "heartbeat"))


def details(root: Path) -> list[str]:
    run = open_run(root)
    return list(details_of(run, [cell for cell in run.plan.cells if cell.evaluation == "finetune"]))


@pytest.mark.parametrize(("alone", "told"), [(800, True), (448, False)])
def test_rows_that_pair_recordings_say_when_most_windows_have_no_other(
    write_store: Callable[..., Path], alone: int, told: bool
) -> None:
    root = write_store(complete=True)
    counts = {"windows_of_patients_with_one_recording": alone, "windows_of_all_patients": 896}
    file = root / "pretrained" / digest("pmq") / CARD
    write_atomic(file, card_bytes({"key": digest("pmq")} | counts))
    line = (
        f"PMQ, which pairs two recordings of a patient: {alone} of 896 windows to pretrain on come from patients with "
        "one recording, and are paired with another window of it."
    )
    assert (line in footers(root)) == told
    assert any("one recording" in footer for footer in footers(root)) == told


@pytest.mark.parametrize(("ratio", "text"), [(1.0, "100 %"), (0.3, "30 %"), (0.07, "7 %"), (0.005, "0.5 %")])
def test_ratio_in_percent(ratio: float, text: str) -> None:
    assert ratio_text(ratio) == text


def test_of_a_few_shot_table_a_ratio_is_a_number_of_patients() -> None:
    assert [labels_text(ratio, "few-shot") for ratio in (1.0, 10.0)] == ["1 patient per class", "10 patients per class"]
    assert labels_text(0.3, "linear") == "30 % of the labels"
    assert [ratio_stem(5.0, "few-shot"), ratio_stem(0.3, "knn")] == ["5-per-class", "30"]


def as_few_shot(cell: PlannedCell) -> PlannedCell:
    return replace(cell, evaluation="few-shot", ratio={0.3: 10.0, 0.01: 1.0}[cell.ratio])


def test_a_few_shot_table_has_a_block_per_number_of_patients(write_store: Callable[..., Path]) -> None:
    run = open_run(write_store())
    cells = [as_few_shot(cell) for cell in run.plan.cells if cell.evaluation == "finetune"]
    rows = {
        key: replace(row, evaluation="few-shot", ratio=as_few_shot(row).ratio)
        for key, row in run.rows.items()
        if row.evaluation == "finetune"
    }
    few = replace(run, plan=replace(run.plan, cells=cells), rows=rows)
    (layout, *_) = layouts(few.plan, "few-shot")
    table = make_table(few, layout, "heartbeat")
    assert [block.title for block in table.blocks] == ["10 patients per class", "1 patient per class"]
    assert table.title.startswith("Few-shot linear probe")
    assert "deterministic" not in table.caption
    assert any("PTB-XL, 1 patient per class" in line for line in table.footers)


@pytest.mark.parametrize(("evaluation", "said"), [("knn", True), ("linear-fix", True), ("finetune", False)])
def test_a_probe_without_chance_says_so(write_store: Callable[..., Path], evaluation: str, said: bool) -> None:
    run = open_run(write_store())
    cells = [replace(cell, evaluation=evaluation) for cell in run.plan.cells if cell.evaluation == "finetune"]
    plan = replace(run.plan, cells=cells)
    (layout, *_) = layouts(plan, evaluation)
    assert (
        "A number without ± does not vary over seeds: the probe is deterministic." in caption_of(plan, cells, layout, 6)
    ) is said


def test_a_reader_is_told_what_a_number_needs(store_root: Path) -> None:
    assert footers(store_root) == [
        "Cells: 29 of 32 finished, 1 failed, 2 not run.",
        "Scored per heartbeat; protocol paper, single labels. Data: PTB-XL (simulated), Chapman (real); pretraining on "
        "MIMIC-IV-ECG (simulated).",
        "Patients without a scored recording: PTB-XL HYP 3 of 4.",
        "Note: no labelled window of class HYP (PTB-XL, 1 %: 8 cells).",
        "Failed: PMQ (Chapman, 1 %, seed 42): RuntimeError: the loss is not finite",
        "Code: commit 0123456789ab.",
    ]


def test_what_is_pretrained_on_is_counted(write_store: Callable[..., Path]) -> None:
    used = {"used_recordings": 70, "used_patients": 7}
    root = write_store(alter_plan=lambda plan: replace(plan, pretraining=plan.pretraining | used))
    told = "pretraining on MIMIC-IV-ECG (simulated), 70 of its 90 recordings, of 7 patients."
    assert footers(root)[1].endswith(told)


def test_untrained_rows_alone_are_pretrained_on_nothing(write_store: Callable[..., Path]) -> None:
    root = write_store(alter_plan=lambda plan: replace(plan, config=plan.config | {"methods": ["random"]}))
    assert footers(root)[1].endswith("Chapman (real); nothing is pretrained.")


def test_signals_that_are_not_the_papers_are_told(write_store: Callable[..., Path]) -> None:
    def told(**data: object) -> list[str]:
        def altered(plan: Plan) -> Plan:
            return replace(plan, config=plan.config | {"data": plan.config["data"] | data})

        return [line for line in footers(write_store(alter_plan=altered)) if line.startswith("Signals")]

    crops = {"segmentation": "recordings", "window_seconds": 2.5}
    assert told() == []
    assert told(**crops) == ["Signals: crops of 2.5 s every 1.25 s of whole recordings."]
    assert told(rate=100, standardise="none", leads=["I"], pool="max") == [
        "Signals: 100 Hz; not standardised; downstream with leads I alone, the others zero; a recording's "
        "probabilities are the maxima over its windows."
    ]


def test_a_note_that_other_rows_of_the_column_lack_names_its_rows(write_store: Callable[..., Path]) -> None:
    def noted(row: Row) -> Row:
        own = ["no test window of class CD"] + (["odd"] if row.variant in ("moco", "pmq") and row.seed == 41 else [])
        return replace(row, notes=own if (row.dataset, row.ratio) == ("ptb-xl", 0.3) else [])

    assert [line for line in footers(write_store(alter=noted)) if line.startswith("Note")] == [
        "Note: no test window of class CD (PTB-XL, 30 %: 8 cells).",
        "Note: odd (PTB-XL, 30 %: 2 cells of MoCo, PMQ).",
    ]


def test_notes_of_the_same_cells_share_a_line(write_store: Callable[..., Path]) -> None:
    def noted(row: Row) -> Row:
        own = "no labelled window of class HYP" if row.seed == 41 else "no labelled window of class CD"
        return replace(row, notes=[own] if (row.dataset, row.ratio) == ("ptb-xl", 0.01) else [])

    (line,) = [line for line in footers(write_store(alter=noted)) if line.startswith("Note")]
    assert line.startswith(
        "Note: no labelled window of class HYP; no labelled window of class CD (PTB-XL, 1 %: 4 cells"
    )
    assert line.endswith(" each).")


@pytest.mark.parametrize(
    ("seeds", "named"), [([41], "41"), ([42, 41], "41, 42"), ([43, 42, 41], "41 to 43"), ([41, 42, 44], "41, 42, 44")]
)
def test_seeds_in_a_row_are_named_by_their_ends(seeds: list[int], named: str) -> None:
    assert seeds_named(seeds) == named


def test_the_rest_is_detail(store_root: Path) -> None:
    assert details(store_root) == [
        "Recordings and patients: PTB-XL 30 of 20; Chapman 40 of 40; MIMIC-IV-ECG 90 of 9.",
        "Skipped recordings: PTB-XL 3 (all-zero lead: 1, rate under 50/min: 2); Chapman 0; MIMIC-IV-ECG 0.",
    ]


def test_plain_windows_are_called_so(write_store: Callable[..., Path]) -> None:
    plain = {"data": {"labels": "single", "segmentation": "windows"}}
    lines = footers(write_store(alter_plan=lambda plan: replace(plan, config=plan.config | plain)))
    assert lines[1].startswith("Scored per window; protocol paper, single labels.")


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


def test_of_many_failed_cells_a_few_are_named(write_store: Callable[..., Path]) -> None:
    run = open_run(write_store())
    cells = [cell for cell in run.plan.cells if cell.evaluation == "finetune"]
    run = replace(run, rows={}, failures={cell.key: Failure("E: " + "why " * 100) for cell in cells})
    (line,) = (line for line in footers_of(run, cells, "heartbeat") if line.startswith("Failed"))
    assert line.startswith("Failed: Random (PTB-XL, 30 %, seeds 41, 42); Random (Chapman, 30 %, seeds 41, 42); MoCo (")
    assert "; and 13 more: E: why why" in line
    assert len(line) < 350


def test_warnings_of_the_plan_follow_the_cells(write_store: Callable[..., Path]) -> None:
    lines = footers(write_store(alter_plan=lambda plan: replace(plan, warnings=["1 patient is on two sides", "two"])))
    assert lines[1:3] == ["Warning: 1 patient is on two sides.", "Warning: two."]


def test_a_failure_of_an_earlier_attempt_is_forgotten(write_store: Callable[..., Path]) -> None:
    lines = footers(write_store(complete=True))
    assert lines[0] == "Cells: 32 of 32 finished."
    assert not [line for line in lines if line.startswith("Failed")]


def test_damaged_rows_are_named_and_counted(store_root: Path) -> None:
    cell = open_run(store_root).plan.cells[0]
    (store_root / "cells" / f"{cell.key}.npz").write_bytes(b"broken")
    lines = footers(store_root)
    assert lines[0] == "Cells: 28 of 32 finished, 1 failed, 1 damaged, 2 not run."
    assert "Left out: Random (PTB-XL, 30 %, seed 41): the stored row is damaged." in lines


def test_two_commits_and_uncommitted_work_are_said(write_store: Callable[..., Path]) -> None:
    root = write_store(
        alter=lambda row: replace(
            row, provenance={"git": {"commit": "a" * 40, "dirty": row.seed == 42}} if row.variant != "moco" else {}
        )
    )
    assert footers(root)[-1] == "Code: commit aaaaaaaaaaaa, aaaaaaaaaaaa with uncommitted changes."


def test_caption_says_seeds_simulation_and_the_words_of_the_config(store_root: Path) -> None:
    plan = open_run(store_root).plan
    cells = [cell for cell in plan.cells if cell.evaluation == "finetune"]
    caption = caption_of(plan, cells, next(layouts(plan, cells[0].evaluation)), 6)
    assert "mean±std over seeds 41, 42" in caption
    assert "mean of the 6 columns" in caption
    assert "Simulated ECGs" in caption
    assert caption.endswith("A config's own words.")


def test_caption_of_real_data_does_not_speak_of_simulation(store_root: Path) -> None:
    plan: Plan = open_run(store_root).plan
    real = replace(
        plan,
        datasets={name: facts | {"simulated": False} for name, facts in plan.datasets.items()},
        pretraining=plan.pretraining | {"simulated": False},
    )
    assert "imulated" not in caption_of(real, real.cells, next(layouts(real, "finetune")), 6)


TITLES = {"random": "Random", "moco": "MoCo", "pmq": "PMQ", "byol": "BYOL", "etp": "ETP"}
PAIR = (
    "ratio", "metric", "first", "second", "difference", "low", "high", "p_holm", "patients_se", "seeds_se", "seeds",
    "detectable", "repeat",
)  # fmt: skip


def found(*pairs: tuple[Any, ...]) -> TableStatistics:
    """Statistics of Overall with pairs (ratio, first, second, difference, p, seeds' error); a repeat finds 70 %."""
    lines = [
        (ratio, "overall", a, b, d, d - 0.01, d + 0.01, p, 0.005, error, 3, 0.02, 0.7)
        for ratio, a, b, d, p, error in pairs
    ]
    scores = [
        {"ratio": ratio, "metric": "overall", "variant": name, "mean": 0.5} for ratio in (0.1,) for name in TITLES
    ]
    return TableStatistics(
        frames={"pairwise": pd.DataFrame(lines, columns=list(PAIR)), "intervals": pd.DataFrame(scores)}
    )


ROWS = (
    Difference("moco", 1.04, 0.2, 1.9, told=True, repeat=0.8999),
    Difference("pmq", 3.1, 1.2, 5.0, told=True, repeat=0.9),
    Difference("byol", -2.0, -3.0, -1.0, told=True, repeat=0.5),
    Difference("etp", -0.04, math.nan, math.nan, told=False, repeat=math.nan),
)


def test_a_sentence_groups_the_rows_by_what_is_significant() -> None:
    assert sentence(Differences(0.01, "random", ROWS), TITLES) == (
        "1 % of the labels: significantly above: PMQ +3.1 (1.2 to 5.0), MoCo +1.0 (0.2 to 1.9); significantly below: "
        "BYOL −2.0 (−3.0 to −1.0); not significantly different: ETP +0.0 (interval not estimable)."
    )


def test_a_sentence_tells_what_a_repeat_should_find_from_what_it_may_miss() -> None:
    assert sentence(Differences(0.01, "random", ROWS), TITLES, again=True) == (
        "1 % of the labels: significantly above, expected again: PMQ +3.1 (1.2 to 5.0); significantly above, a repeat "
        "may miss it: MoCo +1.0 (0.2 to 1.9; chance 89 %); significantly below, a repeat may miss it: BYOL −2.0 (−3.0 "
        "to −1.0; chance 50 %); not significantly different: ETP +0.0 (interval not estimable)."
    )


@pytest.fixture
def plan(store_root: Path) -> Plan:
    return replace(open_run(store_root).plan, variants=TITLES)


def test_of_one_pretraining_the_differences_are_of_the_encoders(plan: Plan) -> None:
    first, *_ = verdict(plan, found((0.1, "random", "pmq", -0.02, 0.01, 0.001)))
    assert first == (
        "Overall minus that of Random in points, with 95 % intervals, not adjusted; significant: after Holm's "
        "correction over all pairs of rows. Differences of these encoders (one pretraining each), not of the methods."
    )


def test_with_a_pretraining_per_seed_the_differences_are_of_methods(plan: Plan) -> None:
    strict = replace(plan, config={**plan.config, "protocol": "strict"})
    first, *_ = verdict(strict, found((0.1, "random", "pmq", -0.02, 0.01, 0.001)))
    assert first.endswith(
        "Differences of methods (3 pretrainings each). Expected again: other 3 seeds on the same test patients would "
        "find it significant too, with a chance of 90 % or more; a lower chance is given."
    )


OTHERS = (
    (0.3, "random", "pmq", -0.02, 0.01, 0.001),
    (0.3, "pmq", "moco", 0.03, 0.01, 0.001),
    (0.3, "byol", "pmq", -0.03, 0.01, 0.001),
    (0.3, "moco", "byol", 0.0, 0.9, 0.001),
    (0.1, "pmq", "moco", 0.03, 0.01, 0.001),
    (0.1, "byol", "pmq", -0.03, 0.01, 0.001),
)


def test_the_other_pairs_are_grouped_by_the_row_above_and_the_shares_of_labels(plan: Plan) -> None:
    assert (
        "Among the other rows: PMQ above MoCo, BYOL (30, 10 %). No significant difference in 1 of 3 pairs."
        in verdict(plan, found(*OTHERS))
    )


def test_of_methods_the_other_pairs_are_told_by_what_a_repeat_should_find(plan: Plan) -> None:
    strict, statistics = replace(plan, config={**plan.config, "protocol": "strict"}), found(*OTHERS)
    assert (
        "Among the other rows: a repeat may miss: PMQ above MoCo, BYOL (30, 10 %). No significant difference in 1 of 3 "
        "pairs."
    ) in verdict(strict, statistics)
    pairs = statistics.frames["pairwise"]
    pairs.loc[pairs["second"] == "moco", "repeat"] = 0.95
    assert (
        "Among the other rows: expected again: PMQ above MoCo (30, 10 %). A repeat may miss: PMQ above BYOL (30, "
        "10 %). No significant difference in 1 of 3 pairs."
    ) in verdict(strict, statistics)


@pytest.mark.parametrize(
    ("difference", "error", "words"),
    [
        (-0.019, 0.02, "PMQ above MoCo by 1.9 points at 10 % of the labels. It would take "),
        (-0.019, 0.001, "Enough for one comparison alone, not for all pairs (if it is true;"),
        (0.0001, 0.02, "Neither 100 seeds nor 100 times the test patients alone would show it (if it is true;"),
    ],
)
def test_the_largest_open_difference_comes_with_what_it_would_take(
    plan: Plan, difference: float, error: float, words: str
) -> None:
    *_, last = verdict(
        plan, found((0.1, "random", "pmq", 0.0, 0.9, error), (0.1, "moco", "pmq", difference, 0.2, error))
    )
    assert last.startswith("Largest difference that is not significant: ")
    assert words in last


def test_of_changes_the_sentences_are_of_the_method_as_it_is(plan: Plan) -> None:
    first, *_ = verdict(plan, found((0.1, "moco", "pmq", -0.02, 0.01, 0.001)), unchanged="pmq")
    assert first.startswith("Overall minus that of PMQ in points")


def test_without_two_rows_there_is_nothing_to_say(plan: Plan) -> None:
    assert list(verdict(plan, None)) == list(verdict(plan, TableStatistics())) == []


def test_rows_on_a_further_encoder_have_a_sentence_of_their_own(plan: Plan) -> None:
    further = {"random+s4": "Random (s4)", "pmq+s4": "PMQ (s4)"}
    statistics = found((0.1, "random", "pmq", -0.02, 0.01, 0.001), (0.1, "pmq+s4", "random+s4", 0.04, 0.2, 0.001))
    scores = [{"ratio": 0.1, "metric": "overall", "variant": name, "mean": 0.5} for name in (*TITLES, *further)]
    statistics = replace(statistics, frames={**statistics.frames, "intervals": pd.DataFrame(scores)})
    _, first, second, *_ = verdict(replace(plan, variants={**TITLES, **further}), statistics)
    assert first.startswith("10 % of the labels: significantly above: PMQ +2.0")
    assert second == ("From Random (s4), 10 % of the labels: not significantly different: PMQ (s4) +4.0 (3.0 to 5.0).")
