"""A store read as a replication of the paper: its cells, its plans taken together, its times, and the joint spread.

The verdicts: what the paper's own cells say of its claims, and what a store must hold to say anything.

`verify-paper` with and without a store: files, lines, and a store read as a replication.

The paper's scores and a store's stand beside each other, on the line of their row.
"""

from __future__ import annotations

import csv
import math
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from matplotlib.figure import Figure

from benchmark.results.names import CARD
from benchmark.results.schema import digest
from benchmark.results.store import Plan, Row, Store, card_bytes
from reports.figures.scores import APART
from reports.paper_claims import PMQ, RULES, Cells, Evidence, Measured, Place, load_claims, printed_cells
from reports.paper_page import (
    REFUTED,
    SUPPORTED,
    UNTESTED,
    VERDICTS,
    Beside,
    Judgement,
    Replication,
    counts,
    judge_paper,
    judge_store,
    load_replication,
    markdown,
    paper_and_store,
    verification,
    verification_sheet,
    verify_paper,
)

WriteStore = Callable[..., Path]


def real(plan: Plan) -> Plan:
    return replace(
        plan,
        datasets={name: facts | {"simulated": False} for name, facts in plan.datasets.items()},
        pretraining=plan.pretraining | {"simulated": False},
    )


def test_a_real_store_is_judged_where_its_cells_reach(write_store: WriteStore) -> None:
    replication = load_replication(write_store(alter_plan=real, complete=True))
    assert not replication.simulated
    cells = replication.evidence.cells
    assert cells[Place("pmq", 0.3, "chapman", "f1")] == pytest.approx((75.0, math.sqrt(2), 2, False))
    assert Place("moco", 0.01, "ptb-xl", "auroc") not in cells  # undefined in every seed


def test_a_grid_run_in_parts_is_read_as_one(write_store: WriteStore) -> None:
    root = write_store()
    store = Store(root)
    whole = store.load_plan()
    (root / "plans" / f"{whole.key}.json").unlink()
    for name, variants in (("first", {"random", "moco"}), ("second", {"pmq", "pmq:w/o mask_t"})):
        store.save_plan(replace(whole, key=name, cells=[cell for cell in whole.cells if cell.variant in variants]))
    other = whole.config | {"encoder": {"hidden": 8}}
    store.save_plan(replace(whole, key="other", config=other, cells=[]))
    store.save_plan(store.load_plan("first"))
    assert {place.variant for place in load_replication(root).evidence.cells} == {
        "random", "moco", "pmq", "pmq:w/o mask_t",
    }  # fmt: skip
    store.save_plan(store.load_plan("other"))
    assert load_replication(root).evidence.cells == {}
    assert "The store has no cell of the paper's tables." in markdown(verification(root))


@pytest.mark.parametrize(
    ("change", "known"),
    [
        ({}, {"pmq": 100.0, "moco": 250.0}),
        ({"device": {"name": "another"}}, {"pmq": 100.0}),
        ({"compiled": True}, {"pmq": 100.0}),
        ({"encoder": {"hidden": 16, "depth": 10, "output": 64}}, {"pmq": 100.0}),
        ({"encoder": {"name": "mine", "hidden": 64, "depth": 10, "output": 320, "source": "0f"}}, {"pmq": 100.0}),
    ],
)
def test_times_compare_on_one_machine_at_the_papers_size(
    write_store: WriteStore, change: dict[str, Any], known: dict[str, float]
) -> None:
    root = write_store()
    card = {"encoder": {"hidden": 64, "depth": 10, "output": 320}, "device": {"name": "one"}, "precision": "float32"}
    for variant, facts in (("pmq", {"seconds": 100.0}), ("moco", {"seconds": 250.0} | change)):
        folder = Store(root).pretrained / digest(variant)
        folder.mkdir(parents=True)
        (folder / CARD).write_bytes(card_bytes(card | facts | {"key": folder.name}))
    assert load_replication(root).evidence.seconds == known


def test_an_encoder_of_another_name_is_a_difference_even_at_the_papers_sizes(write_store: WriteStore) -> None:
    sizes = {"hidden": 64, "depth": 10, "output": 320}
    own = write_store("own", alter_plan=lambda plan: replace(plan, config=plan.config | {"encoder": sizes}))
    named = {"name": "./mine.py"} | sizes
    other = write_store("other", alter_plan=lambda plan: replace(plan, config=plan.config | {"encoder": named}))
    assert not [line for line in load_replication(own).differences if line.startswith("encoder")]
    assert "encoder.name ./mine.py (paper: dilated)" in load_replication(other).differences


def test_times_of_one_variant_on_two_machines_do_not_compare(write_store: WriteStore) -> None:
    def one_run_a_seed(row: Row) -> Row:
        return replace(row, pretrain_key=digest([row.variant, row.seed]))

    root = write_store(alter=one_run_a_seed)
    card = {"encoder": {"hidden": 64, "depth": 10, "output": 320}, "precision": "float32", "seconds": 100.0}
    for variant in ("pmq", "moco"):
        for seed in (41, 42):
            folder = Store(root).pretrained / digest([variant, seed])
            folder.mkdir(parents=True)
            (folder / CARD).write_bytes(card_bytes(card | {"device": f"machine {seed}", "key": folder.name}))
    assert load_replication(root).evidence.seconds == {}


@pytest.mark.parametrize(
    ("ours", "inside"),
    [((57.0, 1.0), True), ((57.2, 0.8), True), ((57.3, 0.8), False), ((54.0, 0.5), False), ((56.0, None), None)],
)
def test_inside_is_within_the_joint_spread(ours: tuple[float, float | None], inside: bool | None) -> None:
    pair = Beside(Place("random", 0.3, "ptb-xl", "f1"), Measured(56.1, 0.8, 5), Measured(*ours, 5))
    assert pair.inside is inside


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


