"""Cards and files of encoders from elsewhere: what is wrong is told in one line with value, place and remedy.

Whether weights from elsewhere saw the test patients of a column.

Encoders from elsewhere in a grid: their scores are those of features that are computed by hand outside.
"""

from __future__ import annotations

import os
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import torch
import yaml
from numpy.typing import NDArray
from scipy.signal import resample_poly
from sklearn.linear_model import LogisticRegression
from sklearn.metrics import f1_score
from sklearn.preprocessing import StandardScaler

from benchmark.config.config import Config
from benchmark.config.words import find_method
from benchmark.data.datasets.base import LEADS
from benchmark.data.datasets.registry import source_of
from benchmark.data.prepare import Prepared, prepare
from benchmark.data.splits import TaskSpec, split_of
from benchmark.data.task import make_task
from benchmark.elsewhere import refuse_unknown, saw, segmentation_of, tried, words_of
from benchmark.results.names import EVALUATION_FACTS
from benchmark.results.store import Store
from benchmark.run.datasets import each_cut
from benchmark.run.grid import Cell, Grid, make_grid
from benchmark.run.jobs import RunContext, missing
from benchmark.run.runner import do
from methods.encoders import identity
from methods.encoders.pretrained import ORDER, PretrainedConfig, PretrainedEncoder
from tests.benchmark.external_models import FEATURES, SIGNALS, network_of, onnx_bytes, write
from tests.benchmark.run.bench import MACHINE, Cohorts, Heard, SmallConfig

MODE = {"device": "cpu", "precision": "float32"}


def kind_of(word: Path) -> type[PretrainedEncoder]:
    kind = find_method(str(word)).external_encoder
    assert kind is not None
    return kind


def key(word: Path) -> Any:
    kind = kind_of(word)
    return identity(kind, PretrainedConfig(output=kind.features))


@pytest.mark.parametrize("form", SIGNALS)
def test_each_form_is_one_class_with_its_card(form: str, tmp_path: Path) -> None:
    if form == "onnx":
        pytest.importorskip("onnxruntime")
    word = write(form, tmp_path)
    kind = kind_of(word)
    assert kind_of(word) is kind
    assert (kind.name, kind.licence, kind.pretrained_on) == (f"theirs-{form}", "MIT", None)
    assert kind.word() == str(word)
    assert find_method(str(word)).external_encoder is kind
    assert not find_method(str(word)).trains
    encoder = tried(kind)
    x = torch.randn(2, kind.signals.samples, len(ORDER))
    assert encoder.pooled(x).shape == (2, kind.features)
    assert bool(kind.why_frozen()) == (form == "onnx")


@pytest.mark.parametrize(
    ("changes", "line"),
    [
        ({"rate": None}, "signals.rate: Field required"),
        ({"rate": "500"}, "signals.rate: input should be a valid integer, got '500'"),
        ({"leads": ["II", "V9", "V1"]}, "'V9' is no lead; there are I II III aVR"),
        ({"leads": ["II", "II", "V1"]}, "II II V1 names a lead twice"),
        ({"unit": "mm"}, "signals.unit: input should be 'mV', 'uV' or 'V', got 'mm'"),
        ({"seconds": None}, "give either seconds, the length of a window, or heartbeats: true"),
        ({"heartbeats": True}, "give either seconds, the length of a window, or heartbeats: true"),
        ({"standardise": "given"}, "mean is missing: standardise: given needs it"),
        ({"mean": [0.0]}, "unknown config key 'mean'"),
        ({"features": 0}, "features: input should be greater than or equal to 1, got 0"),
        ({"licence": None}, "licence: Field required"),
        ({"pretraining": None}, "pretraining: Field required"),
        ({"file": "gone.pt"}, "gone.pt is not there; name a file beside the card"),
        ({"file": "theirs.bin"}, "'theirs.bin' ends in none of .onnx, .pt, .ts"),
        ({"name": "pmq"}, "name: 'pmq' is taken"),
        ({"output": "z"}, "only an ONNX file has named outputs"),
        ({"frequency": 500}, "unknown config key 'frequency'"),
    ],
)
def test_a_wrong_card_is_one_line(changes: dict[str, Any], line: str, tmp_path: Path) -> None:
    word = write("torchscript", tmp_path, **changes)
    with pytest.raises(ValueError, match=r"card .*theirs.yaml: ") as caught:
        find_method(str(word))
    assert line in str(caught.value)
    assert len(str(caught.value).splitlines()) == 1


