"""What computed a row or an encoder, as rows and records state it.

A computer is what `benchmark.machine.computer` collects: versions, commit, device and precision. A pretraining that was
stopped may have gone on on another one, and its record has them all.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from benchmark.results.store import Row

Computer = Mapping[str, Any]
MOVING = ("torch", "numpy", "scikit-learn", "scipy", "aeon", "numba")
"""Packages that compute scores; another version of them may move the last digits."""


def computers_of(record: Mapping[str, Any]) -> Sequence[Computer]:
    """List the computers of a pretraining, in their order; a record without a list names the last alone."""
    computers: Sequence[Computer] = record.get("computed_on", [record])
    return computers


def processor_text(computer: Computer) -> str:
    """Return name, kernels and instructions of a device: 'AMD EPYC 7402, Zen, AVX2', 'NVIDIA H200, SkylakeX'."""
    device = computer["device"]
    return ", ".join(device[name] for name in ("name", "kernels", "instructions") if device.get(name))


def computer_text(computer: Computer) -> str:
    """Return processor, threads of a CPU, and precision: 'AMD EPYC 7402, Zen, AVX2, threads: 1, float32'."""
    device = computer["device"]
    threads = f", threads: {device['threads']}" if device["type"] == "cpu" else ""
    return f"{processor_text(computer)}{threads}, {computer['precision']}"


def package_facts(computer: Computer) -> dict[str, str]:
    """Return the versions of the packages that compute scores."""
    return {name: computer["versions"][name] for name in MOVING if name in computer["versions"]}


def environment_of(row: Row, record: Mapping[str, Any] | None) -> list[tuple[str, str]]:
    """List what scores depend on beside the key, as pairs of a fact and its value, of a row and of its encoder.

    record: of the pretraining, None without one. A fact has several values where the row and its encoder, or parts of
    the pretraining, were computed by different computers.
    """
    of_encoder = computers_of(record) if record else []
    facts: dict[tuple[str, str], None] = {}
    for computer in (row.provenance, *of_encoder):
        facts["processor", processor_text(computer)] = None
        facts |= dict.fromkeys(package_facts(computer).items())
    for computer in of_encoder if record and record.get("updates") else []:
        if computer["device"]["type"] == "cpu":
            facts["threads of a pretraining", str(computer["device"]["threads"])] = None
    return list(facts)
