"""Devices and precisions by name, seeds that depend on their purpose alone, and facts of code and packages."""

from __future__ import annotations

import ast
import os
import subprocess
import sys
from pathlib import Path

import pytest
import torch
from threadpoolctl import threadpool_info

from benchmark import machine as code_versions
from benchmark.machine import git_state, pick_device, pick_precision, processor_name, stream


def test_a_device_that_is_not_there_is_named(monkeypatch: pytest.MonkeyPatch) -> None:
    assert pick_device("cpu") == torch.device("cpu")
    for available, kind in ((False, "cpu"), (True, "cuda")):
        monkeypatch.setattr(torch.cuda, "is_available", lambda value=available: value)
        assert pick_device("auto").type == kind
    monkeypatch.setattr(torch.cuda, "device_count", lambda: 2)
    assert pick_device("cuda:1") == torch.device("cuda", 1)
    with pytest.raises(ValueError, match="--device 'cuda:2' is not there: torch sees 2 CUDA devices"):
        pick_device("cuda:2")


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


def test_a_processor_is_named_with_its_kernels() -> None:
    """Other kernels than the processor's are chosen before a process starts."""
    chosen = {"OPENBLAS_CORETYPE": "Nehalem", "ATEN_CPU_CAPABILITY": "default"}
    code = "import torch; from benchmark.machine import device_facts; print(device_facts(torch.device('cpu')))"
    run = subprocess.run([sys.executable, "-c", code], env=os.environ | chosen, capture_output=True, text=True)
    facts = ast.literal_eval(run.stdout)
    if "openblas" in {library["internal_api"] for library in threadpool_info()}:
        assert facts["kernels"] == "Nehalem"
    assert facts["instructions"].split()[0] in ("DEFAULT", "NO")  # torch 2.6 calls it NO AVX
    assert (facts["type"], facts["name"]) == ("cpu", processor_name())


def test_streams_stay_the_same_over_versions() -> None:
    assert stream("pretrain", 42, 0, 1) == 2092258958159058694
    assert stream("a") == 7445998342446840882


def test_the_commit_of_another_project_is_not_ours(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """The suite installed in the environment of a project that is a git checkout itself."""
    git = ("git", "-c", "user.name=a", "-c", "user.email=a@example.org")
    for words in (("init", "-q"), ("commit", "-q", "--allow-empty", "-m", "theirs")):
        subprocess.run([*git, *words], cwd=tmp_path, check=True)
    installed = tmp_path / ".venv" / "versions.py"
    installed.parent.mkdir()
    installed.touch()
    monkeypatch.setattr(code_versions, "__file__", str(installed))
    git_state.cache_clear()
    state = git_state()
    git_state.cache_clear()
    assert state == {"commit": None, "dirty": False}
