"""Windows of anyone's recordings are those of training to the bit, and embeddings those of the linear probe."""

from __future__ import annotations

import pickle
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import torch
from sklearn.base import clone
from sklearn.preprocessing import FunctionTransformer

from benchmark.config.errors import ConfigError
from benchmark.config.load import load_config
from benchmark.data.datasets.base import LEADS, Unusable
from benchmark.data.prepare import Prepared
from benchmark.data.segments import Segmentation
from benchmark.data.trials import trials_of
from benchmark.embedding import MODEL, read_description, recordings_of, windows_of
from benchmark.training.checkpoint import SOURCE
from benchmark.training.probes import features
from ecg_pretrain_bench import load_encoder
from methods.encoders import get_encoder
from tests.basic import BASIC
from tests.benchmark.embedding.exported import RATE, export_encoder, recording
from tests.benchmark.small_cohorts import small_cohort
from tests.benchmark.tables import whole_trials
from tests.benchmark.tasks import make_task


@pytest.fixture
def exported(tmp_path: Path) -> Path:
    return export_encoder(tmp_path / "encoder")


def cut(folder: Path, signal: Any, rate: float = RATE) -> Any:
    (one,) = recordings_of([signal], rate, LEADS)
    if isinstance(one, str):
        raise Unusable(one)
    return windows_of(one, read_description(folder))


@pytest.mark.parametrize("name", ["chapman", "ptb-xl"])
def test_windows_are_those_of_the_prepared_dataset_to_the_bit(
    cohorts: dict[str, Prepared], name: str, exported: Path
) -> None:
    prepared = cohorts[name]
    every, dataset = trials_of(prepared, 6), small_cohort(prepared.name)
    entries = {entry.recording: entry for entry in dataset.listing().entries}
    _, *windows_of = load_encoder(exported).cut(dataset.read(entries[name]) for name in prepared.recordings.recording)[
        0
    ]
    for number, windows in enumerate(windows_of):
        expected = whole_trials(every, np.flatnonzero(every.recording == number)).reshape(-1, 300, len(LEADS))
        assert np.array_equal(windows, expected)
    assert sum(map(bool, map(len, windows_of))) > len(windows_of) / 2


def test_leads_are_taken_by_name() -> None:
    signal, order = recording(), np.random.default_rng(1).permutation(12)
    (expected,) = recordings_of([signal], RATE, LEADS)
    (mixed,) = recordings_of([signal[:, order]], RATE, [LEADS[lead].upper() for lead in order])
    (wide,) = recordings_of([np.concatenate([np.ones((len(signal), 1)), signal], axis=1)], RATE, ["V7", *LEADS])
    (two,) = recordings_of([signal[:, [1, 0]]], RATE, ["ii", "I"], ("I", "II"))
    assert np.array_equal(mixed.signal, expected.signal)
    assert np.array_equal(wide.signal, expected.signal)
    assert np.array_equal(two.signal[:, :2], expected.signal[:, :2])
    assert not two.signal[:, 2:].any(), "leads that the encoder's tests had not may be absent"


def test_the_unit_of_standardised_signals_does_not_matter(exported: Path) -> None:
    signal = recording()
    assert np.allclose(cut(exported, 1000 * signal), cut(exported, signal), atol=2e-3)


@pytest.mark.parametrize(
    ("signal", "rate", "reason"),
    [
        (np.where(np.arange(5000)[:, None] == 7, np.nan, recording()), RATE, "NaN samples: lead I, II"),
        (recording(seconds=1.0), RATE, "too short: 1.00 s"),
        (recording(seconds=4.0), RATE, "fewer than 6 heartbeats: "),
        (np.zeros((5000, 12)), RATE, "all samples zero"),
        (recording(), 5, "sampling rate outside 50 to 10000 Hz: 5"),
    ],
)
def test_a_recording_without_windows_has_a_reason(signal: Any, rate: float, reason: str, exported: Path) -> None:
    with pytest.raises(Unusable, match=reason):
        cut(exported, signal, rate)


def test_crops_of_an_embedding_are_those_of_training(tmp_path: Path) -> None:
    signal, whole = recording(), Segmentation("recordings", 250, 100, 125)
    facts: dict[str, Any] = {"segmentation": whole, "per_trial": 1, "scale": (1.0, 2.0), "leads": ("I", "V6")}
    windows = cut(export_encoder(tmp_path / "e", **facts), signal)
    resampled = whole.cut(signal.astype(np.float32), RATE)[:, 0].astype(np.float16)  # (1000, 12)
    assert windows.shape == (7, 250, 12)
    for crop, first in zip(windows, range(0, 751, 125), strict=True):
        expected = (resampled[first : first + 250].astype(np.float32) - 1) / 2
        np.testing.assert_array_equal(crop[:, [0, 11]], expected[:, [0, 11]].astype(np.float16))
        assert not crop[:, 1:11].any()


