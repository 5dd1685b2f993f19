"""A row's name, title or key -> its pretraining; what is ambiguous or unknown is a line.

The folder that `export` writes: it embeds as the run did, with the scores of its row.
"""

from __future__ import annotations

import shutil
from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest
import torch

from benchmark import load_encoder
from benchmark.cli import export
from benchmark.cli.export import Pretrained, describe, find, scores_in
from benchmark.cli.main import OK, USAGE
from benchmark.config.errors import ConfigError
from benchmark.data.segments import HEARTBEATS, Segmentation
from benchmark.embedding import MODEL_CARD
from benchmark.results.store import Store
from benchmark.run.datasets import make_plan
from benchmark.training import checkpoint
from benchmark.training.checkpoint import SOURCE, WEIGHTS
from benchmark.training.probes import features
from methods.encoders import get_encoder
from run_benchmark import main
from tests.benchmark.run.bench import Bench, Cohorts, SmallConfig, cell_of
from tests.benchmark.tasks import make_task


@pytest.fixture(scope="module")
def bench(cohorts: Cohorts, small_config: SmallConfig, tmp_path_factory: pytest.TempPathFactory) -> Bench:
    """A finished grid: random and PMQ, probed on Chapman with two seeds. Tests change no file of it."""
    config = small_config({"evaluate": ["linear"], "seeds": [41, 42]})
    bench = Bench(config, cohorts, Store(tmp_path_factory.mktemp("export") / "runs"))
    bench.store.save_plan(make_plan(config, cohorts, bench.grid))
    assert bench.work_off() == 0
    return bench


@pytest.fixture(scope="module")
def results(bench: Bench) -> Path:
    return bench.store.root


@pytest.fixture(scope="module")
def exported(results: Path, tmp_path_factory: pytest.TempPathFactory) -> dict[str, Path]:
    """The folders of PMQ's encoder and of an untrained one."""
    place = tmp_path_factory.mktemp("exported")
    for name, *further in (["pmq"], ["random", "--seed", "41"]):
        assert main(["export", name, *further, "--to", str(place / name), "--results", str(results)]) == OK
    return {name: place / name for name in ("pmq", "random")}


def pretraining_of(bench: Bench) -> Path:
    return bench.store.pretrained / cell_of(bench, "pmq", "linear").pretrain_key


def test_a_row_is_found_by_name_title_and_key_and_one_of_several_by_its_seed(bench: Bench, results: Path) -> None:
    key = pretraining_of(bench).name
    for name in ("pmq", "PMQ", key):
        found = find(results, name, None)
        assert (found.key, found.variant, {cell.seed for cell in found.cells}) == (key, "pmq", {41, 42})
        about = describe(found, b"")
        assert (about.segmentation, about.per_trial) == (HEARTBEATS, 6)
    one, other = (find(results, "random", seed) for seed in (41, 42))
    assert one.key != other.key
    assert [cell.seed for cell in other.cells] == [42]
    for seed in (None, 43):
        with pytest.raises(
            ConfigError, match=r"^random: choose one pretraining by --seed N or its key; there are 41 \("
        ):
            find(results, "random", seed)
    with pytest.raises(ConfigError, match=r"unknown row with a finished encoder 'pmqq' \(did you mean 'pmq'\?\)"):
        find(results, "pmqq", None)


