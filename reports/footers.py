"""The words around a table: caption, footers and warnings, made of what was run.

None has a time or a path, and a device is named only where cells were computed on several, so that a resumed run
prints the same text.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Iterator, Mapping, Sequence
from textwrap import shorten
from typing import Any

import numpy as np
import pandas as pd

from benchmark.results.metrics import METRICS, has_both_signs, has_one_patient
from benchmark.results.names import LEADS, OVERALL, counted, is_frozen, numbers, sources
from benchmark.results.store import Plan, PlannedCell, labels_of
from reports.inference import (
    DETECTABLE,
    LEVEL,
    NEAR,
    POWER,
    TableStatistics,
    median_detectable,
    median_error,
    needed_error,
)
from reports.layouts import Layout, role_of
from reports.results import DAMAGED, FINISHED, STATES, Run, cell_errors
from reports.words import (
    ONE_PATIENT,
    and_text,
    cell_names,
    labels_text,
    ratio_text,
    replicates_text,
    row_title,
    seeds_text,
    simulated_text,
    source_text,
    subsets_text,
    tested_text,
    unit_text,
)

UNLABELLED = "no labelled window of class "
"""Beginning of the note on a row whose labelled windows lack classes (`benchmark.data.task.task_on`)."""
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


def about_headline(layout: Layout, intervals: pd.DataFrame) -> str:
    """Say what the headline of a table is a mean of, and whether it has its interval; intervals: of the table."""
    sentences = []
    in_overall = [METRICS[metric].title for metric in layout.metrics if metric in layout.headline.metrics]
    columns = len({cell.dataset for cell in layout.cells}) * len(in_overall)
    if columns > 1:
        titles = f"{and_text(in_overall)} " if len(in_overall) < len(layout.metrics) else ""
        sentences.append(f"{layout.headline.title}: mean of the {columns} {titles}columns.")
    if intervals.loc[intervals["metric"] == OVERALL, "low"].notna().any():
        sentences.append("In brackets: 95 % intervals.")
    return " ".join(sentences)


def about_scores(results: Run, layout: Layout) -> str:
    """Name seeds and labelled subsets of a table, what its marks mean, and whether ECGs are simulated."""
    datasets = {cell.dataset for cell in layout.cells}
    seeds = {cell.seed for cell in layout.cells}
    of_what = "mean±std over " if len(seeds) > 1 else ""
    sentences = [f"{of_what}{seeds_text(seeds)}{subsets_text(layout.cells)}."]
    lower = [METRICS[metric].title for metric in layout.metrics if METRICS[metric].lower_is_better]
    if lower:
        sentences.append(f"Lower is better: {and_text(lower)}.")
    sentences.append("Bold: best of its block.")
    if layout.baselines:
        sentences.append("Italics: baselines, not ranked.")
    if is_frozen(layout.evaluation) and results.plan.config["protocol"] == "paper" and len(seeds) > 1:
        sentences.append("A number without ±, Overall apart, does not vary over seeds: the probe is deterministic.")
    sentences += simulated_text(results.plan, datasets)
    return " ".join(sentences)


def unlabelled_classes(results: Run, cells: Iterable[PlannedCell]) -> dict[str, str]:
    """Return dataset -> which of its classes have no labelled example at a label ratio; their F1 is 0 there."""
    finished: Counter[tuple[str, float]] = Counter()
    lacking: dict[tuple[str, float], Counter[str]] = {}
    for cell in cells:
        if cell.key not in results.rows:
            continue
        group = (cell.dataset, cell.ratio)
        finished[group] += 1
        for note in results.rows[cell.key].notes:
            if note.startswith(UNLABELLED):
                classes = note.removeprefix(UNLABELLED).split(", ")
                lacking.setdefault(group, Counter()).update(classes)
    parts: dict[str, list[str]] = {}
    for group, counts in lacking.items():
        dataset, ratio = group
        classes = [_lacking_text(name, count, finished[group]) for name, count in counts.items()]
        parts.setdefault(dataset, []).append(f"at {labels_text(ratio)} no labelled example of {and_text(classes)}")
    texts = {}
    for dataset, title in results.plan.titles.items():
        if dataset in parts:
            texts[dataset] = f"{title}: {'; '.join(parts[dataset])}: F1 is 0 there"
    return texts


def _lacking_text(name: str, count: int, cells: int) -> str:
    """Return a class, and in how many cells it has no labelled example where it has one in others."""
    return name if count == cells else f"{name} (in {count} of {cells} cells)"


def footers(results: Run, layout: Layout, unit: str, statistics: TableStatistics) -> list[str]:
    """Name cells, data and settings, patients, warnings and errors, other sources, and limits; one line each."""
    return [
        _progress(results, layout.cells),
        _settings(results.plan, layout.cells, unit),
        *labelled(results, layout.cells),
        *_tested(results, layout.cells),
        *_left_out(results.plan, layout.cells),
        *_classes_of_one_patient(results, layout.cells),
        *(f"Warning: {warning}." for warning in warnings(results, layout.cells)),
        *_errors(results, layout.cells),
        *_second_party(results, layout),
        *_other_sources(results.plan, layout),
        *_limits(results.plan, statistics, layout),
    ]


def warnings(results: Run, cells: Sequence[PlannedCell]) -> list[str]:
    """Return the warnings of a plan, and a last one where cells were not computed alike; without full stops."""
    counts: dict[str, dict[str, Counter[str]]] = {}  # fact -> value -> cells of each row
    for cell in cells:
        for fact, value in results.environment_of(cell.key):
            counts.setdefault(fact, {}).setdefault(value, Counter())[cell.variant] += 1
    differing = []
    for fact, values in counts.items():
        if len(values) > 1:
            differing.append(f"{fact} {_shares(results.plan, values)}")
    lines = list(results.plan.warnings)
    if differing:
        lines.append(f"these cells were not computed alike ({UNLIKE}): {'; '.join(differing)}")
    return lines


def _shares(plan: Plan, values: Mapping[str, Counter[str]]) -> str:
    """Count the cells of each value by row, the most frequent first, and name the rows of the others."""
    most, *others = sorted(values, key=lambda value: (-values[value].total(), value))
    texts = [f"{most} ({values[most].total()} cells)"]
    for value in others:
        rows = [row_title(plan, variant) for variant in values[value]]
        named = and_text(rows) if len(rows) <= MOST_ROWS else f"{len(rows)} rows"
        texts.append(f"{value} ({values[value].total()} of {named})")
    return ", ".join(texts)


def _progress(results: Run, cells: Sequence[PlannedCell]) -> str:
    """Count the cells that are finished and those that are not, and name the commits of the rows."""
    states: Counter[str] = Counter()
    commits = set()
    for cell in cells:
        state, _ = results.state_of(cell.key)
        states[state] += 1
        if state == FINISHED:
            commits.add(commit_text(results.rows[cell.key].provenance["git"]))
    text = f"Cells: {states[FINISHED]} of {len(cells)} finished"
    for state in STATES[1:]:
        if states[state]:
            text += f", {states[state]} {state}"
    commits.discard("")
    if commits:
        text += f"; commit {', '.join(sorted(commits))}"
    return f"{text}."


def commit_text(git: Mapping[str, Any]) -> str:
    """Return the start of a commit and whether the code had changed since; '' for code without git."""
    if not git["commit"]:
        return ""
    commit = str(git["commit"][:12])
    return f"{commit} with uncommitted changes" if git["dirty"] else commit


def _settings(plan: Plan, cells: Sequence[PlannedCell], unit: str) -> str:
    """Name unit, protocol, preset, labels, data, and how signals are taken where that is not as in the paper."""
    config, corpus = plan.config, plan.pretraining
    datasets = {cell.dataset for cell in cells}
    data = ", ".join(source_text(facts) for name, facts in plan.datasets.items() if name in datasets)
    preset = config["pretrain"]["preset"]
    text = (
        f"Scored per {unit_text(plan, unit)}; protocol {config['protocol']}, preset {preset}, {labels_of(plan)} labels."
        f" Data: {data}; pretraining on {source_text(corpus)}, {corpus['used_recordings']} of its "
        f"{corpus['recordings']} recordings, of {corpus['used_patients']} patients."
    )
    signals = list(_signal_settings(config["data"]))
    if signals:
        text += f" Signals: {', '.join(signals)}."
    return text


def _signal_settings(data: Mapping[str, Any]) -> Iterator[str]:
    """Name the settings of signals that are not as in the paper, and the length of crops."""
    for name, value in data.items():
        if value != PAPER_SIGNALS.get(name, value):
            text = " ".join(value) if isinstance(value, list) else value
            yield f"{name} {text}"
    windows = data["segmentation"]
    if windows["kind"] == "recordings":
        stride = windows["stride"] or windows["seconds"] / 2
        yield f"crops of {windows['seconds']:g} s every {stride:g} s"


def labelled(results: Run, cells: Sequence[PlannedCell]) -> Iterator[str]:
    """Name the fewest labelled patients of a cell, or recordings under `paper`, at each label ratio."""
    unit = "recordings" if results.plan.config["protocol"] == "paper" else "patients"
    keys = [cell.key for cell in cells]
    finished = results.cells[results.cells["key"].isin(keys)]
    sides = finished.reindex(columns=[f"train_{unit}", f"validation_{unit}"])
    counts = sides.sum(axis=1, skipna=False).dropna()
    groups = counts.groupby([finished["ratio"], finished["dataset"]])
    fewest: dict[Any, int] = groups.min().astype(int).to_dict()
    texts: dict[float, list[str]] = {}
    for ratio, dataset in dict.fromkeys((cell.ratio, cell.dataset) for cell in cells):
        if (ratio, dataset) in fewest:
            title = results.plan.titles[dataset]
            texts.setdefault(ratio, []).append(f"{title} {fewest[ratio, dataset]}")
    shares = [f"{', '.join(texts[ratio])} at {ratio_text(ratio)}" for ratio in texts]
    if shares:
        yield f"Fewest labelled {unit}, training and validation together: {'; '.join(shares)}."


def _tested(results: Run, cells: Sequence[PlannedCell]) -> Iterator[str]:
    """Count the test patients of each dataset, and the patients of each class who have no scored recording."""
    rows = {cell.dataset: results.rows[cell.key] for cell in cells if cell.key in results.rows}
    if not rows:
        return
    text = f"Test patients: {tested_text(results, rows)}."
    unscored = []
    for dataset, title in results.plan.titles.items():
        coverage = rows[dataset].coverage if dataset in rows else {}
        for name, patients in coverage.items():
            if patients["unscored"]:
                unscored.append(f"{title} {name} {len(patients['unscored'])} of {patients['patients']}")
    if unscored:
        text += f" Without a scored recording: {', '.join(unscored)}."
    yield text


def _left_out(plan: Plan, cells: Sequence[PlannedCell]) -> Iterator[str]:
    """Count the recordings of each dataset that are neither learned from nor scored; a plan may lack the counts."""
    datasets = {cell.dataset for cell in cells}
    for name, facts in plan.datasets.items():
        if name in datasets and facts.get("left_out"):
            counts = [f"{count} with {reason}" for reason, count in facts["left_out"].items()]
            yield f"Left out of {facts['title']}: of {facts['recordings']} recordings {and_text(counts)}."


def _classes_of_one_patient(results: Run, cells: Sequence[PlannedCell]) -> Iterator[str]:
    """Name the classes of each dataset that no ranking can be computed of, or whose positives are of one patient."""
    finished = {cell.dataset: cell.key for cell in cells if cell.key in results.rows}
    for dataset, key in finished.items():
        test = results.predictions(key)
        facts = results.plan.datasets[dataset]
        classes = np.array(facts["classes"])  # (C,)
        is_alone = has_one_patient(test.truth, test.patient)  # (C,)
        if is_alone.any():
            yield f"{facts['title']}, {and_text(list(classes[is_alone]))}: {ONE_PATIENT}."
        if results.plan.headline.counts_one_patient:
            continue
        is_out = is_alone | ~has_both_signs(test.truth)  # (C,)
        if is_out.any():
            scored = f"{(~is_out).sum()} of {len(classes)} classes"
            lacking = and_text(list(classes[is_out]))
            yield f"{facts['title']}: AUROC and AUPRC of every row are means over {scored}, without {lacking}."


def _errors(results: Run, cells: Sequence[PlannedCell]) -> Iterator[str]:
    """Name the first cells that have an error, how many more have it, and the error."""
    for (state, error), failed in cell_errors(results, cells).items():
        first, *others = cell_names(results.plan, failed)
        more = f" and {len(others)} more" if others else ""
        reason = shorten(error, LONGEST_ERROR, placeholder=" …")
        if state == DAMAGED:
            reason = "the stored row cannot be read"
        yield f"{state.capitalize()}: {first}{more}: {reason}"


def _second_party(results: Run, layout: Layout) -> Iterator[str]:
    """Say what the marks of rows from archives mean."""
    if any((layout.evaluation, variant) in results.marks for variant in layout.variants):
        yield (
            "Rows of archives: claimed, their numbers alone; re-scored, computed from stored predictions on the "
            "recordings, labels and split of rows here; re-run, random cells computed again here. Other rows were "
            "computed here."
        )


def _other_sources(plan: Plan, layout: Layout) -> Iterator[str]:
    """Name rows that read reports, rows with weights of others, and printed numbers with what to cite for them."""
    datasets = {cell.dataset for cell in layout.cells}
    titles = {name: title for name, title in plan.titles.items() if name in datasets}
    roles = {plan.variants[name]: role_of(plan, name) for name in layout.variants}
    readers = [title for title, role in roles.items() if role.get("reads_reports")]
    if readers:
        embedder = plan.config["pretrain"]["text_embedder"]
        yield (
            f"{and_text(readers)} learned from the reports of the recordings (embedded by {embedder}), which no other "
            "row reads."
        )
    for title, role in roles.items():
        weights = role.get("external")
        if weights and weights.get("is_twin"):
            yield f"{title}: its architecture with weights that each seed draws anew."
        elif weights:
            saw = ", ".join(f"{titles[name]} {weights['saw'][name]}" for name in titles)
            yield (
                f"{title}: weights of others (licence {weights['licence']}), pretrained on {weights['pretrained_on']}; "
                f"saw these test patients: {saw}. Reads {weights['signals']}; each of its windows has the "
                "recording's prediction."
            )
            if weights.get("is_object"):
                yield f"{title}: an object in Python; its source is not stored."
    of_evaluation = [number for number in numbers() if number.evaluation == layout.evaluation]
    shown = {number.source for number in of_evaluation if number.column in datasets}
    for name in plan.config["printed"]:
        if name in shown:
            source = sources()[name]
            yield f"Printed ({name}): {source.cite}. Protocol: {source.protocol}. Differs: {source.differs}."


def _limits(plan: Plan, statistics: TableStatistics, layout: Layout) -> Iterator[str]:
    """State what ≈ means, the difference that can be detected, and what equivalence needs."""
    pairs = statistics.pairs
    if pairs.empty:
        return
    headline = layout.headline
    columns = pairs.groupby(["ratio", "dataset", "metric"])
    family = int(columns.size().max())
    yield (
        f"≈: not separable from the best with these patients and seeds, and within {100 * NEAR:g} points of it (level "
        f"{100 * LEVEL:g} %, Holm's correction over the {counted(family, 'pair')} of a column). Intervals: "
        f"jackknife over test patients, variance over {replicates_text(plan, layout.cells)}."
    )
    now, twice, four_times = (100 * median_detectable(pairs, times) for times in DETECTABLE)
    if np.isnan(now):
        return
    text = f"Detectable difference in {headline.words} (power {100 * POWER:g} %, one test, median): {now:.1f} points"
    if plan.config["protocol"] == "strict" and not np.isnan(twice):
        text += f"; with twice the pretrainings {twice:.1f}, with four times {four_times:.1f}"
    margin = counted(round(100 * headline.margin), "point")
    needed = 100 * needed_error(headline.margin)
    error = 100 * median_error(pairs)
    yield (
        f"{text}. To show two equal rows to be within {margin} with the same power, a standard error of {needed:.2f} "
        f"points is needed before Holm's correction; the median pair has {error:.2f}."
    )
