"""Find P, QRS and T from frozen steps and write docs/evidence/WAVES.md:
python docs/evidence/waves/make.py --data-root DIR --results runs

A dense probe: a softmax regression that reads each step of a frozen encoder alone and says whether it lies in a P wave,
a QRS complex, a T wave or between them, against the bounds that cardiologists set on LUDB 1.0.1 (Kalyakulina et al.,
IEEE Access 2020). Beside it boosted trees on the samples around a step, and the wavelet delineator of Martínez et al.
2004 as NeuroKit2 has it. The encoders are those of a store, here of the config `real`. Without --results the page is
written anew from the tables beside this file.
"""

from __future__ import annotations

import argparse
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import NamedTuple

import neurokit2 as nk
import numpy as np
import pandas as pd
import torch
import wfdb
from numpy.typing import NDArray
from sklearn.ensemble import HistGradientBoostingClassifier
from sklearn.linear_model import LogisticRegression
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler

from benchmark.cli.export import find
from benchmark.data.datasets.base import LEADS
from benchmark.data.datasets.wfdb_files import read_recording
from benchmark.data.heartbeats import resample, standardise
from benchmark.training.checkpoint import load_encoder
from benchmark.training.finetune import in_batches
from methods.encoders import get_encoder
from reports.runs import open_run
from reports.statistics.estimates import Estimate, estimate

Floats = NDArray[np.floating]
PAGE = Path("docs/evidence/WAVES.md")
WAVES = {"P": "p", "QRS": "N", "T": "t"}
"""Name -> symbol of an annotation."""
LEAD = LEADS.index("II")
BOUNDS = tuple((wave, end) for wave in WAVES for end in ("onset", "end"))
NEAR = 0.15
"""Seconds within which a bound is found."""
SMOOTH, SHORTEST = 0.05, 0.02
"""Seconds over which probabilities are averaged, and of the shortest wave that is believed."""
AROUND, EVERY = 0.2, 0.02
"""Seconds before and after a step that the boosted trees read, and between two samples that they read."""
THIN = 2
"""One step in so many is learned from: neighbours are alike."""
FOLDS, RESAMPLES, SEED = 5, 1000, 1
BASE, TREES, WAVELET = "random", "Boosted trees on samples", "Wavelet, NeuroKit2"

HEAD = """# P, QRS and T from frozen steps

For a reader: {reader}

A softmax regression reads each step of a frozen encoder and says whether it lies in a P wave, a QRS complex, a T wave
or between them. It learns from the bounds that cardiologists set in lead II of {recordings} recordings of LUDB, a
patient each, in five folds by patient, drawn anew for each of five pretrainings. Encoders are those of
[Real recordings](REAL.md), which have not seen LUDB: small, with one step per sample at 100 Hz. A recording is read
in windows of 2.5 s that overlap by half, of which each step is taken from the window in whose middle it lies.
Probabilities are averaged over 50 ms; a run of steps of one class is a wave, if it lasts 20 ms or more. Written by
`python docs/evidence/waves/make.py --data-root DIR --results runs`, where DIR has the folder `ludb` and `runs` is the
store of the config `real`.

F1 in percent of the bounds of a wave, onsets and ends: a bound is found where one of its kind lies within 150 ms, each
used once. Before the first and after the last annotated bound nothing counts, since LUDB leaves the first and last beat
without bounds. The difference from Random is of the mean of the three waves, with a 95 % interval of pretrainings and
patients, p without correction for the number of rows. Errors are the medians of the distances of the bounds that are
found, in ms; one step is 10 ms. The boosted trees read the 12 leads within 200 ms before and after a step; the wavelet
delineator reads lead II at 500 Hz and learns from nothing.
"""


class Recording(NamedTuple):
    """A recording of LUDB."""

    name: str
    signal: Floats
    """(n, 12) in mV."""
    rate: float
    bounds: Mapping[tuple[str, str], Floats]
    """(wave, 'onset' or 'end') -> seconds, set by cardiologists in lead II."""


class Steps(NamedTuple):
    """The steps of a recording, from its first annotated bound to its last."""

    x: Floats
    """(T, K) features."""
    seconds: Floats
    """(T,) of the middle of each step."""
    wave: NDArray[np.int64]
    """(T,) number of the wave it lies in, from 1; 0 for none."""