def test_the_config_of_the_row_says_how_windows_are_cut(results: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    found = find(results, "pmq", None)
    config = found.run.rows[found.cells[0].key].provenance["config"]
    data = config["data"] | {"segmentation": {"kind": "recordings", "seconds": 2.0}}
    monkeypatch.setitem(config, "data", data)
    about = describe(found, b"")
    assert (about.segmentation, about.per_trial) == (Segmentation("recordings", 500, stride=250), 1)
    monkeypatch.setitem(config, "data", data | {"standardise": "dataset"})
    assert describe(replace(found, record=found.record | {"scale": [0.5, 2]}), b"").scale == (0.5, 2.0)


def test_an_earlier_run_has_the_row_and_a_damaged_encoder_is_one_line(
    bench: Bench, results: Path, tmp_path: Path
) -> None:
    copy = shutil.copytree(results, tmp_path / "runs")
    plan = make_plan(bench.config, bench.prepared, bench.grid)
    random = [cell for cell in plan.cells if cell.variant == "random"]
    Store(copy).save_plan(replace(plan, key="later", cells=random, variants={"random": "Random"}))
    assert find(copy, "random", 41).run.plan.key == "later"
    assert find(copy, "pmq", None).run.plan.key == plan.key
    folder = copy / "pretrained" / pretraining_of(bench).name
    (folder / WEIGHTS).write_bytes(b"")
    with pytest.raises(ConfigError, match="does not match the digest in its card; the run command makes it again"):
        find(copy, "pmq", None)
    shutil.rmtree(folder)
    with pytest.raises(ConfigError, match="the encoder is gone; the run command makes it again"):
        find(copy, "pmq", None)


def test_the_folder_has_the_encoder_of_the_row_to_the_bit(bench: Bench, exported: dict[str, Path]) -> None:
    encoder, folder = load_encoder(exported["pmq"]), pretraining_of(bench)
    assert (exported["pmq"] / WEIGHTS).read_bytes() == (folder / WEIGHTS).read_bytes()
    spec, cpu = bench.config.task_spec(bench.config.finetune), torch.device("cpu")
    test = make_task(bench.prepared["chapman"], spec, ratio=0.5, seed=41, device=cpu).test
    own = checkpoint.load_encoder(folder, bench.config.encoder_class())
    assert np.array_equal(
        features(encoder.encoder, test.signal, encoder.precision), features(own, test.signal, "float32")
    )


def test_scores_are_those_of_the_row_with_intervals(bench: Bench, results: Path) -> None:
    title, table = scores_in(find(results, "pmq", None), "linear")
    rows = [bench.store.load_row(cell.key) for cell in bench.grid.cells if cell.variant.name == "pmq"]
    f1 = 100 * np.mean([row.scores["heartbeat"]["f1"] for row in rows if row])  # type: ignore[misc]
    labels, dataset, score, mean, low, high, seeds = (
        cell.strip() for cell in table.splitlines()[2].strip("|").split("|")
    )
    assert title == "Linear probe, scored per heartbeat"
    assert (labels, dataset, score, mean, seeds) == ("50 %", "Chapman", "F1", f"{f1:.1f}", "2")
    assert float(low) < f1 < float(high)
    assert len(table.splitlines()) == 6  # three metrics and Overall


def test_an_encoder_of_the_users_goes_with_its_source(
    results: Path, tmp_path: Path, encoder_text: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    (tmp_path / "mine.py").write_text(encoder_text)
    found, stored = find(results, "pmq", None), tmp_path / "p"
    checkpoint.save_encoder(stored / found.key, get_encoder(str(tmp_path / "mine.py"))(), {})
    card = checkpoint.checked_card(stored / found.key)
    assert card is not None
    monkeypatch.setattr(export, "find", lambda *_: replace(found, record=card))
    monkeypatch.setattr(Pretrained, "folder", stored / found.key)
    words = ["export", "pmq", "--to", str(tmp_path / "to"), "--results", str(results)]
    assert main(words) == USAGE, "--code FILE is needed"
    assert not (tmp_path / "to").exists()
    assert main([*words, "--code", str(tmp_path / "mine.py")]) == OK
    assert (tmp_path / "to" / SOURCE).read_text() == encoder_text
    assert load_encoder(tmp_path / "to", code=tmp_path / "mine.py").width == 6
    assert "code='encoder.py'" in (tmp_path / "to" / MODEL_CARD).read_text()


def test_an_export_is_made_again_in_its_place_and_no_old_file_stays(
    results: Path, exported: dict[str, Path], tmp_path: Path
) -> None:
    to = shutil.copytree(exported["pmq"], tmp_path / "to")
    (to / SOURCE).write_bytes(b"of another encoder")
    assert main(["export", "random", "--seed", "41", "--to", str(to), "--results", str(results)]) == OK
    assert {file.name: file.read_bytes() for file in to.iterdir()} == {
        file.name: file.read_bytes() for file in exported["random"].iterdir()
    }
