"""What a perfect reader of rhythms has, from shares made by hand and from the simulator's."""

from __future__ import annotations

import pytest

from benchmark.verbs.answers.entries.rhythms import Shown, best_auroc, labelled

AFIB, NOTHING = frozenset({"AFIB"}), frozenset[str]()


def recordings(ill_with: int, ill: int, well_with: int, well: int) -> list[Shown]:
    """Recordings of the class MI with and without AFIB, then of NORM."""
    return [
        *[(frozenset({"MI"}), AFIB)] * ill_with,
        *[(frozenset({"MI"}), NOTHING)] * ill,
        *[(frozenset({"NORM"}), AFIB)] * well_with,
        *[(frozenset({"NORM"}), NOTHING)] * well,
    ]


@pytest.mark.parametrize(("shares", "auroc"), [((8, 92, 0, 100), 0.54), ((5, 95, 5, 95), 0.5), ((0, 10, 10, 0), 1.0)])
def test_the_perfect_reader_has_half_the_difference_of_the_shares(
    shares: tuple[int, int, int, int], auroc: float
) -> None:
    assert best_auroc(recordings(*shares)) == pytest.approx(auroc)


def test_the_shares_and_the_score_are_those_that_the_page_names() -> None:
    found = labelled(2000)
    ill = [findings for classes, findings in found if "NORM" not in classes]
    assert not any(findings for classes, findings in found if "NORM" in classes)
    assert sum(map(bool, ill)) / len(found) == pytest.approx(0.05, abs=0.01)
    assert sum(map(bool, ill)) / len(ill) == pytest.approx(0.08, abs=0.015)
    assert best_auroc(found) == pytest.approx(0.53, abs=0.006)
