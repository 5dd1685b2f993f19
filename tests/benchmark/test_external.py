"""Encoders from elsewhere: one line for what is wrong, what they saw, and scores as of features computed by hand."""

from __future__ import annotations

import io
import os
import shutil
from argparse import Namespace
from ast import literal_eval
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import pytest
import torch
import wfdb
from numpy.typing import NDArray
from scipy.signal import butter, resample_poly, sosfiltfilt
from sklearn.linear_model import LogisticRegression
from sklearn.metrics import roc_auc_score
from sklearn.preprocessing import StandardScaler

from benchmark.config.config import Config
from benchmark.data.datasets.base import LEADS
from benchmark.data.prepare import prepare
from benchmark.external import check_pretrained_on, saw_test_patients, try_external
from benchmark.machine import Machine
from benchmark.results.store import Store
from benchmark.run.datasets import external_forms
from benchmark.run.engine import Inline
from benchmark.run.grid import Cell, Grid, make_grid
from benchmark.run.tasks import context_of, execute, missing
from methods import get_method
from methods.base import External
from methods.encoders import identity
from methods.encoders.pretrained import PretrainedConfig, PretrainedEncoder
from tests.benchmark.external_models import FEATURES, SIGNALS, convolution_of, write
from tests.benchmark.run.bench import Cohorts, Heard, SmallConfig
from tests.benchmark.small_cohorts import small_cohort
from tests.benchmark.tasks import make_task

MACHINE = Machine(torch.device("cpu"), "float32")


def kind_of(word: Path) -> type[PretrainedEncoder]:
    method = get_method(str(word))
    assert issubclass(method, External)
    return method.encoder_class


RELEASED = Path(__file__).resolve().parents[2] / "docs" / "released"


def released(file: str, weights: str, folder: Path, shared_ecgs: Path) -> PretrainedEncoder:
    """An encoder of docs/released beside its weights, tried as before a run."""
    (folder / file).write_text((RELEASED / file).read_text().replace("identity_ptb_290", weights))
    shutil.copy(shared_ecgs.parent / "weights" / f"{weights}.safetensors", folder)
    return try_external(kind_of(folder / file))


@pytest.mark.parametrize(
    ("file", "weights", "saw_ptb_xl"),
    [
        ("ecgresnet.py", "ecgresnet_ptbxl_bce", "yes"),
        ("cae.py", "cae_12lead", "not known"),
        ("identity.py", "identity_ptb_290", "no"),
        ("identity.py", "identity_ptb_100", "no"),
    ],
)
def test_released_encoders_are_rows(
    file: str, weights: str, saw_ptb_xl: str, tmp_path: Path, shared_ecgs: Path, cohorts: Cohorts
) -> None:
    kind = type(released(file, weights, tmp_path, shared_ecgs))
    check_pretrained_on(kind, ())
    assert saw_test_patients(kind, cohorts["ptb-xl"]) == saw_ptb_xl
    kind.signals = replace(kind.signals, leads=("V1", "V2"))
    with pytest.raises(ValueError, match="it takes no windows of 2 leads") as caught:
        try_external(kind)
    assert len(str(caught.value).splitlines()) == 1


def test_the_released_resnet_scores_as_its_authors_say(tmp_path: Path, shared_ecgs: Path) -> None:
    """Raw recordings of fold 10, filtered, in windows of 3 s; the highest score of each. All of the fold: 0.9196."""
    network = released("ecgresnet.py", "ecgresnet_ptbxl_bce", tmp_path, shared_ecgs)
    table = pd.read_csv(shared_ecgs / "ptb-xl" / "ptbxl_database.csv")
    table = table[(table["strat_fold"] == 10) & (table["signal_source"] == "raw")]
    statements = pd.read_csv(shared_ecgs / "ptb-xl" / "scp_statements.csv", index_col=0)["diagnostic_class"].to_dict()
    pass_band, truth, scores = butter(4, [0.5, 40], "bandpass", fs=100, output="sos"), [], []
    for file, codes in zip(table["filename_lr"], table["scp_codes"].map(literal_eval), strict=True):
        classes = {statements.get(code) for code in codes}
        truth.append([name in classes for name in ("NORM", "MI", "STTC", "CD", "HYP")])
        signal = sosfiltfilt(pass_band, wfdb.rdrecord(str(shared_ecgs / "ptb-xl" / file)).p_signal, axis=0)
        windows = np.stack([signal[start : start + 300] for start in range(0, 701, 150)])  # (5, S, L)
        with torch.no_grad():
            scores.append(network.head(network.encode(torch.tensor(windows.copy()).float().mT)).amax(0).numpy())
    labelled = np.array(truth).any(1)
    assert labelled.sum() == 64
    assert roc_auc_score(np.array(truth)[labelled], np.stack(scores)[labelled]) == pytest.approx(0.913, abs=0.002)


