"""`verify-paper`: the verdicts on the paper's claims, and a results store beside the paper.

A results store as a replication of the paper: its cells, differences of setting, and both side by side.

Scores are of fine-tuned encoders per heartbeat, as in the paper, whatever the run's protocol. All plans of the store
that are comparable with the latest (reports.open) are read as one grid, which may have been run in parts.

The same rules judge the paper's printed cells and a store's. With simulated ECGs the numbers are shown, but a claim
stays untested, except on computing time.

Disagreement between claims and numbers is reported, never an error.
"""

from __future__ import annotations

import json
import math
from collections import Counter
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from statistics import fmean
from typing import NamedTuple

import pandas as pd

from benchmark.results.files import csv_text, write_atomic
from benchmark.results.names import FINETUNE, HEARTBEAT, command
from benchmark.results.schema import flat
from benchmark.results.store import NoResults, Plan, Store
from reports.open import comparable, every_run
from reports.paper_claims import (
    ALPHA,
    COST_RULE,
    DATASETS,
    HALF_STEP,
    METRICS,
    PMQ,
    PRETRAINING_SECONDS,
    RANDOM,
    RATIOS,
    RULES,
    WITHOUT_NEIGHBOUR,
    Cells,
    Claim,
    Column,
    Evidence,
    Link,
    Measured,
    Place,
    WelchTest,
    against_the_best,
    columns,
    links,
    load_claims,
    load_table,
    methods_of,
    not_above_random,
    overalls,
    printed_cells,
    ranks,
    title_of,
    wrong_marks,
)
from reports.runs import Run
from reports.tables.render import Sheet, Span, literal, pipe_table

PAPER_ENCODER = {"name": "dilated", "hidden": 64, "depth": 10, "output": 320}
"""Name and sizes; configs and cards do not name the default encoder, which is the paper's."""
PAPER_SETTING = {
    "protocol": "paper",
    "seeds": [41, 42, 43, 44, 45],
    "data.labels": "single",
    "data.pretrain": "mimic-iv-ecg",
    **{f"encoder.{name}": size for name, size in PAPER_ENCODER.items()},
    "pretrain.preset": "paper",
    "pretrain.epochs": 100,
    "finetune.epochs": 50,
}
"""The paper's setting, by dotted config key."""


@dataclass(frozen=True)
class Replication:
    """A store's evidence on the paper's claims."""

    evidence: Evidence
    simulated: bool
    """Some of its ECGs are simulated."""
    differences: tuple[str, ...]
    """Differences from the paper's setting, one phrase each."""
    damaged: tuple[str, ...] = ()
    """Errors of the rows left out."""


class Beside(NamedTuple):
    """One cell of the paper and of a store."""

    place: Place
    paper: Measured
    ours: Measured

    @property
    def difference(self) -> float:
        """Ours minus the paper's, in points."""
        return self.ours.mean - self.paper.mean

    @property
    def inside(self) -> bool | None:
        """At most the joint spread sqrt(s1^2 + s2^2) apart; None where a standard deviation is missing."""
        if self.paper.std is None or self.ours.std is None:
            return None
        return abs(self.difference) <= math.hypot(self.paper.std, self.ours.std)


def load_replication(root: Path) -> Replication:
    """The latest plan of a store and those comparable with it. Raises NoResults where there is none."""
    runs, _ = comparable(every_run(root, Store(root)))
    frame = pd.concat([run.tidy for run in runs], ignore_index=True)
    plans = [run.plan for run in runs]
    facts = [source for plan in plans for source in (*plan.datasets.values(), plan.pretraining)]
    return Replication(
        evidence=Evidence(cells_of(frame), seconds_of(runs), printed=False),
        simulated=any(source.get("simulated") for source in facts),
        differences=tuple(_differences(plans[0])),
        damaged=tuple(dict.fromkeys(line for run in runs for line in run.damaged.values())),
    )


def beside(paper: Cells, ours: Cells) -> list[Beside]:
    """The cells that both have, in the paper's order."""
    return [Beside(place, paper[place], ours[place]) for place in paper if place in ours]


