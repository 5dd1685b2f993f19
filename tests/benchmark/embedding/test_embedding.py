"""Windows of anyone's recordings are those of training to the bit, whatever the order of the leads.

Embeddings are those of the linear probe to the bit, and a row of NaN with a count where there is none. The scikit-learn
transformer holds to scikit-learn's contract. Published checkpoints: their weights, and no code in them runs. The folder
of an exported encoder comes back whole, and what is not one is a line.
"""

from __future__ import annotations

import hashlib
import json
import pickle
import warnings
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import torch
from sklearn.base import clone
from sklearn.exceptions import NotFittedError, SkipTestWarning
from sklearn.impute import SimpleImputer
from sklearn.linear_model import LogisticRegression
from sklearn.model_selection import cross_val_score
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler
from sklearn.utils import estimator_checks as checks

from benchmark import EcgEmbedder, embedding, load_encoder
from benchmark.config.errors import ConfigError
from benchmark.config.load import load_config
from benchmark.data.corpus import Scale, trials_of
from benchmark.data.datasets.base import LEADS, Recording, Unusable
from benchmark.data.heartbeats import pseudo_trials
from benchmark.data.prepare import Prepared
from benchmark.data.segments import HEARTBEATS, Segmentation
from benchmark.data.task import make_task
from benchmark.embedding import (
    CONFIG,
    Taken,
    check_signals,
    columns_of,
    cut_all,
    mean_of,
    read_description,
    read_encoder,
    recording_of,
    windows_of,
)
from benchmark.training.checkpoint import SOURCE, WEIGHTS, save_encoder
from benchmark.training.probes import features
from methods.encoders import get_encoder
from tests.basic import BASIC
from tests.benchmark.embedding.exported import RATE, export_encoder, recording, small_encoder
from tests.benchmark.small_cohorts import small_cohort

SIX_BEATS = Taken(HEARTBEATS, 6)


def read(signal: Any, leads: Any = LEADS, present: Any = LEADS, rate: float = RATE) -> Recording:
    return recording_of(signal, rate, columns_of(leads, present))


@pytest.mark.parametrize("name", ["chapman", "ptb-xl"])
def test_windows_are_those_of_the_prepared_dataset_to_the_bit(cohorts: dict[str, Prepared], name: str) -> None:
    prepared = cohorts[name]
    every, dataset = trials_of(prepared, 6), small_cohort(prepared.name)
    found = list(cut_all(dataset.read, prepared.entries, SIX_BEATS))
    for number, own in enumerate(found):
        expected = every.take(np.flatnonzero(every.recording == number), windows=6).reshape(-1, 300, len(LEADS))
        if isinstance(own, str):
            assert not len(expected)
            assert own.startswith("fewer than 6 heartbeats: ")
        else:
            assert np.array_equal(own, expected)
    assert sum(not isinstance(own, str) for own in found) > len(found) / 2


def test_leads_are_taken_by_name_and_their_unit_does_not_matter() -> None:
    signal, order = recording(), np.random.default_rng(1).permutation(12)
    expected = read(signal).signal
    assert np.array_equal(read(signal[:, order], [LEADS[lead].upper() for lead in order]).signal, expected)
    wide = np.concatenate([np.ones((len(signal), 1)), signal], axis=1)
    assert np.array_equal(read(wide, ["V7", *LEADS]).signal, expected)
    assert np.array_equal(read(wide, ["-", *LEADS]).signal, expected), "as in a card"
    assert np.array_equal(read(signal, {f"lead {lead}": lead for lead in LEADS}).signal, expected)
    microvolts, millivolts = (windows_of(read(own), SIX_BEATS) for own in (1000 * signal, signal))
    assert np.allclose(microvolts, millivolts, atol=2e-3)
    two = read(signal[:, [1, 0]], ["ii", "I"], ("I", "II")).signal
    assert np.array_equal(two[:, :2], expected[:, :2])
    assert not two[:, 2:].any(), "leads that the encoder's tests had not may be absent"
    for names, present, message in (
        (["I", "MLII", "-", *LEADS[2:]], LEADS, r"^leads: lead missing: II; not known: MLII; the 12 are I II III aVR"),
        (["I", "I", *LEADS[1:]], LEADS, "lead twice: I"),
        ("I II III", LEADS, "give a list of names"),
        (["I"], ("I", "II"), "^leads: lead missing: II; the encoder needs I II, in any order$"),
    ):
        with pytest.raises(ConfigError, match=message):
            columns_of(names, present)


