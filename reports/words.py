"""The words around a table: row titles, caption, footers and verdict, made of what was run.

None contains a time or a path, and a device is named only where cells were computed on several, so that a resumed run
prints the same text.
"""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Collection, Iterable, Iterator, Mapping, Sequence
from pathlib import Path
from textwrap import shorten
from typing import Any

import numpy as np
import pandas as pd

from benchmark.results.files import write_atomic
from benchmark.results.metrics import COLUMNS, METRICS, has_one_patient
from benchmark.results.names import (
    CLASSICAL_TITLES,
    HEARTBEAT,
    LEADS,
    OVERALL,
    is_frozen,
    is_untrained,
    numbers,
    sources,
    visible,
)
from benchmark.results.store import Plan, PlannedCell, labels_of
from reports.inference import DETECTABLE, LEVEL, MARGIN, NEAR, POWER, TableStatistics
from reports.results import DAMAGED, FINISHED, STATES, Layout, Results, cell_errors, role_of

UNLABELLED = "no labelled window of class "
"""How the note of a row begins whose labelled windows lack classes (`benchmark.data.task.task_on`)."""
SIMULATED = "Simulated ECGs: no ranking of methods follows."
READER = " (reads reports)"
"""After the title of a row whose pretraining reads the reports of the recordings."""
LONGEST_ERROR = 160
MOST_ROWS = 3
"""Rows that are named; of more, their number is."""
UNLIKE = "Protocols, The same on another machine"
"""Section that says by how much scores differ then."""
PAPER_SIGNALS = {
    "rate": 250,
    "standardise": "recording",
    "pool": "mean",
    "leads": [*LEADS],
}
"""Settings of signals in the paper; a footer names others."""


ONE_PATIENT = "all positive recordings are of one patient, and no interval says what another patient would change"
"""Said of classes."""


def ratio_text(ratio: float) -> str:
    """Return '30 %' for 0.3, '0.5 %' for 0.005."""
    return f"{100 * ratio:g} %"


def labels_text(ratio: float) -> str:
    """Return '30 % of the labels'."""
    return f"{ratio_text(ratio)} of the labels"


def unit_text(plan: Plan, unit: str) -> str:
    """Return the unit of a score: 'window' instead of 'heartbeat' where recordings were cut into crops."""
    crops = plan.config["data"]["segmentation"]["kind"] == "recordings"
    return "window" if crops and unit == HEARTBEAT else unit


def seeds_named(seeds: Collection[int]) -> str:
    """Return '41 to 45', or '41, 43, 44' where some are left out."""
    ordered = sorted(seeds)
    if len(ordered) > 2 and ordered[-1] - ordered[0] == len(ordered) - 1:
        return f"{ordered[0]} to {ordered[-1]}"
    return ", ".join(map(str, ordered))


def escape_markdown(text: str) -> str:
    """Return text on one line whose characters have no meaning in Markdown."""
    return " ".join(re.sub(r"([\\|*`<\[$]|(?<![A-Za-z0-9])_|_(?![A-Za-z0-9]))", r"\\\1", text).split())


def markdown_table(frame: pd.DataFrame) -> str:
    """Return a frame of texts as a Markdown table, its first column to the left and the others to the right."""
    escaped = frame.map(escape_markdown).rename(columns=escape_markdown)
    align = ["left"] + ["right"] * (len(frame.columns) - 1)
    return str(escaped.to_markdown(index=False, disable_numparse=True, colalign=align))


def write_files(out: Path, contents: Mapping[str, str]) -> list[Path]:
    """Write texts into a folder by their names; return the files. Tables for programs (.csv) have names as they are."""
    for name, text in contents.items():
        content = text if name.endswith(".csv") else visible(text)
        write_atomic(out / name, content.encode())
    return [out / name for name in contents]


def mean_text(mean: float, std: float = np.nan) -> str:
    """Return '70.1±0.8' for percents; '–' where there is no mean, nothing behind it where there is no deviation."""
    return "–" if np.isnan(mean) else f"{mean:.1f}" + ("" if np.isnan(std) else f"±{std:.1f}")


def and_text(names: Sequence[str]) -> str:
    """Return 'PMQ, MoCo and BYOL'."""
    *others, last = names
    return f"{', '.join(others)} and {last}" if others else last


