"""`python -m tests.calibration [EXPERIMENTS]`: size, coverage and power of every test, by the product's functions.

Scores are simulated: a mean over patients, so that they are exact without each of them, to which the run, the seed and,
under `paper`, the labelled subset add. Deviations are in points / 100. Eight rows on three columns of 100 patients and
five seeds, unless the line says otherwise. Prints the table of docs/PROTOCOLS.md.
"""

from __future__ import annotations

import sys
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field, replace

import numpy as np

from benchmark.results.metrics import HEADLINES
from benchmark.results.names import OVERALL
from benchmark.results.store import Predictions
from reports.columns import ScoreColumn, overall_rows
from reports.inference import LEVEL, TableStatistics, against_baselines, baseline_claims, pairwise
from reports.jackknife import leave_one_out, with_contributions
from reports.results import in_unit

Floats = np.ndarray
METHODS = tuple(f"m{number}" for number in range(8))
BASELINES = ("features", "minirocket")
MARGIN = HEADLINES["strict"].margin


@dataclass(frozen=True)
class Design:
    """An experiment of rows that are equal but for `shift`."""

    rows: tuple[str, ...] = METHODS
    seeds: int = 5
    patients: int = 100
    columns: int = 3
    correlation: float = 0.0
    """Correlation of a patient's values in two columns, which then are of the same patients."""
    run: float = 0.015
    """Deviation of a row and seed, in all its columns."""
    seed: float = 0.02
    """Deviation of a seed, in all rows."""
    row_patient: float = 0.1
    run_patient: float = 0.1
    factor: dict[str, float] = field(default_factory=dict)
    """Row -> times the deviations of its runs."""
    shift: dict[str, float] = field(default_factory=dict)
    """Row -> true difference from the others."""
    is_skewed: bool = False
    is_crossfitted: bool = False


def left_out_scores(values: Floats) -> Floats:
    """Average values (..., P): (..., 1 + P) as of `with_contributions`."""
    total, patients = values.sum(axis=-1, keepdims=True), values.shape[-1]
    left_out = np.concatenate([total / patients, (total - values) / (patients - 1)], axis=-1)
    return np.apply_along_axis(with_contributions, -1, left_out)


def of_patients(random: np.random.Generator, shape: tuple[int, ...], correlation: float) -> Floats:
    """Draw values (..., K, P), correlated over the K columns."""
    shared = random.normal(size=(*shape[:-2], 1, shape[-1]))
    return np.sqrt(correlation) * shared + np.sqrt(1 - correlation) * random.normal(size=shape)


def experiment(random: np.random.Generator, design: Design) -> ScoreColumn:
    """Simulate the headline of the rows of an experiment."""
    rows = len(design.rows)
    shape = (rows, design.seeds, design.columns, design.patients)
    factor = np.array([design.factor.get(row, 1.0) for row in design.rows])[:, None]  # (rows, 1)
    shift = np.array([design.shift.get(row, 0.0) for row in design.rows])[:, None]
    draws = random.normal(size=shape[:2])
    if design.is_skewed:
        draws = random.exponential(size=shape[:2]) - 1
    runs = 0.7 + shift + factor * design.run * draws + design.seed * random.normal(size=design.seeds)
    values = runs[..., None, None] + design.row_patient * of_patients(random, (rows, 1, *shape[2:]), design.correlation)
    values += factor[..., None, None] * design.run_patient * of_patients(random, shape, design.correlation)
    blocks = left_out_scores(values)  # (rows, S, K, 1 + P)
    names = [f"a.task{n}" if design.correlation else f"data{n}" for n in range(design.columns)]
    columns = []
    for number, name in enumerate(names):
        of_column = {row: [block[:, number]] for row, block in zip(design.rows, blocks, strict=True)}
        columns.append(ScoreColumn("recording", 1.0, name, "auroc", of_column))
    patients = np.array([f"{number:04}" for number in range(design.patients)])
    overall = overall_rows(columns, dict.fromkeys(names, patients))
    return ScoreColumn("recording", 1.0, "", OVERALL, overall, {}, MARGIN, design.is_crossfitted)


def rates(design: Design, experiments: int, row: str = "", *, of_others: bool = False) -> Floats:
    """Return the share of pairs with p below the level, of experiments with any after Holm, and the coverage.

    row: of whose pairs, or of all others', by default of all.
    """
    lines = []
    for index in range(experiments):
        pairs = pairwise([experiment(np.random.default_rng([7, index]), design)])
        is_of_row = (pairs["first"] == row) | (pairs["second"] == row)
        if row:
            pairs = pairs[is_of_row != of_others]
        shift = {name: design.shift.get(name, 0.0) for name in design.rows}
        true = pairs["first"].map(shift) - pairs["second"].map(shift)
        is_covered = (pairs["low"] <= true) & (true <= pairs["high"])
        lines.append([(pairs["p"] < LEVEL).mean(), (pairs["p_holm"] < LEVEL).any(), is_covered.mean()])
    return np.mean(lines, axis=0)


