"""Tables hold the stored means, mark the best and what is missing, and are the same numbers in every form."""

from __future__ import annotations

import math
import shutil
import subprocess
from collections.abc import Callable
from dataclasses import replace
from itertools import combinations
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import pytest

from benchmark.results.metrics import HEADLINES
from benchmark.results.names import OVERALL
from benchmark.results.store import Plan, Row
from reports import load
from reports.inference import NEAR, PAIRS, TableStatistics, statistics_of
from reports.latex import MOST_COLUMNS, latex_file
from reports.layouts import layouts
from reports.score_tables import (
    CSV_COLUMNS,
    MARKDOWN,
    Table,
    costs_table,
    make_table,
    to_csv,
    to_markdown,
    wide,
    with_marks,
)
from tests.reports.conftest import Scatter, simulated_predictions, write_record

WriteStore = Callable[..., Path]


def tables(root: Path) -> list[Table]:
    results = load(root)
    return [make_table(results, layout, "heartbeat", TableStatistics()) for layout in layouts(results.plan, "finetune")]


def score(table: Table, ratio: float, variant: str, dataset: str, metric: str) -> pd.Series[Any]:
    column = table.scores.query("ratio == @ratio and variant == @variant and dataset == @dataset and metric == @metric")
    (line,) = (line for _, line in column.iterrows())
    return line


def with_role(variant: str, **facts: Any) -> Callable[[Plan], Plan]:
    role = {"role": "method", "of": "", "hyperparameter": "", "value": None}
    return lambda plan: replace(plan, roles={variant: role | facts})


def test_a_number_is_the_mean_over_seeds(store_root: Path) -> None:
    (table,) = tables(store_root)
    line = score(table, 0.3, "moco", "chapman", "auroc")
    assert (line["mean_percent"], line["std_percent"]) == pytest.approx((85.0, math.sqrt(2)))
    assert (line["n"], line["planned"], line["remark"]) == (2, 2, "")


def test_overall_is_the_mean_of_the_columns(store_root: Path) -> None:
    (table,) = tables(store_root)
    overall = score(table, 0.3, "moco", "", OVERALL)
    assert overall["mean_percent"] == pytest.approx(60 + 2.5 + 10)
    assert len(overall["keys"].split()) == 4
    first = table.scores[(table.scores["ratio"] == 0.3) & (table.scores["variant"] == "random")]
    assert first["metric"].tolist() == [OVERALL, *["f1", "auroc", "acc"] * 2]


def test_a_missing_score_is_a_remark(store_root: Path) -> None:
    (table,) = tables(store_root)
    undefined = score(table, 0.01, "moco", "ptb-xl", "auroc")
    assert pd.isna(undefined["mean_percent"])
    assert "2 of 2" in undefined["remark"]
    assert undefined["remark"].endswith(": no class has both signs")  # as the row has it
    assert score(table, 0.01, "moco", "", OVERALL)["remark"].endswith("5 of 6 columns")
    assert score(table, 0.01, "pmq", "chapman", "f1")["remark"].startswith("1 of 2 cells")
    assert score(table, 0.01, "random", "chapman", "f1")["remark"].startswith("0 of 2 cells")
    assert set(filter(None, table.scores["remark"])) <= set(table.footnotes.values())


def test_all_that_print_as_the_best_are_the_best(write_store: WriteStore) -> None:
    (table,) = tables(write_store(complete=True))
    best = table.scores.query("best and ratio == 0.3")
    assert set(best["variant"]) == {"pmq", "pmq:w/o mask_t"}
    assert len(best) == 2 * 7
    (table,) = tables(write_store("other", complete=True, alter_plan=with_role("pmq:w/o mask_t", role="baseline")))
    assert set(table.scores.query("best")["variant"]) == {"pmq"}
    assert "Italics: baselines, not ranked." in table.caption()
    assert wide(table, 0.3, MARKDOWN).index[-1].startswith("*PMQ w/o mask")


def marked(means: dict[str, float], significant: list[tuple[str, str]], metric: str = "f1") -> dict[str, str]:
    """Row -> its mark, of rows with these means that are all tested, and differ significantly where named."""
    column = {"ratio": 0.1, "dataset": "a", "metric": metric}
    scores = pd.DataFrame(
        [column | {"variant": row, "mean_percent": mean, "baseline": False, "n": 3} for row, mean in means.items()]
    )
    p_values = {pair: 0.5 for pair in combinations(means, 2)} | dict.fromkeys(significant, 0.01)
    pairs = pd.DataFrame([column | {"first": one, "second": two, "p_holm": p} for (one, two), p in p_values.items()])
    lines = with_marks(scores, pairs.reindex(columns=PAIRS), HEADLINES["paper"])
    return {line.variant: "best" if line.best else "tie" if line.tie else "" for line in lines.itertuples()}


