"""The verdict of a table: a sentence each on the reference, the baselines and the methods, and what follows."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from typing import Any, NamedTuple, cast

import numpy as np
import pandas as pd

from benchmark.results.metrics import Headline
from benchmark.results.names import LINEAR, OVERALL, counted, is_untrained
from benchmark.results.store import Plan
from reports.comparison import among_methods
from reports.inference import TableStatistics, baseline_claims, differences, median_detectable
from reports.layouts import Layout, role_of
from reports.results import Run
from reports.words import (
    and_text,
    labels_text,
    ratio_text,
    row_title,
    simulated_text,
    tested_text,
)

DETERMINISTIC = (LINEAR, "knn")
"""Evaluations that draw nothing: seeds of `paper` have one result for a pretrained encoder."""


class Verdict(NamedTuple):
    """Sentences on the tests of a table's headline; all are empty where nothing is compared."""

    against: Sequence[str] = ()
    """A sentence for each reference, and one for the baselines."""
    among: str = ""
    """Sentence on the highest method, and the others that it is shown to be above."""
    limits: str = ""
    """Sentences on what varies, what does not, and what does not follow."""
    differences: Sequence[str] = ()
    """A line per label share."""

    @property
    def lines(self) -> list[str]:
        """Sentences and limits."""
        return [line for line in (*self.against, self.among, self.limits) if line]


def verdict(results: Run, layout: Layout, statistics: TableStatistics) -> Verdict:
    """Say in a sentence each which rows beat each reference, and every baseline, and which method is the best."""
    plan = results.plan
    compared = differences(statistics, layout.unchanged)
    if compared.empty:
        return Verdict()
    references = list(compared["reference"].unique())
    against = [_against_reference(plan, name, compared[compared["reference"] == name]) for name in references]
    among = ""
    if not layout.name:
        against.append(_against_baselines(plan, statistics))
        among = _among_methods(plan, statistics)
    limits = [
        what_varies(results, layout),
        *_limits(results, layout, compared, median_detectable(statistics.pairs)),
        *simulated_text(plan, {cell.dataset for cell in layout.cells}),
    ]
    groups = compared.groupby(["reference", "ratio"], sort=False)
    lines = [_ratio_line(plan, str(reference), rows) for (reference, _), rows in groups]
    return Verdict(against, among, " ".join(limits), lines)


def what_varies(results: Run, layout: Layout) -> str:
    """Say in a sentence what of a table was repeated and what was not."""
    plan = results.plan
    seeds = len({cell.seed for cell in layout.cells})
    number = 1 + max(cell.subset for cell in layout.cells)
    subsets = counted(number, "labelled subset")
    if seeds == 1:
        return f"One seed: one pretraining of each method, on {subsets} and the same test patients."
    if plan.config["protocol"] == "strict":
        rows, same = "every method", "the corpus"
        if any(role_of(plan, row).get("external") for row in layout.variants):
            rows, same = "every other method", "the weights from outside, the corpus"
        drawn = f" and its own {subsets if number > 1 else 'labelled subset'}"
        if layout.ratios == (1.0,):
            drawn, same = "", f"{same}, the labels"
        return (
            f"Each of the {seeds} seeds has its own pretraining of {rows}{drawn}; {same} and the test patients are the "
            "same."
        )
    varied = "the training on labels and the untrained encoder"
    if layout.evaluation in DETERMINISTIC:
        varied = "the untrained encoder and the baselines"
    same = f"the one pretraining of each method, {subsets} and the test patients are the same"
    return f"The {seeds} seeds vary {varied}; {same}."


def _limits(results: Run, layout: Layout, compared: pd.DataFrame, detectable: float) -> Iterator[str]:
    """Count test patients with what they detect, and say what does not follow."""
    plan = results.plan
    seeds = len({cell.seed for cell in layout.cells})
    subsets = {cell.subset for cell in layout.cells}
    patients = tested_text(results, {cell.dataset for cell in layout.cells})
    detects = "" if np.isnan(detectable) else f", which detect a difference of {100 * detectable:.1f} points"
    yield f"Test patients: {patients}{detects}."
    if not (compared["significant"] | compared["equivalent"]).all():
        yield "A difference that is not shown may still be there."
    if plan.config["protocol"] != "strict" or seeds < 2:
        yield "That one method is better than another does not follow from one pretraining of each."
    if plan.config["protocol"] == "paper" and len(subsets) == 1:
        yield "On another labelled subset a difference may be another."


def _against_reference(plan: Plan, reference: str, rows: pd.DataFrame) -> str:
    """Return 'Better than the untrained encoder (Random) in Overall by more than 2 points: PMQ at 1 %; worse: ...'."""
    title = row_title(plan, reference)
    margin = margin_text(plan.headline)
    if is_untrained(reference):
        title = f"the untrained encoder ({title})"
    is_higher = rows["difference"] > 0
    is_significant, is_beyond, is_equivalent = rows["significant"], rows["beyond"], rows["equivalent"]
    findings = {
        f"Better than {title} in {plan.headline.words} by more than {margin}": is_significant & is_higher & is_beyond,
        f"better, not shown to be by more than {margin}": is_significant & is_higher & ~is_beyond,
        f"within {margin} of it": ~is_significant & is_equivalent,
        "no difference shown": ~is_significant & ~is_equivalent,
        "worse": is_significant & ~is_higher,
    }
    return _sentence(plan, rows, findings)


