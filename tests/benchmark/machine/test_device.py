"""Devices and precisions by name."""

from __future__ import annotations

import pytest
import torch

from benchmark.machine.device import pick_device, pick_precision


def test_devices_by_name(monkeypatch: pytest.MonkeyPatch) -> None:
    assert pick_device("cpu") == torch.device("cpu")
    for available, kind in ((False, "cpu"), (True, "cuda")):
        monkeypatch.setattr(torch.cuda, "is_available", lambda found=available: found)
        assert pick_device("auto").type == kind
    monkeypatch.setattr(torch.cuda, "device_count", lambda: 2)
    assert pick_device("cuda:1") == torch.device("cuda", 1)


@pytest.mark.parametrize(
    ("name", "message"),
    [
        ("nonsense", "--device 'nonsense' is no device; use auto, cpu, cuda or cuda:N"),
        ("", "--device '' is no device"),
        ("mps", "--device 'mps' is not supported"),
        ("cuda:2", "--device 'cuda:2' is not there: torch sees 2 CUDA devices"),
    ],
)
def test_a_device_that_is_not_there_is_named(name: str, message: str, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(torch.cuda, "is_available", lambda: True)
    monkeypatch.setattr(torch.cuda, "device_count", lambda: 2)
    with pytest.raises(ValueError, match=message):
        pick_device(name)


def test_precision_auto_is_bf16_where_the_device_has_it(monkeypatch: pytest.MonkeyPatch) -> None:
    cpu, cuda = torch.device("cpu"), torch.device("cuda")
    assert pick_precision("bf16", cpu) == "bf16"
    assert pick_precision("float32", cuda) == "float32"
    for native in (True, False):
        expected = "bf16" if native else "float32"
        monkeypatch.setattr(torch.cuda, "is_bf16_supported", lambda including_emulation, has=native: has)
        assert pick_precision("auto", cuda) == expected
        monkeypatch.setattr(torch.backends.cpu, "get_cpu_capability", lambda: "AVX512")
        monkeypatch.setattr(torch.cpu, "_is_avx512_bf16_supported", lambda has=native: has)
        assert pick_precision("auto", cpu) == expected
