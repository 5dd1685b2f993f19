"""Results of `speed`, and their JSON file."""

from __future__ import annotations

import json
from collections.abc import Mapping
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any

from pydantic import TypeAdapter

from benchmark.machine.versions import git_state, versions
from benchmark.results.files.read import LARGEST_JSON, read_regular
from benchmark.results.files.write import write_atomic
from benchmark.verbs.speed.timing import Ratio

INSTALL_NEUROKIT2 = "pip install neurokit2==0.2.13"
"""For the preparation in plain form."""
SPEED_FILE = "speed.json"
"""Name of the file under --out."""


@dataclass(frozen=True)
class StepSpeed:
    """Timing of a training update, ours and plain."""

    name: str
    batch: int
    seconds: dict[str, float]
    """'ours', 'plain' or 'compiled', a space, and the precision -> median time of an update."""
    ratios: dict[str, Ratio]
    """'float32', 'bf16' (both sides), 'best' (plain in float32, ours in its fastest precision)."""
    compiled: dict[str, Ratio]
    """The same for ours with torch.compile; empty if not measured."""
    flop: dict[str, float]
    """'ours', 'plain' -> floating-point operations per update in convolutions and matrix products."""
    gib: dict[str, float | None]
    """'ours', 'plain' -> memory growth of an update in float32, GiB; empty if not measured, None if the process was
    killed."""

    def per_window(self, precision: str, *, compiled: bool = False) -> float:
        """Seconds per pair of windows, per window in fine-tuning; `compiled` if that was measured."""
        ours = self.seconds[f"ours {precision}"]
        return (self.seconds.get(f"compiled {precision}", ours) if compiled else ours) / self.batch


@dataclass(frozen=True)
class Growth:
    """Seconds of a PMQ update at a batch and queue size."""

    batch: int
    queue: int
    seconds: float


@dataclass(frozen=True)
class PreparationSpeed:
    """Heartbeat preparation of one 10 s recording at 500 Hz, in core-seconds."""

    plain: float | None
    """None, like `ratio`, if neurokit2 is not installed."""
    ours: float
    ratio: Ratio | None


@dataclass(frozen=True)
class StreamingSpeed:
    """PMQ's update on a corpus that is read from disk, and on the same in memory."""

    gib: float
    """Of the corpus."""
    limit_gib: float | None
    """Memory that the process which streams may take beyond the one it begins with; None for no limit."""
    batch: int
    seconds: dict[str, float]
    """'memory', 'disk' -> median wall time of an update with its batch."""
    ratio: Ratio
    """Memory / disk, of wall times: 1 is as fast."""
    cpu_ratio: Ratio
    """Of processor times, which other work on the machine moves less."""


@dataclass(frozen=True)
class EngineSpeed:
    """Work on a small grid by so many workers."""

    workers: int
    tasks: int
    """Pretrainings and cells."""
    seconds: float
    """From the stored plan to the last row, the start of the workers included."""


@dataclass(frozen=True)
class Speed:
    """All measurements of one `speed` run."""

    effort: str
    rounds: int
    precision: str
    """The precision a run uses on this machine."""
    device: dict[str, Any]
    encoder: dict[str, Any]
    """Name and sizes, as by `methods.encoders.identity`."""
    samples: int
    """Per window."""
    gemm: dict[str, float]
    """Precision -> floating-point operations per second of a large matrix product."""
    steps: tuple[StepSpeed, ...]
    finetuning: StepSpeed
    queue_growth: tuple[Growth, ...]
    batch_growth: tuple[Growth, ...]
    preparation: PreparationSpeed
    backbones: tuple[StepSpeed, ...] = ()
    """Fine-tuning of each encoder of the suite that takes the windows, and of those of the config."""
    streaming: StreamingSpeed | None = None
    """None if it was not measured."""
    engine: tuple[EngineSpeed, ...] = ()
    """Empty if it was not measured."""

    def step(self, method: str) -> StepSpeed | None:
        """A method's update; None if not measured."""
        return next((step for step in self.steps if step.name == method), None)

    def misfit(self, encoder: Mapping[str, Any], samples: int, device: Mapping[str, Any], precision: str) -> str:
        """Names of the properties that differ from the measured ones; '' for none."""
        asked = {"device": dict(device), "precision": precision, "encoder": dict(encoder), "windows": samples}
        found = {"device": self.device, "precision": self.precision, "encoder": self.encoder, "windows": self.samples}
        return " and ".join(what for what in asked if asked[what] != found[what])


def save_speed(speed: Speed, path: Path) -> None:
    """Write all values and the software versions as JSON."""
    body = asdict(speed) | {"versions": versions(), "git": git_state()}
    write_atomic(path, json.dumps(body, indent=1).encode())


def load_speed(path: Path) -> Speed | None:
    """The values of `save_speed`; None if the file is missing, damaged or of an older form."""
    try:
        return TypeAdapter(Speed).validate_json(read_regular(path, LARGEST_JSON))
    except (OSError, ValueError):
        return None