def row_title(plan: Plan, variant: str) -> str:
    """Return the title of a row, with a mark on a method that reads reports."""
    return plan.variants[variant] + READER * bool(role_of(plan, variant).get("reads_reports"))


def source_text(facts: Mapping[str, Any]) -> str:
    """Return 'PTB-XL (simulated)' for the facts of a dataset or of the pretraining corpus."""
    parts = f", cross-validated in {facts['parts']} parts by patient, not pretrained on" if "parts" in facts else ""
    return f"{facts['title']} ({'simulated' if facts['simulated'] else 'real'}{parts})"


def simulated_text(plan: Plan, datasets: Iterable[str]) -> list[str]:
    """Return `SIMULATED` where the pretraining corpus or one of the datasets is simulated; else nothing."""
    facts = [*(plan.datasets[name] for name in datasets), plan.pretraining]
    return [SIMULATED] if any(source["simulated"] for source in facts) else []


def caption(results: Results, layout: Layout) -> str:
    """Name metrics, seeds and labelled subsets of a table, what its marks mean, and whether ECGs are simulated."""
    cells, datasets = layout.cells, {cell.dataset for cell in layout.cells}
    metrics = and_text([METRICS[metric].words for metric in layout.metrics])
    seeds = {cell.seed for cell in cells}
    over = "mean±std over " * (len(seeds) > 1) + seeds_text(seeds)
    subsets = 1 + max(cell.subset for cell in cells)
    each = f", each the mean of {subsets} labelled subsets" if subsets > 1 else ""
    sentences = [f"{metrics[0].upper()}{metrics[1:]} in percent, {over}{each}."]
    counted = [METRICS[metric].title for metric in layout.metrics if metric in COLUMNS]
    if len(datasets) * len(counted) > 1:
        which = f"{and_text(counted)} " if len(counted) < len(layout.metrics) else ""
        sentences.append(f"Overall: mean of the {len(datasets) * len(counted)} {which}columns.")
    if lower := [METRICS[metric].title for metric in layout.metrics if METRICS[metric].lower_is_better]:
        sentences.append(f"Lower is better: {and_text(lower)}.")
    sentences.append("Bold: best of its block." + " Italics: baselines, not ranked." * bool(layout.baselines))
    if is_frozen(layout.evaluation) and results.plan.config["protocol"] == "paper" and len(seeds) > 1:
        sentences.append("A number without ±, Overall apart, does not vary over seeds: the probe is deterministic.")
    return " ".join([*sentences, *simulated_text(results.plan, datasets)])


def unlabelled_classes(results: Results, cells: Iterable[PlannedCell]) -> dict[str, str]:
    """Return dataset -> which of its classes have no labelled example at a label ratio; their F1 is 0 there."""
    finished = [cell for cell in cells if cell.key in results.rows]
    every = Counter((cell.dataset, cell.ratio) for cell in finished)
    lacking: dict[tuple[str, float], Counter[str]] = {}
    for cell in finished:
        for note in results.rows[cell.key].notes:
            if note.startswith(UNLABELLED):
                names = note.removeprefix(UNLABELLED).split(", ")
                lacking.setdefault((cell.dataset, cell.ratio), Counter()).update(names)
    parts: dict[str, list[str]] = {}
    for (dataset, ratio), counts in lacking.items():
        number = every[dataset, ratio]
        classes = [
            name if count == number else f"{name} (in {count} of {number} cells)" for name, count in counts.items()
        ]
        parts.setdefault(dataset, []).append(f"at {labels_text(ratio)} no labelled example of {and_text(classes)}")
    return {
        name: f"{facts['title']}: {'; '.join(parts[name])}: F1 is 0 there"
        for name, facts in results.plan.datasets.items()
        if name in parts
    }


def footers(results: Results, layout: Layout, unit: str, statistics: TableStatistics) -> list[str]:
    """Name cells, data and settings, patients, warnings and errors, other sources, and limits; one line each."""
    return [
        _progress(results, layout.cells),
        _settings(results.plan, layout.cells, unit),
        *_patients(results, layout.cells),
        *_left_out(results.plan, layout.cells),
        *_classes_of_one_patient(results, layout.cells),
        *_rates(results, layout),
        *(f"Warning: {warning}." for warning in warnings(results, layout.cells)),
        *_errors(results, layout.cells),
        *_other_sources(results.plan, layout),
        *_limits(results.plan, statistics),
    ]


