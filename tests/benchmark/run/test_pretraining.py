"""Pretrainings and cells of a small grid: a failure costs its own cells and nothing else, a stop loses nothing."""

from __future__ import annotations

import json
import signal
from contextlib import nullcontext
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest
import torch

from benchmark.data.prepare import Prepared
from benchmark.machine import computer
from benchmark.results.files import digest
from benchmark.results.names import HEALTH_AGAIN, RECORD_FILE
from benchmark.results.store import Store
from benchmark.run import pretraining as pretraining_module
from benchmark.run.grid import STATISTICS
from benchmark.run.pretraining import measure_again, probe_windows_of, run_pretraining
from benchmark.training import pretrain as pretrain_module
from benchmark.training.checkpoint import CHECKPOINT, WEIGHTS, load_encoder
from methods.encoders.dilated import Dilated
from methods.encoders.resnet1d import ResNet1d
from tests.benchmark.run.bench import Bench, Cohorts, SmallConfig, cell_of
from tests.benchmark.tables import with_cells


def test_health_is_measured_again_on_the_windows_of_another_run(finished: Bench) -> None:
    """A store shares encoders among data; health on the windows of the first run stays, with its curve."""
    keys = {cell.variant.name: cell.pretraining.key for cell in finished.grid.cells if cell.pretraining}
    before = {name: (finished.store.record(key) or {})["health"] for name, key in keys.items()}

    def measured_on(columns: dict[str, Prepared]) -> dict[str, Any]:
        probe = probe_windows_of(finished.config, columns, torch.device("cpu"))
        measure_again(probe, finished.config, finished.grid, finished.store)
        records = {name: finished.store.record(key) or {} for name, key in keys.items()}
        assert {name: record["health"] for name, record in records.items()} == before
        return {name: record.get(HEALTH_AGAIN, {}).get(probe.source) for name, record in records.items()}

    chapman = finished.prepared["chapman"]
    shorter = replace(with_cells(chapman, windows=chapman.recordings.windows // 2), fingerprint="of the shorter")
    other = measured_on(finished.prepared | {"chapman": shorter})
    assert other["random"] != before["random"]
    assert other["pmq"] != before["pmq"][-1:]
    assert measured_on(finished.prepared) == {"random": None, "pmq": None}


def test_a_stopped_pretraining_goes_on_to_the_same_encoder(
    bench: Bench, whole: Bench, monkeypatch: pytest.MonkeyPatch
) -> None:
    key = cell_of(bench, "pmq").pretraining.key
    updates = json.loads((whole.store.pretrained / key / RECORD_FILE).read_text())["updates"]
    steps: list[int] = []

    def interrupt(done: int, total: int, text: str) -> None:
        steps.append(done)
        if done == updates - 1 and len(steps) < updates:
            signal.raise_signal(signal.SIGTERM)

    here = computer(bench.machine.device, bench.machine.precision)
    elsewhere = here | {"device": here["device"] | {"kernels": "Zen"}}
    monkeypatch.setattr(pretrain_module, "computer", lambda device, precision: elsewhere)
    monkeypatch.setattr(pretraining_module, "progress_file", lambda folder, name: nullcontext(interrupt))
    with pytest.raises(KeyboardInterrupt):
        bench.work_off()
    assert {path.name for path in (bench.store.pretrained / key).iterdir()} == {CHECKPOINT}
    monkeypatch.setattr(pretrain_module, "computer", computer)
    assert bench.work_off() == 0
    assert steps == [*range(1, updates + 1)]
    weights, expected = ((b.store.pretrained / key / WEIGHTS).read_bytes() for b in (bench, whole))
    assert weights == expected
    assert not (bench.store.pretrained / key / CHECKPOINT).exists()
    computers = (bench.store.record(key) or {})["computed_on"]
    assert [one["device"]["kernels"] for one in computers] == ["Zen", here["device"]["kernels"]]
    assert bench.rows() == whole.rows()


def test_methods_start_from_the_same_encoder(finished: Bench, small_config: SmallConfig, tmp_path: Path) -> None:
    still = {"pretrain.seed": 41, "pretrain.recipe.lr": 1e-30, "pretrain.recipe.weight_decay": 0.0}
    bench = Bench(small_config(still), finished.prepared, Store(tmp_path / "still"))
    assert bench.work_off() == 0
    random, pmq = (load_encoder(bench.store.pretrained / p.key, Dilated).state_dict() for p in bench.grid.pretrainings)
    assert all(torch.equal(value, pmq[name]) for name, value in random.items())


def test_results_hold_what_their_keys_are_digests_of(finished: Bench) -> None:
    corpus = finished.prepared["mimic-iv-ecg"]
    source = {"name": corpus.name, "fingerprint": corpus.fingerprint, "simulated": True}
    for row in finished.rows():
        assert row.provenance["corpus"] == (source if row.variant == "pmq" else {})
        assert digest([row.provenance["key_content"], row.ratio, row.seed]) == row.key
        record = finished.store.record(row.pretrain_key)
        assert record is not None
        assert digest(record["key_content"]) == row.pretrain_key
        assert row.provenance["device"]["threads"] == 1


def test_a_method_file_that_is_edited_while_its_pretraining_waits_is_refused(bench: Bench, tmp_path: Path) -> None:
    file = tmp_path / "mine.py"
    file.write_text("import methods.pmq\n\n\nclass Mine(methods.pmq.PMQ):\n    name = 'mine'\n    title = 'Mine'\n")
    bench.config = bench.config.model_copy(update={"methods": [str(file)]})
    (task,) = [task for task in bench.grid.pretrainings if task.method.trains]
    edited = replace(task, content=task.content | {"file": {"source": "of before"}})
    with pytest.raises(ValueError, match=r"mine\.py has been edited since this run began; the same command"):
        run_pretraining(edited, bench.context())


def test_each_epoch_is_written_as_events(bench: Bench, tmp_path: Path) -> None:
    readers = pytest.importorskip("tensorboard.backend.event_processing.event_accumulator")
    bench.events = tmp_path / "events"
    assert bench.work_off() == 0
    (trained,) = [task for task in bench.grid.pretrainings if task.method.trains]
    (folder,) = bench.events.iterdir()
    assert folder.name == f"pmq_pretrain_seed_{trained.seed}_{trained.key}"
    events = readers.EventAccumulator(str(folder)).Reload()
    loss = [(event.step, event.value) for event in events.Scalars("loss")]
    record = bench.store.record(trained.key)
    assert record is not None
    assert loss == [(epoch, pytest.approx(value)) for epoch, value in enumerate(record["loss"], start=1)]
    assert "health/effective_rank" in events.Tags()["scalars"]


def test_an_untrained_batch_normalisation_has_statistics_of_the_corpus_under_strict_alone(
    cohorts: Cohorts, small_config: SmallConfig, tmp_path: Path
) -> None:
    """No label is read, the weights stay, and rows say so; encoders without batch normalisation keep their keys."""
    states, contents = {}, {}
    for protocol in ("paper", "strict"):
        config = small_config(
            {"methods": ["random"], "encoder": {"name": "resnet1d", "output": 8}, "protocol": protocol}
            | {"evaluate": ["linear"], "subsets": 1, "data.segmentation.beats": "authors"}
        )
        bench = Bench(config, cohorts, Store(tmp_path / protocol))
        assert bench.work_off() == 0
        pretraining = bench.grid.pretrainings[0]
        contents[protocol] = pretraining.content
        states[protocol] = load_encoder(bench.store.pretrained / pretraining.key, ResNet1d).state_dict()
        remarks = {any("unlabelled windows" in note for note in row.notes) for row in bench.rows()}
        assert remarks == {protocol == "strict"}
    assert STATISTICS not in contents["paper"]
    assert contents["strict"] == contents["paper"] | {STATISTICS: contents["strict"][STATISTICS]}
    for name, value in states["paper"].items():
        is_statistic = name.endswith(("running_mean", "running_var", "num_batches_tracked"))
        assert torch.equal(value, states["strict"][name]) != is_statistic
    dilated = small_config({"methods": ["random"], "protocol": "strict", "data.segmentation.beats": "authors"})
    (random, *_) = Bench(dilated, cohorts, Store(tmp_path / "dilated")).grid.pretrainings
    assert STATISTICS not in random.content
