"""Further tables: costs, presets, budgets, trials, classes, subgroups.

The cost of each row's pretraining: parameters, windows, updates, encoder passes, time and memory, from the cards.

Methods differ in encoder passes per update and updates per epoch. One window forwards is one pass, backwards two.
"""

from __future__ import annotations

import math
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import asdict, dataclass, fields, replace
from functools import cached_property
from typing import TypeVar

import pandas as pd

from benchmark.results.files import csv_text
from benchmark.results.metrics import CLASS_SCORES, METRICS, TITLES
from benchmark.results.names import EVALUATION_TITLES, OVERALL
from benchmark.results.store import BANDS, Plan
from benchmark.results.tuned import Trial, Tuning
from reports.runs import Card, Cards, ReportCache, Run, evaluations_of, machine_of
from reports.statistics.classes import (
    FEWEST_OF_CLASS,
    FEWEST_PATIENTS,
    MACRO,
    RESAMPLES,
    SCORES,
    ClassTable,
    Estimated,
    Group,
    Place,
    SubgroupTable,
)
from reports.statistics.estimates import LEVEL, PASSES, SECONDS, WINDOWS, BudgetCurve, bands, budget_curves
from reports.statistics.table import DIGITS, SAME, Beside, beside
from reports.tables.render import DASH, UPRIGHT, TextTable, latex_table, literal, pipe_table, spread_text, text_markdown
from reports.tables.words import labels_text, points_text, ratio_stem, ratio_text, unit_text, whose_differences

COSTS_HEADER = (
    "Pretraining", "parameters", "of the encoder", "multiplications", "epochs", "window pairs", "batch", "updates",
    "encoder passes", "seconds", "ms an update", "peak GiB", "Wh", "machine",
)  # fmt: skip
JOULES_PER_WH = 3600
MILLION = 1e6
CAPTION = (
    "Cost of each pretraining; the mean where a row has several. An epoch has the same number of window pairs for "
    "every method, except those that batching or missing reports leave out. Parameters: those that learn; "
    "multiplications: millions in the encoder's convolutions and matrix products for a window. Encoder passes: one per "
    "window forwards, two backwards. Wh: energy of the GPU or the CPU packages, other processes included; a dash where "
    "it cannot be read."
)


def cost_lines(cards: Cards, titles: Mapping[str, str]) -> list[tuple[str, ...]]:
    """One line per pretrained row, as text under `HEADER`; rows that share all encoders are listed once."""
    lines = []
    seen: set[tuple[str, ...]] = set()
    for variant, own in cards.items():
        trained = [card for card in own.values() if card.get("updates")]
        if trained and tuple(own) not in seen:
            seen.add(tuple(own))
            lines.append((titles.get(variant, variant), *_costs_line(trained)))
    return lines


def _costs_line(cards: Sequence[Card]) -> Iterator[str]:
    pairs = [card["updates"] * card["batch_size"] for card in cards]
    timed = [card for card in cards if card["seconds"] is not None]
    epochs = [seen / max(1, card["windows_per_epoch"]) for seen, card in zip(pairs, cards, strict=True)]
    yield from (
        _mean([card["parameters"] for card in cards]),
        _mean([card["encoder_parameters"] for card in cards if "encoder_parameters" in card]),
        _mean([card["encoder_multiplications"] / MILLION for card in cards if "encoder_multiplications" in card]),
        _mean(epochs, digits=2).removesuffix(".00"),
        _mean(pairs),
        _mean([card["batch_size"] for card in cards]),
        _mean([card["updates"] for card in cards]),
        _mean([card["encoder_passes"] for card in cards if "encoder_passes" in card]),
        _mean([card["seconds"] for card in timed]),
        _mean([1000 * card["seconds"] / card["updates"] for card in timed], digits=1),
        _mean([card["peak_memory_gib"] for card in cards], digits=2),
        _mean([card["joules"] / JOULES_PER_WH for card in cards if card.get("joules") is not None], digits=1),
        "; ".join(dict.fromkeys(map(machine_of, cards))),
    )


def _mean(values: Sequence[float], digits: int = 0) -> str:
    """The mean with thousands separators; a dash without values."""
    return f"{sum(values) / len(values):,.{digits}f}" if values else "–"