def test_a_deviation_of_zero_is_printed_where_the_predictions_or_another_score_of_the_seeds_differ(
    write_store: WriteStore,
) -> None:
    def alter(row: Row) -> Row:
        scores = row.scores["heartbeat"]
        same = dict.fromkeys(scores, 0.6) if row.variant == "moco" else scores | {"acc": 0.8}
        return replace(row, scores=row.scores | {"heartbeat": same})

    (table,) = tables(write_store(complete=True, alter=alter))
    block = wide(table, 0.3, MARKDOWN)
    assert [block.loc[name, ("Chapman", "ACC")] for name in ("PMQ", "MoCo")] == ["**80.0**±0.0", "60.0"]


def test_a_row_near_the_best_that_is_not_significantly_different_is_marked() -> None:
    means = {"a": 70.0, "b": 69.0, "c": 68.0, "d": 70 - 100 * NEAR - 0.1, "e": np.nan}
    assert marked(means, [("b", "a")]) == {"a": "best", "b": "", "c": "tie", "d": "", "e": ""}
    assert marked({"a": 20.0, "b": 10.0}, [], metric="brier") == {"a": "", "b": "best"}
    assert marked({"a": 12.0, "b": 10.0}, [], metric="brier") == {"a": "tie", "b": "best"}
    assert marked({"a": 70.0, "b": np.nan}, []) == {"a": "", "b": ""}


def test_an_overall_of_fewer_columns_is_not_the_best(write_store: WriteStore) -> None:
    def drop(row: Row) -> Row:
        if row.variant == "pmq" and row.dataset == "ptb-xl":
            return replace(row, scores={"heartbeat": dict.fromkeys(("f1", "auroc", "acc"))})
        return row

    (table,) = tables(write_store(complete=True, alter=drop))
    overall = table.scores.query("metric == 'overall' and ratio == 0.3").set_index("variant")
    assert overall["mean_percent"].idxmax() == "pmq"
    assert overall["best"].idxmax() == "pmq:w/o mask_t"


def test_every_form_has_the_same_numbers_with_overall_first(store_root: Path) -> None:
    (table,) = tables(store_root)
    markdown, latex, csv = to_markdown(table), latex_file([table]), to_csv([table])
    assert "| Method" in markdown
    assert markdown.index("Overall") < markdown.index("PTB-XL F1")
    assert r"PMQ w/o mask_t & 5 % \| \*" in markdown
    assert r"PMQ w/o mask\_t \& 5 \% | *" in latex
    for text in (markdown, latex):
        assert "85.0" in text
    lines = csv.splitlines()
    assert lines[0].split(",") == CSV_COLUMNS
    assert len(lines) == 1 + len(table.scores)


def test_a_multi_label_task_has_auprc_beside_auroc_outside_overall(write_store: WriteStore) -> None:
    def multi(plan: Plan) -> Plan:
        return replace(plan, config=plan.config | {"data": plan.config["data"] | {"labels": "multi"}})

    (table,) = tables(write_store(complete=True, alter=lambda row: replace(row, labels="multi"), alter_plan=multi))
    assert table.layout.metrics == ("f1", "auroc", "auprc", "acc")
    assert score(table, 0.3, "pmq", "chapman", "auprc")["mean_percent"] == 100
    assert score(table, 0.3, "pmq", "", OVERALL)["planned"] == 6
    assert "Overall: mean of the 6 F1, AUROC and ACC columns." in table.caption()


def test_classes_without_a_labelled_example_are_named_at_their_column(store_root: Path) -> None:
    (table,) = tables(store_root)
    mark = table.headings["ptb-xl", "f1"]
    text = "PTB-XL: at 1 % of the labels no labelled example of HYP: F1 is 0 there"
    assert table.footnotes[mark] == text
    assert f"PTB-XL F1<sup>{mark}</sup>" in to_markdown(table)
    assert ("chapman", "f1") not in table.headings


def test_weights_that_saw_the_test_patients_are_marked_at_every_number(write_store: WriteStore) -> None:
    external = {
        "saw": {"ptb-xl": "yes", "chapman": "no"}, "pretrained_on": "PTB-XL", "licence": "MIT", "signals": "500 Hz",
        "is_twin": False,
    }  # fmt: skip
    root = write_store(complete=True, alter_plan=with_role("moco", external=external))
    (table,) = tables(root)
    assert score(table, 0.3, "moco", "ptb-xl", "f1")["remark"] == "saw these test patients in pretraining, on PTB-XL"
    assert score(table, 0.3, "moco", "chapman", "f1")["remark"] == ""
    assert score(table, 0.3, "moco", "", OVERALL)["remark"]
    (footer,) = (line for line in table.footers if "weights of others" in line)
    assert footer.startswith("MoCo: weights of others (licence MIT), pretrained on PTB-XL; saw these test patients: ")


