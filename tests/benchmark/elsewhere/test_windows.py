"""Encoders from elsewhere in a grid: their scores are those of features that are computed by hand outside."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import torch
from numpy.typing import NDArray
from scipy.signal import resample_poly
from sklearn.linear_model import LogisticRegression
from sklearn.metrics import f1_score
from sklearn.preprocessing import StandardScaler

from benchmark.config.config import Config
from benchmark.data.prepared.load import Prepared
from benchmark.data.prepared.prepare import prepare
from benchmark.data.readers.base import LEADS
from benchmark.data.readers.registry import source_of
from benchmark.data.tasks.task import make_task
from benchmark.elsewhere.windows import segmentation_of
from benchmark.results.names import EVALUATION_FACTS
from benchmark.results.store import Store
from benchmark.run.data.own import each_cut
from benchmark.run.grid.cells import Cell, Grid
from benchmark.run.grid.make import make_grid
from benchmark.run.runner import do
from benchmark.run.work.missing import missing
from benchmark.run.work.setup import Setup
from tests.benchmark.elsewhere.made import FEATURES, SIGNALS, network_of, write
from tests.benchmark.run.bench import MACHINE, Cohorts, Heard, SmallConfig

UNIT = {"mV": 1, "uV": 1000}


@dataclass
class Foreign:
    """A grid with a row of each form, worked off."""

    config: Config
    grid: Grid
    store: Store
    root: Path
    heard: Heard

    def cells(self, row: str, evaluation: str) -> list[Cell]:
        return [cell for cell in self.grid.cells if (cell.variant.name, cell.evaluation) == (row, evaluation)]


def root_of(prepared: Prepared) -> Path:
    return prepared.folder.parent.parent / prepared.name


def worked_off(config: Config, cohorts: Cohorts, folder: Path) -> Foreign:
    datasets = [source_of(name)(root_of(cohorts[name])) for name in config.data.datasets]
    found = each_cut(config, datasets, lambda d, cut: prepare(d, folder / "cache", workers=1, segmentation=cut))
    forms = {place: prepared for place, prepared in found.items() if prepared is not None}
    store, heard = Store(folder / "runs"), Heard()
    grid = make_grid(config, cohorts, MACHINE, store, forms=forms)
    assert do(missing(grid, store), Setup(config, cohorts, store, MACHINE, heard.watch())) == 0, heard.lost
    return Foreign(config, grid, store, datasets[0].root, heard)


@pytest.fixture(scope="module")
def foreign(cohorts: Cohorts, small_config: SmallConfig, tmp_path_factory: pytest.TempPathFactory) -> Foreign:
    pytest.importorskip("onnxruntime")
    folder = tmp_path_factory.mktemp("elsewhere")
    words = [str(write(form, folder / form)) for form in SIGNALS]
    settings: dict[str, Any] = {
        "methods": ["random", *words],
        "evaluate": ["finetune", "linear", "knn", "few-shot"],
        "few_shot.shots": [1],
        "linear.strengths": [0.1, 1.0],
        "seeds": [41, 42],
        "protocol": "strict",
    }
    return worked_off(small_config(settings), cohorts, folder)


def by_hand(form: str, root: Path, recording: str) -> NDArray[np.float32]:
    """Features (m, K) of a recording: read, resampled, cut, arranged and embedded without the suite's preparation."""
    own, dataset = SIGNALS[form], source_of("chapman")(root)
    entry = next(entry for entry in dataset.listing().entries if entry.recording == recording)
    read = dataset.read(entry)
    assert read.fs == 500
    ratio = {100: (1, 5), 400: (4, 5), 128: (32, 125)}[own["rate"]]
    signal = resample_poly(read.signal.astype(np.float64), *ratio, axis=0, padtype="line")
    samples = round(own["seconds"] * own["rate"])
    count = max(1, len(signal) // samples)
    windows = signal[: count * samples].astype(np.float16).astype(np.float32).reshape(count, samples, len(LEADS))
    x = windows[..., [LEADS.index(lead) for lead in own["leads"]]] * UNIT[own["unit"]]
    if own["standardise"] == "window":
        x = (x - x.mean(1, keepdims=True)) / x.std(1, keepdims=True)
    if own["standardise"] == "given":
        x = (x - np.array(own["mean"])) / np.array(own["deviation"])
    batch = torch.from_numpy(x.astype(np.float32))
    with torch.no_grad():
        return network_of(form)(batch if own.get("layout") == "samples-first" else batch.mT).numpy()


def mean_of_each(probability: NDArray[Any], whose: NDArray[Any]) -> NDArray[Any]:
    return np.stack([probability[whose == number].mean(0) for number in range(whose.max() + 1)])


@pytest.mark.parametrize("form", SIGNALS)
def test_the_linear_probe_scores_as_features_computed_by_hand(form: str, foreign: Foreign, cohorts: Cohorts) -> None:
    cell = foreign.cells(f"theirs-{form}", "linear")[0]
    spec = foreign.config.task_spec(foreign.config.finetune, "chapman")
    task = make_task(cohorts["chapman"], spec, ratio=cell.ratio, seed=cell.seed, device=torch.device("cpu"))
    features, truth, whose = {}, {}, {}
    for side, windows in task.sides().items():
        names, first = np.unique(windows.recording, return_index=True)
        each = [by_hand(form, foreign.root, name) for name in names]
        features[side] = np.concatenate(each)
        truth[side] = windows.target.numpy().argmax(1)[first]
        whose[side] = np.repeat(np.arange(len(names)), [len(own) for own in each])
    assert features["train"].shape[1] == FEATURES[form]
    scaler = StandardScaler().fit(features["train"])
    scaled = {side: scaler.transform(own) for side, own in features.items()}
    labels = truth["train"][whose["train"]]
    best, found = -1.0, np.empty(0)
    for strength in (0.1, 1.0):
        probe = LogisticRegression(C=strength, max_iter=1000).fit(scaled["train"], labels)
        decided = probe.classes_[mean_of_each(probe.predict_proba(scaled["validation"]), whose["validation"]).argmax(1)]
        score = f1_score(truth["validation"], decided, average="macro")
        if score > best:
            best, found = score, np.zeros((len(truth["test"]), task.test.target.shape[1]))
            found[:, probe.classes_] = mean_of_each(probe.predict_proba(scaled["test"]), whose["test"])
    stored, names = foreign.store.predictions(cell.key), np.unique(task.test.recording)
    np.testing.assert_array_equal(stored.recording, task.test.recording)
    expected = found[np.searchsorted(names, stored.recording)]
    np.testing.assert_allclose(stored.probability, expected, atol=2e-3)
    assert np.ptp(expected) > 0.05, "the features tell nothing"


@pytest.mark.parametrize("evaluation", ["linear", "few-shot", "finetune"])
def test_the_labelled_patients_and_the_test_windows_are_those_of_all_rows(evaluation: str, foreign: Foreign) -> None:
    rows = [name for name in ("random", *(f"theirs-{form}" for form in SIGNALS)) if foreign.cells(name, evaluation)]
    assert len(rows) == (3 if evaluation == "finetune" else 4)
    for cells in zip(*(foreign.cells(name, evaluation) for name in rows), strict=True):
        assert len({(cell.ratio, cell.seed, cell.dataset) for cell in cells}) == 1
        first, *others = (foreign.store.load_row(cell.key) for cell in cells)
        expected, *found = (foreign.store.predictions(cell.key) for cell in cells)
        assert first is not None
        for row, predictions in zip(others, found, strict=True):
            assert row is not None
            assert row.provenance["split"] == first.provenance["split"]
            assert (row.counts, row.coverage) == (first.counts, first.coverage)
            for name in ("recording", "patient", "truth"):
                np.testing.assert_array_equal(getattr(predictions, name), getattr(expected, name))


def test_each_seed_draws_other_patients_on_one_encoder(foreign: Foreign) -> None:
    cells = foreign.cells("theirs-py", "linear")
    assert [cell.seed for cell in cells] == [41, 42]
    assert len({cell.pretrain_key for cell in cells}) == 1
    one, other = (foreign.store.load_row(cell.key) for cell in cells)
    assert one is not None
    assert other is not None
    assert one.provenance["split"]["train"] != other.provenance["split"]["train"]


def test_what_has_gradients_is_fine_tuned_and_an_onnx_file_has_a_reason(foreign: Foreign) -> None:
    assert foreign.cells("theirs-onnx", "finetune") == []
    assert EVALUATION_FACTS["finetune"].frozen is False
    for form in ("py", "torchscript"):
        cell = foreign.cells(f"theirs-{form}", "finetune")[0]
        row = foreign.store.load_row(cell.key)
        assert row is not None
        assert row.training["best_epoch"] in (1, 2)
        assert np.isfinite(foreign.store.predictions(cell.key).probability).all()


def test_the_store_holds_the_digest_of_the_weights_and_what_they_cost(foreign: Foreign) -> None:
    for form, own in SIGNALS.items():
        key = foreign.cells(f"theirs-{form}", "linear")[0].pretrain_key
        card = foreign.store.card(key)
        assert card is not None
        assert card["encoder"]["signals"]["rate"] == own["rate"]
        assert (foreign.store.pretrained / key / "encoder.safetensors").stat().st_size < 100
        assert card["embedding"]["windows"] == {"py": 2, "torchscript": 4, "onnx": 1}[form]
        assert card["embedding"]["seconds"] > 0
        if form == "onnx":
            assert "encoder_parameters" not in card
        else:
            assert card["encoder_parameters"] == sum(p.numel() for p in network_of(form).parameters())
            assert card["encoder_multiplications"] > 0


def test_a_shorter_recording_is_lengthened_and_heartbeats_are_cut_as_the_suites() -> None:
    from methods.encoders.pretrained import Signals

    ten = Signals(rate=100, leads=("I",), unit="mV", seconds=10.0, standardise="none")
    cut = segmentation_of(ten).cut(np.ones((3000, 12)), 500)
    assert cut.shape == (1000, 1, 12)
    assert (cut[:600] == 1).all()
    assert not cut[600:].any()
    beats = segmentation_of(Signals(rate=360, leads=("I",), unit="mV", heartbeats=True, standardise="recording"))
    assert (beats.kind, beats.samples, beats.raw) == ("heartbeats", 432, False)
