"""The record of verdicts: sealed by the first report of a finished run, and held against later runs.

A report states for each significant pair of rows the chance that a repeat finds it again
(`reports.statistics.estimates`). The first report of a finished plan seals its verdicts with these chances in the store
(`benchmark.results.verdicts`), in the unit of the plan's protocol; a later one does not write them again.

`report --record A B ...` takes the sealed verdicts of independent runs. Of each ordered pair of runs the earlier one's
significant pairs of rows are the comparisons: what it stated, and whether the later one found them again, significant
after Holm's correction in the same direction. Every two runs count both ways, and none chooses what is counted.

`report --record A` takes one run alone, whose seeds are divided into two halves: each half states chances and is the
other's repeat. Every division counts, or a seeded sample of them. They are not sealed, and they overlap.

A stated chance is of other pretrainings on the same test patients. A later run on other data (of another seed of the
simulator, of another hospital) is a harder question; comparisons of both kinds are summed up apart.

Three runs or more that share no data are a sample of such data as well (`reports.statistics.pooled`).
"""

from __future__ import annotations

import random
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import astuple, dataclass, fields, replace
from itertools import combinations, permutations
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd

from benchmark.results.files import csv_text, is_read_only, write_atomic
from benchmark.results.names import OVERALL, UNIT_OF_PROTOCOL
from benchmark.results.store import NoResults
from benchmark.results.verdicts import Sealed, Verdict, plan_digest, read_verdicts, seal_verdicts, verdicts_file
from reports.figures.data import FOLDER
from reports.open import config_differences, open_results, portable, shown
from reports.runs import Layout, Run, evaluations_of, layouts
from reports.statistics.bootstrap import columns_at
from reports.statistics.estimates import LEVEL, MARGIN
from reports.statistics.pooled import POOLED_HEADER, Pooled, pooled, pooled_texts
from reports.statistics.reliability import Bin, binned, calibration_error, error_by_chance
from reports.statistics.table import DIGITS, TableStatistics, pairwise
from reports.tables.render import DASH, Sheet, literal, pipe_table
from reports.tables.table import table_name
from reports.tables.words import seeds_named

NUMBERS = ("low", "high", "p_holm", "repeat", "p_equivalent")
"""Of a verdict, beside the difference."""
WITHIN = 0.05
"""Calibration error up to which chances are called calibrated."""
MOST_SPLITS = 100
"""Divisions of a run's seeds; of more, a sample is drawn."""
SAME, OTHER = "the same test patients", "other data"


def sealed_of(run: Run, statistics: Mapping[str, TableStatistics]) -> Sealed | None:
    """The verdicts of a run by the statistics of its tables; None before it is finished, or of another unit alone.

    statistics: by the name of the table (`table_name`).
    """
    unit = UNIT_OF_PROTOCOL[run.plan.config["protocol"]]
    tables = {table_name(layout, unit): layout for layout in _layouts(run)}
    if not tables.keys() <= statistics.keys() or any(cell.key not in run.rows for cell in run.plan.cells):
        return None
    found = [
        own
        for name, layout in tables.items()
        if "pairwise" in statistics[name].frames
        for own in verdicts_in(statistics[name].frames["pairwise"], name, layout.evaluation)
    ]
    return _sealed(run, unit, sorted({cell.seed for cell in run.plan.cells}), found) if found else None


def _sealed(run: Run, unit: str, seeds: list[int], verdicts: list[Verdict]) -> Sealed:
    sources = {str(run.plan.pretraining["name"]): run.plan.pretraining, **run.plan.datasets}
    data = {name: str(facts.get("fingerprint", "")) for name, facts in sources.items()}
    return Sealed(run.plan.key, plan_digest(run.plan), unit, seeds, data, verdicts)


def _layouts(run: Run) -> list[Layout]:
    return [layout for evaluation in evaluations_of(run.plan) for layout in layouts(run.plan, evaluation)]


