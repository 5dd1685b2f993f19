"""A row's name, title or key -> the folder of its encoder, which embeds as the run did, with the scores of its row."""

from __future__ import annotations

import shutil
from dataclasses import replace
from pathlib import Path

import numpy as np
import pandas as pd
import pytest
import torch

from benchmark.cli import export
from benchmark.cli.export import describe
from benchmark.cli.main import OK, USAGE
from benchmark.cli.model_card import score_tables, table_text, table_title
from benchmark.cli.pretrained import choice_text, find
from benchmark.config.errors import ConfigError
from benchmark.config.load import parse_yaml
from benchmark.data.datasets.base import LEADS
from benchmark.data.segments import HEARTBEATS, Segmentation
from benchmark.embedding import MODEL, MODEL_CARD
from benchmark.results.files import Damaged
from benchmark.results.metrics import accuracy, auroc, f1
from benchmark.results.store import Store
from benchmark.run.datasets import make_plan
from benchmark.training import checkpoint
from benchmark.training.checkpoint import SOURCE, WEIGHTS
from benchmark.training.probes import features
from ecg_pretrain_bench import load_encoder
from methods.encoders import get_encoder
from run_benchmark import main
from tests.benchmark.embedding.exported import RATE, export_encoder, recording
from tests.benchmark.run.bench import Bench, cell_of
from tests.benchmark.tasks import make_task
from tests.on_disk import write_record


@pytest.fixture(scope="module")
def results(finished_bench: Bench) -> Path:
    return finished_bench.store.root


@pytest.fixture(scope="module")
def exported(results: Path, tmp_path_factory: pytest.TempPathFactory) -> dict[str, Path]:
    """The folders of PMQ's encoder and of an untrained one."""
    folder = tmp_path_factory.mktemp("exported")
    for name, *further in (["pmq"], ["random", "--seed", "41"]):
        assert main(["export", name, *further, "--to", str(folder / name), "--results", str(results)]) == OK
    return {name: folder / name for name in ("pmq", "random")}


def pretraining_of(bench: Bench) -> Path:
    return bench.store.pretrained / cell_of(bench, "pmq", "linear").pretrain_key


def test_a_pretraining_is_found_by_whatever_names_it(finished_bench: Bench, results: Path) -> None:
    folder = pretraining_of(finished_bench)
    for name in ("pmq", "PMQ", folder.name):
        pretrained = find(results, name, None)
        assert (pretrained.folder, pretrained.variant, {cell.seed for cell in pretrained.cells}) == (
            folder,
            "pmq",
            {41, 42},
        )


def test_one_of_several_pretrainings_is_found_by_its_seed(results: Path) -> None:
    one, other = (find(results, "random", seed) for seed in (41, 42))
    assert one.folder != other.folder
    assert {cell.seed for cell in other.cells} == {42}
    with pytest.raises(ConfigError, match=r"^random: choose one pretraining by --seed N or its key; there are 41 \("):
        find(results, "random", 43)
    with pytest.raises(ConfigError, match=r"unknown row with a finished encoder 'pmqq' \(did you mean 'pmq'\?\)"):
        find(results, "pmqq", None)


