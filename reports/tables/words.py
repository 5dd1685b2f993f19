"""The words around a table: verdict, caption, footers, details.

None contains a time, a device or a path, so that a resumed run prints the same text.

The verdict begins with one sentence: which rows beat the reference. The others say which rows differ in Overall, by how
much, which do not, and what it would take. It is made from the statistics alone (`reports.statistics`): a row is above
another where the difference is significant after Holm's correction over all pairs of the column. Where every seed has
its own pretraining, those that a repeat with other seeds is expected to find are told from those that it may miss.
`reports.figures` draws the same differences.
"""

from __future__ import annotations

import math
from collections import Counter
from collections.abc import Collection, Iterable, Iterator, Mapping, Sequence
from textwrap import shorten
from typing import Any

import pandas as pd

from benchmark.results.metrics import COLUMNS, METRICS
from benchmark.results.names import EVALUATION_FACTS, EVALUATION_TITLES, HEARTBEAT, OVERALL, is_untrained, takes_shots
from benchmark.results.store import Plan, PlannedCell, labels_of
from reports.runs import Layout, Run, role_of, unfinished
from reports.statistics.estimates import EXPECTED, LEVEL, MOST_SEEDS, MOST_TIMES, patients_needed, seeds_needed
from reports.statistics.table import Differences, TableStatistics, differences

SHOWN_DIGITS = 12
NAMED, LONGEST_ERROR = 3, 160
"""Groups of cells that a footer names for an error, or rows for a note, and length of the error in characters."""


SIMULATED = "Simulated ECGs: no ranking of methods follows."


def simulated_text(plan: Plan, datasets: Iterable[str] | None = None) -> list[str]:
    """`SIMULATED` where the pretraining corpus is or a dataset of these is, by default of all; else nothing."""
    named = plan.datasets if datasets is None else datasets
    facts = [*(plan.datasets[name] for name in named), plan.pretraining]
    return [SIMULATED] if any(source.get("simulated") for source in facts) else []


def evaluation_text(evaluation: str) -> str:
    """'Fine-tuned'; the name of an evaluation that this version does not know."""
    return EVALUATION_TITLES.get(evaluation, evaluation)


def ratio_text(ratio: float, evaluation: str = "") -> str:
    """0.3 -> '30 %', 0.005 -> '0.5 %'; of an evaluation that takes shots 5 -> '5 patients per class'."""
    if takes_shots(evaluation):
        return f"{ratio:g} patient{'' if ratio == 1 else 's'} per class"
    return f"{100 * ratio:g} %"


def labels_text(ratio: float, evaluation: str = "") -> str:
    """'30 % of the labels' or '5 patients per class'."""
    return ratio_text(ratio, evaluation) + ("" if takes_shots(evaluation) else " of the labels")


def ratio_stem(ratio: float, evaluation: str) -> str:
    """'30' (percent) or '5-per-class', for names of files."""
    return f"{ratio:g}-per-class" if takes_shots(evaluation) else f"{100 * ratio:g}"


def unit_text(plan: Plan, unit: str) -> str:
    """The unit of a score: 'window' instead of 'heartbeat' where recordings were cut into plain windows or crops."""
    plain = plan.config["data"].get("segmentation") in ("windows", "recordings")
    return "window" if plain and unit == HEARTBEAT else unit


def caption_of(plan: Plan, cells: Sequence[PlannedCell], layout: Layout, columns: int) -> str:
    """Metrics, seeds, marks, whether ECGs are simulated, and the config's own caption. columns: without Overall."""
    *others, last = (METRICS[metric].words for metric in layout.metrics)
    metrics = " and ".join(filter(None, [", ".join(others), last]))
    seeds = sorted({cell.seed for cell in cells})
    over = f"seed {seeds[0]}" if len(seeds) == 1 else f"mean±std over seeds {seeds_named(seeds)}"
    sentences = [
        f"{metrics[0].upper()}{metrics[1:]} in percent, {over}.",
        *([f"Overall: mean of the {columns} {_counting(layout)}columns."] if columns > 1 else []),
        *_lower(layout),
        "Bold: best of its block; ≈: tied with it.",
    ]
    if layout.gates:
        sentences.append("Italics: gates (reference rows), not ranked.")
    how = EVALUATION_FACTS.get(cells[0].evaluation)
    if how and how.frozen and not how.shots and plan.config["protocol"] == "paper" and len(seeds) > 1:
        sentences.append("A number without ± does not vary over seeds: the probe is deterministic.")
    sentences += simulated_text(plan, {cell.dataset for cell in cells})
    return " ".join([*sentences, str(plan.config.get("caption") or "").strip()]).strip()


