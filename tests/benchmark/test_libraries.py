"""What MLflow and Weights & Biases themselves have written (offline, nothing is sent), read back."""

from __future__ import annotations

import json
import struct
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from benchmark.trackers import FILES_ALLOWED, PROJECT, URI, open_trackers

pytestmark = pytest.mark.slow

KEY, NAME = "0123456789abcdef", "pmq:w/o mask_t pretrain seed 42"
CONFIG = {"method": "pmq", "recipe": {"lr": 0.5}}
BLOCK, FULL, LAST = 32768, 1, 4
"""Of LevelDB's log: bytes of a block, and the types of a piece that ends a record."""
CURVE = {0: 2.5, 10: 1.25, 20: 0.75}


def write(tracker: str, folder: Path) -> None:
    """The first two points, then the last as a run that goes on writes it."""
    for steps in ((0, 10), (20,)):
        (opened,) = open_trackers([tracker], folder)
        assert opened.last(KEY) == (10 if steps == (20,) else -1)
        log = opened.start(NAME, KEY, CONFIG)
        for step in steps:
            log.log(step, {"pretraining/loss": CURVE[step]})
        log.finish()
    assert open_trackers([tracker], folder)[0].last(KEY) == 20


def test_mlflow_has_the_curve_in_one_run(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    tracking = pytest.importorskip("mlflow.tracking", reason="the extra [mlflow] is not installed")
    monkeypatch.delenv(URI, raising=False)
    monkeypatch.setenv(FILES_ALLOWED, "true")
    write("mlflow", tmp_path)
    client: Any = tracking.MlflowClient((tmp_path / "mlflow").as_uri())
    experiment = client.get_experiment_by_name(PROJECT)
    (run,) = client.search_runs([experiment.experiment_id])
    assert (run.info.run_name, run.info.status) == (NAME, "FINISHED")
    assert run.data.params == {"method": "pmq", "recipe.lr": "0.5"}
    history = client.get_metric_history(run.info.run_id, "pretraining/loss")
    assert {point.step: point.value for point in history} == CURVE


def records(file: Path) -> Iterator[bytes]:
    """Of a W&B file: LevelDB's log format, 7 bytes of the file, then pieces in blocks: checksum, length, type."""
    content, at, whole = file.read_bytes(), 7, b""
    while at + 7 <= len(content):
        if BLOCK - at % BLOCK < 7:  # a block's end that holds no header
            at += BLOCK - at % BLOCK
        _, length, kind = struct.unpack_from("<IHB", content, at)
        whole += content[at + 7 : at + 7 + length]
        at += 7 + length
        if kind in (FULL, LAST):
            yield whole
            whole = b""


def test_wandb_has_the_curve_under_one_id(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    pytest.importorskip("wandb", reason="the extra [wandb] is not installed")
    from wandb.proto.wandb_internal_pb2 import Record

    monkeypatch.setenv("WANDB_MODE", "offline")
    write("wandb", tmp_path)
    found: dict[int, float] = {}
    for file in sorted((tmp_path / "wandb").glob(f"wandb/offline-run-*/run-{KEY}.wandb")):
        for scanned in records(file):
            record: Any = Record.FromString(scanned)
            if record.HasField("run"):
                assert (record.run.run_id, record.run.project, record.run.display_name) == (KEY, PROJECT, NAME)
                assert {item.key: json.loads(item.value_json) for item in record.run.config.update}["method"] == "pmq"
                assert (record.run.host, record.run.git.commit) == ("", "")
            if record.HasField("history"):
                items = {"/".join(item.nested_key) or item.key: item.value_json for item in record.history.item}
                found[int(items["_step"])] = float(items["pretraining/loss"])
    assert found == CURVE