POINTER = b"version https://git-lfs.github.com/spec/v1\noid sha256:0\nsize 19332096\n"


def saved(value: Any) -> bytes:
    buffer = io.BytesIO()
    torch.save(value, buffer)
    return buffer.getvalue()


@pytest.mark.parametrize(
    ("weights", "reason"),
    [
        (POINTER, "theirs.pt: Git LFS pointer .*; git lfs pull"),
        (
            saved({"args": Namespace(lr=0.1)}),
            "hold argparse.Namespace beside tensors.* state_dict.* weights_only=False",
        ),
        (saved({"folder": Path()}), "hold pathlib.*Path beside tensors"),
        (b"<!DOCTYPE html>", "theirs.pt: web page, .*; download it again"),
        (b"<xml", "none of torch.save, or not whole"),
    ],
    ids=["pointer", "arguments", "path", "page", "other"],
)
def test_weights_that_are_no_tensors_are_called_what_they_are(weights: bytes, reason: str, tmp_path: Path) -> None:
    word = write("learns", tmp_path)
    (tmp_path / "theirs.pt").write_bytes(weights)
    with pytest.raises(ValueError, match=f"{word}: .*{reason}"):
        try_external(kind_of(word))


def test_weights_of_another_precision_are_the_reason_why_no_window_is_taken(tmp_path: Path) -> None:
    word = write("learns", tmp_path)
    word.write_text(word.read_text().replace("weights_only=True))", "weights_only=True), assign=True)"))
    weights = torch.load(tmp_path / "theirs.pt")
    torch.save({name: value.half() for name, value in weights.items()}, tmp_path / "theirs.pt")
    with pytest.raises(ValueError, match=r"weights in torch.float16; end load\(\) with self.float\(\)"):
        try_external(kind_of(word))


