"""Pretrained encoders on disk: the same bits back, damage noticed, loaded strictly."""

from __future__ import annotations

import hashlib
import json
import os
from dataclasses import replace
from pathlib import Path

import pytest
import torch

from benchmark.results.cards import BadCard, card_bytes
from benchmark.results.names import CARD
from benchmark.training.weights import (
    CHECKPOINT,
    LARGEST_WEIGHTS,
    SOURCE,
    WEIGHTS,
    checked_card,
    load_encoder,
    read_card,
    save_encoder,
)
from methods.encoders import ENCODERS, get_encoder
from methods.encoders.base import Encoder
from methods.encoders.dilated import Dilated, DilatedConfig

SIZE = DilatedConfig(hidden=4, depth=2, output=8, dropout=0.1)

MINE = """
from dataclasses import dataclass
from torch import nn
from methods.encoders.base import Encoder, EncoderConfig

@dataclass(frozen=True, kw_only=True)
class MineConfig(EncoderConfig):
    output: int = 3

class Mine(Encoder):
    name, Config = "mine", MineConfig

    def __init__(self, config=None):
        super().__init__(config)
        self.linear = nn.Linear(self.config.leads, self.config.output)

    def embed(self, x):
        return self.linear(x)

    def steps(self, embedded):
        return embedded
"""


@pytest.fixture
def encoder() -> Dilated:
    torch.manual_seed(3)
    return Dilated(SIZE)


@pytest.fixture
def folder(tmp_path: Path, encoder: Dilated) -> Path:
    """A folder with a whole encoder."""
    save_encoder(tmp_path / "key", encoder, {"method": "pmq", "loss": [0.5, 0.25]})
    return tmp_path / "key"


def test_the_files_of_a_pretraining_keep_their_names() -> None:
    """Stores of earlier versions hold them."""
    assert (WEIGHTS, SOURCE, CHECKPOINT) == ("encoder.safetensors", "encoder.py", "checkpoint.pt")


def test_weights_come_back_bit_by_bit_and_without_pretraining_dropout(folder: Path, encoder: Dilated) -> None:
    loaded = load_encoder(folder, Dilated)
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


@pytest.mark.attack("cards edited, swapped or damaged")
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
        load_encoder(folder, Dilated)


@pytest.mark.attack("cards edited, swapped or damaged")
def test_an_encoder_of_another_pretraining_is_refused(folder: Path, tmp_path: Path) -> None:
    torch.manual_seed(4)
    save_encoder(tmp_path / "other", Dilated(SIZE), {})
    (tmp_path / "other" / WEIGHTS).replace(folder / WEIGHTS)
    with pytest.raises(BadCard, match=f"{folder / WEIGHTS}: the file does not match the digest in its card"):
        checked_card(folder)
    save_encoder(tmp_path / "other", Dilated(SIZE), {})
    for name in (WEIGHTS, CARD):
        (tmp_path / "other" / name).replace(folder / name)
    with pytest.raises(BadCard, match="this is the card of other"):
        checked_card(folder)
    assert read_card(folder) is None


@pytest.mark.attack("pipes, devices, huge files and deep nesting")
@pytest.mark.parametrize("kind", ["pipe", "device", "huge"])
def test_weights_that_are_no_plain_file_are_not_read(folder: Path, kind: str) -> None:
    file = folder / WEIGHTS
    if kind == "huge":
        os.truncate(file, LARGEST_WEIGHTS + 1)
    else:
        file.unlink()
        os.mkfifo(file) if kind == "pipe" else file.symlink_to("/dev/zero")
    with pytest.raises(BadCard, match=f"{file}: (not a regular file|larger than 16384 MiB)"):
        checked_card(folder)
    assert read_card(folder) is None


def test_a_missing_folder_is_none_and_is_not_made(tmp_path: Path) -> None:
    assert read_card(tmp_path / "key") is None
    assert list(tmp_path.iterdir()) == []


@pytest.mark.parametrize("size", [{"output": 16}, {"depth": 3}, {"hidden": 8}])
def test_weights_of_another_size_are_refused(folder: Path, size: dict[str, int]) -> None:
    card = json.loads((folder / CARD).read_text())
    card["encoder"] |= size
    (folder / CARD).write_bytes(card_bytes(card))
    with pytest.raises(RuntimeError, match="state_dict"):
        load_encoder(folder, Dilated)


def test_every_encoder_comes_back_as_itself(tmp_path: Path) -> None:
    for name, kind in ENCODERS.items():
        encoder = kind(kind.Config.small()).train()
        encoder(torch.randn(3, 40, 12))  # what batch normalisation counts comes back too
        save_encoder(tmp_path / name, encoder, {})
        loaded = load_encoder(tmp_path / name, kind)
        card = read_card(tmp_path / name)
        assert card is not None
        assert (type(loaded), loaded.config, card["encoder"]["name"]) == (kind, encoder.config, name)
        x = torch.randn(2, 40, 12)
        assert torch.equal(loaded.eval().pooled(x), encoder.eval().pooled(x))
        assert {path.name for path in (tmp_path / name).iterdir()} == {WEIGHTS, CARD}


