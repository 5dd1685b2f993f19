"""Features of waves that are known, and what must not change them."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest
from numpy.typing import NDArray

from benchmark.data.prepared.beats import heartbeats
from benchmark.data.prepared.windows import Kind
from benchmark.data.readers.base import LEADS, Unusable
from benchmark.data.readers.ptb_xl import PTBXL
from benchmark.training.classical import features as features_module
from benchmark.training.classical.features import beat_features, feature_names, limb_scales

Floats = NDArray[np.float32]
CHEST = np.array([-0.8, -0.3, 0.4, 1.0, 0.9, 0.7])
KINDS: list[Kind] = ["heartbeats", "windows"]


def limb(axis: float) -> NDArray[np.float64]:
    """Projections of a unit vector at an angle in degrees on I, II, III, aVR, aVL and aVF."""
    one, foot = np.cos(np.radians(axis)), np.sin(np.radians(axis)) * np.sqrt(3) / 2
    two, three = foot + one / 2, foot - one / 2
    return np.array([one, two, three, -(one + two) / 2, (one - three) / 2, (two + three) / 2])


def beat(samples: int = 300, middle: float = 150, axis: float = 40, t_axis: float = 20, st: float = 0.0) -> Floats:
    """(S, 12) with a P wave of 0.1, a QRS complex of 1 and a T wave of 0.3 mV, each times the lead's projection."""
    time = np.arange(samples)[:, None]

    def wave(centre: float, width: float) -> NDArray[np.float64]:
        return np.asarray(np.exp(-0.5 * ((time - middle - centre) / width) ** 2))

    plateau = ((time > middle + 9) & (time < middle + 40)) * st
    qrs, t = np.concatenate([limb(axis), CHEST]), np.concatenate([limb(t_axis), np.abs(CHEST)])
    return np.asarray(0.1 * wave(-42, 5) * t + wave(0, 3) * qrs + 0.3 * wave(75, 12) * t + plateau, np.float32)


def padded(signal: Floats, width: int = 200) -> Floats:
    """The middle of (S, 12) as a heartbeat window (1, S, 12): what is more than width / 2 away is -0.1."""
    window = np.full_like(signal, -0.1)
    start = (len(signal) - width) // 2
    window[start : start + width] = signal[start : start + width]
    return window[None]


def standard(signal: Floats) -> Floats:
    """Each lead of (S, 12) with mean 0 and deviation 1, as preparation leaves it."""
    return np.asarray((signal - signal.mean(axis=0)) / signal.std(axis=0), np.float32)


def named(windows: NDArray[np.floating], kind: Kind = "heartbeats") -> dict[str, Floats]:
    return dict(zip(feature_names(kind), beat_features(windows, kind).T, strict=True))


def test_waves_have_the_amplitudes_and_times_they_were_given() -> None:
    found = named(padded(beat()))
    assert found["RR"][0] == 800
    assert found["QRS width"][0] == pytest.approx(2 * 2.6 * 3 * 4, abs=16)
    for lead, projection in zip(LEADS[6:], CHEST, strict=True):
        assert found[f"R {lead}"][0] == pytest.approx(max(projection, 0), abs=0.05)
        assert found[f"Q {lead}"][0] == pytest.approx(min(projection, 0), abs=0.05)  # a QS complex where negative
        assert found[f"T amplitude {lead}"][0] == pytest.approx(0.3 * abs(projection), abs=0.02)
        assert found[f"T time {lead}"][0] == pytest.approx(75 * 4, abs=8)
        assert found[f"P amplitude {lead}"][0] == pytest.approx(0.1 * abs(projection), abs=0.02)
        assert found[f"P time {lead}"][0] == pytest.approx(-42 * 4, abs=8)
        assert found[f"+0 ms {lead}"][0] == pytest.approx(0.88 * projection, abs=0.1)
    assert found["R time V4"][0] == pytest.approx(4 * 2.6 * 3, abs=12)


def test_an_inverted_t_wave_and_a_raised_st_segment_are_seen() -> None:
    plain, raised, inverted = (named(padded(beat(t_axis=a, st=s))) for a, s in ((20, 0.0), (20, 0.2), (200, 0.0)))
    for lead in ("V2", "II"):
        assert raised[f"ST 60 {lead}"][0] - plain[f"ST 60 {lead}"][0] == pytest.approx(0.2, abs=0.01)
        assert raised[f"J {lead}"][0] - plain[f"J {lead}"][0] == pytest.approx(0.2, abs=0.05)
    assert inverted["T amplitude II"][0] == pytest.approx(-plain["T amplitude II"][0], abs=0.02)
    assert inverted["T lowest II"][0] < -0.2 < -0.05 < plain["T lowest II"][0]


