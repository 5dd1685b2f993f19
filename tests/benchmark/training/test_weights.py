"""Pretrained encoders on disk: the same bits back, damage noticed, loaded strictly."""

from __future__ import annotations

import json
from pathlib import Path

import pytest
import torch

from benchmark.results.names import CARD
from benchmark.training.weights import WEIGHTS, load_encoder, read_card, save_encoder
from methods.encoders.dilated import Dilated, DilatedConfig

SIZE = DilatedConfig(hidden=4, depth=2, output=8, dropout=0.1)


@pytest.fixture
def encoder() -> Dilated:
    torch.manual_seed(3)
    return Dilated(SIZE)


@pytest.fixture
def folder(tmp_path: Path, encoder: Dilated) -> Path:
    """A folder with a whole encoder."""
    save_encoder(tmp_path / "key", encoder, {"method": "pmq", "loss": [0.5, 0.25]})
    return tmp_path / "key"


def test_weights_come_back_bit_by_bit_and_without_pretraining_dropout(folder: Path, encoder: Dilated) -> None:
    loaded = load_encoder(folder)
    assert loaded.state_dict().keys() == encoder.state_dict().keys()
    assert all(torch.equal(value, loaded.state_dict()[name]) for name, value in encoder.state_dict().items())
    assert loaded.dropout == loaded.config.dropout == 0.0
    assert (loaded.config.hidden, loaded.config.depth, loaded.config.output) == (4, 2, 8)
    assert {path.name for path in folder.iterdir()} == {WEIGHTS, CARD}


def test_the_card_keeps_how_it_was_made(folder: Path) -> None:
    card = read_card(folder)
    assert card is not None
    assert (card["method"], card["loss"]) == ("pmq", [0.5, 0.25])


def test_the_same_weights_give_the_same_file(folder: Path, encoder: Dilated, tmp_path: Path) -> None:
    save_encoder(tmp_path / "again", encoder, {})
    assert (tmp_path / "again" / WEIGHTS).read_bytes() == (folder / WEIGHTS).read_bytes()


@pytest.mark.parametrize("name", [WEIGHTS, CARD])
@pytest.mark.parametrize("damage", ["gone", "empty", "cut", "flipped"])
def test_a_damaged_encoder_counts_as_none(folder: Path, name: str, damage: str) -> None:
    file = folder / name
    content = file.read_bytes()
    file.unlink()
    if damage == "empty":
        file.touch()
    elif damage == "cut":
        file.write_bytes(content[:-1])
    elif damage == "flipped":
        position = content.index(b'"sha256": "') + 11 if name == CARD else -5
        altered = bytearray(content)
        altered[position] ^= 1
        file.write_bytes(altered)
    assert read_card(folder) is None
    with pytest.raises(FileNotFoundError, match=r"missing or damaged; run the same command again"):
        load_encoder(folder)


def test_a_missing_folder_is_none_and_is_not_made(tmp_path: Path) -> None:
    assert read_card(tmp_path / "key") is None
    assert list(tmp_path.iterdir()) == []


@pytest.mark.parametrize("size", [{"output": 16}, {"depth": 3}, {"hidden": 8}])
def test_weights_of_another_size_are_refused(folder: Path, size: dict[str, int]) -> None:
    card = json.loads((folder / CARD).read_text())
    card["encoder"] |= size
    (folder / CARD).write_text(json.dumps(card))
    with pytest.raises(RuntimeError, match="state_dict"):
        load_encoder(folder)
