"""Encoders that Python code holds are judged as the rows of the command line are."""

from __future__ import annotations

import doctest
import os
import shutil
import subprocess
import sys
import threading
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import pytest
import torch
from safetensors.torch import load_file
from torch import nn

import ecg_pretrain_bench as ecg
from benchmark.cli.main import OK
from benchmark.config.load import load_card
from benchmark.data.simulate import simulate
from benchmark.evaluation import ARRAYS
from benchmark.results.names import LEADS
from benchmark.training.checkpoint import WEIGHTS, load_encoder
from methods.encoders.dilated import Dilated
from methods.encoders.pretrained import SignalFormat
from methods.in_memory import object_encoder
from methods.twins import redrawn, twin_of
from reports.answer import RunResults
from run_benchmark import main
from tests.benchmark import external_models
from tests.benchmark.embedding.exported import export_encoder

LABELS = ["NORM", "AFIB"] * 20
SETTINGS = {"encoder.hidden": 4, "encoder.depth": 2, "encoder.output": 8, "data.folds": None, "subsets": 1}
READS = SignalFormat(**external_models.SIGNALS["learns"])


@pytest.fixture(scope="module")
def ours() -> ecg.Arrays:
    """Forty people, a recording of ten seconds each."""
    signals = np.stack([simulate(label, seed=seed) for seed, label in enumerate(LABELS)])
    return ecg.Arrays(name="ours", x=signals, y=LABELS, patient=range(len(LABELS)), rate=500)


@pytest.fixture(scope="module")
def judge(ours: ecg.Arrays, tmp_path_factory: pytest.TempPathFactory) -> Callable[..., RunResults]:
    """Judge encoders by the linear probe, all in one store."""
    folder = tmp_path_factory.mktemp("judged")

    def run(encoders: Any, **changes: Any) -> RunResults:
        known: dict[str, Any] = {
            "signals": READS, "settings": SETTINGS, "evaluations": ["linear"], "ratios": [1.0], "seeds": [41, 42],
            "results": folder / "runs", "cache": folder / "cache", "device": "cpu", "progress": False,
        }  # fmt: skip
        return ecg.evaluate(encoders, **{"data": ours} | known | changes)

    return run


@pytest.fixture(scope="module")
def network() -> nn.Module:
    """The convolution of an encoder of another group, with its mean over time."""
    return nn.Sequential(external_models.convolution_of("learns"), nn.ReLU(), nn.AdaptiveAvgPool1d(1), nn.Flatten())


@pytest.fixture(scope="module")
def results(
    judge: Callable[..., RunResults], network: nn.Module, tmp_path_factory: pytest.TempPathFactory
) -> RunResults:
    """The network as an object, and the same in a file."""
    file = external_models.write("learns", tmp_path_factory.mktemp("theirs"))
    return judge({"mine": network, "theirs-learns": file})


def probabilities(results: RunResults, row: str, seed: int = 41) -> Any:
    (key,) = [cell.key for cell in results.plan.cells if (cell.variant, cell.seed) == (row, seed)]
    return results.predictions(key).probability


