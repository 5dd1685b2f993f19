"""A board of several submissions: what stands on it, what does not and why, and that nothing of others runs or breaks
it.
"""

from __future__ import annotations

import csv
import re
import shutil
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import run_benchmark
from benchmark.results.reruns import Rerun, drawn, save_rerun
from benchmark.results.schema import digest
from benchmark.results.store import NoResults, Plan, Predictions, Row, Store
from reports.__main__ import main
from reports.leaderboard_page import write_leaderboard
from reports.open import digest_of
from tests.reports.leaderboard.conftest import Entry
from tests.reports.page.conftest import TreeOf

Submit = Callable[[Entry], str]


def lines_of(out: Path) -> list[dict[str, str]]:
    with open(out / "leaderboard.csv", newline="") as file:
        return list(csv.DictReader(file))


def overall(out: Path, unit: str = "recording") -> dict[tuple[str, str], dict[str, str]]:
    """(submission, variant) -> line of its Overall at 10 % of the labels."""
    return {
        (line["submission"], line["variant"]): line
        for line in lines_of(out)
        if (line["metric"], line["unit"], line["ratio"]) == ("overall", unit, "0.1")
    }


def apart(out: Path) -> dict[str, list[tuple[str, str]]]:
    """Submission -> (what, reason) of what is not compared."""
    found: dict[str, list[tuple[str, str]]] = {}
    for line in lines_of(out):
        if line["evaluation"] == "not compared":
            found.setdefault(line["submission"], []).append((line["title"], line["remark"]))
    return found


def test_a_seed_of_several_labelled_subsets_counts_once_on_the_board(submit: Submit, tmp_path: Path) -> None:
    def twice(plan: Plan) -> Plan:
        more = [replace(cell, subset=1, key=digest([cell.key, 1])) for cell in plan.cells]
        return replace(plan, cells=[*plan.cells, *more])

    write_leaderboard([submit(Entry("twice", alter_plan=twice))], tmp_path, unit="recording")
    assert apart(tmp_path) == {}
    assert overall(tmp_path)["twice", "pmq"]["seeds"] == "41 42 43"


def test_rows_of_all_submissions_stand_on_one_board_and_are_ranked_where_they_differ(
    submit: Submit, tmp_path: Path
) -> None:
    skills, both = {"random": 0.0, "pmq": 3.0}, (0.3, 0.1)
    warned: Callable[[Plan], Plan] = lambda plan: replace(plan, warnings=["test recordings were trained on"])  # noqa: E731
    sources = [
        submit(Entry("alice", skills, ratios=both)),
        submit(Entry("bob", skills, ratios=both)),
        submit(Entry("carol", {"random": 0.0, "pmq": 0.5}, ratios=both, alter_plan=warned)),
    ]
    out = tmp_path / "out"
    written = write_leaderboard(sources, out, unit="both")
    assert {file.name for file in written.files} == {"leaderboard.html", "leaderboard.md", "leaderboard.csv"}
    assert apart(out) == {}
    rows = overall(out)
    assert {place: (row["rank_best"], row["rank_worst"], row["gate"]) for place, row in rows.items()} == {
        ("alice and 2 more", "random"): ("", "", "1"),
        ("alice", "pmq"): ("1", "2", "0"),
        ("bob", "pmq"): ("1", "2", "0"),
        ("carol", "pmq"): ("3", "3", "0"),
    }
    assert float(rows["alice", "pmq"]["low_percent"]) < float(rows["alice", "pmq"]["mean_percent"])

    text = (out / "leaderboard.md").read_text()
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

    tree = TreeOf((out / "leaderboard.html").read_text()).root
    assert len(tree.all("table")) == 4 + 1  # and costs
    for table in [table for table in tree.all("table") if table.attributes.get("class") == "scores"]:
        lines = [row for row in table.all("tr") if (row.attributes.get("class") or "").startswith("line")]
        first, *others, last = [row.all("small")[0].text for row in lines]
        assert (first, set(others), last) == ("alice and 2 more", {"alice", "bob"}, "carol")
        assert all(len(row.children) == 3 + 7 for row in lines)
    assert len([b for b in tree.all("button") if "data-sort" in b.attributes]) == 4 * 9

    again = write_leaderboard(sources, tmp_path / "again", unit="both")
    assert [file.read_bytes() for file in again.files] == [file.read_bytes() for file in written.files]


def test_equal_submissions_have_no_rank(submit: Submit, tmp_path: Path) -> None:
    write_leaderboard([submit(Entry("alice")), submit(Entry("bob"))], tmp_path)
    rows = overall(tmp_path)
    assert {rows[name, "pmq"]["rank_best"] for name in ("alice", "bob")} == {""}
    assert "0 of 1 pair differ significantly" in (tmp_path / "leaderboard.md").read_text()


def test_runs_of_other_seeds_compare_by_their_place(submit: Submit, tmp_path: Path) -> None:
    sources = [submit(Entry("alice", {"pmq": 3.0})), submit(Entry("bob", {"pmq": 0.2}, seeds=(1, 2, 3, 4)))]
    write_leaderboard(sources, tmp_path)
    rows = overall(tmp_path)
    assert (rows["alice", "pmq"]["rank_worst"], rows["bob", "pmq"]["rank_best"]) == ("1", "2")
    assert rows["bob", "pmq"]["seeds"] == "1 2 3 4"


