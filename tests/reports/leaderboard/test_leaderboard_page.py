"""A board of several submissions: what stands on it, what does not and why, and that nothing of others runs or breaks
it.
"""

from __future__ import annotations

import csv
import re
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import run_benchmark
from benchmark.results.store import NoResults, Plan, Predictions, Row
from reports.__main__ import main
from reports.leaderboard_page import write_leaderboard
from tests.reports.page.conftest import TreeOf

Submit = Callable[[Any], str]


def lines_of(out: Path) -> list[dict[str, str]]:
    with open(out / "leaderboard.csv", newline="") as file:
        return list(csv.DictReader(file))


def overall(out: Path) -> dict[tuple[str, str], dict[str, str]]:
    """(submission, variant) -> line of its Overall."""
    return {(line["submission"], line["variant"]): line for line in lines_of(out) if line["metric"] == "overall"}


def apart(out: Path) -> dict[str, list[tuple[str, str]]]:
    """Submission -> (what, reason) of what is not compared."""
    found: dict[str, list[tuple[str, str]]] = {}
    for line in lines_of(out):
        if line["evaluation"] == "not compared":
            found.setdefault(line["submission"], []).append((line["title"], line["remark"]))
    return found


def test_rows_of_all_submissions_stand_on_one_board_and_are_ranked_where_they_differ(
    submit: Submit, entry: Any, tmp_path: Path
) -> None:
    strong, alike, weak = (
        entry("alice", {"random": 0.0, "pmq": 3.0}),
        entry("bob", {"random": 0.0, "pmq": 3.0}),
        entry("carol", {"random": 0.0, "pmq": 0.5}),
    )
    written = write_leaderboard([submit(own) for own in (strong, alike, weak)], tmp_path / "out")
    assert {file.name for file in written.files} == {"leaderboard.html", "leaderboard.md", "leaderboard.csv"}
    rows = overall(tmp_path / "out")
    assert set(rows) == {("alice and 2 more", "random"), ("alice", "pmq"), ("bob", "pmq"), ("carol", "pmq")}
    assert [(rows[name, "pmq"]["rank_best"], rows[name, "pmq"]["rank_worst"]) for name in ("alice", "bob")] == [
        ("1", "2"),
        ("1", "2"),
    ]
    assert (rows["carol", "pmq"]["rank_best"], rows["carol", "pmq"]["rank_worst"]) == ("3", "3")
    gate = rows["alice and 2 more", "random"]
    assert (gate["gate"], gate["rank_best"]) == ("1", "")
    assert float(rows["alice", "pmq"]["low_percent"]) < float(rows["alice", "pmq"]["mean_percent"])
    assert apart(tmp_path / "out") == {}


def test_a_gate_that_is_refused_does_not_hide_that_of_the_others(submit: Submit, entry: Any, tmp_path: Path) -> None:
    sources = [submit(entry("mallory", alter=better)), submit(entry("alice")), submit(entry("bob"))]
    write_leaderboard(sources, tmp_path / "out")
    assert ("alice and 1 more", "random") in overall(tmp_path / "out")
    assert set(apart(tmp_path / "out")) == {"mallory"}


def test_equal_submissions_have_no_rank(submit: Submit, entry: Any, tmp_path: Path) -> None:
    write_leaderboard([submit(entry("alice")), submit(entry("bob"))], tmp_path / "out")
    rows = overall(tmp_path / "out")
    assert {rows[name, "pmq"]["rank_best"] for name in ("alice", "bob")} == {""}
    assert "0 of 1 pair differ significantly" in (tmp_path / "out" / "leaderboard.md").read_text()


def relabelled(found: Predictions) -> Predictions:
    truth = found.truth.copy()
    truth[:2] = np.roll(truth[:2], 1, axis=1)
    return replace(found, truth=truth)


def other_version(row: Row) -> Row:
    versions = row.provenance["results_versions"] | {"split": 4}
    return replace(row, provenance=row.provenance | {"results_versions": versions})