def _against_baselines(plan: Plan, statistics: TableStatistics) -> str:
    """Return 'Better than every baseline without pretraining (the best: Features): no row; worse than one: ...'."""
    claims = baseline_claims(statistics)
    if claims.empty:
        return "No baseline but the untrained encoder was run."
    overall = statistics.intervals[statistics.intervals["metric"] == OVERALL]
    of_baselines = overall[overall["variant"].isin(statistics.against_baselines["second"])]
    means = of_baselines.groupby("variant", sort=False)["mean"].mean()
    best = row_title(plan, str(means.idxmax()))
    better, worse = f"every baseline without pretraining (the best: {best})", "one of them"
    if len(means) == 1:
        better, worse = f"the baseline without pretraining ({best})", "it"
    findings = {f"Better than {better}": claims["above"], f"worse than {worse}": claims["below"].map(len) > 0}
    return _sentence(plan, claims, findings)


def _among_methods(plan: Plan, statistics: TableStatistics) -> str:
    """Return 'Highest mean AUROC of the methods: at 1 % PMQ, shown to be above BYOL and CLOCS, at 10 % MoCo, ...'."""
    shares: dict[str, list[str]] = {}
    for ratio, rows in among_methods(statistics).groupby("ratio", sort=False):
        best = row_title(plan, rows["reference"].iloc[0])
        lower = [row_title(plan, row) for row in rows["variant"][rows["significant"]]]
        if len(lower) == len(rows) > 1:
            lower = [f"all {len(rows)} others"]
        shown = f"shown to be above {and_text(lower)}" if lower else "not shown to be above any other"
        shares.setdefault(f"{best}, {shown}", []).append(ratio_text(cast(float, ratio)))
    what = "methods" if plan.config["protocol"] == "strict" else "pretrained encoders"
    clauses = [f"at {and_text(ratios)} {clause}" for clause, ratios in shares.items()]
    return f"Highest {plan.headline.words} of the {what}: {'; '.join(clauses)}." if clauses else ""


def _sentence(plan: Plan, rows: pd.DataFrame, findings: Mapping[str, pd.Series[bool]]) -> str:
    """Return a clause per finding that some of the rows have, and for the first one always; rows: variant, ratio."""
    ratios = list(rows["ratio"].unique())
    clauses: list[str] = []
    for finding, has_finding in findings.items():
        titles: dict[tuple[float, ...], list[str]] = {}
        for variant, shares in rows[has_finding].groupby("variant", sort=False)["ratio"]:
            titles.setdefault(tuple(shares), []).append(row_title(plan, str(variant)))
        most_shares_first = sorted(titles, key=len, reverse=True)
        named = [f"{and_text(titles[shares])} {_shares_text(shares, ratios)}" for shares in most_shares_first]
        if named:
            clauses.append(f"{finding}: {', '.join(named)}")
        elif not clauses:
            clauses.append(f"{finding}: none")
    return f"{'; '.join(clauses)}."


def _shares_text(shares: Sequence[float], ratios: Sequence[float]) -> str:
    """Return 'with 1 % of the labels', 'at both label shares' or 'at 1 % and 10 %': some label ratios of a table."""
    if len(shares) < len(ratios):
        return f"at {and_text([ratio_text(share) for share in shares])}"
    if len(ratios) == 1:
        return f"with {labels_text(ratios[0])}"
    return "at both label shares" if len(ratios) == 2 else "at all label shares"


def _ratio_line(plan: Plan, reference: str, rows: pd.DataFrame) -> str:
    """Return the differences of all rows at a label ratio, the largest first, with intervals of Holm's procedure."""
    rows = rows.sort_values("difference", ascending=False)
    findings = findings_text(rows, [row_title(plan, row) for row in rows["variant"]], plan.headline)
    share = labels_text(rows["ratio"].iloc[0])
    return f"{share}, {plan.headline.words} minus that of {row_title(plan, reference)} in points: {findings}."


def findings_text(pairs: pd.DataFrame, titles: Iterable[str], headline: Headline) -> str:
    """Return 'higher: PMQ +1.2 (0.3 to 2.1); not separable: MoCo +0.4 (−0.9 to 1.7)' of pairs, each with its title."""
    groups: dict[str, list[str]] = {}
    for title, pair in zip(titles, pairs.to_dict("records"), strict=True):
        groups.setdefault(finding_text(pair, headline), []).append(f"{title} {points_text(pair)}")
    return "; ".join(f"{finding}: {', '.join(texts)}" for finding, texts in groups.items())


def margin_text(headline: Headline) -> str:
    """Return '1 point'."""
    return counted(round(100 * headline.margin), "point")


def finding_text(row: Mapping[Any, Any], headline: Headline) -> str:
    """Return what the tests of a difference say: 'higher', 'lower', 'equal within 2 points' or 'not separable'."""
    if row["significant"]:
        return "higher" if row["difference"] > 0 else "lower"
    if row["equivalent"]:
        return f"equal within {margin_text(headline)}"
    return "not separable"


def points_text(row: Mapping[Any, Any]) -> str:
    """Return '+1.2 (−0.3 to 2.7)': a difference in points with the interval of Holm's procedure."""
    mean, low, high = (100 * row[name] for name in ("difference", "low_holm", "high_holm"))
    return f"{mean:+z.1f} ({low:z.1f} to {high:z.1f})".replace("-", "−")