def verdicts_in(pairs: pd.DataFrame, table: str, evaluation: str) -> list[Verdict]:
    """The verdicts on Overall of lines of `pairwise` of a table, rounded as in its file."""
    own = pairs[(pairs["metric"] == OVERALL) & pairs["difference"].notna()]
    return [
        Verdict(
            table=table,
            evaluation=evaluation,
            ratio=float(line["ratio"]),
            first=str(line["first"]),
            second=str(line["second"]),
            difference=round(float(line["difference"]), DIGITS),
            **{name: None if pd.isna(line[name]) else round(float(line[name]), DIGITS) for name in NUMBERS},
        )
        for line in own.to_dict("records")
    ]


def seal(run: Run, statistics: Mapping[str, TableStatistics]) -> list[str]:
    """Seal the verdicts of a finished run unless they are; lines on a seal that is damaged or decides otherwise.

    Where the store cannot be written to, nothing is sealed; of a full disk a line says so.
    """
    now = sealed_of(run, statistics)
    if now is None:
        return []
    root = run.store.root
    try:
        if seal_verdicts(root, now):
            return []
        before = read_verdicts(root, now.plan)
    except OSError as error:
        return [] if is_read_only(error) else [f"the verdicts are not sealed: {error}"]
    except NoResults as problem:
        return [str(problem)]
    changed = len(set(_decided(now)) ^ set(_decided(before))) if before else 0
    if not changed:
        return []
    return [f"{verdicts_file(root, now.plan)} keeps the verdicts of the first report; now {changed} pairs are others"]


def _decided(sealed: Sealed) -> Iterator[tuple[object, ...]]:
    """What a significant verdict says, without its numbers."""
    for own in sealed.verdicts:
        if is_significant(own):
            yield own.table, own.ratio, own.first, own.second, own.difference > 0


def is_significant(own: Verdict) -> bool:
    """Whether a verdict tells its two rows apart after Holm's correction."""
    return own.p_holm is not None and own.p_holm < LEVEL


@dataclass(frozen=True)
class Repeated:
    """A significant pair of rows of an earlier run, and what a later one says of it."""

    earlier: str
    later: str
    data: str
    """`SAME` or `OTHER`."""
    stated: Verdict
    again: Verdict
    """First and second are those of `stated`."""

    @property
    def chance(self) -> float:
        """Stated chance in [0, 1] that a repeat finds the pair again."""
        return self.stated.repeat or 0.0

    @property
    def found(self) -> bool:
        """Whether the later run finds it significant in the same direction."""
        return is_significant(self.again) and self.again.difference * self.stated.difference > 0


@dataclass(frozen=True)
class Record:
    """Stated chances held against what was found."""

    names: tuple[str, ...]
    """The runs, with their seeds."""
    settings: tuple[str, ...]
    """What differs between the first run and a later one beside seeds, one line each."""
    halves: int
    """Divisions of one run's seeds; 0 for several runs."""
    comparisons: tuple[Repeated, ...]
    pooled: tuple[Pooled, ...] = ()

    @property
    def bins(self) -> list[Bin]:
        """The comparisons by their stated chance."""
        return bins_of(self.comparisons)


def bins_of(comparisons: Iterable[Repeated]) -> list[Bin]:
    """The bins of some comparisons by their stated chance."""
    own = list(comparisons)
    return binned([one.chance for one in own], [one.found for one in own])


def repeats(names: tuple[str, str], earlier: Sealed, later: Sealed) -> Iterator[Repeated]:
    """The comparisons of two runs in this order: the earlier one's significant pairs with a chance, that both have."""
    same = all(
        earlier.data[name] and earlier.data[name] == later.data[name] for name in earlier.data.keys() & later.data
    )
    there = {_place(own): own for own in later.verdicts}
    for own in earlier.verdicts:
        again = there.get(_place(own))
        if again is None or own.repeat is None or not is_significant(own):
            continue
        if again.first != own.first:
            again = replace(
                again,
                first=own.first,
                second=own.second,
                difference=-again.difference,
                low=_minus(again.high),
                high=_minus(again.low),
            )
        yield Repeated(*names, SAME if same else OTHER, own, again)


def _minus(value: float | None) -> float | None:
    return None if value is None else -value


def _place(own: Verdict) -> tuple[str, float, frozenset[str]]:
    return own.table, own.ratio, frozenset((own.first, own.second))


