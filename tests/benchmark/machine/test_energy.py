"""Energy counters: RAPL zones in a made-up folder, NVML in a made-up module, and how far they went on."""

from __future__ import annotations

import sys
from pathlib import Path
from types import SimpleNamespace

import pytest
import torch

from benchmark.machine.energy import Counter, Meter, gpu_counters, open_meter, package_counters

CPU = torch.device("cpu")


def zone(powercap: Path, name: str, title: str, energy: int, *, turns_at: int = 1_000_000) -> Path:
    folder = powercap / name
    folder.mkdir(parents=True)
    for file, text in {"name": title, "energy_uj": energy, "max_energy_range_uj": turns_at}.items():
        (folder / file).write_text(f"{text}\n")
    return folder


def test_packages_are_added_and_their_parts_are_not(tmp_path: Path) -> None:
    first, second = (zone(tmp_path, f"intel-rapl:{i}", f"package-{i}", 100) for i in (0, 1))
    part = zone(tmp_path, "intel-rapl:0:0", "core", 100)
    zone(tmp_path, "intel-rapl:2", "psys", 100)
    meter = open_meter(CPU, tmp_path)
    assert meter is not None
    for folder, value in ((first, 500_100), (second, 250_100), (part, 400_100)):
        (folder / "energy_uj").write_text(str(value))
    assert meter.total() == pytest.approx(0.75)


def test_a_counter_that_begins_anew_goes_on(tmp_path: Path) -> None:
    package = zone(tmp_path, "intel-rapl:0", "package-0", 900_000)
    meter = open_meter(CPU, tmp_path)
    assert meter is not None
    (package / "energy_uj").write_text("50000")
    assert meter.total() == pytest.approx(0.15)


def test_no_figure_where_a_package_cannot_be_read(tmp_path: Path) -> None:
    zone(tmp_path, "intel-rapl:0", "package-0", 100)
    (zone(tmp_path, "intel-rapl:1", "package-1", 100) / "energy_uj").unlink()
    assert package_counters(tmp_path) == []
    assert open_meter(CPU, tmp_path) is None
    assert open_meter(CPU, tmp_path / "absent") is None


def test_a_meter_looks_every_ten_seconds_so_that_no_turn_is_missed(monkeypatch: pytest.MonkeyPatch) -> None:
    now, values = 0.0, iter([10, 90, 70, 50])
    monkeypatch.setattr("benchmark.machine.energy.time.monotonic", lambda: now)
    meter = Meter([Counter(lambda: next(values), 1.0, 100)])
    meter.look()  # too soon
    now = 11.0
    meter.look()
    now = 22.0
    meter.look()
    assert meter.total() == 80 + 80 + 80


def test_a_gpu_is_found_by_its_own_number(monkeypatch: pytest.MonkeyPatch) -> None:
    millijoules = iter([0, 5_000, 12_000])
    pynvml = SimpleNamespace(
        nvmlInit=lambda: None,
        NVMLError=RuntimeError,
        nvmlDeviceGetHandleByUUID=lambda uuid: uuid,
        nvmlDeviceGetTotalEnergyConsumption=lambda handle: next(millijoules) if handle == "GPU-abc" else 0,
    )
    monkeypatch.setitem(sys.modules, "pynvml", pynvml)
    monkeypatch.setattr(torch.cuda, "get_device_properties", lambda device: SimpleNamespace(uuid="abc"))
    meter = open_meter(torch.device("cuda:1"))
    assert meter is not None
    assert meter.total() == pytest.approx(7.0)


def test_a_gpu_without_the_counter_has_no_figure(monkeypatch: pytest.MonkeyPatch) -> None:
    def refuse() -> None:
        raise RuntimeError("not supported")

    monkeypatch.setitem(sys.modules, "pynvml", SimpleNamespace(nvmlInit=refuse, NVMLError=RuntimeError))
    assert gpu_counters(torch.device("cuda:0")) == []
    monkeypatch.setitem(sys.modules, "pynvml", None)  # as if it were not installed
    assert gpu_counters(torch.device("cuda:0")) == []