def warnings(results: Results, cells: Sequence[PlannedCell]) -> list[str]:
    """Return the warnings of a plan, and a last one where cells were not computed alike; without full stops."""
    counts: dict[str, dict[str, Counter[str]]] = {}
    for cell in cells:
        for fact, value in results.environment_of(cell.key):
            counts.setdefault(fact, {}).setdefault(value, Counter())[cell.variant] += 1
    differing = [f"{fact} {_shares(results.plan, values)}" for fact, values in counts.items() if len(values) > 1]
    unlike = f"these cells were not computed alike ({UNLIKE}): {'; '.join(differing)}"
    return [*results.plan.warnings, *([unlike] if differing else [])]


def _shares(plan: Plan, values: Mapping[str, Counter[str]]) -> str:
    """Count the cells of each value by row, the most frequent first, and name the rows of the others."""
    most, *others = sorted(values, key=lambda value: (-values[value].total(), value))
    texts = [f"{most} ({values[most].total()} cells)"]
    for value in others:
        rows = [row_title(plan, variant) for variant in values[value]]
        named = and_text(rows) if len(rows) <= MOST_ROWS else f"{len(rows)} rows"
        texts.append(f"{value} ({values[value].total()} of {named})")
    return ", ".join(texts)


def _progress(results: Results, cells: Sequence[PlannedCell]) -> str:
    """How many cells are finished, what the others are, and of which commits the rows are."""
    states = Counter(results.state_of(cell.key)[0] for cell in cells)
    rest = "".join(f", {states[state]} {state}" for state in STATES[1:] if states[state])
    checkouts = [results.rows[cell.key].provenance["git"] for cell in cells if cell.key in results.rows]
    known = {git["commit"][:12] + " with uncommitted changes" * git["dirty"] for git in checkouts if git["commit"]}
    commits = f"; commit {', '.join(sorted(known))}" if known else ""
    return f"Cells: {states[FINISHED]} of {len(cells)} finished{rest}{commits}."


def _settings(plan: Plan, cells: Sequence[PlannedCell], unit: str) -> str:
    """Name unit, protocol, preset, labels, data, and how signals are taken where that is not as in the paper."""
    config, datasets = plan.config, {cell.dataset for cell in cells}
    data = ", ".join(source_text(facts) for name, facts in plan.datasets.items() if name in datasets)
    corpus = plan.pretraining
    text = (
        f"Scored per {unit_text(plan, unit)}; protocol {config['protocol']}, preset {config['pretrain']['preset']}, "
        f"{labels_of(plan)} labels. Data: {data}; pretraining on {source_text(corpus)}, "
        f"{corpus['used_recordings']} of its {corpus['recordings']} recordings, of {corpus['used_patients']} patients"
    )
    signals = {name: value for name, value in config["data"].items() if value != PAPER_SIGNALS.get(name, value)}
    parts = [f"{name} {' '.join(value) if isinstance(value, list) else value}" for name, value in signals.items()]
    windows = config["data"]["segmentation"]
    if windows["kind"] == "recordings":
        parts.append(f"crops of {windows['seconds']:g} s every {windows['stride'] or windows['seconds'] / 2:g} s")
    text += f". Signals: {', '.join(parts)}" if parts else ""
    return f"{text}."


