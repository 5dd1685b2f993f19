"""The words around a table: caption, footers, details; the verdict is reports.tables.verdict.

None contains a time, a device or a path, so that a resumed run prints the same text.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Collection, Iterable, Iterator, Mapping, Sequence
from textwrap import shorten
from typing import Any

from benchmark.results.metrics import COLUMNS, METRICS
from benchmark.results.names import EVALUATION_FACTS, EVALUATION_TITLES, HEARTBEAT, is_untrained
from benchmark.results.store import Plan, PlannedCell, labels_of
from reports.results import DAMAGED, Layout, Record, Results, cell_errors, role_of
from reports.statistics.bootstrap import repeats_of
from reports.statistics.classes import UNLABELLED

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


def ratio_text(ratio: float) -> str:
    """0.3 -> '30 %', 0.005 -> '0.5 %'."""
    return f"{100 * ratio:g} %"


def labels_text(ratio: float) -> str:
    """'30 % of the labels'."""
    return f"{ratio_text(ratio)} of the labels"


def ratio_stem(ratio: float) -> str:
    """'30' (percent), for names of files."""
    return f"{100 * ratio:g}"


def signed(value: float, sign: str = "+") -> str:
    """'+1.2', '−0.3': points with one decimal and a minus sign."""
    return f"{value:{sign}z.1f}".replace("-", "−")


def unit_text(plan: Plan, unit: str) -> str:
    """The unit of a score: 'window' instead of 'heartbeat' where recordings were cut into crops."""
    crops = plan.config["data"].get("segmentation", {}).get("kind") == "recordings"
    return "window" if crops and unit == HEARTBEAT else unit


def caption_of(plan: Plan, cells: Sequence[PlannedCell], layout: Layout, columns: int) -> str:
    """Metrics, seeds, marks, whether ECGs are simulated, and the config's own caption. columns: without Overall."""
    *others, last = (METRICS[metric].words for metric in layout.metrics)
    metrics = " and ".join(filter(None, [", ".join(others), last]))
    seeds = sorted({cell.seed for cell in cells})
    over = f"seed {seeds[0]}" if len(seeds) == 1 else f"mean±std over seeds {seeds_named(seeds)}"
    over += _runs_text(plan, cells)
    sentences = [
        f"{metrics[0].upper()}{metrics[1:]} in percent, {over}.",
        *([f"Overall: mean of the {columns} {_counting(layout)}columns."] if columns > 1 else []),
        *_lower(layout),
        "Bold: best of its block; ≈: tied with it.",
    ]
    if layout.gates:
        sentences.append("Italics: gates (reference rows), not ranked.")
    how = EVALUATION_FACTS.get(cells[0].evaluation)
    if how and how.frozen and plan.config["protocol"] == "paper" and len(seeds) > 1:
        sentences.append("A number without ± does not vary over seeds: the probe is deterministic.")
    sentences += simulated_text(plan, {cell.dataset for cell in cells})
    return " ".join([*sentences, str(plan.config.get("caption") or "").strip()]).strip()


def _runs_text(plan: Plan, cells: Sequence[PlannedCell]) -> str:
    """', each the mean of 8 labelled subsets', with the fine-tunings on each; '' for one run per seed."""
    repeats = repeats_of(plan, cells[0].evaluation)
    subsets = (1 + max(cell.subset for cell in cells)) // repeats
    of_each = f"{repeats} fine-tunings on {'each of ' if subsets > 1 else ''}" if repeats > 1 else ""
    number = f"{subsets} labelled subsets" if subsets > 1 else "one labelled subset"
    return f", each the mean of {of_each}{number}" if subsets * repeats > 1 else ""


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


def footers_of(run: Results, cells: Sequence[PlannedCell], unit: str) -> Iterator[str]:
    """Cells, warnings, data, labels, unscored patients, notes, failures and commits of a table, one line each."""
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
    yield from _cross_validated(datasets)
    yield from _labelled(run, cells)
    yield from _coverage(run, cells)
    yield from _one_recording(run, cells)
    yield from _notes(run, cells)
    yield from _unfinished(run, cells)
    yield from _commits(run, cells)


def signals_text(plan: Plan) -> Iterator[str]:
    """A line on how signals were taken, where it is not as in the paper; window lengths stand in the page's config."""
    data, other = plan.config["data"], plan.other_signals
    told = []
    how = data.get("segmentation", {})
    if how.get("kind") == "recordings":
        seconds = how["seconds"]
        stride = how["stride"] or seconds / 2
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


def machine_of(record: Record) -> str:
    """Device, threads of a CPU, and mode: 'NVIDIA H200, bf16', 'x86_64, 2 then 4 threads, float32'."""
    device = record.get("device") or {}
    counts = record.get("threads") or [device.get("threads")]
    threads = f", {' then '.join(map(str, counts))} thread{'' if counts == [1] else 's'}"
    threads = threads if device.get("type") == "cpu" else ""
    return f"{device.get('name') or device.get('type', 'unknown device')}{threads}, {record.get('precision', '?')}"


def preset_text(plan: Plan) -> str:
    """', preset paper': whose settings the methods have; '' for a plan that does not say."""
    preset = plan.config.get("pretrain", {}).get("preset")
    return f", preset {preset}" if preset else ""


def details_of(run: Results, cells: Sequence[PlannedCell]) -> Iterator[str]:
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


def progress(run: Results, keys: Collection[str]) -> tuple[str, str]:
    """'5 of 8' and ', 1 failed, 2 not run': how many cells are finished, and what the others are."""
    finished = sum(key in run.rows for key in keys)
    counts = {"failed": sum(key in run.failures for key in keys), "damaged": sum(key in run.damaged for key in keys)}
    counts["not run"] = len(keys) - finished - sum(counts.values())
    return f"{finished} of {len(keys)}", "".join(f", {count} {what}" for what, count in counts.items() if count)


