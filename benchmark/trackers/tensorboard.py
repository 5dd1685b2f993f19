"""TensorBoard event files: FOLDER/NAME.KEY/events.out.tfevents.*, and config.json beside them.

`tensorboard --logdir FOLDER` shows them. How far a curve is, is read from its files.
"""

from __future__ import annotations

import json
import re
import time
from collections.abc import Mapping
from pathlib import Path
from typing import Any

from benchmark.results.files.write import write_atomic
from benchmark.trackers.tracker import NOTHING, extra

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
