"""The verdicts: what the paper's own cells say of its claims, and what a store must hold to say anything."""

from __future__ import annotations

from dataclasses import replace

import pytest

from reports.paper.claims import COST_RULE, Evidence, load_claims
from reports.paper.printed import PMQ, Cells, Measured, Place, printed_cells
from reports.paper.replication import Replication
from reports.paper.rules import RULES
from reports.paper.verdicts import (
    REFUTED,
    SUPPORTED,
    UNTESTED,
    Judgement,
    command_for,
    counts,
    judge_paper,
    judge_store,
)

SIZES = (1024, 2048, 4096, 8192, 16384)


def by_id(judgements: list[Judgement]) -> dict[str, Judgement]:
    return {judgement.claim.id: judgement for judgement in judgements}


def store(cells: Cells, seconds: dict[str, float] | None = None, *, simulated: bool = False) -> Replication:
    return Replication(Evidence(cells, seconds or {}, printed=False), simulated, ())


def with_queues(first: float = 55.0) -> dict[Place, Measured]:
    """The printed cells, and queue sizes whose F1 at 1 % rises by a point each."""
    sizes = {
        Place(f"pmq:queue_size={size}", 0.01, dataset, "f1"): Measured(first + step, 0.5, 5)
        for step, size in enumerate(SIZES)
        for dataset in ("ptb-xl", "chapman", "cpsc2018")
    }
    return printed_cells() | sizes


def altered(variant: str, points: float, cells: Cells | None = None) -> dict[Place, Measured]:
    """Cells with one variant moved."""
    return {
        place: cell._replace(mean=cell.mean + points) if place.variant == variant else cell
        for place, cell in (cells or printed_cells()).items()
    }


def test_every_claim_can_be_judged_and_every_rule_is_used() -> None:
    claims = load_claims()
    assert len({claim.id for claim in claims}) == len(claims) == 20
    assert {claim.rule for claim in claims} == set(RULES)
    assert all(claim.lines and claim.text and claim.rivals for claim in claims)


def test_the_paper_on_its_own_claims() -> None:
    verdicts = {name: judgement.verdict for name, judgement in by_id(judge_paper()).items()}
    assert {name for name, verdict in verdicts.items() if verdict == REFUTED} == {
        "best-count", "second-elsewhere", "consistent", "pclr-margin", "least-loss", "neighbour",
    }  # fmt: skip
    assert {name for name, verdict in verdicts.items() if verdict == UNTESTED} == {
        "comet-cost", "queue-size", "queue-1024",
    }  # fmt: skip
    assert counts(judge_paper()) == {SUPPORTED: 11, REFUTED: 6, UNTESTED: 3}


@pytest.mark.parametrize(
    ("claim", "numbers"),
    [
        ("overall", "1 %: 68.8 against 68.6 (ETP), +0.26 [-0.59, 1.11]"),
        ("best-count", "best in 20 of 27"),
        ("second-elsewhere", "second in 6, third or lower in 1"),
        ("consistent", "above in 130 of 135"),
        ("byol-margin", "1.55 % or 1.20 points over BYOL"),
        ("pclr-margin", "10 %: 1.80 % or 1.34 points over PCLR, strongest is BYOL"),
        ("least-loss", "ETP 6.8, CLOCS 9.2, PMQ 9.7"),
        ("queue-gains", "30 %: +0.57 [0.06, 1.07]; 10 %: +1.10 [0.41, 1.79]; 1 %: +2.53 [1.53, 3.54]"),
        ("neighbour", "lowest in 6 of 9"),
        ("mask-f", "above in 7 of 9, 2 of them with p < 0.05, 2 the other way"),
        ("comet-cost", "the paper prints no pretraining time of COMET"),
        ("queue-1024", "the paper prints no number of PMQ queue_size=1024"),
    ],
)
def test_the_numbers_are_given(claim: str, numbers: str) -> None:
    assert numbers in by_id(judge_paper())[claim].text


def test_remarks_name_numbers_of_the_tables() -> None:
    """The remark on the queue of 1024 says what the printed rows give without a queue."""
    claim = by_id(judge_paper())["queue-1024"].claim
    evidence = Evidence(printed_cells(), {}, printed=True)
    variants = ("pmq:w/o queue", "clocs", "pclr", "comet")
    shown = [f"{evidence.overall(claim, variant, 0.01):.1f}" for variant in variants]
    assert "({} against {}, {} and {})".format(*shown) in claim.remark


def test_a_store_that_repeats_the_paper_is_judged_like_it() -> None:
    ours, papers = by_id(judge_store(store(with_queues()))), by_id(judge_paper())
    for name, judgement in papers.items():
        if judgement.verdict != UNTESTED:
            assert ours[name].verdict == judgement.verdict, name
    assert ours["queue-size"].verdict == ours["queue-1024"].verdict == SUPPORTED


def test_simulated_ecgs_settle_nothing_but_the_cost() -> None:
    seconds = {"pmq": 100.0, "comet": 250.0}
    found = by_id(judge_store(store(with_queues(), seconds, simulated=True)))
    assert found.pop("comet-cost").verdict == SUPPORTED
    assert {judgement.verdict for judgement in found.values()} == {UNTESTED}
    assert found["overall"].text.startswith("simulated data; 30 %: 78.6 against 77.4 (BYOL)")