def claimed(design: Design, experiments: int) -> Floats:
    """Return the shares of experiments in which a method is above every baseline, is below one, and the first above."""
    lines = []
    for index in range(experiments):
        column = experiment(np.random.default_rng([9, index]), design)
        claims = baseline_claims(TableStatistics(against_baselines=against_baselines([column], BASELINES)))
        lines.append([claims["above"].any(), (claims["below"].map(len) > 0).any(), claims["above"].iloc[0]])
    return np.mean(lines, axis=0)


def equivalent(true: float, experiments: int) -> float:
    """Return how often two rows of this true difference are found within the margin, with 1000 patients."""
    design = Design(("a", "b"), 8, 1000, run=0.004, run_patient=0.05, row_patient=0.05, shift={"a": true})
    columns = [experiment(np.random.default_rng([5, index]), design) for index in range(experiments)]
    return float((pairwise(columns)["p_equivalent"] < LEVEL).mean())


def on_subsets(random: np.random.Generator, subsets: int) -> ScoreColumn:
    """Simulate two equal rows on labelled subsets that five seeds share, each row moved by each subset and seed."""
    patients, shape = 100, (2, 5, subsets)
    moved = 0.02 * random.normal(size=(2, 1, subsets)) + 0.01 * random.normal(size=(2, 5, 1))
    moved = moved + 0.01 * random.normal(size=shape)
    values = 0.1 * random.normal(size=(2, 1, 1, patients)) + 0.1 * random.normal(size=(2, 1, subsets, patients))
    blocks = left_out_scores(0.7 + moved[..., None] + values + 0.1 * random.normal(size=(*shape, patients)))
    averaged = 1 if subsets == 1 else 0
    rows = {name: [block.mean(axis=averaged)] for name, block in zip("ab", blocks, strict=True)}
    seeds = {}
    if subsets > 1:
        seeds = {name: block[..., 0].mean(axis=1) for name, block in zip("ab", blocks, strict=True)}
    return ScoreColumn("recording", 1.0, "", OVERALL, rows, seeds, MARGIN)


def shuffled(random: np.random.Generator) -> ScoreColumn:
    """Score four rows of three seeds by AUROC of five classes dealt at random, three of them rare."""
    patients = np.array([f"{number:04}" for number in range(100)])
    truth = np.stack([random.permutation(np.arange(100) < positives) for positives in (25, 25, 5, 5, 5)], axis=1)
    shared = random.normal(size=truth.shape)
    rows = {}
    for name in METHODS[:4]:
        of_row = shared + random.normal(size=truth.shape)
        block = []
        for _ in range(3):
            score = (of_row + random.normal(size=truth.shape)).astype(np.float32)
            test = Predictions(score, truth.astype(np.int64), patients, patients)
            block.append(with_contributions(leave_one_out(test, ["auroc"], multi=True)["auroc"]))
        rows[name] = [np.stack(block)]
    return ScoreColumn("recording", 1.0, "", OVERALL, rows, {}, MARGIN)


def crossfitted(random: np.random.Generator, seeds: int) -> ScoreColumn:
    """Simulate four equal methods that are cross-fitted: each seed deals 100 patients to five parts.

    A method has features of its own of the patients, a seed sees them through its own pretraining, and a linear
    discriminant learns on four parts what it is tested with on the fifth, as a probe does.
    """
    patients, width, parts = 100, 6, 5
    truth = np.arange(patients) % 2  # (P,)
    names = np.array([f"{number:04}" for number in range(patients)])
    rows = {}
    for method in METHODS[:4]:
        features = 0.5 * truth[:, None] + random.normal(size=(patients, width))  # (P, K)
        blocks = []
        for _ in range(seeds):
            part = random.permutation(patients) % parts  # (P,)
            seen = features + 0.3 * random.normal(size=features.shape)
            score = np.empty(patients)
            for number in range(parts):
                is_tested = part == number
                x, y = seen[~is_tested], truth[~is_tested]
                apart = x[y == 1].mean(axis=0) - x[y == 0].mean(axis=0)  # (K,)
                score[is_tested] = seen[is_tested] @ np.linalg.solve(np.cov(x.T), apart)
            positive = 1 / (1 + np.exp(-score))
            test = Predictions(
                np.stack([1 - positive, positive], axis=1), np.eye(2, dtype=int)[truth], names, names, part
            )
            blocks.append(
                with_contributions(leave_one_out(in_unit(test, "recording"), ["auroc"], multi=False)["auroc"])
            )
        rows[method] = [np.stack(blocks)]
    return ScoreColumn("recording", 1.0, "", OVERALL, rows, {}, MARGIN, is_crossfitted=True)