def other_data(row: Row) -> Row:
    return replace(row, provenance=row.provenance | {"data": {"fingerprint": "fedcba9876543210"}})


def with_signals(**data: Any) -> Callable[[Plan], Plan]:
    return lambda plan: replace(plan, config=plan.config | {"data": plan.config["data"] | data})


def better(row: Row) -> Row:
    scores = {
        unit: {name: min(1.0, (value or 0) + 0.1) for name, value in own.items()} for unit, own in row.scores.items()
    }
    return replace(row, scores=scores)


@pytest.mark.parametrize(
    ("changes", "reason"),
    [
        ({"protocol": "paper"}, "other protocol: paper, here strict"),
        ({"labels": "multi"}, "other labels: multi, here single"),
        (
            {"alter_plan": with_signals(leads=["I", "II"], pool="max")},
            "other signals: leads I II, pool max, here default",
        ),
        ({"cohort": "new"}, "other test windows of PTB-XL; other test windows of Chapman"),
        ({"patients": 50}, "other test windows of PTB-XL; other test windows of Chapman"),
        ({"alter_predictions": relabelled}, "other labels of the test windows of PTB-XL; other labels of the test"),
        ({"ratios": (0.05,)}, "other ratio: 5 % of the labels, here 10 %"),
        ({"datasets": ("ptb-xl",)}, "incomplete: no cells on Chapman"),
        (
            {"skip": lambda cell: (cell.dataset, cell.seed) == ("chapman", 42)},
            "incomplete: 1 of 3 cells on Chapman missing (1 not run)",
        ),
        ({"alter": other_version}, "other results version of split: 4, here 3"),
        ({"alter": other_data}, "other data of PTB-XL (fingerprint fedcba9876543210)"),
        ({"alter": better}, "its stored scores are not those of its predictions"),
        ({"roles": {"pmq": "sweep", "random": "sweep"}}, "no row of a board: sweep rows are about a method"),
    ],
)
def test_what_does_not_compare_is_listed_with_its_reason(
    submit: Submit, entry: Any, tmp_path: Path, changes: dict[str, Any], reason: str
) -> None:
    sources = [submit(entry("alice")), submit(entry("bob")), submit(entry("mallory", **changes))]
    write_leaderboard(sources, tmp_path / "out")
    rows = overall(tmp_path / "out")
    assert {name for name, variant in rows if variant == "pmq"} == {"alice", "bob"}
    (reasons,) = apart(tmp_path / "out").values()
    assert any(found.startswith(reason) for _, found in reasons), reasons
    assert reason in (tmp_path / "out" / "leaderboard.html").read_text()


def test_most_submissions_decide_what_is_compared(submit: Submit, entry: Any, tmp_path: Path) -> None:
    sources = [submit(entry("alice", protocol="paper")), submit(entry("bob")), submit(entry("carol"))]
    write_leaderboard(sources, tmp_path / "out")
    assert apart(tmp_path / "out")["alice"][0][1].startswith("other protocol: paper, here strict")
    write_leaderboard(sources[:2], tmp_path / "out")
    assert set(apart(tmp_path / "out")) == {"bob"}


def test_a_damaged_capsule_is_listed_and_the_others_go_on(submit: Submit, entry: Any, tmp_path: Path) -> None:
    good, bad = submit(entry("alice")), Path(submit(entry("bob")))
    bad.write_bytes(bad.read_bytes()[:-100])
    missing = str(tmp_path / "none.zip")
    written = write_leaderboard([good, str(bad), missing], tmp_path / "out")
    found = apart(tmp_path / "out")
    assert "is no whole results capsule" in found["bob"][0][1]
    assert found["none"] == [("all", "no such file or folder")]
    assert str(tmp_path) not in "".join(file.read_text() for file in written.files)
    assert ("alice", "pmq") in overall(tmp_path / "out")