def test_q_wave_and_fragmentation() -> None:
    narrow = beat()
    with_q, notched = narrow.copy(), narrow.copy()
    time = np.arange(300)[:, None]
    with_q -= 0.5 * np.exp(-0.5 * ((time - 142) / 2.5) ** 2).astype(np.float32)
    notched -= 0.6 * np.exp(-0.5 * ((time - 150) / 1.0) ** 2).astype(np.float32)
    plain, q, notch = (named(padded(window)) for window in (narrow, with_q, notched))
    assert q["Q V4"][0] < -0.3 < -0.05 < plain["Q V4"][0]
    assert q["Q width V4"][0] >= 12 > plain["Q width V4"][0]
    assert notch["QRS fragmentation V4"][0] > plain["QRS fragmentation V4"][0] + 0.5


def test_the_steepest_rise_and_fall_are_those_of_the_qrs_complex() -> None:
    """Up to 1 mV in 5 samples, back in 10: 0.2 and -0.1 mV a sample; upside down the other way round."""
    up = np.interp(np.arange(300), [145, 150, 160], [0, 1, 0]).astype(np.float32)
    for sign, rise, fall in ((1, 0.2, -0.1), (-1, 0.1, -0.2)):
        found = named(padded(sign * np.repeat(up[:, None], 12, axis=1)) + np.float32(0.1))
        assert found["QRS steepest rise II"] == pytest.approx(rise, abs=1e-3)
        assert found["QRS steepest fall II"] == pytest.approx(fall, abs=1e-3)


@pytest.mark.parametrize("axis", [-75, -20, 40, 100, 170])
def test_axes_survive_the_normalisation_of_each_lead(axis: float) -> None:
    signal = beat(axis=axis, t_axis=axis - 50)
    found = named(padded(standard(signal)))
    assert found["QRS axis"][0] == pytest.approx(axis, abs=6)
    assert found["T axis"][0] == pytest.approx(axis - 50, abs=6)
    assert found["QRS-T angle"][0] == pytest.approx(50, abs=8)
    deviation = signal[:, :3].std(axis=0)
    expected = deviation / np.linalg.norm(deviation)
    np.testing.assert_allclose(limb_scales(standard(signal)[None])[0], expected, atol=1e-3)


def test_an_angle_is_the_shorter_way_round() -> None:
    found = named(padded(beat(axis=170, t_axis=-150)))
    assert found["QRS-T angle"][0] == pytest.approx(40, abs=8)


def test_amplitudes_scale_and_nothing_depends_on_a_level() -> None:
    window = padded(beat())
    base, doubled, shifted = named(window), named(2 * window), named(window + np.arange(12, dtype=np.float32))
    for name in ("R V4", "Q V1", "T amplitude II", "P mean V5", "ST 80 V2", "QRS area I", "+20 ms V3"):
        assert doubled[name] == pytest.approx(2 * base[name], rel=1e-4)
    for name in ("RR", "QRS width", "QRS axis", "R share V3", "R time V6", "correlation with the next lead V1"):
        assert doubled[name] == pytest.approx(base[name], rel=1e-3)
    for name, values in shifted.items():
        np.testing.assert_allclose(values, base[name], atol=2e-3, rtol=2e-3, err_msg=name)


@pytest.mark.parametrize("kind", KINDS)
def test_a_window_is_measured_alike_in_any_company(kind: Kind, monkeypatch: pytest.MonkeyPatch) -> None:
    noise = np.random.default_rng(0).normal(0, 0.05, size=(7, 500, 12))
    windows = np.asarray(beat(500, 200) + beat(500, 400) + noise, np.float32)
    together = beat_features(windows, kind)
    alone = np.concatenate([beat_features(window[None], kind) for window in windows])
    np.testing.assert_array_equal(together, alone)
    np.testing.assert_array_equal(beat_features(windows[::-1], kind), together[::-1])
    monkeypatch.setattr(features_module, "CHUNK", 3)
    np.testing.assert_array_equal(beat_features(windows, kind), together)