def costs_markdown(lines: Sequence[tuple[str, ...]]) -> str:
    """The table under a heading."""
    table = pipe_table(COSTS_HEADER, [[literal(text) for text in line] for line in lines])
    return f"## Pretraining cost\n\n{CAPTION}\n\n{table}\n"


def costs_latex(lines: Sequence[tuple[str, ...]]) -> str:
    """The table as a `table*` environment."""
    return f"{latex_table(COSTS_HEADER, lines, CAPTION, 'costs')}\n"


def costs_csv(lines: Sequence[tuple[str, ...]]) -> str:
    """The table as CSV, without thousands separators."""
    return csv_text(
        COSTS_HEADER, ([line[0], *(text.replace(",", "") for text in line[1:-1]), line[-1]] for line in lines)
    )


def cost_files(lines: Sequence[tuple[str, ...]]) -> dict[str, str]:
    """File name -> content."""
    return {"costs.md": costs_markdown(lines), "costs.tex": costs_latex(lines), "costs.csv": costs_csv(lines)}


MINUS = "\N{MINUS SIGN}"
PresetPlace = tuple[str, str]
"""Evaluation and unit of scores."""


def beside_of(run: Run, units: Sequence[str], kept: ReportCache | None = None) -> dict[PresetPlace, list[Beside]]:
    """The presets side by side, per evaluation and unit of scores; none without further presets."""
    places = [(evaluation, unit) for evaluation in evaluations_of(run.plan) for unit in units]
    found = {place: beside(run, *place, kept) for place in places}
    return {place: lines for place, lines in found.items() if lines}


def beside_tables(plan: Plan, found: Mapping[PresetPlace, Sequence[Beside]]) -> list[TextTable]:
    """A table of Overall per evaluation and unit. found: `beside_of`."""
    return [
        _presets_table(plan, place, [line for line in lines if line.metric == OVERALL])
        for place, lines in found.items()
    ]


def _presets_table(plan: Plan, place: PresetPlace, overall: Sequence[Beside]) -> TextTable:
    evaluation, unit = place
    own = str(plan.config["pretrain"]["preset"])
    presets = list(dict.fromkeys(line.preset for line in overall))
    simulated = any(facts.get("simulated") for facts in (*plan.datasets.values(), plan.pretraining))
    sentences = [
        f"Overall (mean of all columns) in percent of each method under preset {own} and beside it, mean over seeds; "
        f"differences in points with {100 * (1 - LEVEL):g} % intervals, not adjusted.",
        f"*: beyond chance, significant at {100 * LEVEL:g} % after Holm's correction over all differences at the label "
        "ratio.",
        whose_differences(plan, max(line.seeds for line in overall)),
        *(["Simulated ECGs: no ranking of methods follows."] if simulated else []),
    ]
    return TextTable(
        name=f"presets-{evaluation}-{unit}",
        title=f"Presets side by side: {EVALUATION_TITLES.get(evaluation, evaluation)}, per {unit_text(plan, unit)}",
        caption=" ".join(sentences),
        header=("Method", "labels", own, *presets, *(f"{preset} {MINUS} {own}" for preset in presets)),
        lines=tuple(_presets_lines(plan, overall, presets, evaluation)),
    )


def _presets_lines(
    plan: Plan, overall: Sequence[Beside], presets: Sequence[str], evaluation: str
) -> Iterator[tuple[str, ...]]:
    of_row: dict[tuple[str, float], dict[str, Beside]] = {}
    for line in overall:
        of_row.setdefault((line.of, line.ratio), {})[line.preset] = line
    for (of, ratio), found in of_row.items():
        own = next(iter(found.values())).own
        means = (found[preset].mean for preset in presets)
        yield (
            plan.variants[of],
            ratio_text(ratio, evaluation),
            *map(percent, (own, *means)),
            *(_difference(found[preset]) for preset in presets),
        )


def percent(score: float | None) -> str:
    """'81.2'; a dash where there is no score."""
    return DASH if score is None or math.isnan(score) else f"{100 * score:z.1f}"


