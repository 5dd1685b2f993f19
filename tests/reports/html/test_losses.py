"""Skipped recordings, coverage and failures as a page tells them."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

from benchmark.data.prepared.skipped import Skipped, write_skipped
from benchmark.results.failures import Failure
from reports.html.losses import SkippedRecording, coverage, failures, read_skipped, sources
from reports.runs.run import open_run

RATE, LEAD = "rate under 50/min", "all-zero lead"


def skips() -> list[Skipped]:
    return [Skipped(f"r{n}", f"p{n}", (), reason) for n, reason in enumerate([f"{RATE}: 41", f"{RATE}: 44", LEAD])]


def test_the_file_of_a_run_is_read_back(tmp_path: Path) -> None:
    write_skipped({"ptb-xl": skips()}, tmp_path / "skipped.csv")
    assert read_skipped(tmp_path / "skipped.csv")[0] == SkippedRecording("ptb-xl", "r0", "p0", f"{RATE}: 41")
    assert len(read_skipped(tmp_path / "skipped.csv")) == 3


def test_another_file_is_not_taken_for_it(tmp_path: Path) -> None:
    assert read_skipped(tmp_path / "skipped.csv") == []
    (tmp_path / "skipped.csv").write_text("a,b\n1,2\n")
    assert read_skipped(tmp_path / "skipped.csv") == []
    (tmp_path / "skipped.csv").write_text("dataset,recording,patient,reason\nptb-xl,r1\n")
    assert read_skipped(tmp_path / "skipped.csv") == [SkippedRecording("ptb-xl", "r1", "", "")]
    (tmp_path / "skipped.csv").write_bytes(b"\xff\x00\n")
    assert read_skipped(tmp_path / "skipped.csv") == []


def test_recordings_are_listed_only_where_they_are_those_the_plan_counted(store_root: Path) -> None:
    plan = open_run(store_root).plan
    own = [SkippedRecording("ptb-xl", skip.recording, skip.patient, skip.reason) for skip in skips()]
    corpus, ptb_xl, chapman = sources(plan, own)
    assert (corpus.title, corpus.kind, corpus.skipped) == ("MIMIC-IV-ECG", "simulated", 0)
    assert (ptb_xl.skipped, ptb_xl.reasons, ptb_xl.listed) == (3, ((RATE, 2), (LEAD, 1)), tuple(own))
    assert (chapman.kind, chapman.skipped, chapman.listed) == ("real", 0, ())
    assert list(sources(plan, own[1:]))[1].listed == ()


def test_a_corpus_that_is_also_a_dataset_stands_once_and_a_bare_count_has_no_reasons(store_root: Path) -> None:
    plan = open_run(store_root).plan
    plan = replace(plan, pretraining=plan.datasets["ptb-xl"] | {"name": "ptb-xl", "skipped": 4})
    plan = replace(plan, datasets={"ptb-xl": plan.pretraining})
    (source,) = sources(plan, [])
    assert source.reasons == (("reason not recorded", 4),)


def test_coverage_counts_the_patients_of_each_class_once(store_root: Path) -> None:
    lines = [(line.dataset, line.label, line.patients, line.unscored) for line in coverage(open_run(store_root))]
    assert lines == [("PTB-XL", "HYP", 4, 3), ("PTB-XL", "NORM", 20, 0), ("Chapman", "SB", 40, 0)]
    (hypertrophy, *_) = coverage(open_run(store_root))
    assert hypertrophy.reasons == "too short: 2, heart rate below 50/min: 1"


def test_cells_that_ended_in_one_error_stand_together(store_root: Path) -> None:
    run = open_run(store_root)
    first, second, *_ = run.plan.cells
    run = replace(run, damaged={cell.key: f"{cell.key}.json: cut off" for cell in (first, second)})
    damaged, failed = failures(run)
    assert (damaged.state, len(damaged.cells), damaged.error) == ("damaged", 2, "KEY.json: cut off")
    assert (failed.state, failed.error) == ("failed", "RuntimeError: the loss is not finite")
    assert failed.traceback.startswith("Traceback")
    assert failed.cells[0].startswith("PMQ, Chapman, 1 %, seed 42, finetune (")


def test_of_a_long_traceback_the_end_is_shown(store_root: Path) -> None:
    run = open_run(store_root)
    key = run.plan.cells[0].key
    (failure,) = failures(replace(run, failures={key: Failure("an error", "x" * 10_000 + "\nthe end")}))
    assert failure.error == "an error"
    assert len(failure.traceback) == 8000
    assert failure.traceback.endswith("the end")
