"""The command `report`: write tables from the results store, compare two runs, or test the predictions of others."""

from __future__ import annotations

from argparse import Namespace
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path

import pandas as pd

from benchmark import screen as terminal
from benchmark.cli.explain import as_stored, describe, differing, is_named
from benchmark.cli.main import OK
from benchmark.config.errors import ConfigError
from benchmark.results.files import Damaged
from benchmark.results.store import NoResults, PlannedCell
from benchmark.screen import Console, note
from reports.answer import RunResults
from reports.build import build_report, pretrainings_table
from reports.compare import Comparison, beside, compare, printed_lines, write_comparison
from reports.footers import warnings
from reports.load import load_run, pack
from reports.page import PAGE
from reports.results import Run
from reports.score_tables import DASH, Style, Table, wide
from reports.second_opinion import second_opinion
from reports.words import ratio_text

PLAIN = Style(text=str, bold="*{}", italic="{}", spread="±{}", tie=" ≈", mark=" ({})")
"""Style of numbers on the console: the best has a star."""
AGAIN = "again"
"""Store, below the folder of tables, for the cells of archives that are computed again."""
MOST_INTERVALS = 2
"""Label shares at which a terminal of 80 letters has room for intervals."""


def report(arguments: Namespace, console: Console) -> int:
    """Write and print the tables of the latest run or of several merged, or what a flag asks for instead.

    Raises ConfigError if `--compare` or `--predictions` has a flag of reports beside it, and for predictions that
    cannot be used.
    """
    if arguments.predictions:
        show_predictions(arguments, console)
        return OK
    if arguments.rows:
        raise ConfigError("--with stands beside --predictions FILE")
    others = ("results", "archive", "beside", "scores", "verify")
    if arguments.compare and any(getattr(arguments, name) for name in others):
        raise ConfigError(f"--compare takes none of --{', --'.join(others)}")
    if arguments.weights and not arguments.archive:
        raise ConfigError("--weights stands beside --archive FILE")
    sources = arguments.compare or arguments.results or ["runs"]
    with naming_archives(sources):
        write_tables(arguments, sources, console)
    return OK


@contextmanager
def naming_archives(sources: Sequence[str]) -> Iterator[None]:
    """Let an error in a report of archives, whose values are what others wrote, raise NoResults that names them."""
    archives = [source for source in sources if Path(source).is_file()]
    try:
        yield
    except (ConfigError, NoResults, Damaged, OSError, MemoryError):
        raise
    except Exception as error:
        if not archives:
            raise
        wrong = f"a value is not what a run writes ({type(error).__name__}: {error})"
        raise NoResults(f"{', '.join(archives)}: {wrong}; pack it again with `report --archive`") from error


def write_tables(arguments: Namespace, sources: Sequence[str], console: Console) -> None:
    """Write and print the tables of the sources, or their comparison, and the archive that a flag asks for."""
    runs = [load_run(run) for run in sources] if arguments.compare else [load_run(sources)]
    for line in dict.fromkeys(message for results in runs for message in results.messages):
        note(console, line)
    unit = None if arguments.unit == "both" else arguments.unit
    results = runs[0]
    if arguments.verify:
        results = RunResults.from_run(results).verify(arguments.verify, arguments.out / AGAIN)
    if arguments.compare:
        show_comparison(compare(results, runs[1], unit), arguments.out, console)
    elif arguments.beside:
        show_comparison(beside(results, arguments.beside, unit), arguments.out, console)
    else:
        show_report(results, arguments.out, arguments.unit, console, arguments.scores)
    if arguments.archive:
        pack(results, arguments.archive, weights=arguments.weights)
        weights = "weights, " if arguments.weights else ""
        note(console, f"wrote {arguments.archive}: plan, rows, predictions, pretraining records, {weights}no signals")


