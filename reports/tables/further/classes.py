"""Tables of further scores: macro means of a test set, and scores by class, as texts, LaTeX, Markdown and CSV."""

from __future__ import annotations

import math
from collections.abc import Iterator, Sequence
from dataclasses import replace

from benchmark.results.metrics import CLASS_SCORES, METRICS
from benchmark.results.names import EVALUATION_TITLES
from benchmark.results.plain_text import csv_text
from benchmark.results.plan import Plan
from reports.statistics.further.classes import MACRO, ClassTable
from reports.statistics.further.lines import RESAMPLES, Estimated, Place
from reports.statistics.interval import LEVEL
from reports.statistics.of_table import DIGITS
from reports.tables.captions import labels_text, unit_text
from reports.tables.latex import UPRIGHT, latex_table
from reports.tables.text import TextTable, text_markdown
from reports.tables.values import DASH

TITLES = {name: METRICS[name].title for name in CLASS_SCORES}
CSV_HEADER = (
    "evaluation", "unit", "dataset", "ratio", "variant", "class", "class_lines", "class_patients", "prevalence",
    "metric", "mean", "low", "high", "seeds", "remark",
)  # fmt: skip


def place_text(plan: Plan, place: Place) -> str:
    """'PTB-XL, 10 % of the labels: fine-tuned, per heartbeat'."""
    how = EVALUATION_TITLES.get(place.evaluation, place.evaluation).lower()
    title = plan.datasets[place.dataset]["title"]
    return f"{title}, {labels_text(place.ratio, place.evaluation)}: {how}, per {unit_text(plan, place.unit)}"


def place_name(place: Place) -> str:
    """'finetune-heartbeat-ptb-xl-10', fit for a LaTeX label."""
    dataset = place.dataset.replace("_", "-").replace(" ", "-")
    return f"{place.evaluation}-{place.unit}-{dataset}-{100 * place.ratio:g}"


def shown(found: Estimated) -> str:
    """'81.2 (78.0 to 84.1)' in percent; a dash where it is not known, without the bracket where no interval is."""
    if math.isnan(found.mean):
        return DASH
    mean = f"{100 * found.mean:.1f}"
    return mean if math.isnan(found.low) else f"{mean} ({100 * found.low:.1f} to {100 * found.high:.1f})"


def intervals_text(plan: Plan) -> str:
    """What the brackets are, and whether ECGs are simulated."""
    simulated = any(facts.get("simulated") for facts in (*plan.datasets.values(), plan.pretraining))
    return (
        f"In percent, mean over seeds with its {100 * (1 - LEVEL):g} % interval from {RESAMPLES} resamples of the test "
        f"patients and the variance over seeds; not adjusted for their number."
        f"{' Simulated ECGs: no ranking of methods follows.' if simulated else ''}"
    )


def score_tables(plan: Plan, found: Sequence[ClassTable]) -> list[TextTable]:
    """The macro means of each place, a line per row; those with the fewest labels come first."""
    caption = (
        f"{intervals_text(plan)} Macro means over the classes with and without a label in the test set; the lower the "
        "better: Brier and ECE. ECE: 15 bins of equal width, of the most probable class where a line has one label."
    )
    return [
        TextTable(
            name=f"scores-{place_name(table.place)}",
            title=place_text(plan, table.place),
            caption=f"{place_text(plan, table.place)}. {caption}",
            header=("Method", *TITLES.values()),
            lines=tuple(
                (plan.variants[variant], *(shown(table.scores[variant, MACRO, name]) for name in CLASS_SCORES))
                for variant in dict.fromkeys(variant for variant, _, _ in table.scores)
            ),
        )
        for table in _fewest_labels_first(found)
    ]


