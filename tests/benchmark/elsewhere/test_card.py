"""Cards and files of encoders from elsewhere: what is wrong is told in one line with value, place and remedy."""

from __future__ import annotations

import os
from pathlib import Path
from typing import Any

import pytest
import torch
import yaml

from benchmark.config.elsewhere import find_method
from benchmark.elsewhere.tried import tried
from benchmark.run.grid.keys import pretrain_content
from methods.encoders import identity
from methods.encoders.pretrained import ORDER, PretrainedConfig, PretrainedEncoder
from tests.benchmark.elsewhere.made import SIGNALS, network_of, onnx_bytes, write
from tests.benchmark.run.bench import SmallConfig

MODE = {"device": "cpu", "precision": "float32"}


def kind_of(word: Path) -> type[PretrainedEncoder]:
    kind = find_method(str(word)).brings
    assert kind is not None
    return kind


def key(word: Path) -> Any:
    kind = kind_of(word)
    return identity(kind, PretrainedConfig(output=kind.features))


@pytest.mark.parametrize("form", SIGNALS)
def test_each_form_is_one_class_with_its_card(form: str, tmp_path: Path) -> None:
    if form == "onnx":
        pytest.importorskip("onnxruntime")
    word = write(form, tmp_path)
    kind = kind_of(word)
    assert kind_of(word) is kind
    assert (kind.name, kind.licence, kind.pretrained_on) == (f"theirs-{form}", "MIT", None)
    assert kind.word() == str(word)
    assert find_method(str(word)).brings is kind
    assert not find_method(str(word)).trains
    encoder = tried(kind)
    x = torch.randn(2, kind.signals.samples, len(ORDER))
    assert encoder.pooled(x).shape == (2, kind.features)
    assert bool(kind.why_frozen()) == (form == "onnx")


@pytest.mark.parametrize(
    ("changes", "line"),
    [
        ({"rate": None}, "signals.rate: Field required"),
        ({"rate": "500"}, "signals.rate: input should be a valid integer, got '500'"),
        ({"leads": ["II", "V9", "V1"]}, "'V9' is no lead; there are I II III aVR"),
        ({"leads": ["II", "II", "V1"]}, "II II V1 names a lead twice"),
        ({"unit": "mm"}, "signals.unit: input should be 'mV', 'uV' or 'V', got 'mm'"),
        ({"seconds": None}, "give either seconds, the length of a window, or heartbeats: true"),
        ({"heartbeats": True}, "give either seconds, the length of a window, or heartbeats: true"),
        ({"standardise": "given"}, "mean is missing: standardise: given needs it"),
        ({"mean": [0.0]}, "unknown config key 'mean'"),
        ({"features": 0}, "features: input should be greater than or equal to 1, got 0"),
        ({"licence": None}, "licence: Field required"),
        ({"pretraining": None}, "pretraining: Field required"),
        ({"file": "gone.pt"}, "gone.pt is not there; name a file beside the card"),
        ({"file": "theirs.bin"}, "'theirs.bin' ends in none of .onnx, .pt, .ts"),
        ({"name": "pmq"}, "name: 'pmq' is taken"),
        ({"output": "z"}, "only an ONNX file has named outputs"),
        ({"frequency": 500}, "unknown config key 'frequency'"),
    ],
)
def test_a_wrong_card_is_one_line(changes: dict[str, Any], line: str, tmp_path: Path) -> None:
    word = write("torchscript", tmp_path, **changes)
    with pytest.raises(ValueError, match=r"card .*theirs.yaml: ") as caught:
        find_method(str(word))
    assert line in str(caught.value)
    assert len(str(caught.value).splitlines()) == 1