def _patients(results: Results, cells: Sequence[PlannedCell]) -> Iterator[str]:
    """Name labelled patients at each share (recordings under `paper`), test patients, and those without a score."""
    rows = {cell.dataset: results.rows[cell.key] for cell in cells if cell.key in results.rows}
    titles = {name: title for name, title in results.plan.titles.items() if name in rows}
    what = "recordings" if results.plan.config["protocol"] == "paper" else "patients"
    labelled = results.cells[results.cells["key"].isin([cell.key for cell in cells])]
    counts = labelled.reindex(columns=[f"train_{what}", f"validation_{what}"]).sum(axis=1, skipna=False).dropna()
    least: dict[Any, int] = counts.groupby([labelled["ratio"], labelled["dataset"]]).min().astype(int).to_dict()
    shares: dict[str, list[str]] = {}
    for ratio, name in dict.fromkeys((cell.ratio, cell.dataset) for cell in cells):
        if (ratio, name) in least:
            shares.setdefault(ratio_text(ratio), []).append(f"{titles[name]} {least[ratio, name]}")
    if shares:
        texts = "; ".join(f"{', '.join(counted)} at {share}" for share, counted in shares.items())
        yield f"Fewest labelled {what} of a cell, training and validation together: {texts}."
    unscored = [
        f"{titles[name]} {label} {len(facts['unscored'])} of {facts['patients']}"
        for name in titles
        for label, facts in rows[name].coverage.items()
        if facts["unscored"]
    ]
    if rows:
        without = f" Without a scored recording: {', '.join(unscored)}." if unscored else ""
        yield f"Test patients: {tested_text(results, rows)}.{without}"


def _classes_of_one_patient(results: Results, cells: Sequence[PlannedCell]) -> Iterator[str]:
    """Name the classes of each dataset whose positive recordings are of one test patient."""
    finished = {cell.dataset: cell.key for cell in cells if cell.key in results.rows}
    for dataset, key in finished.items():
        test, facts = results.predictions(key), results.plan.datasets[dataset]
        alone = has_one_patient(test.truth, test.patient)
        if names := [name for name, is_alone in zip(facts["classes"], alone, strict=True) if is_alone]:
            yield f"{facts['title']}, {and_text(names)}: {ONE_PATIENT}."


def _left_out(plan: Plan, cells: Sequence[PlannedCell]) -> Iterator[str]:
    """Count the recordings of each dataset that are neither learned from nor scored; a plan may lack the counts."""
    datasets = {cell.dataset for cell in cells}
    for name, facts in plan.datasets.items():
        if name in datasets and facts.get("left_out"):
            counts = [f"{count} with {reason}" for reason, count in facts["left_out"].items()]
            yield f"Left out of {facts['title']}: of {facts['recordings']} recordings {and_text(counts)}."


def _rates(results: Results, layout: Layout) -> Iterator[str]:
    """Name the learning rates of each row, where cells chose among several."""
    cells = results.cells[results.cells["key"].isin([cell.key for cell in layout.cells])]
    cells = cells[cells["variant"].isin(layout.variants)].reindex(columns=["variant", "ratio", "lr"])
    if cells["lr"].nunique() > 1:
        medians: dict[Any, float] = cells.groupby(["variant", "ratio"], sort=False)["lr"].median().dropna().to_dict()
        texts = [f"{results.plan.variants[name]} {rate:g} at {ratio_text(of)}" for (name, of), rate in medians.items()]
        yield f"Learning rates chosen on validation, median: {', '.join(texts)}."


def tested_text(results: Results, datasets: Collection[str]) -> str:
    """Return 'PTB-XL 54, Chapman 70': the test patients of datasets."""
    patients = {row.dataset: row.counts["test_patients"] for row in results.rows.values()}
    titles = {name: title for name, title in results.plan.titles.items() if name in datasets and name in patients}
    return ", ".join(f"{title} {patients[name]}" for name, title in titles.items())


def _errors(results: Results, cells: Sequence[PlannedCell]) -> Iterator[str]:
    for (state, error), failed in cell_errors(results, cells).items():
        first, *others = cell_names(results.plan, failed)
        more = f" and {len(others)} more" if others else ""
        what = "the stored row cannot be read" if state == DAMAGED else shorten(error, LONGEST_ERROR, placeholder=" …")
        yield f"{state.capitalize()}: {first}{more}: {what}"


def seeds_text(seeds: Collection[int]) -> str:
    """Return 'seeds 41 to 45', or 'seed 41'."""
    return f"seed{'s' * (len(seeds) > 1)} {seeds_named(seeds)}"


def cell_names(plan: Plan, cells: Sequence[PlannedCell]) -> list[str]:
    """Return 'PMQ (Chapman, 1 %, seeds 41, 42)': cells, grouped by variant, dataset and ratio."""
    seeds: dict[str, set[int]] = {}
    for cell in cells:
        where = f"{plan.titles[cell.dataset]}, {ratio_text(cell.ratio)}"
        seeds.setdefault(f"{plan.variants[cell.variant]} ({where}", set()).add(cell.seed)
    return [f"{name}, {seeds_text(of)})" for name, of in seeds.items()]