def seeds_named(seeds: Sequence[int]) -> str:
    """'41 to 45', or '41, 43, 44' where some are left out."""
    own = sorted(seeds)
    whole = own == list(range(own[0], own[-1] + 1)) and len(own) > 2
    return f"{own[0]} to {own[-1]}" if whole else ", ".join(map(str, own))


def _counting(layout: Layout) -> str:
    """'F1, AUROC and ACC ' where further columns do not count in Overall."""
    own = [METRICS[metric].title for metric in layout.metrics if metric in COLUMNS]
    return f"{', '.join(own[:-1])} and {own[-1]} " if len(own) < len(layout.metrics) and len(own) > 1 else ""


def _lower(layout: Layout) -> Iterator[str]:
    """Which columns are the better the lower."""
    own = [METRICS[metric].title for metric in layout.metrics if METRICS[metric].lower_is_better]
    if own:
        yield f"The lower the better: {' and '.join(own)}."


def footers_of(run: Run, cells: Sequence[PlannedCell], unit: str) -> Iterator[str]:
    """Cells, warnings, data, unscored patients, notes, failures and commits of a table, one line each."""
    plan = run.plan
    datasets = [plan.datasets[name] for name in plan.datasets if any(cell.dataset == name for cell in cells)]
    finished, rest = progress(run, [cell.key for cell in cells])
    yield f"Cells: {finished} finished{rest}."
    yield from (f"Warning: {warning}." for warning in plan.warnings)
    yield (
        f"Scored per {unit_text(plan, unit)}; protocol {plan.config['protocol']}{preset_text(plan)}, "
        f"{labels_of(plan)} labels. Data: {', '.join(map(_source_text, datasets))}; {corpus_text(plan)}."
    )
    yield from signals_text(plan)
    yield from _coverage(run, cells)
    yield from _one_recording(run, cells)
    yield from _notes(run, cells)
    yield from _unfinished(run, cells)
    yield from _commits(run, cells)


def signals_text(plan: Plan) -> Iterator[str]:
    """A line on how signals were taken, where it is not as in the paper; window lengths stand in the page's config."""
    data, other = plan.config["data"], plan.other_signals
    told = []
    if data.get("segmentation") == "recordings":
        seconds = data.get("window_seconds", 0)
        stride = data.get("window_stride") or seconds / 2
        told.append(f"crops of {seconds:g} s every {stride:g} s of whole recordings")
    if "rate" in other:
        told.append(f"{other['rate']} Hz")
    if "standardise" in other:
        told.append({"dataset": "one mean and deviation per dataset"}.get(other["standardise"], "not standardised"))
    if "leads" in other:
        told.append(f"downstream with leads {' '.join(other['leads'])} alone, the others zero")
    if "pool" in other:
        told.append("a recording's probabilities are the maxima over its windows")
    if told:
        yield f"Signals: {'; '.join(told)}."


def preset_text(plan: Plan) -> str:
    """', preset tuned': whose settings the methods have; '' for a plan that does not say."""
    preset = plan.config.get("pretrain", {}).get("preset")
    return f", preset {preset}" if preset else ""


def details_of(run: Run, cells: Sequence[PlannedCell]) -> Iterator[str]:
    """Sizes of the data, skipped recordings and use of reports, one line each."""
    plan = run.plan
    there = {cell.dataset for cell in cells}
    sources = [*(facts for name, facts in plan.datasets.items() if name in there), plan.pretraining]
    yield f"Recordings and patients: {'; '.join(map(_size_text, sources))}."
    yield f"Skipped recordings: {'; '.join(dict.fromkeys(map(_skipped_text, sources)))}."
    yield from _reports(plan, cells)


def _reports(plan: Plan, cells: Sequence[PlannedCell]) -> Iterator[str]:
    """Which rows use reports, and how these are embedded."""
    rows = [title for name, title in plan.variants.items() if role_of(plan, name).get("reads_reports")]
    there = {plan.variants[cell.variant] for cell in cells}
    readers = [title for title in rows if title in there]
    if readers:
        embedder = plan.config.get("pretrain", {}).get("text_embedder") or "an unnamed embedder"
        how = "TF-IDF and truncated SVD, fitted on them" if embedder == "tfidf" else f"{embedder}, frozen"
        without = plan.pretraining.get("without_report", 0)
        left_out = f"; {without} recordings without a report are left out" if without else ""
        yield f"Reports, used by {', '.join(readers)}: embedded by {how}{left_out}."