def cells_of(frame: pd.DataFrame) -> dict[Place, Measured]:
    """Mean and standard deviation over seeds, in percent, of a tidy frame's fine-tuned cells per heartbeat.

    Seeds without a score are left out, as are cells without any.
    """
    columns = list(Place._fields)
    scored = frame[(frame["evaluation"] == FINETUNE) & (frame["unit"] == HEARTBEAT)].dropna(subset=["value"])
    cells: dict[Place, Measured] = {}
    for where, group in scored.drop_duplicates([*columns, "seed"]).groupby(columns):
        values = 100 * group["value"]  # (seeds,)
        std = float(values.std(ddof=1)) if len(values) > 1 else None
        variant, ratio, dataset, metric = map(str, where)
        cells[Place(variant, float(ratio), dataset, metric)] = Measured(float(values.mean()), std, len(values))
    return cells


def seconds_of(runs: Sequence[Run]) -> dict[str, float]:
    """Variant -> mean seconds of its pretraining, with the paper's encoder, on the device and in the mode of PMQ.

    runs: of one store.
    """
    cards = {(variant, key): card for run in runs for variant, own in run.cards.items() for key, card in own.items()}
    seconds: dict[str, list[float]] = {}
    machines: dict[str, set[str]] = {}
    for (variant, _), card in sorted(cards.items(), key=lambda item: item[0]):
        encoder = {"name": PAPER_ENCODER["name"]} | card.get("encoder", {})
        if card.get("seconds") and PAPER_ENCODER.items() <= encoder.items():
            machine = [card.get("device"), card.get("precision"), bool(card.get("compiled"))]
            seconds.setdefault(variant, []).append(card["seconds"])
            machines.setdefault(variant, set()).add(json.dumps(machine, sort_keys=True))
    same = machines.get(PMQ, set())
    return {name: sum(own) / len(own) for name, own in seconds.items() if machines[name] == same and len(same) == 1}


def _differences(plan: Plan) -> Iterator[str]:
    config = {"encoder.name": PAPER_ENCODER["name"]} | flat(plan.config)
    for name, stated in PAPER_SETTING.items():
        value = config.get(name)
        if value != stated:
            yield f"{name} {'not recorded' if value is None else value} (paper: {stated})"


SUPPORTED, REFUTED, UNTESTED = "supported", "not supported", "cannot be tested"
VERDICTS = (SUPPORTED, REFUTED, UNTESTED)
QUEUE_SIZE = "pmq:queue_size="
ABLATION = "pmq:w/o "


@dataclass(frozen=True)
class Judgement:
    """The verdict on a claim by one kind of evidence."""

    claim: Claim
    verdict: str
    """One of `VERDICTS`."""
    numbers: str
    """The numbers judged; '' for none."""
    reason: str
    """Why a claim cannot be tested, and the run that would; else ''."""
    remark: str = ""
    """Caveat on the paper's own evidence; '' for a store's."""

    @property
    def text(self) -> str:
        """Numbers and reason in one line."""
        return "; ".join(filter(None, [self.reason, self.numbers]))


def judge_paper() -> list[Judgement]:
    """Every claim against the cells that the paper prints."""
    evidence = Evidence(printed_cells(), PRETRAINING_SECONDS, printed=True)
    return [replace(_judge(claim, evidence), remark=claim.remark) for claim in load_claims()]


def judge_store(replication: Replication) -> list[Judgement]:
    """Every claim against a store."""
    return [_judge(claim, replication.evidence, replication.simulated) for claim in load_claims()]


def counts(judgements: Sequence[Judgement]) -> dict[str, int]:
    """How many claims have each verdict."""
    return {verdict: sum(judgement.verdict == verdict for judgement in judgements) for verdict in VERDICTS}


def command_for(variants: Sequence[str]) -> str:
    """The command that measures these rows; finished cells are not repeated."""
    sizes = [variant.removeprefix(QUEUE_SIZE) for variant in variants if variant.startswith(QUEUE_SIZE)]
    ablations = " --ablations" if any(variant.startswith(ABLATION) for variant in variants) else ""
    queues = f" --queue-sizes {' '.join(sorted(sizes, key=int))}" if sizes else ""
    return f"{command()} --config paper --data-root DIR{ablations}{queues}"


