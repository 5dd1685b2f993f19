"""A report's files: all from the rows alone, whole, and named with what failed; classes score as with scikit-learn."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from io import StringIO
from pathlib import Path

import numpy as np
import pandas as pd
import pytest
from scipy.stats import t as student
from sklearn.metrics import average_precision_score, f1_score, roc_auc_score

from benchmark.cli.report import show_report
from benchmark.results.files import digest
from benchmark.results.metrics import score_retrieval
from benchmark.results.store import Plan, PlannedCell, Predictions, Row, Store
from benchmark.screen import open_console
from reports import load
from reports.build import build_report, class_scores, class_tables, pretrainings_table, scores_by_class
from reports.looks import titles_of
from tests.reports.conftest import DATASETS, row_of, write_record

WriteStore = Callable[..., Path]

FILES = (
    "results.md", "results.tex", "results.csv", "cells.csv", "choices.csv", "intervals.csv", "pairwise.csv",
    "classes.csv", "costs.csv", "report.html", "methods.md", "references.bib",
)  # fmt: skip


def files_of(out: Path) -> dict[str, bytes]:
    return {file.name: file.read_bytes() for file in out.iterdir() if file.is_file()}


def test_a_run_that_was_resumed_gives_the_bytes_of_one_that_was_not(write_store: WriteStore, tmp_path: Path) -> None:
    """It was reported when it was open, filled in another order, and took other times."""
    build_report(load(write_store("a", complete=True)), tmp_path / "whole")
    out = tmp_path / "resumed"
    build_report(load(write_store("b", backwards=True)), out)
    longer = {"seconds": 99.0}
    resumed = write_store(
        "b", backwards=True, complete=True, alter=lambda row: replace(row, training=row.training | longer)
    )
    report = build_report(load(resumed), out)
    assert [table.name for table in report.tables] == ["finetune-heartbeat", "linear-heartbeat"]
    whole, after = files_of(tmp_path / "whole"), files_of(out)
    assert set(whole) == set(FILES)
    assert [name for name in FILES[:-1] if after[name] != whole[name]] == []


def test_a_store_that_was_completed_on_another_computer_says_so_in_one_line(
    write_store: WriteStore, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    """Two rows of PMQ have another BLAS kernel and another NumPy; its pretraining went on with other threads."""
    versions = {"torch": "2.13.0", "numpy": "2.1.0"}

    def elsewhere(row: Row) -> Row:
        if (row.variant, row.dataset, row.seed, row.evaluation) != ("pmq", "ptb-xl", 41, "finetune"):
            return row
        device = row.provenance["device"] | {"kernels": "Haswell"}
        return replace(row, provenance=row.provenance | {"device": device, "versions": versions})

    def lines_of(name: str, alter: Callable[[Row], Row], threads: tuple[int, ...]) -> list[str]:
        root = write_store(name, complete=True, alter=alter)
        computer = row_of(load(root).plan.cells[0]).provenance
        computers = [computer | {"device": computer["device"] | {"type": "cpu", "threads": count}} for count in threads]
        write_record(root, "pmq", loss=[1.0], updates=4, computed_on=computers)
        show_report(load(root), tmp_path / name, None, open_console(), [])
        return [line for line in capsys.readouterr().out.splitlines() if "were not computed alike" in line]

    assert lines_of("alike", lambda row: row, (1,)) == []
    assert "not computed alike" not in (tmp_path / "alike" / "results.md").read_text()
    (line,) = lines_of("mixed", elsewhere, (1, 2))
    assert "processor H200 (36 cells), H200, Haswell (2 of PMQ);" in line
    assert "numpy 2.3.5 (36 cells), 2.1.0 (2 of PMQ);" in line
    assert "threads of a pretraining 1 (10 cells), 2 (10 of PMQ)." in line
    text, page = ((tmp_path / "mixed" / name).read_text() for name in ("results.md", "report.html"))
    assert (text.count("numpy 2.3.5 (32 cells)"), page.count("numpy 2.3.5 (36 cells)")) == (1, 1)


@pytest.mark.parametrize(
    ("protocol", "unit", "units"),
    [
        ("strict", None, {"recording"}),
        ("paper", "recording", {"recording"}),
        ("paper", "both", {"heartbeat", "recording"}),
    ],
)
def test_the_score_unit_is_that_of_the_protocol_where_none_is_chosen(
    write_store: WriteStore, tmp_path: Path, protocol: str, unit: str | None, units: set[str]
) -> None:
    root = write_store(alter_plan=lambda plan: replace(plan, config=plan.config | {"protocol": protocol}))
    report = build_report(load(root), tmp_path / "out", unit=unit)
    assert {unit for table in report.tables for unit in table.scores["unit"]} == units


@pytest.mark.draws
def test_a_report_comes_without_further_figures_where_one_fails(
    store_root: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("reports.figures.draw_differences", lambda *_: 1 / 0)
    report = build_report(load(store_root), tmp_path / "out")
    assert report.problems == ["further figures: ZeroDivisionError: division by zero"]
    assert (tmp_path / "out" / "report.html").is_file()


@pytest.mark.draws
def test_names_of_others_are_text_in_every_file(write_store: WriteStore, tmp_path: Path) -> None:
    odd = r"{A} {0} {} %s \ $\x$"

    def rename(plan: Plan) -> Plan:
        variants = {name: f"{odd} {title}" for name, title in plan.variants.items()}
        classes = {"classes": [f"{odd} a", f"{odd} b"]}
        datasets = {name: facts | classes | {"title": f"{odd} {name}"} for name, facts in plan.datasets.items()}
        roles = {"moco": {"role": "sweep", "of": "pmq", "hyperparameter": "queue_size", "value": odd}}
        corpus = plan.pretraining | {"title": odd}
        return replace(plan, variants=variants, datasets=datasets, roles=roles, pretraining=corpus, warnings=[odd])

    root, out, shown = write_store(alter_plan=rename), tmp_path / "out", StringIO()
    write_record(root, "pmq", seed=42, loss=[1.0, 0.5], health=[{"epoch": epoch} for epoch in range(3)])
    assert build_report(load(root), out).problems == []
    assert len(list((out / "figures").glob("*.png"))) == 6
    show_report(load(root), out, None, open_console(shown), [])
    for name in ("results.csv", "classes.csv", "report.html"):
        assert odd in (out / name).read_text(), name
    assert odd in shown.getvalue()
    assert r"{A} {0} {} %s \\ \$\\x\$ (simulated), 80 of its 90 recordings" in (out / "results.md").read_text()
    assert r"\{A\} \{0\} \{\} \%s \textbackslash{} \$\textbackslash{}x\$" in (out / "results.tex").read_text()


@pytest.mark.draws
def test_figures_call_a_title_without_glyphs_by_its_name(write_store: WriteStore, tmp_path: Path) -> None:
    def rename(plan: Plan) -> Plan:
        datasets = {name: facts | {"title": "心电图"} for name, facts in plan.datasets.items()}
        return replace(plan, datasets=datasets, variants=dict.fromkeys(plan.variants, "心电图"))

    results = load(write_store(alter_plan=rename))
    assert titles_of(results.plan).datasets == {"ptb-xl": "ptb-xl (simulated)", "chapman": "chapman"}
    assert build_report(results, tmp_path / "out").problems == []  # a letter without a glyph is a warning


@pytest.mark.draws
def test_a_run_of_a_single_row_has_no_differences(write_store: WriteStore, tmp_path: Path) -> None:
    def alone(plan: Plan) -> Plan:
        cells = [cell for cell in plan.cells if cell.variant == "random"]
        return replace(plan, cells=cells, variants={"random": plan.variants["random"]})

    report = build_report(load(write_store(alter_plan=alone)), tmp_path / "out")
    assert report.problems == []
    assert not list((tmp_path / "out" / "figures").glob("*differences*"))


def test_a_report_names_what_is_missing(store_root: Path, tmp_path: Path) -> None:
    key = load(store_root).plan.cells[0].key
    (store_root / "cells" / f"{key}.json").write_text("{")
    report = build_report(load(store_root), tmp_path / "out")
    (failed,) = report.failures
    assert failed.startswith("PMQ (Chapman, 1 %, seed 42): RuntimeError: the loss is not finite; traceback in ")
    assert [f"{key}.json" in problem for problem in report.problems] == [True]


def test_the_console_ends_with_the_verdict(write_store: WriteStore, tmp_path: Path) -> None:
    def half(plan: Plan) -> Plan:
        return replace(plan, cells=[cell for cell in plan.cells if (cell.variant, cell.ratio) != ("random", 0.01)])

    shown, root = StringIO(), write_store(alter_plan=half)
    write_record(root, "pmq", seed=42, loss=[1.0], health=[{"epoch": 1, "effective_rank": 1.5, "mean_cosine": 0.9}])
    show_report(load(root), tmp_path / "out", None, open_console(shown), [])
    warning, *lines = shown.getvalue().splitlines()
    assert "PMQ, seed 42: " in warning
    assert [line.split()[0] for line in lines[5:8]] == ["Random", "MoCo", "PMQ"]  # as the config has them
    assert len(lines) <= 25
    assert "PMQ (Chapman, 1 %, seed 42): RuntimeError: the loss is not finite" in lines[0]
    assert lines[-1] == f"The page for a browser: {tmp_path / 'out' / 'report.html'}"
    assert lines[-6] in load(root).verdict()


@pytest.fixture
def random_store(store_root: Path) -> Path:
    """The made-up store with one cell of random predictions on 40 windows."""
    results = load(store_root)
    generator = np.random.default_rng(3)
    truth = np.eye(2, dtype=np.int64)[generator.integers(0, 2, 40)]  # (40, 2)
    probability = generator.dirichlet((1, 1), 40).astype(np.float32)  # (40, 2)
    names = np.array([f"r{number}" for number in range(40)])
    row = next(iter(results.rows.values()))
    results.stores[0].save_row(row, Predictions(probability, truth, names, names))
    return store_root


def test_the_scores_of_a_class_are_scikit_learns(random_store: Path) -> None:
    results = load(random_store)
    cell, _ = results.finished[0]
    test = results.predictions(cell.key)
    classes = results.plan.datasets[cell.dataset]["classes"]
    where = (cell.evaluation, "heartbeat", cell.dataset, cell.ratio, classes[1], cell.variant)
    frame = class_scores(results, ["heartbeat"]).set_index(
        ["evaluation", "unit", "dataset", "ratio", "class", "variant"]
    )
    other = results.finished[1][0]  # of the second seed, without an error
    assert (other.variant, other.seed) == (cell.variant, 42)
    truth, probability = test.truth[:, 1], test.probability[:, 1]
    scores = frame.loc[where]
    assert 2 * scores["auroc_mean"] - 1 == pytest.approx(roc_auc_score(truth, probability))
    assert 2 * scores["auprc_mean"] - 1 == pytest.approx(average_precision_score(truth, probability))
    assert 2 * scores["f1_mean"] - 1 == pytest.approx(f1_score(truth, test.probability.argmax(axis=1)))
    assert scores["seeds"] == 2
    one_sign = replace(test, truth=np.full_like(test.truth, 1))
    assert np.isnan([scores[1:3] for scores in scores_by_class(one_sign, multi=True)]).all()


def test_a_table_of_classes_has_a_column_per_row_of_the_scores(random_store: Path) -> None:
    results = load(random_store)
    tables = class_tables(class_scores(results, ["heartbeat"]), results)
    table = tables["Fine-tuned, PTB-XL, 30 % of the labels, per heartbeat"]
    assert list(table) == ["Class", *results.plan.variants.values()]
    assert table["Class"].iloc[0] == "HYP (48.8 %)"


def test_patient_retrieval_has_intervals_over_patients(write_store: WriteStore, tmp_path: Path) -> None:
    cells = [
        PlannedCell(digest(["retrieval", row, dataset]), row, "retrieval", dataset, 1.0, 41)
        for row in ("random", "pmq")
        for dataset in DATASETS
    ]
    root = write_store(complete=True, alter_plan=lambda plan: replace(plan, cells=[*plan.cells, *cells]))
    patient = np.repeat(np.arange(9), 2)  # (n,)
    for number, cell in enumerate(cells):
        hits = np.random.default_rng(number).integers(0, 2, (18, 5)).astype(np.float32)[: 18 * (number % 2 == 0)]
        ids, scored = np.char.add("r", np.arange(len(hits)).astype(str)), score_retrieval(hits, patient[: len(hits)])
        row = replace(row_of(cell), scores={"recording": scored.values}, undefined={"recording": scored.undefined})
        Store(root).save_row(
            row, Predictions(hits, np.ones((len(hits), 2), np.int64), ids, patient[: len(hits)].astype(str))
        )
    build_report(load(root), tmp_path / "out")
    text, page = ((tmp_path / "out" / name).read_text() for name in ("results.md", "report.html"))
    assert "–: Chapman: no test patient has several recordings." in text
    hit = np.random.default_rng(2).integers(0, 2, (18, 5))[:, 0]  # of PMQ on PTB-XL, (n,)
    left_out = np.array([hit[patient != one].mean() for one in range(9)])  # (P,)
    half = student.isf(0.025, 8) * np.sqrt(8 / 9 * ((left_out - left_out.mean()) ** 2).sum())
    interval = f"{100 * hit.mean():.1f} ({100 * (hit.mean() - half):.1f} to {100 * (hit.mean() + half):.1f})"
    line = [cell.strip() for cell in text.splitlines()[-1].split("|")]
    assert line[1:3] + line[7:9] == ["PMQ", interval, "–", "100.0"]
    assert interval in page
    pairs = pd.read_csv(tmp_path / "out" / "retrieval-pairs.csv").dropna(subset=["difference"]).set_index("metric")
    assert (pairs["first"] + pairs["second"]).unique().tolist() == ["randompmq"]
    random, pmq = (np.random.default_rng(seed).integers(0, 2, (18, 5))[:, 2].mean() for seed in (0, 2))
    assert pairs["difference"]["patient_auroc"] == pytest.approx(random - pmq)


def test_pretrainings_are_listed_by_row(write_store: WriteStore) -> None:
    def of_seed(row: Row) -> Row:
        return replace(row, pretrain_key=digest(f"{row.variant}{row.seed}"), pretrain_seed=row.seed)

    root = write_store(complete=True, alter=of_seed)
    for seed in (41, 42):
        health = [{"epoch": 0, "effective_rank": 4.0}, {"epoch": 1, "effective_rank": 1.5, "mean_cosine": 0.9}]
        write_record(root, f"pmq{seed}", seed=seed, loss=[3.0, 2.0], updates=8, seconds=5.0, health=health)
        write_record(root, f"random{seed}", seed=seed, loss=[], health=health[:1])
    table = pretrainings_table(load(root))
    assert table[["Pretraining", "Seed"]].to_numpy().tolist() == [["Random", "41, 42"], ["PMQ", "41"], ["PMQ", "42"]]
    random, pmq, _ = table.to_dict("records")
    assert (random["Training"], random["Loss"], random["effective rank"]) == ("untrained", "–", "4.00")
    assert (pmq["Loss"], pmq["effective rank"]) == ("3.00 → 2.00", "4.00 → 1.50")
    assert pmq["Training"] == "2 epochs, 8 updates, 5 s; collapsed"