def progress(run: Run, keys: Collection[str]) -> tuple[str, str]:
    """'5 of 8' and ', 1 failed, 2 not run': how many cells are finished, and what the others are."""
    finished = sum(key in run.rows for key in keys)
    counts = {"failed": sum(key in run.failures for key in keys), "damaged": sum(key in run.damaged for key in keys)}
    counts["not run"] = len(keys) - finished - sum(counts.values())
    return f"{finished} of {len(keys)}", "".join(f", {count} {what}" for what, count in counts.items() if count)


def _some(names: Sequence[str], separator: str, last: str) -> str:
    """'PMQ, MoCo, BYOL and 2 more': the first of some names. last: before the number of the others."""
    more = f"{last}{len(names) - NAMED} more" if len(names) > NAMED else ""
    return separator.join(names[:NAMED]) + more


def _source_text(facts: Mapping[str, Any]) -> str:
    return f"{_title(facts)} ({'simulated' if facts.get('simulated') else 'real'})"


def corpus_text(plan: Plan) -> str:
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


def _size_text(facts: Mapping[str, Any]) -> str:
    return f"{_title(facts)} {facts['recordings']} of {facts['patients']}"


def _title(facts: Mapping[str, Any]) -> str:
    return str(facts.get("title") or facts["name"])


def _skipped_text(facts: Mapping[str, Any]) -> str:
    """`skipped` is a count, or counts by reason."""
    skipped = facts.get("skipped") or 0
    if not isinstance(skipped, Mapping):
        return f"{_title(facts)} {skipped}"
    reasons = ", ".join(f"{reason}: {number}" for reason, number in sorted(skipped.items()))
    return f"{_title(facts)} {sum(skipped.values())} ({reasons})"


def _coverage(run: Run, cells: Sequence[PlannedCell]) -> Iterator[str]:
    """Number of patients without a scored recording, per dataset and class; the page has the reasons."""
    rows = {cell.dataset: run.rows[cell.key] for cell in cells if cell.key in run.rows}
    texts = [
        f"{run.plan.datasets[dataset]['title']} {name} {len(found['unscored'])} of {found['patients']}"
        for dataset, row in rows.items()
        for name, found in row.coverage.items()
        if found["unscored"]
    ]
    if texts:
        yield f"Patients without a scored recording: {', '.join(texts)}."


def _place(plan: Plan, cell: PlannedCell) -> str:
    return f"{plan.datasets[cell.dataset]['title']}, {ratio_text(cell.ratio, cell.evaluation)}"


def _notes(run: Run, cells: Sequence[PlannedCell]) -> Iterator[str]:
    """Each note of the rows once, with its datasets, ratios and number of cells; their rows where others lack it.

    Notes of as many cells of the same place and rows share a line.
    """
    finished = [cell for cell in cells if cell.key in run.rows]
    there = Counter(_place(run.plan, cell) for cell in finished)
    noted: dict[str, dict[str, list[PlannedCell]]] = {}
    for cell in finished:
        for note in dict.fromkeys(run.rows[cell.key].notes):
            noted.setdefault(note, {}).setdefault(_place(run.plan, cell), []).append(cell)
    alike: dict[str, list[str]] = {}
    for note, places in noted.items():
        named = "; ".join(
            f"{place}: {len(own)} cell{'s' if len(own) > 1 else ''}"
            + (f" of {_some(_titles(run.plan, own), ', ', ' and ')}" if len(own) < there[place] else "")
            for place, own in places.items()
        )
        alike.setdefault(named, []).append(note)
    for named, notes in alike.items():
        yield f"Note: {'; '.join(notes)} ({named}{' each' if len(notes) > 1 else ''})."


def _one_recording(run: Run, cells: Sequence[PlannedCell]) -> Iterator[str]:
    """A line on rows that pair a patient's recordings, where most windows have no other recording to be paired with."""
    rows: dict[tuple[int, int], list[PlannedCell]] = {}
    for cell in cells:
        for card in run.cards.get(cell.variant, {}).values():
            alone = card.get("windows_of_patients_with_one_recording", 0)
            every = card.get("windows_of_all_patients", 0)
            if 2 * alone > every > 0:
                rows.setdefault((alone, every), []).append(cell)
    for (alone, every), own in rows.items():
        yield (
            f"Pairs of a patient's recordings ({', '.join(_titles(run.plan, own))}): {alone} of {every} windows to "
            "pretrain on come from patients with one recording, and are paired with another window of it."
        )