def _difference(line: Beside) -> str:
    """'+3.1 (1.2 to 5.0)*'."""
    if line.remark == SAME or math.isnan(line.difference):
        return SAME if line.remark == SAME else DASH
    text = points_text(100 * line.difference, 100 * line.low, 100 * line.high)
    return f"{text}*" if line.p_holm < LEVEL else text


def beside_files(found: Mapping[PresetPlace, Sequence[Beside]], tables: Sequence[TextTable]) -> dict[str, str]:
    """File name -> content: the tables for LaTeX, and every column of theirs as CSV."""
    header = ("evaluation", *(own.name for own in fields(Beside)))
    rows = [(place[0], *map(plain, asdict(line).values())) for place, lines in found.items() for line in lines]
    tex = [latex_table(table.header, table.lines, table.caption, table.name) for table in tables]
    return {"presets.tex": "\n".join(tex) + "\n", "presets.csv": csv_text(header, rows)}


def plain(value: object) -> object:
    """A cell of a CSV file: a number rounded, nothing for NaN."""
    return ("" if math.isnan(value) else round(value, DIGITS)) if isinstance(value, float) else value


BUDGET_HEADER = ("Method", "epochs", "window pairs", "encoder passes", "seconds")


def budget_tables(run: Run, units: Sequence[str]) -> list[TextTable]:
    """A table per evaluation, unit of scores and label ratio with snapshots of a method; none without snapshots."""
    return [
        _budget_table(run, evaluation, unit, curve)
        for evaluation in evaluations_of(run.plan)
        for unit in units
        for curve in budget_curves(run, bands(run.tidy, evaluation, unit))
    ]


def _budget_table(run: Run, evaluation: str, unit: str, curve: BudgetCurve) -> TextTable:
    plan, there = run.plan, set(curve.points["dataset"])
    columns = {name: str(facts["title"]) for name, facts in plan.datasets.items() if name in there}
    columns |= {OVERALL: TITLES[OVERALL]} if OVERALL in there else {}
    how = f"{EVALUATION_TITLES.get(evaluation, evaluation)}, per {unit_text(plan, unit)}"
    simulated = any(facts.get("simulated") for facts in (*plan.datasets.values(), plan.pretraining))
    sentences = [
        f"Macro F1 in percent, mean±std over seeds, with {labels_text(curve.ratio, evaluation)}, of pretrainings of "
        "different length, and what each cost alone, shared updates included.",
        "Encoder passes: one per window forwards, two backwards.",
        *([f"Seconds: on {curve.machine}."] if curve.machine else []),
        *(["Simulated ECGs: no ranking of methods follows."] if simulated else []),
    ]
    return TextTable(
        name=f"budget-{evaluation}-{unit}-{ratio_stem(curve.ratio, evaluation)}",
        title=f"Budget curves: {how}, {labels_text(curve.ratio, evaluation)}",
        caption=" ".join(sentences),
        header=(*BUDGET_HEADER, *columns.values()),
        lines=tuple(_budget_lines(run, curve.points, list(columns))),
    )


def _budget_lines(run: Run, points: pd.DataFrame, datasets: Sequence[str]) -> Iterator[tuple[str, ...]]:
    for _, own in points.groupby("variant", sort=False):
        first = own.iloc[0]
        scores = {row["dataset"]: _budget_score(row["mean"], row["std"]) for row in own.to_dict("records")}
        yield (
            run.plan.variants.get(first["of"], str(first["of"])),
            f"{first['epochs']:g}",
            *(DASH if math.isnan(first[cost]) else f"{first[cost]:,.0f}" for cost in (WINDOWS, PASSES, SECONDS)),
            *(scores.get(dataset, DASH) for dataset in datasets),
        )


def _budget_score(mean: float, std: float) -> str:
    return f"{mean:z.1f}{spread_text(None if math.isnan(std) else std)}"


def budget_files(tables: Sequence[TextTable]) -> dict[str, str]:
    """File name -> content."""
    tex = [latex_table(table.header, table.lines, table.caption, table.name) for table in tables]
    header = dict.fromkeys(heading for table in tables for heading in table.header)
    plain = []
    for table in tables:
        for line in table.lines:
            told = dict(zip(table.header, line, strict=True))
            plain.append([table.name, *(told.get(heading, DASH).replace(",", "") for heading in header)])
    return {"budget.tex": "\n".join(tex) + "\n", "budget.csv": csv_text(("table", *header), plain)}


