"""The computers that computed a row or an encoder, as rows and records state them.

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
    stated = [name for name in ("name", "kernels", "instructions") if device.get(name)]
    return ", ".join(device[name] for name in stated)


def computer_text(computer: Computer) -> str:
    """Return processor, threads of a CPU, and precision: 'AMD EPYC 7402, Zen, AVX2, threads: 1, float32'."""
    device = computer["device"]
    text = processor_text(computer)
    if device["type"] == "cpu":
        text += f", threads: {device['threads']}"
    return f"{text}, {computer['precision']}"


def package_facts(computer: Computer) -> dict[str, str]:
    """Return the versions of the packages that compute scores."""
    versions = computer["versions"]
    return {name: versions[name] for name in MOVING if name in versions}


def environment_of(row: Row, record: Mapping[str, Any] | None) -> list[tuple[str, str]]:
    """List what scores depend on beside the key, as pairs of a fact and its value, of a row and of its encoder.

    record: of the pretraining, None without one. A fact has several values where the row and its encoder, or parts of
    the pretraining, were computed by different computers.
    """
    encoder_computers = computers_of(record) if record else []
    facts: dict[tuple[str, str], None] = {}
    for computer in (row.provenance, *encoder_computers):
        facts["processor", processor_text(computer)] = None
        facts |= dict.fromkeys(package_facts(computer).items())
    is_trained = bool(record and record.get("updates"))
    for computer in encoder_computers:
        device = computer["device"]
        if is_trained and device["type"] == "cpu":
            facts["threads of a pretraining", str(device["threads"])] = None
    return list(facts)