def _titles(plan: Plan, cells: Sequence[PlannedCell]) -> list[str]:
    """The rows of some cells."""
    return list(dict.fromkeys(plan.variants[cell.variant] for cell in cells))


def _unfinished(run: Run, cells: Sequence[PlannedCell]) -> Iterator[str]:
    """One line per error; the page has all cells and the traceback."""
    for found in unfinished(run, cells):
        named = _some(cell_names(run.plan, found.cells), "; ", "; and ")
        if found.state == "damaged":
            yield f"Left out: {named}: the stored row is damaged."
        else:
            yield f"Failed: {named}: {shorten(found.error, LONGEST_ERROR, placeholder=' …')}"


def cell_names(plan: Plan, cells: Sequence[PlannedCell]) -> list[str]:
    """'PMQ (Chapman, 1 %, seeds 41, 42)': cells, grouped by variant, dataset and ratio."""
    seeds: dict[str, set[int]] = {}
    for cell in cells:
        seeds.setdefault(f"{plan.variants[cell.variant]} ({_place(plan, cell)}", set()).add(cell.seed)
    return [f"{place}, seed{'s' if len(own) > 1 else ''} {seeds_named(list(own))})" for place, own in seeds.items()]


def _commits(run: Run, cells: Sequence[PlannedCell]) -> Iterator[str]:
    """The commits that computed the rows, with a mark for uncommitted changes."""
    commits: dict[str, None] = {}
    for cell in cells:
        git = run.rows[cell.key].provenance.get("git") if cell.key in run.rows else None
        if git and git.get("commit"):
            dirty = " with uncommitted changes" if git.get("dirty") else ""
            commits[str(git["commit"])[:SHOWN_DIGITS] + dirty] = None
    if commits:
        yield f"Code: commit {', '.join(commits)}."


MOST_RATIOS = 3
"""Label ratios with a sentence of their own: the largest."""
Ordered = tuple[str, str]
"""A row, and one significantly below it."""


def verdict(plan: Plan, statistics: TableStatistics | None, evaluation: str = "", unchanged: str = "") -> Iterator[str]:
    """One sentence for all; what is compared, the rows against the reference at each label ratio, the other pairs, and
    what is left open.

    Nothing where no two rows have the scores for a comparison of Overall. unchanged: as in `differences`.
    """
    found = differences(statistics, unchanged)
    if not found or statistics is None:
        return
    pairs = statistics.frames["pairwise"]
    overall = pairs[(pairs["metric"] == OVERALL) & pairs["p_holm"].notna()]
    first = found[0].reference
    seeds = int(overall["seeds"].max()) if len(overall) else 1
    again = of_methods(plan, seeds)
    yield headline([own for own in found if own.reference == first], plan.variants, evaluation, seeds if again else 1)
    yield _scope(plan, first, seeds)
    yield from (
        sentence(own, plan.variants, evaluation, again)
        for own in [own for own in found if own.reference == first][:MOST_RATIOS]
    )
    for reference in dict.fromkeys(own.reference for own in found if own.reference != first):
        largest = next(own for own in found if own.reference == reference)
        yield f"From {plan.variants[reference]}, {sentence(largest, plan.variants, evaluation, again)}"
    yield from _others(overall, found, plan.variants, evaluation, again)
    yield from _open(overall, plan.variants, evaluation)


def headline(found: Sequence[Differences], titles: Mapping[str, str], evaluation: str, pretrainings: int) -> str:
    """'With one pretraining each, only PMQ beats Random at both label shares; BYOL falls behind it at 1 %.'

    found: the differences from one reference, one per label ratio. pretrainings: of each row.
    """
    ratios, reference = [own.ratio for own in found], titles[found[0].reference]
    rows = {row.variant for own in found for row in own.rows}
    above, below = (
        _at_ratios({own.ratio: [row.variant for row in own.rows if row.told and side * row.mean > 0] for own in found})
        for side in (1, -1)
    )
    clauses: list[str] = []
    for there, names in above.items():
        who, one = _who(names, rows, titles)
        verb = f"beat{'s' if one else ''} {reference}" if not clauses else "does" if one else "do"
        only = "only " if not clauses and len(names) == 1 < len(rows) else ""
        clauses.append(f"{only}{who} {verb} {_where(there, ratios, evaluation)}")
    for there, names in below.items():
        who, one = _who(names, rows, titles)
        verb = f"fall{'s' if one else ''} behind {'it' if clauses else reference}"
        clauses.append(f"{who} {verb} {_where(there, ratios, evaluation)}")
    if not clauses:
        clauses = [f"no row differs significantly from {reference} {_where(tuple(ratios), ratios, evaluation)}"]
    each = "one pretraining" if pretrainings == 1 else f"{pretrainings} pretrainings"
    return f"With {each} each, {'; '.join(clauses)}."