def by_class_tables(plan: Plan, found: Sequence[ClassTable]) -> list[TextTable]:
    """The scores by class of each place, a line per class and row, all but the first folded."""
    tables = []
    for table in _fewest_labels_first(found):
        word = unit_text(plan, table.place.unit)
        lacking = [count.name for count in table.counts if not 0 < count.lines < table.lines]
        dashes = f" Dashes: every or no test {word} is of {', '.join(lacking)}." if lacking else ""
        tables.append(
            TextTable(
                name=f"classes-{place_name(table.place)}",
                title=place_text(plan, table.place),
                caption=(
                    f"{place_text(plan, table.place)}. {intervals_text(plan)} Each class against the rest, on "
                    f"{table.lines} {word}s of {table.patients} patients.{dashes}"
                ),
                header=("Class and method", f"{word}s", "patients", "prevalence", *TITLES.values()),
                lines=tuple(_lines(plan, table)),
            )
        )
    return [replace(table, folded=number > 0) for number, table in enumerate(tables)]


def _lines(plan: Plan, table: ClassTable) -> Iterator[tuple[str, ...]]:
    variants = dict.fromkeys(variant for variant, _, _ in table.scores)
    for count in table.counts:
        counts = (f"{count.lines}", f"{count.patients}", f"{100 * count.share:.1f}")
        for variant in variants:
            scores = (shown(table.scores[variant, count.name, name]) for name in CLASS_SCORES)
            yield (f"{count.name}: {plan.variants[variant]}", *counts, *scores)


def _fewest_labels_first(found: Sequence[ClassTable]) -> list[ClassTable]:
    """By evaluation, unit and dataset as they are, the fewest labels first."""
    order = list(dict.fromkeys((own.place.evaluation, own.place.unit, own.place.dataset) for own in found))

    def rank(own: ClassTable) -> tuple[int, float]:
        return order.index((own.place.evaluation, own.place.unit, own.place.dataset)), own.place.ratio

    return sorted(found, key=rank)


def class_files(
    found: Sequence[ClassTable], scores: Sequence[TextTable], by_class: Sequence[TextTable]
) -> dict[str, str]:
    """File name -> content: scores and classes for Markdown and LaTeX, and every number as CSV."""
    return {
        **text_files("scores", "Further scores", scores),
        **text_files("classes", "Scores by class", by_class),
        "classes.csv": csv_text(CSV_HEADER, (line for table in found for line in _csv_lines(table))),
    }


def text_files(name: str, title: str, tables: Sequence[TextTable]) -> dict[str, str]:
    """NAME.md and NAME.tex of some tables."""
    parts = [part for own in tables for part in _pages(own)]
    tex = [latex_table(own.header, own.lines, own.caption, own.name) for own in parts]
    texts = [text_markdown(own) for own in tables]
    return {f"{name}.md": "\n".join([f"# {title}\n", *texts]), f"{name}.tex": "\n".join(tex) + "\n"}


def _pages(table: TextTable) -> Iterator[TextTable]:
    """The table in parts that fit on a page of LaTeX each."""
    for number, start in enumerate(range(0, len(table.lines), UPRIGHT.lines), start=1):
        lines = table.lines[start : start + UPRIGHT.lines]
        if number == 1:
            yield replace(table, lines=lines)
        else:
            yield replace(table, lines=lines, name=f"{table.name}-part-{number}", caption=f"{table.title}, continued.")


def _csv_lines(table: ClassTable) -> Iterator[tuple[object, ...]]:
    place, counts = table.place, {count.name: count for count in table.counts}
    for (variant, name, score), found in table.scores.items():
        count = counts.get(name)
        own = (count.lines, count.patients, round(count.share, DIGITS)) if count else (table.lines, table.patients, "")
        where = (place.evaluation, place.unit, place.dataset, place.ratio, variant, name or "macro")
        yield (*where, *own, score, *map(plain, (found.mean, found.low, found.high)), found.seeds, found.remark)


def plain(value: float) -> float | str:
    """A number of a CSV file, rounded; nothing for NaN."""
    return "" if math.isnan(value) else round(value, DIGITS)
