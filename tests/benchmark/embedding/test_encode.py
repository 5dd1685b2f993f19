"""Embeddings: those of the linear probe to the bit, and a row of NaN with a count where there is none."""

from __future__ import annotations

import pickle
import warnings
from pathlib import Path

import numpy as np
import pytest
import torch

from benchmark import load_encoder
from benchmark.config.errors import ConfigError
from benchmark.config.load import load_config
from benchmark.data.prepared.load import Prepared
from benchmark.data.readers.base import LEADS
from benchmark.data.tasks.task import make_task
from benchmark.embedding import encode
from benchmark.embedding.encode import mean_of, unusable_line
from benchmark.training.linear import features
from tests.basic import BASIC
from tests.benchmark.embedding.exported import RATE, export_encoder, recording
from tests.benchmark.embedding.test_cut import dataset_of


@pytest.mark.parametrize("precision", ["float32", "bf16"])
@pytest.mark.parametrize("name", ["chapman", "ptb-xl"])
def test_embeddings_are_those_the_linear_probe_saw_to_the_bit(
    cohorts: dict[str, Prepared], exported: Path, name: str, precision: str
) -> None:
    """From the files of the test recordings, through arrays with leads in another order."""
    prepared, config = cohorts[name], load_config(BASIC)
    encoder = load_encoder(exported, precision=precision)
    cpu = torch.device("cpu")
    test = make_task(prepared, config.task_spec(config.finetune), ratio=0.5, seed=41, device=cpu).test
    seen = features(encoder.encoder, test.signal, precision)  # (N, K)
    dataset, names = dataset_of(prepared), list(dict.fromkeys(test.recording.tolist()))
    entries = {entry.recording: entry for entry in prepared.entries}
    read = [dataset.read(entries[own]) for own in names]
    rate, order = read[0].fs, [3, 11, *range(3), *range(4, 11)]
    signals = [own.signal[:, order] for own in read]
    leads = [LEADS[lead] for lead in order]
    found, whose = encoder.encode_windows(signals, rate, leads)
    assert np.array_equal(found, seen)
    assert [names[number] for number in whose] == test.recording.tolist()
    means = np.stack([mean_of(seen[test.recording == own], encoder.width) for own in names])
    assert np.array_equal(encoder.encode(signals, rate, leads), means)


def test_batches_are_whole_whatever_the_recordings(exported: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Memory is bounded by blocks of whole batches; the bits are those of one call on all windows."""
    encoder = load_encoder(exported)
    draws = np.random.default_rng(0)
    cuts = [draws.normal(size=(count, 300, 12)).astype(np.float16) for count in (6, 300, 12, 130, 6)]
    expected = features(encoder.encoder, torch.from_numpy(np.concatenate(cuts)), "float32")
    monkeypatch.setattr(encode, "BATCHES", 1)
    given = [*cuts[:2], "a reason", *cuts[2:], "another"]
    found = list(encoder.embeddings(given))
    assert [own if isinstance(own, str) else len(own) for own in found] == [6, 300, "a reason", 12, 130, 6, "another"]
    assert np.array_equal(np.concatenate([own for own in found if not isinstance(own, str)]), expected)
    assert list(encoder.embeddings([])) == []
    assert list(encoder.embeddings(["only"])) == ["only"]


def test_a_recording_without_windows_is_a_row_of_nan_and_one_warning(exported: Path) -> None:
    signals = np.stack([recording(), np.zeros((5000, 12)), recording(1), np.full((5000, 12), np.nan)])
    encoder = load_encoder(exported)
    line = "2 of 4 recordings have no embedding: 1 all samples zero, 1 NaN samples"
    with pytest.warns(UserWarning, match=line) as caught:
        found = encoder.encode(signals, RATE, LEADS)
    assert len(caught) == 1
    assert caught[0].filename == __file__
    assert np.isnan(found).all(axis=1).tolist() == [False, True, False, True]
    assert np.isfinite(found[[0, 2]]).all()
    assert found.dtype == np.float32
    with pytest.raises(ConfigError, match=r"^recording 1: all samples zero; unusable='nan' gives it a row of NaN$"):
        encoder.encode(signals, RATE, LEADS, unusable="raise")
    for also in (encoder.encode_windows, encoder.windows):
        with pytest.warns(UserWarning, match=line) as caught:
            rows, whose = also(signals, RATE, LEADS)
        assert caught[0].filename == __file__
        assert set(whose.tolist()) == {0, 2}
        assert len(rows) == len(whose)
    with pytest.raises(ConfigError, match="unusable='drop' is not known"):
        encoder.encode(signals[:1], RATE, LEADS, unusable="drop")  # type: ignore[arg-type]
    assert unusable_line(["", ""]) == ""


def test_no_recording_gives_no_row(exported: Path) -> None:
    encoder = load_encoder(exported)
    assert encoder.encode([], RATE, LEADS).shape == (0, 6)
    assert encoder.encode_windows([], RATE, LEADS)[0].shape == (0, 6)
    assert encoder.windows([], RATE, LEADS)[0].shape == (0, 300, 12)


def test_windows_are_what_the_encoder_reads(exported: Path) -> None:
    encoder = load_encoder(exported)
    signals = [recording(), recording(1, seconds=15.0)]
    windows, whose = encoder.windows(signals, RATE, LEADS)
    found, same = encoder.encode_windows(signals, RATE, LEADS)
    assert np.array_equal(whose, same)
    with torch.no_grad():
        assert np.allclose(encoder.encoder.pooled(torch.from_numpy(windows)).numpy(), found, atol=1e-6)


def test_a_pickled_encoder_needs_no_folder(exported: Path, tmp_path: Path) -> None:
    encoder = load_encoder(str(exported))
    kept = pickle.dumps(encoder)
    exported.rename(tmp_path / "gone")
    signals = recording()[None]
    assert np.array_equal(pickle.loads(kept).encode(signals, RATE, LEADS), encoder.encode(signals, RATE, LEADS))


def test_precision_and_device_are_those_of_the_probe_or_as_asked(tmp_path: Path) -> None:
    folder = export_encoder(tmp_path / "bf16", precision="bf16")
    assert load_encoder(folder).precision == "bf16"
    assert load_encoder(folder, precision="float32").precision == "float32"
    with pytest.raises(ConfigError, match="precision 'fp16' is not known; there are float32, bf16"):
        load_encoder(folder, precision="fp16")
    with pytest.raises(ConfigError, match="--device 'tpu'"):
        load_encoder(folder, device="tpu")
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        load_encoder(folder).encode(recording()[None], RATE, LEADS)
