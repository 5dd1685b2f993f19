"""The words around a table: row titles, caption, footers and verdict, made of what was run.

None contains a time, a device or a path, so that a resumed run prints the same text.
"""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Collection, Iterable, Iterator, Mapping, Sequence
from textwrap import shorten
from typing import Any

import pandas as pd

from benchmark.results.metrics import COLUMNS, METRICS
from benchmark.results.names import (
    EVALUATION_TITLES,
    HEARTBEAT,
    OVERALL,
    is_frozen,
    is_untrained,
)
from benchmark.results.printed import numbers, sources
from benchmark.results.store import Plan, PlannedCell, labels_of
from reports.inference import LEVEL, MARGIN, NEAR, POWER, TableStatistics
from reports.results import DAMAGED, Layout, Record, Results, cell_errors, role_of

UNLABELLED = "no labelled window of class "
"""How the note of a row begins whose labelled windows lack classes (`benchmark.data.splits.absent_classes`)."""
SIMULATED = "Simulated ECGs: no ranking of methods follows."
READER = " (reads reports)"
"""After the title of a row whose pretraining reads the reports of the recordings."""
COMMIT_DIGITS = 12
MAX_LISTED, LONGEST_ERROR = 3, 160
"""Groups of cells that a footer names for an error, and length of the error in characters."""
MAX_RATIOS = 3
"""Label ratios with a line of their own in a verdict: the largest."""


def evaluation_text(evaluation: str) -> str:
    """'Fine-tuned'; the name of an evaluation that this version does not know."""
    return EVALUATION_TITLES.get(evaluation, evaluation)


def ratio_text(ratio: float) -> str:
    """0.3 -> '30 %', 0.005 -> '0.5 %'."""
    return f"{100 * ratio:g} %"


def labels_text(ratio: float) -> str:
    """'30 % of the labels'."""
    return f"{ratio_text(ratio)} of the labels"


def signed(value: float, sign: str = "+") -> str:
    """'+1.2', '−0.3': points with one decimal and a minus sign."""
    return f"{value:{sign}z.1f}".replace("-", "−")


def unit_text(plan: Plan, unit: str) -> str:
    """The unit of a score: 'window' instead of 'heartbeat' where recordings were cut into crops."""
    crops = plan.config["data"].get("segmentation", {}).get("kind") == "recordings"
    return "window" if crops and unit == HEARTBEAT else unit


def seeds_named(seeds: Collection[int]) -> str:
    """'41 to 45', or '41, 43, 44' where some are left out."""
    first, *_, last = ordered = sorted(seeds) * 2 if len(seeds) == 1 else sorted(seeds)
    whole = ordered == list(range(first, last + 1)) and len(seeds) > 2
    return f"{first} to {last}" if whole else ", ".join(map(str, sorted(seeds)))


def escape_markdown(text: str) -> str:
    """Text on one line whose characters have no meaning in Markdown."""
    return " ".join(re.sub(r"([\\|*`<\[]|(?<![A-Za-z0-9])_|_(?![A-Za-z0-9]))", r"\\\1", text).split())


def markdown_table(frame: pd.DataFrame) -> str:
    """A frame of texts as a Markdown table, its first column to the left and the others to the right."""
    escaped = frame.map(escape_markdown).rename(columns=escape_markdown)
    align = ["left"] + ["right"] * (len(frame.columns) - 1)
    return str(escaped.to_markdown(index=False, disable_numparse=True, colalign=align))


def and_text(names: Sequence[str]) -> str:
    """'PMQ, MoCo and BYOL'."""
    *others, last = names
    return " and ".join(filter(None, [", ".join(others), last]))


def row_title(plan: Plan, variant: str) -> str:
    """The title of a row, with a mark on a method that reads reports."""
    return plan.variants[variant] + READER * bool(role_of(plan, variant).get("reads_reports"))


def machine_of(record: Record) -> str:
    """Device, threads of a CPU, and mode: 'NVIDIA H200, bf16', 'x86_64, 2 then 4 threads, float32'."""
    device = record.get("device") or {}
    counts = record.get("threads") or [device.get("threads")]
    threads = f", {' then '.join(map(str, counts))} thread{'' if counts == [1] else 's'}"
    threads = threads if device.get("type") == "cpu" else ""
    return f"{device.get('name') or device.get('type', 'unknown device')}{threads}, {record.get('precision', '?')}"