def test_a_moved_folder_of_weights_is_the_same_row(tmp_path: Path) -> None:
    def key(word: Path) -> Any:
        kind = kind_of(word)
        return identity(kind, PretrainedConfig(output=kind.features))

    before, moved = key(write("learns", tmp_path / "one")), write("learns", tmp_path / "two")
    assert key(moved) == before
    assert key(write("learns", tmp_path / "three", rate=500)) != before
    weights = tmp_path / "two" / "theirs.pt"
    content = bytearray(weights.read_bytes())
    content[len(content) // 2] ^= 1
    weights.write_bytes(content)
    os.utime(weights, ns=(0, 0))
    assert key(moved) != before


@pytest.mark.parametrize(
    ("pretraining", "column", "answer"),
    [
        (None, "ptb-xl", "not known"),
        ((), "ptb-xl", "no"),
        (["PTB-XL"], "ptb-xl", "yes"),
        (["mimic-iv-ecg", "Chapman-Shaoxing"], "chapman", "yes"),
        (["challenge2021"], "chapman", "yes"),
        (["challenge2020"], "cpsc2018", "yes"),
        (["other: CODE-15"], "ptb-xl", "no"),
    ],
)
def test_what_the_class_says_decides(
    pretraining: Any, column: str, answer: str, tmp_path: Path, cohorts: Cohorts
) -> None:
    kind = kind_of(write("learns", tmp_path, pretraining=pretraining))
    check_pretrained_on(kind, ())
    assert saw_test_patients(kind, cohorts[column]) == answer


UNIT = {"mV": 1, "uV": 1000}


@dataclass
class Foreign:
    """A grid with a row of each form, worked off."""

    config: Config
    grid: Grid
    store: Store

    def cells(self, row: str, evaluation: str) -> list[Cell]:
        return [cell for cell in self.grid.cells if (cell.variant.name, cell.evaluation) == (row, evaluation)]


@pytest.fixture(scope="module")
def foreign(cohorts: Cohorts, small_config: SmallConfig, tmp_path_factory: pytest.TempPathFactory) -> Foreign:
    folder = tmp_path_factory.mktemp("elsewhere")
    config = small_config(
        {
            "methods": ["random", *(str(write(form, folder / form)) for form in SIGNALS)],
            "evaluate": ["finetune", "linear", "knn"],
            "linear.strengths": [0.1, 1.0],
            "seeds": [41, 42],
            "protocol": "strict",
        }
    )
    datasets = list(map(small_cohort, config.data.datasets))
    forms = external_forms(config, datasets, lambda d, cut: prepare(d, folder / "cache", workers=1, segmentation=cut))
    bench = Foreign(config, make_grid(config, cohorts, MACHINE, forms=forms), Store(folder / "runs"))
    heard = Heard()
    bench.store.root.mkdir()
    execute(missing(bench.grid, bench.store), context_of(config, cohorts, bench.store, MACHINE), Inline(), heard)
    assert heard.failed == {}
    return bench


def by_hand(form: str, recording: str) -> NDArray[np.float32]:
    """Features (m, K) of a recording: read, resampled, cut, arranged and embedded without the suite's preparation."""
    facts, dataset = SIGNALS[form], small_cohort("chapman")
    entry = next(entry for entry in dataset.listing().entries if entry.recording == recording)
    read = dataset.read(entry)
    assert read.fs == 500
    ratio = {100: (1, 5), 128: (32, 125)}[facts["rate"]]
    signal = resample_poly(read.signal.astype(np.float64), *ratio, axis=0, padtype="line")
    samples = round(facts["seconds"] * facts["rate"])
    count = max(1, len(signal) // samples)
    windows = signal[: count * samples].astype(np.float16).astype(np.float32).reshape(count, samples, len(LEADS))
    x = windows[..., [LEADS.index(lead) for lead in facts["leads"]]] * UNIT[facts["unit"]]
    if facts["standardise"] == "window":
        x = (x - x.mean(1, keepdims=True)) / x.std(1, keepdims=True)
    with torch.no_grad():
        return convolution_of(form)(torch.from_numpy(x.astype(np.float32)).mT).relu().mean(-1).numpy()


def mean_of_each(probability: NDArray[Any], whose: NDArray[Any]) -> NDArray[Any]:
    return np.stack([probability[whose == number].mean(0) for number in range(whose.max() + 1)])


@pytest.mark.parametrize("form", SIGNALS)
def test_the_linear_probe_scores_as_features_computed_by_hand(form: str, foreign: Foreign, cohorts: Cohorts) -> None:
    cell = foreign.cells(f"theirs-{form}", "linear")[0]
    spec = foreign.config.column_spec("chapman")
    task = make_task(cohorts["chapman"], spec, ratio=cell.ratio, seed=cell.seed, device=torch.device("cpu"))
    features, truth, whose = {}, {}, {}
    for side, windows in task.sides().items():
        names, first = np.unique(windows.recording, return_index=True)
        each = [by_hand(form, name) for name in names]
        features[side] = np.concatenate(each)
        truth[side] = windows.target.numpy().argmax(1)[first]
        whose[side] = np.repeat(np.arange(len(names)), list(map(len, each)))
    assert features["train"].shape[1] == FEATURES[form]
    scaler = StandardScaler().fit(features["train"])
    scaled = {side: scaler.transform(values) for side, values in features.items()}
    labels = truth["train"][whose["train"]]
    best, probability = -np.inf, np.empty(0)
    for strength in (0.1, 1.0):
        probe = LogisticRegression(C=strength, max_iter=1000).fit(scaled["train"], labels)
        chosen_on = mean_of_each(probe.predict_proba(scaled["validation"]), whose["validation"])
        column = np.searchsorted(probe.classes_, truth["validation"])
        score = np.log(chosen_on[np.arange(len(column)), column]).mean()
        if score > best:
            best, probability = score, np.zeros((len(truth["test"]), task.test.target.shape[1]))
            probability[:, probe.classes_] = mean_of_each(probe.predict_proba(scaled["test"]), whose["test"])
    stored, names = foreign.store.predictions(cell.key), np.unique(task.test.recording)
    np.testing.assert_array_equal(stored.recording, task.test.recording)
    expected = probability[np.searchsorted(names, stored.recording)]
    np.testing.assert_allclose(stored.probability, expected, atol=2e-3)
    assert np.ptp(expected) > 0.05, "the features tell nothing"


@pytest.mark.parametrize("evaluation", ["linear", "finetune"])
def test_external_rows_are_tested_on_the_windows_of_all_rows(evaluation: str, foreign: Foreign) -> None:
    assert foreign.cells("theirs-frozen", "finetune") == []
    rows = [name for name in ("random", *(f"theirs-{form}" for form in SIGNALS)) if foreign.cells(name, evaluation)]
    assert len(rows) == (2 if evaluation == "finetune" else 3)
    for cells in zip(*(foreign.cells(name, evaluation) for name in rows), strict=True):
        assert len({(cell.ratio, cell.seed, cell.dataset) for cell in cells}) == 1
        first, *others = (foreign.store.load_row(cell.key) for cell in cells)
        expected, *of_others = (foreign.store.predictions(cell.key) for cell in cells)
        assert first is not None
        for row, predictions in zip(others, of_others, strict=True):
            assert row is not None
            assert row.provenance["split"] == first.provenance["split"]
            assert (row.counts, row.coverage) == (first.counts, first.coverage)
            for name in ("recording", "patient", "truth"):
                np.testing.assert_array_equal(getattr(predictions, name), getattr(expected, name))
