"""A table against numbers computed by hand (see conftest.py), printed rows, and rows of weights from elsewhere."""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from benchmark.results.printed import Printed, Source
from benchmark.results.store import Plan, Row
from reports.load import load
from reports.results import Results, layouts
from reports.statistics.table import statistics_of
from reports.tables import table as printed
from reports.tables.render import DASH, Line, Score, Table, latex, long_csv, markdown
from reports.tables.table import elsewhere_costs, elsewhere_files, make_table

ALL_COLUMNS = [(dataset, metric) for dataset in ("ptb-xl", "chapman") for metric in ("f1", "auroc", "acc")]


def table_of(root: Path, evaluation: str = "finetune", unit: str = "heartbeat") -> Table:
    run = load(root)
    return make_table(run, next(layouts(run.plan, evaluation)), unit)


def score(table: Table, ratio: float, variant: str, dataset: str, metric: str) -> Score:
    (block,) = [block for block in table.blocks if block.ratio == ratio]
    (line,) = [line for line in block.lines if line.variant == variant]
    places = [(column.dataset, column.metric) for column in table.columns]
    return line.scores[places.index((dataset, metric))]


def test_layout_is_that_of_the_paper(store_root: Path) -> None:
    table = table_of(store_root)
    assert [block.title for block in table.blocks] == ["30 % of the labels", "1 % of the labels"]
    assert [line.variant for line in table.blocks[0].lines] == ["random", "moco", "pmq", "pmq:w/o mask_t"]
    assert [(column.dataset, column.metric) for column in table.columns] == [*ALL_COLUMNS, ("", "overall")]
    assert [column.group for column in table.columns] == ["PTB-XL"] * 3 + ["Chapman"] * 3 + [""]


def test_scores_are_means_over_seeds_and_what_is_missing_has_its_reason(store_root: Path) -> None:
    table = table_of(store_root)
    found = score(table, 0.3, "moco", "chapman", "auroc")
    assert (found.mean, found.std) == pytest.approx((85.0, math.sqrt(2)))  # ddof = 1: sqrt((1^2 + 1^2) / 1)
    assert (found.printed, found.spread, found.n, found.planned, len(found.keys)) == ("85.0", "±1.4", 2, 2, 2)
    whole = score(table, 0.3, "random", "", "overall")
    assert whole.mean == pytest.approx((50 + 70 + 60 + 55 + 75 + 65) / 6)
    assert (whole.spread, whole.n, whole.planned) == ("", 6, 6)
    shown = {
        ("random", "", "overall"): ("40.0", " (k=3)", "k: Overall rests on k of 6 columns"),  # (30 + 50 + 40) / 3
        ("moco", "", "overall"): ("51.0", " (k=5)", "k: Overall rests on k of 6 columns"),
        ("moco", "ptb-xl", "auroc"): (DASH, "", "undefined in 2 of 2 finished seeds: no class has both signs"),
        ("random", "chapman", "f1"): (DASH, "", "0 of 2 seeds finished"),
        ("pmq", "chapman", "f1"): ("54.0", "", "1 of 2 seeds finished"),
    }
    for place, expected in shown.items():
        found = score(table, 0.01, *place)
        assert (found.printed, found.spread, dict(table.footnotes)[found.mark]) == expected
        assert not found.best
    one = table_of(store_root, "linear")
    found = score(one, 0.3, "pmq", "ptb-xl", "f1")
    assert (found.printed, found.std, found.spread, found.remark) == ("70.0", None, "", "")
    assert "±" not in one.caption
    other = table_of(store_root, unit="recording")
    assert (other.name, score(other, 0.3, "moco", "ptb-xl", "f1").printed) == ("finetune-recording", "90.0")
    assert not list(layouts(load(store_root).plan, "probe"))


@pytest.mark.parametrize(
    ("changes", "overall"),
    [
        ({"moco": {"f1": None, "auroc": 0.99, "acc": 0.99}}, "99.0 (k=4)"),  # over other columns than its rivals
        ({name: {"auroc": None} for name in ("random", "moco", "pmq", "pmq:w/o mask_t")}, "67.5 (k=4)"),
    ],
)
def test_an_overall_of_fewer_columns_than_another_does_not_compete(
    write_store: Callable[..., Path], changes: dict[str, dict[str, float | None]], overall: str
) -> None:
    def alter(row: Row) -> Row:
        return replace(row, scores={"heartbeat": row.scores["heartbeat"] | changes.get(row.variant, {})})

    root = write_store(alter=alter, complete=True)
    table = table_of(root)
    found = score(table, 0.3, "moco", "", "overall")
    assert (f"{found.printed}{found.spread}", found.best) == (overall, False)
    assert score(table, 0.3, "pmq", "", "overall").best
    other = score(table_of(root, unit="recording"), 0.3, "pmq", "ptb-xl", "acc")
    assert (other.printed, other.remark) == (DASH, "undefined in 2 of 2 finished seeds: ACC was not scored")