def test_what_is_missing_is_named_with_its_command() -> None:
    cells = {place: cell for place, cell in printed_cells().items() if place.variant in ("pmq", "moco")}
    found = by_id(judge_store(store(cells)))
    assert found["moco"].verdict == SUPPORTED
    assert found["etp"].text == "needs all cells of ETP: python run_benchmark.py --config paper --data-root DIR"
    assert found["queue-rising"].text.endswith("of w/o queue: python run_benchmark.py --config paper --data-root DIR "
                                               "--ablations")  # fmt: skip
    assert found["queue-size"].text.endswith("--queue-sizes 1024 2048 4096 8192 16384")
    assert "on one machine, of PMQ, COMET" in found["comet-cost"].text


def test_one_missing_cell_leaves_a_claim_untested() -> None:
    cells = printed_cells()
    del cells[Place("moco", 0.1, "chapman", "auroc")]
    found = by_id(judge_store(store(cells)))
    assert found["moco"].verdict == UNTESTED
    assert found["queue-gains"].verdict != UNTESTED


@pytest.mark.parametrize(
    ("claim", "variant", "points", "verdict"),
    [
        ("overall", PMQ, -2.0, REFUTED),
        ("best-count", PMQ, 9.0, REFUTED),
        ("second-elsewhere", PMQ, -9.0, REFUTED),
        ("consistent", PMQ, 9.0, SUPPORTED),
        ("byol-margin", "byol", -1.0, REFUTED),
        ("byol-margin", "moco", 1.0, REFUTED),
        ("pclr-margin", "pclr", 9.0, REFUTED),
        ("etp", "etp", 1.0, REFUTED),
        ("moco", "moco", 1.0, REFUTED),
        ("queue-gains", "pmq:w/o queue", -9.0, REFUTED),
        ("queue-rising", "pmq:w/o queue", 0.6, REFUTED),
        ("queue-all-datasets", "pmq:w/o queue", 2.0, REFUTED),
        ("queue-size", "pmq:queue_size=2048", -1.5, REFUTED),
        ("queue-1024", "clocs", 9.0, REFUTED),
        ("neighbour", "pmq:w/o neighbor", -9.0, SUPPORTED),
        ("mask-t", "pmq:w/o mask_t", 9.0, REFUTED),
        ("mask-f", "pmq:w/o mask_f", 9.0, REFUTED),
        ("chapman-mask-f", "pmq:w/o mask_f", -2.0, REFUTED),
    ],
)
def test_a_verdict_turns_with_the_numbers(claim: str, variant: str, points: float, verdict: str) -> None:
    assert by_id(judge_store(store(altered(variant, points, with_queues()))))[claim].verdict == verdict


def test_a_smaller_loss_than_all_rivals_supports_robustness() -> None:
    cells = {p: c._replace(mean=c.mean + 5) if p[:2] == (PMQ, 0.01) else c for p, c in printed_cells().items()}
    assert by_id(judge_store(store(cells)))["least-loss"].verdict == SUPPORTED


def test_second_in_five_is_not_enough_where_it_is_third_in_one() -> None:
    cells = printed_cells()
    place = Place("comet", 0.3, "chapman", "f1")
    found = by_id(judge_store(store(cells | {place: cells[place]._replace(mean=80.0)})))["second-elsewhere"]
    assert (found.numbers, found.verdict) == ("second in 5, third or lower in 1", REFUTED)


def test_a_gain_must_rise_at_every_step() -> None:
    cells = {
        place: cell._replace(mean=cell.mean + 1.6) if place[:2] == ("pmq:w/o queue", 0.01) else cell
        for place, cell in printed_cells().items()
    }
    assert by_id(judge_store(store(cells)))["queue-rising"].verdict == REFUTED


@pytest.mark.parametrize(("other", "verdict"), [(250.0, SUPPORTED), (50.0, REFUTED)])
def test_cost_is_judged_by_seconds(other: float, verdict: str) -> None:
    assert by_id(judge_store(store({}, {"pmq": 100.0, "comet": other})))["comet-cost"].verdict == verdict


@pytest.mark.parametrize("std", [None, 9.0])
def test_a_figure_is_left_open_where_seeds_cannot_tell(std: float | None) -> None:
    cells = {
        place: cell._replace(std=std, seeds=1 if std is None else 5) for place, cell in printed_cells().items()
    }  # fmt: skip
    found = by_id(judge_store(store(cells)))
    assert found["queue-gains"].verdict == UNTESTED
    assert "more seeds" in found["queue-gains"].reason
    assert found["queue-rising"].verdict == SUPPORTED


def test_the_command_names_each_queue_size_once_in_order() -> None:
    command = command_for(["pmq:queue_size=4096", "pmq:queue_size=1024", "clocs"])
    assert command.endswith("--data-root DIR --queue-sizes 1024 4096")


def test_a_cost_needs_no_cell() -> None:
    (claim,) = [claim for claim in load_claims() if claim.rule == COST_RULE]
    assert Evidence({}, {"pmq": 1.0, "comet": 2.0}, printed=False).lacking(claim) == ()
    assert Evidence(printed_cells(), {}, printed=False).lacking(claim) == ("pmq", "comet")
    assert replace(claim, rule="every_cell").places(PMQ)[0] == Place(PMQ, 0.3, "ptb-xl", "f1")