def relabelled(found: Predictions) -> Predictions:
    truth = found.truth.copy()
    truth[:2] = np.roll(truth[:2], 1, axis=1)
    return replace(found, truth=truth)


def other_version(row: Row) -> Row:
    versions = row.provenance["results_versions"] | {"split": 4}
    return replace(row, provenance=row.provenance | {"results_versions": versions})


def other_data(row: Row) -> Row:
    return replace(row, provenance=row.provenance | {"data": {"fingerprint": "fedcba9876543210"}})


def other_signals(plan: Plan) -> Plan:
    return replace(plan, config=plan.config | {"data": plan.config["data"] | {"leads": ["I", "II"], "pool": "max"}})


def better(row: Row) -> Row:
    scores = {
        unit: {name: min(1.0, (value or 0) + 0.1) for name, value in own.items()} for unit, own in row.scores.items()
    }
    return replace(row, scores=scores)


OTHERS: list[tuple[dict[str, Any], str]] = [
    ({"protocol": "paper"}, "other protocol: paper, here strict"),
    ({"labels": "multi"}, "other labels: multi, here single"),
    ({"alter_plan": other_signals}, "other signals: leads I II, pool max, here default"),
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
]
"""What a submission has otherwise than most, and the reason that the board gives."""


def test_what_does_not_compare_is_listed_with_its_reason(submit: Submit, tmp_path: Path) -> None:
    """A gate of a submission that is refused does not hide that of the others either."""
    others = {f"mallory-{number}": (Entry(f"mallory-{number}", **own), why) for number, (own, why) in enumerate(OTHERS)}
    sources = [submit(entry) for entry, _ in others.values()]
    write_leaderboard([*sources, submit(Entry("alice")), submit(Entry("bob"))], tmp_path)
    rows, listed = overall(tmp_path), apart(tmp_path)
    assert {name for name, variant in rows if variant == "pmq"} == {"alice", "bob"}
    assert {name for name, variant in rows if variant == "random"} == {"mallory-12 and 2 more"}  # its gate compares
    assert listed.keys() == others.keys()
    page = (tmp_path / "leaderboard.html").read_text()
    for name, (_, reason) in others.items():
        assert any(found.startswith(reason) for _, found in listed[name]), (reason, listed[name])
        assert reason in page


def test_most_submissions_decide_what_is_compared_and_the_first_of_two(submit: Submit, tmp_path: Path) -> None:
    sources = [submit(Entry("alice", protocol="paper")), submit(Entry("bob")), submit(Entry("carol"))]
    write_leaderboard(sources, tmp_path)
    assert apart(tmp_path)["alice"][0][1].startswith("other protocol: paper, here strict")
    write_leaderboard(sources[:2], tmp_path)
    assert set(apart(tmp_path)) == {"bob"}


def test_damaged_missing_and_repeated_capsules_are_listed_and_the_others_go_on(submit: Submit, tmp_path: Path) -> None:
    alice, bob = submit(Entry("alice")), Path(submit(Entry("bob")))
    damaged, missing, again, other = (tmp_path / name for name in ("bad.zip", "none.zip", "again.zip", "x/alice.zip"))
    damaged.write_bytes(bob.read_bytes()[:-100])
    shutil.copy(alice, again)
    other.parent.mkdir()
    shutil.copy(bob, other)
    out = tmp_path / "out"
    written = write_leaderboard([alice, *map(str, (damaged, missing, other, again))], out)
    listed = apart(out)
    assert "is no whole results capsule" in listed.pop("bad")[0][1]
    assert listed == {"none": [("all", "no such file or folder")], "again": [("all", "the same results as alice")]}
    assert {name for name, variant in overall(out) if variant == "pmq"} == {"alice", "alice (2)"}
    for folder in (tmp_path, Path(alice).parent):
        assert str(folder) not in "".join(file.read_text() for file in written.files)


def signed(capsule: Path, by: str, digest: str = "", **changes: Any) -> Path:
    """Sign off half of the cells of a submission, all equal but for the changes; digest: of another capsule."""
    digest = digest or digest_of(capsule)
    store = Store(capsule.parent / "store")
    cells = drawn(digest, by, store.row_keys(), 0.5)
    given: dict[str, Any] = {"equal": cells, "different": {}, "failed": {}, "made": [{"precision": "float32"}]}
    return save_rerun(capsule, Rerun(digest, by, "2026-01-31", 0.5, cells, suite="0.1.0", **given | changes))


