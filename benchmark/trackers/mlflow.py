"""MLflow: one run per curve in the experiment `PROJECT`, found by the tag `ecg.key`.

Goes to $MLFLOW_TRACKING_URI where that is set, else into files in FOLDER, which `mlflow ui --backend-store-uri FOLDER`
shows; MLflow wants MLFLOW_ALLOW_FILE_STORE=true for those. How far a curve is, is asked of MLflow.
"""

from __future__ import annotations

import os
import time
from collections.abc import Mapping
from pathlib import Path
from typing import Any

from benchmark.trackers.tracker import NOTHING, PROJECT, extra, flat

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

    def start(self, name: str, key: str, config: Mapping[str, Any]) -> Run:
        """A new run, or the run of the key."""
        client, experiment = self._open()
        known = self._run(key)
        if known is not None:
            client.update_run(known.info.run_id, status="RUNNING")
            return Run(client, known.info.run_id, self._entities)
        run = client.create_run(experiment, tags={KEY: key, NAME: name}).info.run_id
        settings = [self._entities.Param(own, text[:LONGEST]) for own, text in flat(config).items()]
        for first in range(0, len(settings), MOST_PARAMETERS):
            client.log_batch(run, params=settings[first : first + MOST_PARAMETERS])
        return Run(client, run, self._entities)

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


class Run:
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