@pytest.mark.parametrize(
    ("form", "changes", "line"),
    [
        ("torchscript", {"leads": ["II", "V1"]}, "it takes no windows of 2 leads and 1000 samples, leads-first"),
        ("torchscript", {"layout": "samples-first"}, "correct signals: leads, rate, seconds or layout"),
        ("torchscript", {"features": 9}, "features 9, but a window gives 7 numbers; write 7"),
        (
            "onnx",
            {"leads": ["I", "II"], "mean": [0.0]},
            "names 2 leads, and .*theirs.onnx takes 4 .*name those that it",
        ),
        ("onnx", {"rate": 100}, "makes windows of 1000 samples, and .*takes 1280 .*correct signals.rate"),
        ("onnx", {"output": "z"}, "output 'z' is not in the file; there are features"),
        ("py", {"features": 9}, "load\\(\\) fails .*it has to read the weights of its network"),
    ],
)
def test_a_card_that_its_file_contradicts_is_one_line(
    form: str, changes: dict[str, Any], line: str, tmp_path: Path
) -> None:
    if form == "onnx":
        pytest.importorskip("onnxruntime")
    with pytest.raises(ValueError, match=line) as caught:
        tried(kind_of(write(form, tmp_path, **changes)))
    assert len(str(caught.value).splitlines()) == 1


@pytest.mark.parametrize("name", ["theirs.pt", "theirs.onnx"])
def test_a_file_of_another_kind_is_one_line(name: str, tmp_path: Path) -> None:
    pytest.importorskip("onnxruntime")
    word = write("onnx" if name.endswith("onnx") else "torchscript", tmp_path)
    torch.save({"state": torch.zeros(1)}, tmp_path / name)
    with pytest.raises(ValueError, match=r"is no TorchScript file|is no ONNX file") as caught:
        tried(kind_of(word))
    assert len(str(caught.value).splitlines()) == 1


def test_of_several_outputs_the_card_names_one(tmp_path: Path) -> None:
    pytest.importorskip("onnxruntime")
    word = write("onnx", tmp_path)
    (tmp_path / "theirs.onnx").write_bytes(onnx_bytes(network_of("onnx"), SIGNALS["onnx"], outputs=2))
    with pytest.raises(ValueError, match=r"has the outputs features, r: name one by `output` in .*theirs.yaml"):
        tried(kind_of(word))
    (tmp_path / "theirs.yaml").write_text(yaml.safe_dump(yaml.safe_load(word.read_text()) | {"output": "features"}))
    assert tried(kind_of(word)).pooled(torch.zeros(3, 1280, 12)).shape == (3, 5)