@pytest.mark.parametrize(("name", "precision"), [("chapman", "float32"), ("ptb-xl", "bf16")])
def test_embeddings_are_those_the_linear_probe_saw_to_the_bit(
    cohorts: dict[str, Prepared], exported: Path, name: str, precision: str
) -> None:
    """From the files of the test recordings, through arrays with leads in another order."""
    prepared, config = cohorts[name], load_config(BASIC)
    encoder = load_encoder(exported, precision=precision)
    spec, cpu = config.column_spec(), torch.device("cpu")
    test = make_task(prepared, spec, ratio=0.5, seed=41, device=cpu).test
    seen = features(encoder.encoder, test.signal, precision)  # (N, K)
    dataset, names = small_cohort(prepared.name), list(dict.fromkeys(test.recording.tolist()))
    entries = {entry.recording: entry for entry in dataset.listing().entries}
    recordings = [dataset.read(entries[name]) for name in names]
    rate, order = recordings[0].fs, [3, 11, *range(3), *range(4, 11)]
    signals, leads = [one.signal[:, order] for one in recordings], [LEADS[lead] for lead in order]
    rows, whose = encoder.encode_windows(signals, rate, leads)
    assert np.array_equal(rows, seen)
    assert [names[number] for number in whose] == test.recording.tolist()
    means = np.stack([seen[test.recording == name].mean(0, dtype=np.float64) for name in names]).astype(np.float32)
    assert np.array_equal(encoder.encode(signals, rate, leads), means)


def test_a_recording_without_windows_is_a_row_of_nan(exported: Path) -> None:
    signals = np.stack([recording(), np.zeros((5000, 12)), recording(1), np.full((5000, 12), np.nan)])
    encoder = load_encoder(exported)
    line = r"2 of 4 .* 1 all samples zero, 1 NaN samples \(1: all samples zero, 3: NaN samples: lead I"
    with pytest.warns(UserWarning, match=line) as caught:
        features = encoder.encode(signals, RATE, LEADS)
    assert [warning.filename for warning in caught] == [__file__]
    assert np.isnan(features).all(axis=1).tolist() == [False, True, False, True]
    assert (features.dtype, features.shape) == (np.float32, (4, 6))
    with pytest.warns(UserWarning, match=line):
        windows, whose = encoder.windows(signals, RATE, LEADS)
    assert (len(windows), set(whose.tolist())) == (len(whose), {0, 2})
    assert encoder.encode([], RATE, LEADS).shape == (0, 6)
    assert encoder.windows([], RATE, LEADS)[0].shape == (0, 300, 12)


def test_code_of_the_users_runs_only_where_it_is_named(tmp_path: Path, encoder_text: str) -> None:
    (tmp_path / "mine.py").write_text(encoder_text)
    torch.manual_seed(0)
    mine = export_encoder(tmp_path / "mine", get_encoder(str(tmp_path / "mine.py"))(), precision="bf16")
    assert (mine / SOURCE).read_text() == encoder_text
    with pytest.raises(ConfigError, match="is from a file of its author: read "):
        load_encoder(mine)
    encoder = load_encoder(mine, code=tmp_path / "mine.py")
    assert (encoder.width, encoder.precision) == (6, "bf16")
    (tmp_path / "edited.py").write_text(encoder_text + "# edited")
    with pytest.raises(ConfigError, match="another code"):
        load_encoder(mine, code=tmp_path / "edited.py")


def test_a_folder_that_cannot_be_used_is_one_line(exported: Path, tmp_path: Path) -> None:
    (exported / MODEL).write_bytes(b"damaged")
    with pytest.raises(ConfigError, match=r"does not match its digest; export the encoder again"):
        load_encoder(exported)
    config = (exported / "config.json").read_text()
    for old, new in (('"per_trial"', '"per_trail"'), ('"precision": "float32"', '"precision": "bf16"'), ("{", "")):
        assert old in config
        (exported / "config.json").write_text(config.replace(old, new))
        with pytest.raises(ConfigError, match=r"config.json: .*; export the encoder again"):
            load_encoder(exported)
    with pytest.raises(ConfigError, match=r"is no exported encoder: config.json is not there; `export NAME"):
        load_encoder(tmp_path / "nowhere")


def test_a_step_of_scikit_learn_embeds_as_the_encoder_does(exported: Path) -> None:
    signals, encoder = [recording(seed, seconds=8.0 + seed) for seed in range(3)], load_encoder(exported)
    embeddings = encoder.encode(signals, RATE, LEADS)
    step = FunctionTransformer(encoder.encode, kw_args={"rate": RATE, "leads": LEADS})
    pickled = pickle.dumps(step.fit(signals))
    exported.rename(exported.with_name("gone"))
    for one in (step, clone(step), pickle.loads(pickled)):
        assert np.array_equal(one.fit_transform(signals), embeddings)