def _judge(claim: Claim, evidence: Evidence, simulated: bool = False) -> Judgement:
    cost = claim.rule == COST_RULE
    lacking = evidence.lacking(claim)
    if lacking:
        rows = ", ".join(map(title_of, lacking))
        if evidence.printed:
            return Judgement(
                claim, UNTESTED, "", f"the paper prints no {'pretraining time' if cost else 'number'} of {rows}"
            )
        what = "pretraining times, with the paper's encoder and on one machine," if cost else "all cells"
        command = command_for((claim.subject, *claim.rivals))
        return Judgement(claim, UNTESTED, "", f"needs {what} of {rows}: {command}")
    holds, numbers = RULES[claim.rule](claim, evidence)
    if simulated and not cost:
        return Judgement(claim, UNTESTED, numbers, "simulated data")
    if holds is None:
        return Judgement(claim, UNTESTED, numbers, "the intervals are inconclusive: use more seeds")
    return Judgement(claim, SUPPORTED if holds else REFUTED, numbers, "")


DASH = "–"
SPREAD = (
    "The printed deviations are over five fine-tuning seeds on one pretrained encoder, one labelled subset and one "
    "test set. They do not include variation between pretrainings, labelled patients or test patients: a small p rules "
    "out chance in fine-tuning, but does not show that the difference would replicate."
)
ROUNDING = (
    "Numbers are printed to 0.1, so a deviation of 0.1 may be 0.05 or 0.15. A range is over all values that round to "
    "the printed ones; a result that changes within its range depends on rounding."
)
MEANS = (
    "A claim is judged by the means, as the paper does. Brackets are 95 % intervals and p values are Welch's, both "
    "from the deviations over fine-tuning seeds and not adjusted for the number of claims. F1, AUROC and ACC of a run "
    "are correlated: the deviation of their mean on a dataset is taken as the mean of theirs, its upper bound."
)
JOINT = "Inside: the two means are at most the joint spread √(s₁² + s₂²) apart."


@dataclass(frozen=True)
class Section:
    """A heading, its sentences, and optionally a list of claims or a table."""

    title: str
    said: tuple[str, ...]
    judgements: tuple[Judgement, ...] = ()
    header: tuple[str, ...] = ()
    rows: tuple[tuple[str, ...], ...] = ()


@dataclass(frozen=True)
class Verification:
    """All sections, the verdict first."""

    sections: tuple[Section, ...]
    beside: tuple[Beside, ...]
    """Cells that paper and store both have; empty without a store."""
    simulated: bool = False
    """The store holds simulated ECGs."""


def verification(results: Path | None) -> Verification:
    """Check the paper's tables and claims, and compare them with the store in `results`, if any."""
    of_paper, tests = judge_paper(), best_tests()
    verdict = [*_short(tests), f"Claims against the printed cells: {_counted(of_paper)}"]
    sections = [
        Section("Consistency of the printed tables", tuple(_consistency())),
        _welch_section(tests),
        Section("Claims against the printed cells", (_counted(of_paper), MEANS), tuple(of_paper)),
    ]
    pairs: list[Beside] = []
    simulated = False
    try:
        replication = load_replication(results) if results else None
        if replication is None:
            verdict.append("Against a store: none was given.")
        else:
            of_store, simulated = judge_store(replication), replication.simulated
            pairs = beside(printed_cells(), replication.evidence.cells)
            verdict.append(f"Claims against the store: {_counted(of_store)}")
            said = (*_setting(replication), _counted(of_store), MEANS)
            sections += [Section("Claims against the store", said, tuple(of_store)), _summary(pairs)]
            sections += [_side_by_side(pairs, ratio) for ratio in RATIOS]
    except NoResults as error:
        verdict.append(f"Against a store: {error}.")
    return Verification((Section("Verdict", tuple(verdict)), *sections), tuple(pairs), simulated)


def best_tests() -> list[WelchTest]:
    """Welch's test of PMQ against the best of the seven other rows in each of the 27 cells of Table 1."""
    return against_the_best(printed_cells(), PMQ, _rivals())


def _rivals() -> tuple[str, ...]:
    return tuple(variant for variant in methods_of(1) if variant != PMQ)