def test_undefined_in_one_seed_leaves_the_other_and_one_row_alone_is_not_bold(write_store: Callable[..., Path]) -> None:
    def undefined_at_41(row: Row) -> Row:
        scores = {"heartbeat": row.scores["heartbeat"] | ({"f1": None} if row.seed == 41 else {})}
        return replace(row, scores=scores, undefined={"heartbeat": {"f1": "no prediction"}})

    def only_moco(plan: Plan) -> Plan:
        return replace(plan, cells=[cell for cell in plan.cells if cell.variant == "moco"])

    table = table_of(write_store(alter=undefined_at_41, alter_plan=only_moco))
    found = score(table, 0.3, "moco", "ptb-xl", "f1")
    assert (found.printed, found.spread, found.n) == ("61.0", "", 1)
    assert found.remark == "undefined in 1 of 2 finished seeds: no prediction"
    assert not any(score.best for block in table.blocks for line in block.lines for score in line.scores)


def test_ties_at_printed_precision_are_all_bold(store_root: Path) -> None:
    """PMQ has 70.00 and its ablation 70.04: both print 70.0."""
    table = table_of(store_root)
    for dataset, metric in [*ALL_COLUMNS, ("", "overall")]:
        bold = [line.variant for line in table.blocks[0].lines if score(table, 0.3, line.variant, dataset, metric).best]
        assert bold == ["pmq", "pmq:w/o mask_t"]


HERE = Printed("a-2020", "theirs", "chapman", "finetune", 0.3, "auroc", 99.9, 0.4, 88.8, "B")
ELSEWHERE = (
    HERE._replace(row="other ratio", ratio=0.5),
    HERE._replace(row="other evaluation", evaluation="linear"),
    HERE._replace(row="other column", column="cpsc2018"),
    HERE._replace(row="other source", source="b-2021"),
)
SOURCE = Source("a-2020", "A et al. 2020", "their protocol", "everything")


def table_with(root: Path, monkeypatch: pytest.MonkeyPatch, sources: list[str]) -> Table:
    monkeypatch.setattr(printed, "numbers", lambda: (HERE, *ELSEWHERE))
    monkeypatch.setattr(printed, "sources", lambda: {"a-2020": SOURCE})
    run = load(root)
    run = replace(run, plan=replace(run.plan, config=run.plan.config | {"printed": sources}))
    return make_table(run, next(layouts(run.plan, "finetune")), "heartbeat")


