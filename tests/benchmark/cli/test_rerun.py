"""A share of a capsule's cells is run again from its rows and the data alone: equal to the bit, or found to differ."""

from __future__ import annotations

import json
import re
import shutil
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from benchmark.cli import rerun
from benchmark.config.command_line import FAILED, OK, USAGE
from benchmark.results.names import CARD
from benchmark.results.reruns import drawn, read_rerun
from benchmark.results.store import Store, card_bytes
from reports.open import digest_of, pack
from reports.runs import open_run
from run_benchmark import main
from tests.benchmark.run.bench import Bench, cell_of

BY = "Bob Lee"


@pytest.fixture
def capsule(told_bench: Bench, data: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A capsule of the finished store; the working folder is that of the data."""
    monkeypatch.chdir(data)
    pack(open_run(told_bench.store.root), tmp_path / "alice.zip")
    return tmp_path / "alice.zip"


def run(capsule: Path, *words: str, share: str = "1") -> int:
    return main(["reproduce", str(capsule), "--sample", share, "--workers", "1", *words])


def test_all_cells_of_a_capsule_are_equal_each_encoder_is_pretrained_once_and_nothing_is_run_twice(
    told_bench: Bench,
    capsule: Path,
    tmp_path: Path,
    capsys: pytest.CaptureFixture[str],
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    trained: list[str] = []
    made = rerun.pretrain_again

    def counted(again: rerun.Again, *given: Any) -> None:
        trained.append(again.cell.pretrain_key)
        made(again, *given)

    monkeypatch.setattr(rerun, "pretrain_again", counted)
    keys = Store(told_bench.store.root).row_keys()
    words = ["--by", BY, "--keep", str(tmp_path / "kept")]
    assert run(capsule, *words) == OK
    shown = capsys.readouterr().out
    assert f"{len(keys)} of {len(keys)} cells equal to the bit (encoder, scores and predictions)" in shown
    assert sorted(trained) == sorted({cell.pretrain_key for cell in told_bench.grid.cells if cell.pretraining})
    file = tmp_path / "alice.rerun-Bob Lee.json"
    found = read_rerun(file, digest_of(capsule), keys)
    assert (found.by, sorted(found.equal), found.different, found.failed) == (BY, keys, {}, {})
    assert [made["device"]["type"] for made in found.made] == ["cpu"]
    assert found.made[0].keys() == {"versions", "git", "device", "precision"}
    monkeypatch.setattr(rerun, "cell_again", lambda *given: pytest.fail("a finished cell is run again"))
    assert run(capsule, *words) == OK
    assert len(trained) == 2


def altered(told_bench: Bench, folder: Path) -> Path:
    """A capsule in which a score of PMQ's probe and the weights of its encoder are others, under valid digests."""
    store = Store(shutil.copytree(told_bench.store.root, folder / "runs"))
    cell = cell_of(told_bench, "pmq", "linear")
    key, card = cell.key, store.card(cell.pretrain_key)
    assert card is not None
    (store.pretrained / cell.pretrain_key / CARD).write_bytes(card_bytes(card | {"sha256": "0" * 64}))
    row = store.load_row(key)
    assert row is not None
    score = row.scores["recording"]["f1"]
    assert score is not None
    better = row.scores | {"recording": row.scores["recording"] | {"f1": score / 2}}
    store.save_row(replace(row, scores=better), store.predictions(key))
    pack(open_run(store.root), folder / "mallory.zip")
    return folder / "mallory.zip"


def test_a_number_that_was_changed_under_valid_digests_is_found_and_a_failing_cell_stops_nothing(
    told_bench: Bench,
    capsule: Path,
    tmp_path: Path,
    capsys: pytest.CaptureFixture[str],
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    forged = altered(told_bench, tmp_path)
    failing, *changed = (cell_of(told_bench, *of).key for of in (("random", "linear"), ("pmq",), ("pmq", "linear")))
    made = rerun.cell_again

    def fails(again: rerun.Again, *given: Any) -> None:
        if again.row.key == failing:
            raise rerun.ConfigError("no memory")
        made(again, *given)

    monkeypatch.setattr(rerun, "cell_again", fails)
    assert run(forged, "--by", BY) == FAILED
    shown = capsys.readouterr().out
    weights = "encoder: its weights are others, as the digest in its card says"
    assert re.search(f"pmq linear chapman 0.5 seed 41: different: 1 of 6 scores, by up to 0.[0-9]+; {weights}", shown)
    assert f"pmq finetune chapman 0.5 seed 41: different: 0 of 6 scores, by up to 0; {weights}" in shown
    assert "2 of 5 cells equal to the bit, 2 different, 1 not run (" in shown
    found = read_rerun(tmp_path / "mallory.rerun-Bob Lee.json", digest_of(forged), Store(tmp_path / "runs").row_keys())
    assert (found.different.keys(), found.failed) == (set(changed), {failing: "no memory"})


def test_the_time_left_is_told_whatever_a_capsule_says_that_its_cells_took() -> None:
    stated = [float("nan"), -1e15, None, 0.0, 20.0]
    assert [rerun.expected({"seconds": own}, "cell").seconds for own in stated] == [1, 1, 1, 1, 20]


def test_the_cells_are_drawn_by_the_capsule_and_the_name() -> None:
    cells = [f"{number:016x}" for number in range(50)]
    tenth = drawn("capsule", BY, cells, 0.1)
    assert (len(tenth), len(drawn("capsule", BY, cells, 0.001))) == (5, 1)
    assert tenth == drawn("capsule", BY, cells[::-1], 0.5)[:5]
    assert tenth != drawn("capsule", "Ann", cells, 0.1)
    assert tenth != drawn("another", BY, cells, 0.1)


def no_zip(capsule: Path) -> None:
    capsule.write_text("no zip")


def cut(capsule: Path) -> None:
    capsule.write_bytes(capsule.read_bytes()[:-100])


@pytest.mark.parametrize(
    ("words", "share", "damage", "message"),
    [
        ([], "1", None, "--sample needs --by NAME"),
        (["--by", "../x"], "1", None, "--by '../x' is no name"),
        (["--by", BY], "0", None, "--sample: 0 is out of range; use a number above 0, at most 1"),
        (["--by", BY], "1.5", None, "--sample: 1.5 is out of range"),
        (["--by", BY], "1", no_zip, "is no whole results capsule: "),
        (["--by", BY], "1", cut, "is no whole results capsule: "),
        (["--by", BY, "--keep", "RUNS"], "1", None, "is a store of runs; name a folder for what is made again"),
    ],
)
def test_what_cannot_be_sampled_is_refused_in_a_line(
    told_bench: Bench,
    capsule: Path,
    words: list[str],
    share: str,
    damage: Callable[[Path], None] | None,
    message: str,
    capsys: pytest.CaptureFixture[str],
) -> None:
    if damage:
        damage(capsule)
    words = [word.replace("RUNS", str(told_bench.store.root)) for word in words]
    assert run(capsule, *words, share=share) == USAGE
    out, error = capsys.readouterr()
    assert (out, error.count("\n")) == ("", 1)
    assert message in error
    assert not list(capsule.parent.glob("*.json"))


def test_other_data_are_refused_before_any_work(
    capsule: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    made = rerun.data_of.__globals__["prepare_data"]
    monkeypatch.setitem(
        rerun.data_of.__globals__, "prepare_data", lambda *given: replace(made(*given), fingerprint="another")
    )
    assert run(capsule, "--by", BY) == USAGE
    assert "the data here have the fingerprint another, those of the row" in capsys.readouterr().err


def test_a_name_signs_off_a_sample_alone(capsule: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["reproduce", "0", "--by", BY]) == USAGE
    assert "--by signs off a sample of a capsule" in capsys.readouterr().err


def test_a_file_that_was_altered_or_is_of_other_cells_is_refused(capsule: Path, told_bench: Bench) -> None:
    keys, digest = told_bench.store.row_keys(), digest_of(capsule)
    assert run(capsule, "--by", BY, share="0.1") == OK
    file = capsule.with_name("alice.rerun-Bob Lee.json")
    assert len(read_rerun(file, digest, keys).cells) == 1
    with pytest.raises(ValueError, match="it is of another capsule"):
        read_rerun(file, "another", keys)
    with pytest.raises(ValueError, match="its cells are not those that its name and the capsule draw"):
        read_rerun(file, digest, [f"{number:016x}" for number in range(5)])
    file.write_text(json.dumps(json.loads(file.read_bytes()) | {"by": "Ann"}))
    with pytest.raises(ValueError, match=r"it is damaged \(its content does not match its digest"):
        read_rerun(file, digest, keys)