def simulated_text(plan: Plan, datasets: Iterable[str] | None = None) -> list[str]:
    """`SIMULATED` where the pretraining corpus or one of the datasets is simulated, by default of all; else nothing."""
    named = plan.datasets if datasets is None else datasets
    facts = [*(plan.datasets[name] for name in named), plan.pretraining]
    return [SIMULATED] if any(source.get("simulated") for source in facts) else []


def caption(results: Results, layout: Layout, datasets: int) -> str:
    """Metrics, seeds, labelled subsets and pretrainings of a table, what its marks mean, whether ECGs are simulated."""
    plan, cells = results.plan, layout.cells
    metrics = and_text([METRICS[metric].words for metric in layout.metrics])
    seeds = {cell.seed for cell in cells}
    over = f"seed {seeds_named(seeds)}" if len(seeds) == 1 else f"mean±std over seeds {seeds_named(seeds)}"
    subsets = 1 + max(cell.subset for cell in cells)
    each = f", each the mean of {subsets} labelled subsets" if subsets > 1 else ""
    counted = [metric for metric in layout.metrics if metric in COLUMNS]
    which = f"{and_text([METRICS[metric].title for metric in counted])} " if len(counted) < len(layout.metrics) else ""
    sentences = [f"{metrics[0].upper()}{metrics[1:]} in percent, {over}{each}."]
    if datasets * len(counted) > 1:
        sentences.append(f"Overall: mean of the {datasets * len(counted)} {which}columns.")
    if lower := [METRICS[metric].title for metric in layout.metrics if METRICS[metric].lower_is_better]:
        sentences.append(f"Lower is better: {and_text(lower)}.")
    sentences.append("Bold: best of its block.")
    if layout.gates:
        sentences.append("Italics: baselines, not ranked.")
    if is_frozen(layout.evaluation) and plan.config["protocol"] == "paper" and len(seeds) > 1:
        sentences.append("A number without ± does not vary over seeds: the probe is deterministic.")
    return " ".join([*sentences, *simulated_text(plan, {cell.dataset for cell in cells})])


def unlabelled_classes(results: Results, cells: Iterable[PlannedCell]) -> dict[str, str]:
    """Dataset -> which of its classes have no labelled example at a label ratio, and what follows for their F1."""
    there: Counter[tuple[str, float]] = Counter()
    lacking: dict[tuple[str, float], Counter[str]] = {}
    for cell in (cell for cell in cells if cell.key in results.rows):
        there[cell.dataset, cell.ratio] += 1
        for note in results.rows[cell.key].notes:
            if note.startswith(UNLABELLED):
                names = note.removeprefix(UNLABELLED).split(", ")
                lacking.setdefault((cell.dataset, cell.ratio), Counter()).update(names)
    texts: dict[str, list[str]] = {}
    for (dataset, ratio), classes in lacking.items():
        every = there[dataset, ratio]
        in_all = [name for name, number in classes.items() if number == every]
        parts = [f"no labelled example of {and_text(in_all)}, whose F1 is 0 in every row"] if in_all else []
        some = [f"{name} in {number}" for name, number in classes.items() if number < every]
        parts += [f"no labelled example of {and_text(some)} of {every} cells, where its F1 is 0"] if some else []
        texts.setdefault(dataset, []).append(f"at {labels_text(ratio)} {'; '.join(parts)}")
    datasets = {name: facts for name, facts in results.plan.datasets.items() if name in texts}
    return {name: f"{facts['title']}: {'; '.join(texts[name])}" for name, facts in datasets.items()}


def footers(results: Results, layout: Layout, unit: str, statistics: TableStatistics) -> list[str]:
    """Cells, data and settings, labelled patients, warnings and errors, test patients, and limits; one line each."""
    plan, cells = results.plan, layout.cells
    datasets = [name for name in plan.datasets if any(cell.dataset == name for cell in cells)]
    return [
        _cells(results, cells),
        _settings(plan, datasets, unit),
        *_labelled(results, cells),
        *(f"Warning: {warning}." for warning in plan.warnings),
        *_errors(results, cells),
        *_pretrainings(results, layout, datasets),
        *_test_patients(results, cells, datasets),
        *_limits(results, layout, statistics),
        *_printed_sources(plan, layout),
    ]


def progress(results: Results, keys: Collection[str]) -> tuple[str, str]:
    """'5 of 8' and ', 1 failed, 2 not run': how many cells are finished, and what the others are."""
    finished = sum(key in results.rows for key in keys)
    counts = {"failed": sum(key in results.failures for key in keys)}
    counts["damaged"] = sum(key in results.damaged for key in keys)
    counts["not run"] = len(keys) - finished - sum(counts.values())
    return f"{finished} of {len(keys)}", "".join(f", {number} {what}" for what, number in counts.items() if number)