def _other_sources(plan: Plan, layout: Layout) -> Iterator[str]:
    """Name rows that read reports, rows with weights of others, and printed numbers with what to cite for them."""
    datasets = {cell.dataset for cell in layout.cells}
    roles = {plan.variants[name]: role_of(plan, name) for name in layout.variants}
    if readers := [title for title, role in roles.items() if role.get("reads_reports")]:
        embedder = plan.config["pretrain"]["text_embedder"]
        yield (
            f"{and_text(readers)} learned from the reports of the recordings (embedded by {embedder}), which no other "
            "row reads."
        )
    for title, facts in ((title, role["elsewhere"]) for title, role in roles.items() if role.get("elsewhere")):
        saw = [f"{title} {facts['saw'][name]}" for name, title in plan.titles.items() if name in datasets]
        yield (
            f"{title}: weights of others (licence {facts['licence']}), pretrained on {facts['pretrained_on']}; saw "
            f"these test patients: {', '.join(saw)}. Reads {facts['signals']}; each of its "
            "windows has the recording's prediction."
        )
    for name in plan.config["printed"]:
        if any(n.source == name and n.evaluation == layout.evaluation and n.column in datasets for n in numbers()):
            source = sources()[name]
            yield f"Printed ({name}): {source.cite}. Protocol: {source.protocol}. Differs: {source.differs}."


def _limits(plan: Plan, statistics: TableStatistics) -> Iterator[str]:
    """State what ≈ means, what the seeds vary, and the difference that can be detected."""
    pairs = statistics.pairs
    if pairs.empty:
        return
    seeds, strict = int(pairs["seeds"].max()), plan.config["protocol"] == "strict"
    varied = "pretraining, labelled subset and fine-tuning" if strict else "the evaluation of one pretraining per row"
    number = int(pairs.groupby(["ratio", "dataset", "metric"]).size().max())
    yield (
        f"≈: not separable from the best with these patients and seeds, and within {100 * NEAR:g} points of it (level "
        f"{100 * LEVEL:g} %, Holm's correction over the {number} pair{'s' * (number > 1)} of a column). Intervals: "
        f"jackknife over test patients, variance over {seeds} seed{'s' * (seeds > 1)}, which vary {varied}."
    )
    overall = pairs[(pairs["metric"] == OVERALL) & pairs["detectable"].gt(0)]
    if len(overall):
        now, twice, four_times = (100 * overall[name].dropna().median() for name in DETECTABLE.values())
        more = f"; with twice the pretrainings {twice:.1f}, with four times {four_times:.1f}" * (strict and seeds > 1)
        yield f"Detectable difference in Overall (power {100 * POWER:g} %, one test, median): {now:.1f} points{more}."


def verdict(results: Results, layout: Layout, differences: pd.DataFrame, scores: pd.DataFrame) -> list[str]:
    """Say which rows beat each reference in Overall, which are not separable and which are worse; empty for no pair.

    differences: of `reports.inference.differences`; scores: of `Table`. The first text answers, in lines; the second
    has the sample size and what does not follow; then comes a line of differences per label ratio.
    """
    if differences.empty:
        return []
    plan, seeds = results.plan, int(differences["seeds"].max())
    datasets = {cell.dataset for cell in layout.cells}
    answers = [_headline(plan, str(name), rows) for name, rows in differences.groupby("reference", sort=False)]
    baselines = [row_title(plan, name) for name in layout.variants if name in layout.baselines]
    limits = [
        f"{seeds} seed{'s' * (seeds > 1)}; test patients: {tested_text(results, datasets)}; baselines: "
        f"{'; '.join(baselines) or 'none'}."
    ]
    if not (differences["significant"] | differences["equivalent"]).all():
        limits.append("Not separable does not mean equal.")
    if plan.config["protocol"] != "strict" or seeds < 2:
        evaluated = "The seeds vary the evaluation: each" if seeds > 1 else "Each"
        limits.append(f"{evaluated} row is one pretraining; that one method is better than another does not follow.")
    limits += _baselines_above(plan, scores)
    groups = differences.groupby(["reference", "ratio"], sort=False)
    ratio_lines = [_ratio_line(plan, str(reference), rows) for (reference, _), rows in groups]
    return ["\n".join(answers), " ".join([*limits, *simulated_text(plan, datasets)]), *ratio_lines]