def recordings_of(folder: Path) -> list[Recording]:
    """All recordings with their bounds."""
    found = []
    for header in sorted((folder / "data").glob("*.hea"), key=lambda file: int(file.stem)):
        read = read_recording(header.with_suffix(""))
        marks = wfdb.rdann(str(header.with_suffix("")), LEADS[LEAD].lower())
        kinds = ["".join(marks.symbol[place : place + 3]) for place in range(len(marks.symbol))]
        bounds = {}
        for wave, symbol in WAVES.items():
            places = [place for place, kind in enumerate(kinds) if kind == f"({symbol})"]
            for end, further in (("onset", 0), ("end", 2)):
                bounds[wave, end] = np.array([marks.sample[place + further] for place in places]) / read.fs
        found.append(Recording(header.stem, read.signal, read.fs, bounds))
    return found


def span_of(recording: Recording) -> tuple[float, float]:
    """Seconds of the first and the last bound."""
    every = np.concatenate(list(recording.bounds.values()))
    return float(every.min()), float(every.max())


def labelled(recording: Recording, x: Floats, per_second: float) -> Steps:
    """The steps (T, K), so many a second, between the first bound and the last."""
    seconds = (np.arange(len(x)) + 0.5) / per_second  # (T,)
    wave = np.zeros(len(x), np.int64)  # (T,)
    for number, name in enumerate(WAVES, start=1):
        for onset, end in zip(recording.bounds[name, "onset"], recording.bounds[name, "end"], strict=True):
            wave[(seconds >= onset) & (seconds <= end)] = number
    first, last = span_of(recording)
    inside = (seconds >= first) & (seconds <= last)  # (T,)
    return Steps(x[inside], seconds[inside], wave[inside])


