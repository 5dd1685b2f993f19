"""A row's name, title or key -> its pretraining; what is ambiguous or unknown is a line.

The folder that `export` writes: it embeds as the run did, and its card says what is known and what is not.
"""

from __future__ import annotations

import json
import shutil
from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest
import torch

from benchmark import load_encoder
from benchmark.cli import export
from benchmark.cli.export import HEADER, Origin, described, export_found, find, model_card, scores_of
from benchmark.config.command_line import OK, USAGE
from benchmark.config.errors import ConfigError
from benchmark.data.datasets import DATASETS
from benchmark.data.datasets.base import LEADS
from benchmark.data.task import make_task
from benchmark.embedding import CONFIG, MODEL_CARD
from benchmark.results.store import NoResults, Store
from benchmark.run.plan import make_plan
from benchmark.training import checkpoint
from benchmark.training.checkpoint import SOURCE, WEIGHTS
from benchmark.training.probes import features
from methods.encoders import get_encoder
from methods.encoders.base import Encoder
from run_benchmark import main
from tests.benchmark.embedding.exported import recording, small_encoder
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


def test_the_folder_has_the_encoder_of_the_row_to_the_bit(bench: Bench, results: Path, tmp_path: Path) -> None:
    assert main(["export", "pmq", "--to", str(tmp_path / "pmq"), "--results", str(results)]) == OK
    encoder = load_encoder(tmp_path / "pmq")
    folder = results / "pretrained" / cell_of(bench, "pmq", "linear").pretrain_key
    assert (tmp_path / "pmq" / WEIGHTS).read_bytes() == (folder / WEIGHTS).read_bytes()
    spec, cpu = bench.config.task_spec(bench.config.finetune), torch.device("cpu")
    test = make_task(bench.prepared["chapman"], spec, ratio=0.5, seed=41, device=cpu).test
    own = checkpoint.load_encoder(folder, bench.config.encoder_class())
    assert np.array_equal(
        features(encoder.encoder, test.signal, encoder.precision), features(own, test.signal, "float32")
    )


def test_the_description_tells_the_pretraining_and_the_task(results: Path) -> None:
    found = find(results, "pmq", None)
    told = described(found, b"")
    assert (told.name, told.title, told.precision) == ("pmq", "PMQ", "float32")
    assert told.rules == {"data.labels": "single", "protocol": "paper"}
    assert told.pretraining["corpus"]["simulated"] is True
    assert told.pretraining["config"]["queue_size"] == 16
    assert told.pretraining["config"]["recipe"]["batch_size"] == 8
    json.dumps(told.pretraining)


def test_the_card_of_a_trained_encoder(results: Path, tmp_path: Path) -> None:
    export_found(results, "pmq", tmp_path / "pmq")
    text = (tmp_path / "pmq" / MODEL_CARD).read_text()
    assert "# PMQ\n" in text
    assert "**Simulated data.**" in text
    assert "- **data**: MIMIC-IV-ECG" in text
    assert "queue\\_size 16" in text or "queue_size 16" in text
    assert "epochs 2, updates " in text
    assert "### Linear probe, scored per heartbeat, 2 seeds" in text
    assert "- Chapman: simulated here; no licence of others applies." in text
    assert "its scores say nothing of real ones" in text


def test_scores_are_those_of_the_row_with_intervals(bench: Bench, results: Path) -> None:
    (scores,) = scores_of(find(results, "pmq", None))
    rows = [bench.store.load_row(cell.key) for cell in bench.grid.cells if cell.variant.name == "pmq"]
    f1 = np.mean([row.scores["heartbeat"]["f1"] for row in rows if row])  # type: ignore[misc]
    line = dict(zip(HEADER, scores.lines[0], strict=True))
    assert (line["labels"], line["dataset"], line["score"], line["mean"]) == (
        "50 %",
        "Chapman",
        "F1",
        f"{100 * f1:.1f}",
    )
    low, high = map(float, line["95 % interval"].strip("[]").split(", "))
    assert low < 100 * f1 < high
    assert line["minus untrained"].startswith(("+", "-"))
    (untrained,) = scores_of(find(results, "random", 41))
    assert {line[-1] for line in untrained.lines} == {"–"}
    assert untrained.seeds == 1


def test_the_card_of_an_untrained_encoder_says_so(results: Path, tmp_path: Path) -> None:
    export_found(results, "random", tmp_path / "u", seed=41)
    text = (tmp_path / "u" / MODEL_CARD).read_text()
    assert "- **data**: none: it is untrained" in text
    assert "**Simulated data.**" not in text
    assert "Its scores are on simulated recordings" in text
    assert "MIMIC-IV-ECG" not in text


def test_real_data_are_named_with_their_licence_and_own_data_as_unknown(results: Path) -> None:
    told = described(find(results, "pmq", None), b"")
    datasets = {"ptb-xl": {"title": "PTB-XL", "simulated": False}, "ours": {"title": "Ours", "simulated": False}}
    datasets["carded"] = {"title": "Carded", "licence": "CC BY"}
    text = model_card(told, Origin({}, datasets=datasets))
    stated = "Creative Commons Attribution 4.0, https://physionet.org/content/ptb-xl/view-license/1.0.3/"
    assert f"- PTB-XL: {stated}, as its publisher states it. Get PTB-XL 1.0.3 from https" in text
    assert ". Cite Wagner et al., Sci Data 2020" in text
    assert "- Ours: not known to the suite; its owner says." in text
    assert "- Carded: CC BY, as the card of the data states it." in text
    assert "imulated" not in text
    assert all(dataset.licence and dataset.cite for dataset in DATASETS.values())