def refuse(names: tuple[str, str], one: Sealed, other: Sealed) -> None:
    """Raise NoResults, in one line, where one run is no repeat of the other, or they have no pair of rows in common."""
    both = " and ".join(names)
    seeds = sorted({*one.seeds} & {*other.seeds})
    known = {name: (one.data[name], other.data[name]) for name in one.data if name in other.data}
    data = [name for name, (own, others) in known.items() if own == others]  # unknown ones may be the same
    if seeds and data:
        raise NoResults(
            f"{both} are not independent: seeds {seeds_named(seeds)} are in both, on the same data of {', '.join(data)}"
        )
    if len(one.seeds) != len(other.seeds):
        counts = f"{len(one.seeds)} and {len(other.seeds)} seeds"
        raise NoResults(f"{both} have {counts}: a stated chance is of a repeat with as many")
    if not {_place(own) for own in one.verdicts} & {_place(own) for own in other.verdicts}:
        raise NoResults(f"{both} have no pair of rows in common, in any table at any label ratio")


def record_of(sources: Sequence[str]) -> Record:
    """The record of the runs that the sources name (`reports.open`), or of one run's halves.

    Raises NoResults, in one line, for a run without sealed verdicts, a damaged seal, one of another plan, runs that are
    not independent or have no pair in common, and where no chance was stated.
    """
    if len(sources) == 1:
        with open_results(sources) as opened:
            found = halves_of(opened.run)
    else:
        found = _of_runs(sources)
    if not found.comparisons:
        raise NoResults(f"{' and '.join(found.names)} state no chance of a repeat: no pair of rows is significant")
    return found


def _of_runs(sources: Sequence[str]) -> Record:
    named: list[tuple[str, Sealed]] = []
    settings: list[str] = []
    first: Run | None = None
    for source in sources:
        with open_results([source]) as opened:
            run = opened.run
            sealed = read_verdicts(run.store.root, run.plan.key)
            if sealed is None:
                how = f"`report --results {source}` seals them once every cell is finished, in the unit of the protocol"
                raise NoResults(f"{source} has no sealed verdicts (no capsule or merged store has): {how}")
            if sealed.plan_sha256 != plan_digest(run.plan):
                raise NoResults(
                    f"{source}: the plan is not the one whose verdicts are sealed; name the run's own folder"
                )
            name = portable(run.name)
            named.append((f"{name} (seeds {seeds_named(sealed.seeds)})", sealed))
            if first is not None:
                settings += [
                    f"{key} is {shown(value)} in {portable(first.name)}, {shown(others)} in {name}"
                    for key, value, others in config_differences(first.plan, run.plan)
                    if key != "seeds"
                ]
            first = first or run
    for (one, own), (other, others) in combinations(named, 2):
        refuse((one, other), own, others)
    found = [
        own
        for (earlier, stated), (later, again) in permutations(named, 2)
        for own in repeats((earlier, later), stated, again)
    ]
    runs = [sealed for _, sealed in named]
    return Record(tuple(name for name, _ in named), tuple(settings), 0, tuple(found), pooled(runs))


