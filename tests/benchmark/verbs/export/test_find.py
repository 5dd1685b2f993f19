"""A row's name, title or key -> its pretraining; what is ambiguous or unknown is a line."""

from __future__ import annotations

import shutil
from dataclasses import replace
from pathlib import Path

import pytest

from benchmark.config.errors import ConfigError
from benchmark.results.store import NoResults, Store
from benchmark.run.plan import make_plan
from benchmark.training.weights import WEIGHTS
from benchmark.verbs.export.find import find
from tests.benchmark.run.bench import Bench, cell_of


def test_a_row_is_found_by_name_title_and_key(bench: Bench, results: Path) -> None:
    key = cell_of(bench, "pmq", "linear").pretrain_key
    for asked in ("pmq", "PMQ", key):
        found = find(results, asked, None)
        assert (found.key, found.variant, found.card["method"]) == (key, "pmq", "pmq")
        assert {cell.seed for cell in found.cells} == {41, 42}
        assert found.cut() == {"kind": "heartbeats", "samples": 300, "per_trial": 6}


def test_a_row_of_several_pretrainings_lists_them(results: Path) -> None:
    with pytest.raises(ConfigError) as caught:
        find(results, "random", None)
    assert str(caught.value).startswith("random has 2 pretrainings: choose one by --seed N or its key; there are 41 (")
    one, other = (find(results, "random", seed) for seed in (41, 42))
    assert one.key != other.key
    assert [cell.seed for cell in other.cells] == [42]
    assert find(results, other.key, None).key == find(results, other.key, 42).key == other.key
    with pytest.raises(ConfigError, match=f"{other.key} is random with seed 42, not --seed 41; leave it out"):
        find(results, other.key, 41)
    with pytest.raises(ConfigError, match="random has no pretraining with --seed 43; there are 41"):
        find(results, "random", 43)


def test_plain_windows_are_told_by_the_config_of_the_row(results: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    found = find(results, "pmq", None)
    config = found.row.provenance["config"]
    data, finetune = {"segmentation": "windows", "window_seconds": 2.0}, {"windows_per_trial": 2}
    monkeypatch.setitem(config, "data", config["data"] | data)
    monkeypatch.setitem(config, "finetune", finetune)
    assert found.cut() == {"kind": "windows", "samples": 500, "per_trial": 2}
    monkeypatch.setitem(config, "finetune", {})
    assert found.cut()["per_trial"] == 1


def test_what_is_not_there_is_one_line(bench: Bench, results: Path, tmp_path: Path) -> None:
    with pytest.raises(ConfigError, match=r"unknown row 'pmqq' \(did you mean 'pmq'\?\); there are: random, pmq"):
        find(results, "pmqq", None)
    with pytest.raises(NoResults, match="no results in"):
        find(tmp_path, "pmq", None)
    planned = Store(tmp_path / "planned")
    planned.save_plan(make_plan(bench.config, bench.prepared, bench.grid))
    with pytest.raises(ConfigError, match="pmq: no cell of it with an encoder is finished in"):
        find(planned.root, "pmq", None)
    key = cell_of(bench, "pmq", "linear").pretrain_key
    shutil.copytree(results / "pretrained", planned.root / "pretrained")
    with pytest.raises(ConfigError, match=r"no finished cell in .* rests on it"):
        find(planned.root, key, None)


def test_an_earlier_run_is_looked_at_where_the_latest_has_not_the_row(
    bench: Bench, results: Path, tmp_path: Path
) -> None:
    copy = shutil.copytree(results, tmp_path / "runs")
    plan = make_plan(bench.config, bench.prepared, bench.grid)
    random = [cell for cell in plan.cells if cell.variant == "random"]
    Store(copy).save_plan(replace(plan, key="later", cells=random, variants={"random": "Random"}))
    assert find(copy, "random", 41).run.plan.key == "later"
    assert find(copy, "pmq", None).run.plan.key == plan.key


def test_a_damaged_encoder_is_one_line(bench: Bench, results: Path, tmp_path: Path) -> None:
    copy = shutil.copytree(results, tmp_path / "runs")
    folder = copy / "pretrained" / cell_of(bench, "pmq", "linear").pretrain_key
    (folder / WEIGHTS).write_bytes(b"")
    with pytest.raises(ConfigError, match="does not match the digest in its card; the run command makes it again"):
        find(copy, "pmq", None)
    shutil.rmtree(folder)
    with pytest.raises(ConfigError, match="the encoder is gone; the run command makes it again"):
        find(copy, "pmq", None)