OWN, CHOSEN = "own setting", "chosen"


def search_caption(tunings: Sequence[Tuning]) -> str:
    """What a trial's score is, of how many trials and seeds, and what it is not; the searches are alike."""
    first = tunings[0]
    failed = sum(trial.mean is None for tuning in tunings for trial in tuning.trials)
    trials = sorted({len(tuning.trials) for tuning in tunings})
    return " ".join(
        [
            f"Macro-F1 in percent of a linear probe on the validation patients with {ratio_text(first.ratio)} of the "
            "labels, mean over the datasets.",
            f"{' or '.join(map(str, trials))} trials per method, one pretraining each (seed {first.pretrain_seed}; "
            f"labels {first.seed}, draws {first.search_seed}).",
            *([f"{failed} trials failed."] if failed else []),
            "The probe's strength and the setting are chosen on these patients: no test result.",
            *(["Simulated ECGs: no ranking of methods follows."] if any(own.simulated for own in tunings) else []),
        ]
    )


def trial_tables(tunings: Sequence[Tuning]) -> list[TextTable]:
    """A table per method; what the scores are stands above the first."""
    return [
        TextTable(
            name=f"trials-{tuning.method}",
            title=f"Trials: {tuning.title}",
            caption="" if number else search_caption(tunings),
            header=("Trial", *map(_short, tuning.spaces), *datasets_of(tuning), "mean", "note"),
            lines=tuple(_trials_line(tuning, trial) for trial in ranking(tuning)),
        )
        for number, tuning in enumerate(tunings)
    ]


def ranking(tuning: Tuning) -> list[int]:
    """Numbers of the trials: the chosen one first, by falling score, equal ones in the order of the search, failed
    ones last."""
    return sorted(range(len(tuning.trials)), key=lambda number: -_trials_score(tuning.trials[number]))


def datasets_of(tuning: Tuning) -> list[str]:
    """The datasets with a score of any trial."""
    return list(dict.fromkeys(name for trial in tuning.trials for name in trial.scores))


def _trials_score(trial: Trial) -> float:
    return -1.0 if trial.mean is None else trial.mean


def _short(knob: str) -> str:
    return knob.removeprefix("recipe.")


def _trials_line(tuning: Tuning, number: int) -> tuple[str, ...]:
    trial = tuning.trials[number]
    return (
        str(number),
        *(f"{trial.knobs[knob]:g}" for knob in tuning.spaces),
        *(percent(trial.scores.get(name)) for name in datasets_of(tuning)),
        percent(trial.mean),
        note_of(tuning, number),
    )


def note_of(tuning: Tuning, number: int) -> str:
    """'chosen, own setting', or why the trial failed."""
    trial = tuning.trials[number]
    marks = [*([CHOSEN] if number == tuning.best else []), *([OWN] if number == 0 else [])]
    return ", ".join([*marks, *([f"failed: {trial.error}"] if trial.mean is None else [])])


def trial_files(tunings: Sequence[Tuning]) -> dict[str, str]:
    """File name -> content: a section per method, and one line per trial with all knobs and datasets as columns."""
    markdown = "\n".join(map(text_markdown, trial_tables(tunings)))
    return {"trials.md": f"# Trials\n\n{markdown}", "trials.csv": _csv(tunings)}


def _csv(tunings: Sequence[Tuning]) -> str:
    knobs = list(dict.fromkeys(knob for tuning in tunings for knob in tuning.spaces))
    datasets = list(dict.fromkeys(name for tuning in tunings for name in datasets_of(tuning)))
    header = ("method", "trial", "own", "chosen", "mean", *datasets, *knobs, "error")

    def rows() -> Iterator[tuple[object, ...]]:
        for tuning in tunings:
            for number in ranking(tuning):
                trial = tuning.trials[number]
                place = (tuning.method, number, int(number == 0), int(number == tuning.best), trial.mean)
                found = [
                    values.get(name)
                    for values, names in ((trial.scores, datasets), (trial.knobs, knobs))
                    for name in names
                ]
                yield (*place, *found, trial.error)

    return csv_text(header, rows())