def test_where_nothing_can_be_read_there_is_no_board(tmp_path: Path) -> None:
    (tmp_path / "bad.zip").write_text("no zip")
    with pytest.raises(NoResults, match=r"no leaderboard of 1 sources, none of which has a result: bad: bad.zip is no"):
        write_leaderboard([str(tmp_path / "bad.zip")], tmp_path / "out")
    assert not (tmp_path / "out").exists()


def test_one_method_of_several_submissions_has_several_rows_and_equal_names_are_numbered(
    submit: Submit, entry: Any, tmp_path: Path
) -> None:
    first = submit(entry("alice"))
    other = tmp_path / "elsewhere" / "alice.zip"
    other.parent.mkdir()
    Path(submit(entry("bob"))).rename(other)
    again = tmp_path / "again.zip"
    again.write_bytes(Path(first).read_bytes())
    write_leaderboard([first, str(other), str(again)], tmp_path / "out")
    assert {name for name, variant in overall(tmp_path / "out") if variant == "pmq"} == {"alice", "alice (2)"}
    assert apart(tmp_path / "out") == {"again": [("all", "the same results as alice")]}


def test_runs_of_other_seeds_compare_by_their_place(submit: Submit, entry: Any, tmp_path: Path) -> None:
    sources = [submit(entry("alice", {"pmq": 3.0})), submit(entry("bob", {"pmq": 0.2}, seeds=(1, 2, 3, 4)))]
    write_leaderboard(sources, tmp_path / "out")
    rows = overall(tmp_path / "out")
    assert (rows["alice", "pmq"]["rank_worst"], rows["bob", "pmq"]["rank_best"]) == ("1", "2")
    assert rows["bob", "pmq"]["seeds"] == "1 2 3 4"


def test_it_says_where_results_come_from_what_they_cost_and_whether_they_are_simulated(
    submit: Submit, entry: Any, tmp_path: Path
) -> None:
    warned = entry("carol", alter_plan=lambda plan: replace(plan, warnings=["test recordings were trained on"]))
    write_leaderboard([submit(entry("alice")), submit(entry("bob")), submit(warned)], tmp_path / "out")
    text = (tmp_path / "out" / "leaderboard.md").read_text()
    for expected in (
        "Simulated ECGs: no ranking of methods follows.",
        "With warnings of their own, in 'Where the results come from': carol.",
        "- Warnings: test recordings were trained on",
        "- Machine: x86_64, 2 threads, float32",
        "- Seeds: 41, 42, 43",
        "- Pretrainings: 3, of seeds 41, 42, 43",
        "- Budget: 12 epochs, equal passes, preset unified",
        "MIMIC-IV-ECG (simulated)",
        "3 seeds, 3 encoders",
        " 1,234 |",
    ):
        assert expected in text, expected
    assert len(re.findall(r"- Code: commit [0-9a-f]{12}\n", text)) == 3


HOSTILE = "</script><script>alert(1)</script><img src=x onerror=alert(1)>\u202e|=1+1"


def hostile_plan(plan: Plan) -> Plan:
    return replace(
        plan,
        config=plan.config | {"name": HOSTILE, HOSTILE: HOSTILE},
        variants=dict.fromkeys(plan.variants, HOSTILE),
        datasets={name: facts | {"title": HOSTILE} for name, facts in plan.datasets.items()},
        pretraining=plan.pretraining | {"title": HOSTILE},
        warnings=[HOSTILE],
    )


def hostile_row(row: Row) -> Row:
    told = {"git": {"commit": HOSTILE}, "device": {"type": "cpu", "name": HOSTILE}, "versions": {HOSTILE: HOSTILE}}
    return replace(row, provenance=row.provenance | told)