def _short(tests: Sequence[WelchTest]) -> Iterator[str]:
    """Summary of the checks of the printed numbers."""
    derived = [*overalls(1), *overalls(2)]
    follow = sum(row.gap <= HALF_STEP for row in derived)
    yield f"Overall: {follow} of {len(derived)} follow from their cells."
    bold = sum(column.place.dataset in DATASETS and PMQ in column.bold for column in columns(1))
    yield f"PMQ is best in {_ranked()[1]} of the {len(tests)} cells of Table 1, and {bold} are bold."
    remaining = [test for test in tests if test.remains]
    higher = sum(test.difference.points > 0 for test in remaining)
    yield (
        f"PMQ against the best other row (Welch, Holm over {len(tests)} cells): {len(remaining)} differences remain, "
        f"{higher} in favour of PMQ and {len(remaining) - higher} against it."
    )
    same = [link.same for link in links(2, WITHOUT_NEIGHBOUR, 1, RANDOM)]
    yield f"Row 'w/o neighbor' of Table 2 repeats row 'Random' of Table 1 in {sum(same)} of {len(same)} cells."


def _ranked() -> Counter[int]:
    cells = printed_cells()
    return ranks(cells, [place for place in cells if place.variant == PMQ], _rivals())


def _consistency() -> Iterator[str]:
    """Overalls, bold marks, ranks, rows shared by the tables, rows not above Random."""
    for table in (1, 2):
        derived = overalls(table)
        apart = [row for row in derived if row.gap > HALF_STEP]
        named = "".join(f"; not {title_of(row.place.variant)}, {row.place.column}" for row in apart)
        yield (
            f"Table {table}: {len(derived) - len(apart)} of {len(derived)} Overalls are the mean of their cells to "
            f"rounding (largest gap {max(row.gap for row in derived):z.3f}){named}."
        )
    wrong, total = wrong_marks(), sum(len(columns(table)) for table in (1, 2))
    marks = " ".join(map(_bold_text, wrong))
    yield f"Bold marks: {total - len(wrong)} of {total} columns mark the highest. {marks}"
    ranked, ordinals = _ranked(), {1: "first", 2: "second", 3: "third"}
    shown = ", ".join(f"{ordinals.get(rank, f'{rank}th')} in {count}" for rank, count in sorted(ranked.items()))
    yield f"PMQ over the {ranked.total()} cells of Table 1: {shown}."
    yield _link_text("'w/o neighbor' (Table 2) and 'Random' (Table 1)", links(2, WITHOUT_NEIGHBOUR, 1, RANDOM))
    yield _link_text("'All' (Table 2) and 'Ours' (Table 1)", links(2, PMQ, 1, PMQ))
    below = ", ".join(
        f"{title_of(row.place.variant)} at {100 * row.place.ratio:g} % ({row.printed:z.1f})"
        for row in not_above_random()
    )
    yield f"Pretrained rows with an Overall not above Random's: {below}."


def _bold_text(column: Column) -> str:
    cells = load_table(column.table)
    bold, best = (
        ", ".join(
            f"{title_of(variant)} {cells[column.place._replace(variant=variant)].mean:z.1f}" for variant in variants
        )
        for variants in (column.bold, column.best)
    )
    return f"{column.place.column} (Table {column.table}): bold is {bold}, highest is {best}."


def _link_text(rows: str, found: Sequence[Link]) -> str:
    apart = [link for link in found if not link.same]
    named = "".join(f"; apart in {link.place.column}: {link.first} and {link.second}" for link in apart)
    return f"Rows {rows}: mean and deviation alike in {len(found) - len(apart)} of {len(found)} cells{named}."