def _cells(results: Results, cells: Sequence[PlannedCell]) -> str:
    finished, rest = progress(results, [cell.key for cell in cells])
    commits: dict[str, None] = {}
    for cell in cells:
        git = results.rows[cell.key].provenance.get("git") if cell.key in results.rows else None
        if git and git.get("commit"):
            commits[git["commit"][:COMMIT_DIGITS] + " with uncommitted changes" * bool(git.get("dirty"))] = None
    return f"Cells: {finished} finished{rest}" + (f"; commit {', '.join(commits)}." if commits else ".")


def _settings(plan: Plan, datasets: Sequence[str], unit: str) -> str:
    """Unit, protocol, preset, labels, data and how signals are taken, where that is not as in the paper."""
    config, other = plan.config, plan.other_signals
    preset = config.get("pretrain", {}).get("preset")
    sources_text = ", ".join(_source_text(plan.datasets[name]) for name in datasets)
    texts = [
        f"Scored per {unit_text(plan, unit)}; protocol {config['protocol']}{f', preset {preset}' if preset else ''}, "
        f"{labels_of(plan)} labels. Data: {sources_text}; {_corpus_text(plan)}."
    ]
    signals = {name: " ".join(value) if isinstance(value, list) else value for name, value in other.items()}
    windows = config["data"].get("segmentation", {})
    if windows.get("kind") == "recordings":
        signals["crops"] = f"of {windows['seconds']:g} s every {windows['stride'] or windows['seconds'] / 2:g} s"
    if signals:
        texts.append(f"Signals: {', '.join(f'{name} {value}' for name, value in signals.items())}.")
    for name in datasets:
        if "parts" in plan.datasets[name]:
            texts.append(
                f"{plan.datasets[name]['title']}: cross-validated in {plan.datasets[name]['parts']} parts by patient, "
                "not pretrained on."
            )
    return " ".join(texts)


def _source_text(facts: Mapping[str, Any]) -> str:
    return f"{facts.get('title') or facts['name']} ({'simulated' if facts.get('simulated') else 'real'})"


def _corpus_text(plan: Plan) -> str:
    """'pretraining on MIMIC-IV-ECG (real), 30 of its 90 recordings, of 9 patients'; no row may be pretrained."""
    if all(is_untrained(method) for method in plan.config.get("methods", [""])):
        return "nothing is pretrained"
    return f"pretraining on {_source_text(plan.pretraining)}{used_text(plan)}"


def used_text(plan: Plan) -> str:
    """', 30 of its 90 recordings, of 9 patients': what is pretrained on; '' for a plan that does not say."""
    facts = plan.pretraining
    if "used_recordings" not in facts:
        return ""
    return f", {facts['used_recordings']} of its {facts['recordings']} recordings, of {facts['used_patients']} patients"


def _labelled(results: Results, cells: Sequence[PlannedCell]) -> Iterator[str]:
    """Labelled patients at each share and dataset (recordings under `paper`): of training, then of validation."""
    what = "recordings" if results.plan.config["protocol"] == "paper" else "patients"
    numbers_at: dict[tuple[float, str], list[tuple[int, int]]] = {}
    for cell in cells:
        counts = results.rows[cell.key].counts if cell.key in results.rows else {}
        if f"train_{what}" in counts:
            pair = counts[f"train_{what}"], counts[f"validation_{what}"]
            numbers_at.setdefault((cell.ratio, cell.dataset), []).append(pair)
    texts: dict[float, list[str]] = {}
    for (ratio, dataset), pairs in numbers_at.items():
        train, validation = (" to ".join(dict.fromkeys(map(str, (min(s), max(s))))) for s in zip(*pairs, strict=True))
        title = results.plan.datasets[dataset]["title"]
        texts.setdefault(ratio, []).append(f"{title} {train} train, {validation} validation")
    if texts:
        shares = (f"{ratio_text(ratio)}: {', '.join(parts)}" for ratio, parts in texts.items())
        yield f"Labelled {what}: {'; '.join(shares)}."


def _errors(results: Results, cells: Sequence[PlannedCell]) -> Iterator[str]:
    for (state, error), failed in cell_errors(results, cells).items():
        names = cell_names(results.plan, failed)
        more = f"; and {len(names) - MAX_LISTED} more" if len(names) > MAX_LISTED else ""
        named = "; ".join(names[:MAX_LISTED]) + more
        if state == DAMAGED:
            yield f"Left out: {named}: the stored row is damaged."
        else:
            yield f"Failed: {named}: {shorten(error, LONGEST_ERROR, placeholder=' …')}"