def show_predictions(arguments: Namespace, console: Console) -> None:
    """Print the statistics of predictions and write their files. Raises ConfigError."""
    names = ["archive", "beside", "compare", "unit", "verify"]
    rows = None
    if arguments.rows:
        rows = predicted_by(load_run(arguments.results or ["runs"]), arguments.rows)
    else:
        names.append("results")
    if any(getattr(arguments, name) for name in names):
        raise ConfigError(f"--predictions FILE takes --with, --scores and --out, none of --{', --'.join(names)}")
    try:
        results = second_opinion(arguments.predictions, arguments.scores, rows)
    except ValueError as problem:
        raise ConfigError(str(problem)) from None
    (table,) = results.tested.tables
    block = wide(table, 1.0, PLAIN).droplevel(0, axis="columns")
    note(console, f"{table.title}\n\n{block.to_markdown(tablefmt='simple', disable_numparse=True)}\n")
    for line in (*results.verdict(), *table.footers):
        note(console, line)
    note(console, f"Every table and column: {results.save(arguments.out / 'second-opinion')}")


def predicted_by(results: Run, words: Sequence[str]) -> pd.DataFrame:
    """Return the predictions of rows that stand beside those of others, of the first labelled subset of each seed.

    words: rows, and what of evaluation, dataset and label ratio tells their cells apart, as `explain` takes them.
    Raises ConfigError where they name none, or cells of several.
    """
    plan = results.plan
    rows = [word for word in words if as_stored(word, plan) in plan.variants]
    further = [word for word in words if word not in rows]
    cells: list[PlannedCell] = []
    for row in rows:
        name = " ".join([row, *further])
        cells += [cell for cell in plan.cells if cell.subset == 0 and is_named(name, cell, plan)]
    several = differing(cells, ("evaluation", "dataset", "ratio"))
    if several or not cells:
        remedy = f"add {' and '.join(several)}" if several else "name rows"
        raise ConfigError(f"--with {' '.join(words)} is {len(cells)} cells: {remedy}, e.g. {describe(plan.cells[0])}")
    return results.predicted(cells)


def show_comparison(comparison: Comparison, out: Path, console: Console) -> None:
    """Print a comparison and write its files under `out`."""
    for line in printed_lines(comparison):
        note(console, line)
    for file in write_comparison(comparison, out):
        note(console, f"wrote {file}")


def show_report(results: Run, out: Path, unit: str | None, console: Console, further: Sequence[str]) -> None:
    """Write a report; print Overall of the first table, what is wrong or missing, the verdict, and the file to open.

    further: metrics of the main tables beside F1, AUROC and ACC.
    """
    built = build_report(results, out, unit=unit, further=list(dict.fromkeys(further)))
    for line in warnings(results, results.plan.cells):
        note(console, f"Warning: {line}.")
    for pretraining in pretrainings_table(results).to_dict("records"):
        if pretraining["Training"].endswith("; collapsed"):
            note(
                console,
                f"warning: {pretraining['Pretraining']}, seed {pretraining['Seed']}: the features have collapsed, they "
                "hardly differ between windows; use a lower learning rate (--set methods.NAME.recipe.lr=RATE) or fewer "
                "epochs",
            )
    for line in built.failures:
        note(console, f"failed: {line}")
    for line in built.problems:
        terminal.error(f"left out: {line}")
    if built.tables:
        first = built.tables[0]
        words = f"{first.layout.headline.words} in percent, by the share of the labels (* best, ≈ not separable)"
        title = f"\n{first.title}: {words}"
        has_intervals = len(first.layout.ratios) <= MOST_INTERVALS
        if has_intervals:
            title += ", with 95 % intervals"
        table = overall_table(first, PLAIN if has_intervals else PLAIN._replace(interval=""))
        text = table.to_markdown(tablefmt="simple", disable_numparse=True)
        marks = [f"({mark}) {remark}" for mark, remark in first.footnotes.items() if f"({mark})" in text]
        note(console, "\n".join([title, text, *marks]))
        note(console, "\n".join(["", *first.verdict.lines, f"Every table and column: {out / 'results.md'}"]))
    note(console, f"The page for a browser: {out / PAGE}")


def overall_table(table: Table, style: Style) -> pd.DataFrame:
    """Return Overall of each row and label share with its marks, as texts, in the order of the table's rows."""
    scores = table.scores
    columns = dict[str, pd.Series]()
    for ratio in table.layout.ratios:
        rows = scores.loc[scores["ratio"] == ratio, "variant"].unique()
        columns[ratio_text(ratio)] = wide(table, ratio, style).iloc[:, 0].set_axis(rows)
    titles = dict(zip(scores["variant"], scores["title"], strict=True))
    frame = pd.DataFrame(columns, [name for name in table.layout.variants if name in titles])
    return frame.rename(titles).rename_axis("").fillna(DASH)
