"""Trackers of training curves besides the store: TensorBoard, Weights & Biases, MLflow.

In: a curve's name, key and config, and its points. benchmark.run.tracking says which. Libraries are imported where a
tracker is opened. A new tracker is its file and a line in `TRACKERS`.

MLflow: one run per curve in the experiment `PROJECT`, found by the tag `ecg.key`.

Goes to $MLFLOW_TRACKING_URI where that is set, else into files in FOLDER, which `mlflow ui --backend-store-uri FOLDER`
shows; MLflow wants MLFLOW_ALLOW_FILE_STORE=true for those. How far a curve is, is asked of MLflow.

TensorBoard event files: FOLDER/NAME.KEY/events.out.tfevents.*, and config.json beside them.

`tensorboard --logdir FOLDER` shows them. How far a curve is, is read from its files.

Weights & Biases: one run per curve, its id the key. Local files in FOLDER.

Sent are the curve, its name and its config; nothing of the machine, the console, the code or its repository but the
versions of Python and wandb and the platform. How far a curve is, stands in FOLDER/steps/KEY, since a run that was
written with WANDB_MODE=offline cannot be asked.
"""

from __future__ import annotations

import json
import os
import re
import time
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import Any, Protocol

from benchmark.results.files import write_atomic
from benchmark.results.schema import flat

NOTHING = -1
"""The last step of a curve that has no point yet."""
PROJECT = "ecg-pretrain-bench"
"""Of Weights & Biases; the experiment of MLflow."""


class Log(Protocol):
    """A curve that is being written."""

    def log(self, step: int, values: Mapping[str, float]) -> None:
        """Add a point. Steps rise."""

    def finish(self) -> None:
        """Write out what is held back. The curve may be started again."""


class Tracker(Protocol):
    """Where curves go. Any of its calls may fail for reasons of its own, a network for instance."""

    name: str

    def last(self, key: str) -> int:
        """The last step of the curve of a key that is there; `NOTHING` without one."""

    def start(self, name: str, key: str, config: Mapping[str, Any]) -> Log:
        """Begin the curve of a key, or go on with it. name: for people; config: JSON-like, without paths."""


@contextmanager
def extra(name: str) -> Iterator[None]:
    """Context of the imports of a tracker's library; where it is missing, one line names the extra."""
    try:
        yield
    except ModuleNotFoundError as error:
        missing = str(error.name).partition(".")[0]
        said = f"--track {name}: {missing} is not installed; pip install 'ecg-pretrain-bench[{name}]'"
        raise ModuleNotFoundError(said, name=missing) from None


KEY, NAME = "ecg.key", "mlflow.runName"
URI, FILES_ALLOWED = "MLFLOW_TRACKING_URI", "MLFLOW_ALLOW_FILE_STORE"
MOST_PARAMETERS, LONGEST = 100, 500
"""Of one call, and characters of one: servers refuse more."""


class MLflow:
    """Runs of one experiment."""

    name = "mlflow"

    def __init__(self, folder: Path) -> None:
        self._folder = folder
        with extra(self.name):  # here, because only who tracks needs it
            from mlflow import entities
            from mlflow.tracking import MlflowClient
        self._entities, self._client_of = entities, MlflowClient
        self._opened: tuple[Any, str] | None = None

    def last(self, key: str) -> int:
        """The last step of any value of the key's run."""
        client, _ = self._open()
        run = self._run(key)
        if run is None:
            return NOTHING
        names = run.data.metrics
        return max(
            (m.step for name in names for m in client.get_metric_history(run.info.run_id, name)), default=NOTHING
        )

    def start(self, name: str, key: str, config: Mapping[str, Any]) -> MLflowRun:
        """A new run, or the run of the key."""
        client, experiment = self._open()
        known = self._run(key)
        if known is not None:
            client.update_run(known.info.run_id, status="RUNNING")
            return MLflowRun(client, known.info.run_id, self._entities)
        run = client.create_run(experiment, tags={KEY: key, NAME: name}).info.run_id
        settings = [self._entities.Param(own, str(value)[:LONGEST]) for own, value in flat(config).items()]
        for first in range(0, len(settings), MOST_PARAMETERS):
            client.log_batch(run, params=settings[first : first + MOST_PARAMETERS])
        return MLflowRun(client, run, self._entities)

    def _open(self) -> tuple[Any, str]:
        """The client and the experiment's id, made at the first use."""
        if self._opened is None:
            if not os.environ.get(URI):
                os.environ.setdefault(FILES_ALLOWED, "true")  # other stores need a database's libraries
            client = self._client_of(os.environ.get(URI) or self._folder.resolve().as_uri())
            known = client.get_experiment_by_name(PROJECT)
            self._opened = client, known.experiment_id if known else client.create_experiment(PROJECT)
        return self._opened

    def _run(self, key: str) -> Any:
        """The run of a key; None without one."""
        client, experiment = self._open()
        found = client.search_runs([experiment], filter_string=f"tags.`{KEY}` = '{key}'", max_results=1)
        return found[0] if found else None