def cell_names(plan: Plan, cells: Sequence[PlannedCell]) -> list[str]:
    """'PMQ (Chapman, 1 %, seeds 41, 42)': cells, grouped by variant, dataset and ratio."""
    seeds: dict[str, set[int]] = {}
    for cell in cells:
        where = f"{plan.datasets[cell.dataset]['title']}, {ratio_text(cell.ratio)}"
        seeds.setdefault(f"{plan.variants[cell.variant]} ({where}", set()).add(cell.seed)
    return [f"{name}, seed{'s' if len(of) > 1 else ''} {seeds_named(of)})" for name, of in seeds.items()]


def _pretrainings(results: Results, layout: Layout, datasets: Sequence[str]) -> Iterator[str]:
    """Rows that read reports, that pair recordings of few patients, and whose weights come from elsewhere."""
    plan = results.plan
    if readers := [name for name in layout.variants if role_of(plan, name).get("reads_reports")]:
        embedder = plan.config.get("pretrain", {}).get("text_embedder") or "an unnamed embedder"
        how = "TF-IDF and truncated SVD" if embedder == "tfidf" else embedder
        yield (
            f"{and_text([plan.variants[name] for name in readers])} learned from the reports of the recordings "
            f"(embedded by {how}), which no other row reads."
        )
    for name in layout.variants:
        record = next(iter(results.pretrainings.get(name, {}).values()), {})
        alone, every = (
            record.get(key, 0) for key in ("windows_of_patients_with_one_recording", "windows_of_all_patients")
        )
        if 2 * alone > every > 0:
            yield (
                f"{plan.variants[name]} pairs recordings of a patient: {alone} of {every} windows are of patients with "
                "one recording and are paired with another window of it."
            )
        if facts := role_of(plan, name).get("elsewhere"):
            answers = (
                f"{plan.datasets[dataset]['title']} {facts['saw'].get(dataset, 'not known')}" for dataset in datasets
            )
            yield (
                f"{plan.variants[name]}: weights of others (licence {facts['licence']}), pretrained on "
                f"{facts['pretrained_on']}; saw these test patients: {', '.join(answers)}. Reads {facts['signals']}; "
                "its prediction of a recording stands for each of its windows."
            )


def _test_patients(results: Results, cells: Sequence[PlannedCell], datasets: Sequence[str]) -> Iterator[str]:
    """Test patients of each dataset, and patients without a scored recording."""
    rows = {cell.dataset: results.rows[cell.key] for cell in cells if cell.key in results.rows}
    titles = {name: results.plan.datasets[name]["title"] for name in datasets}
    tested = [f"{titles[name]} {rows[name].counts.get('test_patients', '?')}" for name in datasets if name in rows]
    unscored = [
        f"{titles[name]} {label} {len(facts['unscored'])} of {facts['patients']}"
        for name in datasets
        if name in rows
        for label, facts in rows[name].coverage.items()
        if facts["unscored"]
    ]
    if tested:
        without = f" Without a scored recording: {', '.join(unscored)}." if unscored else ""
        yield f"Test patients: {', '.join(tested)}.{without}"


def _limits(results: Results, layout: Layout, statistics: TableStatistics) -> Iterator[str]:
    """What ≈ means, what the seeds vary, and the difference that can be detected."""
    pairs, plan = statistics.pairs, results.plan
    if pairs.empty:
        return
    number = int(pairs.groupby(["ratio", "dataset", "metric"]).size().max())
    yield (
        f"≈: not separable from the best with these patients and seeds, and within {100 * NEAR:g} points of it (level "
        f"{100 * LEVEL:g} %, Holm's correction over the {number} pair{'s' * (number > 1)} of a column). 95 % intervals "
        "and tests: jackknife over test patients, variance over seeds (Hillis 2007)."
    )
    seeds = int(pairs["seeds"].max())
    strict = plan.config["protocol"] == "strict"
    if seeds == 1:
        yield "One seed: the intervals cover the test patients alone; another seed may reverse any difference."
    elif strict:
        varied = (
            "pretraining and labelled subset" if is_frozen(layout.evaluation) else "pretraining, subset and fine-tuning"
        )
        yield f"{seeds} seeds, each with its own {varied}: the intervals cover the variation of all."
    else:
        yield (
            f"{seeds} seeds of one pretraining per method and one labelled subset (untrained encoders: one per seed): "
            "the intervals do not cover the variation between pretrainings."
        )
    known = pairs[(pairs["metric"] == OVERALL) & pairs["detectable"].gt(0)]
    if len(known):
        now, twice, four_times = (known[f"detectable{times}"].dropna().median() * 100 for times in ("", "_2x", "_4x"))
        more = (
            f"; with twice the pretrainings {twice:.1f}, with four times {four_times:.1f}"
            if strict and seeds > 1
            else ""
        )
        yield (f"Detectable difference in Overall (power {100 * POWER:g} %, one test, median): {now:.1f} points{more}.")


