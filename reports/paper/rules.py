"""The rules of the verdicts: each judges one kind of claim by the cells of a table, printed or measured.

A rule is a pure function of a claim and its evidence, which has every cell of the claim. It judges by the means, as
the paper does; its numbers add a 95 % interval, or the count of cells with a Welch p below 0.05 (not adjusted).
"""

from __future__ import annotations

import math
from collections.abc import Callable
from itertools import pairwise
from typing import NamedTuple

from reports.paper.claims import COST_RULE, Claim, Evidence, title_of
from reports.paper.printed import DATASETS, ranks
from reports.paper.welch import ALPHA, Difference, compare

PRINTED_STEP = 0.1
"""The last printed decimal: numbers that differ by no more agree."""
TINY = 1e-9
"""Tolerance in points of equal means: sums of decimals are not exact."""


class Finding(NamedTuple):
    """The result of a rule; `holds` is None where the numbers are inconclusive."""

    holds: bool | None
    numbers: str


def overall_above(claim: Claim, evidence: Evidence) -> Finding:
    """The subject's Overall is above every rival's at every ratio."""
    rivals = [strongest(claim, evidence, ratio) for ratio in claim.ratios]
    found = [difference(claim, evidence, rival, ratio) for rival, ratio in zip(rivals, claim.ratios, strict=True)]
    shown = [
        f"{percent(ratio)} {evidence.overall(claim, claim.subject, ratio):.1f} against "
        f"{evidence.overall(claim, rival, ratio):.1f} ({title_of(rival)}), {interval(points)}"
        for rival, ratio, points in zip(rivals, claim.ratios, found, strict=True)
    ]
    return Finding(all(points.points > TINY for points in found), "; ".join(shown))


def best_cells(claim: Claim, evidence: Evidence) -> Finding:
    """The subject is best, alone or with others, in as many cells as the figure says."""
    counted = ranks(evidence.cells, claim.places(claim.subject), claim.rivals)
    return Finding(counted[1] == claim.figures[0], f"best in {counted[1]} of {counted.total()}")


def second_elsewhere(claim: Claim, evidence: Evidence) -> Finding:
    """The subject is second in as many cells as the figure says, and never lower."""
    counted = ranks(evidence.cells, claim.places(claim.subject), claim.rivals)
    below = counted.total() - counted[1] - counted[2]
    return Finding(counted[2] == claim.figures[0] and not below, f"second in {counted[2]}, third or lower in {below}")


def every_cell(claim: Claim, evidence: Evidence) -> Finding:
    """The subject is above each rival in every cell."""
    above, total, numbers = count_above(claim, evidence)
    return Finding(above == total, numbers)


def mostly_above(claim: Claim, evidence: Evidence) -> Finding:
    """The subject is above its rivals in more than half of the cells."""
    above, total, numbers = count_above(claim, evidence)
    return Finding(2 * above > total, numbers)


def lowest(claim: Claim, evidence: Evidence) -> Finding:
    """The subject is below every rival in every cell."""
    places = claim.places(claim.subject)
    counted = sum(
        all(evidence.cells[place].mean < evidence.cells[place._replace(variant=rival)].mean for rival in claim.rivals)
        for place in places
    )
    return Finding(counted == len(places), f"lowest in {counted} of {len(places)}")


def rising(claim: Claim, evidence: Evidence) -> Finding:
    """In every cell the means of the rivals, in their order, and the subject do not fall, and rise overall."""
    holds, shown = True, []
    for place in claim.places(claim.subject):
        means = [evidence.cells[place._replace(variant=v)].mean for v in (*claim.rivals, claim.subject)]
        holds &= means[-1] > means[0] and all(later >= earlier for earlier, later in pairwise(means))
        shown.append(f"{DATASETS[place.dataset]} {', '.join(f'{mean:.1f}' for mean in means)}")
    return Finding(holds, "; ".join(shown))


def relative_gain(claim: Claim, evidence: Evidence) -> Finding:
    """The first rival is the strongest at every ratio, and the mean relative gain over it is the figure, in percent."""
    named = claim.rivals[0]
    best = [strongest(claim, evidence, ratio) for ratio in claim.ratios]
    gains, shown = [], []
    for ratio, rival in zip(claim.ratios, best, strict=True):
        own, other = (evidence.overall(claim, variant, ratio) for variant in (claim.subject, named))
        gains.append(100 * (own / other - 1))
        shown.append(
            f"{percent(ratio)} {gains[-1]:.2f} % or {own - other:.2f} points over {title_of(named)}"
            + (f", strongest is {title_of(rival)}" if rival != named else "")
        )
    agrees = abs(sum(gains) / len(gains) - claim.figures[0]) <= PRINTED_STEP
    return Finding(agrees and set(best) == {named}, "; ".join(shown))


