"""What a measurement of speed found, and the file it stays in."""

from __future__ import annotations

import json
from collections.abc import Mapping
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any

from pydantic import TypeAdapter

from benchmark.machine.versions import git_state, versions
from benchmark.results.files import write_atomic
from benchmark.verbs.speed.timing import Ratio
from methods.encoders.dilated import EncoderConfig


@dataclass(frozen=True)
class StepSpeed:
    """A training update, ours and plain."""

    name: str
    batch: int
    seconds: dict[str, float]
    """'ours', 'plain' or 'compiled', a space, and the precision -> median time of an update."""
    ratios: dict[str, Ratio]
    """'float32', 'bf16' (both sides in it), 'best' (plain in float32, ours as fast as it goes)."""
    compiled: dict[str, Ratio]
    """The same of ours through torch.compile; empty where it was not asked for."""
    flop: dict[str, float]
    """'ours', 'plain' -> floating-point operations of an update that convolutions and matrix products execute."""
    gib: dict[str, float | None]
    """'ours', 'plain' -> memory of an update in float32 beyond what it starts with; empty where not
    measured, None where the process was killed."""

    def per_window(self, precision: str, *, compiled: bool = False) -> float:
        """Seconds per pair of windows, or per window of fine-tuning; `compiled` where that was measured."""
        ours = self.seconds[f"ours {precision}"]
        return (self.seconds.get(f"compiled {precision}", ours) if compiled else ours) / self.batch


@dataclass(frozen=True)
class Growth:
    """Time of a PMQ update at a size."""

    batch: int
    queue: int
    seconds: float


@dataclass(frozen=True)
class PreparationSpeed:
    """Heartbeats of one recording of 10 s at 500 Hz, in seconds of one core."""

    plain: float | None
    """None, and no ratio, where neurokit2 is not installed."""
    ours: float
    ratio: Ratio | None


@dataclass(frozen=True)
class Speed:
    """All that was measured."""

    effort: str
    rounds: int
    precision: str
    """That a run would choose here."""
    device: dict[str, Any]
    encoder: EncoderConfig
    samples: int
    """Of a window."""
    gemm: dict[str, float]
    """Precision -> floating-point operations per second of a large matrix product."""
    steps: tuple[StepSpeed, ...]
    finetuning: StepSpeed
    queue_growth: tuple[Growth, ...]
    batch_growth: tuple[Growth, ...]
    preparation: PreparationSpeed

    def step(self, method: str) -> StepSpeed | None:
        """A method's update, where it was measured."""
        return next((step for step in self.steps if step.name == method), None)

    def misfit(self, encoder: EncoderConfig, samples: int, device: Mapping[str, Any], precision: str) -> str:
        """What of a machine and config differs from what was measured, '' where nothing does."""
        asked = {"device": dict(device), "precision": precision, "encoder": encoder, "windows": samples}
        found = {"device": self.device, "precision": self.precision, "encoder": self.encoder, "windows": self.samples}
        return " and ".join(what for what in asked if asked[what] != found[what])


def save_speed(speed: Speed, path: Path) -> None:
    """Write all values as JSON, with the versions they were measured with."""
    body = asdict(speed) | {"versions": versions(), "git": git_state()}
    write_atomic(path, json.dumps(body, indent=1).encode())


def load_speed(path: Path) -> Speed | None:
    """What `save_speed` wrote; None where there is no such file, or one that is damaged or of an older form."""
    try:
        return TypeAdapter(Speed).validate_json(path.read_bytes())
    except (OSError, ValueError):
        return None