def test_hostile_text_stays_text_and_nothing_is_loaded(submit: Submit, entry: Any, tmp_path: Path) -> None:
    hostile = entry("mallory", alter=hostile_row, alter_plan=hostile_plan)
    source = Path(submit(hostile))
    renamed = source.with_name("<b>=1+1.zip")
    source.rename(renamed)
    write_leaderboard([str(renamed), submit(entry("alice"))], tmp_path / "out")
    page = (tmp_path / "out" / "leaderboard.html").read_text()
    tree = TreeOf(page).root
    assert len(tree.all("script")) == 1
    assert tree.all("img") == []
    assert "\u202e" not in page
    assert not re.search(r"(?:https?:)?//[a-z]", page, re.IGNORECASE)
    (policy,) = [meta.attributes["content"] for meta in tree.all("meta") if "http-equiv" in meta.attributes]
    assert policy is not None
    assert policy.startswith("default-src 'none'")
    cells = [cell for line in lines_of(tmp_path / "out") for cell in line.values()]
    assert not [cell for cell in cells if cell.startswith("=")]


def test_the_page_has_every_row_of_every_block_and_sorts(submit: Submit, entry: Any, tmp_path: Path) -> None:
    sources = [submit(entry(name, ratios=(0.3, 0.1))) for name in ("alice", "bob")]
    write_leaderboard(sources, tmp_path / "out", unit="both")
    tree = TreeOf((tmp_path / "out" / "leaderboard.html").read_text()).root
    assert len(tree.all("table")) == 4 + 1  # and costs
    for table in [table for table in tree.all("table") if table.attributes.get("class") == "scores"]:
        rows = [row for row in table.all("tr") if (row.attributes.get("class") or "").startswith("line")]
        assert [row.all("small")[0].text for row in rows] == ["alice and 1 more", "alice", "bob"] or [
            row.all("small")[0].text for row in rows
        ] == ["alice and 1 more", "bob", "alice"]
        assert all(len(row.children) == 3 + 7 for row in rows)
    assert len([b for b in tree.all("button") if "data-sort" in b.attributes]) == 4 * 9


def test_the_same_submissions_give_the_same_bytes(submit: Submit, entry: Any, tmp_path: Path) -> None:
    sources = [submit(entry("alice")), submit(entry("bob"))]
    first = write_leaderboard(sources, tmp_path / "a")
    second = write_leaderboard(sources, tmp_path / "b")
    assert [file.read_bytes() for file in first.files] == [file.read_bytes() for file in second.files]


def test_both_command_lines_print_the_board_and_its_files(
    submit: Submit, entry: Any, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    sources = [submit(entry("alice")), submit(entry("bob", protocol="paper"))]
    flags = ["--results", *sources, "--leaderboard", "--out", str(tmp_path / "out")]
    assert run_benchmark.main(["report", *flags]) == 0
    shown = capsys.readouterr().out
    assert "1 of 2 submissions on the board; 1 line on what does not compare." in shown
    assert "not compared: bob: all: other protocol: paper, here strict" in shown
    assert re.search(r"PMQ +alice +– +\d\d\.\d \[", shown)
    assert f"wrote {tmp_path / 'out' / 'leaderboard.html'}" in shown
    assert main(flags) == 0
    shown = capsys.readouterr()
    assert shown.out.split() == [str(tmp_path / "out" / f"leaderboard.{kind}") for kind in ("md", "csv", "html")]
    assert "not compared: bob: all: other protocol: paper, here strict" in shown.err


@pytest.mark.slow
def test_twenty_capsules_of_the_demos_rows_stay_under_a_megabyte(submit: Submit, entry: Any, tmp_path: Path) -> None:
    """Eight rows on three datasets at two ratios; the page does not grow with seeds and patients."""
    skills = {"random": 0.0, **{f"method-{number}": 1.0 for number in range(7)}}
    shape = {"datasets": ("ptb-xl", "chapman", "cpsc2018"), "ratios": (0.1, 0.01), "seeds": (41,), "patients": 30}
    sources = [submit(entry(f"submission-{number}", skills, **shape)) for number in range(20)]
    written = write_leaderboard(sources, tmp_path / "out")
    assert sum(len(block.rows) for block in written.board.blocks) == 2 * (1 + 20 * 7)
    assert (tmp_path / "out" / "leaderboard.html").stat().st_size < 1_000_000