@pytest.mark.parametrize("form", SIGNALS)
def test_edited_weights_are_another_row_and_a_moved_folder_is_the_same(form: str, tmp_path: Path) -> None:
    before = key(write(form, tmp_path / "one"))
    assert key(write(form, tmp_path / "two")) == before
    (weights,) = [path for path in (tmp_path / "two").iterdir() if path.suffix in (".pt", ".onnx")]
    content = bytearray(weights.read_bytes())
    content[len(content) // 2] ^= 1
    weights.write_bytes(content)
    os.utime(weights, ns=(0, 0))
    assert key(tmp_path / "two" / ("theirs.py" if form == "py" else "theirs.yaml")) != before


def test_other_signals_are_another_row_and_another_licence_is_not(tmp_path: Path) -> None:
    before = key(write("torchscript", tmp_path / "a"))
    assert key(write("torchscript", tmp_path / "b", rate=500)) != before
    assert key(write("torchscript", tmp_path / "c", leads=["V1", "II", "V6"])) != before
    told = write("torchscript", tmp_path / "d", licence="Apache-2.0", pretraining=["ptb-xl"])
    file = (tmp_path / "a" / "theirs.pt").read_bytes()
    (tmp_path / "d" / "theirs.pt").write_bytes(file)
    assert key(told) == before


def test_an_encoder_with_weights_is_no_encoder_to_pretrain(tmp_path: Path, small_config: SmallConfig) -> None:
    word = write("py", tmp_path)
    with pytest.raises(ValueError, match="theirs-py brings weights of its own and is not pretrained; use --methods"):
        small_config({"encoder": {"name": str(word)}})


SPEC = TaskSpec(6, "single", "strict")


def seen_kind_of(pretraining: Any, folder: Path) -> type[PretrainedEncoder]:
    kind = find_method(str(write("torchscript", folder, pretraining=pretraining))).external_encoder
    assert kind is not None
    return kind


@pytest.mark.parametrize(
    ("pretraining", "column", "answer"),
    [
        ("unknown", "ptb-xl", "not known"),
        ([], "ptb-xl", "no"),
        (["ptb-xl"], "ptb-xl", "yes"),
        (["PTB-XL"], "ptb-xl", "yes"),
        (["PTBXL"], "chapman", "no"),
        (["mimic-iv-ecg", "Chapman-Shaoxing"], "chapman", "yes"),
        (["challenge2021"], "chapman", "yes"),
        (["challenge2020"], "chapman", "no"),
        (["challenge2020"], "cpsc2018", "yes"),
        ([{"other": "CODE-15"}], "ptb-xl", "no"),
        ([{"dataset": "ptb-xl", "folds": [1, 2, 3, 4, 5, 6, 7, 8]}], "ptb-xl", "no"),
        ([{"dataset": "ptb-xl", "folds": [9, 10]}], "ptb-xl", "yes"),
        ([{"dataset": "ptb-xl", "folds": [0, 1, 2]}], "ptb-xl", "not known"),
        ([{"dataset": "ptb-xl", "folds": [1, 2]}], "chapman", "no"),
        ([{"dataset": "chapman", "folds": [1, 2]}], "chapman", "not known"),
        ([{"dataset": "challenge2021", "folds": [1]}], "chapman", "not known"),
        ([{"dataset": "chapman", "folds": [1, 2]}, "ptb-xl"], "chapman", "not known"),
        ([{"dataset": "chapman", "folds": [1, 2]}, "chapman"], "chapman", "yes"),
    ],
)
def test_what_the_card_says_decides(
    pretraining: Any, column: str, answer: str, tmp_path: Path, cohorts: Cohorts
) -> None:
    kind = seen_kind_of(pretraining, tmp_path)
    refuse_unknown(kind, ())
    assert saw(kind, cohorts[column], SPEC) == answer


def test_a_list_of_recordings_tells_to_the_patient(tmp_path: Path, cohorts: Cohorts) -> None:
    column = cohorts["ptb-xl"]
    test = {column.entries[r].patient for r in split_of(column, SPEC).test}
    others = [entry.recording for entry in column.entries if entry.patient not in test]
    tested = next(entry.recording for entry in column.entries if entry.patient in test)
    (tmp_path / "seen.txt").write_text("\n".join(others))
    kind = seen_kind_of([{"dataset": "ptb-xl", "recordings": "seen.txt"}], tmp_path)
    assert saw(kind, column, SPEC) == "no"
    assert words_of(kind) == f"ptb-xl ({len(others)} recordings)"
    (tmp_path / "seen.txt").write_text("\n".join([*others, tested]))
    assert saw(kind, column, SPEC) == "yes"


def test_names_of_another_dataset_or_in_another_spelling_tell_nothing(tmp_path: Path, cohorts: Cohorts) -> None:
    column = cohorts["ptb-xl"]
    (tmp_path / "seen.txt").write_text("\n".join(entry.recording for entry in column.entries))
    kind = seen_kind_of([{"dataset": "challenge2021", "recordings": "seen.txt"}], tmp_path)
    assert saw(kind, column, SPEC) == "not known"
    (tmp_path / "seen.txt").write_text("\n".join(f"{int(entry.recording):05d}_hr" for entry in column.entries))
    kind = seen_kind_of([{"dataset": "ptb-xl", "recordings": "seen.txt"}], tmp_path)
    assert saw(kind, column, SPEC) == "not known"


def test_the_sides_of_a_card_are_not_the_folds_of_the_publisher(tmp_path: Path, cohorts: Cohorts) -> None:
    sides = tuple(replace(entry, fold={9: 9, 10: 10}.get(entry.fold or 0, 1)) for entry in cohorts["ptb-xl"].entries)
    column = replace(cohorts["ptb-xl"], name="ours", form="card", entries=sides)
    for folds in ([3], [1], [10]):
        kind = seen_kind_of([{"dataset": "ours", "folds": folds}], tmp_path)
        assert saw(kind, column, SPEC) == "not known"


@pytest.mark.parametrize(
    ("pretraining", "line"),
    [
        (["ptbx"], "'ptbx' are unknown \\(did you mean 'ptb-xl'\\?\\).* for others write {other: ptbx}"),
        ([{"dataset": "ptb-xl", "fold": [1]}], "write NAME, {dataset: NAME, folds: \\[1, 2\\]}"),
        ([{"dataset": "ptb-xl", "folds": "1-8"}], "folds are a list of numbers"),
        ([{"dataset": "ptb-xl", "recordings": "gone.txt"}], "gone.txt cannot be read as names"),
        ([7], "write NAME"),
    ],
)
def test_what_cannot_be_understood_is_one_line(pretraining: Any, line: str, tmp_path: Path) -> None:
    kind = seen_kind_of(pretraining, tmp_path)
    with pytest.raises(ValueError, match=line) as caught:
        refuse_unknown(kind, ())
    assert len(str(caught.value).splitlines()) == 1


def test_a_dataset_of_the_run_is_known(tmp_path: Path) -> None:
    refuse_unknown(seen_kind_of(["ours"], tmp_path), ["ours"])


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
    grid = make_grid(config, cohorts, MACHINE, forms=forms)
    assert do(missing(grid, store), RunContext(config, cohorts, store, MACHINE, heard.watch())) == 0, heard.lost
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


def test_each_labelled_subset_of_a_seed_has_other_patients_on_one_encoder(foreign: Foreign) -> None:
    cells = foreign.cells("theirs-py", "linear")
    assert [(cell.seed, cell.subset) for cell in cells] == [(seed, subset) for seed in (41, 42) for subset in range(5)]
    assert len({cell.pretrain_key for cell in cells}) == 1
    rows = [row for cell in cells if (row := foreign.store.load_row(cell.key))]
    assert len({row.provenance["split"]["train"] for row in rows}) == len(cells)


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
