"""The verdict of a table: which rows beat a reference in the headline, which do not, and what follows."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from typing import Any

import numpy as np
import pandas as pd

from benchmark.results.metrics import Headline
from benchmark.results.names import is_untrained
from benchmark.results.store import Plan
from reports.layouts import Layout
from reports.results import Run
from reports.words import (
    and_text,
    counted,
    labels_text,
    ratio_text,
    replicates_text,
    row_title,
    simulated_text,
    tested_text,
)


def verdict(
    results: Run, layout: Layout, differences: pd.DataFrame, claims: pd.DataFrame, detectable: float = np.nan
) -> list[str]:
    """Say which rows beat each reference and every baseline in the headline, and which do not; empty for no pair.

    differences, claims: of `reports.inference.differences` and `baseline_claims`; detectable: difference of the median
    pair. The first text answers, in lines; the second has the sample size and what does not follow; then comes a line
    of differences per label ratio.
    """
    if differences.empty:
        return []
    plan = results.plan
    answers = [_headline(plan, str(name), rows) for name, rows in differences.groupby("reference", sort=False)]
    if len(claims):
        answers.append(_against_baselines(plan, claims))
    limits = [
        *_limits(results, layout, differences, detectable),
        *simulated_text(plan, {cell.dataset for cell in layout.cells}),
    ]
    groups = differences.groupby(["reference", "ratio"], sort=False)
    ratio_lines = [_ratio_line(plan, str(reference), rows) for (reference, _), rows in groups]
    return ["\n".join(answers), " ".join(limits), *ratio_lines]


def _limits(results: Run, layout: Layout, differences: pd.DataFrame, detectable: float) -> Iterator[str]:
    """Count seeds and test patients with what they detect, name the baselines, and say what does not follow."""
    plan = results.plan
    seeds = len({cell.seed for cell in layout.cells})
    subsets = {cell.subset for cell in layout.cells}
    patients = tested_text(results, {cell.dataset for cell in layout.cells})
    baselines = [row_title(plan, name) for name in layout.variants if name in layout.baselines]
    named = "; ".join(baselines) or "none"
    detects = "" if np.isnan(detectable) else f", which detect a difference of {100 * detectable:.1f} points"
    yield f"{replicates_text(plan, layout.cells)}; test patients: {patients}{detects}; baselines: {named}."
    if not (differences["significant"] | differences["equivalent"]).all():
        yield "Not separable does not mean equal."
    if plan.config["protocol"] != "strict" or seeds < 2:
        each = "The seeds vary the evaluation: each" if seeds > 1 else "Each"
        yield f"{each} row is one pretraining; that one method is better than another does not follow."
    if plan.config["protocol"] == "paper" and len(subsets) == 1:
        yield "On another labelled subset a difference may be another."


def _headline(plan: Plan, reference: str, rows: pd.DataFrame) -> str:
    """Return 'Better than the untrained encoder (Random) in Overall, by more than 2 points: PMQ at 1 %. ...'."""
    title, margin = row_title(plan, reference), margin_text(plan.headline)
    if is_untrained(reference):
        title = f"the untrained encoder ({title})"
    is_higher = rows["difference"] > 0
    is_significant, is_beyond, is_equivalent = rows["significant"], rows["beyond"], rows["equivalent"]
    findings = {
        f"Better than {title} in {plan.headline.words}, by more than {margin}": is_significant & is_higher & is_beyond,
        f"Better, not shown to be by more than {margin}": is_significant & is_higher & ~is_beyond,
        f"Within {margin} of it": ~is_significant & is_equivalent,
        "Not separable from it": ~is_significant & ~is_equivalent,
        "Worse": is_significant & ~is_higher,
    }
    return _sentences(plan, rows, findings)


def _against_baselines(plan: Plan, claims: pd.DataFrame) -> str:
    """Return 'Above every baseline without pretraining: no row. Below one of them: PMQ at 1 %.'."""
    findings = {
        "Above every baseline without pretraining": claims["above"],
        "Below one of them": claims["below"].map(len) > 0,
    }
    return _sentences(plan, claims, findings)


def _sentences(plan: Plan, rows: pd.DataFrame, findings: Mapping[str, pd.Series[bool]]) -> str:
    """Return a line per finding that some of the rows have, and for the first one always; rows: variant, ratio."""
    ratios = list(rows["ratio"].unique())
    sentences: list[str] = []
    for finding, has_finding in findings.items():
        titles: dict[tuple[float, ...], list[str]] = {}
        for variant, shares in rows[has_finding].groupby("variant", sort=False)["ratio"]:
            titles.setdefault(tuple(shares), []).append(row_title(plan, str(variant)))
        most_shares_first = sorted(titles, key=len, reverse=True)
        clauses = [f"{and_text(titles[shares])} {_shares_text(shares, ratios)}" for shares in most_shares_first]
        if clauses:
            sentences.append(f"{finding}: {'; '.join(clauses)}.")
        elif not sentences:
            sentences.append(f"{finding}: no row.")
    return "\n".join(sentences)


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
    groups: dict[str, list[str]] = {}
    for row in rows.to_dict("records"):
        title = row_title(plan, row["variant"])
        groups.setdefault(finding_text(row, plan.headline), []).append(f"{title} {points_text(row)}")
    parts = "; ".join(f"{finding}: {', '.join(texts)}" for finding, texts in groups.items())
    share = labels_text(rows["ratio"].iloc[0])
    return f"{share}, {plan.headline.words} minus that of {row_title(plan, reference)} in points: {parts}."


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
