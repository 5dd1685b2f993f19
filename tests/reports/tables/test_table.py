"""What a table says, against numbers computed by hand (see conftest.py for the made-up scores)."""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path

from benchmark.results.plan import Plan
from benchmark.results.rows import Row
from reports.runs.planned_tables import layouts
from reports.runs.run import open_run
from reports.tables.table import make_table
from reports.tables.values import DASH, Score, Table

ALL_COLUMNS = [(dataset, metric) for dataset in ("ptb-xl", "chapman") for metric in ("f1", "auroc", "acc")]


def table_of(root: Path, evaluation: str = "finetune", unit: str = "heartbeat") -> Table:
    run = open_run(root)
    return make_table(run, next(layouts(run.plan, evaluation)), unit)


def score(table: Table, ratio: float, variant: str, dataset: str, metric: str) -> Score:
    (block,) = [block for block in table.blocks if block.ratio == ratio]
    (line,) = [line for line in block.lines if line.variant == variant]
    places = [(column.dataset, column.metric) for column in table.columns]
    return line.scores[places.index((dataset, metric))]


def overall(table: Table, ratio: float, variant: str) -> Score:
    return score(table, ratio, variant, "", "overall")


def test_layout_is_that_of_the_paper(store_root: Path) -> None:
    table = table_of(store_root)
    assert [block.title for block in table.blocks] == ["30 % of the labels", "1 % of the labels"]
    assert [line.variant for line in table.blocks[0].lines] == ["random", "moco", "pmq", "pmq:w/o mask_t"]
    assert [(column.dataset, column.metric) for column in table.columns] == [*ALL_COLUMNS, ("", "overall")]
    assert [column.group for column in table.columns] == ["PTB-XL"] * 3 + ["Chapman"] * 3 + [""]


def test_mean_and_deviation_over_seeds(store_root: Path) -> None:
    found = score(table_of(store_root), 0.3, "moco", "chapman", "auroc")
    assert found.mean is not None
    assert found.std is not None
    assert math.isclose(found.mean, 85.0)
    assert math.isclose(found.std, math.sqrt(2))  # ddof = 1: sqrt((1^2 + 1^2) / 1)
    assert (found.printed, found.spread, found.n, found.planned, len(found.keys)) == ("85.0", "±1.4", 2, 2, 2)


def test_a_single_seed_has_no_deviation(store_root: Path) -> None:
    table = table_of(store_root, "linear")
    found = score(table, 0.3, "pmq", "ptb-xl", "f1")
    assert (found.printed, found.std, found.spread, found.remark) == ("70.0", None, "", "")
    assert [line.variant for line in table.blocks[0].lines] == ["random", "pmq"]
    assert "±" not in table.caption


def test_overall_is_the_mean_of_the_columns(store_root: Path) -> None:
    found = overall(table_of(store_root), 0.3, "random")
    assert found.mean is not None
    assert math.isclose(found.mean, (50 + 70 + 60 + 55 + 75 + 65) / 6)
    assert (found.spread, found.n, found.planned) == ("", 6, 6)


def test_overall_of_fewer_columns_prints_k(store_root: Path) -> None:
    table = table_of(store_root)
    random, moco = overall(table, 0.01, "random"), overall(table, 0.01, "moco")
    assert (random.printed, random.spread, random.n) == ("40.0", " (k=3)", 3)  # (30 + 50 + 40) / 3
    assert (moco.printed, moco.spread, moco.n) == ("51.0", " (k=5)", 5)  # (40 + 50 + 45 + 65 + 55) / 5
    assert dict(table.footnotes)[moco.mark] == "k: Overall rests on k of 6 columns"


def test_ties_at_printed_precision_are_all_bold(store_root: Path) -> None:
    """PMQ has 70.00 and its ablation 70.04: both print 70.0."""
    table = table_of(store_root)
    for dataset, metric in [*ALL_COLUMNS, ("", "overall")]:
        bold = [line.variant for line in table.blocks[0].lines if score(table, 0.3, line.variant, dataset, metric).best]
        assert bold == ["pmq", "pmq:w/o mask_t"]