def test_the_board_says_who_has_run_cells_of_a_submission_again_and_refuses_a_file_that_is_not_of_it(
    submit: Submit, tmp_path: Path
) -> None:
    names = ("alice", "bob", "carol")
    sources = {name: Path(submit(Entry(name, {"random": 0.0, "pmq": 3.0}))) for name in names}
    copies = [shutil.copytree(file.parent, tmp_path / name) / file.name for name, file in sources.items()]
    alice, bob, _ = copies
    cells = drawn(digest_of(alice), "Eve", Store(alice.parent / "store").row_keys(), 0.5)
    signed(alice, "Dave")
    signed(alice, "Eve", equal=cells[1:], different={cells[0]: "1 of 6 scores, by up to 0.1"})
    refused = signed(bob, "Mallory", digest=digest_of(alice))
    damaged = signed(bob, "Trent")
    damaged.write_text(damaged.read_text().replace("Trent", "Other"))
    out = tmp_path / "out"
    write_leaderboard([str(file) for file in copies], out)
    of_alice = (
        "re-run by Dave: 6 of 6 cells equal to the bit; re-run by Eve: 5 of 6 cells equal to the bit, 1 different"
    )
    texts = {"alice": of_alice, "bob": "not re-run", "carol": "not re-run"}
    assert {name: row["rerun"] for (name, variant), row in overall(out).items() if variant == "pmq"} == texts
    assert overall(out)["alice and 2 more", "random"]["rerun"] == ""
    page, text = ((out / f"leaderboard.{kind}").read_text() for kind in ("html", "md"))
    assert f"<small>alice</small><small>{of_alice}</small>" in page
    assert f"- Re-run: {of_alice}" in text
    assert f" | {of_alice} |" in text
    (of_another, is_damaged) = apart(out)["bob"]
    assert of_another == (f"re-run in {refused.name}", f"it is of another capsule, with the digest {digest_of(alice)}")
    assert is_damaged == (f"re-run in {damaged.name}", "it is damaged (its content does not match its digest)")


def test_where_nothing_can_be_read_there_is_no_board(tmp_path: Path) -> None:
    (tmp_path / "bad.zip").write_text("no zip")
    with pytest.raises(NoResults, match=r"no leaderboard of 1 sources, none of which has a result: bad: bad.zip is no"):
        write_leaderboard([str(tmp_path / "bad.zip")], tmp_path / "out")
    assert not (tmp_path / "out").exists()


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
    facts = {"git": {"commit": HOSTILE}, "device": {"type": "cpu", "name": HOSTILE}, "versions": {HOSTILE: HOSTILE}}
    return replace(row, provenance=row.provenance | facts)


def test_hostile_text_stays_text_and_nothing_is_loaded(submit: Submit, tmp_path: Path) -> None:
    renamed, out = tmp_path / "<b>=1+1.zip", tmp_path / "out"
    shutil.copy(submit(Entry("mallory", alter=hostile_row, alter_plan=hostile_plan)), renamed)
    write_leaderboard([str(renamed), submit(Entry("alice"))], out)
    page = (out / "leaderboard.html").read_text()
    tree = TreeOf(page).root
    assert (len(tree.all("script")), tree.all("img")) == (1, [])
    assert "\u202e" not in page
    assert not re.search(r"(?:https?:)?//[a-z]", page, re.IGNORECASE)
    (policy,) = [meta.attributes["content"] for meta in tree.all("meta") if "http-equiv" in meta.attributes]
    assert policy is not None
    assert policy.startswith("default-src 'none'")
    assert not [cell for line in lines_of(out) for cell in line.values() if cell.startswith("=")]


def test_both_command_lines_print_the_board_and_its_files(
    submit: Submit, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    sources = [submit(Entry("alice")), submit(Entry("bob", protocol="paper"))]
    flags = ["--results", *sources, "--leaderboard", "--out", str(tmp_path)]
    assert run_benchmark.main(["report", *flags]) == 0
    shown = capsys.readouterr().out
    assert "1 of 2 submissions on the board; 1 line on what does not compare." in shown
    assert "not compared: bob: all: other protocol: paper, here strict" in shown
    assert re.search(r"PMQ +alice +– +\d\d\.\d \[", shown)
    assert f"wrote {tmp_path / 'leaderboard.html'}" in shown
    assert main(flags) == 0
    printed = capsys.readouterr()
    assert printed.out.split() == [str(tmp_path / f"leaderboard.{kind}") for kind in ("md", "csv", "html")]
    assert "not compared: bob: all: other protocol: paper, here strict" in printed.err


@pytest.mark.slow
def test_twenty_capsules_of_the_demos_rows_stay_under_a_megabyte(submit: Submit, tmp_path: Path) -> None:
    """Eight rows on three datasets at two ratios; the page does not grow with seeds and patients."""
    skills = {"random": 0.0, **{f"method-{number}": 1.0 for number in range(7)}}
    shape: dict[str, Any] = {"datasets": ("ptb-xl", "chapman", "cpsc2018"), "ratios": (0.1, 0.01), "seeds": (41,)}
    sources = [submit(Entry(f"submission-{number}", skills, patients=30, **shape)) for number in range(20)]
    written = write_leaderboard(sources, tmp_path)
    assert sum(len(block.rows) for block in written.board.blocks) == 2 * (1 + 20 * 7)
    assert (tmp_path / "leaderboard.html").stat().st_size < 1_000_000