def test_plain_windows_measure_the_beat_that_a_heartbeat_window_does() -> None:
    stretch = np.sum([beat(1000, middle) for middle in (150, 350, 550, 750)], axis=0)
    plain, lone = named(stretch[None], "windows"), named(padded(beat()))
    assert plain["beats"][0] == 4
    assert plain["RR"][0] == lone["RR"][0] == 800
    shared = [name for name in lone if name in plain and name.split()[0] in ("R", "Q", "S", "T", "P", "ST", "QRS")]
    assert len(shared) > 200
    for name in shared:
        if "time" not in name:  # a lead without the wave has no time
            np.testing.assert_allclose(plain[name], lone[name], atol=0.02, rtol=0.02, err_msg=name)


@pytest.mark.parametrize("kind", KINDS)
def test_names_belong_to_the_columns(kind: Kind) -> None:
    names = feature_names(kind)
    assert len(set(names)) == len(names)
    assert beat_features(np.ones((2, 300, 12), np.float32), kind).shape == (2, len(names))
    assert beat_features(np.zeros((0, 300, 12), np.float32), kind).shape == (0, len(names))


@pytest.mark.parametrize("kind", KINDS)
@pytest.mark.parametrize("samples", [1, 2, 40, 64, 300, 2500])
def test_features_are_finite_whatever_the_window(kind: Kind, samples: int) -> None:
    windows = np.random.default_rng(0).normal(size=(6, samples, 12)).astype(np.float16)
    windows[0] = 0
    windows[1, :, 3] = 2  # a flat lead
    windows[2, 0] = np.nan
    windows[3, samples // 2, 5] = np.inf
    windows[4, :, :3] = 0  # no frontal plane
    found = beat_features(windows, kind)
    assert found.dtype == np.float32
    assert np.isfinite(found).all()


def test_a_sample_that_is_no_number_counts_as_none() -> None:
    windows = np.repeat(padded(beat()), 4, axis=0)
    windows[:, 130, 5] = [np.nan, np.inf, -np.inf, 0.0]
    found = beat_features(windows)
    np.testing.assert_array_equal(found[:3], found[[3, 3, 3]])


@pytest.mark.parametrize("shape", [(3, 300), (3, 300, 8), (3, 0, 12)])
def test_another_shape_is_refused_by_name(shape: tuple[int, ...]) -> None:
    with pytest.raises(ValueError, match=r"cannot be measured: give \(n, S, 12\)"):
        beat_features(np.zeros(shape, np.float32))


def test_real_beats_measure_as_people_do(shared_ecgs: Path) -> None:
    dataset = PTBXL(shared_ecgs / "ptb-xl")
    windows = []
    for entry in dataset.listing().entries[:20]:
        try:
            recording = dataset.read(entry)
            windows.append(heartbeats(recording.signal, recording.fs).windows)
        except Unusable:
            continue
    found = named(np.concatenate(windows))
    assert 600 < np.median(found["RR"]) < 1000
    assert 60 < np.median(found["QRS width"]) < 110
    assert -10 < np.median(found["QRS axis"]) < 70
    assert np.median(found["R share V1"]) < 0.4 < 0.6 < np.median(found["R share V5"])
    assert np.median(found["T amplitude aVR"]) < 0 < np.median(found["T amplitude II"])
    assert np.median(found["P amplitude II"]) > 0


KNOWN: dict[Kind, dict[str, float]] = {
    "heartbeats": {
        "RR": 2322.0, "window before QRS": 944.143, "window after QRS": 1368.86, "QRS onset": 117.643,
        "QRS width": 242.25, "Q": -1.07227, "R": 1.26831, "S": 0.268341, "R share": 1.16558, "Q width": 85.1867,
        "R time": 154.719, "QRS height": 2.34169, "QRS area": 0.103341, "QRS size": 0.666568,
        "QRS steepest rise": 0.419636, "QRS steepest fall": -0.33612, "QRS fragmentation": 4.61921, "J": 0.282923,
        "ST 60": 0.271931, "ST 80": 0.270723, "ST rise": -0.0122002, "T highest": 0.466968, "T lowest": -0.0787609,
        "T amplitude": 0.402099, "T time": 557.106, "T mean": 0.160121, "T deviation": 0.162362,
        "P highest": 0.153634, "P lowest": -0.0504894, "P amplitude": 0.124772, "P time": -377.909,
        "P mean": 0.0387092, "P deviation": 0.0565485, "QRS axis": 59.1264, "T axis": 84.785, "QRS-T angle": 39.0281,
        "scale I": 0.997299, "scale II": 1.42003, "scale III": 1.09422, "correlation with the next lead": 1.32059,
        "-160 ms": 0.101016, "-80 ms": 0.0037321, "-40 ms": -0.505761, "-20 ms": -0.45515, "+0 ms": 0.44359,
        "+20 ms": 0.347218, "+40 ms": 0.566544, "+120 ms": 0.271701, "+200 ms": 0.0327362, "+280 ms": 0.271467,
    },
    "windows": {
        "beats": 6.75, "RR": 1493.68, "RR deviation": 246.214, "RR successive difference": 492.429,
        "RR shortest": 1247.46, "RR longest": 1739.89, "beat spread": 0.217262, "QRS onset": 89.25,
        "QRS width": 180.429, "Q": -0.390484, "R": 1.08803, "S": 0.236817, "R share": 1.62353, "Q width": 35.6829,
        "R time": 106.274, "QRS height": 1.4799, "QRS area": 0.298682, "QRS size": 0.606854,
        "QRS steepest rise": 0.341831, "QRS steepest fall": -0.294885, "QRS fragmentation": 4.69038, "J": 0.259633,
        "ST 60": 0.266606, "ST 80": 0.266204, "ST rise": 0.00657142, "T highest": 0.447096, "T lowest": -0.0660105,
        "T amplitude": 0.396455, "T time": 522.957, "T mean": 0.159517, "T deviation": 0.152995,
        "P highest": 0.148313, "P lowest": -0.0397626, "P amplitude": 0.120142, "P time": -392.547,
        "P mean": 0.0464455, "P deviation": 0.0555392, "QRS axis": 56.986, "T axis": 80.3689, "QRS-T angle": 26.4854,
        "scale I": 1.01755, "scale II": 1.38137, "scale III": 1.13392, "correlation with the next lead": 0.965131,
        "-160 ms": 0.0961462, "-80 ms": 0.00197932, "-40 ms": 0.0165761, "-20 ms": 0.332768, "+0 ms": 0.424597,
        "+20 ms": 0.336494, "+40 ms": 0.257239, "+120 ms": 0.26761, "+200 ms": 0.0400814, "+280 ms": 0.271191,
    },
}  # fmt: skip
"""Measure -> its weighted mean over `known_windows`."""


def known_windows(kind: Kind) -> Floats:
    """(8, 500, 12) beats that differ in place, width, axis, ST level and noise; Q waves, notches and flat leads too."""
    random, windows = np.random.default_rng(3), []
    time = np.arange(500)[:, None]
    for number in range(8):
        places = [60 + 9 * number, 215 + 4 * number, 380 + 11 * number] if kind == "windows" else [180 + 12 * number]
        signal = np.sum([beat(500, p, 30 * number - 90, 25 * number - 60, 0.03 * number) for p in places], axis=0)
        signal -= (0.1 * number * np.exp(-0.5 * ((time - places[0] + 9) / 2.5) ** 2)).astype(np.float32)
        signal += (0.08 * number * np.exp(-0.5 * ((time - places[-1] - 8) / 1.5) ** 2)).astype(np.float32)
        signal += random.normal(0, 0.002 * (1 + number), size=signal.shape).astype(np.float32)
        signal[:, 3 + number] *= number % 3
        first, last = (0, 500) if kind == "windows" else (70 + 13 * number, 260 + 30 * number)
        signal[:first], signal[last:] = -0.1, -0.1
        windows.append(signal)
    return np.asarray(windows, np.float32)


@pytest.mark.parametrize("kind", KINDS)
def test_features_of_known_windows_stay(kind: Kind) -> None:
    # Other features are other results: where these have to change, FEATURES_VERSION has to be raised.
    windows = known_windows(kind)
    weight = np.linspace(1, 2, len(windows))[:, None] * np.linspace(1, 2, 12)
    found = {}
    for name, values in features_module._measures(windows, kind).items():
        columns = np.broadcast_to(values.reshape(len(values), -1), weight.shape)
        found[name] = float(f"{(columns * weight).mean():.6g}")
    assert found == pytest.approx(KNOWN[kind], rel=2e-4, abs=2e-4), found