@pytest.mark.parametrize(
    ("form", "changes", "line"),
    [
        ("torchscript", {"leads": ["II", "V1"]}, "it takes no windows of 2 leads and 1000 samples, leads-first"),
        ("torchscript", {"layout": "samples-first"}, "correct signals: leads, rate, seconds or layout"),
        ("torchscript", {"features": 9}, "features 9, but a window gives 7 numbers; write 7"),
        (
            "onnx",
            {"leads": ["I", "II"], "mean": [0.0]},
            "names 2 leads, and .*theirs.onnx takes 4 .*name those that it",
        ),
        ("onnx", {"rate": 100}, "makes windows of 1000 samples, and .*takes 1280 .*correct signals.rate"),
        ("onnx", {"output": "z"}, "output 'z' is not in the file; there are features"),
        ("py", {"features": 9}, "load\\(\\) fails .*it has to read the weights of its network"),
    ],
)
def test_a_card_that_its_file_contradicts_is_one_line(
    form: str, changes: dict[str, Any], line: str, tmp_path: Path
) -> None:
    if form == "onnx":
        pytest.importorskip("onnxruntime")
    with pytest.raises(ValueError, match=line) as caught:
        tried(kind_of(write(form, tmp_path, **changes)))
    assert len(str(caught.value).splitlines()) == 1


@pytest.mark.parametrize("name", ["theirs.pt", "theirs.onnx"])
def test_a_file_of_another_kind_is_one_line(name: str, tmp_path: Path) -> None:
    pytest.importorskip("onnxruntime")
    word = write("onnx" if name.endswith("onnx") else "torchscript", tmp_path)
    torch.save({"state": torch.zeros(1)}, tmp_path / name)
    with pytest.raises(ValueError, match=r"is no TorchScript file|is no ONNX file") as caught:
        tried(kind_of(word))
    assert len(str(caught.value).splitlines()) == 1


def test_of_several_outputs_the_card_names_one(tmp_path: Path) -> None:
    pytest.importorskip("onnxruntime")
    word = write("onnx", tmp_path)
    (tmp_path / "theirs.onnx").write_bytes(onnx_bytes(network_of("onnx"), SIGNALS["onnx"], outputs=2))
    with pytest.raises(ValueError, match=r"has the outputs features, r: name one by `output` in .*theirs.yaml"):
        tried(kind_of(word))
    (tmp_path / "theirs.yaml").write_text(yaml.safe_dump(yaml.safe_load(word.read_text()) | {"output": "features"}))
    assert tried(kind_of(word)).pooled(torch.zeros(3, 1280, 12)).shape == (3, 5)


@pytest.mark.parametrize("form", SIGNALS)
def test_edited_weights_are_another_row_and_a_moved_folder_is_the_same(form: str, tmp_path: Path) -> None:
    before = key(write(form, tmp_path / "one"))
    assert key(write(form, tmp_path / "two")) == before
    (weights,) = [path for path in (tmp_path / "two").iterdir() if path.suffix in (".pt", ".onnx")]
    content = bytearray(weights.read_bytes())
    content[len(content) // 2] ^= 1
    weights.write_bytes(content)
    os.utime(weights, ns=(0, 0))
    assert key(tmp_path / "two" / ("theirs.py" if form == "py" else "theirs.yaml")) != before


def test_other_signals_are_another_row_and_another_licence_is_not(tmp_path: Path) -> None:
    before = key(write("torchscript", tmp_path / "a"))
    assert key(write("torchscript", tmp_path / "b", rate=500)) != before
    assert key(write("torchscript", tmp_path / "c", leads=["V1", "II", "V6"])) != before
    told = write("torchscript", tmp_path / "d", licence="Apache-2.0", pretraining=["ptb-xl"])
    file = (tmp_path / "a" / "theirs.pt").read_bytes()
    (tmp_path / "d" / "theirs.pt").write_bytes(file)
    assert key(told) == before


def test_the_key_of_every_other_row_holds_nothing_new(small_config: SmallConfig) -> None:
    config = small_config()
    for name in config.methods:
        content = pretrain_content(config, config.method_class(name), config.method_config(name), 1, "data", MODE)
        assert set(content["encoder"]) == {"leads", "output", "dropout", "hidden", "depth"}


def test_an_encoder_with_weights_is_no_encoder_to_pretrain(tmp_path: Path, small_config: SmallConfig) -> None:
    word = write("py", tmp_path)
    with pytest.raises(ValueError, match="theirs-py brings weights of its own and is not pretrained; use --methods"):
        small_config({"encoder": {"name": str(word)}})
