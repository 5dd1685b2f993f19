"""Published checkpoints: their weights, and what is not known of them; no code in them runs."""

from __future__ import annotations

import os
import pickle
from pathlib import Path

import numpy as np
import pytest
import torch
from torch import Tensor

from benchmark.config.errors import ConfigError
from benchmark.embedding.released import read_released, tensors_of
from benchmark.embedding.saved import encoder_of


@pytest.fixture
def published(shared_reference: Path) -> dict[str, Tensor]:
    """A state dict in the released form."""
    arrays = np.load(shared_reference / "encoder_small.npz")
    return {name[3:]: torch.from_numpy(arrays[name]) for name in arrays.files if name.startswith("sd.")}


@pytest.mark.parametrize("form", ["bare", "averaged", "nested"])
def test_a_checkpoint_gives_the_authors_numbers(
    published: dict[str, Tensor], shared_reference: Path, tmp_path: Path, form: str
) -> None:
    state = dict(published)
    if form == "averaged":
        state = {f"module.{name}": value for name, value in published.items()} | {"n_averaged": torch.tensor(3)}
    torch.save({"state_dict": state} if form == "nested" else state, tmp_path / "theirs.pth")
    tensors = tensors_of(tmp_path / "theirs.pth")
    assert tensors.keys() == state.keys()
    arrays = np.load(shared_reference / "encoder_small.npz")
    leads = int(arrays["x"].shape[-1])
    if leads != 12:
        with pytest.raises(ConfigError, match=f"the encoder reads {leads} leads; recordings here have 12"):
            read_released(tmp_path / "theirs.pth")
        return
    description, weights = read_released(tmp_path / "theirs.pth")
    encoder = encoder_of(description.encoder, weights, tmp_path, None).eval()
    with torch.no_grad():
        found = encoder.pooled(torch.from_numpy(arrays["x"]).float()).numpy()
    assert np.allclose(found, arrays["pooled"], rtol=1e-4, atol=1e-6)
    assert description.pretraining == {}
    assert description.cut == {"kind": "heartbeats", "samples": 300, "per_trial": 6}


def test_what_is_no_checkpoint_is_one_line(tmp_path: Path) -> None:
    file = tmp_path / "theirs.pth"
    with pytest.raises(ConfigError, match="there is no such file"):
        read_released(file)
    file.write_bytes(b"not a checkpoint")
    with pytest.raises(ConfigError, match="no checkpoint of tensors alone"):
        read_released(file)
    torch.save({"weights": [1, 2]}, file)
    with pytest.raises(ConfigError, match="this is no state dict; save"):
        read_released(file)
    torch.save({"layer.weight": torch.zeros(3)}, file)
    with pytest.raises(ConfigError, match="released encoder: unknown tensor"):
        read_released(file)


class Acts:
    def __init__(self, place: Path) -> None:
        self.place = place

    def __reduce__(self) -> tuple[object, tuple[str]]:
        return os.mkdir, (str(self.place),)


@pytest.mark.attack("code in a published checkpoint")
def test_code_in_a_checkpoint_does_not_run(tmp_path: Path) -> None:
    (tmp_path / "theirs.pth").write_bytes(pickle.dumps(Acts(tmp_path / "acted"), protocol=2))
    torch.save({"layer": Acts(tmp_path / "acted")}, tmp_path / "zipped.pth")
    for name in ("theirs.pth", "zipped.pth"):
        with pytest.raises(ConfigError, match="no checkpoint of tensors alone"):
            read_released(tmp_path / name)
    assert not (tmp_path / "acted").exists()