def test_no_bold_where_only_one_row_has_a_number(write_store: Callable[..., Path]) -> None:
    def only_pmq(plan: Plan) -> Plan:
        return replace(plan, cells=[cell for cell in plan.cells if cell.variant == "pmq"])

    table = table_of(write_store(alter_plan=only_pmq))
    assert not any(score.best for block in table.blocks for line in block.lines for score in line.scores)


def test_an_overall_of_fewer_columns_does_not_compete(write_store: Callable[..., Path]) -> None:
    """MoCo without its lowest column would have the highest Overall, over other columns than its rivals."""

    def raise_moco(row: Row) -> Row:
        if row.variant != "moco":
            return row
        return replace(row, scores={"heartbeat": {"f1": None, "auroc": 0.99, "acc": 0.99}})

    table = table_of(write_store(alter=raise_moco, complete=True))
    assert overall(table, 0.3, "moco").printed == "99.0"
    assert not overall(table, 0.3, "moco").best
    assert overall(table, 0.3, "pmq").best


def test_overalls_compete_where_a_column_is_undefined_for_all(write_store: Callable[..., Path]) -> None:
    def without_auroc(row: Row) -> Row:
        return replace(row, scores={"heartbeat": row.scores["heartbeat"] | {"auroc": None}})

    table = table_of(write_store(alter=without_auroc, complete=True))
    assert overall(table, 0.3, "pmq").spread == " (k=4)"
    assert overall(table, 0.3, "pmq").best
    assert not overall(table, 0.3, "moco").best


def test_undefined_is_a_dash_with_its_reason(store_root: Path) -> None:
    table = table_of(store_root)
    found = score(table, 0.01, "moco", "ptb-xl", "auroc")
    assert (found.printed, found.spread, found.best) == (DASH, "", False)
    assert dict(table.footnotes)[found.mark] == "undefined in 2 of 2 finished seeds: no class has both signs"


def test_undefined_in_one_seed_leaves_the_other_and_says_so(write_store: Callable[..., Path]) -> None:
    def undefined_at_41(row: Row) -> Row:
        if (row.variant, row.seed) != ("moco", 41):
            return row
        scores = {"heartbeat": row.scores["heartbeat"] | {"f1": None}}
        return replace(row, scores=scores, undefined={"heartbeat": {"f1": "no prediction"}})

    found = score(table_of(write_store(alter=undefined_at_41)), 0.3, "moco", "ptb-xl", "f1")
    assert (found.printed, found.spread, found.n) == ("61.0", "", 1)
    assert found.remark == "undefined in 1 of 2 finished seeds: no prediction"


def test_missing_seeds_are_said(store_root: Path) -> None:
    table = table_of(store_root)
    none, one = score(table, 0.01, "random", "chapman", "f1"), score(table, 0.01, "pmq", "chapman", "f1")
    assert (none.printed, none.remark) == (DASH, "0 of 2 seeds finished")
    assert (one.printed, one.spread, one.remark) == ("54.0", "", "1 of 2 seeds finished")


def test_the_other_score_unit(store_root: Path) -> None:
    table = table_of(store_root, unit="recording")
    assert score(table, 0.3, "moco", "ptb-xl", "f1").printed == "90.0"
    assert table.name == "finetune-recording"


def test_a_unit_without_scores_is_a_dash_not_an_error(write_store: Callable[..., Path]) -> None:
    root = write_store(alter=lambda row: replace(row, scores={"heartbeat": row.scores["heartbeat"]}), complete=True)
    found = score(table_of(root, unit="recording"), 0.3, "pmq", "ptb-xl", "acc")
    assert (found.printed, found.remark) == (DASH, "undefined in 2 of 2 finished seeds: ACC was not scored")


def test_an_unplanned_evaluation_has_no_table(store_root: Path) -> None:
    assert not list(layouts(open_run(store_root).plan, "probe"))