def test_labels_that_are_missing_or_no_yes_or_no_are_not_taken_for_no(ours: ecg.Arrays, tmp_path: Path) -> None:
    labels = np.tile([[1, 0.0], [0, 1]], (len(LABELS) // 2, 1))  # (n, C)
    labels[0, 1], labels[1, 0] = np.nan, 0.7
    file = replace(ours, y=labels, classes=["AF", "SR"]).write(tmp_path)
    listing = load_card(str(file))(file.parent).listing()
    assert [reason.partition(":")[0] for _, reason in listing.skipped] == [
        "cell of a class is blank and labels.blank is skip",
        "cell of a class is neither yes nor no; write 1, 0 or nothing",
    ]
    assert [entry.labels for entry in listing.entries[:2]] == [(0,), (1,)]


def test_an_object_scores_as_the_same_encoder_in_a_file(results: RunResults) -> None:
    np.testing.assert_array_equal(probabilities(results, "mine"), probabilities(results, "theirs-learns"))


def test_each_seed_draws_a_twin_of_its_own(results: RunResults) -> None:
    for row in ("random+mine", "random+theirs-learns"):
        assert not np.array_equal(probabilities(results, row, 41), probabilities(results, row, 42))
    assert results.verdict()[0].startswith("Better than the untrained encoder (mine, untrained)")


def test_batch_normalisation_of_a_twin_has_statistics_of_training_windows(judge: Callable[..., RunResults]) -> None:
    normalised = nn.Sequential(external_models.convolution_of("learns"), nn.BatchNorm1d(6), nn.AdaptiveMaxPool1d(1))
    results = judge({"normalised": nn.Sequential(normalised, nn.Flatten())}, seeds=[41])
    (key,) = {row.pretrain_key for row in results.rows.values() if row.variant == "random+normalised"}
    stored = load_file(results.stores[0].pretrained / key / WEIGHTS)
    assert stored["network.0.1.num_batches_tracked"] == 1
    assert stored["network.0.1.running_mean"].abs().min() > 0


def test_an_encoder_of_the_suite_scores_as_its_row(judge: Callable[..., RunResults], results: RunResults) -> None:
    (key,) = {row.pretrain_key for row in results.rows.values() if (row.variant, row.seed) == ("random", 41)}
    encoder = load_encoder(results.stores[0].pretrained / key, Dilated)
    again = judge({"again": encoder}, signals=None)
    np.testing.assert_array_equal(probabilities(again, "again"), probabilities(results, "random"))


def test_what_is_computed_is_known_again_until_a_weight_changes(
    judge: Callable[..., RunResults], results: RunResults, network: nn.Module
) -> None:
    files = [results.stores[0].row_file(cell.key) for cell in results.plan.cells if cell.variant == "mine"]
    before = [file.stat().st_mtime_ns for file in files]
    again = judge({"mine": network})
    assert [file.stat().st_mtime_ns for file in files] == before
    with torch.no_grad():
        network[0].bias += 0.5  # type: ignore[index, union-attr]
    changed = judge({"mine": network})
    keys = [{cell.key for cell in run.plan.cells if cell.variant == "mine"} for run in (again, changed)]
    assert keys[0].isdisjoint(keys[1])


def test_the_command_line_finds_the_cells_of_a_call_done(
    results: RunResults, capsys: pytest.CaptureFixture[str]
) -> None:
    root = results.stores[0].root
    (card,) = (root.parent / "cache" / ARRAYS).glob("*/ours.yaml")
    settings = [f"{key}={'null' if value is None else value}" for key, value in SETTINGS.items()]
    words = ["--datasets", str(card), "--methods", "random", "--baselines", "none", "--evaluate", "linear"]
    words += ["--ratios", "1", "--seeds", "41", "42", "--set", *settings, "--dry-run", "--device", "cpu"]
    assert main([*words, "--results", str(root), "--cache", str(root.parent / "cache")]) == OK
    assert "to do: 0 of 2 cells" in capsys.readouterr().out


def test_a_call_leaves_the_process_as_it_was(judge: Callable[..., RunResults], network: nn.Module) -> None:
    network.train()
    before = os.getcwd(), list(sys.argv), torch.get_num_threads(), torch.random.get_rng_state().tolist()
    judge({"mine": network})
    assert (os.getcwd(), list(sys.argv), torch.get_num_threads(), torch.random.get_rng_state().tolist()) == before
    assert network.training


def test_a_call_in_another_thread_works(judge: Callable[..., RunResults]) -> None:
    made: list[RunResults] = []
    thread = threading.Thread(target=lambda: made.append(judge({"spread": spread})))
    thread.start()
    thread.join()
    assert len(made) == 1
    assert "random+spread" not in made[0].plan.variants, "nothing of a function can be drawn anew"


def spread(x: Any) -> Any:
    """Deviation of each lead: (n, samples, leads) -> (n, leads)."""
    return x.std(axis=1)


class Positioned(nn.Module):
    """A network with a parameter that no layer draws."""

    def __init__(self, width: int) -> None:
        super().__init__()
        self.offset = nn.Parameter(torch.zeros(width))
        self.layer = nn.Conv1d(2, width, 9)

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        return self.layer(x).mean(-1) + self.offset


@pytest.mark.parametrize(
    ("encoders", "changes", "words"),
    [
        ({"mine": nn.Flatten()}, {"signals": None}, "say what it reads"),
        ({"mine": nn.Conv1d(3, 4, 5)}, {}, "takes no windows of 2 leads"),
        ({"mine": nn.Conv1d(2, 4, 5)}, {}, "\\(4, K\\) is needed"),
        ({"mine": Positioned(3)}, {}, "no layer draws offset anew .* untrained={'mine': make_network}"),
        ({"pmq": spread}, {}, "cannot name an encoder"),
        ({"mine": "pmq"}, {}, "has the name 'pmq'"),
        ({"mine": 3}, {}, "int is no torch module"),
        ({}, {}, "no encoder is named"),
        ("pmq", {"seeds": ["x"]}, "invalid int value"),
        ("pmq", {"settings": {"encoder.hiden": 3}}, "hiden"),
        ("pmqq", {}, "did you mean 'pmq'"),
    ],
)  # fmt: skip
def test_what_cannot_be_judged_is_one_line_before_any_work(
    encoders: Any, changes: Any, words: str, judge: Callable[..., RunResults], tmp_path: Path
) -> None:
    with pytest.raises(ValueError, match=words) as raised:
        judge(encoders, results=tmp_path / "runs", **changes)
    assert "\n" not in str(raised.value)
    assert not (tmp_path / "runs").exists()


def test_a_twin_draws_every_weight_of_its_layers() -> None:
    network = nn.Sequential(nn.Conv1d(2, 4, 9), nn.BatchNorm1d(4), nn.Flatten(), nn.LazyLinear(3))
    with torch.no_grad():
        network(torch.randn(8, 2, 400))  # trained: statistics of batch normalisation are no longer 0 and 1
    torch.manual_seed(1)
    fresh = redrawn(network, "mine")
    same = [name for name, value in fresh.state_dict().items() if torch.equal(value, network.state_dict()[name])]
    assert same == ["1.weight", "1.bias"], "constants of a new batch normalisation"


def test_a_network_whose_class_takes_no_argument_is_built_again_by_it() -> None:
    class Built(nn.Module):
        def __init__(self) -> None:
            super().__init__()
            self.scale = nn.Parameter(torch.randn(3))

        def forward(self, x: torch.Tensor) -> torch.Tensor:
            return x.mean(-1).mean(-1, keepdim=True) * self.scale

    twin = twin_of(object_encoder(Built(), READS, name="mine"))
    torch.manual_seed(3)
    expected = Built().scale
    torch.manual_seed(3)
    assert torch.equal(twin().network.scale, expected)


def test_doubts_about_the_data_are_warnings_and_stand_under_the_table(
    judge: Callable[..., RunResults], ours: ecg.Arrays, tmp_path: Path
) -> None:
    in_microvolts = replace(ours, x=1000 * ours.x)
    with pytest.warns(UserWarning, match="QRS amplitude outside 0.1 to 10 mV"):
        results = judge({"mine": spread}, data=in_microvolts, results=tmp_path / "runs")
    assert "QRS amplitude outside 0.1 to 10 mV" in results._repr_html_()


@pytest.mark.parametrize(
    ("names", "libraries"),
    [
        ("ecg.load_results, ecg.Arrays, ecg.compare_predictions", "'torch', 'wfdb'"),
        ("ecg.__all__", "'torch', 'numpy', 'pandas', 'pydantic'"),
    ],
)
def test_a_name_loads_no_more_than_it_needs(names: str, libraries: str) -> None:
    source = f"import ecg_pretrain_bench as ecg, sys; {names}; print({{*sys.modules}} & {{{libraries}}})"
    root = Path(__file__).resolve().parents[2]
    shown = subprocess.run([sys.executable, "-c", source], cwd=root, capture_output=True, text=True, check=True)
    assert shown.stdout.strip() == "set()"


def test_a_folder_that_hides_a_package_of_the_suite_is_named(tmp_path: Path) -> None:
    (tmp_path / "methods").mkdir()
    root = Path(__file__).resolve().parents[2]
    path = f"import sys; sys.path[:0] = [{str(tmp_path)!r}, {str(root)!r}]"
    source = f"{path}; import ecg_pretrain_bench as ecg; ecg.check"
    (tmp_path / "methods" / "__init__.py").touch()
    shown = subprocess.run([sys.executable, "-c", source], cwd=tmp_path, capture_output=True, text=True, check=False)
    assert shown.stderr.splitlines()[-1].startswith(f"ImportError: methods is {tmp_path / 'methods'}, not ")


def test_every_public_name_is_there() -> None:
    assert all(hasattr(ecg, name) for name in ecg.__all__)


@pytest.mark.parametrize("name", [name for name in ecg.__all__ if name != "__version__"])
def test_the_example_of_a_public_name_runs(
    name: str, results: RunResults, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    shutil.copytree(results.stores[0].root, "runs")
    export_encoder(tmp_path / "pmq")
    known = {name: getattr(ecg, name) for name in ecg.__all__} | {"np": np, "pd": pd, "torch": torch, "LEADS": LEADS}
    (example, *_) = doctest.DocTestFinder(recurse=False).find(known[name], name, globs=known)
    assert example.examples
    assert doctest.DocTestRunner().run(example).failed == 0


def test_a_check_names_what_an_encoder_breaks(network: nn.Module) -> None:
    assert set(ecg.check(network, signals=READS).values()) == {"ok"}
    assert "say what it reads" in ecg.check(network)["takes windows"]