def test_a_printed_number_stands_in_its_place_in_italics_and_is_never_best(
    store_root: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    run = load(store_root)
    assert table_with(store_root, monkeypatch, []) == make_table(run, next(layouts(run.plan, "finetune")), "heartbeat")
    table = table_with(store_root, monkeypatch, ["a-2020"])
    first, second = table.blocks
    line = first.lines[-1]
    assert (line.title, line.gate) == ("theirs (printed: a-2020)", True)
    shown = [
        (column.dataset, column.metric) for column, own in zip(table.columns, line.scores, strict=True) if own.mean
    ]
    assert shown == [("chapman", "auroc")]
    assert [line.variant for line in second.lines] == ["random", "moco", "pmq", "pmq:w/o mask_t"]
    assert table.footers[-1].startswith("Printed, not run here (a-2020): A et al. 2020. Protocol: their protocol.")
    assert not any(own.best or own.tie for own in line.scores)
    assert "*theirs (printed: a-2020)*" in markdown(table)
    assert "99.9±0.4" in markdown(table)
    assert "printed; 88.8 where it was run again by B" in markdown(table)
    assert "printed:a-2020:theirs" in long_csv([table])
    known = statistics_of(run, next(layouts(run.plan, "finetune")), "heartbeat").frames
    assert "printed" not in f"{known['pairwise'].to_csv()}{known['intervals'].to_csv()}"


WHY = "it cannot be fine-tuned: its network has no gradients"
FACTS: dict[str, Any] = {
    "pretrained_on": "ptb-xl, CODE-15",
    "saw": {"ptb-xl": "yes", "chapman": "no"},
    "licence": "MIT",
    "signals": "windows of 10 s at 500 Hz of 12 leads, in mV",
    "features": 1024,
    "unserved": {"linear": WHY},
}
CARD = {
    "encoder_parameters": 30_700_000,
    "encoder_multiplications": 2_500_000_000,
    "embedding": {"windows": 1, "seconds": 41.5},
    "device": {"type": "cpu", "name": "x86_64", "threads": 2},
}


def from_elsewhere(plan: Plan, **changes: Any) -> Plan:
    role = {"role": "method", "of": "", "knob": "", "value": None, "elsewhere": FACTS | changes}
    return replace(plan, roles={"moco": role})


@pytest.fixture
def opened(write_store: Callable[..., Path]) -> Callable[..., Results]:
    def open_with(**changes: Any) -> Results:
        return load(write_store(complete=True, alter_plan=lambda plan: from_elsewhere(plan, **changes)))

    return open_with


def line_of(run: Results, evaluation: str, variant: str) -> tuple[Line, Any]:
    layout = next(layouts(run.plan, evaluation))
    table = make_table(run, layout, "heartbeat")
    return next(line for line in table.blocks[0].lines if line.variant == variant), table


def test_numbers_of_test_patients_that_it_saw_are_marked(opened: Callable[..., Results]) -> None:
    line, table = line_of(opened(), "finetune", "moco")
    marks = {
        (column.dataset, column.metric): score.mark for column, score in zip(table.columns, line.scores, strict=True)
    }
    texts = dict(table.footnotes)
    assert {texts[marks["ptb-xl", metric]] for metric in ("f1", "auroc", "acc")} == {
        "saw these test patients: pretrained on ptb-xl, CODE-15"
    }
    assert {marks["chapman", metric] for metric in ("f1", "auroc", "acc")} == {""}
    assert texts[marks["", "overall"]] == "it saw test patients of columns that this rests on"
    assert all(not score.mark for other in table.blocks[0].lines if other != line for score in other.scores)
    told = markdown(table)
    assert (
        "MoCo: weights from elsewhere (licence MIT), pretrained on ptb-xl, CODE-15; saw these test patients: PTB-XL "
        "yes, Chapman no. Reads windows of 10 s at 500 Hz of 12 leads, in mV." in told
    )
    assert "their prediction of a recording stands for each of its windows." in told
    for text in (latex([table]), long_csv([table])):
        assert "saw these test patients" in text


def test_what_is_not_known_is_marked_too_and_other_runs_have_no_word_of_it(
    opened: Callable[..., Results], write_store: Callable[..., Path]
) -> None:
    saw = {"ptb-xl": "not known", "chapman": "not known"}
    line, table = line_of(opened(saw=saw, pretrained_on="data that are not known"), "finetune", "moco")
    texts = dict(table.footnotes)
    assert [texts[score.mark] for score in line.scores] == [
        *["not known whether it saw these test patients"] * 6,
        "not known whether it saw the test patients",
    ]
    run = load(write_store("plain", complete=True))
    assert "elsewhere" not in markdown(line_of(run, "finetune", "moco")[1])
    assert [line.variant for line in line_of(run, "linear", "pmq")[1].blocks[0].lines] == ["random", "pmq"]
    assert elsewhere_costs(run.plan, {"moco": {"a": CARD}}) == []


def test_an_evaluation_that_it_is_not_served_by_has_dashes_and_the_reason(opened: Callable[..., Results]) -> None:
    line, table = line_of(opened(), "linear", "moco")
    assert [score.printed for score in line.scores] == [DASH] * len(table.columns)
    assert {dict(table.footnotes)[score.mark] for score in line.scores} == {WHY}
    assert f"</sup> {WHY}" in markdown(table)


def test_its_cost_is_a_line_of_its_own(opened: Callable[..., Results]) -> None:
    unseen: Mapping[str, Any] = {name: value for name, value in CARD.items() if "encoder" not in name}
    plan = opened().plan
    (table,) = elsewhere_costs(plan, {"moco": {"a": CARD}, "pmq": {"b": CARD}})
    assert table.lines == (
        ("MoCo", "30,700,000", "2,500.0", "1,024", "1", "41.50", "MIT", "x86_64, 2 threads, float32"),
    )
    assert elsewhere_files([table])["elsewhere.csv"].splitlines()[1] == (
        'MoCo,30700000,2500.0,1024,1,41.50,MIT,"x86_64, 2 threads, float32"'
    )
    (table,) = elsewhere_costs(plan, {"moco": {"a": unseen}})
    assert table.lines[0][1:3] == (DASH, DASH)