def _welch_section(tests: Sequence[WelchTest]) -> Section:
    unadjusted = sum(test.difference.p < ALPHA for test in tests)
    least = sum(test.holm_range[1] < ALPHA for test in tests)
    most = sum(test.holm_range[0] < ALPHA for test in tests)
    said = (
        "Welch's test from the printed mean and deviation (n = 5), PMQ against the best of the seven other rows.",
        f"p < {ALPHA:g} in {unadjusted} of {len(tests)} cells, and in {sum(test.remains for test in tests)} after Holm "
        f"over all of them; within rounding, in {least} to {most}.",
        ROUNDING,
        SPREAD,
        "The other row is the best of seven, chosen by the same numbers: this favours it and is not corrected for.",
    )
    header = ("Cell", "PMQ", "Best other", "Difference", "95 %", "p", "range of p", "Holm", "range of Holm", "PMQ is")
    cells = printed_cells()
    rows = tuple(
        (
            test.place.column,
            str(cells[test.place]),
            f"{title_of(test.rival)} {cells[test.place._replace(variant=test.rival)]}",
            f"{test.difference.points:+z.1f}",
            f"{test.difference.low:z.2f} to {test.difference.high:z.2f}",
            f"{test.difference.p:z.4f}",
            "{:z.4f} to {:z.4f}".format(*test.p_range),
            f"{test.holm:z.3f}",
            "{:z.3f} to {:z.3f}".format(*test.holm_range),
            _answer(test),
        )
        for test in tests
    )
    return Section("PMQ against the best other row", said, header=header, rows=rows)


def _answer(test: WelchTest) -> str:
    told = "not significantly different"
    if test.remains:
        told = "higher" if test.difference.points > 0 else "lower"
    return f"{told} (depends on rounding)" if test.depends_on_rounding else told


def _counted(judgements: Sequence[Judgement]) -> str:
    shown = ", ".join(f"{number} {verdict}" for verdict, number in counts(judgements).items())
    return f"{shown} (of {len(judgements)})."


def _setting(replication: Replication) -> Iterator[str]:
    """How the store's setting differs from the paper's."""
    yield "Fine-tuned encoders, scores per heartbeat, as in the paper."
    if replication.simulated:
        yield "Simulated ECGs: these numbers neither support nor refute claims about real ones."
    if replication.differences:
        yield f"The run's setting is not the paper's: {'; '.join(replication.differences)}."
    yield from (f"Left out: {problem}." for problem in replication.damaged)


def _summary(pairs: Sequence[Beside]) -> Section:
    """One line per variant: mean difference of its cells from the paper's, in points."""
    rows = []
    for variant in dict.fromkeys(pair.place.variant for pair in pairs):
        own = [pair for pair in pairs if pair.place.variant == variant]
        known = [pair.inside for pair in own if pair.inside is not None]
        rows.append(
            (
                title_of(variant),
                str(len(own)),
                f"{fmean(pair.difference for pair in own):+z.1f}",
                f"{fmean(abs(pair.difference) for pair in own):z.1f}",
                f"{sum(known)} of {len(known)}",
            )
        )
    header = ("Row", "cells", "mean difference", "mean distance", "inside")
    said = ("Store minus paper, in points.", JOINT) if rows else ("The store has no cell of the paper's tables.",)
    return Section("The store beside the paper", said, header=header, rows=tuple(rows))


def _side_by_side(pairs: Sequence[Beside], ratio: float) -> Section:
    """One line per cell."""
    rows = tuple(
        (
            title_of(pair.place.variant),
            f"{DATASETS[pair.place.dataset]} {METRICS[pair.place.metric]}",
            str(pair.paper),
            str(pair.ours),
            str(pair.ours.seeds),
            f"{pair.difference:+z.1f}",
            {True: "yes", False: "no", None: DASH}[pair.inside],
        )
        for pair in pairs
        if pair.place.ratio == ratio
    )
    said = () if rows else ("The store has no such cell.",)
    header = ("Row", "Cell", "Paper", "Store", "seeds", "Difference", "Inside")
    return Section(f"Cell by cell, {100 * ratio:g} % of the labels", said, header=header, rows=rows)