def encoded(signal: Floats, samples: int, steps_of: torch.nn.Module) -> tuple[Floats, int]:
    """Steps (T, K) of a recording (n, 12) at the rate of the encoder, and the samples of a step.

    Windows of `samples` overlap by half; a step is that of the window in whose middle it lies most.
    """
    last = len(signal) - samples
    starts = sorted({*range(0, last, samples // 2), last})
    windows = torch.from_numpy(np.stack([signal[start : start + samples] for start in starts])).float()  # (W, S, 12)
    with torch.no_grad():
        found = in_batches(steps_of, steps_of, windows, "float32").numpy()  # (W, S', K)
    each = samples // found.shape[1]
    count = len(signal) // each
    features, distance = np.zeros((count, found.shape[2])), np.full(count, np.inf)  # (T, K), (T,)
    middle = np.abs(np.arange(found.shape[1]) - (found.shape[1] - 1) / 2)  # (S',)
    for start, own in zip(starts, found, strict=True):
        place = start // each + np.arange(len(own))  # (S',)
        nearer = (place < count) & (middle < distance[np.minimum(place, count - 1)])
        features[place[nearer]], distance[place[nearer]] = own[nearer], middle[nearer]
    return features, each


def around(signal: Floats, rate: float) -> Floats:
    """(n, 12 * C) the samples of all leads before and after each sample (n, 12)."""
    reach, every = round(AROUND * rate), round(EVERY * rate)
    padded = np.pad(signal, ((reach, reach), (0, 0)), mode="edge")  # (n + 2 reach, 12)
    shifts = range(0, 2 * reach + 1, every)
    return np.concatenate([padded[shift : shift + len(signal)] for shift in shifts], axis=1)


def bounds_in(probability: Floats, seconds: Floats) -> dict[tuple[str, str], Floats]:
    """Seconds of the bounds of the waves in probabilities (T, 4) of steps."""
    step = float(seconds[1] - seconds[0])
    width = max(1, round(SMOOTH / step))
    smooth = np.stack([np.convolve(own, np.ones(width) / width, "same") for own in probability.T], axis=1)  # (T, 4)
    wave = smooth.argmax(axis=1)  # (T,)
    changes = np.flatnonzero(np.diff(wave)) + 1
    starts, stops = np.concatenate([[0], changes]), np.concatenate([changes, [len(wave)]])
    found = {}
    for number, name in enumerate(WAVES, start=1):
        own = (wave[starts] == number) & ((stops - starts) * step >= SHORTEST)
        found[name, "onset"] = seconds[starts[own]] - step / 2
        found[name, "end"] = seconds[stops[own] - 1] + step / 2
    return found


def wavelet_bounds(recording: Recording) -> dict[tuple[str, str], Floats]:
    """Those of NeuroKit2's wavelet delineator; none where it fails."""
    nothing = {bound: np.array([]) for bound in BOUNDS}
    try:
        cleaned = nk.ecg_clean(recording.signal[:, LEAD], sampling_rate=int(recording.rate))
        peaks = nk.ecg_peaks(cleaned, sampling_rate=int(recording.rate))[1]["ECG_R_Peaks"]
        _, found = nk.ecg_delineate(cleaned, peaks, sampling_rate=int(recording.rate), method="dwt")
    except (ValueError, IndexError, ZeroDivisionError):
        return nothing
    names = {"P": "P", "QRS": "R", "T": "T"}
    ends = {"onset": "Onsets", "end": "Offsets"}
    places = {(wave, end): np.array(found[f"ECG_{names[wave]}_{ends[end]}"], float) for wave, end in BOUNDS}
    return {bound: own[np.isfinite(own)] / recording.rate for bound, own in places.items()}


def matched(true: Floats, said: Floats, first: float, last: float) -> tuple[int, int, list[float]]:
    """Bounds that count among those said, those found, and the distances of the found ones in seconds.

    The nearest pairs are matched first, each bound once.
    """
    said = said[(said >= first - NEAR) & (said <= last + NEAR)]
    distance = np.abs(true[:, None] - said[None])  # (t, s)
    pairs = sorted(zip(*np.nonzero(distance <= NEAR), strict=True), key=lambda pair: distance[pair])
    left, right, far = set(), set(), []
    for one, other in pairs:
        if one not in left and other not in right:
            left.add(one)
            right.add(other)
            far.append(float(distance[one, other]))
    return len(said), len(far), far


class Counted(NamedTuple):
    """What a row found in every recording."""

    counts: NDArray[np.int64]
    """(3, R, 3) of wave and recording: true bounds, those said, those found."""
    errors: Mapping[tuple[str, str], list[float]]
    """Bound -> seconds."""


def counted(recordings: list[Recording], said: list[dict[tuple[str, str], Floats]]) -> Counted:
    """Hold the bounds that a row says of each recording against those of the cardiologists."""
    counts = np.zeros((len(WAVES), len(recordings), 3), np.int64)
    errors: dict[tuple[str, str], list[float]] = {bound: [] for bound in BOUNDS}
    for place, (recording, own) in enumerate(zip(recordings, said, strict=True)):
        span = span_of(recording)
        for wave, end in BOUNDS:
            true = recording.bounds[wave, end]
            number, hits, far = matched(true, own[wave, end], *span)
            counts[list(WAVES).index(wave), place] += (len(true), number, hits)
            errors[wave, end] += far
    return Counted(counts, errors)


def probed(steps: list[Steps], seed: int, *, trees: bool) -> list[dict[tuple[str, str], Floats]]:
    """The bounds of each recording, learned on those of the other folds."""
    fold = np.random.default_rng(seed).permutation(len(steps)) % FOLDS  # (R,)
    said: list[dict[tuple[str, str], Floats]] = [{} for _ in steps]
    for part in range(FOLDS):
        train = [own for own, place in zip(steps, fold, strict=True) if place != part]
        x = np.concatenate([own.x[::THIN] for own in train])  # (N, K)
        y = np.concatenate([own.wave[::THIN] for own in train])  # (N,)
        model = (
            HistGradientBoostingClassifier(max_iter=50, learning_rate=0.2, early_stopping=False, random_state=seed)
            if trees
            else make_pipeline(StandardScaler(), LogisticRegression(C=1.0, max_iter=300, tol=1e-3))
        ).fit(x, y)
        for place in np.flatnonzero(fold == part):
            said[place] = bounds_in(model.predict_proba(steps[place].x), steps[place].seconds)
    return said


def of_encoders(results: Path, recordings: list[Recording]) -> Iterator[tuple[str, str, list[Counted]]]:
    """Row, title and what each pretraining of it found; then the boosted trees on the samples of the same rate."""
    run = open_run(results)
    seeds = sorted({cell.seed for cell in run.plan.cells})
    rate = 0
    for row in dict.fromkeys(cell.variant for cell in run.plan.cells):
        if not any(run.rows[cell.key].pretrain_key for cell in run.plan.cells if cell.variant == row):
            continue
        found = []
        for seed in seeds:
            one = find(results, row, seed)
            encoder = load_encoder(one.folder, get_encoder(one.card["encoder"]["name"]))
            cut, steps = one.signals.cut(), []
            for recording in recordings:
                signal = standardise(resample(recording.signal, recording.rate, cut.rate))  # (n, 12)
                x, each = encoded(signal, cut.samples, encoder)  # (T, K)
                steps.append(labelled(recording, x, cut.rate / each))
            rate = cut.rate
            found.append(counted(recordings, probed(steps, seed, trees=False)))
            print(f"{row} seed {seed}", flush=True)
        yield row, run.plan.variants[row], found
    samples = []
    for recording in recordings:
        signal = standardise(resample(recording.signal, recording.rate, rate))  # (n, 12)
        samples.append(labelled(recording, around(signal, rate), rate))
    yield TREES, TREES, [counted(recordings, probed(samples, seed, trees=True)) for seed in seeds]


def f1(counts: Floats) -> Floats:
    """(..., 3) F1 of each wave of sums (..., 3, 3) of true, said and found bounds."""
    found: Floats = 2 * counts[..., 2] / np.maximum(counts[..., 0] + counts[..., 1], 1)
    return found


def means_of(found: list[Counted]) -> Floats:
    """(S, 1 + R) mean F1 of the three waves, of all patients and of resamples of them."""
    patients = found[0].counts.shape[1]
    random = np.random.default_rng(SEED)
    times = np.stack([np.ones(patients), *(random.multinomial(patients, np.full(patients, 1 / patients), RESAMPLES))])
    return np.stack([f1(np.einsum("wpc,rp->rwc", own.counts, times)).mean(axis=1) for own in found])  # (S, 1 + R)


def lines_of(title: str, row: str, found: list[Counted], base: list[Counted]) -> dict[str, object]:
    """A row of the table."""
    scores = np.stack([f1(own.counts.sum(axis=1)) for own in found]).mean(axis=0)  # (3,)
    line: dict[str, object] = {"row": title, **dict(zip(WAVES, scores, strict=True)), "mean": scores.mean()}
    if row != BASE:
        means, others = means_of(found), means_of(base)
        gain: Estimate = estimate(means - others, len(base[0].counts[0]))
        line |= {"gain": gain.mean, "low": gain.low, "high": gain.high, "p": gain.p}
    for wave, end in BOUNDS:
        line[f"{wave} {end}"] = 1000 * float(np.median(np.concatenate([own.errors[wave, end] for own in found])))
    return line


def measured(data_root: Path, results: Path) -> pd.DataFrame:
    """The table: a line per row."""
    recordings = recordings_of(data_root / "ludb")
    rows = list(of_encoders(results, recordings))
    rows.append((WAVELET, WAVELET, [counted(recordings, [wavelet_bounds(one) for one in recordings])]))
    base = next(found for row, _, found in rows if row == BASE)
    return pd.DataFrame([lines_of(title, row, found, base) for row, title, found in rows]).assign(
        recordings=len(recordings)
    )


def reader_of(lines: pd.DataFrame) -> str:
    """The finding, in two sentences."""
    above = lines[(lines["p"] < 0.05) & (lines["gain"] > 0) & ~lines["row"].isin([TREES, WAVELET])]
    by_row = lines.set_index("row")["mean"]
    best = ", ".join(f"{one.row} ({100 * one.mean:.1f})" for one in above.itertuples()) or "none"
    return (
        f"**of the methods {best} find more bounds than the untrained encoder of Random "
        f"({100 * by_row['Random']:.1f}); boosted trees on the samples find {100 * by_row[TREES]:.1f} and a wavelet "
        f"delineator {100 * by_row[WAVELET]:.1f}** (mean F1 of the three waves in percent)."
    )


def page(lines: pd.DataFrame) -> Iterator[str]:
    """The page: one table of scores, one of errors."""
    yield HEAD.format(reader=reader_of(lines), recordings=lines["recordings"].iloc[0])
    yield f"\n| F1 | {' | '.join(WAVES)} | mean | − Random | p |\n| --- |{' ---: |' * 4} --- | ---: |\n"
    for line in lines.to_dict("records"):
        scores = " | ".join(f"{100 * line[name]:.1f}" for name in (*WAVES, "mean"))
        yield f"| {line['row']} | {scores} | {gain_of(line)} |\n"
    yield f"\n| median error, ms | {' | '.join(' '.join(bound) for bound in BOUNDS)} |\n| --- |{' ---: |' * 6}\n"
    for line in lines.to_dict("records"):
        errors = " | ".join(f"{line[' '.join(bound)]:.0f}" for bound in BOUNDS)
        yield f"| {line['row']} | {errors} |\n"


def gain_of(line: Mapping[str, float]) -> str:
    """'+1.2 (0.3 to 2.1) | 0.020' in points; nothing of Random."""
    if np.isnan(line["gain"]):
        return " | "
    text = f"{100 * line['gain']:+.1f} ({100 * line['low']:.1f} to {100 * line['high']:.1f})".replace("-", "−")
    return f"{text} | {'<0.001' if line['p'] < 0.001 else format(line['p'], '.3f')}"


def study() -> None:
    """Measure and write."""
    asked = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    asked.add_argument("--data-root", type=Path, help="folder that has ludb")
    asked.add_argument("--results", type=Path, help="store with the encoders")
    found = asked.parse_args()
    table = PAGE.parent / "waves" / "rows.csv"
    if found.results:
        measured(found.data_root, found.results).to_csv(table, index=False)
    PAGE.write_text("".join(page(pd.read_csv(table, float_precision="round_trip"))), encoding="utf-8")


if __name__ == "__main__":
    study()