def test_the_paper_alone(tmp_path: Path) -> None:
    _, files = verify_paper(tmp_path / "out")
    assert files == [tmp_path / "out" / "verify-paper.md"]
    text = files[0].read_text()
    for part in (
        "Overall: 39 of 39 follow from their cells.",
        "PMQ is best in 20 of the 27 cells of Table 1, and 21 are bold.",
        "3 differences remain, 1 in favour of PMQ and 2 against it.",
        "repeats row 'Random' of Table 1 in 8 of 9 cells.",
        "Table 1: 24 of 24 Overalls",
        "Table 2: 15 of 15 Overalls",
        "Bold marks: 40 of 42 columns",
        "Chapman F1, 30 % (Table 1): bold is PMQ 86.8, highest is COMET 87.1.",
        "apart in PTB-XL F1, 1 %: 43.7±1.6 and 43.8±1.3",
        "within rounding, in 1 to 6",
        "Against a store: none was given.",
    ):
        assert part in text
    assert text.index("## Verdict") < text.index("## Consistency") < text.index("## Claims against the printed cells")


def test_a_folder_without_results_is_said_and_the_paper_audited(tmp_path: Path) -> None:
    _, files = verify_paper(tmp_path / "out", tmp_path / "nothing")
    assert len(files) == 1
    assert f"Against a store: no results in {tmp_path / 'nothing'}" in files[0].read_text()


def test_a_simulated_store_stands_beside_the_paper_and_settles_nothing(store_root: Path, tmp_path: Path) -> None:
    _, files = verify_paper(tmp_path / "out", store_root)
    names = [f"verify-paper{end}" for end in (".md", ".csv")]
    names += [f"verify-paper-{metric}{end}" for metric in ("f1", "auroc", "acc") for end in (".png", ".pdf")]
    assert [file.name for file in files] == names
    assert all(file.stat().st_size > 0 for file in files)
    text = files[0].read_text()
    assert "Simulated ECGs: these numbers neither support nor refute claims about real ones." in text
    assert "Claims against the store: 0 supported, 0 not supported, 20 cannot be tested (of 20)." in text
    assert "seeds not recorded (paper: [41, 42, 43, 44, 45])" in text
    assert "The store has no such cell." in text
    with files[1].open() as file:
        lines = list(csv.DictReader(file))
    cells = load_replication(store_root).evidence.cells
    assert len(lines) == len(set(cells) & set(printed_cells()))
    first = lines[0]
    assert (first["variant"], first["paper_mean"], first["store_seeds"]) == ("random", "56.0", "2")
    assert float(first["store_mean"]) == pytest.approx(50.0)
    assert float(first["difference"]) == pytest.approx(-6.0)
    assert first["inside_joint_spread"] == "0"


def test_damaged_rows_are_named(store_root: Path) -> None:
    victim = Store(store_root).load_plan().cells[0].key
    (store_root / "cells" / f"{victim}.json").write_text("{")
    assert any(victim in problem for problem in load_replication(store_root).damaged)
    assert f"{victim}.json" in markdown(verification(store_root))


def test_a_terminal_shows_every_claim_under_its_verdict(store_root: Path) -> None:
    above = verification_sheet(verification(store_root)).above
    assert above[1] == ("Verdict", "title")
    verdicts = [place for place, (text, _) in enumerate(above) if text in VERDICTS]
    assert len(verdicts) == 2 * 20
    assert all(above[place + 1][0].startswith("  ") for place in verdicts)


def test_the_same_store_gives_the_same_bytes(write_store: WriteStore, tmp_path: Path) -> None:
    def slower(row: Row) -> Row:
        return replace(row, training=row.training | {"seconds": 99.0})

    one = verify_paper(tmp_path / "a", write_store("one", complete=True))[1]
    other = verify_paper(tmp_path / "b", write_store("two", complete=True, backwards=True, alter=slower))[1]
    assert [file.read_bytes() for file in one] == [file.read_bytes() for file in other]


def pair(variant: str, ratio: float, paper: float, ours: float, std: float | None = 1.0) -> Beside:
    return Beside(Place(variant, ratio, "chapman", "f1"), Measured(paper, 0.5, 5), Measured(ours, std, 5))


def test_paper_and_store_stand_on_the_line_of_their_row(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    drawn: list[Figure] = []
    save = Figure.savefig
    monkeypatch.setattr(Figure, "savefig", lambda figure, *a, **k: (drawn.append(figure), save(figure, *a, **k))[1])
    pairs = [pair("random", 0.3, 86.6, 80.0), pair("pmq", 0.3, 86.8, 88.0, None), pair("pmq", 0.01, 82.9, 84.0)]
    files = paper_and_store(pairs, tmp_path / "beside", simulated=True)
    assert [file.name for file in files] == ["beside.png", "beside.pdf"]
    assert [file.read_bytes()[:4] for file in files] == [b"\x89PNG", b"%PDF"]
    upper, lower = drawn[0].axes
    assert [upper.get_title(), lower.get_title()] == ["Chapman, 30 %", "Chapman, 1 %"]
    assert [label.get_text() for label in upper.get_yticklabels()] == ["Random", "PMQ"]
    points = {container.get_label(): container.lines[0].get_xydata() for container in upper.containers}
    np.testing.assert_allclose(points["paper"], [[86.6, -APART], [86.8, 1 - APART]])
    np.testing.assert_allclose(points["store"], [[80.0, APART], [88.0, 1 + APART]])
    assert "simulated ECGs" in " ".join(drawn[0].get_supxlabel().split())
    assert len(drawn[0].legends[0].get_texts()) == 2