def test_a_card_without_a_name_is_of_the_default_encoder(folder: Path, encoder: Dilated) -> None:
    card = json.loads((folder / CARD).read_text())
    del card["encoder"]["name"]
    (folder / CARD).write_bytes(card_bytes(card))
    assert load_encoder(folder, Dilated).config == replace(encoder.config, dropout=0.0)


@pytest.mark.parametrize("entry", ["sha256", "encoder"])
def test_a_card_that_lacks_an_entry_is_named(folder: Path, entry: str) -> None:
    card = json.loads((folder / CARD).read_text())
    del card[entry]
    (folder / CARD).write_bytes(card_bytes(card))
    with pytest.raises(BadCard, match=f"{folder / CARD}: the card lacks '{entry}'"):
        checked_card(folder)


@pytest.mark.parametrize(
    ("change", "message"),
    [
        ({"name": "gone"}, "weights of the encoder 'gone', not of 'dilated'; delete the folder"),
        ({"wings": 2}, "unknown config key 'encoder.wings'"),
    ],
)
def test_a_card_that_fits_no_encoder_is_one_line(folder: Path, change: dict[str, object], message: str) -> None:
    card = json.loads((folder / CARD).read_text())
    card["encoder"] |= change
    (folder / CARD).write_bytes(card_bytes(card))
    with pytest.raises(ValueError, match=message) as caught:
        load_encoder(folder, Dilated)
    assert "\n" not in str(caught.value)


@pytest.fixture
def mine(tmp_path: Path) -> type[Encoder]:
    """An encoder from a file, as a command names it."""
    (tmp_path / "mine.py").write_text(MINE)
    return get_encoder(str(tmp_path / "mine.py"))


@pytest.fixture
def from_file(mine: type[Encoder], tmp_path: Path) -> Path:
    """A folder with weights of that encoder."""
    torch.manual_seed(0)
    save_encoder(tmp_path / "key", mine(), {})
    return tmp_path / "key"


def test_an_encoder_from_a_file_comes_back_wherever_its_folder_goes(
    from_file: Path, mine: type[Encoder], tmp_path: Path
) -> None:
    assert (from_file / SOURCE).read_text() == MINE
    (tmp_path / "elsewhere").mkdir()
    loaded = load_encoder(from_file.rename(tmp_path / "elsewhere" / "key"), mine)
    assert type(loaded) is mine
    assert loaded.pooled(torch.randn(2, 9, 12)).shape == (2, 3)


@pytest.mark.parametrize("other", [MINE + "# edited", MINE.replace('"mine"', '"yours"')], ids=["edited", "renamed"])
def test_weights_of_another_file_of_the_user_are_refused(from_file: Path, tmp_path: Path, other: str) -> None:
    (tmp_path / "other.py").write_text(other)
    kind = get_encoder(str(tmp_path / "other.py"))
    wrong = "another code of the encoder 'mine'" if kind.name == "mine" else "the encoder 'mine', not of 'yours'"
    with pytest.raises(ValueError, match=f"{wrong}.*; delete the folder and run the same command again"):
        load_encoder(from_file, kind)


def test_weights_belong_to_the_content_of_the_modules_that_the_file_imports(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.syspath_prepend(tmp_path)
    (tmp_path / "blocks_of_mine.py").write_text("WIDTH = 3\n")
    (tmp_path / "mine.py").write_text(f"from blocks_of_mine import WIDTH\n{MINE}")
    kind = get_encoder(str(tmp_path / "mine.py"))
    save_encoder(tmp_path / "key", kind(), {})
    assert type(load_encoder(tmp_path / "key", kind)) is kind
    card = json.loads((tmp_path / "key" / CARD).read_text())
    assert card["encoder"]["modules"].keys() == {"blocks_of_mine"}
    card["encoder"]["modules"]["blocks_of_mine"] = "0" * 64
    (tmp_path / "key" / CARD).write_bytes(card_bytes(card))
    with pytest.raises(ValueError, match="a module that the file of the encoder 'mine' imports has changed"):
        load_encoder(tmp_path / "key", kind)


@pytest.mark.attack("code that lies in a results store")
@pytest.mark.parametrize("name", ["dilated", "mine", "hostile"])
def test_the_code_beside_weights_is_never_executed(
    mine: type[Encoder], from_file: Path, tmp_path: Path, name: str
) -> None:
    """A store of others: an encoder.py that acts when it is loaded, with digests that fit."""
    code = f"open({str(tmp_path / 'acted')!r}, 'w').close()\n{MINE}".replace('"mine"', f'"{name}"')
    card = json.loads((from_file / CARD).read_text())
    card["encoder"] |= {"name": name, "source": hashlib.sha256(code.encode()).hexdigest()}
    (from_file / SOURCE).write_text(code)
    (from_file / CARD).write_bytes(card_bytes(card))
    assert read_card(from_file) is not None
    for kind in (Dilated, mine):
        with pytest.raises(ValueError, match="; delete the folder and run the same command again"):
            load_encoder(from_file, kind)
    assert not (tmp_path / "acted").exists()


@pytest.mark.parametrize("text", [None, MINE + "# altered"])
def test_an_encoder_whose_file_is_gone_or_altered_counts_as_none(from_file: Path, text: str | None) -> None:
    (from_file / SOURCE).unlink()
    if text is not None:
        (from_file / SOURCE).write_text(text)
    assert read_card(from_file) is None