def test_a_published_checkpoint_says_what_is_unknown(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setattr("benchmark.embedding.load_official", lambda name, tensors: small_encoder())
    torch.save({"a": torch.zeros(1)}, tmp_path / "theirs.pth")
    assert main(["export", "--released", str(tmp_path / "theirs.pth"), "--to", str(tmp_path / "theirs")]) == OK
    assert "Not known: whether it is PMQ's or COMET's" in capsys.readouterr().out
    text = (tmp_path / "theirs" / MODEL_CARD).read_text()
    for word in ("Not known: whether it is PMQ's or COMET's", "another order of leads", "theirs.pth, SHA-256"):
        assert word in text
    assert "## Scores" not in text
    found = load_encoder(tmp_path / "theirs").encode(recording()[None], 500, LEADS)
    assert found.shape == (1, 6)


def test_a_published_checkpoint_embeds_as_its_authors_code_does(tmp_path: Path, shared_reference: Path) -> None:
    arrays = np.load(shared_reference / "encoder_small.npz")
    state = {name[3:]: torch.from_numpy(arrays[name]) for name in arrays.files if name.startswith("sd.")}
    torch.save(state, tmp_path / "theirs.pth")
    assert main(["export", "--released", str(tmp_path / "theirs.pth"), "--to", str(tmp_path / "theirs")]) == OK
    encoder = load_encoder(tmp_path / "theirs")
    with torch.no_grad():
        pooled = encoder.encoder.pooled(torch.from_numpy(arrays["x"]).float()).numpy()  # (B, K)
    np.testing.assert_allclose(pooled, arrays["pooled"], rtol=1e-4, atol=1e-6)
    np.save(tmp_path / "mine.npy", recording()[None])
    words = [str(tmp_path / "mine.npy"), "--rate", "500", "--leads", *LEADS, "--workers", "1"]
    assert main(["embed", *words, "--encoder", str(tmp_path / "theirs"), "--out", str(tmp_path / "f.npy")]) == OK
    assert np.array_equal(np.load(tmp_path / "f.npy"), encoder.encode(recording()[None], 500, LEADS))


def test_an_encoder_of_the_users_goes_with_its_source(
    results: Path, tmp_path: Path, encoder_text: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    (tmp_path / "mine.py").write_text(encoder_text)
    mine: Encoder = get_encoder(str(tmp_path / "mine.py"))()
    found = find(results, "pmq", None)
    checkpoint.save_encoder(tmp_path / "p" / found.key, mine, {})
    card = checkpoint.checked_card(tmp_path / "p" / found.key)
    assert card is not None

    class Elsewhere(type(found)):  # type: ignore[misc]
        folder = tmp_path / "p" / found.key

    monkeypatch.setattr(export, "find", lambda *_: Elsewhere(found.run, "pmq", found.key, card))
    with pytest.raises(ConfigError, match="--code FILE"):
        export_found(results, "pmq", tmp_path / "to")
    assert not (tmp_path / "to").exists()
    export_found(results, "pmq", tmp_path / "to", code=tmp_path / "mine.py")
    assert (tmp_path / "to" / SOURCE).read_text() == encoder_text
    assert load_encoder(tmp_path / "to", code=tmp_path / "mine.py").width == 6
    assert "code='encoder.py'" in (tmp_path / "to" / MODEL_CARD).read_text()


def test_what_cannot_be_exported_is_one_line_and_writes_nothing(
    results: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.chdir(tmp_path)
    (tmp_path / "file").touch()
    (tmp_path / "full").mkdir()
    (tmp_path / "full" / CONFIG).touch()
    for words, message in (
        ("pmq", "`export` needs --to FOLDER"),
        ("--to x", "takes either NAME, a row of the tables, or --released FILE"),
        ("pmq --released a --to x", "takes either NAME"),
        ("--released a --seed 3 --to x", "takes neither --seed nor --code"),
        ("--released a --to x", "--released a: there is no such file"),
        ("pmq --to file", "--to: 'file' is a file: name a folder"),
        ("pmq --to full", "--to full is a folder with other files; name a new one"),
    ):
        assert main(["export", *words.split(), "--results", str(results)]) == USAGE
        shown = capsys.readouterr()
        assert message in shown.err
        assert shown.err.count("\n") == 1
    assert not (tmp_path / "x").exists()


def test_an_export_is_made_again_in_its_place_and_no_old_onnx_stays(results: Path, tmp_path: Path) -> None:
    export_found(results, "pmq", tmp_path / "to")
    for name in (export.ONNX, SOURCE):
        (tmp_path / "to" / name).write_bytes(b"of another encoder")
    export_found(results, "random", tmp_path / "to", seed=41)
    assert json.loads((tmp_path / "to" / CONFIG).read_text())["name"] == "random"
    assert not (tmp_path / "to" / export.ONNX).exists()
    assert not (tmp_path / "to" / SOURCE).exists()


@pytest.mark.slow
def test_onnx_stands_beside_the_weights(results: Path, tmp_path: Path) -> None:
    pytest.importorskip("onnxruntime", reason="the extra `onnx` is not installed")
    lines = export_found(results, "pmq", tmp_path / "to", onnx=True)
    assert any("onnxruntime differs from torch by" in line for line in lines)
    assert (tmp_path / "to" / export.ONNX).is_file()
    assert "- **ONNX**: encoder.onnx" in (tmp_path / "to" / MODEL_CARD).read_text()