def _baselines_above(plan: Plan, scores: pd.DataFrame) -> Iterator[str]:
    """Name the baselines without an encoder that score above every pretrained row in Overall, and what follows."""
    overall = scores[scores["metric"] == OVERALL]
    overall = overall[overall["n"] == overall["n"].max()]  # those of all columns
    pretrained = overall[~overall["baseline"] & ~overall["variant"].map(is_untrained)]
    best = pretrained.groupby("ratio")["mean_percent"].max()
    above = overall[overall["mean_percent"] > overall["ratio"].map(best)]
    for variant, rows in above[above["variant"].isin(CLASSICAL_TITLES)].groupby("variant", sort=False):
        means = zip(rows["mean_percent"], rows["ratio"].map(ratio_text), strict=True)
        yield (
            f"Higher in Overall than every pretrained row: the baseline {plan.variants[str(variant)]} "
            f"({', '.join(f'{mean:.1f} at {ratio}' for mean, ratio in means)}). It is a different model without "
            "pretraining: this is no comparison of encoders."
        )


def _headline(plan: Plan, reference: str, rows: pd.DataFrame) -> str:
    """Return 'Better than the untrained encoder (Random): PMQ at 1 %. Not separable from it: MoCo at both shares.'"""
    ratios, title = list(rows["ratio"].unique()), row_title(plan, reference)
    title = f"the untrained encoder ({title})" if is_untrained(reference) else title
    shares = {1: f"with {labels_text(ratios[0])}", 2: "at both label shares"}.get(len(ratios), "at all label shares")
    higher = rows["difference"] > 0
    kinds = {
        f"Better than {title}": rows["significant"] & higher,
        f"Within {100 * MARGIN:g} points of it": ~rows["significant"] & rows["equivalent"],
        "Not separable from it": ~rows["significant"] & ~rows["equivalent"],
        "Worse": rows["significant"] & ~higher,
    }
    sentences: list[str] = []
    for kind, chosen in kinds.items():
        titles: dict[tuple[float, ...], list[str]] = {}
        for variant, where in rows[chosen].groupby("variant", sort=False)["ratio"]:
            titles.setdefault(tuple(where), []).append(row_title(plan, str(variant)))
        clauses = [
            f"{and_text(names)} "
            + (shares if len(where) == len(ratios) else f"at {and_text([*map(ratio_text, where)])}")
            for where, names in sorted(titles.items(), key=lambda item: -len(item[0]))
        ]
        if clauses or not sentences:
            sentences.append(f"{kind}: {'; '.join(clauses) or 'no row'}.")
    return "\n".join(sentences)


def finding_text(row: Mapping[Any, Any]) -> str:
    """Return what the tests of a difference say: 'higher', 'lower', 'equal within 2 points' or 'not separable'."""
    if row["significant"]:
        return "higher" if row["difference"] > 0 else "lower"
    return f"equal within {100 * MARGIN:g} points" if row["equivalent"] else "not separable"


def points_text(row: Mapping[Any, Any]) -> str:
    """Return '+1.2 (−0.3 to 2.7)': a difference in points with the interval of Holm's procedure."""
    mean, low, high = (f"{100 * row[name]:z.1f}" for name in ("difference", "low_holm", "high_holm"))
    return f"{'' if mean.startswith('-') else '+'}{mean} ({low} to {high})".replace("-", "−")


def _ratio_line(plan: Plan, reference: str, rows: pd.DataFrame) -> str:
    """Return the differences of all rows at a label ratio, the largest first, with intervals of Holm's procedure."""
    rows = rows.sort_values("difference", ascending=False)
    groups: dict[str, list[str]] = {}
    for row in rows.to_dict("records"):
        groups.setdefault(finding_text(row), []).append(f"{row_title(plan, row['variant'])} {points_text(row)}")
    parts = "; ".join(f"{kind}: {', '.join(texts)}" for kind, texts in groups.items())
    return (
        f"{labels_text(rows['ratio'].iloc[0])}, Overall minus that of {row_title(plan, reference)} in points: {parts}."
    )
