"""docs/DATA.md: its commands are understood, and its numbers are those of the mirrors file and the code."""

from __future__ import annotations

import re
import shlex
from pathlib import Path

import pytest

from benchmark.cli import VERBS
from benchmark.config.command_line import OK
from benchmark.config.words import values_of
from benchmark.data.datasets import DATASETS
from benchmark.data.simulate import CohortSettings, write_cohort
from benchmark.extras.download import MOST_DIFFERENT
from benchmark.extras.download_catalogue import MOST_CONNECTIONS, catalogue_of, shipped
from run_benchmark import main
from tests.docs.pages import text_of

TEXT = text_of("DATA.md", "## Downloading the datasets")
COMMANDS = re.findall(r"^python run_benchmark.py (data download .*)$", TEXT, re.MULTILINE)


def said(command: str, folder: Path, capsys: pytest.CaptureFixture[str]) -> str:
    assert main([*shlex.split(command.replace("/data", str(folder))), "--dry-run"]) == OK
    return capsys.readouterr().out


@pytest.mark.parametrize("command", COMMANDS)
def test_a_command_is_understood(command: str, tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert said(command, tmp_path, capsys).count("  licence  ") == command.count(" --subset paper") * 3 + 1


def test_what_was_fetched_is_checked(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    (command,) = re.findall(r"^python run_benchmark.py (data check .*)$", TEXT, re.MULTILINE)
    monkeypatch.chdir(tmp_path)
    for name, patients in {"mimic-iv-ecg": 20, "ptb-xl": 60, "chapman": 60, "cpsc2018": 60}.items():
        root = tmp_path / "data" / DATASETS[name].folders[0]
        root.parent.mkdir(exist_ok=True)
        write_cohort(name, root, CohortSettings(patients), seed=3)
    assert main(shlex.split(command.replace("/data", str(tmp_path / "data")))) == OK
    out = capsys.readouterr().out
    for name in ("mimic-iv-ecg", "ptb-xl", "chapman", "cpsc2018"):
        assert f"({name})" in out


def test_the_sizes_are_those_that_a_dry_run_tells(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    rows = re.findall(r"^\| `([\w-]+)` \| (.*?) \| (.*?) \| (.*?) \|$", TEXT, re.MULTILINE)
    assert [name for name, *_ in rows] == list(catalogue_of(values_of(shipped()), shipped()).datasets)
    for name, what, sizes, homes in rows:
        subsets = ["", *(f"--subset {own}" for own in re.findall(r"`--subset (\w+)`", what))]
        for subset, size in zip(subsets, sizes.split("; "), strict=True):
            out = said(f"data download {name} {subset} --data-root /data", tmp_path, capsys)
            assert f"  size     about {size}, " in out
        assert re.findall(r"`(\w+)`", homes) == list(catalogue_of(values_of(shipped()), shipped()).datasets[name].homes)


def test_every_flag_of_its_own_is_described() -> None:
    assert set(re.findall(r"--[a-z-]+", TEXT)) >= set(VERBS["data download"].flags)


def test_the_manners_are_those_of_the_mirrors_file() -> None:
    manners = catalogue_of(values_of(shipped()), shipped()).manners
    assert f"`--connections` is {manners.connections}, at most {MOST_CONNECTIONS}:" in TEXT
    assert manners.tries == 8
    assert "After eight tries without a byte" in TEXT
    assert f"more than {manners.longest_rest / 60:.0f} minutes" in TEXT
    assert f"in {100 - 100 * MOST_DIFFERENT:.0f} of 100 recordings" in TEXT