CLASS_TITLES = {name: METRICS[name].title for name in CLASS_SCORES}
CLASS_CSV_HEADER = (
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
    mean = f"{100 * found.mean:z.1f}"
    return mean if math.isnan(found.low) else f"{mean} ({100 * found.low:z.1f} to {100 * found.high:z.1f})"


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
            header=("Method", *CLASS_TITLES.values()),
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
                header=("Class and method", f"{word}s", "patients", "prevalence", *CLASS_TITLES.values()),
                lines=tuple(_class_lines(plan, table)),
            )
        )
    return [replace(table, folded=number > 0) for number, table in enumerate(tables)]


def _class_lines(plan: Plan, table: ClassTable) -> Iterator[tuple[str, ...]]:
    variants = dict.fromkeys(variant for variant, _, _ in table.scores)
    for count in table.counts:
        counts = (f"{count.lines}", f"{count.patients}", f"{100 * count.share:z.1f}")
        for variant in variants:
            scores = (shown(table.scores[variant, count.name, name]) for name in CLASS_SCORES)
            yield (f"{count.name}: {plan.variants[variant]}", *counts, *scores)


AtPlace = TypeVar("AtPlace", ClassTable, SubgroupTable)


def _fewest_labels_first(found: Sequence[AtPlace]) -> list[AtPlace]:
    """By evaluation, unit and dataset as they are, the fewest labels first."""
    order = list(dict.fromkeys((own.place.evaluation, own.place.unit, own.place.dataset) for own in found))

    def rank(own: AtPlace) -> tuple[int, float]:
        return order.index((own.place.evaluation, own.place.unit, own.place.dataset)), own.place.ratio

    return sorted(found, key=rank)


