"""Encoders on disk come back bit by bit, and damage is noticed; what resuming gives is in test_pretrain.py."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

import pytest
import torch

from benchmark.results.files import Damaged
from benchmark.results.names import RECORD_FILE
from benchmark.training.checkpoint import SOURCE, WEIGHTS, built_encoder, load_encoder, read_record, save_encoder
from methods.encoders import get_encoder
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


def test_a_stored_encoder_comes_back_to_the_bit(folder: Path, encoder: Dilated, tmp_path: Path) -> None:
    loaded = load_encoder(folder, Dilated)
    assert loaded.state_dict().keys() == encoder.state_dict().keys()
    assert all(torch.equal(value, loaded.state_dict()[name]) for name, value in encoder.state_dict().items())
    assert loaded.dropout == loaded.config.dropout == 0.0
    assert (loaded.config.hidden, loaded.config.depth, loaded.config.output) == (4, 2, 8)
    record = read_record(folder)
    assert record is not None
    assert (record["method"], record["loss"]) == ("pmq", [0.5, 0.25])
    for stored, problem in (({"name": "s4"}, "made with another encoder"), ({"size": 3}, "encoder.size")):
        with pytest.raises(ValueError, match=problem):
            built_encoder(Dilated, record["encoder"] | stored, b"")
    save_encoder(tmp_path / "again", encoder, {})
    assert (tmp_path / "again" / WEIGHTS).read_bytes() == (folder / WEIGHTS).read_bytes()


@pytest.mark.parametrize(
    ("name", "damage"),
    [
        (WEIGHTS, lambda content: content[:-5] + bytes([content[-5] ^ 1]) + content[-4:]),
        (RECORD_FILE, lambda content: content.replace(b"0.25", b"0.75")),
    ],
)
def test_a_damaged_encoder_is_told_from_a_missing_one(
    folder: Path, name: str, damage: Callable[[bytes], bytes]
) -> None:
    (folder / name).write_bytes(damage((folder / name).read_bytes()))
    line = rf"{name}: its content does not match its digest; the run command makes the encoder again"
    for read in (read_record, lambda where: load_encoder(where, Dilated)):
        with pytest.raises(Damaged, match=line):
            read(folder)
    (folder / name).unlink()
    assert read_record(folder) is None
    with pytest.raises(
        FileNotFoundError, match=r"no pretrained encoder in .*; the run command makes the encoder again"
    ):
        load_encoder(folder, Dilated)


def test_an_encoder_of_another_pretraining_is_refused(folder: Path, tmp_path: Path) -> None:
    torch.manual_seed(4)
    save_encoder(tmp_path / "other", Dilated(SIZE), {})
    (tmp_path / "other" / WEIGHTS).replace(folder / WEIGHTS)
    with pytest.raises(Damaged, match=WEIGHTS):
        read_record(folder)
    save_encoder(tmp_path / "other", Dilated(SIZE), {})
    for name in (WEIGHTS, RECORD_FILE):
        (tmp_path / "other" / name).replace(folder / name)
    with pytest.raises(Damaged, match=r"this is the record of other"):
        read_record(folder)


def test_a_users_encoder_with_another_source_is_refused(tmp_path: Path, encoder_text: str) -> None:
    (tmp_path / "mine.py").write_text(encoder_text)
    save_encoder(tmp_path / "key", get_encoder(str(tmp_path / "mine.py"))(), {})
    assert read_record(tmp_path / "key")
    (tmp_path / "key" / SOURCE).write_text(encoder_text + "# altered")
    with pytest.raises(Damaged, match=SOURCE):
        read_record(tmp_path / "key")