@pytest.mark.parametrize(
    ("signals", "rate", "message"),
    [
        (np.zeros((2, 100, 11)), 500, "recording 0 is of shape .100, 11., and 12 leads are named"),
        (np.zeros((100, 12)), 500, r"are one recording: give signals\[None\]"),
        ([np.zeros((100, 12)), np.zeros(100)], 500, "recording 1 is float64 .100,., not numbers"),
        (np.full((1, 5, 12), "x"), 500, "not numbers .samples, leads."),
        (np.zeros((1, 100, 12)), 5, "rate 5 is not a sampling rate in Hz from 50 to 10000"),
        (np.zeros((1, 100, 12)), float("nan"), "rate nan is not"),
    ],
)
def test_what_are_no_recordings_is_one_line(signals: Any, rate: float, message: str) -> None:
    with pytest.raises(ConfigError, match=message):
        check_signals(signals, rate, LEADS)


@pytest.mark.parametrize(
    ("signal", "reason"),
    [
        (np.where(np.arange(5000)[:, None] == 7, np.nan, recording()), "NaN samples: lead I, II"),
        (recording(seconds=1.0), "too short: 1.00 s"),
        (recording(seconds=4.0), "fewer than 6 heartbeats: "),
        (np.zeros((5000, 12)), "all samples zero"),
        (recording() * 1e12, "infinite samples"),
    ],
)
def test_a_recording_without_windows_has_a_reason(signal: Any, reason: str) -> None:
    with pytest.raises(Unusable, match=reason):
        windows_of(read(signal), SIX_BEATS)


def test_crops_are_those_of_the_whole_recording_and_absent_leads_are_zero() -> None:
    signal = recording()
    whole = Segmentation("recordings", 250, 100, 125)
    own = windows_of(read(signal), Taken(whole, 1, Scale(1.0, 2.0), ("I", "V6")))
    kept = whole.cut(signal.astype(np.float32), RATE)[:, 0].astype(np.float16)  # (1000, 12)
    assert own.shape == (7, 250, 12)
    for crop, first in zip(own, range(0, 751, 125), strict=True):
        expected = (kept[first : first + 250].astype(np.float32) - 1) / 2
        np.testing.assert_array_equal(crop[:, [0, 11]], expected[:, [0, 11]].astype(np.float16))
        assert not crop[:, 1:11].any()
    assert windows_of(read(signal), Taken(Segmentation("recordings", 625, stride=625), 1)).shape == (4, 625, 12)


def test_resampling_is_that_of_training() -> None:
    signal = recording(rate=400, seconds=12.0)
    expected = pseudo_trials(signal.astype(np.float32), 400, 6).reshape(-1, 300, 12)
    assert np.allclose(windows_of(read(signal, rate=400), SIX_BEATS), expected, atol=5e-3)  # float16 of the cache


@pytest.mark.parametrize(("name", "precision"), [("chapman", "float32"), ("ptb-xl", "bf16")])
def test_embeddings_are_those_the_linear_probe_saw_to_the_bit(
    cohorts: dict[str, Prepared], exported: Path, name: str, precision: str
) -> None:
    """From the files of the test recordings, through arrays with leads in another order."""
    prepared, config = cohorts[name], load_config(BASIC)
    encoder = load_encoder(exported, precision=precision)
    cpu = torch.device("cpu")
    test = make_task(prepared, config.task_spec(config.finetune), ratio=0.5, seed=41, device=cpu).test
    seen = features(encoder.encoder, test.signal, precision)  # (N, K)
    dataset, names = small_cohort(prepared.name), list(dict.fromkeys(test.recording.tolist()))
    entries = {entry.recording: entry for entry in prepared.entries}
    recordings = [dataset.read(entries[own]) for own in names]
    rate, order = recordings[0].fs, [3, 11, *range(3), *range(4, 11)]
    signals, leads = [own.signal[:, order] for own in recordings], [LEADS[lead] for lead in order]
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
    monkeypatch.setattr(embedding, "BATCHES", 1)
    found = list(encoder.embeddings([*cuts[:2], "a reason", *cuts[2:], "another"]))
    assert [own if isinstance(own, str) else len(own) for own in found] == [6, 300, "a reason", 12, 130, 6, "another"]
    assert np.array_equal(np.concatenate([own for own in found if not isinstance(own, str)]), expected)
    assert list(encoder.embeddings([])) == []
    assert list(encoder.embeddings(["only"])) == ["only"]


def test_a_recording_without_windows_is_a_row_of_nan_and_one_warning(exported: Path) -> None:
    signals = np.stack([recording(), np.zeros((5000, 12)), recording(1), np.full((5000, 12), np.nan)])
    encoder = load_encoder(exported)
    line = (
        r"2 of 4 .* 1 all samples zero, 1 NaN samples \(recording 1: all samples zero, recording 3: NaN samples: lead I"
    )
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
        assert rows.dtype == np.float32
        assert set(whose.tolist()) == {0, 2}
        assert len(rows) == len(whose)
    with pytest.raises(ConfigError, match="unusable='drop' is not known"):
        encoder.encode(signals[:1], RATE, LEADS, unusable="drop")  # type: ignore[arg-type]
    assert encoder.encode([], RATE, LEADS).shape == (0, 6)
    assert encoder.encode_windows([], RATE, LEADS)[0].shape == (0, 6)
    assert encoder.windows([], RATE, LEADS)[0].shape == (0, 300, 12)