def class_files(
    found: Sequence[ClassTable], scores: Sequence[TextTable], by_class: Sequence[TextTable]
) -> dict[str, str]:
    """File name -> content: scores and classes for Markdown and LaTeX, and every number as CSV."""
    return {
        **text_files("scores", "Further scores", scores),
        **text_files("classes", "Scores by class", by_class),
        "classes.csv": csv_text(CLASS_CSV_HEADER, (line for table in found for line in _class_csv_lines(table))),
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


def _class_csv_lines(table: ClassTable) -> Iterator[tuple[object, ...]]:
    place, counts = table.place, {count.name: count for count in table.counts}
    for (variant, name, score), found in table.scores.items():
        count = counts.get(name)
        own = (count.lines, count.patients, round(count.share, DIGITS)) if count else (table.lines, table.patients, "")
        where = (place.evaluation, place.unit, place.dataset, place.ratio, variant, name or "macro")
        yield (*where, *own, score, *map(plain, (found.mean, found.low, found.high)), found.seeds, found.remark)


SUBGROUP_CSV_HEADER = (
    "evaluation", "unit", "dataset", "ratio", "variant", "attribute", "group", "patients", "classes", "reference",
    "metric", "mean", "low", "high", "gap", "gap_low", "gap_high", "seeds", "remark",
)  # fmt: skip
UNKNOWN = (
    "Sex and age of the recordings are not in this store: the same run command adds them, or report --data-root DIR "
    "(--data NAME=DIR)."
)


def subgroup_texts(plan: Plan, found: Sequence[SubgroupTable]) -> list[TextTable]:
    """A table of each place whose patients' groups are known, all but the first folded; else one that says so."""
    if not found:
        return []
    tables = [_subgroup_table(plan, table) for table in _fewest_labels_first(found) if table.groups]
    without = dict.fromkeys(own.place.dataset for own in found if not own.groups)
    if without:
        titles = ", ".join(str(plan.datasets[name]["title"]) for name in without)
        tables.append(TextTable("subgroups-unknown", titles, UNKNOWN, (), ()))
    return [replace(table, folded=number > 0 and bool(table.lines)) for number, table in enumerate(tables)]


def _subgroup_table(plan: Plan, table: SubgroupTable) -> TextTable:
    headings = [title for name in SCORES for title in (METRICS[name].title, f"{METRICS[name].title} gap")]
    counted = "; ".join(
        f"{attribute}: {max(own.classes for own in table.groups if own.attribute == attribute)} of {table.all_classes}"
        for attribute in dict.fromkeys(own.attribute for own in table.groups)
    )
    caption = (
        f"{place_text(plan, table.place)}. {intervals_text(plan)} Gap: points to the largest group of the attribute. "
        f"Macro means over the classes with {FEWEST_OF_CLASS} patients with it and {FEWEST_OF_CLASS} without in every "
        f"scored group ({counted} classes), so not those of the results tables. Dash: fewer than {FEWEST_PATIENTS} "
        f"test patients, no such class, or no second group. Age in years, in bands: {', '.join(BANDS)}."
    )
    return TextTable(
        name=f"subgroups-{place_name(table.place)}",
        title=place_text(plan, table.place),
        caption=caption,
        header=("Group and method", "patients", *headings),
        lines=tuple(_subgroup_lines(plan, table)),
    )


def _subgroup_lines(plan: Plan, table: SubgroupTable) -> Iterator[tuple[str, ...]]:
    variants = dict.fromkeys(variant for variant, _, _ in table.scores)
    for group in table.groups:
        if not group.classes:
            yield (group.name, f"{group.patients}", *[DASH] * (2 * len(SCORES)))
            continue
        for variant in variants:
            cells = (text for name in SCORES for text in _both(table, variant, group, name))
            yield (f"{group.name}: {plan.variants[variant]}", f"{group.patients}", *cells)


def _both(table: SubgroupTable, variant: str, group: Group, name: str) -> tuple[str, str]:
    own, gap = table.scores[variant, group.name, name]
    return shown(own), "reference" if group.reference else _points(gap)


def _points(gap: Estimated) -> str:
    """'+3.1 (1.2 to 5.0)': a gap in points; a dash where it is not known."""
    if math.isnan(gap.mean):
        return DASH
    if math.isnan(gap.low):
        return f"{100 * gap.mean:+z.1f}"
    return points_text(100 * gap.mean, 100 * gap.low, 100 * gap.high)


def subgroup_files(found: Sequence[SubgroupTable], texts: Sequence[TextTable]) -> dict[str, str]:
    """File name -> content: the tables for Markdown and LaTeX, and every number as CSV."""
    there = [text for text in texts if text.lines]
    if not there:
        return {}
    lines = (line for table in found for line in _subgroup_csv_lines(table))
    return {
        **text_files("subgroups", "Scores by subgroup", there),
        "subgroups.csv": csv_text(SUBGROUP_CSV_HEADER, lines),
    }


def _subgroup_csv_lines(table: SubgroupTable) -> Iterator[tuple[object, ...]]:
    place, groups = table.place, {group.name: group for group in table.groups}
    for (variant, name, score), (own, gap) in table.scores.items():
        group = groups[name]
        where = (place.evaluation, place.unit, place.dataset, place.ratio, variant, group.attribute, name)
        facts = (group.patients, group.classes, int(group.reference), score)
        numbers = map(plain, (own.mean, own.low, own.high, gap.mean, gap.low, gap.high))
        yield (*where, *facts, *numbers, own.seeds, "; ".join(filter(None, [own.remark, gap.remark])))


@dataclass(frozen=True)
class Further:
    """Scores of classes and subgroups of a run, as numbers and as texts."""

    plan: Plan
    classes: Sequence[ClassTable]
    subgroups: Sequence[SubgroupTable]

    @cached_property
    def scores(self) -> list[TextTable]:
        """The macro means of each place."""
        return score_tables(self.plan, self.classes)

    @cached_property
    def by_class(self) -> list[TextTable]:
        """The scores of each class."""
        return by_class_tables(self.plan, self.classes)

    @cached_property
    def by_group(self) -> list[TextTable]:
        """The scores by sex and age band."""
        return subgroup_texts(self.plan, self.subgroups)


def further_files(found: Further) -> dict[str, str]:
    """File name -> content; none without a finished cell."""
    if not found.classes:
        return {}
    return {
        **class_files(found.classes, found.scores, found.by_class),
        **subgroup_files(found.subgroups, found.by_group),
    }