def _at_ratios(rows: Mapping[float, Sequence[str]]) -> dict[tuple[float, ...], list[str]]:
    """Label ratios -> the rows that are named at just these; those of most ratios first."""
    at: dict[str, list[float]] = {}
    for ratio, names in rows.items():
        for name in names:
            at.setdefault(name, []).append(ratio)
    found: dict[tuple[float, ...], list[str]] = {}
    for name, ratios in sorted(at.items(), key=lambda item: -len(item[1])):
        found.setdefault(tuple(ratios), []).append(name)
    return found


def _who(names: Sequence[str], rows: Collection[str], titles: Mapping[str, str]) -> tuple[str, bool]:
    """'PMQ, MoCo and BYOL', or 'every row', and whether its verb is in the singular."""
    if len(names) == len(rows) > 2:
        return "every row", True
    *others, last = (titles[name] for name in names)
    return " and ".join(filter(None, [", ".join(others), last])), not others


def _where(there: tuple[float, ...], ratios: Sequence[float], evaluation: str) -> str:
    """'at both label shares', 'at all label shares' or 'at 10 %': some of the label ratios of a table."""
    if len(there) == len(ratios) > 1:
        what = "numbers of labelled patients" if takes_shots(evaluation) else "label shares"
        return f"at {'both' if len(ratios) == 2 else 'all'} {what}"
    return f"at {_amounts(there, evaluation)}" + (
        "" if len(ratios) > 1 or takes_shots(evaluation) else " of the labels"
    )


def _scope(plan: Plan, reference: str, seeds: int) -> str:
    repeat = (
        f" Expected again: other {seeds} seeds on the same test patients would find it significant too, with a chance "
        f"of {100 * EXPECTED:g} % or more; a lower chance is given."
    )
    return (
        f"Overall minus that of {plan.variants[reference]} in points, with {100 * (1 - LEVEL):g} % intervals, not "
        f"adjusted; significant: after Holm's correction over all pairs of rows. {whose_differences(plan, seeds)}"
        f"{repeat if of_methods(plan, seeds) else ''}"
    )


def of_methods(plan: Plan, seeds: int) -> bool:
    """Whether every seed has its own pretraining: differences are of methods, and a repeat has other pretrainings."""
    return bool(plan.config["protocol"] == "strict" and seeds > 1)


def whose_differences(plan: Plan, seeds: int) -> str:
    """Whether differences over so many seeds are of methods or of encoders; one sentence."""
    if of_methods(plan, seeds):
        return f"Differences of methods ({seeds} pretrainings each)."
    return "Differences of these encoders (one pretraining each), not of the methods."


def sentence(found: Differences, titles: Mapping[str, str], evaluation: str = "", again: bool = False) -> str:
    """Rows significantly above and below the reference, then the others; the largest difference first.

    again: separate those that are expected in a repeat from those that it may miss, these with their chance.
    """
    groups: dict[str, list[str]] = {}
    for side in ("above", "below"):
        groups[f"significantly {side}, expected again" if again else f"significantly {side}"] = []
        groups[f"significantly {side}, a repeat may miss it"] = []
    groups["not significantly different"] = []
    for row in sorted(found.rows, key=lambda row: -row.mean):
        unsure = row.told and again and row.repeat < EXPECTED
        what = f"significantly {'above' if row.mean > 0 else 'below'}"
        what += ", a repeat may miss it" if unsure else ", expected again" if again else ""
        chance = f"; chance {int(100 * row.repeat)} %" if unsure else ""
        text = f"{titles[row.variant]} {points_text(row.mean, row.low, row.high, chance)}"
        groups[what if row.told else "not significantly different"].append(text)
    parts = [f"{what}: {', '.join(own)}" for what, own in groups.items() if own]
    return f"{labels_text(found.ratio, evaluation)}: {'; '.join(parts)}."


def points_text(mean: float, low: float, high: float, more: str = "") -> str:
    """'+3.1 (1.2 to 5.0)': a difference in points with its interval and what else is said of it; NaN for none."""
    interval = "interval not estimable" if math.isnan(low) else f"{signed(low, '')} to {signed(high, '')}"
    return f"{signed(mean)} ({interval}{more})"


