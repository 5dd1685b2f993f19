"""Further tables of texts: pretraining costs and scores by class.

Methods differ in encoder passes per update and updates per epoch. One window forwards is one pass, backwards two.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import asdict, dataclass
from functools import cached_property
from operator import itemgetter

from benchmark.results.files import csv_text
from benchmark.results.metrics import CLASS_SCORES, METRICS
from benchmark.results.store import Plan
from reports.results import Record, Records
from reports.statistics.classes import (
    MACRO,
    RESAMPLES,
    Estimated,
    PartTable,
    Place,
)
from reports.statistics.estimates import LEVEL
from reports.statistics.table import DIGITS
from reports.tables.render import DASH, TextTable, text_csv, text_latex, text_markdown
from reports.tables.words import (
    evaluation_text,
    labels_text,
    machine_of,
    simulated_text,
    unit_text,
)

COSTS_HEADER = (
    "Pretraining", "parameters", "of the encoder", "multiplications", "epochs", "window pairs", "batch", "updates",
    "encoder passes", "seconds", "ms an update", "peak GiB", "machine",
)  # fmt: skip
MILLION = 1e6
CAPTION = (
    "Cost of each pretraining; the mean where a row has several. An epoch has the same number of window pairs for "
    "every method, except those that batching or missing reports leave out. Parameters: those that learn; "
    "multiplications: millions in the encoder's convolutions and matrix products for a window. Encoder passes: one per "
    "window forwards, two backwards."
)


def cost_lines(cards: Records, titles: Mapping[str, str]) -> list[tuple[str, ...]]:
    """One line per pretrained row, as text under `COSTS_HEADER`; rows that share all encoders are listed once."""
    lines: dict[tuple[str, ...], tuple[str, ...]] = {}
    for variant, own in cards.items():
        trained = [card for card in own.values() if card.get("updates")]
        if trained:
            lines.setdefault(tuple(own), (titles.get(variant, variant), *_cost_cells(trained)))
    return list(lines.values())


def _cost_cells(cards: Sequence[Record]) -> Iterator[str]:
    def mean(of: Callable[[Record], float], needs: str = "updates", digits: int = 0) -> str:
        """Of the cards that know a fact, with thousands separators; a dash where none does."""
        values = [of(card) for card in cards if card.get(needs) is not None]
        return f"{sum(values) / len(values):,.{digits}f}" if values else DASH

    def pairs(card: Record) -> float:
        return float(card["updates"] * card["batch_size"])

    def epochs(card: Record) -> float:
        return pairs(card) / float(max(1, card["windows_per_epoch"]))

    yield from (mean(itemgetter(fact), fact) for fact in ("parameters", "encoder_parameters"))
    yield mean(lambda card: card["encoder_multiplications"] / MILLION, "encoder_multiplications")
    yield mean(epochs, digits=2).removesuffix(".00")
    yield mean(pairs)
    yield from (mean(itemgetter(fact), fact) for fact in ("batch_size", "updates", "encoder_passes", "seconds"))
    yield mean(lambda card: 1000 * card["seconds"] / card["updates"], "seconds", digits=1)
    yield mean(lambda card: card["peak_memory_gib"], digits=2)
    yield "; ".join(dict.fromkeys(map(machine_of, cards)))


def cost_files(lines: Sequence[tuple[str, ...]]) -> dict[str, str]:
    """File name -> content, of `cost_lines`."""
    table = TextTable("costs", "Pretraining cost", CAPTION, COSTS_HEADER, tuple(lines))
    return {"costs.md": text_markdown(table), "costs.tex": text_latex([table]), "costs.csv": text_csv([table])}


def plain(value: object) -> object:
    """A cell of a CSV file: a number rounded, nothing for NaN."""
    return ("" if math.isnan(value) else round(value, DIGITS)) if isinstance(value, float) else value


CLASS_TITLES = tuple(METRICS[name].title for name in CLASS_SCORES)
PLACE_HEADER = ("evaluation", "unit", "dataset", "ratio", "variant")
CLASS_CSV_HEADER = (
    *PLACE_HEADER, "class", "class_lines", "class_patients", "prevalence", "metric", "mean", "low", "high", "seeds",
    "remark",
)  # fmt: skip


@dataclass(frozen=True)
class Further:
    """Scores by class of a run, as numbers and as texts."""

    plan: Plan
    classes: Sequence[PartTable]

    @cached_property
    def scores(self) -> list[TextTable]:
        """The macro means of each place, a line per row; those with the fewest labels come first."""
        return [_scores_table(self.plan, table) for table in _fewest_labels_first(self.classes)]

    @cached_property
    def by_class(self) -> list[TextTable]:
        """The scores by class of each place, a line per class and row."""
        return [_classes_table(self.plan, table) for table in _fewest_labels_first(self.classes)]


def further_files(found: Further) -> dict[str, str]:
    """File name -> content: tables for Markdown and LaTeX, and every number as CSV; none without a finished cell."""
    if not found.classes:
        return {}
    return {
        **_text_files("scores", "Further scores", found.scores),
        **_text_files("classes", "Scores by class", found.by_class),
        "classes.csv": _classes_csv(found.classes),
    }


def _text_files(name: str, title: str, tables: Sequence[TextTable]) -> dict[str, str]:
    return {
        f"{name}.md": "\n".join([f"# {title}\n", *map(text_markdown, tables)]),
        f"{name}.tex": text_latex(tables),
    }


def _classes_csv(tables: Sequence[PartTable]) -> str:
    """A line per score."""
    rows = [
        (
            *(*asdict(table.place).values(), variant, *_class_cells(table, name, score)),
            *(*map(plain, (found.mean, found.low, found.high)), found.seeds, found.remark),
        )
        for table in tables
        for (variant, name, score), found in table.scores.items()
    ]
    return csv_text(CLASS_CSV_HEADER, rows)


def _class_cells(table: PartTable, name: str, score: str) -> tuple[object, ...]:
    if name == MACRO:
        return "macro", table.lines, table.patients, "", score
    part = next(part for part in table.parts if part.name == name)
    return name, part.lines, part.patients, round(part.share, DIGITS), score


def _fewest_labels_first(found: Sequence[PartTable]) -> list[PartTable]:
    """By evaluation, unit and dataset as they are, the fewest labels first."""

    def where(table: PartTable) -> tuple[str, ...]:
        return table.place.evaluation, table.place.unit, table.place.dataset

    order = list(dict.fromkeys(map(where, found)))
    return sorted(found, key=lambda table: (order.index(where(table)), table.place.ratio))


def _part_table(
    plan: Plan, place: Place, name: str, words: str, header: Sequence[str], lines: Sequence[Sequence[str]]
) -> TextTable:
    """A table of a place: 'PTB-XL, 10 % of the labels: fine-tuned, per heartbeat'."""
    how = f"{evaluation_text(place.evaluation).lower()}, per {unit_text(plan, place.unit)}"
    title = f"{plan.datasets[place.dataset]['title']}, {labels_text(place.ratio)}: {how}"
    intervals = (
        f"In percent, mean over seeds with its {100 * (1 - LEVEL):g} % interval from {RESAMPLES} resamples of the test "
        "patients and the variance over seeds; not adjusted for their number."
    )
    dataset = place.dataset.replace("_", "-").replace(" ", "-")
    return TextTable(
        name=f"{name}-{place.evaluation}-{place.unit}-{dataset}-{100 * place.ratio:g}",
        title=title,
        caption=" ".join([f"{title}.", intervals, *simulated_text(plan), words]),
        header=tuple(header),
        lines=tuple(map(tuple, lines)),
        folded=True,
    )


def _scores_table(plan: Plan, table: PartTable) -> TextTable:
    words = (
        "Macro means over the classes with and without a label in the test set; the lower the better: Brier and ECE. "
        "ECE: 15 bins of equal width, of the most probable class where a line has one label."
    )
    lines = [
        (plan.variants[variant], *(shown(table.scores[variant, MACRO, name]) for name in CLASS_SCORES))
        for variant in _rows(table)
    ]
    return _part_table(plan, table.place, "scores", words, ("Method", *CLASS_TITLES), lines)


def _rows(table: PartTable) -> list[str]:
    return list(dict.fromkeys(variant for variant, *_ in table.scores))


def shown(found: Estimated) -> str:
    """'81.2 (78.0 to 84.1)' in percent; a dash where it is not known, without the bracket where no interval is."""
    if math.isnan(found.mean):
        return DASH
    mean = f"{100 * found.mean:z.1f}"
    return mean if math.isnan(found.low) else f"{mean} ({100 * found.low:z.1f} to {100 * found.high:z.1f})"


def unlabelled_text(table: PartTable) -> str:
    """Which classes had no labelled window, in how many of the cells, and what follows; '' where all had one."""
    named = "; ".join(f"{names} (in {count} of {cells} cells)" for names, count, cells in table.unlabelled)
    return f"Never seen in training, for want of a labelled window: {named}; scores there are no finding." * bool(named)


def _classes_table(plan: Plan, table: PartTable) -> TextTable:
    word = unit_text(plan, table.place.unit)
    lacking = [part.name for part in table.parts if not 0 < part.lines < table.lines]
    dashes = f" Dashes: every or no test {word} is of {', '.join(lacking)}." if lacking else ""
    tested = f"Each class against the rest, on {table.lines} {word}s of {table.patients} patients.{dashes}"
    words = " ".join(filter(None, [tested, unlabelled_text(table)]))
    header = ("Class and method", f"{word}s", "patients", "prevalence", *CLASS_TITLES)
    lines = [
        (
            *(
                f"{part.name}: {plan.variants[variant]}",
                str(part.lines),
                str(part.patients),
                f"{100 * part.share:z.1f}",
            ),
            *(shown(table.scores[variant, part.name, name]) for name in CLASS_SCORES),
        )
        for part in table.parts
        for variant in _rows(table)
    ]
    return _part_table(plan, table.place, "classes", words, header, lines)