def paper_and_store(pairs: Sequence[Beside], stem: Path, *, simulated: bool) -> tuple[Path, Path]:
    """Draw one metric of the paper and of a store as PNG and PDF; the caption marks simulated ECGs.

    pairs: not empty, of one metric. stem: path without suffix. Returns the two files.
    """
    from reports.figures.scores import PairPanel, ScorePair, plot_score_pairs  # here, because matplotlib loads slowly

    def panel(ratio: float, dataset: str) -> PairPanel:
        own = [pair for pair in pairs if (pair.place.ratio, pair.place.dataset) == (ratio, dataset)]
        shown = [
            ScorePair(title_of(p.place.variant), (p.paper.mean, p.ours.mean), (p.paper.std, p.ours.std)) for p in own
        ]
        return PairPanel(f"{DATASETS[dataset]}, {100 * ratio:g} %", tuple(shown))

    ratios = [ratio for ratio in RATIOS if any(pair.place.ratio == ratio for pair in pairs)]
    datasets = [name for name in DATASETS if any(pair.place.dataset == name for pair in pairs)]
    rows = list(dict.fromkeys(title_of(pair.place.variant) for pair in pairs))
    score = f"{METRICS[pairs[0].place.metric]} in percent, mean ± standard deviation over seeds"
    note = f"{score}{'; the store holds simulated ECGs' if simulated else ''}."
    panels = [[panel(ratio, dataset) for dataset in datasets] for ratio in ratios]
    return plot_score_pairs(panels, rows, ("paper", "store"), note, stem)


CSV_HEADER = (
    "variant", "ratio", "dataset", "metric", "paper_mean", "paper_std", "store_mean", "store_std", "store_seeds",
    "difference", "inside_joint_spread",
)  # fmt: skip
SHOWN = ("Verdict", "Claims")
"""Prefixes of the section titles shown on a terminal; the files have all sections."""
ROLES = {SUPPORTED: "best", REFUTED: "block"}


def verify_paper(out: Path, results: Path | None = None) -> tuple[Verification, list[Path]]:
    """Verify the paper, and compare it with the store in `results`, if any; the files written under `out`."""
    found, files = verification(results), [out / "verify-paper.md"]
    write_atomic(files[0], markdown(found).encode())
    if found.beside:
        files.append(out / "verify-paper.csv")
        write_atomic(files[1], long_csv(found.beside).encode())
    for metric in METRICS:
        shown = [pair for pair in found.beside if pair.place.metric == metric]
        if shown:
            files += paper_and_store(shown, out / f"verify-paper-{metric}", simulated=found.simulated)
    return found, files


def markdown(found: Verification) -> str:
    """All sections."""
    parts = ["# The PMQ paper, verified"]
    for section in found.sections:
        parts.append(f"## {literal(section.title)}")
        if section.said:
            parts.append("\n".join(f"- {literal(text)}" for text in section.said))
        if section.judgements:
            parts.append("\n".join(map(_md_judgement, section.judgements)))
        if section.rows:
            parts.append(pipe_table(section.header, [[literal(cell) for cell in row] for row in section.rows]))
    return "\n\n".join(parts) + "\n"


def _md_judgement(judgement: Judgement) -> str:
    claim = f"- **{judgement.verdict}**: {literal(judgement.claim.text)} ({_lines_of(judgement)})"
    remark = [f"*{literal(judgement.remark)}*"] if judgement.remark else []
    return "  \n  ".join([claim, literal(judgement.text), *remark])


def _lines_of(judgement: Judgement) -> str:
    return f"{'lines' if ',' in judgement.claim.lines else 'line'} {judgement.claim.lines}"


def long_csv(pairs: Sequence[Beside]) -> str:
    """One line per cell that paper and store both have, in percent, unrounded."""
    lines = (
        (
            *(*pair.place, *pair.paper[:2], *pair.ours[:3], pair.difference),
            "" if pair.inside is None else int(pair.inside),
        )
        for pair in pairs
    )
    return csv_text(CSV_HEADER, lines)


def verification_sheet(found: Verification) -> Sheet:
    """Verdict and judgements for a terminal."""
    shown = [section for section in found.sections if section.title.startswith(SHOWN)]
    return Sheet(above=tuple(span for section in shown for span in _paragraphs(section)))


def _paragraphs(section: Section) -> Iterator[Span]:
    yield from (("", ""), (section.title, "title"), *((text, "") for text in section.said))
    for judgement in section.judgements:
        yield from (("", ""), (judgement.verdict, ROLES.get(judgement.verdict, "faint")))
        yield f"  {judgement.claim.text} ({_lines_of(judgement)})", ""
        yield from ((f"  {text}", "faint") for text in (judgement.text, judgement.remark) if text)
