"""The folder of an exported encoder: it comes back whole, and what is not one is a line."""

from __future__ import annotations

import hashlib
import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
import torch

from benchmark.config.errors import ConfigError
from benchmark.embedding.saved import CONFIG, read_description, read_encoder
from benchmark.results.names import CARD
from benchmark.training.weights import SOURCE, WEIGHTS, save_encoder
from methods.encoders import get_encoder
from tests.benchmark.embedding.exported import export_encoder, small_encoder


def test_it_comes_back_wherever_the_folder_goes(exported: Path, tmp_path: Path) -> None:
    moved = exported.rename(tmp_path / "elsewhere")
    found = read_encoder(moved, read_description(moved))
    x = torch.randn(2, 300, 12)
    assert not found.training
    assert torch.equal(found.pooled(x), small_encoder().pooled(x))


def changed(folder: Path, **values: Any) -> None:
    file = folder / CONFIG
    file.write_text(json.dumps(json.loads(file.read_text()) | values))


@pytest.mark.parametrize(
    ("values", "message"),
    [
        ({"format": 2}, "this version reads format 1; export the encoder again"),
        (
            {"cut": {"kind": "beats", "samples": 300, "per_trial": 6}},
            "cut.kind: input should be 'heartbeats', 'windows' or",
        ),
        ({"wings": 2}, "wings: extra inputs are not permitted"),
        ({"pipeline": 0}, "windows were cut by version 0 of the preparation, here is 1; use the version of the suite"),
        ({"rate": 200}, "windows are at 200 Hz and z-score"),
        ({"leads": ["I", "II"]}, "it reads the leads I II; use the version"),
    ],
)
def test_a_description_that_does_not_fit_is_one_line(exported: Path, values: dict[str, Any], message: str) -> None:
    changed(exported, **values)
    with pytest.raises(ConfigError, match=message) as caught:
        read_description(exported)
    assert str(exported / CONFIG) in str(caught.value)
    assert "\n" not in str(caught.value)


@pytest.mark.parametrize("text", ["", "{", "[1]"])
def test_a_damaged_description_is_one_line(exported: Path, text: str) -> None:
    (exported / CONFIG).write_text(text)
    with pytest.raises(ConfigError, match="export the encoder again"):
        read_description(exported)


def test_what_is_no_exported_encoder_names_the_verb_that_makes_one(tmp_path: Path) -> None:
    with pytest.raises(ConfigError, match=r"nowhere is no exported encoder: config.json is not there; `export NAME"):
        read_description(tmp_path / "nowhere")
    save_encoder(tmp_path / "key", small_encoder(), {})
    assert (tmp_path / "key" / CARD).is_file()
    with pytest.raises(ConfigError, match=r"is a pretraining of a results store.*`export key --to FOLDER`"):
        read_description(tmp_path / "key")


def test_altered_or_missing_weights_are_refused(exported: Path, flip: Callable[[Path, float], None]) -> None:
    description = read_description(exported)
    flip(exported / WEIGHTS, 0.9)
    with pytest.raises(ConfigError, match="does not match the digest in"):
        read_encoder(exported, description)
    (exported / WEIGHTS).unlink()
    with pytest.raises(ConfigError, match="No such file or directory; export the encoder again"):
        read_encoder(exported, description)


def test_a_file_of_code_is_refused_for_an_encoder_of_the_suite(exported: Path, tmp_path: Path) -> None:
    with pytest.raises(ConfigError, match=r"mine.py is for an encoder from a file; this is 'dilated' of the suite"):
        read_encoder(exported, read_description(exported), tmp_path / "mine.py")


def test_weights_of_other_sizes_are_one_line(exported: Path) -> None:
    changed(exported, encoder=json.loads((exported / CONFIG).read_text())["encoder"] | {"hidden": 5})
    with pytest.raises(ConfigError, match="size mismatch") as caught:
        read_encoder(exported, read_description(exported))
    assert "\n" not in str(caught.value)


@pytest.mark.attack("code that lies in a foreign encoder's folder")
def test_the_code_of_an_encoder_runs_only_if_its_file_is_named(tmp_path: Path, encoder_text: str) -> None:
    mine = tmp_path / "mine.py"
    mine.write_text(encoder_text)
    folder = export_encoder(tmp_path / "encoder", get_encoder(str(mine))())
    description = read_description(folder)
    assert (folder / SOURCE).read_text() == encoder_text
    with pytest.raises(ConfigError, match=r"the encoder 'mine' in .* is from a file of its author: read .*--code FILE"):
        read_encoder(folder, description)
    assert read_encoder(folder, description, mine).pooled(torch.randn(2, 9, 12)).shape == (2, 6)
    hostile = f"open({str(tmp_path / 'acted')!r}, 'w').close()\n{encoder_text}"
    (folder / SOURCE).write_text(hostile)
    changed(folder, encoder=description.encoder | {"source": hashlib.sha256(hostile.encode()).hexdigest()})
    with pytest.raises(ConfigError, match="another code of the encoder 'mine'"):
        read_encoder(folder, read_description(folder), mine)
    assert not (tmp_path / "acted").exists()