def test_printed_numbers_are_not_ranked(write_store: WriteStore) -> None:
    def printed(plan: Plan) -> Plan:
        return replace(plan, config=plan.config | {"printed": ["pmq"]})

    (table,) = tables(write_store(complete=True, alter_plan=printed))
    line = score(table, 0.3, "printed:pmq:Random", "ptb-xl", "f1")
    assert (line["mean_percent"], line["std_percent"], line["best"], line["baseline"]) == (56.0, 0.8, False, True)
    assert "*Random (printed: pmq)*" in to_markdown(table)
    assert any(footer.startswith("Printed (pmq): ") for footer in table.footers)


def compared_table(write_predictions: Callable[..., Path], titles: dict[str, str], datasets: int) -> Table:
    """A table of simulated predictions of two rows, with its statistics, under `strict`."""
    design = {"methods": 2, "seeds": 3, "patients": 30, "scatter": Scatter(), "shares": (0.6, 0.4)}
    predictions = {}
    for number in range(datasets):
        for (method, seed), one in simulated_predictions(np.random.default_rng(number), **design).items():
            predictions[f"m{method}", f"set{number}", 0.1, seed] = one
    results = load(write_predictions(predictions, protocol="strict"))
    results = replace(results, plan=replace(results.plan, variants=titles))
    (layout,) = layouts(results.plan, "finetune")
    return make_table(results, layout, "recording", statistics_of(results, layout, "recording"))


def test_the_headline_has_its_interval_in_every_form(write_predictions: Callable[..., Path]) -> None:
    table = compared_table(write_predictions, {"m0": "PMQ", "m1": "MoCo"}, 2)
    line = score(table, 0.1, "m0", "", OVERALL)
    low, high = (f"{line[name]:.1f}" for name in ("low_percent", "high_percent"))
    assert line["low_percent"] < line["mean_percent"] < line["high_percent"]
    assert f"({low} to {high})" in to_markdown(table)
    assert rf"{{\tiny({low}--{high})}}" in latex_file([table])
    assert wide(table, 0.1, MARKDOWN).map(lambda text: " to " in text).sum().tolist() == [2] + [0] * 8


@pytest.mark.parametrize("datasets", [1, 3, MOST_COLUMNS])
@pytest.mark.parametrize("columns", ["onecolumn", "twocolumn"])
def test_latex_fits_the_page(
    write_predictions: Callable[..., Path], tmp_path: Path, columns: str, datasets: int
) -> None:
    if shutil.which("pdflatex") is None:
        pytest.skip("pdflatex is not installed")
    titles = {"m0": "PMQ w/o mask_t & 5 % | * of a long title", "m1": "Étude ≥ τ × λ [x] ~a^b {c} #1 \\ <d>"}
    text = latex_file([compared_table(write_predictions, titles, datasets)])
    assert text.count(r"\begin{tabular}") == (4 if datasets == MOST_COLUMNS else 2)
    assert text.count("Mean AUROC: mean of the") == (datasets > 1)
    needed = r"\usepackage{booktabs,graphicx}"
    assert needed in text.splitlines()[0]
    (tmp_path / "table.tex").write_text(
        f"\\documentclass[{columns}]{{article}}{needed}\\begin{{document}}{text}\\end{{document}}"
    )
    command = ["pdflatex", "-interaction=nonstopmode", "-halt-on-error", "table.tex"]
    done = subprocess.run(command, cwd=tmp_path, capture_output=True, check=False)
    log = done.stdout.decode(errors="replace")
    assert done.returncode == 0, log[-2000:]
    assert "Overfull" not in log
    assert "Float too large" not in log


def test_pretrainings_have_their_costs_once(write_store: WriteStore) -> None:
    root = write_store(complete=True)
    facts = {"updates": 8, "seconds": 4.0, "batch_size": 16, "parameters": 100, "encoder_multiplications": 2e6}
    write_record(root, "random")
    write_record(root, "pmq", **facts)
    (line,) = costs_table(load(root)).to_dict("records")
    assert line["Pretraining"] == "PMQ"
    assert (line["window pairs"], line["ms an update"], line["million multiplications"]) == (128, 500, 2)
    assert pd.isna(line["peak GiB"])