def _printed_sources(plan: Plan, layout: Layout) -> Iterator[str]:
    """What to cite for each source of printed numbers in a table, its protocol, and what differs here."""
    there = {cell.dataset for cell in layout.cells}
    for name in plan.config.get("printed", []):
        if any(n.source == name and n.evaluation == layout.evaluation and n.column in there for n in numbers()):
            source = sources()[name]
            yield f"Printed ({name}): {source.cite}. Protocol: {source.protocol}. Differs: {source.differs}."


def verdict(plan: Plan, layout: Layout, differences: pd.DataFrame) -> list[str]:
    """Which rows differ in Overall from each reference, then a line per label ratio; empty where nothing is compared.

    differences: of `reports.inference.differences`. Under `paper` they are between networks, not methods.
    """
    if differences.empty:
        return []
    seeds = int(differences["seeds"].max())
    lines = []
    for name, rows in differences.groupby("reference", sort=False):
        lines.append(_headline(plan, str(name), rows))
    if plan.config["protocol"] != "strict" or seeds < 2:
        lines[0] += " These are differences between single networks, one pretraining per row, not between methods."
    for (reference, ratio), rows in differences.groupby(["reference", "ratio"], sort=False):
        if ratio in sorted(layout.ratios)[-MAX_RATIOS:]:
            lines.append(_ratio_line(plan, str(reference), float(ratio), rows))
    return lines


def _headline(plan: Plan, reference: str, rows: pd.DataFrame) -> str:
    """'PMQ and MoCo score higher than Random at both label shares; BYOL scores lower than Random at 1 %.'"""
    ratios, name = list(rows["ratio"].unique()), row_title(plan, reference)
    groups = {
        ("scores significantly higher than", "score significantly higher than"): rows["significant"]
        & (rows["difference"] > 0),
        ("scores significantly lower than", "score significantly lower than"): rows["significant"]
        & (rows["difference"] < 0),
        (f"is within {100 * MARGIN:g} points of", f"are within {100 * MARGIN:g} points of"): ~rows["significant"]
        & rows["equivalent"],
    }
    clauses = []
    for (one, many), chosen in groups.items():
        at = rows[chosen].groupby("variant", sort=False)["ratio"].agg(tuple)
        for where in dict.fromkeys(sorted(at, key=len, reverse=True)):
            titles = [row_title(plan, str(variant)) for variant, significant in at.items() if significant == where]
            clauses.append(f"{and_text(titles)} {one if len(titles) == 1 else many} {name} {_where(where, ratios)}")
    if not clauses:
        clauses = [f"no row differs significantly from {name}" + (" at any label share" if len(ratios) > 1 else "")]
    text = "; ".join(clauses)
    return f"{text[0].upper()}{text[1:]}."


def _where(there: Sequence[float], ratios: Sequence[float]) -> str:
    if len(there) == len(ratios) > 1:
        return f"at {'both' if len(ratios) == 2 else 'all'} label shares"
    return f"at {and_text([ratio_text(ratio) for ratio in there])}" + " of the labels" * (len(ratios) == 1)


def _ratio_line(plan: Plan, reference: str, ratio: float, rows: pd.DataFrame) -> str:
    """Differences of all rows at a label ratio, the largest first, with the intervals of Holm's procedure."""
    groups: dict[str, list[str]] = {}
    for row in rows.sort_values("difference", ascending=False).to_dict("records"):
        mean, low, high = (100 * row[name] for name in ("difference", "low_holm", "high_holm"))
        interval = "no interval" if pd.isna(low) else f"{signed(low, '')} to {signed(high, '')}"
        kind = ("higher" if mean > 0 else "lower") if row["significant"] else "not significantly different"
        groups.setdefault(kind, []).append(f"{row_title(plan, row['variant'])} {signed(mean)} ({interval})")
    parts = "; ".join(
        f"{kind}: {', '.join(groups[kind])}"
        for kind in ("higher", "lower", "not significantly different")
        if kind in groups
    )
    return f"{labels_text(ratio)}, Overall minus that of {row_title(plan, reference)} in points: {parts}."
