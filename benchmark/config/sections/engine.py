"""The section `engine` of a config: where tasks run, and what a job asks a cluster for. No result depends on it."""

from __future__ import annotations

from typing import Annotated

from pydantic import Field, ValidationInfo, field_validator

from benchmark.config.sections.section import Count, Section
from benchmark.results.names import EngineName


class EngineSection(Section):
    """Where tasks run. It enters no key and is in no stored config."""

    name: EngineName = "local"
    """local: this machine; slurm: jobs of a cluster (docs/CLUSTER.md). The other keys are those of its jobs."""
    partition: str | None = None
    """None: the cluster's default."""
    account: str | None = None
    """Who is billed; None: the user's default."""
    minutes: Annotated[int, Field(ge=5)] = 240
    """Time limit. A job that reaches it saves, and goes back to the queue."""
    memory_gb: Annotated[float, Field(gt=0)] = 8.0
    """Of the node, GiB."""
    gpus: Annotated[int, Field(ge=0)] = 0
    """GPUs, and processes, of a pretraining; a job of cells has one where this is not 0."""
    cpus: Count = 1
    """CPUs of a process, and its threads in a pretraining."""
    tasks_per_job: Count = 20
    """Most groups of cells in a job."""
    at_once: Count = 256
    """Most jobs of an array that run at a time."""
    requeues: Count = 100
    """How often a job may reach its time limit."""
    warning_seconds: Annotated[int, Field(ge=10)] = 120
    """Before the time limit, for saving."""
    options: dict[str, str] = {}
    """Further options of sbatch, e.g. {constraint: a100, qos: long}."""

    @field_validator("warning_seconds")
    @classmethod
    def _leaves_time_to_work(cls, value: int, found: ValidationInfo) -> int:
        minutes = found.data.get("minutes")
        if minutes and value > minutes * 30:
            raise ValueError(f"at most {minutes * 30}: half of engine.minutes={minutes} is for work")
        return value