def test_windows_are_what_the_encoder_reads_and_a_pickle_needs_no_folder(exported: Path, tmp_path: Path) -> None:
    encoder = load_encoder(str(exported))
    signals = [recording(), recording(1, seconds=15.0)]
    windows, whose = encoder.windows(signals, RATE, LEADS)
    pickled = pickle.dumps(encoder)
    exported.rename(tmp_path / "gone")
    found, same = pickle.loads(pickled).encode_windows(signals, RATE, LEADS)
    assert np.array_equal(whose, same)
    with torch.no_grad():
        assert np.allclose(encoder.encoder.pooled(torch.from_numpy(windows)).numpy(), found, atol=1e-6)


def test_precision_and_device_are_those_of_the_probe_or_as_given(tmp_path: Path) -> None:
    folder = export_encoder(tmp_path / "bf16", precision="bf16")
    assert load_encoder(folder).precision == "bf16"
    assert load_encoder(folder, precision="float32").precision == "float32"
    for given, message in (
        ({"precision": "fp16"}, "precision 'fp16' is not known; there are float32, bf16"),
        ({"device": "tpu"}, "--device 'tpu'"),
    ):
        with pytest.raises(ConfigError, match=message):
            load_encoder(folder, **given)  # type: ignore[arg-type]
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        load_encoder(folder).encode(recording()[None], RATE, LEADS)


@pytest.fixture
def signals() -> Any:
    return np.stack([recording(seed) for seed in range(6)])


@pytest.fixture
def embedder(exported: Path) -> EcgEmbedder:
    return EcgEmbedder(exported, rate=RATE, leads=LEADS)


def test_the_checks_of_scikit_learn(embedder: EcgEmbedder) -> None:
    """Those that need no X. The others give X of two axes, (n, features), and scikit-learn leaves them out itself."""
    for check in (
        checks.check_estimator_cloneable,
        checks.check_estimator_tags_renamed,
        checks.check_valid_tag_types,
        checks.check_estimator_repr,
        checks.check_no_attributes_set_in_init,
        checks.check_parameters_default_constructible,
        checks.check_do_not_raise_errors_in_init_or_set_params,
        checks.check_get_params_invariance,
        checks.check_set_params,
        checks.check_mixin_order,
    ):
        check("EcgEmbedder", EcgEmbedder())
    with pytest.warns(SkipTestWarning, match="Can't test estimator EcgEmbedder"):
        assert len(list(checks.estimator_checks_generator(embedder))) == 1


def test_the_transformer_embeds_as_the_encoder_does_also_as_a_clone_and_a_pickle(
    exported: Path, embedder: EcgEmbedder, signals: Any, tmp_path: Path
) -> None:
    with pytest.raises(NotFittedError):
        embedder.transform(signals)
    found = embedder.fit_transform(signals)
    assert np.array_equal(found, load_encoder(exported).encode(signals, RATE, LEADS))
    names = [f"e{number}" for number in range(6)]
    assert embedder.get_feature_names_out().tolist() == names
    assert list(embedder.set_output(transform="pandas").transform(signals).columns) == names
    embedder.set_output(transform="default")
    fresh = clone(embedder)
    assert fresh.get_params() == embedder.get_params()
    assert not hasattr(fresh, "encoder_")
    pickled = pickle.dumps(embedder)
    exported.rename(tmp_path / "gone")
    assert np.array_equal(pickle.loads(pickled).transform(list(signals)), found)


@pytest.mark.parametrize("as_list", [False, True])
def test_in_a_pipeline_a_recording_that_cannot_be_used_ends_no_fold(
    embedder: EcgEmbedder, signals: Any, as_list: bool
) -> None:
    """As docs/USE.md shows it."""
    signals[2] = np.nan
    model = make_pipeline(embedder, SimpleImputer(), StandardScaler(), LogisticRegression())
    with pytest.warns(UserWarning, match=r"1 NaN samples \(recording \d: NaN samples: lead I, .*SimpleImputer\(\)"):
        scores = cross_val_score(model, list(signals) if as_list else signals, [0, 1, 0, 1, 0, 1], cv=3)
    assert np.isfinite(scores).tolist() == [True] * 3