def size_of(columns: Sequence[ScoreColumn]) -> float:
    """Return the share of pairs with p below the level."""
    return float((pairwise(columns)["p"] < LEVEL).mean())


def twice(experiments: int) -> tuple[float, float]:
    """Return the share of p below the level of one method under two names, and of the other pairs."""
    same, others = [], []
    for index in range(experiments):
        column = experiment(np.random.default_rng([17, index]), Design())
        pairs = pairwise([replace(column, rows=column.rows | {"m7": column.rows["m0"]})])
        is_same = (pairs["first"] == "m0") & (pairs["second"] == "m7")
        same.append((pairs[is_same]["p"] < LEVEL).mean())
        others.append((pairs[~is_same]["p"] < LEVEL).mean())
    return float(np.mean(same)), float(np.mean(others))


def lines(experiments: int) -> Iterator[tuple[str, str]]:
    """Yield what is simulated and what the tests say of it."""
    three = "{:.3f}; {:.3f}; {:.3f}"
    for seeds in (2, 3, 5, 8):
        yield f"equal rows, {seeds} seeds", three.format(*rates(Design(seeds=seeds), experiments))
    for seeds in (2, 3, 5):
        alone = Design(METHODS[:2], seeds)
        yield f"two equal rows alone, {seeds} seeds", three.format(*rates(alone, experiments))
    skewed = Design(is_skewed=True, run=0.04)
    yield "equal rows, skewed runs (exponential), of 4 points", three.format(*rates(skewed, experiments))
    yield "equal rows, cross-fitted", three.format(*rates(Design(is_crossfitted=True), experiments))
    better = Design(is_crossfitted=True, shift={"m0": 0.03})
    yield "one row 3 points better, cross-fitted, its pairs", three.format(*rates(better, experiments, "m0"))
    for seeds in (3, 5, 8):
        size = size_of([crossfitted(np.random.default_rng([5, index]), seeds) for index in range(experiments)])
        yield (
            f"probes that are cross-fitted on 100 patients, {seeds} seeds: p < 5 %; coverage",
            f"{size:.3f}; {1 - size:.3f}",
        )
    tasks = Design(columns=4, correlation=0.3, run=0.003, row_patient=0.3)
    yield "equal rows, four tasks of the same patients, correlation .3", three.format(*rates(tasks, experiments))
    for seeds in (3, 5, 8):
        noisy = Design(seeds=seeds, factor={"m3": 4.0})
        yield f"one row of 4 x SD, its pairs, {seeds} seeds", three.format(*rates(noisy, experiments, "m3"))
    noisy = Design(factor={"m3": 4.0})
    rest = rates(noisy, experiments, "m3", of_others=True)
    yield "the pairs of the other rows, 5 seeds", three.format(*rest)
    for seeds in (3, 5, 8):
        better = Design(seeds=seeds, shift={"m0": 0.03})
        yield f"one row 3 points better, its pairs, {seeds} seeds", three.format(*rates(better, experiments, "m0"))
    yield "one method twice: its pair; the other pairs", "{:.3f}; {:.3f}".format(*twice(experiments))
    of_labels = size_of([shuffled(np.random.default_rng([13, index])) for index in range(experiments)])
    yield "shuffled labels, AUROC of 5 classes, 3 of 5 positives, 3 seeds", f"{of_labels:.3f}"
    for subsets in (1, 4, 8):
        size = size_of([on_subsets(np.random.default_rng([3, index]), subsets) for index in range(experiments)])
        yield f"`paper`, {subsets} labelled subsets", f"{size:.3f}"
    at_margin, at_zero = equivalent(0.01, experiments), equivalent(0.0, experiments)
    yield "within 1 point, true difference 1 point; 0 points", f"{at_margin:.3f}; {at_zero:.3f}"
    rows = (*METHODS[:7], *BASELINES)
    designs = {
        "two baselines, no row differs": Design(rows),
        "two baselines of 4 x SD, no row differs": Design(rows, factor=dict.fromkeys(BASELINES, 4.0)),
        "two baselines without scatter, no row differs": Design(rows, factor=dict.fromkeys(BASELINES, 0.0)),
        "m0 4 points above all": Design(rows, shift={"m0": 0.04}),
        "both baselines 4 points above": Design(rows, shift=dict.fromkeys(BASELINES, 0.04)),
    }
    for title, design in designs.items():
        yield f"{title}: any above, any below, m0 above", three.format(*claimed(design, experiments))


def main() -> None:
    """Print the table, line by line."""
    experiments = int(sys.argv[1]) if len(sys.argv) > 1 else 400
    print(f"| data ({experiments} experiments each) | p < 5 %; any after Holm; coverage |\n| --- | --- |", flush=True)
    for title, found in lines(experiments):
        print(f"| {title} | {found} |", flush=True)


if __name__ == "__main__":
    main()