def smallest_loss(claim: Claim, evidence: Evidence) -> Finding:
    """From the first to the last ratio the subject's Overall falls by less than any rival's."""
    first, last = claim.ratios[0], claim.ratios[-1]
    loss = {
        variant: evidence.overall(claim, variant, first) - evidence.overall(claim, variant, last)
        for variant in (claim.subject, *claim.rivals)
    }
    order = sorted(loss, key=loss.__getitem__)
    shown = ", ".join(f"{title_of(variant)} {loss[variant]:.1f}" for variant in order)
    return Finding(order[0] == claim.subject, f"points lost: {shown}")


def gain(claim: Claim, evidence: Evidence) -> Finding:
    """The subject's Overall is above the rival's by the figure at each ratio.

    Printed numbers must agree to the last decimal. Measured ones agree where the intervals contain the figures and
    exclude 0, disagree where one does not contain its figure, and are inconclusive otherwise.
    """
    found, numbers = gains_of(claim, evidence)
    if evidence.printed:
        near = all(abs(d.points - figure) <= PRINTED_STEP for d, figure in zip(found, claim.figures, strict=True))
        return Finding(near, numbers)
    if any(math.isnan(d.low) for d in found):
        return Finding(None, numbers)
    if not all(d.low <= figure <= d.high for d, figure in zip(found, claim.figures, strict=True)):
        return Finding(False, numbers)
    return Finding(True if all(d.low > 0 for d in found) else None, numbers)


def rising_gain(claim: Claim, evidence: Evidence) -> Finding:
    """The subject's Overall is above the rival's at each ratio, by a margin that rises from ratio to ratio."""
    found, numbers = gains_of(claim, evidence)
    rises = all(later.points > earlier.points for earlier, later in pairwise(found))
    return Finding(rises and found[0].points > TINY, numbers)


def cheaper(claim: Claim, evidence: Evidence) -> Finding:
    """The subject's pretraining takes less time than the rival's."""
    own, other = (evidence.seconds[variant] for variant in (claim.subject, claim.rivals[0]))
    shown = f"{title_of(claim.subject)} {own:.0f} s, {title_of(claim.rivals[0])} {other:.0f} s"
    return Finding(own < other, f"{shown}: {other / own:.2f} times as long")


RULES: dict[str, Callable[[Claim, Evidence], Finding]] = {
    "overall_above": overall_above,
    "best_cells": best_cells,
    "second_elsewhere": second_elsewhere,
    "every_cell": every_cell,
    "mostly_above": mostly_above,
    "lowest": lowest,
    "rising": rising,
    "relative_gain": relative_gain,
    "smallest_loss": smallest_loss,
    "gain": gain,
    "rising_gain": rising_gain,
    COST_RULE: cheaper,
}


def strongest(claim: Claim, evidence: Evidence, ratio: float) -> str:
    """The rival with the highest Overall."""
    return max(claim.rivals, key=lambda rival: evidence.overall(claim, rival, ratio))


def difference(claim: Claim, evidence: Evidence, rival: str, ratio: float) -> Difference:
    """Overall of the subject minus a rival's, in points."""
    return compare(evidence.by_dataset(claim, claim.subject, ratio), evidence.by_dataset(claim, rival, ratio))


def gains_of(claim: Claim, evidence: Evidence) -> tuple[list[Difference], str]:
    """The subject minus its only rival at each ratio, and the same as text."""
    found = [difference(claim, evidence, claim.rivals[0], ratio) for ratio in claim.ratios]
    shown = [f"{percent(ratio)} {interval(points)}" for ratio, points in zip(claim.ratios, found, strict=True)]
    return found, "; ".join(shown)


def count_above(claim: Claim, evidence: Evidence) -> tuple[int, int, str]:
    """Comparisons of a cell with a rival's: those the subject wins, all, and text with the significant ones."""
    found = [
        compare([evidence.cells[place]], [evidence.cells[place._replace(variant=rival)]])
        for rival in claim.rivals
        for place in claim.places(claim.subject)
    ]
    above = sum(d.points > TINY for d in found)
    told = sum(d.points > TINY and d.p < ALPHA for d in found)
    against = sum(d.points < -TINY and d.p < ALPHA for d in found)
    told_apart = f"{told} of them with p < {ALPHA:g}" + (f", {against} the other way" if against else "")
    return above, len(found), f"above in {above} of {len(found)}, {told_apart}"


def percent(ratio: float) -> str:
    """0.3 -> '30 %:'."""
    return f"{100 * ratio:g} %:"


def interval(found: Difference) -> str:
    """'+0.57 [-0.24, 1.38]', or the points alone for a single seed."""
    if math.isnan(found.low):
        return f"{found.points:+.2f} (no interval: one seed)"
    return f"{found.points:+.2f} [{found.low:.2f}, {found.high:.2f}]"