def test_what_the_transformer_lacks_is_one_line(exported: Path, signals: Any) -> None:
    for own, message in (
        (EcgEmbedder(), "give folder="),
        (EcgEmbedder(exported, rate=RATE), "give leads="),
        (EcgEmbedder(exported, rate=RATE, leads=LEADS[:11]), "lead missing: V6"),
    ):
        with pytest.raises(ConfigError, match=message):
            own.fit(signals)
    signals[2] = np.nan
    with pytest.raises(ConfigError, match="recording 2: NaN samples"):
        EcgEmbedder(exported, rate=RATE, leads=LEADS, unusable="raise").fit_transform(signals)
    with pytest.warns(UserWarning, match="1 of 6 recordings have no embedding"):
        found = EcgEmbedder(exported, rate=RATE, leads=LEADS).fit_transform(signals)
    assert np.isnan(found).all(axis=1).tolist() == [False, False, True, False, False, False]


def test_a_flat_lead_is_warned_of_by_recording_and_name(tmp_path: Path, signals: Any) -> None:
    """Not the leads that the encoder's tests had not; a level that is not zero is flat too."""
    signals[1, :, 6] = 0.0
    signals[4, :, [2, 7]] = 1.5
    signals[5, :100, 3] = 0.0
    line = r"^2 of 6 recordings have a flat lead, .*: recording 1 \(V1\), recording 4 \(III, V2\); see whether"
    encoder = load_encoder(export_encoder(tmp_path / "all"))
    for work in (encoder.encode, encoder.encode_windows, encoder.windows):
        with pytest.warns(UserWarning, match=line) as caught:
            work(signals, RATE, LEADS)
        assert [own.filename for own in caught] == [__file__]
    cut = {"kind": "heartbeats", "samples": 300, "per_trial": 6, "present": ["I", "III"]}
    few = load_encoder(export_encoder(tmp_path / "few", cut=cut))
    with pytest.warns(UserWarning, match=r"^1 of 6 recordings has a flat lead, .*: recording 4 \(III\); see whether"):
        few.encode(signals, RATE, LEADS)
    raw = export_encoder(tmp_path / "raw", standardisation="none: millivolts")
    with pytest.warns(UserWarning, match=line):
        load_encoder(raw).encode(signals, RATE, LEADS)


def changed(folder: Path, **values: Any) -> None:
    file = folder / CONFIG
    file.write_text(json.dumps(json.loads(file.read_text()) | values))


def test_a_description_that_does_not_fit_is_one_line(exported: Path) -> None:
    whole = (exported / CONFIG).read_text()
    beats = {"kind": "beats", "samples": 300, "per_trial": 6}
    cases: list[tuple[dict[str, Any] | str, str]] = [
        ({"format": 2}, "this version reads format 1; export the encoder again"),
        ({"cut": beats}, "cut.kind: input should be 'heartbeats' or 'recordings'"),
        ({"wings": 2}, "wings: unexpected keyword argument"),
        ({"pipeline": 0}, "windows were cut by version 0 of the preparation, here is 1; use the version of the suite"),
        ({"rate": 200}, "windows are at 200 Hz and z-score"),
        ({"leads": ["I", "II"]}, "it reads the leads I II; use the version"),
        *((text, "export the encoder again") for text in ("", "{", "[1]")),
    ]
    for values, message in cases:
        (exported / CONFIG).write_text(values if isinstance(values, str) else json.dumps(json.loads(whole) | values))
        with pytest.raises(ConfigError, match=message) as caught:
            read_description(exported)
        assert str(caught.value).startswith(str(exported / CONFIG))
        assert "\n" not in str(caught.value)


def test_what_is_no_exported_encoder_names_the_verb_that_makes_one(tmp_path: Path) -> None:
    with pytest.raises(ConfigError, match=r"nowhere is no exported encoder: config.json is not there; `export NAME"):
        read_description(tmp_path / "nowhere")
    save_encoder(tmp_path / "key", small_encoder(), {})
    with pytest.raises(ConfigError, match=r"is a pretraining of a results store.*`export key --to FOLDER`"):
        read_description(tmp_path / "key")


def test_weights_or_code_that_do_not_fit_are_refused(
    exported: Path, tmp_path: Path, flip: Callable[[Path, float], None]
) -> None:
    description = read_description(exported)
    with pytest.raises(ConfigError, match=r"mine.py is for an encoder from a file; this is 'dilated' of the suite"):
        read_encoder(exported, description, tmp_path / "mine.py")
    changed(exported, encoder=description.encoder | {"hidden": 5})
    with pytest.raises(ConfigError, match="size mismatch") as caught:
        read_encoder(exported, read_description(exported))
    assert "\n" not in str(caught.value)
    flip(exported / WEIGHTS, 0.9)
    with pytest.raises(ConfigError, match="does not match the digest in"):
        read_encoder(exported, description)
    (exported / WEIGHTS).unlink()
    with pytest.raises(ConfigError, match="No such file or directory; export the encoder again"):
        read_encoder(exported, description)


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
