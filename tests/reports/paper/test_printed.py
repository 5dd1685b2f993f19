"""The printed tables as data, and what they say when held against themselves."""

from __future__ import annotations

import csv
from collections import Counter
from pathlib import Path

import pytest

from reports.paper import printed as paper
from reports.paper.printed import PMQ, RANDOM, WITHOUT_NEIGHBOUR, Measured, Place

NAMES = {"PTB-XL": "ptb-xl", "Chapman": "chapman", "CPSC2018": "cpsc2018", "Overall": "overall"}


def rivals() -> list[str]:
    return [variant for variant in paper.methods_of(1) if variant != PMQ]


@pytest.mark.parametrize(("number", "numbers", "bold"), [(1, 240, 30), (2, 60, 12)])
def test_tables_are_complete(number: int, numbers: int, bold: int) -> None:
    cells = paper.load_table(number)
    assert len(cells) == numbers
    assert sum(cell.bold for cell in cells.values()) == bold
    assert {place.variant for place in cells} <= set(paper.ROW_TITLES)
    assert all((cell.std is None) == (place.dataset == "overall") for place, cell in cells.items())
    assert all(0 < cell.mean < 100 for cell in cells.values())


def test_table_1_is_the_reference(shared_reference: Path) -> None:
    with (shared_reference / "paper_table1.csv").open() as file:
        expected = {
            (line["method"].lower(), int(line["ratio"]) / 100, NAMES[line["dataset"]], line["metric"].lower()): (
                float(line["mean"]),
                float(line["std"]) if line["std"] else None,
            )
            for line in csv.DictReader(file)
        }
    assert {tuple(place): cell[:2] for place, cell in paper.load_table(1).items()} == expected


def test_table_2_is_the_reference(shared_reference: Path) -> None:
    with (shared_reference / "paper_table2.csv").open() as file:
        expected = {
            (
                PMQ if line["ablation"] == "All" else f"pmq:{line['ablation']}",
                int(line["ratio"]) / 100,
                NAMES[line["dataset"]],
                "f1",
            ): (float(line["mean"]), float(line["std"]) if line["std"] else None)
            for line in csv.DictReader(file)
        }
    assert {tuple(place): cell[:2] for place, cell in paper.load_table(2).items()} == expected


def test_the_cells_are_those_of_both_tables_once() -> None:
    cells = paper.printed_cells()
    assert len(cells) == 8 * 27 + 4 * 9
    assert str(cells[Place(PMQ, 0.3, "ptb-xl", "f1")]) == "56.1±0.1"
    assert str(cells[Place("pmq:w/o queue", 0.01, "chapman", "f1")]) == "79.7±0.3"


@pytest.mark.parametrize(("table", "number", "largest"), [(1, 24, 0.044), (2, 15, 0.033)])
def test_every_overall_follows_from_its_cells(table: int, number: int, largest: float) -> None:
    found = paper.overalls(table)
    assert len(found) == number
    assert max(derived.gap for derived in found) == pytest.approx(largest, abs=5e-4)


def test_a_wrong_overall_is_found(monkeypatch: pytest.MonkeyPatch) -> None:
    place = Place("moco", 0.1, "overall", "overall")
    wrong = paper.load_table(1) | {place: Measured(74.3, None, 5)}
    monkeypatch.setattr(paper, "load_table", lambda number: wrong)
    assert [derived.place for derived in paper.overalls(1) if derived.gap > paper.HALF_STEP] == [place]


def test_two_bold_marks_are_not_on_the_highest() -> None:
    wrong = paper.wrong_marks()
    assert [(column.table, column.place, column.bold) for column in wrong] == [
        (1, Place("comet", 0.3, "chapman", "f1"), (PMQ,)),
        (2, Place("pmq:w/o mask_f", 0.3, "chapman", "f1"), (PMQ,)),
    ]
    assert sum(len(paper.columns(table)) for table in (1, 2)) == 30 + 12


def test_pmq_is_best_in_20_of_27_though_21_are_bold() -> None:
    cells = paper.printed_cells()
    own = [place for place in cells if place.variant == PMQ]
    assert paper.ranks(cells, own, rivals()) == Counter({1: 20, 2: 6, 3: 1})
    by_ratio = [paper.ranks(cells, [p for p in own if p.ratio == ratio], rivals())[1] for ratio in paper.RATIOS]
    assert by_ratio == [7, 7, 6]
    assert sum(cells[place].bold for place in own) == 21


def test_a_tie_shares_the_better_rank() -> None:
    places = [Place(variant, 0.1, "chapman", "f1") for variant in ("a", "b", "c")]
    cells = {place: Measured(mean, 1.0, 5) for place, mean in zip(places, (80.0, 80.0, 81.0), strict=True)}
    assert paper.ranks(cells, places[:1], ["b", "c"]) == Counter({2: 1})


def test_without_neighbour_repeats_random_in_8_of_9() -> None:
    found = paper.links(2, WITHOUT_NEIGHBOUR, 1, RANDOM)
    assert len(found) == 9
    (apart,) = [link for link in found if not link.same]
    assert apart.place == Place(WITHOUT_NEIGHBOUR, 0.01, "ptb-xl", "f1")
    assert (str(apart.first), str(apart.second)) == ("43.7±1.6", "43.8±1.3")


def test_all_of_table_2_is_ours_of_table_1_and_no_other_ablation_is_random() -> None:
    assert sum(link.same for link in paper.links(2, PMQ, 1, PMQ)) == 9
    assert sum(link.same for link in paper.links(2, "pmq:w/o queue", 1, RANDOM)) == 0


def test_six_pretrained_rows_are_not_above_random() -> None:
    assert [(derived.place.variant, derived.place.ratio) for derived in paper.not_above_random()] == [
        ("clocs", 0.3), ("etp", 0.3), ("clocs", 0.1), ("comet", 0.1), ("pclr", 0.01), ("comet", 0.01),
    ]  # fmt: skip