def test_without_a_seed_it_is_the_pretraining_with_the_best_validation_score(
    finished_bench: Bench, results: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    scores: dict[int, list[float]] = {41: [], 42: []}
    for cell in finished_bench.grid.cells:
        if cell.variant.name == "random":
            chosen_on = finished_bench.store.predictions(cell.key, "validation_")
            judged = chosen_on.truth, chosen_on.probability, False
            scores[cell.seed].append(np.mean([score(*judged) for score in (f1, auroc, accuracy)]))
    mean = {seed: float(np.mean(of_seed)) for seed, of_seed in scores.items()}
    best = max(mean, key=mean.__getitem__)
    assert mean[41] != mean[42]
    assert find(results, "random", None).folder == find(results, "random", best).folder
    assert main(["export", "random", "--to", str(tmp_path / "to"), "--results", str(results)]) == OK
    choice = f"the best validation Overall of 2 pretrainings: seed {best} {100 * mean[best]:.1f}, {83 - best} "
    assert f"random: {choice}" in " ".join(capsys.readouterr().out.split())
    assert f"- **choice**: {choice}" in (tmp_path / "to" / MODEL_CARD).read_text()


def test_the_choice_says_that_seeds_draw_validation_patients(results: Path) -> None:
    run = find(results, "random", None).run
    strict = replace(run, plan=replace(run.plan, config=run.plan.config | {"protocol": "strict"}))
    scores = pd.Series({"a": 0.5, "b": 0.75})
    expected = "the best validation mean AUROC of 2 pretrainings: seed 42 75.0, 41 50.0 (seeds may differ in "
    assert choice_text(strict, scores, {"a": 41, "b": 42}) == f"{expected}validation patients)"


def test_the_config_of_the_row_says_how_windows_are_cut(results: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    pretrained = find(results, "pmq", None)
    about = describe(pretrained, b"")
    assert (about.segmentation, about.per_trial) == (HEARTBEATS, 6)
    config = pretrained.run.rows[pretrained.cells[0].key].provenance["config"]
    data = config["data"] | {"segmentation": {"kind": "recordings", "seconds": 2.0}}
    monkeypatch.setitem(config, "data", data)
    about = describe(pretrained, b"")
    assert (about.segmentation, about.per_trial) == (Segmentation("recordings", 500, stride=250), 1)
    monkeypatch.setitem(config, "data", data | {"standardise": "dataset"})
    assert describe(replace(pretrained, record=pretrained.record | {"scale": [0.5, 2.0]}), b"").scale == (0.5, 2.0)


def test_a_row_of_an_earlier_run_is_exported(finished_bench: Bench, results: Path, tmp_path: Path) -> None:
    copy = shutil.copytree(results, tmp_path / "runs")
    plan = make_plan(finished_bench.config, finished_bench.prepared, finished_bench.grid)
    random = [cell for cell in plan.cells if cell.variant == "random"]
    Store(copy).save_plan(replace(plan, key="0" * 16, cells=random, variants={"random": "Random"}))
    assert find(copy, "random", 41).run.plan.key == "0" * 16
    assert find(copy, "pmq", None).run.plan.key == plan.key


def test_a_damaged_encoder_is_not_exported(finished_bench: Bench, results: Path, tmp_path: Path) -> None:
    copy = shutil.copytree(results, tmp_path / "runs")
    folder = copy / "pretrained" / pretraining_of(finished_bench).name
    (folder / WEIGHTS).write_bytes(b"")
    with pytest.raises(Damaged, match=f"{WEIGHTS}: its content .* the run command makes the encoder again"):
        find(copy, "pmq", None)
    (folder / WEIGHTS).unlink()
    with pytest.raises(ConfigError, match="the encoder is not there; the run command makes the encoder again"):
        find(copy, "pmq", None)


def test_the_folder_has_the_encoder_of_the_row_to_the_bit(finished_bench: Bench, exported: dict[str, Path]) -> None:
    encoder, folder = load_encoder(exported["pmq"]), pretraining_of(finished_bench)
    assert (exported["pmq"] / MODEL).read_bytes() == (folder / WEIGHTS).read_bytes()
    config, cpu = finished_bench.config, torch.device("cpu")
    spec = config.column_spec()
    test = make_task(finished_bench.prepared["chapman"], spec, ratio=0.5, seed=41, device=cpu).test
    stored = checkpoint.load_encoder(folder, type(config.new_encoder()))
    assert np.array_equal(
        features(encoder.encoder, test.signal, encoder.precision), features(stored, test.signal, "float32")
    )


def mean_f1(bench: Bench, row: str) -> float:
    """Mean F1 of a row's linear probes, in percent."""
    values = []
    for cell in bench.grid.cells:
        if (cell.variant.name, cell.evaluation) == (row, "linear"):
            stored = bench.store.load_row(cell.key)
            assert stored is not None
            values.append(stored.scores["heartbeat"]["f1"] or 0.0)
    return float(100 * np.mean(values))


def test_the_front_matter_names_what_hubs_read(exported: dict[str, Path]) -> None:
    _, front, _ = (exported["pmq"] / MODEL_CARD).read_text().split("---\n", 2)
    about = parse_yaml(front)
    assert about == {
        "library_name": "ecg-pretrain-bench",
        "tags": ["ecg", "feature-extraction", "contrastive-pretraining", "pmq", "simulated"],
        "license": "other",
        "license_name": "as-its-data",
        "license_link": "README.md",
    }


def test_a_folder_with_a_model_of_another_program_is_left_alone(
    results: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    (tmp_path / "config.json").write_text('{"model_type": "bert"}')
    assert main(["export", "pmq", "--to", str(tmp_path), "--results", str(results)]) == USAGE
    assert "is a folder with other files; name a new one" in capsys.readouterr().err
    with pytest.raises(ConfigError, match=r"is no exported encoder: config\.json is of another program"):
        load_encoder(tmp_path)


def test_scores_are_those_of_the_row_with_intervals(finished_bench: Bench, results: Path) -> None:
    pretrained = find(results, "pmq", None)
    tables = {table_title(table): table_text(pretrained, table) for table in score_tables(pretrained)}
    assert list(tables) == ["Fine-tuned, scored per heartbeat", "Linear probe, scored per heartbeat"]
    table = tables["Linear probe, scored per heartbeat"]
    expected = {row: mean_f1(finished_bench, row) for row in ("pmq", "random")}
    labels, dataset, score, mean, low, high, untrained, seeds = (
        cell.strip() for cell in table.splitlines()[2].strip("|").split("|")
    )
    assert (labels, dataset, score, mean, seeds) == ("50 %", "Chapman", "F1", f"{expected['pmq']:.1f}", "2")
    assert untrained == f"{expected['random']:.1f}"
    assert float(low) < expected["pmq"] < float(high)
    assert len(table.splitlines()) == 6  # three metrics and Overall


def test_an_encoder_of_the_users_goes_with_its_source(
    results: Path, tmp_path: Path, encoder_text: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    (tmp_path / "mine.py").write_text(encoder_text)
    pretrained = find(results, "pmq", None)
    folder = tmp_path / "p" / pretrained.folder.name
    facts = {name: pretrained.record[name] for name in ("method", "seed", "key_content", "updates", "batch_size")}
    checkpoint.save_encoder(folder, get_encoder(str(tmp_path / "mine.py"))(), facts)
    record = checkpoint.read_record(folder)
    assert record is not None
    monkeypatch.setattr(export, "find", lambda *_: replace(pretrained, record=record, folder=folder))
    words = ["export", "pmq", "--to", str(tmp_path / "to"), "--results", str(results)]
    assert main(words) == USAGE, "--code FILE is needed"
    assert not (tmp_path / "to").exists()
    assert main([*words, "--code", str(tmp_path / "mine.py")]) == OK
    assert (tmp_path / "to" / SOURCE).read_text() == encoder_text
    assert load_encoder(tmp_path / "to", code=tmp_path / "mine.py").width == 6
    assert "code='encoder.py'" in (tmp_path / "to" / MODEL_CARD).read_text()


def test_an_export_replaces_an_older_one(results: Path, exported: dict[str, Path], tmp_path: Path) -> None:
    to = shutil.copytree(exported["pmq"], tmp_path / "to")
    (to / SOURCE).write_bytes(b"of another encoder")
    assert main(["export", "random", "--seed", "41", "--to", str(to), "--results", str(results)]) == OK
    assert {file.name: file.read_bytes() for file in to.iterdir()} == {
        file.name: file.read_bytes() for file in exported["random"].iterdir()
    }


def embed(*words: str) -> int:
    return main(["embed", *words, "--encoder", "encoder", "--device", "cpu"])


def test_each_record_is_embedded_once(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.chdir(tmp_path)
    export_encoder(tmp_path / "encoder")
    for name, signal in {"a/1": recording(), "a/2": np.zeros((5000, 12)), "3": recording(1)}.items():
        write_record(tmp_path / "records" / name, signal.astype(np.float32), mat=True)
    for out in ("f.csv", "f.npy"):
        assert embed("records/3.hea", "records", "--out", out) == OK
        shown = " ".join(capsys.readouterr().out.split())
        assert "warning: 1 of 3 recordings have no embedding: 1 all samples zero (2: all samples zero)" in shown
        assert f"wrote {out}: 3 rows of 6 numbers" in shown
    encoder = load_encoder("encoder")
    table = pd.read_csv("f.csv", keep_default_na=False, na_values={"e0": [""]})
    assert table["recording"].tolist() == ["records/3", "records/a/1", "records/a/2"]
    assert table["windows"].tolist() == [12, 12, 0]
    assert table["reason"].tolist() == ["", "", "all samples zero"]
    numbers = np.load("f.npy")
    columns = table[encoder.feature_names].replace("", np.nan)
    np.testing.assert_allclose(columns.to_numpy(np.float32), numbers, rtol=1e-5)
    expected = encoder.encode([recording(1), recording()], RATE, LEADS)
    np.testing.assert_allclose(numbers[:2], expected, atol=2e-2)  # the files hold whole microvolts
    assert np.isnan(numbers[2]).all()
    assert embed("mine.npy", "--out", "f.npy") == USAGE
    assert "mine.npy: neither a WFDB record nor a folder of them" in capsys.readouterr().err