class MLflowRun:
    """One run."""

    def __init__(self, client: Any, run: str, entities: Any) -> None:
        self._client = client
        self._run = run
        self._entities = entities

    def log(self, step: int, values: Mapping[str, float]) -> None:
        """Add a point."""
        now = int(1000 * time.time())
        told = [self._entities.Metric(name, value, now, step) for name, value in values.items()]
        self._client.log_batch(self._run, metrics=told)

    def finish(self) -> None:
        """End the run."""
        self._client.set_terminated(self._run)


EVENTS = "*tfevents*"
CONFIG = "config.json"


class TensorBoard:
    """Event files in a folder."""

    name = "tensorboard"

    def __init__(self, folder: Path) -> None:
        self._folder = folder
        with extra(self.name):  # here, because only who tracks needs it
            from tensorboard.backend.event_processing.event_file_loader import EventFileLoader
            from tensorboard.summary.writer.event_file_writer import EventFileWriter
        self._writer, self._loader = EventFileWriter, EventFileLoader

    def last(self, key: str) -> int:
        """The last step of a curve in its event files."""
        files = sorted(file for folder in self._folder.glob(f"*.{key}") for file in folder.glob(EVENTS))
        return max((event.step for file in files for event in self._events(file)), default=NOTHING)

    def start(self, name: str, key: str, config: Mapping[str, Any]) -> EventFile:
        """A new event file in the folder of the curve."""
        known = next(self._folder.glob(f"*.{key}"), None)
        folder = known or self._folder / f"{re.sub(r'[^A-Za-z0-9_.+-]+', '-', name)}.{key}"
        write_atomic(folder / CONFIG, json.dumps(config, indent=1, sort_keys=True).encode())
        return EventFile(self._writer(str(folder)))

    def _events(self, file: Path) -> list[Any]:
        """The events with values; of a file that was cut off, those before."""
        return [event for event in self._loader(str(file)).Load() if event.HasField("summary")]


class EventFile:
    """One event file."""

    def __init__(self, writer: Any) -> None:
        from tensorboard.compat.proto.event_pb2 import Event
        from tensorboard.compat.proto.summary_pb2 import Summary

        self._writer, self._event, self._summary = writer, Event, Summary

    def log(self, step: int, values: Mapping[str, float]) -> None:
        """Add a point, so that it can be seen at once."""
        told = [self._summary.Value(tag=name, simple_value=value) for name, value in values.items()]
        self._writer.add_event(self._event(wall_time=time.time(), step=step, summary=self._summary(value=told)))
        self._writer.flush()

    def finish(self) -> None:
        """Close the file."""
        self._writer.close()


SILENT: dict[str, Any] = {
    "console": "off",
    "host": "",
    "silent": True,
    "save_code": False,
    "disable_code": True,
    "disable_git": True,
    "disable_job_creation": True,
    "x_disable_stats": True,
    "x_disable_meta": True,
    "x_disable_machine_info": True,
    "x_save_requirements": False,
}
"""Settings of a run: what wandb would send besides."""


class WeightsAndBiases:
    """Runs of the project `PROJECT`, or of $WANDB_PROJECT."""

    name = "wandb"

    def __init__(self, folder: Path) -> None:
        self._folder = folder
        with extra(self.name):  # here, because only who tracks needs it
            import wandb
        self._wandb = wandb

    def last(self, key: str) -> int:
        """The last step that was written from this folder."""
        with suppress(OSError, ValueError):
            return int(self._steps(key).read_text())
        return NOTHING

    def start(self, name: str, key: str, config: Mapping[str, Any]) -> WandbRun:
        """A new run, or the run of the key."""
        self._folder.mkdir(parents=True, exist_ok=True)
        run = self._wandb.init(
            project=os.environ.get("WANDB_PROJECT", PROJECT),
            id=key,
            name=name,
            config=dict(config),
            dir=str(self._folder),
            resume="allow",
            reinit="create_new",
            settings=self._wandb.Settings(**SILENT),
        )
        return WandbRun(run, self._steps(key))

    def _steps(self, key: str) -> Path:
        return self._folder / "steps" / key


class WandbRun:
    """One run."""

    def __init__(self, run: Any, steps: Path) -> None:
        self._run = run
        self._steps = steps

    def log(self, step: int, values: Mapping[str, float]) -> None:
        """Add a point."""
        self._run.log(dict(values), step=step)
        write_atomic(self._steps, str(step).encode())

    def finish(self) -> None:
        """End the run and wait until it is written."""
        self._run.finish()


TRACKERS: dict[str, Callable[[Path], Tracker]] = {
    "tensorboard": TensorBoard,
    "wandb": WeightsAndBiases,
    "mlflow": MLflow,
}
"""Name, as `--track` and the extra of pyproject.toml have it -> what opens it with the folder of its local files."""


def open_trackers(names: list[str], out: Path) -> list[Tracker]:
    """The named trackers, each once, with local files in OUT/NAME. Raises ModuleNotFoundError where one is missing."""
    return [TRACKERS[name](out / name) for name in dict.fromkeys(names)]