def signed(value: float, sign: str = "+") -> str:
    """'+1.2', '−0.3': points with one decimal and a minus sign."""
    return f"{value:{sign}z.1f}".replace("-", "−")


def _others(
    overall: pd.DataFrame, found: Sequence[Differences], titles: Mapping[str, str], evaluation: str, again: bool
) -> Iterator[str]:
    """Significant pairs without a reference, 'PCLR above MoCo, PMQ (30, 10 %)', and the number of the others."""
    references = {own.reference for own in found}
    pairs = overall[~overall["first"].isin(references) & ~overall["second"].isin(references)]
    if pairs.empty:
        return
    told = pairs[pairs["p_holm"] < LEVEL]
    unsure = told["repeat"].lt(EXPECTED) & again
    shares = pairs["ratio"].nunique() > 1
    groups = {
        "expected again: " if again else "": _by_row(told[~unsure], titles, evaluation, shares),
        "a repeat may miss: ": _by_row(told[unsure], titles, evaluation, shares),
    }
    parts = [f"{what}{'; '.join(own)}" for what, own in groups.items() if own]
    count, left = (len({frozenset(pair) for pair in own[["first", "second"]].to_numpy()}) for own in (pairs, told))
    parts.append(f"no significant difference in {count - left} of {count} pairs")
    yield f"Among the other rows: {'. '.join([parts[0], *(part[0].upper() + part[1:] for part in parts[1:])])}."


def _by_row(told: pd.DataFrame, titles: Mapping[str, str], evaluation: str, shares: bool) -> list[str]:
    """'PCLR above MoCo, PMQ (30, 10 %)' of significant pairs; the rows and ratios that say most first."""
    found: dict[Ordered, list[float]] = {}
    for pair in told.to_dict("records"):
        found.setdefault(_ordered(pair), []).append(float(pair["ratio"]))
    by_row: dict[tuple[str, tuple[float, ...]], list[str]] = {}
    for (above, below), ratios in found.items():
        by_row.setdefault((above, tuple(ratios)), []).append(titles[below])
    return [
        f"{titles[above]} above {', '.join(rows)}" + (f" ({_amounts(ratios, evaluation)})" if shares else "")
        for (above, ratios), rows in sorted(by_row.items(), key=lambda item: -len(item[1]) * len(item[0][1]))
    ]


def _ordered(pair: Mapping[Any, Any]) -> Ordered:
    return (pair["first"], pair["second"]) if pair["difference"] > 0 else (pair["second"], pair["first"])


def _amounts(ratios: Sequence[float], evaluation: str) -> str:
    """'30, 10 %' or '10, 5 patients per class'."""
    *others, last = ratios
    return ", ".join([*(ratio_text(ratio, evaluation).split()[0] for ratio in others), ratio_text(last, evaluation)])


def _open(overall: pd.DataFrame, titles: Mapping[str, str], evaluation: str) -> Iterator[str]:
    """The largest difference that is not significant, and the seeds or patients that it would take."""
    undecided = overall[(overall["p_holm"] >= LEVEL) & (overall["detectable"] > 0)].to_dict("records")
    if not undecided:
        return
    pair = max(undecided, key=lambda line: abs(line["difference"]))
    above, below = _ordered(pair)
    yield (
        f"Largest difference that is not significant: {titles[above]} above {titles[below]} by "
        f"{100 * abs(pair['difference']):.1f} points at {labels_text(pair['ratio'], evaluation)}. "
        f"{_what_it_takes(float(pair['difference']), pair['patients_se'], pair['seeds_se'], int(pair['seeds']))}"
    )


def _what_it_takes(difference: float, patients_se: float, seeds_se: float, seeds: int) -> str:
    """The seeds or test patients for power 80 % if the difference is true."""
    more = seeds_needed(difference, patients_se, seeds_se, seeds)
    times = patients_needed(difference, patients_se, seeds_se, seeds)
    condition = "(if it is true; power 80 %, without Holm's correction)"
    if times == 1:
        return f"Enough for one comparison alone, not for all pairs {condition}."
    ways = [*([f"{more} seeds"] if more else []), *([f"{times} times the test patients"] if times else [])]
    if not ways:
        return f"Neither {MOST_SEEDS} seeds nor {MOST_TIMES} times the test patients alone would show it {condition}."
    return f"It would take {' or '.join(ways)} {condition}."