def _some(names: Sequence[str], separator: str, last: str) -> str:
    """'PMQ, MoCo, BYOL and 2 more': the first of some names. last: before the number of the others."""
    more = f"{last}{len(names) - NAMED} more" if len(names) > NAMED else ""
    return separator.join(names[:NAMED]) + more


def _cross_validated(datasets: Sequence[Mapping[str, Any]]) -> Iterator[str]:
    """Which datasets are tested on every patient."""
    by_parts: dict[int, list[str]] = {}
    for facts in datasets:
        if "parts" in facts:
            by_parts.setdefault(facts["parts"], []).append(_title(facts))
    for parts, titles in by_parts.items():
        yield (
            f"Cross-validated: {', '.join(titles)}. Every patient is tested by what is learned on others, in {parts} "
            "parts by patient that are drawn anew per seed and labelled subset; encoders see none of these datasets."
        )


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


def _labelled(run: Results, cells: Sequence[PlannedCell]) -> Iterator[str]:
    """Number of labelled patients, of recordings under `paper`, at each share and dataset; from the fewest to the most.

    Those whose labels choose settings are counted beside those that are trained on. Rows count them after recordings
    that yield no pseudo-trial are left out.
    """
    what = "recordings" if run.plan.config["protocol"] == "paper" else "patients"
    found: dict[str, dict[str, tuple[set[int], set[int]]]] = {}
    for cell in cells:
        counts = run.rows[cell.key].counts if cell.key in run.rows else {}
        if f"train_{what}" in counts:
            at_share = found.setdefault(ratio_text(cell.ratio), {})
            numbers = at_share.setdefault(run.plan.datasets[cell.dataset]["title"], (set(), set()))
            for side, own in zip(("train", "validation"), numbers, strict=True):
                own.add(counts[f"{side}_{what}"])
    texts = []
    for share, datasets in found.items():
        each = [f"{title} {_from_to(train)} + {_from_to(held)}" for title, (train, held) in datasets.items()]
        texts.append(f"{', '.join(each)} ({share})")
    if texts:
        yield f"Labelled {what}, to train on + to choose settings on: {'; '.join(texts)}."


def _from_to(numbers: Collection[int]) -> str:
    """'112', or '110 to 112' where they differ."""
    return " to ".join(map(str, dict.fromkeys((min(numbers), max(numbers)))))


def _coverage(run: Results, cells: Sequence[PlannedCell]) -> Iterator[str]:
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
    return f"{plan.datasets[cell.dataset]['title']}, {ratio_text(cell.ratio)}"


def _notes(run: Results, cells: Sequence[PlannedCell]) -> Iterator[str]:
    """Each note of the rows once, with its datasets, ratios and number of cells; their rows where others lack it.

    Notes of as many cells of the same place and rows share a line. Classes without a labelled window differ from subset
    to subset: their cells are counted in one line.
    """
    finished = [cell for cell in cells if cell.key in run.rows]
    there = Counter(_place(run.plan, cell) for cell in finished)
    noted: dict[str, dict[str, list[PlannedCell]]] = {}
    absent: dict[str, Counter[str]] = {}
    for cell in finished:
        place = _place(run.plan, cell)
        for note in dict.fromkeys(run.rows[cell.key].notes):
            if note.startswith(UNLABELLED):
                absent.setdefault(place, Counter()).update(note.removeprefix(UNLABELLED).split(", "))
            else:
                noted.setdefault(note, {}).setdefault(place, []).append(cell)
    if absent:
        texts = [
            f"{', '.join(f'{name} {count}' for name, count in classes.items())} of {there[place]} cells ({place})"
            for place, classes in absent.items()
        ]
        yield f"Classes without a labelled window: {'; '.join(texts)}."
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


def _one_recording(run: Results, cells: Sequence[PlannedCell]) -> Iterator[str]:
    """A line on rows that pair a patient's recordings, where most windows have no other recording to be paired with."""
    rows: dict[tuple[int, int], list[PlannedCell]] = {}
    for cell in cells:
        for card in run.pretrainings.get(cell.variant, {}).values():
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


def _unfinished(run: Results, cells: Sequence[PlannedCell]) -> Iterator[str]:
    """One line per error; the page has all cells and the traceback."""
    for (state, error), failed in cell_errors(run, cells).items():
        named = _some(cell_names(run.plan, failed), "; ", "; and ")
        if state == DAMAGED:
            yield f"Left out: {named}: the stored row is damaged."
        else:
            yield f"Failed: {named}: {shorten(error, LONGEST_ERROR, placeholder=' …')}"


def cell_names(plan: Plan, cells: Sequence[PlannedCell]) -> list[str]:
    """'PMQ (Chapman, 1 %, seeds 41, 42)': cells, grouped by variant, dataset and ratio."""
    seeds: dict[str, set[int]] = {}
    for cell in cells:
        seeds.setdefault(f"{plan.variants[cell.variant]} ({_place(plan, cell)}", set()).add(cell.seed)
    return [f"{place}, seed{'s' if len(own) > 1 else ''} {seeds_named(list(own))})" for place, own in seeds.items()]


def _commits(run: Results, cells: Sequence[PlannedCell]) -> Iterator[str]:
    """The commits that computed the rows, with a mark for uncommitted changes."""
    commits: dict[str, None] = {}
    for cell in cells:
        git = run.rows[cell.key].provenance.get("git") if cell.key in run.rows else None
        if git and git.get("commit"):
            dirty = " with uncommitted changes" if git.get("dirty") else ""
            commits[str(git["commit"])[:SHOWN_DIGITS] + dirty] = None
    if commits:
        yield f"Code: commit {', '.join(commits)}."