def halves_of(run: Run, most: int = MOST_SPLITS) -> Record:
    """The record of a run whose seeds are divided in two, in every way or in `most` of them.

    Raises NoResults for a run of fewer than four seeds or of an odd number.
    """
    seeds = sorted({cell.seed for cell in run.plan.cells})
    if len(seeds) < 4 or len(seeds) % 2:
        raise NoResults(
            f"{run.name} has {len(seeds)} seeds: halves need an even number, at least 4; or name a later run"
        )
    splits = [own for own in combinations(range(len(seeds)), len(seeds) // 2) if 0 in own]
    if len(splits) > most:
        splits = sorted(random.Random(0).sample(splits, most))
    divided = [(list(one), [place for place in range(len(seeds)) if place not in one]) for one in splits]
    unit = UNIT_OF_PROTOCOL[run.plan.config["protocol"]]
    decided: dict[tuple[int, ...], list[Verdict]] = {tuple(half): [] for split in divided for half in split}
    for layout in _layouts(run):
        for ratio in layout.ratios:
            columns = columns_at(run, layout.competing, ratio, unit, metrics=layout.metrics)
            for column in [column for column in columns if column.metric == OVERALL]:
                for half in decided:
                    places = [column.seeds.index(seeds[place]) for place in half if seeds[place] in column.seeds]
                    own = replace(
                        column,
                        seeds=tuple(column.seeds[place] for place in places),
                        encoders=column.encoders[:, places],
                        scores=np.ascontiguousarray(column.scores[:, places]),
                    )
                    decided[half] += verdicts_in(pairwise([own]), table_name(layout, unit), layout.evaluation)
    sealed = {half: _sealed(run, unit, [seeds[place] for place in half], own) for half, own in decided.items()}
    name = portable(run.name)
    found: list[Repeated] = []
    for split in divided:
        one, other = (sealed[tuple(half)] for half in split)
        one_name, other_name = (f"{name} (seeds {seeds_named(own.seeds)})" for own in (one, other))
        both = [*repeats((one_name, other_name), one, other), *repeats((other_name, one_name), other, one)]
        found += [replace(pair, data=SAME) for pair in both]  # one run, also where no fingerprint is known
    return Record((f"{name} (seeds {seeds_named(seeds)})",), (), len(divided), tuple(found))


def calibration_text(comparisons: Sequence[Repeated], where: str = "") -> str:
    """'Calibrated within 5 points ...' or by how much not, for some comparisons."""
    bins = bins_of(comparisons)
    error = calibration_error(bins)
    stated, share = (sum(values) / len(comparisons) for values in _stated_and_found(comparisons))
    verdict = (
        f"Calibrated within {100 * WITHIN:g} points"
        if error <= WITHIN
        else f"Not calibrated, by {100 * error:.1f} points"
    )
    side = "" if error <= WITHIN else f": stated chances are too {'high' if stated > share else 'low'} on the whole"
    return (
        f"{verdict}{where}{side}. {len(comparisons):,} comparisons, {100 * stated:.1f} % stated, {100 * share:.1f} % "
        f"found again; calibration error {100 * error:.1f} points, of which chance alone would make "
        f"{100 * error_by_chance(bins):.1f} if the comparisons were independent."
    )


def _stated_and_found(comparisons: Sequence[Repeated]) -> tuple[list[float], list[float]]:
    return [own.chance for own in comparisons], [float(own.found) for own in comparisons]


def sentences(found: Record) -> list[str]:
    """Whether the chances are calibrated, of all comparisons and of each kind of data, and what limits the answer."""
    kinds = {kind: [own for own in found.comparisons if own.data == kind] for kind in (SAME, OTHER)}
    there = {kind: own for kind, own in kinds.items() if own}
    if len(there) == 1:
        (kind,) = there
        lines = [calibration_text(found.comparisons, f" on {kind}")]
    else:
        lines = [
            calibration_text(found.comparisons),
            *(calibration_text(own, f" on {kind}") for kind, own in there.items()),
        ]
    if OTHER in there:
        lines.append(
            f"A stated chance is of other pretrainings on {SAME}; on {OTHER} differences themselves may be others."
        )
    how = "Comparisons of one run share rows and patients"
    if found.halves:
        how += f", and the {found.halves} divisions of its seeds overlap; halves are not sealed"
    return [*lines, f"{how}: intervals (Wilson, 95 %) are too narrow."]


def _pooled_sentence(found: Record) -> list[str]:
    """How many pairs the runs together tell apart; nothing where they are no sample."""
    if not found.pooled:
        return []
    apart = sum(own.p_holm < LEVEL for own in found.pooled)
    equal = sum(own.p_equivalent < LEVEL for own in found.pooled)
    return [
        f"Over the {found.pooled[0].runs} runs, each of which counts once, {apart} of {len(found.pooled)} pairs of "
        "rows are told apart (Student's t over runs, Holm's correction over the pairs of a label share), and "
        f"{equal} are equivalent within {100 * MARGIN:g} points, each tested by itself."
    ]


HEADER = ("Stated chance", "Comparisons", "Stated, mean", "Found again", "Share found", "95 % interval")


def bin_lines(found: Record) -> list[tuple[str, ...]]:
    """One line of texts per bin, under `HEADER`."""
    return [
        (
            f"{100 * own.low:.0f} to {100 * own.high:.0f} %",
            f"{own.count:,}",
            f"{100 * own.stated:.1f} %",
            f"{own.found:,}",
            f"{100 * own.share:.1f} %",
            f"{100 * own.interval[0]:.1f} to {100 * own.interval[1]:.1f} %",
        )
        for own in found.bins
    ]


def record_sheet(found: Record) -> Sheet:
    """The runs, the bins and the sentences."""
    above = [("The record of verdicts", "title"), *((text, "faint") for text in (*found.names, *found.settings))]
    columns = tuple(("", name, "right" if place else "label") for place, name in enumerate(HEADER))
    rows = tuple(tuple([(text, "")] for text in line) for line in bin_lines(found))
    return Sheet(
        tuple(above), columns, (rows,), tuple((text, "") for text in [*sentences(found), *_pooled_sentence(found)])
    )


def markdown(found: Record) -> str:
    """The runs, the sentences, the bins, and the comparisons that the later run does not find."""
    parts = ["# The record of verdicts", "\n".join(f"- {literal(text)}" for text in (*found.names, *found.settings))]
    parts += ["\n".join(f"- {literal(text)}" for text in sentences(found)), pipe_table(HEADER, bin_lines(found))]
    missed = [own for own in found.comparisons if not own.found]
    if missed and not found.halves:
        lines = [
            [literal(text) for text in (own.earlier, own.later, own.stated.table, f"{own.stated.ratio:g}")]
            + [literal(f"{own.stated.first} − {own.stated.second}"), f"{100 * own.chance:.0f} %"]
            + [f"{100 * one.difference:+z.1f}" for one in (own.stated, own.again)]
            + [DASH if own.again.p_holm is None else f"{own.again.p_holm:.3f}"]
            for own in missed
        ]  # fmt: skip
        header = ["Earlier", "Later", "Table", "Labels", "Pair", "Stated", "Difference", "Later difference", "Later p"]
        parts += ["## Not found again", pipe_table(header, lines)]
    if found.pooled:
        lines = [list(map(literal, pooled_texts(own))) for own in found.pooled]
        parts += ["## Over all runs", *_pooled_sentence(found), pipe_table(POOLED_HEADER, lines)]
    return "\n\n".join(parts) + "\n"


CSV_HEADER = (
    "earlier", "later", "data", "table", "evaluation", "ratio", "first", "second", "difference", "low", "high",
    "p_holm", "repeat", "later_difference", "later_low", "later_high", "later_p_holm", "found",
)  # fmt: skip


def _csv_line(own: Repeated) -> tuple[Any, ...]:
    one, two = own.stated, own.again
    place = (own.earlier, own.later, own.data, one.table, one.evaluation, one.ratio, one.first, one.second)
    stated = (one.difference, one.low, one.high, one.p_holm, one.repeat)
    return (*place, *stated, two.difference, two.low, two.high, two.p_holm, int(own.found))


def write_record(sources: Sequence[str], out: Path) -> tuple[Record, list[Path]]:
    """Write record.csv, pooled.csv where runs share no data, record.md and the figure `reliability` under `out`.

    Returns the record and the files.

    Raises NoResults like `record_of`, before anything is written.
    """
    found = record_of(sources)
    files = [out / "record.csv", out / "record.md"]
    for file, text in zip(
        files, (csv_text(CSV_HEADER, map(_csv_line, found.comparisons)), markdown(found)), strict=True
    ):
        write_atomic(file, text.encode())
    if found.pooled:
        files.append(out / "pooled.csv")
        names = [field.name for field in fields(Pooled)]
        write_atomic(files[-1], csv_text(names, map(astuple, found.pooled)).encode())
    from reports.figures.reliability import draw_reliability  # here, because matplotlib loads slowly

    note = " ".join([*sentences(found), "Numbers: comparisons of a bin. Dashed: found as stated."])
    return found, [*files, *draw_reliability(found.bins, note, out / FOLDER / "reliability")]
